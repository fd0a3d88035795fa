"""The screens behind a message: its records as the agent wrote them, and where its token figure comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from renderers.facts import cost_fact, format_cost, format_exact, format_size, plural, usage_line
from renderers.places import exchange_names, place_of
from renderers.terminal.markdown import prose_rows
from renderers.terminal.rows import Row, Spans, wrap
from renderers.terminal.text import output_rows
from schemas.clean import clean, one_line
from schemas.costs.responses import Tally
from schemas.message import Kind, Span
from schemas.session import Session
from schemas.table import NONE
from schemas.usage import TokenUsage
from viewer.screens.dialog import SCROLL_KEYS, Dialog
from viewer.usage.context import addition_lines, context_line
from viewer.usage.costs import SessionCosts, calls_by_cost, group_cost, kinds_of_cost
from viewer.usage.family import FamilyUsage
from viewer.widgets.row_list import RowsPane

_MOST = 512 << 10
"""Bytes of records that are shown."""
_MOST_ROWS = 5_000
"""Lines on the screen that they make at most: drawing 10,000 takes a second, in which no key answers."""
_MOST_LINES = 200
"""Lines of the file that are named one by one."""
_DEAREST = 8
"""Calls of an exchange that are named, the dearest."""
_MOST_CALLS = 2_000
"""Calls of an exchange that are priced while one waits."""
_PLAIN, _BOLD, _DIM = Style(), Style(bold=True), Style(dim=True)

_Line = tuple[str, Style]
"""A text, which is wrapped to the width; an empty one is a blank row."""

_PRICES = "Costs are what the API would charge, by genai-prices for the time of each response."
_SESSION = "session"
_SUMS_RULE = "A snapshot holds sums, and none of the responses that they are made of."
_OTHER_RULE = "Each model call is one group, and counts once."


class LookupScreen(Dialog[None]):
    """Rows to read: `make(width)` draws them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,x,w,enter", "dismiss", show=False),
        Binding("y", "copy(False)", show=False),
        Binding("c", "copy(True)", show=False),
        *SCROLL_KEYS,
    ]
    SCROLLS = "RowsPane"
    DEFAULT_CSS = "LookupScreen RowsPane { min-height: 1; }"  # without a line it would not learn how wide it is

    def __init__(self, title: str, make: Callable[[int], list[Row]]) -> None:
        super().__init__(title, "esc closes   y copies")
        self.make = make

    def compose_body(self) -> ComposeResult:
        yield RowsPane(self.make, id="lookup")

    def renew(self, make: Callable[[int], list[Row]] | None = None) -> None:
        """Draw the rows again: there is more to say than when they were drawn, or something else."""
        for pane in self.query(RowsPane):  # none before it is shown, and when it is going away
            pane.remake(make)

    def action_copy(self, as_it_is: bool) -> None:
        """Copy all of it, without its secrets or as it is."""
        from viewer.transcript.clipboard import put_on_clipboard, redacted_text

        copy = redacted_text("all of it", self.query_one(RowsPane).text)
        self.say(put_on_clipboard(self.app, copy, "c", as_it_is=as_it_is))


def raw_screen(session: Session, index: int) -> LookupScreen:
    """The records of a message."""
    spans = session.message_spans(index)
    # Read when they are drawn first, and kept: each width wraps them anew.
    texts = cache(lambda: list(_texts(session, spans)))

    def rows(width: int) -> list[Row]:
        rows, left = list[Row](), _MOST_ROWS
        for number, (where, text, more) in enumerate(texts()):
            rows += [Row([])] * bool(number)
            rows += prose_rows(where, width, _BOLD)
            drawn = list(islice(output_rows(text, [], width, _PLAIN), left + 1))
            rows += drawn[:left]
            if len(drawn) > left:
                rows.append(Row([Segment("… the rest is not shown: too much at once", _DIM)]))
            elif more:
                rows.append(Row([Segment(f"… {format_size(more)} more", _DIM)]))
            left = max(0, left - len(drawn))
        return rows

    return LookupScreen(f"{plural(len(spans), 'record')} behind this message", rows)


def _texts(session: Session, spans: list[Span]) -> Iterator[tuple[str, str, int]]:
    """Yield where each record stands, its text, and how many bytes are left out."""
    left = _MOST
    for span in spans:
        raw = session.raw(span) if left else b""
        shown = raw[:left]
        yield _where(session, span), _pretty(shown), span.length - len(shown)
        left -= len(shown)


def _pretty(raw: bytes) -> str:
    """A record with line breaks, as safe to show as any other text."""
    try:
        text = json.dumps(json.loads(raw), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):  # one that is damaged, cut or nested a thousand deep is shown as it stands
        text = raw.decode("utf-8", "replace")
    return clean(text)


def _where(session: Session, span: Span) -> str:
    store = f"{clean(session.stores[span.store].path.name)} " if span.store else ""
    place = f"line {span.line:,} · byte {span.offset:,}" if session.in_lines(span) else f"record {span.line:,}"
    role = {"BODY": "", "RESULT": " · the result", "DETAIL": " · a detail", "USAGE": " · usage"}[span.role.name]
    return f"{store}{place} · {format_size(span.length)}{role}"


def why_screen(
    session: Session,
    index: int,
    family: FamilyUsage | None = None,
    cut: int | None = None,
    costs: SessionCosts | None = None,
) -> LookupScreen:
    """Make the screen of where figures come from: of a message's group if it belongs to one, its exchange, the session;
    what of the file could not be read or understood. `cut`: a last line that was left unfinished.
    """
    group, exchange = session.messages.group[index], session.messages.exchange[index]
    context = [*filter(None, [context_line(session)]), *addition_lines(session, exchange)]

    def said() -> Iterator[_Line]:
        priced = list(_priced_totals(session, group, exchange, family, costs))
        for name, usage, cost in priced:
            figures = session.own_total if name == _SESSION and session.own_total else usage_line(usage, format_exact)
            figures += f" · {cost_fact(cost)}" if cost_fact(cost) else ""
            yield (f"{name}: {figures}", _PLAIN) if name else (figures, _BOLD)
        if family is not None and family.unread:
            yield f"not included: {plural(family.unread, 'subagent')} without a session", _PLAIN
        yield from _money(session, exchange)
        if context:
            yield from _headed("What filled the context", context)
        yield from ((text, _DIM) for text in ("", _rule(session)))
        if any(cost != Tally() for _, _, cost in priced):
            yield _PRICES, _DIM
        # As they are named under `turnlog usage`.
        if unpriced := frozenset[str]().union(*(cost.unpriced for _, _, cost in priced)):
            names = ", ".join(one_line(name, 60) for name in sorted(unpriced))
            yield f"no price for {names}: not in the cost", _BOLD
        yield from _faults(session, cut)

    def make(width: int) -> list[Row]:
        rows = [row for text, style in said() for row in (prose_rows(text, width, style) if text else [Row([])])]
        return rows if group == NONE else [*rows, *_figure_rows(session, group, width)]

    return LookupScreen("Tokens" if group == NONE else f"Token group {clean(session.groups.ids[group])[:60]}", make)


def _headed(heading: str, lines: Iterable[str]) -> Iterator[_Line]:
    yield from [("", _PLAIN), (heading, _BOLD)]
    yield from ((line, _PLAIN) for line in lines)


def _priced_totals(
    session: Session, group: int, exchange: int, family: FamilyUsage | None, costs: SessionCosts | None
) -> Iterator[tuple[str, TokenUsage | None, Tally]]:
    """The totals by their names; the group's own has none. What is not priced yet is without a cost."""
    if group != NONE:
        yield "", session.groups.usage[group], group_cost(session, group)
    exchange_cost = costs.known(exchange) if costs else None
    if not session.own_total:
        yield "exchange", session.exchange_usage(exchange), exchange_cost or Tally()
    own = (costs.total if costs else None) or Tally()
    yield _SESSION, session.usage(), own
    if family is not None and family.subagents:
        yield "with subagents", family.total(session), own + family.cost if family.cost is not None else Tally()


def _money(session: Session, exchange: int) -> Iterator[_Line]:
    """The cost of an exchange by the kind of token, and its dearest calls; nothing until the prices are loaded."""
    groups = session.exchanges[exchange].groups[:_MOST_CALLS]
    calls = calls_by_cost(session, groups)
    if not (kinds := kinds_of_cost(call for _, call in calls)):
        return
    some = "" if len(groups) == len(session.exchanges[exchange].groups) else f", of its first {_MOST_CALLS:,} calls"
    yield from _headed(f"What the exchange cost{some}", [kinds])
    names = exchange_names(session)
    for group, call in calls[:_DEAREST]:
        place = "" if (last := session.groups.last[group]) == NONE else f"{place_of(session, last, names)}  "
        cost = "no price" if call.cost is None else format_cost(call.cost)
        yield f"{place}{cost}  {usage_line(call.usage).rpartition(': ')[2]}", _PLAIN
    yield from _and_more(len(calls) - _DEAREST, "call", "calls")


def _rule(session: Session) -> str:
    """Say how the source counts. A stream counts in its own way, whichever agent printed it."""
    from schemas.providers import provider_of

    if session.own_total:
        return _SUMS_RULE
    provider = provider_of("streams" if session.is_printed else session.provider)
    return provider.counting if provider else _OTHER_RULE


def _faults(session: Session, cut: int | None) -> Iterator[_Line]:
    """List what is missing from the figures, or may be: by line, so that one can look at the file."""
    if session.unreadable or cut is not None:
        yield from _headed("Not read", [])
        for number, lost in enumerate(session.unreadable[:_MOST_LINES]):
            whose = session.whose_line(number).removesuffix(",")
            yield f"line {lost.line:,}{whose}: {clean(lost.reason)}", _PLAIN
        yield from _and_more(len(session.unreadable) - _MOST_LINES, "stretch", "stretches")
    if cut is not None:
        yield f"line {cut:,}: unfinished", _PLAIN
    if session.unknown:
        counts = [f"{clean(name)}: {count:,}" for name, count in session.unknown.most_common(_MOST_LINES)]
        yield from _headed("Records of types that nobody described", counts)
        kinds = session.messages.kind
        spans = [session.message_spans(i)[0] for i in range(len(kinds)) if kinds[i] == Kind.UNKNOWN]
        if spans:
            word = "line" if session.in_lines(spans[0]) else "record"
            shown = ", ".join(f"{span.line:,}" for span in spans[:_MOST_LINES])
            yield f"on {word}{'' if len(spans) == 1 else 's'} {shown}", _DIM
            yield from _and_more(len(spans) - _MOST_LINES, word, f"{word}s")


def _and_more(count: int, one: str, many: str) -> Iterator[_Line]:
    if count > 0:
        yield f"… and {count:,} more {one if count == 1 else many}", _DIM


def _figure_rows(session: Session, group: int, width: int) -> Iterator[Row]:
    """The records of a group, with each count of tokens in them."""
    spans = session.group_spans(group)
    for span in spans[:_MOST_LINES]:
        yield Row([])
        yield from prose_rows(_where(session, span), width, _BOLD)
        for path, value in figures(session.record(span)):
            said: Spans = [(f"  {one_line(path)}  ", _DIM), (f"{value:,}", _PLAIN)]
            yield from (Row(segments, 0, join) for segments, join in wrap(said, width))
    for text, style in _and_more(len(spans) - _MOST_LINES, "record", "records"):
        yield from prose_rows(text, width, style)


def figures(record: dict[str, Any]) -> list[tuple[str, int]]:
    """Every count of tokens in a record, with the path to it."""
    found: list[tuple[str, int]] = []
    stack: list[tuple[str, Any, int]] = [("", record, 0)]
    while stack:
        path, value, depth = stack.pop()
        if isinstance(value, dict) and depth < 8:
            stack.extend(
                (f"{path}.{key}" if path else str(key), item, depth + 1) for key, item in reversed(value.items())
            )
        elif isinstance(value, int) and not isinstance(value, bool) and "token" in path.lower():
            found.append((path, value))
    return found

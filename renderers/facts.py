"""Figures and facts in the words in which every screen and export says them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from weakref import WeakKeyDictionary

from schemas.clean import one_line
from schemas.costs.responses import Tally
from schemas.figures import SYNTHETIC as SYNTHETIC
from schemas.figures import format_cost as format_cost
from schemas.figures import format_count as format_count
from schemas.figures import format_size as format_size
from schemas.figures import short_model as short_model
from schemas.message import Kind
from schemas.session import Lack, Session
from schemas.usage import TokenUsage


def format_seconds(seconds: float | None) -> str:
    """A duration: `0.4 s`, `41 s`, `3 m 12 s`, `1 h 4 m`, `2 d 3 h`; `?` for what is no duration."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return "?"
    if seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    units = ((60, "m", 1, "s"), (3600, "h", 60, "m"), (86_400, "d", 3600, "h"))
    large, unit, small, small_unit = next(one for one in reversed(units) if total >= one[0])
    rest = total % large // small
    return f"{total // large} {unit}{f' {rest} {small_unit}' if rest else ''}"


def format_age(seconds: float) -> str:
    """Format an age in one unit: `12 s`, `5 m`, `2 h`, `3 d`, `7 w`, `2 y`. What is to come is `0 s` ago."""
    seconds = max(0.0, seconds)
    for limit, size, unit in ((60, 1, "s"), (3600, 60, "m"), (86_400, 3600, "h"), (14 * 86_400, 86_400, "d")):
        if seconds < limit:
            return f"{int(seconds // size)} {unit}"
    weeks = int(seconds // (7 * 86_400))
    return f"{weeks} w" if weeks < 104 else f"{int(seconds // (365.25 * 86_400))} y"


def format_exact(count: int | None) -> str:
    """A number in full, its thousands apart: `312,456`; `?` for an unknown one."""
    return "?" if count is None else f"{count:,}"


def cost_fact(tally: Tally) -> str:
    """The cost of responses: `$0.08`, or `$0.08+` where some of them have no price. Empty where none has one: what a
    model without a price cost is unknown, and never 0.
    """
    if tally.cost is None or (tally.unpriced and not tally.cost):
        return ""
    return format_cost(tally.cost) + ("+" if tally.unpriced else "")


_KINDS = {"input": "in", "cacheRead": "cache read", "cacheWrite": "cache write", "output": "out"}


def kinds_line(dollars: Mapping[str, float]) -> str:
    """Costs by the kind of token, the dearest first: `cache write $0.15 · out $0.06`; what cost nothing is left out."""
    ordered = sorted(dollars.items(), key=lambda one: -one[1])
    return " · ".join(f"{_KINDS[kind]} {format_cost(cost)}" for kind, cost in ordered if cost)


def kind_name(kind: Kind) -> str:
    """The name of a kind of message, for one that has no label."""
    names = {Kind.UNKNOWN: "unknown record", Kind.COMPACTION: "compacted", Kind.INTERRUPT: "interrupted"}
    return names.get(kind, kind.name.lower())


def plural(count: int, noun: str) -> str:
    """`1 line`, `1,204 lines`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def some(names: Sequence[str], most: int) -> str:
    """The first of some names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def local_time(seconds: float, *, date: bool = False) -> str:
    """A time on this machine's clock, for people: `14:21`, or `2026-03-04 14:21`."""
    return _moment(seconds, "%Y-%m-%d %H:%M" if date else "%H:%M", local=True)


def utc_time(seconds: float) -> str:
    """A time as exports say it to people who may be anywhere: `2026-03-04 14:21 UTC`."""
    return _moment(seconds, "%Y-%m-%d %H:%M UTC", local=False)


def iso_time(seconds: float) -> str:
    """A time for machines: `2026-03-04T14:21:05Z`."""
    return _moment(seconds, "%Y-%m-%dT%H:%M:%SZ", local=False)


def _moment(seconds: float, form: str, *, local: bool) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
        return (moment.astimezone() if local else moment).strftime(form)
    except (ValueError, OverflowError, OSError):  # a source may name the year 60000
        return "?"


def usage_line(usage: TokenUsage | None, number: Callable[[int | None], str] = format_count) -> str:
    """`41k tokens: in 4k · cache read 30k · cache write 2k · out 5k`; a figure nobody gave is called unknown."""
    if usage is None or usage.total is None:
        return "tokens unknown"
    figures = zip(_KINDS.values(), (usage.input, usage.cache_read, usage.cache_write, usage.output), strict=True)
    pieces = [f"{name} {'unknown' if count is None else number(count)}" for name, count in figures]
    if usage.reasoning:
        pieces[-1] += f" (thinking {number(usage.reasoning)})"
    return f"{number(usage.total)} tokens: {' · '.join(pieces)}"


_LACKS = (Lack.TOKENS, Lack.TIMES, Lack.THINKING, Lack.RESULTS)


def lack_names(lacks: Collection[Lack]) -> list[str]:
    """Name the facts that a source never has, the most missed first."""
    return [lack.value for lack in _LACKS if lack in lacks]


def lacks_line(names: Sequence[str]) -> str:
    """The same as a remark: `source gives no tokens, times`; empty where it tells all."""
    return f"source gives no {', '.join(names)}" if names else ""


_numbers: WeakKeyDictionary[Session, tuple[tuple[int, int, int], list[int | None]]] = WeakKeyDictionary()


def exchange_numbers(session: Session) -> list[int | None]:
    """The number people call each exchange by; None for the preamble and for what is rewound or inherited. They are
    kept until the session changes: each prompt that is drawn asks for its own, and there may be thirty thousand.
    """
    state = len(session.messages), len(session.exchanges), session.revision
    if (known := _numbers.get(session)) is not None and known[0] == state:
        return known[1]
    numbers: list[int | None] = []
    count = 0
    for exchange in session.exchanges:
        live = exchange.opener is not None and not exchange.rewound and not exchange.inherited
        count += live
        numbers.append(count if live else None)
    _numbers[session] = state, numbers
    return numbers


def exchange_facts(
    session: Session, n: int, when: Callable[[float], str] = local_time, *, running: bool = False, cost: str = ""
) -> list[str]:
    """The quiet line of an exchange, in pieces: `14:21`, `3 m 12 s`, `opus-5`, `9 tools`, `1 failed`, `41k`, `$0.08`.

    What is not known is left out. `when` writes the time. While it is `running` nobody knows how long it takes. `cost`
    comes from whoever has prices.
    """
    exchange = session.exchanges[n]
    facts: list[str] = []
    if exchange.started is not None:
        facts.append(when(exchange.started))
    if running:
        facts.append("running")
    elif exchange.duration is not None and exchange.duration >= 0.05:
        facts.append(format_seconds(exchange.duration))
    if model := short_model(session.models[exchange.model]):
        facts.append(model)
    if exchange.tools:
        facts.append(plural(exchange.tools, "tool"))
    if exchange.errors:
        facts.append(f"{exchange.errors:,} failed")
    if exchange.interrupted:
        facts.append("interrupted")
    usage = session.exchange_usage(n)
    if usage is not None and usage.total is not None:
        facts.append(format_count(usage.total))
        if cost and usage.total:
            facts.append(cost)
    return facts


@lru_cache(4096)
def project_name(workspace: str | None) -> str:
    """Return the name of a project: the last part of its path, Windows paths included. Always one line."""
    if not workspace:
        return ""
    workspace = one_line(workspace, 4096)
    return workspace.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or workspace

"""`turnlog usage`: tokens of sessions, exchanges and responses, every figure with the records it comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viewer.output import DONE, NO, CallError, console, path_text, progress, warn, write_bytes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

    from schemas.provider import Problem
    from schemas.session import Session
    from schemas.usage import TokenUsage
    from viewer.targets import Target

_COLUMNS = ("input", "cache read", "cache write", "output", "total")
_GAP = 2
_LEAST = 8
"""Cells that the text of a row has at least; where it would have fewer, figures are left out, the total last."""
_WIDE = 110
"""So many columns have room for bars."""
_BAR = 16


@click.command("usage")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(targets: tuple[str, ...], as_json: bool) -> int:
    """Count tokens: of the TARGETs, or of every session on this machine.

    A session's own tokens and those with its subagents are told apart. A response that lies in several files, as forks
    and resumed sessions copy them, counts once in a total.
    """
    if not targets and not as_json:
        return _print_machine()
    report = _Report(with_subagents=not targets, tables=not as_json)
    with progress("reading sessions") as bar:
        report.read(_chosen(targets), bar, strict=bool(targets))
    if as_json:
        write_bytes(report.to_json())
    else:
        report.print()
    return DONE


def _chosen(targets: tuple[str, ...]) -> list[Target]:
    from viewer.targets import Target, Targets

    resolver = Targets()
    if targets:
        return list({t.path: t for t in map(resolver.resolve, targets)}.values())
    for problem in resolver.found.problems:
        warn(f"{path_text(problem.path)}: {problem.reason}")
    return [Target(file.path, str(file.path)) for file in resolver.found.files]


class _Total:
    """A sum in which each response counts once, in whatever files it lies.

    Within a session the provider has told copies from responses already, and not every agent names its responses: only
    what another session counted is left out.
    """

    def __init__(self) -> None:
        self.usage: TokenUsage | None = None
        self.copies = 0
        self._others: set[int] = set()
        self._current: set[int] = set()

    def begin_session(self) -> None:
        """What is added from now on is another session's, its subagents included."""
        self._others |= self._current
        self._current = set()

    def add(self, key: int, usage: TokenUsage) -> bool:
        """Count a response; False when another session counted it."""
        if key in self._others:
            self.copies += 1
            return False
        self._current.add(key)
        self.usage = usage if self.usage is None else self.usage + usage
        return True


class _Report:
    """The usage of some sessions, read one after the other so that only figures stay in memory."""

    def __init__(self, *, with_subagents: bool, tables: bool) -> None:
        self._make_tables = tables
        self.with_subagents = with_subagents
        """Whether the total counts the subagents' responses too."""
        self.total = _Total()
        self.models: set[str] = set()
        self.sessions: list[bytes] = []
        self.tables: list[tuple[Target, _Rows, list[str]]] = []

    def read(self, targets: list[Target], bar: Callable[[int, int], None], *, strict: bool) -> None:
        """Read the targets. A file that is no session is an error where it was named, else it is left out and said."""
        from schemas.opening import OpenError, read_session
        from viewer.summary import bug

        sizes = [_size(target.path) for target in targets]
        before, everything = 0, sum(sizes)
        for target, size in zip(targets, sizes, strict=True):
            offset = before

            def step(done: int, of: int, offset: int = offset, size: int = size) -> None:
                bar(offset + (size * done // of if of else 0), everything)

            try:
                session = read_session(target.path, step)
                try:
                    self._add(target, session)
                finally:
                    session.close()
            except OpenError as error:
                if strict:
                    raise
                warn(str(error))
            except Exception as error:
                reason = f"{target.shown_path}: {bug(error)}"
                if strict:
                    raise CallError(reason) from error
                # A bug that one file brings to light must not hide the figures of all the others.
                warn(reason)
            before += size

    def _add(self, target: Target, session: Session) -> None:
        import orjson

        from schemas.usage import total_usage
        from viewer.summary import members_of, response_key

        usages: list[TokenUsage | None] = []
        self.total.begin_session()
        failed: list[Problem] = []
        for number, member in enumerate(members_of(session, failed)):
            usages.append(member.usage())
            if number == 0 or self.with_subagents:
                self.models.update(filter(None, member.models))
                for index in counted_groups(member):
                    self.total.add(response_key(member, index), member.groups.usage[index])
        everything = total_usage(usages)
        for problem in failed:
            warn(f"{path_text(problem.path)}: {problem.reason}")
        if not self._make_tables:
            self.sessions.append(orjson.dumps(session_object(target.shown_path, session, everything)))
        else:
            notes = _notes(session, everything, len(usages) - 1)
            self.tables.append((target, _session_table(session, everything, len(usages) - 1), notes))

    def to_json(self) -> bytes:
        """The answer of `usage --json`."""
        import orjson

        total = None if self.total.usage is None else self.total.usage.to_json()
        rest = orjson.dumps({"total": total, "costUsd": None, "unpriced": sorted(self.models)})
        return b'{"sessions":[' + b",".join(self.sessions) + b"]," + rest[1:] + b"\n"

    def print(self) -> None:
        """The answer for people."""
        from rich.text import Text

        from viewer.output import short_path

        screen = console()
        for target, session_table, notes in self.tables:
            if len(self.tables) > 1:
                screen.print(Text(short_path(target.path) if target.given != "-" else "-", "bold"), soft_wrap=True)
            session_table.print(screen)
            screen.print()
            for note in notes:
                screen.print(Text(note, "dim"), soft_wrap=True)
            if len(self.tables) > 1:
                screen.print()
        if len(self.tables) > 1:
            rows = _Rows("")
            rows.total(f"{len(self.tables)} sessions, without subagents", self.total.usage)
            rows.print(screen)
        if self.total.copies:
            screen.print(Text(_copies(self.total.copies), "dim"), soft_wrap=True)


class _Rows:
    """A table of figures: a number, a text and the figures in each row, and totals at the foot. In a wide place each
    row has a bar that says how much of the greatest it is.

    A session can have 100,000 exchanges, so widths are found in one pass, and rows are written as they are.
    """

    def __init__(self, heading: str) -> None:
        self._heading = heading
        self._rows: list[tuple[str, str, TokenUsage | None]] = []
        self._totals: list[tuple[str, TokenUsage | None]] = []

    def add(self, number: str, text: str, usage: TokenUsage | None) -> None:
        """A row; `usage` gives its five figures."""
        self._rows.append((number, text, usage))

    def total(self, label: str, usage: TokenUsage | None) -> None:
        """A row at the foot."""
        self._totals.append((label, usage))

    def say(self, usage: TokenUsage | None) -> bool:
        """Whether a single row says as much as a total would."""
        return len(self._rows) == 1 and self._rows[0][2] == usage

    def print(self, screen: Console) -> None:
        """Write the table."""
        from rich.segment import Segments

        screen.print(Segments(self._segments(screen.width)), end="", crop=False)

    def _segments(self, width: int) -> Iterator[Segment]:
        from rich.cells import cell_len, set_cell_size
        from rich.segment import Segment
        from rich.style import Style

        from schemas.clean import one_line

        dim, bold, cyan = Style(dim=True), Style(bold=True), Style(color="cyan")
        most = max((usage.total or 0 for *_, usage in self._rows if usage), default=0)
        wide = width >= _WIDE and len(self._rows) > 1 and most > 0
        figures = [
            [*_COLUMNS],
            *(_figures(usage) for _, _, usage in self._rows),
            *(_figures(usage) for _, usage in self._totals),
        ]
        sizes = [max(map(len, column)) + _GAP for column in zip(*figures, strict=True)]
        numbers = max((len(number) + _GAP for number, *_ in self._rows if number), default=0)
        room = width - numbers - (_GAP + _BAR if wide else 0)
        left_out = 0
        while room - sum(sizes[left_out:]) < _LEAST and left_out < len(sizes) - 1:
            left_out += 1
        fill = max(_LEAST, room - sum(sizes[left_out:]))

        def line(number: str, text: str, row: list[str], style: Style | None, bar: str = "") -> Iterator[Segment]:
            text = one_line(text, max(fill, 2) * 2)
            shown = set_cell_size(text, fill) if cell_len(text) <= fill else set_cell_size(text, fill - 1) + "…"
            if numbers:
                yield Segment(f"{number:>{numbers - _GAP}}{'':{_GAP}}", dim)
            yield Segment(shown, style)
            cells = zip(row[left_out:], sizes[left_out:], strict=True)
            yield Segment("".join(f"{cell:>{size}}" for cell, size in cells), dim if style is dim else None)
            if bar:
                yield Segment(f"{'':{_GAP}}{bar}", cyan)
            yield Segment.line()

        rows = iter(figures)
        yield from line("", self._heading, next(rows), dim)
        for number, text, usage in self._rows:
            yield from line(number, text, next(rows), None, _bar(usage, most) if wide else "")
        if self._rows and self._totals:
            yield Segment.line()
        for label, _ in self._totals:
            yield from line("", label, next(rows), bold)


def _figures(usage: TokenUsage | None) -> list[str]:
    """The five figures of a row, `-` for an unknown one."""
    from renderers.facts import format_count

    counts = [usage.input, usage.cache_read, usage.cache_write, usage.output, usage.total] if usage else [None] * 5
    return ["-" if count is None else format_count(count) for count in counts]


def _bar(usage: TokenUsage | None, most: int) -> str:
    eighths = round((usage.total or 0) / most * _BAR * 8) if usage else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # opening it says what is wrong


def counted_groups(session: Session) -> list[int]:
    """The token groups that count here, in order: a parser takes those that turn out to be inherited from their
    exchanges, and what has no figures could hide a copy that has.
    """
    own = (group for exchange in session.exchanges for group in exchange.groups)
    return sorted(group for group in own if session.groups.usage[group].total is not None)


def session_object(shown_path: str, session: Session, with_subagents: TokenUsage | None) -> dict[str, Any]:
    """A session of `usage --json`; the shape is that of the design's section 3."""

    def figures(usage: TokenUsage | None) -> dict[str, int | None] | None:
        return None if usage is None else usage.to_json()

    groups = session.groups
    return {
        "provider": session.provider,
        "id": session.id,
        "path": shown_path,
        "usage": figures(session.usage()),
        "usageWithSubagents": figures(with_subagents),
        "exchanges": [
            {
                "exchangeId": e.id,
                # A prompt that was rewound is none of the talk any more, but what it cost was spent.
                **({"prompt": None, "rewound": e.prompt} if e.rewound else {"prompt": e.prompt}),
                "usage": figures(session.exchange_usage(e.index)),
            }
            for e in session.exchanges
        ],
        "groups": [
            {
                "groupId": groups.ids[index],
                "exchangeId": session.exchanges[groups.exchange[index]].id,
                "model": session.models[groups.model[index]] or None,
                "usage": groups.usage[index].to_json(),
                "records": [
                    {"line": span.line, "offset": span.offset, "length": span.length}
                    for span in session.group_spans(index)
                ],
            }
            for index in counted_groups(session)
        ],
        "unreadable": [{"line": bad.line, "reason": bad.reason} for bad in session.unreadable],
        "unknownRecords": dict(session.unknown),
    }


def _session_table(session: Session, with_subagents: TokenUsage | None, subagents: int) -> _Rows:
    """A row an exchange; at the foot the session's total, unless its one row says it, and that with its subagents."""
    from renderers.facts import exchange_numbers, plural

    rows = _Rows("prompt")
    for exchange, number in zip(session.exchanges, exchange_numbers(session), strict=True):
        if not exchange.groups and exchange.opener is None:
            continue
        prompt = exchange.prompt or ("(before the first prompt)" if exchange.opener is None else "(empty prompt)")
        if exchange.rewound or exchange.inherited:
            prompt = f"({'rewound' if exchange.rewound else 'inherited'}) {prompt}"
        rows.add(str(number or ""), prompt, session.exchange_usage(exchange.index))
    own = session.usage()
    if subagents or not rows.say(own):
        rows.total("session", own)
    if subagents:
        rows.total(f"with {plural(subagents, 'subagent')}", with_subagents)
    return rows


def _notes(session: Session, with_subagents: TokenUsage | None, subagents: int) -> list[str]:
    """What must be said beside the figures."""
    from renderers.facts import format_exact, plural

    own = session.usage()
    notes = [f"total {format_exact(own.total)} tokens" if own else "the agent wrote no token figures"]
    if subagents and with_subagents:
        notes[0] += f", {format_exact(with_subagents.total)} with {plural(subagents, 'subagent')}"
    unread = sum(agent.path is None and agent.session is None and not agent.internal for agent in session.subagents)
    if unread:
        notes.append(f"{plural(unread, 'subagent')} not included: no session of theirs was found")
    inherited = sum(exchange.inherited for exchange in session.exchanges)
    if inherited:
        notes.append(f"{plural(inherited, 'exchange')} inherited from another session, counted there")
    if session.duplicates:
        notes.append(f"{plural(session.duplicates, 'record')} left out, a copy of one above it")
    if session.unreadable:
        lines = ", ".join(str(bad.line) for bad in session.unreadable[:5])
        more = ", …" if len(session.unreadable) > 5 else ""
        notes.append(f"{plural(len(session.unreadable), 'unreadable line')}: {lines}{more}")
    return notes


def _copies(count: int) -> str:
    from renderers.facts import plural

    return f"{plural(count, 'response')} left out as a copy: already counted in another file"


# -- the whole machine ---------------------------------------------------------------------------------------------


def _print_machine() -> int:
    """All sessions from the index, a row a day. The exit code says whether there are any."""
    from datetime import datetime

    from rich.text import Text

    from renderers.facts import plural
    from viewer.commands.list import report_problems
    from viewer.library import Library

    library = Library()
    with progress("reading sessions") as bar:
        summaries = library.bring_up_to_date(bar)
    report_problems(library)
    if not summaries:
        warn("no sessions found (turnlog doctor says where it looked)")
        return NO
    total = _Total()
    days: dict[str, TokenUsage] = {}
    for summary, groups in library.groups():
        total.begin_session()
        for group in groups:
            if total.add(group.key, group.usage):
                when = group.time if group.time is not None else summary.when
                day = datetime.fromtimestamp(when).astimezone().strftime("%Y-%m-%d")
                days[day] = days[day] + group.usage if day in days else group.usage
    rows = _Rows("day")
    for day in sorted(days):
        rows.add("", day, days[day])
    rows.total("total", total.usage)
    screen = console()
    rows.print(screen)
    screen.print()
    subagents = sum(summary.subagents for summary in summaries)
    unknown = sum(summary.usage is None for summary in summaries)
    notes = [f"{plural(len(summaries), 'session')} and {plural(subagents, 'subagent')}"]
    if unknown:
        notes.append(f"{plural(unknown, 'session')} without token figures")
    if total.copies:
        notes.append(_copies(total.copies))
    for note in notes:
        screen.print(Text(note, "dim"), soft_wrap=True)
    return DONE

"""`turnlog tail`: follow a session as it grows, its subagents too, and the session that takes its place."""

from __future__ import annotations

import asyncio
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from viewer.output import DONE, NO, path_text, warn

if TYPE_CHECKING:
    from schemas.interchange.session_data_write import SessionDataWriter
    from schemas.session import Change, Session
    from viewer.followset import FollowSet, Source


@click.command("tail")
@click.argument("target", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a change.")
@click.option("--all", "whole", is_flag=True, help="Begin with the first exchange, not with the last.")
def command(target: str | None, as_json: bool, whole: bool) -> int:
    """Follow a session: TARGET, or the newest one of this directory.

    On a terminal this opens the screen at the session's end. Elsewhere each new message is printed once, a tool use
    when its result is there; with --json every change is a line. What its subagents do is printed too, and it goes on
    with the session that follows when this one is cleared.
    """
    path = _path(target)
    if path is None:
        warn("no session of this directory (turnlog list shows those of others)")
        return NO
    if sys.stdout.isatty() and not as_json:
        from viewer.app import run_transcript

        run_transcript(path, follow=True)
        return DONE
    asyncio.run(_Tail(as_json, whole, loose=target is None).run(path))
    return DONE


def _path(target: str | None) -> Path | None:
    from viewer.targets import Targets, newest_here

    targets = Targets()
    if target is not None:
        return targets.resolve(target).path
    newest = newest_here(targets.found, Path.cwd())
    return None if newest is None else newest.path


class _Tail:
    """The loop: look, print, wait for a hint."""

    def __init__(self, as_json: bool, whole: bool, *, loose: bool) -> None:
        self._printer: _Printer = _JsonLines(whole) if as_json else _Text(whole)
        self._whole, self._loose = whole, loose
        self._stopped = False

    async def run(self, path: Path) -> None:
        """Follow until a signal comes or the reader of standard output goes away."""
        from viewer.follow import Follower
        from viewer.followset import FollowSet, Succession
        from viewer.hints import Hints

        hints = Hints()
        loop = asyncio.get_running_loop()
        for name in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError):  # Windows: an interrupt is a KeyboardInterrupt there
                loop.add_signal_handler(name, self._stop, hints)
        family = FollowSet(Follower(path), whole=self._whole)
        following = Succession(family.main.session, loose=self._loose)
        said = ""
        try:
            async for _ in hints.ticks():
                self._print(family)
                if self._stopped or _reader_gone():
                    return
                if (new := following.look()) is not None:
                    self._printer.end(family)
                    family.close()
                    family = FollowSet(Follower(new), whole=True)
                    self._printer.next_session(new)
                    following = Succession(family.main.session, loose=self._loose)
                    hints.wake()
                hints.watch(family.paths)
                if hints.note != said:
                    said = hints.note
                    warn(said)
        finally:
            self._printer.end(family)
            self._flush()
            family.close()
            await hints.close()

    def _stop(self, hints: Any) -> None:
        self._stopped = True
        hints.wake()

    def _print(self, family: FollowSet) -> None:
        for source, changes in family.poll():
            self._printer.print(source, changes)
        self._flush()

    def _flush(self) -> None:
        if self._printer.lines:
            sys.stdout.buffer.write(b"".join(self._printer.lines))
            sys.stdout.buffer.flush()
            self._printer.lines.clear()


def _reader_gone() -> bool:
    """Whether nobody reads standard output any more, which a write would only notice when there is one."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


class _Printer(Protocol):
    """Turns changes into lines of bytes."""

    lines: list[bytes]

    def print(self, source: Source, changes: list[Change]) -> None:
        """Take what changed in a session."""
        ...

    def next_session(self, path: Path) -> None:
        """Another session follows."""
        ...

    def end(self, family: FollowSet) -> None:
        """No more comes."""
        ...


class _Known:
    """The messages of a session that were printed, or had been there before."""

    def __init__(self, source: Source, *, whole: bool) -> None:
        from schemas.session import Op

        self._appended, self._removed, self._restarted = Op.APPENDED, Op.REMOVED, Op.RESTARTED
        self.keys: set[int] = set()
        session = source.follower.session
        rows = session.messages
        if source.subagent is None and not whole and session.exchanges:
            self.keys.update(rows.key[: session.exchanges[-1].start])
        elif source.skip:
            spans = session.spans
            self.keys.update(rows.key[i] for i in range(len(rows)) if next(spans.chain(rows.span[i])).offset < source.skip)

    def touched(self, session: Session, changes: list[Change]) -> Iterator[tuple[Change | None, int]]:
        """The changes with the message each is about; after a restart every message, with None for its change."""
        for change in changes:
            if change.op is self._restarted:
                yield change, -1
                for index in range(len(session.messages)):
                    yield None, index
            else:
                yield change, change.message


class _JsonLines:
    """One object a change, as the design's section 3 has it; a subagent's also name it."""

    def __init__(self, whole: bool) -> None:
        self.lines: list[bytes] = []
        self._whole = whole
        self._known: dict[Path, _Known] = {}
        self._writers: dict[Path, tuple[Session, SessionDataWriter]] = {}

    def print(self, source: Source, changes: list[Change]) -> None:
        """Take what changed in a session."""
        session, path = source.follower.session, source.follower.path
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = _Known(source, whole=self._whole)
        for change, index in known.touched(session, changes):
            if index < 0:
                self._line("restarted", None, None, source)
                continue
            key = session.messages.key[index]
            new = key not in known.keys
            if change is None and not new:
                continue
            if change is not None and change.op is known._appended and not new:
                continue
            known.keys.add(key)
            word = "appended" if new else "updated" if change is None else change.op.value
            exchange = session.exchanges[session.messages.exchange[index]]
            self._line(word, exchange.id, self._writer(path, session).message(session.message(index)), source)

    def _writer(self, path: Path, session: Session) -> SessionDataWriter:
        from schemas.interchange.session_data_write import SessionDataWriter

        held = self._writers.get(path)
        if held is None or held[0] is not session:
            held = self._writers[path] = (session, SessionDataWriter(session))
        return held[1]

    def _line(self, change: str, exchange: str | None, message: dict[str, Any] | None, source: Source) -> None:
        import orjson

        value: dict[str, Any] = {"change": change, "exchangeId": exchange, "message": message}
        if source.subagent is not None:
            value["subagent"] = source.subagent.id
        try:
            self.lines.append(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))
        except TypeError:
            value["message"] = None
            self.lines.append(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))

    def next_session(self, path: Path) -> None:
        """Another session follows: everything is read anew."""
        import orjson

        self._whole = True
        value = {"change": "restarted", "exchangeId": None, "message": None}
        self.lines.append(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))

    def end(self, family: FollowSet) -> None:
        """Nothing is held back."""

"""`turnlog tail`: follow a session as it grows, its subagents too, and the session that takes its place."""

from __future__ import annotations

import asyncio
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viewer.output import DONE, NO, warn

if TYPE_CHECKING:
    from viewer.followset import FollowSet
    from viewer.hints import Hints

_SLICE = 0.05
"""Seconds of reading after which a signal is heard."""


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

        run_transcript(path, follow=True, loose=target is None)
        return DONE
    # Standard input has been read to its end: nothing can follow.
    asyncio.run(_Tail(as_json, whole, loose=target is None, once=target == "-").run(path))
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

    def __init__(self, as_json: bool, whole: bool, *, loose: bool, once: bool) -> None:
        from viewer.tailprint import JsonPrinter, TextPrinter

        self._printer = JsonPrinter(whole) if as_json else TextPrinter(whole)
        self._whole, self._loose, self._once = whole, loose, once
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
                while not self._stopped and not family.main.loaded:
                    family.main.step(_SLICE)
                    await asyncio.sleep(0)
                if not self._stopped:
                    self._print(family)
                if self._stopped or self._once or _reader_gone():
                    return
                if (new := following.look()) is not None:
                    self._printer.end(family.sources)
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
            self._printer.end(family.sources)
            self._flush()
            family.close()
            await hints.close()

    def _stop(self, hints: Hints) -> None:
        self._stopped = True
        hints.wake()

    def _print(self, family: FollowSet) -> None:
        for source, changes in family.poll():
            self._printer.take(source, changes)
        self._flush()

    def _flush(self) -> None:
        if self._printer.pieces:
            sys.stdout.buffer.write(b"".join(self._printer.pieces))
            sys.stdout.buffer.flush()
            self._printer.pieces.clear()


def _reader_gone() -> bool:
    """Whether nobody reads standard output any more, which a write would only notice when there is one."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))

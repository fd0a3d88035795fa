"""`turnlog tail`: follow a session as it grows, its subagents too, and the session that takes its place."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from schemas.session import Change, Op
from schemas.troubles import OpenError
from viewer.completion import target as target_completion
from viewer.follow.clock import Hints, call_at_signals
from viewer.follow.family import FollowSet, Source, Succession, is_twin
from viewer.follow.follower import Follower
from viewer.follow.pipe import StreamFollower, spool_stdin, take_terminal
from viewer.output import DONE, NO, CallError, reader_gone, warn, write_bytes
from viewer.sessions.newest import newest_here
from viewer.sessions.selection import part_at, say_held
from viewer.sessions.targets import STDIN, Targets
from viewer.start import open_stream

_SLICE = 0.05
"""Seconds of reading after which a signal is heard."""
_PART = 500
"""Messages that are turned into text before they are written."""


@click.command("tail")
@click.argument("target", required=False, shell_complete=target_completion)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a change.")
@click.option("--all", "whole", is_flag=True, help="Begin with the first exchange, not with the last.")
def command(target: str | None, as_json: bool, whole: bool) -> int:
    """Follow a session: TARGET, or the one of this directory that is being written, else the newest.

    On a terminal this opens the screen at the session's end. Elsewhere each new message is printed once, a tool use
    when its result is there; with --json every change is a line. What its subagents do is printed too, and it goes on
    with the session that follows when this one is cleared. A file that holds no whole record yet is waited for.

    TARGET#3 begins with its third exchange, TARGET#3.2 with the second message in that.
    """
    if target == STDIN:
        return standard_input(as_json=as_json, follow=True)
    targets, place = Targets(), ""
    if target is None:
        newest = newest_here(targets.found.files, targets.library, Path.cwd())
        if newest is None:
            warn("no session of this directory (turnlog list shows those of others)")
            return NO
        path = newest.path
    else:
        found = targets.resolve(target)
        path, place = found.path, found.place
    if place and whole:
        raise CallError("tail: --all begins with the first exchange, a place there")
    if sys.stdout.isatty() and not as_json:
        from viewer.screens.run import run_transcript

        run_transcript(path, follow=True, loose=target is None, place=place)
        return DONE
    say_held(path)
    asyncio.run(_Tail(as_json, whole, place=place).run(Follower(path, wait=True), loose=target is None))
    return DONE


def standard_input(*, as_json: bool = False, everything: bool = False, follow: bool | None = None) -> int:
    """Show what comes on standard input while it comes; print it where there is no terminal to show it on or none that
    keys can come from, with all output of tools if `everything` is wanted. `follow` is run_stream's.
    """
    spool = spool_stdin()
    if sys.stdout.isatty() and not as_json and take_terminal():
        return open_stream(spool, follow=follow)
    from viewer.commands.show import unreadable_notice
    from viewer.follow.printer import totals_lines

    spool.wait_for_session()
    follower = StreamFollower(spool)
    asyncio.run(_Tail(as_json, whole=True, everything=everything, stream=follower).run(follower))
    if follower.is_stream and follower.finished and not as_json:
        write_bytes(totals_lines(follower.session))
    if notice := unreadable_notice(follower.session):
        warn(f"-: {notice}")
    if spool.trouble:
        raise CallError(spool.trouble)
    return DONE


class _Tail:
    """The loop: look, print, wait for a hint."""

    def __init__(
        self,
        as_json: bool,
        whole: bool,
        *,
        everything: bool = False,
        stream: StreamFollower | None = None,
        place: str = "",
    ) -> None:
        from viewer.follow.printer import OUTPUT_LINES, JsonPrinter, TextPrinter

        most = sys.maxsize if everything else OUTPUT_LINES
        self._printer = JsonPrinter(whole, place) if as_json else TextPrinter(whole, most, place)
        self._whole, self._stream, self._place = whole, stream, place
        self._begun: set[Path] = set()

    async def run(self, follower: Follower, *, loose: bool = False) -> None:
        """Follow until a signal comes, the reader of standard output goes away, or standard input ends; with `loose`
        go on with whatever session begins in this directory. Raises OpenError for what turns out to be no session, and
        where turnlog fails on what comes.
        """
        hints = Hints()
        loop = asyncio.get_running_loop()
        call_at_signals(hints.stop)
        family = FollowSet(follower, whole=self._whole)
        following = Succession(family.main.session, loose=loose)
        said = ""
        if self._stream is not None:
            self._stream.spool.listen(lambda: loop.call_soon_threadsafe(hints.wake))
        try:
            async for _ in hints.ticks():
                if family.main.waiting:
                    family.main.poll()
                while not hints.stopped and not family.main.loaded:
                    family.main.step(_SLICE)
                    await asyncio.sleep(0)
                if self._place and family.main.loaded and not family.main.waiting:
                    part_at(family.main.session, self._place)  # which says so where there is no such place
                    self._place = ""
                if not hints.stopped and not family.main.waiting:
                    self._print(family)
                    following.session = family.main.session
                if family.main.trouble and (family.main.waiting or family.main.is_bug):
                    raise OpenError(family.main.path, family.main.trouble)
                if hints.stopped or (self._stream is not None and self._stream.finished) or reader_gone():
                    return
                if self._stream is not None:
                    continue  # nothing lies beside it that could take its place
                if not family.main.waiting and (new := following.look()) is not None:
                    self._printer.end(family.sources)
                    old = family.main.path
                    family.close()
                    family = FollowSet(Follower(new), whole=True)
                    self._printer.next_session(new, old if is_twin(old, new) else None)
                    following = Succession(family.main.session, loose=loose)
                    hints.wake()
                hints.watch(family.paths)
                if hints.note != said:
                    said = hints.note
                    warn(said)
        finally:
            if self._stream is not None:
                self._stream.spool.listen(None)
            self._printer.end(family.sources)
            self._flush()
            family.close()
            await hints.close()

    def _print(self, family: FollowSet) -> None:
        for source, changes in family.poll():
            for some in self._in_parts(source, changes):
                self._printer.take(source, some)
                self._flush()

    def _in_parts(self, source: Source, changes: list[Change]) -> Iterator[list[Change]]:
        """Changes a few at a time, so that the text of a huge session need not be in memory at once.

        The first batch stands for all messages there are.
        """
        if source.follower.path in self._begun:
            yield changes
            return
        self._begun.add(source.follower.path)
        count = len(source.follower.session.messages)
        for start in range(0, max(count, 1), _PART):
            yield [Change(Op.APPENDED, i) for i in range(start, min(start + _PART, count))]

    def _flush(self) -> None:
        if self._printer.pieces:
            write_bytes(b"".join(self._printer.pieces))
            self._printer.pieces.clear()

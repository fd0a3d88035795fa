"""Keep a document up to date with a session that grows: it is written anew when anything of it changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from schemas.troubles import OpenError
from viewer.follow.clock import Hints, call_at_signals
from viewer.follow.family import FollowSet
from viewer.follow.follower import Follower

_REST = 4
"""The rest behind each writing, in multiples of the time that it took."""
_SLICE = 0.05


async def keep_writing(path: Path, write: Callable[[], object]) -> None:
    """Call `write` at once and whenever the session at `path` or a subagent of it changed, until a signal asks to end.
    A session that cannot be read for a while leaves what was written as it is. Raises what the first writing does.
    """
    hints, family = Hints(), FollowSet(Follower(path))
    call_at_signals(hints.stop)
    written, changed, rested = False, False, 0.0
    try:
        async for _ in hints.ticks():
            while not hints.stopped and not family.main.loaded:
                family.main.step(_SLICE)
                await asyncio.sleep(0)
            if hints.stopped:
                break
            for _ in family.poll():
                changed = True
            if changed and (began := time.monotonic()) >= rested:
                try:
                    write()
                    written, changed = True, False
                except OpenError:
                    if not written:
                        raise
                rested = time.monotonic() + _REST * (time.monotonic() - began)
            hints.watch(family.paths)
        if changed:
            write()
    finally:
        family.close()
        await hints.close()

from __future__ import annotations

import asyncio
from pathlib import Path

import watchfiles

from tests.waiting import LIMIT
from viewer.follow.clock import Hints


async def ticks(hints: Hints, count: int) -> None:
    async for _ in hints.ticks():
        count -= 1
        if count <= 0:
            return


async def test_the_clock_alone_is_enough():
    await asyncio.wait_for(ticks(Hints(0.001), 5), LIMIT)


async def test_a_change_is_heard_long_before_the_clock(tmp_path: Path):
    hints = Hints(3600)
    hints.watch([tmp_path / "not-there-yet.jsonl"])
    waiting = asyncio.create_task(ticks(hints, 2))
    for _ in range(300):
        (tmp_path / "not-there-yet.jsonl").write_text("x")
        await asyncio.sleep(0.1)
        if waiting.done():
            break
    assert waiting.done()
    await hints.close()


async def test_without_events_it_says_so_and_goes_on(tmp_path: Path, monkeypatch):
    def exhausted(*_: object, **__: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(watchfiles, "awatch", exhausted)
    hints = Hints(0.001)
    hints.watch([tmp_path / "x.jsonl"])
    await asyncio.wait_for(ticks(hints, 5), LIMIT)
    assert "inotify watch limit reached" in hints.note
    await hints.close()


async def test_a_folder_that_is_not_there_is_no_trouble(tmp_path: Path):
    hints = Hints(0.001)
    hints.watch([tmp_path / "gone" / "x.jsonl"])
    await asyncio.wait_for(ticks(hints, 3), LIMIT)
    assert hints.note == ""
    await hints.close()


async def test_wake_does_not_wait_for_the_clock():
    hints = Hints(3600)
    waiting = asyncio.create_task(ticks(hints, 2))
    await asyncio.sleep(0)
    hints.wake()
    await asyncio.wait_for(waiting, LIMIT)


async def test_after_a_change_it_looks_more_often():
    hints = Hints(3600)
    hints.stir()
    await asyncio.wait_for(ticks(hints, 3), LIMIT)

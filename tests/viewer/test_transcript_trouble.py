"""What the title line says while a session is read on: that its file is gone, or cannot be read any more."""

from __future__ import annotations

import shutil
from pathlib import Path

from textual.pilot import Pilot

from tests import waiting
from tests.fixtures.cursor.stores import harbour
from tests.viewer.transcripts import bare, lines
from viewer.follow.follower import Follower
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar


def title(pilot: Pilot[None]) -> str:
    """The line as it is drawn."""
    return pilot.app.screen.query_one("#title", TitleBar).render().plain


async def until(pilot: Pilot[None], words: str, *, there: bool = True) -> None:
    """Wait for the title line to say so, or to say so no more."""
    await waiting.until(pilot, lambda: (words in title(pilot)) is there, lambda: title(pilot))


async def test_a_store_that_is_deleted_and_comes_back(tmp_path: Path) -> None:
    path = harbour().save(tmp_path, title="The lights of the harbour and the buoy")
    kept = path.parent.with_name("kept")
    async with bare(TranscriptScreen(Follower(path))).run_test(size=(80, 24)) as pilot:
        await until(pilot, "The lights of the harbour")
        await pilot.pause()
        shown = lines(pilot.app.screen.query_one(TranscriptView))
        path.parent.rename(kept)
        await until(pilot, "file is gone")
        assert lines(pilot.app.screen.query_one(TranscriptView)) == shown
        shutil.copytree(kept, path.parent)
        await until(pilot, "file is gone", there=False)


async def test_a_store_that_is_damaged_and_made_whole(tmp_path: Path) -> None:
    path = harbour().save(tmp_path, title="The lights of the harbour and the buoy")
    whole = path.read_bytes()
    async with bare(TranscriptScreen(Follower(path))).run_test(size=(80, 24)) as pilot:
        await until(pilot, "The lights of the harbour")
        await pilot.pause()
        shown = lines(pilot.app.screen.query_one(TranscriptView))
        path.write_bytes(whole.replace(b"CREATE TABLE blobs", b"CREATE\xe4TABLE blobs"))
        await until(pilot, "SQLite says: malformed")
        assert lines(pilot.app.screen.query_one(TranscriptView)) == shown
        path.write_bytes(b"no database at all")
        await until(pilot, "SQLite says: file is not a database")
        path.write_bytes(whole)
        await until(pilot, "SQLite", there=False)

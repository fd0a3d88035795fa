"""A large document is read whole, which takes seconds: the screen is there meanwhile, and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import orjson
import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from schemas.opening import OpenError
from schemas.reading import ParsedReading
from tests import waiting
from tests.support import changes_by
from tests.viewer.transcripts import bare, lines
from viewer.follow import follower as follow
from viewer.follow.follower import Follower
from viewer.screens.program import aside
from viewer.screens.run import run_transcript
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Every document is a large one, and none is read before this is set."""
    gate, load = Event(), ParsedReading.load_ahead

    def wait(reading: ParsedReading) -> None:
        gate.wait(waiting.LIMIT)
        load(reading)

    monkeypatch.setattr(ParsedReading, "load_ahead", wait)
    monkeypatch.setattr(follow, "_LONG_READ", 0)
    yield gate
    gate.set()


def document(folder: Path, *texts: str) -> Path:
    """An Agent Response with a prompt and answers."""
    path = folder / "lamps.json"
    messages = [{"role": "user", "content": "Where are the lamps?"}]
    messages += [{"role": "assistant", "content": text} for text in texts]
    path.write_bytes(orjson.dumps({"final_response": texts[-1], "messages": messages, "metadata": {}}))
    return path


def chrome(pilot: Pilot[None]) -> str:
    """The lines above and below the transcript."""
    return "\n".join(bar.render().plain for bar in pilot.app.screen.query(TitleBar))


async def until(pilot: Pilot[None], words: str) -> None:
    def seen() -> str:
        return "\n".join([chrome(pilot), *lines(pilot.app.screen.query_one(TranscriptView))])

    await waiting.until(pilot, lambda: words in seen(), seen)


async def test_it_says_that_it_reads_and_then_shows_what_it_read(tmp_path: Path, gate: Event) -> None:
    screen = TranscriptScreen(Follower(document(tmp_path, "In the cellar.", "And on the roof.")))
    async with bare(screen).run_test(size=(80, 24)) as pilot:
        assert "lamps" in chrome(pilot)
        assert "reading …" in chrome(pilot)
        assert not screen.session.messages
        gate.set()
        await until(pilot, "And on the roof.")
        assert "reading …" not in chrome(pilot)


@pytest.mark.usefixtures("gate")
async def test_keys_are_answered_meanwhile(tmp_path: Path) -> None:
    screen = TranscriptScreen(Follower(document(tmp_path, "In the cellar.")))
    async with bare(screen).run_test(size=(80, 24)) as pilot:
        await pilot.press("j", "z", "t", "]", "G", "slash", "r", "o", "o", "f")
        assert screen.query_one(Input).value == "roof"
    # and it ended although nothing was read


async def test_what_is_written_meanwhile_is_not_missed(tmp_path: Path, gate: Event) -> None:
    path = document(tmp_path, "In the cellar.")
    async with bare(TranscriptScreen(Follower(path))).run_test(size=(80, 24)) as pilot:
        gate.set()
        await until(pilot, "In the cellar.")
        document(tmp_path, "In the cellar.", "And on the roof.")
        await until(pilot, "And on the roof.")


async def test_what_cannot_be_read_is_said(tmp_path: Path, gate: Event) -> None:
    path = document(tmp_path, "In the cellar.")
    async with bare(TranscriptScreen(Follower(path))).run_test(size=(80, 24)) as pilot:
        path.write_text('{"other": 1}')
        gate.set()
        await until(pilot, "no longer a document of this kind")
        notices = pilot.app._notifications
        await waiting.until(pilot, lambda: [said.message for said in notices] == ["no longer a document of this kind"])
        document(tmp_path, "In the cellar.")
        await until(pilot, "In the cellar.")


def test_what_proves_to_be_no_session_is_no_screen(tmp_path: Path) -> None:
    path = tmp_path / "lamps.path.json"
    step = {"step": {"id": "s1", "actor": "human:ada", "timestamp": "2026-01-02T03:04:05Z"}, "change": {}}
    path.write_bytes(
        orjson.dumps({"graph": {"id": "g"}, "paths": [{"path": {"id": "p", "head": "s1"}, "steps": [step]}]})
    )
    with pytest.raises(OpenError, match=r"lamps\.path\.json: .*no path is an agent's session"):
        run_transcript(path)


def test_a_small_document_is_in_the_first_picture(tmp_path: Path) -> None:
    screen = TranscriptScreen(Follower(document(tmp_path, "In the cellar.")))
    assert len(screen.session.messages) == 2


def test_a_step_takes_what_was_loaded_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "_LONG_READ", 0)
    ahead, plain = (Follower(document(tmp_path, "In the cellar.", "And on the roof.")) for _ in range(2))
    assert ahead.ahead is not None
    ahead.ahead()
    assert not ahead.session.messages
    assert changes_by(ahead.step) == changes_by(plain.step)
    assert ahead.session.message(2).text == plain.session.message(2).text == "And on the roof."
    assert ahead.ahead is None


async def test_work_aside_raises_where_it_is_waited_for() -> None:
    def work() -> None:
        raise ValueError("no lamps")

    with pytest.raises(ValueError, match="no lamps"):
        await aside(work)


async def test_work_aside_can_be_left_alone() -> None:
    go_on, over = Event(), Event()

    def work() -> None:
        go_on.wait(waiting.LIMIT)
        over.set()

    task = asyncio.create_task(aside(work))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    assert await asyncio.to_thread(over.wait, waiting.LIMIT)

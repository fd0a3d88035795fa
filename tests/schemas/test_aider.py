"""Aider: which runs a file holds, where it is looked for, and a run that grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.opening import open_reading, read_session
from schemas.paths import address_of
from schemas.provider import Environment
from schemas.providers.aider import PROVIDER
from schemas.reading import WholeReading
from schemas.session import Op
from tests.fixtures import aider
from tests.schemas.conformance import described

SHARED = Path(__file__).parents[2] / "../shared"
KEY, BOAT = "2026-05-28T20:26:40", "2026-05-28T20:40:00"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return aider.samples(tmp_path / "lamp-shop")[0].source


def test_the_newest_run_is_opened_and_those_in_which_nothing_was_asked_are_none(path: Path) -> None:
    assert [file.key for file in PROVIDER.held(path)] == [BOAT, KEY]
    assert read_session(path).key == BOAT
    assert PROVIDER.held(path)[0].mtime_ns == path.stat().st_mtime_ns
    assert PROVIDER.held(path)[1].mtime_ns == int(aider.seconds(KEY) * 1e9)


def test_two_runs_that_began_in_the_same_second(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(aider.BOAT + aider.BOAT.replace("a boat", "a kite"))
    assert [file.key for file in PROVIDER.held(path)] == [f"{BOAT}.2", BOAT]
    assert read_session(address_of(path, f"{BOAT}.2")).title == "Build a kite"


def test_a_run_that_grows_is_followed(path: Path) -> None:
    reading = open_reading(path)
    while not reading.done:
        reading.step()
    assert isinstance(reading, WholeReading)
    with path.open("a") as file:
        file.write(" float.\n\n> Tokens: 3k sent, 9 received.  \n")
    assert [change.op for change in reading.reread()] == [Op.UPDATED, Op.APPENDED]
    with path.open("a") as file:
        file.write(aider.BOAT.replace("20:40:00", "20:50:00"))
    assert reading.reread() == [], "another run is another session"


def test_where_it_is_looked_for(path: Path, tmp_path: Path) -> None:
    deep = path.parent / "src" / "deep"
    deep.mkdir(parents=True)
    found = PROVIDER.locations(Environment({"PWD": str(deep)}, tmp_path, "linux"))
    assert found == [(path.parent, "PWD"), (tmp_path, "default")]
    found_files = [file.path for place in found for file in PROVIDER.find(place, [])]
    assert set(found_files) == {address_of(path, BOAT), address_of(path, KEY)}
    found = PROVIDER.locations(Environment({"AIDER_CHAT_HISTORY_FILE": str(path), "PWD": "/"}, tmp_path, "linux"))
    assert [file.key for file in PROVIDER.find(found[0], [])] == [BOAT, KEY]


@pytest.mark.skipif(not SHARED.exists(), reason="no shared files here")
def test_genuine_and_corpus_files_open() -> None:
    path = SHARED / "lab/aider/aider-0.86.2/home/dev/src/shop/.aider.chat.history.md"
    held = PROVIDER.held(path)
    assert len(held) == 8
    first = read_session(address_of(path, held[-1].key))
    kinds = [line.split()[0] for line in described(first)]
    assert kinds == ["CONTEXT", "PROMPT", "THINKING", "TEXT", "NOTE", "TOOL", "NOTE", "TOOL"]
    titles = {read_session(address_of(path, file.key)).title for file in held}
    assert "Please trigger the bad request." in titles and len(titles) == 5
    corpus = SHARED / "corpus/aider"
    assert [file.key[-8:] for file in PROVIDER.held(corpus / "agentsview.aider.chat.history.md")] == [
        "15:30:00",
        "14:01:00",
    ]
    assert described(read_session(corpus / "deja-vu.aider.chat.history.md"))[1:] == [
        "PROMPT inspect the markdown history",
        "TEXT The history is readable.",
    ]

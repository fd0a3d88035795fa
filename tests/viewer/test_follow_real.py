"""Following with the real providers and with documents."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from schemas.interchange.session_data_write import to_session_data
from schemas.message import Kind, Part
from schemas.opening import open_reading
from schemas.reading import LinesReading
from schemas.session import Change, Op, Session
from schemas.usage import TokenUsage
from tests.support import Hand
from tests.viewer.machine import Machine
from tests.viewer.test_follow import catch_up
from viewer.follow import family as followset
from viewer.follow.family import Succession
from viewer.follow.follower import Follower

SHARED = Path(__file__).parents[2] / "../shared/corpus"
FILES = [
    SHARED / name
    for name in (
        "claude/21_toolpath_2.1.132_all_tools.jsonl",
        "claude/09_entire_compaction_auto.jsonl",
        "codex/toolpath-sample-codex-python.jsonl",
        "codex/toolpath-compacted.jsonl",
    )
]


def document(session: Session) -> bytes:
    return b"".join(to_session_data(session))


@pytest.mark.skipif(not FILES[0].exists(), reason="the shared corpus is not here")
@pytest.mark.parametrize("source", FILES, ids=lambda path: path.name)
def test_a_real_session_is_the_same_however_it_was_written(source, tmp_path):
    data, path = source.read_bytes(), tmp_path / source.name
    dice = random.Random(source.name)
    start = data.index(b"\n", len(data) // 4) + 1
    path.write_bytes(data[:start])
    follower = Follower(path)
    catch_up(follower)
    while start < len(data):
        size = dice.choice([1, 7, 300, 5000, 60_000])
        with path.open("ab") as file:
            file.write(data[start : start + size])
        start += size
        catch_up(follower)
    afresh = open_reading(path)
    while not afresh.done:
        afresh.step()
    assert isinstance(afresh, LinesReading)
    afresh.take_tail()
    afresh.refresh()
    assert document(follower.session) == document(afresh.session)


# -- documents ---------------------------------------------------------------------------------------------------------


def hand(*texts: str, prompt: str = "go") -> Session:
    made = Hand()
    made.prompt(prompt)
    for text in texts:
        made.text(text, usage=TokenUsage(output=1))
    return made.session


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "session.json"
    path.write_bytes(document(hand("one", "two")))
    return path


def test_a_document_reports_only_what_is_different(path):
    follower = Follower(path)
    assert [change.op for change in catch_up(follower)] == [Op.APPENDED] * 3
    session = follower.session
    rows = session.messages
    path.write_bytes(document(hand("one", "TWO", "three")))
    assert catch_up(follower) == [Change(Op.UPDATED, 2), Change(Op.APPENDED, 3)]
    assert follower.session is session
    assert session.messages is rows
    assert [session.message(i).text for i in range(4)] == ["go", "one", "TWO", "three"]
    assert session.usage() == TokenUsage(output=3)
    path.write_bytes(document(hand("one", "TWO", "three", "four")))
    assert catch_up(follower) == [Change(Op.APPENDED, 4)]


def test_a_document_that_lost_messages_says_which(path):
    follower = Follower(path)
    catch_up(follower)
    before = follower.session
    path.write_bytes(document(hand("one")))
    assert catch_up(follower) == [Change(Op.REMOVED, 2)]
    assert follower.session is not before and before.message(2).text == "two"
    assert len(follower.session.messages) == 2


def test_half_a_document_changes_nothing_until_it_is_whole(path):
    follower = Follower(path)
    catch_up(follower)
    new = document(hand("one", "two", "three"))
    path.write_bytes(new[:-20])
    assert catch_up(follower) == []
    assert follower.trouble
    assert follower.session.message(2).text == "two"
    path.write_bytes(new)
    assert catch_up(follower) == [Change(Op.APPENDED, 3)]
    assert follower.trouble == ""


def test_half_a_document_takes_nothing_away_however_often_it_is_looked_at(path, monkeypatch):
    follower = Follower(path)
    catch_up(follower)
    new = document(hand("one", "two", "three"))
    path.write_bytes(new[: new.index(b"one") + 8])
    monkeypatch.setattr(follower, "_is_due", lambda: True)
    for _ in range(4):
        assert catch_up(follower) == []
        assert follower.trouble == "not a whole document (being written?)"
        assert follower.session.message(2).text == "two"


def test_a_document_written_anew_without_change_is_no_change(path):
    follower = Follower(path)
    catch_up(follower)
    path.write_bytes(path.read_bytes())
    assert catch_up(follower) == []
    path.unlink()
    assert catch_up(follower) == []
    assert follower.missing


def test_a_title_is_read_and_is_no_change_of_a_message(path):
    follower = Follower(path)
    catch_up(follower)
    session = hand("one", "two")
    session.title = "Another title"
    path.write_bytes(document(session))
    assert catch_up(follower) == []
    assert follower.session.title == "Another title"


def test_a_document_that_becomes_another_kind_of_file(path):
    follower = Follower(path)
    catch_up(follower)
    other = Hand(session_id="other")
    other.add(Kind.PROMPT, opener="x", parts=[Part("text", "x")], id="new")
    path.write_bytes(document(other.session))
    assert catch_up(follower) == [Change(Op.RESTARTED)]
    assert follower.session.id == "other"


# -- the next session --------------------------------------------------------------------------------------------------

ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Looks with a clock that always says that it is time to."""
    now = [0.0]

    def clock() -> float:
        now[0] += 10
        return now[0]

    monkeypatch.setattr(followset.time, "monotonic", clock)
    return lambda succession: succession.look()


def follow(machine: Machine, *, loose: bool) -> Succession:
    path = machine.session(ONE, ["Fix the lamp", "It shines"])
    follower = Follower(path)
    catch_up(follower)
    return Succession(follower.session, loose=loose)


CLEAR = "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"


@pytest.mark.parametrize(
    ("loose", "turns", "cwd", "expected"),
    [
        (True, ["Something new", "Yes"], "/home/dev/lamp-shop", True),
        (True, ["Something new", "Yes"], "/home/dev/elsewhere", False),
        (False, ["Something new", "Yes"], "/home/dev/lamp-shop", False),
        (False, [CLEAR, "Yes"], "/home/dev/lamp-shop", True),
        (False, [CLEAR], "/home/dev/lamp-shop", True),
        (False, [CLEAR, "", "Now the chair", "Yes"], "/home/dev/lamp-shop", True),
        (False, ["clear the table", "Yes"], "/home/dev/lamp-shop", False),
    ],
)
def test_which_session_takes_over(machine, look, loose, turns, cwd, expected):
    succession = follow(machine, loose=loose)
    assert look(succession) is None
    folder = next(machine.projects.rglob(f"{ONE}.jsonl")).parent.name
    new = machine.session(TWO, turns, cwd=cwd, minute=5, folder=folder)
    assert look(succession) == (new if expected else None)


def test_a_session_that_began_before_does_not_take_over(machine, look):
    succession = follow(machine, loose=True)
    machine.session(TWO, ["Older", "Yes"], minute=0)
    path = next(machine.projects.rglob(f"{TWO}.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"T09:", b"T08:"))
    assert look(succession) is None


def test_a_file_with_nothing_in_it_yet_is_asked_again(machine, look):
    succession = follow(machine, loose=True)
    folder = next(machine.projects.rglob(f"{ONE}.jsonl")).parent
    (folder / f"{TWO}.jsonl").write_bytes(b"")
    assert look(succession) is None
    new = machine.session(TWO, ["Something new", "Yes"], minute=5, folder=folder.name)
    assert look(succession) == new


def test_a_folder_that_went_away_is_no_trouble(machine, look):
    succession = follow(machine, loose=True)
    path = next(machine.projects.rglob(f"{ONE}.jsonl"))
    path.unlink()
    os.rmdir(path.parent)
    assert look(succession) is None


S06 = SHARED.parent / "cases/s06-partial-last-line-then-rest"


@pytest.mark.skipif(not S06.exists(), reason="the shared cases are not here")
def test_a_reply_cut_in_the_middle_of_a_character(tmp_path):
    path = tmp_path / "input.jsonl"
    path.write_bytes((S06 / "input.jsonl").read_bytes())
    follower = Follower(path)
    catch_up(follower)
    assert len(follower.session.live_exchanges) == 2
    assert follower.session.usage() == TokenUsage(100, 10, 0, 0)
    seen = []
    for number in (1, 2, 3):
        with path.open("ab") as file:
            file.write((S06 / f"append-{number}.bin").read_bytes())
        seen.append([change.op for change in catch_up(follower)])
    assert seen == [[], [Op.UPDATED, Op.APPENDED], []]  # the prompt, whose exchange took more
    reply = follower.session.message(len(follower.session.messages) - 1).text
    assert reply.startswith("There are four chairs")
    assert (reply.count("🪑"), reply.count("�")) == (4, 0)
    usage = follower.session.usage()
    assert usage is not None
    assert (usage.input, usage.output, usage.total) == (220, 24, 244)


def test_a_neighbour_that_says_nothing_is_read_again_only_when_it_changed(machine, look, monkeypatch):
    succession = follow(machine, loose=False)
    other = succession.session.path.with_name("notes.jsonl")
    other.write_text('{"nothing": "of a session"}\n')
    read: list[Path] = []
    monkeypatch.setattr("viewer.follow.family.open_reading", lambda path: read.append(path) or open_reading(path))
    for _ in range(3):
        assert look(succession) is None
    assert read == [other]
    with other.open("a") as file:
        file.write("{}\n")

    look(succession)
    assert read == [other, other]


def test_a_big_document_beside_a_session_is_not_read(machine, look, monkeypatch):
    succession = follow(machine, loose=True)
    other = succession.session.path.with_name("big.json")
    session = hand("x" * (1 << 21))
    other.write_bytes(document(session))
    steps: list[Path] = []
    monkeypatch.setattr("schemas.reading.WholeReading.step", lambda self, limit=0: steps.append(self.path) or [])

    assert look(succession) is None and steps == []

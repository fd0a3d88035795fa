from __future__ import annotations

import stat
from pathlib import Path

import pytest

from viewer.screens.state import State


def test_what_was_kept_is_there_in_the_next_run_for_its_owner_alone(tmp_path: Path) -> None:
    path, session = tmp_path / "state/turnlog/state.json", tmp_path / "s.jsonl"
    state = State(path)
    state.list["filter"] = "migr \udc80"
    state.of_session(session)["place"] = "#3.2"
    state.of_session(tmp_path / "never changed.jsonl")
    state.save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["state.json"]
    again = State(path)
    assert again.list == {"filter": "migr \udc80"}
    assert again.of_session(session) == {"place": "#3.2"}
    assert "never" not in path.read_text()


def test_two_programs_keep_the_sessions_of_both_and_old_ones_are_forgotten(tmp_path: Path) -> None:
    one, other = State(tmp_path / "state.json"), State(tmp_path / "state.json")
    one.of_session(Path("/one"))["place"] = "#1"
    one.save()
    for number in range(299):
        other.of_session(Path(f"/{number}"))["place"] = "#2"
    other.save()
    assert State(tmp_path / "state.json").of_session(Path("/one")) == {"place": "#1"}
    other.of_session(Path("/new"))["place"] = "#3"
    other.save()
    last = State(tmp_path / "state.json")
    assert last.of_session(Path("/one")) == {}
    assert last.of_session(Path("/298")) and last.of_session(Path("/new"))


@pytest.mark.parametrize("content", [b"", b"[]", b'{"list": 3, "sessions": ["x"]}', b"\xff{", b"[" * 100_000])
def test_a_damaged_file_counts_as_none_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(content)
    state = State(path)
    assert state.list == {} and state.of_session(Path("/x")) == {}
    state.of_session(Path("/x"))["place"] = "#1"
    state.save()
    assert State(path).of_session(Path("/x")) == {"place": "#1"}


def test_without_a_file_or_a_folder_that_can_be_written_nothing_is_kept_and_nothing_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (None, tmp_path / "file/state.json"):
        state = State(path)
        state.of_session(Path("/x"))["place"] = "#1"
        state.save()
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_the_messages_that_came_since_are_counted_in_this_run_and_in_the_next(tmp_path: Path) -> None:
    path, session = tmp_path / "state.json", tmp_path / "s.jsonl"
    state = State(path)
    assert state.new_in(session, 9) == 0, "it was never read"
    state.of_session(session)["seen"] = {"count": 4}
    assert [state.new_in(session, count) for count in (3, 4, 9)] == [0, 0, 5]
    state.save()
    assert [State(path).new_in(session, count) for count in (3, 4, 9)] == [0, 0, 5]

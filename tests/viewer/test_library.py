from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from schemas.provider import Environment
from schemas.session import Lineage
from schemas.usage import TokenUsage
from tests.viewer.machine import Machine
from viewer import indexing
from viewer.library import Library, in_directory
from viewer.summary import Summary, group_rows, index_file, pack, unpack


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def open_library(machine: Machine) -> Library:
    env = Environment({}, machine.home, "linux")
    return Library(env, machine.home / "cache" / "index.sqlite")


def ids(summaries: list[Summary]) -> list[str]:
    return [summary.id for summary in summaries]


def test_new_sessions_are_indexed_newest_first(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["old prompt", "old answer"], minute=1)
    machine.session("bbbbbbbb-0000-4000-8000-000000000002", ["first", "one", "second", "two"], minute=5)
    library = open_library(machine)
    assert library.cached() == []
    summaries = library.bring_up_to_date()
    assert [s.id[:2] for s in summaries] == ["bb", "aa"]
    newest = summaries[0]
    assert newest.exchanges == 2
    assert newest.workspace_root == "/home/dev/lamp-shop"
    assert newest.first_prompt == "first"
    assert newest.last_prompt == "second"
    assert newest.last_text == "two"
    assert newest.usage == newest.usage_with_subagents
    assert newest.usage is not None and (newest.usage.input, newest.usage.output) == (2, 4)
    assert newest.models == ["claude-opus-4-5-20251101"]
    assert not newest.blank


def test_a_second_library_knows_all_without_reading(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    first = open_library(machine).bring_up_to_date()

    def fail(path: str) -> None:
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(indexing, "index_file", fail)
    second = open_library(machine)
    assert second.cached() == first
    assert second.bring_up_to_date() == first
    assert list(second.refresh()) == []


def test_only_what_changed_is_read_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    changed = machine.session("bbbbbbbb-0000-4000-8000-000000000002", ["prompt", "answer"])
    library = open_library(machine)
    library.bring_up_to_date()
    machine.session(changed.stem, ["prompt", "answer", "more", "yes"], minute=9)
    read: list[str] = []
    monkeypatch.setattr(indexing, "index_file", lambda path: read.append(path) or index_file(path))
    batches = list(library.refresh())
    assert read == [str(changed)]
    assert [ids(batch) for batch in batches] == [[changed.stem]]
    assert library.all()[0].exchanges == 2


def test_a_session_that_is_gone_leaves_the_list_and_the_index(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    gone = machine.session("bbbbbbbb-0000-4000-8000-000000000002", ["prompt", "answer"])
    library = open_library(machine)
    library.bring_up_to_date()
    gone.unlink()
    assert gone.stem not in ids(library.bring_up_to_date())
    assert gone.stem not in ids(open_library(machine).cached())


def test_subagents_count_in_the_total_and_a_change_of_theirs_is_seen(machine: Machine) -> None:
    parent = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    child = machine.subagent(parent, "a1f00001", ["look", "found"], {"input_tokens": 10, "output_tokens": 20})
    library = open_library(machine)
    (summary,) = library.bring_up_to_date()
    assert summary.subagents == 1
    assert summary.usage == TokenUsage(1, 2, None, None, None, None) or summary.usage.total == 3  # type: ignore[union-attr]
    assert summary.usage_with_subagents is not None and summary.usage_with_subagents.total == 33
    child.write_text(child.read_text().replace('"output_tokens": 20', '"output_tokens": 50'))
    (summary,) = open_library(machine).bring_up_to_date()
    assert summary.usage_with_subagents is not None and summary.usage_with_subagents.total == 63
    assert library.files() == [(parent, parent.stat().st_size), (child, child.stat().st_size - 0)]


def test_group_rows_come_back(machine: Machine) -> None:
    path = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["a", "b", "c", "d"], usage={"output_tokens": 7})
    rows = list(group_rows(index_file(str(path)).groups))
    assert [row.usage.output for row in rows] == [7, 7]
    assert [row.usage.cache_read for row in rows] == [None, None]
    assert rows[0].key != rows[1].key
    assert rows[0].time is not None


def test_what_is_no_session_is_a_problem_and_not_read_twice(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["x"])
    path.write_bytes(b"\0\1\2\3" * 100)
    library = open_library(machine)
    assert library.bring_up_to_date() == []
    assert [problem.path for problem in library.problems] == [path]
    monkeypatch.setattr(indexing, "index_file", lambda path: pytest.fail("read again"))
    again = open_library(machine)
    assert again.bring_up_to_date() == []
    assert [problem.path for problem in again.problems] == [path]


@pytest.mark.parametrize("content", [b"", b"no database at all, just text" * 50, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_broken_index_is_made_anew(machine: Machine, content: bytes) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    path = machine.home / "cache" / "index.sqlite"
    path.parent.mkdir()
    path.write_bytes(content)
    assert len(open_library(machine).bring_up_to_date()) == 1
    again = open_library(machine)
    assert len(again.cached()) == 1
    assert again.problems == []


def test_a_foreign_database_is_replaced(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    path = machine.home / "cache" / "index.sqlite"
    path.parent.mkdir()
    foreign = sqlite3.connect(path)
    foreign.execute("CREATE TABLE sessions (something TEXT)")
    foreign.close()
    assert len(open_library(machine).bring_up_to_date()) == 1
    assert len(open_library(machine).cached()) == 1


def test_another_layout_of_ours_is_read_anew(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    open_library(machine).bring_up_to_date()
    connection = sqlite3.connect(machine.home / "cache" / "index.sqlite")
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    library = open_library(machine)
    assert library.cached() == []
    assert len(library.bring_up_to_date()) == 1


def test_without_a_place_for_the_index_the_library_still_works(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    (machine.home / "cache").write_text("a file where the folder should be")
    library = open_library(machine)
    (summary,) = library.bring_up_to_date()
    assert summary.exchanges == 1
    assert any("no index" in problem.reason for problem in library.problems)
    assert [[row.usage.output for row in rows] for _, rows in library.groups()] == [[2]]


def test_nothing_is_written_beside_the_sessions(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    before = sorted(machine.projects.rglob("*"))
    open_library(machine).bring_up_to_date()
    assert sorted(machine.projects.rglob("*")) == before


def test_two_libraries_at_once(machine: Machine) -> None:
    for number in range(5):
        machine.session(f"aaaaaaaa-0000-4000-8000-00000000000{number}", ["prompt", "answer"], minute=number)
    with ThreadPoolExecutor(2) as pool:
        counts = [len(found) for found in pool.map(Library.bring_up_to_date, [open_library(machine) for _ in "ab"])]
    assert counts == [5, 5]
    assert len(open_library(machine).cached()) == 5


def test_much_to_read_goes_to_other_processes(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        machine.session(f"aaaaaaaa-0000-4000-8000-00000000000{number}", ["prompt", "answer"], minute=number)
    monkeypatch.setattr(indexing, "_PARALLEL_BYTES", 1)
    monkeypatch.setattr(indexing, "index_file", lambda path: pytest.fail("read in this process"))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert len(open_library(machine).bring_up_to_date()) == 4


def test_a_summary_survives_packing() -> None:
    summary = Summary(
        provider="codex",
        id="x",
        path=Path("/a/b"),
        title="t",
        workspace_root=None,
        branch="main",
        created=1.5,
        updated=None,
        exchanges=1,
        messages=2,
        agent_messages=1,
        models=["m"],
        usage=TokenUsage(1, 2, None, 4, 5, 6),
        usage_with_subagents=None,
        subagents=0,
        first_prompt="é",
        last_prompt="[red]",
        last_text="",
        size=3,
        mtime_ns=4,
        touched_ns=5,
        lineage=Lineage(forked_from="f", parent="p"),
        unreadable=[3],
        unknown={"odd": 2},
    )
    assert unpack(pack(summary), "/a/b", 3, 4) == summary


@pytest.mark.parametrize(
    ("workspace", "directory", "inside"),
    [
        ("/home/dev/a", "/home/dev/a", True),
        ("/home/dev/a/b", "/home/dev/a", True),
        ("/home/dev/ab", "/home/dev/a", False),
        ("/home/dev", "/home/dev/a", False),
        ("/x", "/", True),
        (None, "/", False),
        ("", "/", False),
    ],
)
def test_in_directory(workspace: str | None, directory: str, inside: bool) -> None:
    assert in_directory(workspace, directory) is inside


def test_the_first_are_the_newest_and_those_of_a_directory(machine: Machine) -> None:
    for number in range(6):
        name = f"{number}{'0' * 7}-0000-4000-8000-000000000000"
        machine.session(name, ["a", "b"], minute=number, cwd="/home/dev/old" if number == 0 else "/home/dev/new")
    open_library(machine).bring_up_to_date()
    library = open_library(machine)
    assert [summary.id[0] for summary in library.first(Path("/home/dev/old"), 2)] == ["5", "4", "0"]
    assert library.first(Path("/nowhere"), 100) == library.cached()

from __future__ import annotations

import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from schemas.costs.responses import Table
from schemas.provider import Environment, Problem, Reading, SessionFile
from schemas.providers.claude import Claude
from schemas.session import Lineage
from schemas.usage import TokenUsage
from tests.viewer.machine import Machine
from viewer.index import database as store
from viewer.index import library as indexed
from viewer.index import worker as indexing
from viewer.index.database import Indexed, Row
from viewer.index.find import look_through
from viewer.index.library import Library, in_directory
from viewer.index.query import parse
from viewer.index.summary import Summary, index_file, list_object, pack, unpack
from viewer.widgets.sessions import Shelf


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

    def fail(path: str, found: tuple[int, int]) -> None:
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
    monkeypatch.setattr(indexing, "index_file", lambda path, *found: read.append(path) or index_file(path, *found))
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


def test_responses_come_back(machine: Machine) -> None:
    path = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["a", "b", "c", "d"], usage={"output_tokens": 7})
    rows = list(Table.from_bytes(index_file(str(path)).groups).rows())
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
    monkeypatch.setattr(indexing, "index_file", lambda path, *found: pytest.fail("read again"))
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


@pytest.mark.parametrize("layout", [store.Store.LAYOUT - 1, 999])
def test_another_layout_of_ours_is_read_anew(machine: Machine, layout: int) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    open_library(machine).bring_up_to_date()
    connection = sqlite3.connect(machine.home / "cache" / "index.sqlite")
    connection.execute(f"PRAGMA user_version = {layout}")
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
    assert [[row.usage.output for row in table.rows()] for _, table in library.responses()] == [[2]]


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
    monkeypatch.setattr(indexing, "index_file", lambda path, *found: pytest.fail("read in this process"))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert len(open_library(machine).bring_up_to_date()) == 4


def test_a_summary_survives_packing() -> None:
    summary = Summary(
        provider="codex",
        id="x",
        file="/a/b",
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
    assert library.first(Path("nowhere"), 100) == library.cached()


def test_the_first_of_a_directory_are_those_in_it_and_below(machine: Machine) -> None:
    roots = ["/home/dev/a", "/home/dev/a/b", "/home/dev/ab", "/home/dev/a-b", "/home/dev/a.b", "/home/dev/z"]
    for number, root in enumerate(roots):
        machine.session(f"{number}{'0' * 7}-0000-4000-8000-000000000000", ["a", "b"], minute=number, cwd=root)
    open_library(machine).bring_up_to_date()
    library = open_library(machine)
    assert [summary.id[0] for summary in library.first(Path("/home/dev/x/../a"), 1)] == ["5", "1"]
    assert [summary.id[0] for summary in library.first(Path("/home/dev/a"), 2)] == ["5", "4", "1", "0"]
    assert len(library.first(Path("/"), 3)) == 3


def broken_parser(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A parser with a bug that one file brings to light."""
    real = Claude.open

    def open_session(provider: Claude, path: Path, *, start: int = 0) -> Reading:
        if path.name == name:
            raise KeyError("\x1b[31mno such key")
        return real(provider, path, start=start)

    monkeypatch.setattr(Claude, "open", open_session)


def test_a_bug_that_one_file_brings_to_light_is_that_files_problem(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    bad = machine.session("bbbbbbbb-0000-4000-8000-000000000002", ["prompt", "answer"])
    broken_parser(monkeypatch, bad.name)
    library = open_library(machine)
    assert ids(library.bring_up_to_date()) == [good.stem]
    ((path, reason),) = library.problems
    assert path == bad
    assert "KeyError" in reason and "\x1b" not in reason
    problems: list[Problem] = []
    found = [text.state.path for path in (bad, good) for text, _ in look_through(str(path), parse("answer"), problems)]
    assert found == [str(good)]
    assert [problem.path for problem in problems] == [bad]


def test_a_bug_in_reading_a_subagent_leaves_its_session(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    child = machine.subagent(parent, "a1f00001", ["look", "found"], {"input_tokens": 10, "output_tokens": 20})
    broken_parser(monkeypatch, child.name)
    library = open_library(machine)
    (summary,) = library.bring_up_to_date()
    assert summary.subagents == 0
    assert [(problem.path, child.name in problem.reason) for problem in library.problems] == [(parent, True)]


KILLED_SOON = """
import os, signal, sys
sys.path[:] = sys.argv[1:]
from viewer.index import worker as indexing
real, read = indexing.index_one, []
def index_one(job, take):
    if read:
        os.kill(os.getpid(), signal.SIGKILL)
    read.append(job)
    return real(job, take)
indexing.index_one = index_one
indexing.work()
"""


@pytest.mark.parametrize("worker", ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)", KILLED_SOON, "x y z"])
def test_a_killed_worker_takes_no_session_with_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, worker: str
) -> None:
    for number in range(8):
        machine.session(f"aaaaaaaa-0000-4000-8000-00000000000{number}", ["prompt", "answer"], minute=number)
    monkeypatch.setattr(indexing, "_PARALLEL_BYTES", 1)
    monkeypatch.setattr(indexing, "_PARCEL_BYTES", 1)
    monkeypatch.setattr(indexing, "_WORKER", worker)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert len(open_library(machine).bring_up_to_date()) == 8


def test_where_there_can_be_no_processes_this_one_reads(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        machine.session(f"aaaaaaaa-0000-4000-8000-00000000000{number}", ["prompt", "answer"], minute=number)

    def no_processes(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(indexing, "_PARALLEL_BYTES", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(indexing, "Popen", no_processes)
    assert len(open_library(machine).bring_up_to_date()) == 3


def test_homes_that_share_a_cache_take_no_session_of_the_other_for_gone(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    (cache / "turnlog").mkdir(parents=True)
    (cache / "turnlog" / "text.sqlite-wal").write_bytes(b"what all homes had together")
    for name in "aba":
        machine = Machine(tmp_path / name)
        machine.session(f"{name * 8}-0000-4000-8000-000000000001", ["fix the lamp", "done"])
        assert len(machine.run("list", "--json", XDG_CACHE_HOME=str(cache)).json) == 1
    held = []
    for path in cache.rglob("index.sqlite"):
        with closing(sqlite3.connect(path)) as connection:
            held += connection.execute("SELECT path FROM sessions").fetchall()
    assert sorted(os.fsdecode(path)[len(str(tmp_path)) + 1] for (path,) in held) == ["a", "b"]
    assert [path for path in (cache / "turnlog").iterdir() if not path.is_dir()] == []


def test_a_locked_index_is_done_without(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    open_library(machine).bring_up_to_date()
    machine.session("bbbbbbbb-0000-4000-8000-000000000002", ["prompt", "answer"])
    monkeypatch.setattr(store.Store, "WAIT", 0.05)
    with closing(sqlite3.connect(machine.home / "cache" / "index.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        library = open_library(machine)
        assert len(library.bring_up_to_date()) == 2
        assert any("another program holds it" in problem.reason for problem in library.problems)
        assert sum(1 for _ in library.responses()) == 2
    assert len(open_library(machine).bring_up_to_date()) == 2


def test_damage_in_the_midst_of_the_index(machine: Machine) -> None:
    for number in range(9):
        machine.session(f"aaaaaaaa-0000-4000-8000-00000000000{number}", ["prompt " * 99, "answer"], minute=number)
    open_library(machine).bring_up_to_date()
    path = machine.home / "cache" / "index.sqlite"
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\x5a" * (len(data) - 4096))
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    assert len(open_library(machine).first(Path("/home/dev"))) == 0
    assert len(open_library(machine).bring_up_to_date()) == 9
    assert len(open_library(machine).bring_up_to_date()) == 9
    assert len(open_library(machine).cached()) == 9


def test_damage_that_sqlite_quotes_in_what_it_says(machine: Machine) -> None:
    """Its message is no UTF-8 then, and the sqlite3 module fails to pass it on."""
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    open_library(machine).bring_up_to_date()
    path = machine.home / "cache" / "index.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE sessions", b"CREATE\xe4TABLE sessions"))
    library = open_library(machine)
    assert len(library.bring_up_to_date()) == 1 and library.problems == []
    assert len(open_library(machine).cached()) == 1


def test_a_damaged_row_is_read_anew(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    open_library(machine).bring_up_to_date()
    with closing(sqlite3.connect(machine.home / "cache" / "index.sqlite")) as connection, connection:
        connection.execute("UPDATE sessions SET summary = ?", (b"[1, 2",))
    library = open_library(machine)
    assert library.first(Path("/")) == library.cached() == []
    assert len(library.bring_up_to_date()) == 1


def test_a_damaged_line_of_the_list_gives_no_id(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    library = open_library(machine)
    library.bring_up_to_date()
    (file,) = library.found.files
    assert library.session_id(file) == "aaaaaaaa-0000-4000-8000-000000000001"
    assert library.workspace(file) == "/home/dev/lamp-shop"
    with closing(sqlite3.connect(machine.home / "cache" / "index.sqlite")) as connection, connection:
        connection.execute("UPDATE sessions SET listed = ?", (b'{"id":"aaaa',))
    assert open_library(machine).session_id(file) is None


@pytest.mark.parametrize("stored", [True, False])
def test_the_answer_of_list_is_what_the_summaries_say(machine: Machine, stored: bool) -> None:
    """Made ready when a session is indexed, in the order of the summaries, also of sessions of one time."""
    if not stored:
        (machine.home / "cache" / "index.sqlite").mkdir(parents=True)
    assert open_library(machine).list_json(everything=True) == b"[]\n"
    for number in range(6):
        machine.session(f"aaaaaaaa-0000-4000-8000-00000000000{number}", ["prompt", "answer"], minute=number // 3)
    blank = machine.session("bbbbbbbb-0000-4000-8000-000000000000", [])
    blank.write_text('{"type":"mode","mode":"normal","sessionId":"bbbbbbbb-0000-4000-8000-000000000000"}\n')
    library = open_library(machine)
    library.bring_up_to_date()
    if stored:
        library = open_library(machine)
    summaries = library.bring_up_to_date()
    rows = [list_object(summary) for summary in summaries]
    assert json.loads(library.list_json(everything=True)) == rows
    said = [row for row, summary in zip(rows, summaries, strict=True) if not summary.blank]
    assert json.loads(library.list_json(everything=False)) == said
    assert (len(rows), len(said)) == (7, 6)


def test_a_folder_in_the_place_of_the_index(machine: Machine) -> None:
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["prompt", "answer"])
    (machine.home / "cache" / "index.sqlite").mkdir(parents=True)
    library = open_library(machine)
    assert len(library.bring_up_to_date()) == 1
    assert any("no index" in problem.reason for problem in library.problems)


def test_two_processes_at_once(machine: Machine) -> None:
    for number in range(20):
        machine.session(f"aaaaaaaa-0000-4000-8000-0000000000{number:02}", ["prompt", "answer"], minute=number)
    with ThreadPoolExecutor(3) as pool:
        # What Python is told makes them processes of their own.
        results = list(pool.map(lambda _: machine.run("list", "--json", PYTHONHASHSEED="0"), range(3)))
    assert [(result.code, result.err, len(result.json)) for result in results] == [(0, "", 20)] * 3
    result = machine.run("doctor", "--json")
    assert result.json["problems"] == []


def test_the_newest_are_read_first_then_folder_after_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"a/1": 9, "b/1": 8, "b/2": 7, "c/1": 6, "b/3": 5, "c/2": 4, "b/4": 3}
    files = [SessionFile("claude", name, name, 1, when) for name, when in sorted(times.items())]
    monkeypatch.setattr(indexing, "_NEWEST", 2)
    monkeypatch.setattr(indexing, "index_file", lambda path, *found: Indexed(path, Row(1, 1)))
    read = [indexed.path for indexed in indexing.index_all(files)]
    assert read == ["a/1", "b/1", "b/2", "b/3", "b/4", "c/1", "c/2"]


def test_many_new_sessions_are_listed_before_they_are_read(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed, "_MANY", 2)
    for number in range(3):
        machine.session(f"aaaaaaaa-0000-4000-8000-00000000000{number}", ["prompt", "answer"], minute=number)
    shelf = Shelf(machine.home)
    first, found, *batches = open_library(machine).refresh()
    assert [(summary.read, summary.title, summary.blank) for summary in found] == [(False, "", False)] * 3
    assert [summary.id for summary in first] == [summary.id for summary in found]  # of the only agent that has any
    shelf.add(first)
    shelf.add(found)
    rows = shelf.rows("", 0.0)
    for batch in batches:
        shelf.add(batch)
    assert sorted(row.summary.id for row in rows if row.summary) == sorted(s.id for batch in batches for s in batch)
    assert all(row.summary.read and row.summary.title for row in rows if row.summary)


def test_where_none_was_known_the_newest_of_each_agent_are_listed_while_others_are_looked_for(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexed, "_MANY", 1)
    monkeypatch.setattr(indexed, "_FIRST", 2)
    for number in range(3):
        machine.session(f"aaaaaaaa-0000-4000-8000-00000000000{number}", ["prompt", "answer"], minute=number)
    library = open_library(machine)
    batches = library.refresh()
    assert sorted(summary.id[-1] for summary in next(batches)) == ["1", "2"]
    assert not library.problems
    assert len(next(batches)) == 3
    for _ in batches:
        pass
    machine.session("aaaaaaaa-0000-4000-8000-000000000003", ["prompt", "answer"], minute=3)
    machine.session("aaaaaaaa-0000-4000-8000-000000000004", ["prompt", "answer"], minute=4)
    again = list(open_library(machine).refresh())  # what is known stands in the list: only what is new comes
    assert [len(batch) for batch in again[:1]] == [2]

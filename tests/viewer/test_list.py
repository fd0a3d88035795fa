from __future__ import annotations

import os
from pathlib import Path

import pytest

from renderers.facts import project_name
from tests.fixtures.codex.rollouts import THREAD, Rollout
from tests.viewer.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "done"], minute=1)
    machine.session(
        "bbbbbbbb-0000-4000-8000-000000000002", ["Dark [red]mode[/red]", "ok"], minute=2, cwd="/home/dev/web"
    )
    machine.session("cccccccc-0000-4000-8000-000000000003", [], minute=3)
    return machine


def test_json_has_the_agreed_shape(machine: Machine) -> None:
    rows = machine.run("list", "--json").json
    assert [row["id"][:2] for row in rows] == ["bb", "aa"]
    assert rows[1] == {
        "provider": "claude",
        "id": "aaaaaaaa-0000-4000-8000-000000000001",
        "path": str(machine.projects / "-home-dev-lamp-shop/aaaaaaaa-0000-4000-8000-000000000001.jsonl"),
        "key": None,
        "title": "Fix the lamp",
        "workspaceRoot": "/home/dev/lamp-shop",
        "createdAt": "2026-03-04T09:01:00Z",
        "updatedAt": "2026-03-04T09:01:01Z",
        "exchanges": 1,
        "messages": 2,
        "models": ["claude-opus-4-5-20251101"],
        "usage": {
            "inputTokens": 1,
            "outputTokens": 2,
            "cacheReadTokens": None,
            "cacheWriteTokens": None,
            "reasoningTokens": None,
            "totalTokens": 3,
        },
        "archived": False,
        "live": False,
    }


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["dark"], ["bb"]),
        (["LAMP", "fix"], ["aa"]),
        (["lamp", "dark"], []),
        (["--since", "2026-03-04T09:02:00+00:00"], ["bb"]),
        (["--since", "1d"], []),
        (["--agent", "claude"], ["bb", "aa"]),
        (["--agent", "codex"], []),
    ],
)
def test_filters(machine: Machine, args: list[str], found: list[str]) -> None:
    result = machine.run("list", "--json", *args)
    assert [row["id"][:2] for row in result.json] == found
    assert result.code == (0 if found else 1)


def test_what_was_archived_is_marked(machine: Machine) -> None:
    """faults/f29"""
    other = "019a0000-0000-7000-8000-000000000009"
    for folder, thread, prompt in (("archived_sessions", THREAD, "old"), ("sessions", other, "new")):
        rollout = Rollout(thread).user(prompt)
        rollout.save(machine.home / ".codex" / folder, f"rollout-2025-10-09T10-00-00-{thread}.jsonl")
    rows = machine.run("list", "--json", "--agent", "codex").json
    assert {row["title"]: row["archived"] for row in rows} == {"old": True, "new": False}
    text = machine.run("list", "--agent", "codex").out
    assert "archived old" in text and "archived new" not in text
    assert " · archived · 1 exchange" in machine.run("show", THREAD).out
    document = machine.run("show", THREAD, "--json").json
    assert document["exchanges"][0]["metadata"]["turnlog"]["session"]["metadata"]["archived"] is True


def test_here(machine: Machine) -> None:
    here = machine.home / "work"
    here.mkdir()
    machine.session("dddddddd-0000-4000-8000-000000000004", ["here", "yes"], cwd=str(here))
    rows = machine.run("list", "--json", "--here", cwd=here).json
    assert [row["id"][:2] for row in rows] == ["dd"]
    text = machine.run("list", cwd=here).out
    assert text.index("this directory") < text.index("here") < text.index("elsewhere") < text.index("Fix the lamp")


def test_a_session_in_which_nothing_was_said_is_there_with_all(machine: Machine) -> None:
    path = machine.session("cccccccc-0000-4000-8000-000000000003", [])
    path.write_text('{"type":"mode","mode":"normal","sessionId":"cccccccc-0000-4000-8000-000000000003"}\n')
    assert [row["id"][:2] for row in machine.run("list", "--json", "--all").json] == ["cc", "bb", "aa"]
    assert len(machine.run("list", "--json").json) == 2


def test_live(machine: Machine) -> None:
    path = machine.projects / "-home-dev-web/bbbbbbbb-0000-4000-8000-000000000002.jsonl"
    os.utime(path)  # as a copy or a restored backup has it: what it says is from months ago
    assert [row["live"] for row in machine.run("list", "--json").json] == [False, False]
    assert "●" not in machine.run("list").out
    machine.to_now(path)
    assert [row["live"] for row in machine.run("list", "--json").json] == [True, False]
    assert "●" in machine.run("list").out


def test_the_table_fits_80_columns_and_takes_nothing_for_markup(machine: Machine) -> None:
    machine.session(
        "eeeeeeee-0000-4000-8000-000000000005", ["日本語のタイトル " * 20, "ok"], cwd="/home/dev/" + "long" * 20
    )
    result = machine.run("list", COLUMNS="80")
    assert result.code == 0
    assert "Dark [red]mode[/red]" in result.out
    from rich.cells import cell_len

    assert all(cell_len(line) <= 80 for line in result.out.splitlines())


def test_no_sessions(tmp_path: Path) -> None:
    result = Machine(tmp_path).run("list", "--json")
    assert (result.code, result.json) == (0, [])
    result = Machine(tmp_path).run("list")
    assert (result.code, result.out) == (0, "") and "no sessions" in result.err


def test_bad_calls(machine: Machine) -> None:
    for args in (["--since", "whenever"], ["--since", ""], ["--since", "99999d" * 3], ["--agent", "hal"], ["--nope"]):
        result = machine.run("list", *args)
        assert result.code == 2
        assert result.err.startswith("turnlog: ") and result.err.count("\n") == 1


def test_a_project_is_one_line() -> None:
    paths = ("/a/b", "/a/b/", "C:\\git\\x", None, "/", "/a/new\nline\n")
    assert [project_name(p) for p in paths] == ["b", "b", "x", "", "/", "new line"]


def test_a_newline_in_a_folder_makes_no_rows(machine: Machine) -> None:
    before = len(machine.run("list").out.splitlines())
    machine.session("dddddddd-0000-4000-8000-000000000004", ["x", "y"], cwd="/home/dev/new\ntouch\nline", folder="n")
    out = machine.run("list").out
    assert len(out.splitlines()) == before + 1
    assert "new touch line" in out


def test_a_row_has_an_id_that_opens_it(machine: Machine) -> None:
    heading, row, *_, foot = machine.run("list").out.splitlines()
    assert heading.split()[-2:] == ["id", "title"]
    assert row.split()[-3:] == ["bbbbbbbb", "Dark", "[red]mode[/red]"]
    assert "Dark" in machine.run("show", "bbbbbbbb").out
    assert foot == "tokens without subagents"


def test_a_title_is_whole_behind_a_pipe_and_can_be_read_beside_a_long_id(machine: Machine) -> None:
    ids = [f"dddddddd-0000-4000-8000-00000000000{n}" for n in (4, 5)]
    for minute, name in enumerate(ids, 4):
        machine.session(name, ["Please make the greeting friendlier " * 4, "ok"], minute=minute)
    title = machine.run("list", "--json").json[0]["title"]
    assert f"{ids[1]}  {title}\n" in machine.run("list").out
    lines = machine.run("list", COLUMNS="80").out.splitlines()
    id_at, short_at = (next(n for n, line in enumerate(lines) if f"  {name}" in line) for name in (ids[1], "bbbbbbbb"))
    assert lines[id_at].endswith(ids[1]) and title.startswith(lines[id_at + 1].strip(" …"))
    assert len(lines[id_at + 1]) == 80 and lines[short_at].endswith("Dark [red]mode[/red]")
    assert ids[1] in machine.run("show", ids[1], "--json").out
    for columns in ("20", "30", "44", "60", "120"):
        assert all(f"  {name}" in machine.run("list", COLUMNS=columns).out for name in (*ids, "bbbbbbbb")), columns


def test_a_file_that_is_left_out_is_said_to_people(machine: Machine) -> None:
    path = machine.session("dddddddd-0000-4000-8000-000000000009", ["x"])
    path.write_bytes(b"\0\1")
    result = machine.run("list")
    assert result.code == 0
    assert result.err == "turnlog: 2 files left out or not read in full (turnlog doctor says which and why)\n"
    assert machine.run("list", "--json").err == ""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.headline import Outcome, headline, relative_path, thinking_line
from schemas.diffs import FileDiff, Hunk
from schemas.message import PREVIEW, Tool, ToolStatus
from schemas.path_hints import shell_text

ROOT = "/home/dev/lamp-shop"


TODOS = [{"content": content, "status": "completed"} for content in "abc"]
TODOS += [{"content": "d", "status": "in_progress"}, {"content": "e", "status": "pending"}]

CUT = f"\n\n{PREVIEW}29KB; the whole was saved to a file]"


def tool(name: str, kind: Any = "generic", text: str = "", **more: Any) -> Tool:
    given_input = more.pop("input", {})
    return Tool(name, kind, "use", given_input, text=text, **more)


def line(use: Tool) -> str:
    head = headline(use, ROOT)
    return f"{head.title} | {head.ending}" if head.ending else head.title


def diff(path: str, added: int, removed: int, **more: Any) -> FileDiff:
    return FileDiff(path, hunks=[Hunk(["+x"] * added + ["-y"] * removed)], **more)


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (tool("Edit", "write", diffs=[diff(f"{ROOT}/viewer/app.py", 12, 3)]), "Edit viewer/app.py | +12 -3"),
        (tool("Write", "write", diffs=[diff(f"{ROOT}/new.py", 9, 0, operation="add")]), "Write new.py | +9"),
        (tool("apply_patch", "write", diffs=[diff("a.py", 10, 3), diff("b.py", 2, 0)]), "Edit a.py, b.py | +12 -3"),
        (tool("apply_patch", "write", diffs=[diff("a.py", 0, 3, operation="delete")]), "Delete a.py | -3"),
        (
            tool("apply_patch", "write", diffs=[diff("a.py", 1, 1, operation="move", renamed_to="b.py")]),
            "Move a.py → b.py | +1 -1",
        ),
        (
            tool("Bash", "shell", "x\n" * 212, input={"command": "pytest -q tests/x.py"}, exit_code=1, seconds=41.0),
            "$ pytest -q tests/x.py | exit 1 · 41 s · 212 lines",
        ),
        (tool("Bash", "shell", "ok", input={"command": "make\nmake test"}), "$ make … | 1 line"),
        (tool("shell", "shell", input={"command": ["bash", "-lc", "ls | wc"]}), "$ ls | wc"),
        (tool("shell", "shell", input={"command": ["git", "log", "a b"]}), "$ git log 'a b'"),
        (tool("exec_command", "shell", input={"cmd": "ls"}, exit_code=0), "$ ls"),
        (tool("local_shell", "shell", input={"action": {"command": ["ls", "-l"]}}), "$ ls -l"),
        (tool("Read", "read", "a\nb\n", input={"file_path": f"{ROOT}/src/a.py"}), "Read src/a.py | 2 lines"),
        (tool("Read", "read", "a", input={"file_path": "/etc/hosts", "offset": 40}), "Read /etc/hosts:40 | 1 line"),
        (tool("Grep", "search", "a:1\nb:2", input={"pattern": "x", "path": f"{ROOT}/src"}), 'Grep "x" in src | 2 hits'),
        (tool("Grep", "search", "Found 14 files\na", input={"pattern": "lock"}), 'Grep "lock" | 14 files'),
        (tool("Grep", "search", "No matches found", input={"pattern": "lock"}), 'Grep "lock" | no hits'),
        (tool("Grep", "search", "no matches", input={"pattern": "lock"}), 'Grep "lock" | no hits'),
        (tool("Grep", "search", f"a:1\nb:2{CUT}", input={"pattern": "x"}, spilled=True), 'Grep "x" | 2 hits'),
        (tool("Read", "read", f"a{CUT}", input={"file_path": "/etc/hosts"}, spilled=True), "Read /etc/hosts | 1 line"),
        (tool("Glob", "search", "a\nb", input={"pattern": "**/*.py"}), 'Glob "**/*.py" | 2 files'),
        (
            tool("Task", "task", input={"subagent_type": "explore", "description": "find other callers of lock()"}),
            "Agent explore: find other callers of lock()",
        ),
        (
            tool("TodoWrite", input={"todos": TODOS}),
            "Todo d | 3 of 5 done",
        ),
        (tool("update_plan", input={"plan": [{"step": "a", "status": "completed"}]}), "Plan | 1 of 1 done"),
        (tool("WebFetch", "read", input={"url": "https://user:pw@docs.example/a/b?c=d"}), "WebFetch docs.example/a/b"),
        (tool("mcp__ide__getDiagnostics", input={"uri": "file:///x"}), "ide: getDiagnostics file:///x"),
        (tool("Hologram", input={"size": 3, "shape": "a lamp\nwith shade"}), "Hologram a lamp …"),
        (tool("Hologram", input={"size": 3}), "Hologram size 3"),
        (tool("", input={}), "tool"),
        (tool("Edit", "write", input={"file_path": "a"}, status=ToolStatus.DENIED), "Edit a | denied"),
        (
            tool("Edit", "write", status=ToolStatus.ERROR, text="Script error:\nNo file b", diffs=[diff("b", 1, 1)]),
            "Edit b | failed · Script error: No file b",
        ),
        (tool("Bash", "shell", input={"command": "sleep 9"}, status=ToolStatus.PENDING), "$ sleep 9 | no result"),
        (tool("Bash", "shell", input={"command": "x"}, status=ToolStatus.INTERRUPTED), "$ x | interrupted"),
        (tool("Glob", "search", "a\nb", input={}), "Glob | 2 files"),
        (tool("todo_write", "task", input={"todos": TODOS}), "Todo d | 3 of 5 done"),
        (tool("google_web_search", "search", input={"query": "lamps"}), 'WebSearch "lamps"'),
        (
            tool("web_fetch", "read", input={"prompt": "Read https://docs.example/a?b, and sum up."}),
            "WebFetch docs.example/a",
        ),
        (tool("web_fetch", "read", input={"prompt": "the page"}), "WebFetch the page"),
        (tool("read_many_files", "read", "x", input={"paths": ["a", "b"]}), "Read a, b | 1 line"),
        (tool("list_directory", "shell", "a", input={"path": f"{ROOT}/src"}), "List src | 1 line"),
        (tool("invoke_agent", "generic", input={"agent_name": "tidy", "prompt": "Dust"}), "Agent tidy: Dust"),
        (tool("question", input={"questions": [{"question": "Which?"}, {}]}), "Ask Which? (and 1 more)"),
    ],
)  # fmt: skip
def test_lines(use: Tool, expected: str) -> None:
    assert line(use) == expected


PATCH = f"*** Begin Patch\n*** Update File: {ROOT}/a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
CHANGES = [{"path": f"{ROOT}/a.py", "kind": "update"}, {"path": f"{ROOT}/b.py", "kind": {"type": "update"}}]


@pytest.mark.parametrize(
    ("name", "given_input", "title"),
    [
        ("Edit", {"file_path": f"{ROOT}/a.py"}, "Edit a.py"),
        ("MultiEdit", {"file_path": f"{ROOT}/a.py"}, "Edit a.py"),
        ("replace", {"file_path": f"{ROOT}/a.py", "old_string": "x"}, "Edit a.py"),
        ("edit", {"filePath": f"{ROOT}/a.py", "oldString": "x"}, "Edit a.py"),
        ("StrReplace", {"path": f"{ROOT}/a.py"}, "Edit a.py"),
        ("write", {"content": "x", "filePath": f"{ROOT}/a.py"}, "Write a.py"),
        ("write_file", {"content": "x", "file_path": f"{ROOT}/a.py"}, "Write a.py"),
        ("delete_file", {"target_file": f"{ROOT}/a.py"}, "Delete a.py"),
        ("apply_patch", {"changes": CHANGES}, "Edit a.py, b.py"),
        ("apply_patch", {"changes": [{"path": "new.py", "kind": "add"}]}, "Write new.py"),
        ("apply_patch", {"input": PATCH}, "Edit a.py, b.py"),
        ("apply_patch", {"patchText": "*** Delete File: a.py"}, "Delete a.py"),
        ("apply_patch", {"changes": [1, {"kind": "add"}]}, "Edit"),
        ("Grep", {"pattern": "x"}, 'Grep "x"'),
        ("search_file_content", {"pattern": "x"}, 'Grep "x"'),
        ("glob", {"pattern": "*.py"}, 'Glob "*.py"'),
        ("Glob", {"globPattern": "*.py", "targetDirectory": f"{ROOT}/src"}, 'Glob "*.py" in src'),
        ("read", {"filePath": f"{ROOT}/a.py"}, "Read a.py"),
        ("run_my_lamp", {"path": f"{ROOT}/a.py"}, "run_my_lamp a.py"),
    ],
)
def test_a_kind_of_tool_is_called_the_same_whatever_its_agent_and_its_end(
    name: str, given_input: dict[str, Any], title: str
) -> None:
    for status in (ToolStatus.ERROR, ToolStatus.DENIED, ToolStatus.PENDING):
        assert headline(tool(name, "write", input=given_input, status=status), ROOT).title == title


@pytest.mark.parametrize("name", ["Write", "write", "write_file"])
def test_what_is_written_anew_over_an_old_file_is_written(name: str) -> None:
    assert line(tool(name, "write", diffs=[diff("a.py", 2, 1)])) == "Write a.py | +2 -1"


def test_tones() -> None:
    failed = headline(tool("Bash", "shell", input={"command": "x"}, status=ToolStatus.ERROR, exit_code=2), None)
    assert failed.outcome == (Outcome("exit 2", "bad"),)
    edit = headline(tool("Edit", "write", diffs=[diff("a", 1, 1)]), None)
    assert [outcome.tone for outcome in edit.outcome] == ["add", "remove"]


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        (f"{ROOT}/a/b.py", ROOT, "a/b.py"),
        (f"{ROOT}-web/a.py", ROOT, f"{ROOT}-web/a.py"),
        (ROOT, ROOT, "."),
        ("C:\\git\\cc\\a.py", "C:\\git\\cc\\", "a.py"),
        ("/a", None, "/a"),
        ("/a", "/", "/a"),
    ],
)
def test_relative_path(path: str, root: str | None, expected: str) -> None:
    assert relative_path(path, root) == expected


def test_shell_text_of_what_is_no_command() -> None:
    assert shell_text(None) == shell_text(7) == shell_text(["a", 7]) == ""


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_NAMES = ["Bash", "Read", "Edit", "Grep", "Task", "TodoWrite", "TaskUpdate", "WebFetch", "web_search", "Skill", "x"]
_NAMES += ["apply_patch", "replace", "glob", "list_directory", "web_fetch", "todowrite"]
_NAMES += ["AskUserQuestion", "write_stdin", "mcp__a", "local_shell", "update_plan", "ExitPlanMode"]
_KEYS = [
    "changes",
    "patchText",
    "prompt",
    "filePath",
    "command",
    "cmd",
    "file_path",
    "pattern",
    "todos",
    "plan",
    "url",
    "action",
    "questions",
    "chars",
    "status",
]


@given(st.sampled_from(_NAMES), st.dictionaries(st.sampled_from(_KEYS), _JSON), st.sampled_from(ToolStatus), st.text())
def test_any_input_makes_one_line(name: str, values: dict[str, Any], status: ToolStatus, text: str) -> None:
    head = headline(tool(name, text=text, input=values, status=status), ROOT)
    assert head.verb
    assert "\n" not in head.title + head.ending
    assert len(head.title) <= 602


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("The lock is taken **before** the transaction.", "The lock is taken before the transaction."),
        ("**Looking at the file**\n\nI should read `it` first.", "Looking at the file · I should read it first."),
        ("# Plan\n\n- one\n* two\n> three\n2 * 3 = snake_case", "Plan · one · two · three · 2 * 3 = snake_case"),
        ("", ""),
        ("\n **  ** \n", ""),
    ],
)
def test_thinking_is_told_by_its_first_words(text: str, line: str) -> None:
    assert thinking_line(text) == line


@given(st.text(max_size=3000))
def test_any_thinking_is_one_short_line(text: str) -> None:
    line = thinking_line(text)
    assert len(line) <= 300 and len(line.splitlines()) <= 1

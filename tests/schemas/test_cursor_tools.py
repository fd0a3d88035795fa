"""Cursor's tools: their kinds, inputs, results and differences (formats note 3.2, interchange note 5.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Tool
from schemas.providers.cursor import PROVIDER
from tests.schemas.conformance import assert_clean

TABLE = {
    "write": "Write StrReplace MultiStrReplace Delete edit_file edit_file_v2 MultiEdit edit_notebook reapply"
    " search_replace write delete_file apply_patch ApplyPatch",
    "read": "Read read_file read_file_v2",
    "search": "Grep Glob grep ripgrep grep_search list_directory file_search glob_file_search rg",
    "shell": "Shell LS run_terminal_cmd run_terminal_command run_terminal_command_v2",
    "task": "TodoWrite",
    "generic": "mcp_github_search mcp__a__b playwright-browser_navigate",
    "unknown": "Hologram somethingElse",
}


def make_tool(
    name: object, given: object, result: Any = None, *, structured: Any = None, is_error: Any = False
) -> Tool:
    """A tool use and, where there is one, its result, read as a store has them."""
    call = {"type": "tool-call", "toolCallId": "t", "toolName": name, "args": given}
    (use,) = PROVIDER.read({"role": "assistant", "content": [call], "turnlog": {}})
    part = {"type": "tool-result", "toolCallId": "t", "result": result, "isError": is_error}
    options = {"cursor": {"highLevelToolCallResult": structured}}
    (answer,) = PROVIDER.read({"role": "tool", "content": [part], "providerOptions": options, "turnlog": {}})
    told = result is not None or structured is not None
    return PROVIDER.tool(use, answer if told else None, Path())[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in TABLE.items() for name in names.split()])
def test_every_tool_has_the_tables_type(kind, name):
    assert PROVIDER.tool_type(name) == kind
    assert make_tool(f"functions.{name}", {}).type == kind


def test_names_lose_their_prefix():
    assert [make_tool(n, {}).name for n in ("functions.Shell", "Shell:12", "", None, 5)] == [
        "Shell",
        "Shell:12",
        "(unnamed tool)",
        "(unnamed tool)",
        "(unnamed tool)",
    ]


@pytest.mark.parametrize(
    ("given_", "asked"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("*** Begin Patch", {"input": "*** Begin Patch"}),
        ("{broken", {"input": "{broken"}),
        ([1], {}),
        (None, {}),
    ],
)
def test_the_input_is_an_object(given_, asked):
    assert make_tool("X", given_).input == asked


def changed(tool: Tool) -> list[tuple[str, str, list[str]]]:
    return [(d.path, d.operation, [line for hunk in d.hunks for line in hunk.lines]) for d in tool.diffs]


@pytest.mark.parametrize(
    ("name", "given_", "expected"),
    [
        ("Write", {"path": "a", "contents": "x\ny"}, [("a", "add", ["+x", "+y"])]),
        ("StrReplace", {"file_path": "a", "old_string": "x", "new_string": "y"}, [("a", "update", ["-x", "+y"])]),
        ("search_replace", {"path": "a", "old_string": "x", "new_string": ""}, [("a", "update", ["-x"])]),
        (
            "MultiStrReplace",
            {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, None, {"new_string": "z"}]},
            [("a", "update", ["-x", "+y", "+z"])],
        ),
        ("Delete", {"path": "a"}, [("a", "delete", [])]),
        (
            "ApplyPatch",
            "*** Begin Patch\n*** Add File: n\n+1\n*** Update File: u\n@@\n-a\n+b\n*** End Patch",
            [("n", "add", ["+1"]), ("u", "update", ["-a", "+b"])],
        ),
        ("ApplyPatch", {"patch": "@@ -1,1 +1,1 @@\n-a\n+b", "path": "p"}, [("p", "update", ["-a", "+b"])]),
        ("ApplyPatch", "nonsense", []),
        ("Write", {"path": "a"}, []),
        ("Read", {"path": "a", "old_string": "x", "new_string": "y"}, []),
    ],
)
def test_what_a_tool_changes_is_a_diff(name, given_, expected):
    assert changed(make_tool(name, given_)) == expected
    assert changed(make_tool(name, given_, "done")) == expected
    assert changed(make_tool(name, given_, "no such text", is_error=True)) == []


def test_the_recorded_difference_has_line_numbers():
    structured = {"output": {"success": {"path": "a", "diffString": "@@ -7 +7 @@\n-x\n+y"}}}
    diff = make_tool("StrReplace", {"path": "a", "old_string": "x", "new_string": "y"}, "ok", structured=structured)
    assert diff.diffs[0].hunks[0].new_start == 7


SHELL = (
    "Exit code: {}\n\nCommand output:\n\n```\n{}\n```\n\nCommand completed in 1172 ms.\n\n"
    "Shell state (cwd, env vars) persists for subsequent calls."
)


@pytest.mark.parametrize(
    ("result", "text", "code", "seconds", "status"),
    [
        (SHELL.format(0, "a\nb"), "a\nb", 0, 1.172, "ok"),
        (SHELL.format(2, "x ``` y"), "x ``` y", 2, 1.172, "error"),
        ("plain", "plain", None, None, "ok"),
        ({"success": {"stdout": "o\n", "stderr": "e", "exitCode": 0, "executionTime": 900}}, "o\ne", 0, 0.9, "ok"),
        ({"failure": {"stdout": "o", "exitCode": 3}}, "o", 3, None, "error"),
        ({"rejected": {"reason": "no"}}, "no", None, None, "denied"),
        ({"error": {"error": "File not found"}}, "File not found", None, None, "error"),
        ({"type": "text", "value": "v"}, "v", None, None, "ok"),
        ({"type": "error-text", "value": "v"}, "v", None, None, "error"),
        ({"type": "json", "value": {"a": 1}}, '{\n  "a": 1\n}', None, None, "ok"),
        ({"content": [{"type": "text", "text": "t"}], "isError": True}, "t", None, None, "error"),
        ("", "", None, None, "ok"),
        (None, "", None, None, "pending"),
        ([], "", None, None, "ok"),
        (0, "0", None, None, "ok"),
        ({"ok": True}, '{\n  "ok": true\n}', None, None, "ok"),
    ],
)
def test_results_come_out_of_their_envelopes(result, text, code, seconds, status):
    tool = make_tool("Shell", {"command": "x"}, result)
    assert (tool.text, tool.exit_code, tool.seconds, str(tool.status)) == (text, code, seconds, status)
    assert (tool.output is None) == (status == "pending")


def test_what_stands_beside_a_result_knows_more():
    beside = {"output": {"success": {"exitCode": 0, "executionTime": 5285, "stdout": "x"}}, "isError": False}
    tool = make_tool("Shell", {}, "words", structured=beside)
    assert (tool.text, tool.exit_code, tool.seconds) == ("words", 0, 5.285)
    assert str(make_tool("Read", {}, "words", structured={"isError": True}).status) == "error"
    assert make_tool("Shell", {}, None, structured=beside).text == "x"


def test_search_results_lose_the_tags_of_their_workspaces():
    text = "".join(f'<workspace_result workspace_path="/{name}">\n{name}:1:y\n</workspace_result>\n' for name in "ab")
    assert make_tool("Grep", {}, text).text == "a:1:y\nb:1:y"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "image", "data": "AAAA", "mimeType": "image/png"}, "[image image/png, 3 bytes]"),
        ({"type": "image", "image": "data:image/gif;base64,AAAA"}, "[image image/gif, 3 bytes]"),
        ({"type": "image", "image": {"data": "AAA=", "mimeType": "image/webp"}}, "[image image/webp, 3 bytes]"),
        ({"type": "image"}, "[image of unknown type]"),
    ],
)
def test_images_are_placeholders(part, text):
    tool = make_tool("Read", {}, [{"type": "text", "text": "see"}, part])
    assert (tool.text, [image.text for image in tool.images]) == ("see", [text])


@given(
    result=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "value", "success", "content", "stdout", "exitCode", "text", "data", "image"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=10,
    ),
    name=st.sampled_from(["Shell", "Write", "ApplyPatch", "MultiStrReplace", "x"]),
)
def test_any_result_makes_a_clean_tool(result, name):
    tool = make_tool(name, result, result, structured=result, is_error=result)
    assert_clean(tool)

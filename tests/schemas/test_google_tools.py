"""Tool uses of Gemini CLI and Qwen Code, whatever their results look like (formats note 1.4)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.clean import Sgr, clean
from schemas.message import Tool, ToolStatus
from schemas.providers._google import Tools, answer_of, content_of, display_text, normalised, parts_of
from schemas.providers.kit.words import Use
from schemas.usage import TokenUsage
from schemas.values import dict_of, when
from tests.schemas.conformance import assert_clean

PATCH = "Index: a.py\n===\n--- a.py\tCurrent\n+++ a.py\tProposed\n@@ -1,2 +1,2 @@\n x\n-y\n+z\n"


def answered(output: Any, **more: Any) -> list[Any]:
    return [{"functionResponse": {"id": "t", "name": "n", "response": {"output": output}, **more}}]


def make_tool(name: str, use_id: str, asked: Any, *told: Any) -> Tool:
    use = Use(name=name, use_id=use_id, input=dict_of(asked))
    return Tools().tool(use, answer_of(use_id, name, *told), Path())[0]


def shell(text: str) -> Any:
    return make_tool("run_shell_command", "t", {"command": "make"}, answered(text), None, "success")


# -- the shell's envelope ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown", "code"),
    [
        ("Output: hi\nProcess Group PGID: 7", "hi", 0),
        ("Output: hi\nthere\nExit Code: 2\nProcess Group PGID: 7", "hi\nthere", 2),
        ("Output: (empty)\nProcess Group PGID: 7", "", 0),
        ("Output: hi", "hi", None),
        ("Output: died\nSignal: 9\nProcess Group PGID: 7", "died\nSignal: 9", None),
        ("Output: failed\nError: no such file\nExit Code: 1", "failed\nError: no such file", 1),
        ("Command: ls\nDirectory: (root)\nOutput: a\nError: (none)\nExit Code: 0\nSignal: (none)\n"
         "Background PIDs: (none)\nProcess Group PGID: 7", "a", 0),
        ("Command: a\nb\nDirectory: /x\nOutput: out\nError: (none)\nExit Code: 3\nSignal: (none)", "out", 3),
        ("Output too large. Showing …\n<untrusted_context>\nOutput: 1\n2\nExit Code: 3\nProcess Group PGID: 7\n"
         "</untrusted_context>", "Output too large. Showing …\n1\n2", 3),
        ("<untrusted_context>\nOutput: hi\nExit Code: 3\nProcess Group PGID: 7\n</untrusted_context>", "hi", 3),
        ("just text\nExit Code: 3", "just text\nExit Code: 3", None),
    ],
)  # fmt: skip
def test_the_envelope_is_unwrapped(text: str, shown: str, code: int | None) -> None:
    tool = shell(text)
    assert (tool.text, tool.exit_code) == (shown, code)
    assert tool.status is (ToolStatus.ERROR if code else ToolStatus.OK)


def test_other_tools_keep_what_looks_like_an_envelope() -> None:
    assert answer_of("", "read_file", answered("Output: x\nExit Code: 1")).text == "Output: x\nExit Code: 1"


# -- how it ended ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "status", "expected"),
    [
        (answered("x"), "success", ToolStatus.OK),
        (answered("x"), None, ToolStatus.OK),
        (None, "success", ToolStatus.OK),
        (None, None, ToolStatus.PENDING),
        (None, "executing", ToolStatus.PENDING),
        (None, "awaiting_approval", ToolStatus.PENDING),
        (answered("x"), "error", ToolStatus.ERROR),
        ([{"functionResponse": {"response": {"error": "bad"}}}], None, ToolStatus.ERROR),
        (answered("[Operation Cancelled] Reason: User denied execution."), "cancelled", ToolStatus.DENIED),
        (answered("[Operation Cancelled] Reason: User did not allow tool call"), "cancelled", ToolStatus.DENIED),
        (answered("[Operation Cancelled] Reason: User cancelled the operation."), "cancelled", ToolStatus.INTERRUPTED),
        (answered("Tool execution denied by policy."), "error", ToolStatus.DENIED),
        (answered("Command moved to background (PID: 7). Output hidden."), "success", ToolStatus.BACKGROUND),
        ([], [], ToolStatus.OK),
    ],
)
def test_status(result: Any, status: Any, expected: ToolStatus) -> None:
    assert make_tool("run_shell_command", "t", {}, result, None, status).status is expected


def test_types() -> None:
    tool_type = Tools().tool_type
    assert [tool_type(n) for n in ("replace", "read_file", "grep_search", "run_shell_command", "write_todos")] == [
        "write", "read", "search", "shell", "task",
    ]  # fmt: skip
    assert [tool_type(n) for n in ("save_memory", "mcp_a_b", "a__b", "novelty", "")] == [
        "generic", "generic", "generic", "unknown", "unknown",
    ]  # fmt: skip


# -- results -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("plain", "plain"),
        ({"text": "a part"}, "a part"),
        ([{"functionResponse": {"response": "bare"}}], "bare"),
        (answered({"k": 1}), '{\n  "k": 1\n}'),
        ([{"functionResponse": {"response": {"other": 1}}}], '{\n  "other": 1\n}'),
        ([{"functionResponse": {"response": None}}], ""),
    ],
)
def test_result_texts(result: Any, text: str) -> None:
    assert make_tool("x", "t", {}, result).text == text


def test_images_of_a_result() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    tool = make_tool("read_file", "t", {}, [*answered("ok", parts=[image]), image])
    assert [part.text for part in tool.images] == ["[image image/png, 3 bytes]"] * 2


@pytest.mark.parametrize(
    ("display", "text"),
    [
        ({"todos": [{"description": "a", "status": "completed"}, {"content": "b", "status": "pending"}]},
         "- [x] a\n- [ ] b"),
        ({"isSubagentProgress": True, "agentName": "x", "state": "completed", "result": "Found"}, "Found"),
        ({"summary": "3 matches", "matches": []}, "3 matches"),
        ({"novel": 1}, '{\n  "novel": 1\n}'),
        ([[{"text": "a  "}], [{"text": "b"}], []], "a\nb"),
        ({"ansiOutput": [[{"text": "a"}]]}, "a"),
        ({"fileDiff": PATCH}, ""),
        (None, ""), (7, ""), ([], ""),
    ],
)  # fmt: skip
def test_displays(display: Any, text: str) -> None:
    assert display_text(display) == text
    assert make_tool("x", "t", {}, None, display, "success").text == text


def test_a_terminals_colours_are_laid_over_the_whole_output() -> None:
    red = {"text": "bad", "fg": "#ff0000", "bold": True}
    display = [[{"text": "all is "}, red, {"text": "      "}], [{"text": "here"}]]  # padded and wrapped
    tool = make_tool("run_shell_command", "t", {}, answered("Output: all is bad here\nProcess Group PGID: 1"), display)
    assert tool.text == "all is bad here"
    assert [(run.start, run.end, run.sgr) for run in tool.runs] == [(7, 10, Sgr(fg=(255, 0, 0), bold=True))]
    other = make_tool("run_shell_command", "t", {}, answered("Output: something else"), display)
    assert other.runs == [] and other.text == "something else"


# -- diffs -------------------------------------------------------------------------------------------------------------


def test_the_agents_own_diff_is_preferred() -> None:
    asked = {"file_path": "/w/a.py", "old_string": "y", "new_string": "z"}
    display = {"fileDiff": PATCH, "fileName": "a.py", "filePath": "/w/a.py", "isNewFile": False}
    (diff,) = make_tool("replace", "t", asked, answered("ok"), display, "success").diffs
    assert (diff.path, diff.operation, diff.added, diff.removed, diff.hunks[0].old_start) == (
        "/w/a.py",
        "update",
        1,
        1,
        1,
    )
    (plain,) = make_tool("replace", "t", asked, answered("ok"), None, "success").diffs
    assert (plain.added, plain.removed, plain.hunks[0].old_start) == (1, 1, None)
    (cut,) = make_tool("edit", "t", asked, answered("ok"), {**display, "fileDiffTruncated": True}, "success").diffs
    assert cut == plain


def test_new_files_and_failed_edits() -> None:
    asked = {"file_path": "a.py", "content": "1\n2\n"}
    (diff,) = make_tool("write_file", "t", asked, answered("ok"), None, "success").diffs
    assert (diff.operation, diff.added) == ("add", 2)
    assert make_tool("write_file", "t", asked, answered("no"), {"fileDiff": PATCH}, "error").diffs == []


# -- laws --------------------------------------------------------------------------------------------------------------

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["text", "functionResponse", "response", "output", "error", "inlineData", "data", "todos",
                         "fileDiff", "ansiOutput", "fg", "isSubagentProgress", "result", "parts", "recentActivity"]),
        inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(
    name=st.sampled_from(["run_shell_command", "replace", "x"]), asked=_json, result=_json, display=_json, status=_json
)
def test_nothing_that_json_can_say_breaks_a_tool(name: str, asked: Any, result: Any, display: Any, status: Any) -> None:
    tool = make_tool(name, "t", asked, result, display, status)
    assert_clean([tool.text, tool.input, tool.use_id, tool.output, [p.text for p in tool.images]])
    assert all(0 <= run.start < run.end <= len(tool.text) for run in tool.runs)


@given(_json)
def test_all_content_is_readable(content: Any) -> None:
    assert isinstance(content_of(content).text, str) and all(isinstance(part, dict) for part in parts_of(content))
    assert isinstance(clean(content_of(content).text), str)


_counts = st.none() | st.integers(-3, 10**6) | st.text(max_size=2)


@given(_counts, _counts, _counts, _counts, _counts, st.booleans())
def test_the_pieces_of_a_count_do_not_overlap(a: Any, b: Any, c: Any, d: Any, e: Any, inside: bool) -> None:
    usage = normalised(a, b, c, d, e, thoughts_inside=inside)
    counts = [v if isinstance(v, int) and v >= 0 else None for v in (a, b, c, d, e)]
    if usage is None:
        assert all(count is None for count in counts)
        return
    prompt, output, _, thoughts, tool = counts
    assert all(piece is None or piece >= 0 for piece in usage)
    if prompt is not None and output is not None:
        assert usage.total == prompt + output + (tool or 0) + (0 if inside else thoughts or 0)
    assert usage.reasoning == thoughts and usage.cache_write is None


def test_unknown_counts_stay_unknown() -> None:
    assert normalised(10, 5, None, None, None) == TokenUsage(10, 5, None, None, None)
    assert normalised(*[None] * 5) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("2026-05-28T20:26:40Z", 1_780_000_000.0), ("2026-05-28T20:26:40", 1_780_000_000.0),
     (1_780_000_000_000, 1_780_000_000.0), ("2026-13-45", None), (True, None), (None, None), ([], None),
     ("0001-01-01T00:00:00+14:00", None)],
)  # fmt: skip
def test_times(value: object, seconds: float | None) -> None:
    assert when(value) == seconds

"""Streams of `cursor-agent -p` (`streams` note 5)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag, Kind, ToolStatus
from schemas.opening import head_of
from schemas.provider import Reading
from schemas.providers.cursor.stream import STREAM
from schemas.providers.streams import PROVIDER
from schemas.records import FileStore
from schemas.session import Lack, Session
from schemas.usage import TokenUsage
from tests.fixtures.streams import saved
from tests.fixtures.streams.claude_cursor import cursor, cursor_begin, cursor_end, cursor_lines, read, spoken, tool
from tests.schemas.conformance import described


def said(tmp_path, *lines):
    """The texts of a run that says this."""
    session = read(tmp_path, [*cursor_begin(), *lines])
    return [m.text for i in range(len(session.messages)) if (m := session.message(i)).kind is Kind.TEXT]


def one(tmp_path, *lines):
    """The tool use of a run with one."""
    session = read(tmp_path, [*cursor_begin(), *lines])
    return next(m for i in range(len(session.messages)) if (m := session.message(i)).tool)


def test_a_run(tmp_path):
    session = read(tmp_path, cursor_lines())
    assert described(session) == [
        "NOTE Press any key to sign in...", "PROMPT Fix the lamps", "THINKING Hmm.", "TEXT I will look.",
        "TOOL Read", "TOOL Shell", "TOOL StrReplace", "TEXT Mended.",
    ]  # fmt: skip
    assert session.usage() == TokenUsage(50, 20, 700, 30)
    assert session.context_used is None, "the sum over the calls of a run is no context"
    assert session.metadata["ended"] == "finished" and session.exchanges[-1].seconds == 3.0


# -- text --------------------------------------------------------------------------------------------------------------


def test_deltas_and_the_same_again(tmp_path):
    deltas = [spoken("I ", tick=1), spoken("look.", tick=2)]
    call = tool("started", "c", "lsToolCall", {"path": "."})
    assert said(tmp_path, *deltas) == ["I look."]
    assert said(tmp_path, *deltas, spoken("I look.", tick=3, call="m")) == ["I look."]
    assert said(tmp_path, *deltas, spoken("I look.")) == ["I look."]
    assert said(tmp_path, *deltas, spoken("I look!", tick=3, call="m"), *deltas, spoken("I look.")) == [
        "I look!",
        "I look.",
    ]
    assert said(tmp_path, *deltas, call, *deltas, cursor_end("I look.I look.")) == ["I look.", "I look."]


def test_whole_messages_are_not_joined(tmp_path):
    assert said(tmp_path, spoken("One.", tick=1, call="m1"), spoken("Two.", tick=2, call="m2")) == ["One.", "Two."]
    assert said(tmp_path, spoken("One.", tick=1, call="m1"), spoken("One. Two.")) == ["One.", "One. Two."]


def test_deltas_of_2025_bear_no_marks(tmp_path):
    assert said(tmp_path, spoken("Hel"), spoken("lo"), spoken("Hello")) == ["Hello"]
    assert said(tmp_path, spoken("Hel"), spoken("Hello"), spoken("Hello you")) == ["Hello you"]
    assert said(tmp_path, spoken("a"), tool("started", "c", "lsToolCall", {}), spoken("ab")) == ["a", "ab"]


def test_the_end_is_the_answer_only_if_nothing_was_said(tmp_path):
    assert said(tmp_path, cursor_end("All.")) == ["All."]
    assert said(tmp_path, spoken("Part"), cursor_end("Part of it")) == ["Part"]


@pytest.mark.parametrize("message", [None, 3, {"content": None}, {"content": [None, 4, {}]}])
def test_broken_messages_are_passed_over(tmp_path, message):
    assert said(tmp_path, cursor("assistant", message=message), spoken("ok")) == ["ok"]


@given(st.lists(st.lists(st.text("ab \n", min_size=1, max_size=5), min_size=1, max_size=4), max_size=4), st.data())
def test_segments_joined_are_what_the_end_says(tmp_path, segments, data):
    """Deltas, deltas with a recap, or whole: each segment reads as it was said."""
    lines, tick = [], 1
    for number, pieces in enumerate(segments):
        whole, last = "".join(pieces), number + 1 == len(segments)
        how = data.draw(st.sampled_from(["deltas", "recap", "whole"]))
        if how != "whole":
            lines += [spoken(piece, tick=tick + i) for i, piece in enumerate(pieces)]
        if how != "deltas":
            lines.append(spoken(whole) if last else spoken(whole, tick=tick, call=f"m{number}"))
        lines.append(tool("started", f"c{number}", "lsToolCall", {}))
        tick += 100
    assert "".join(said(tmp_path, *lines, cursor_end("x"))) == ("".join(map("".join, segments)) or "x")


# -- tool uses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "args", "name", "type_"),
    [
        ("shellToolCall", {"command": "ls"}, "Shell", "shell"),
        ("readToolCall", {"path": "a"}, "Read", "read"),
        ("writeToolCall", {"path": "a", "fileText": "x"}, "Write", "write"),
        ("editToolCall", {"path": "a", "multiStrReplace": {"edits": []}}, "MultiStrReplace", "write"),
        ("deleteToolCall", {"path": "a"}, "Delete", "write"),
        ("lsToolCall", {"path": "."}, "LS", "shell"),
        ("globToolCall", {"globPattern": "*"}, "Glob", "search"),
        ("grepToolCall", {"pattern": "a"}, "Grep", "search"),
        ("updateTodosToolCall", {"todos": []}, "TodoWrite", "task"),
        ("taskToolCall", {"prompt": "x"}, "Task", "generic"),
        ("mcpToolCall", {"providerIdentifier": "docs", "toolName": "find", "args": {"q": 1}}, "docs-find", "generic"),
        ("laterToolCall", {"x": 1}, "later", "unknown"),
    ],
)
def test_kinds_of_tools(tmp_path, kind, args, name, type_):
    found = one(tmp_path, tool("started", "c", kind, args)).tool
    assert (found.name, found.type, found.status) == (name, type_, ToolStatus.PENDING)
    assert found.input == args.get("args", args)


@pytest.mark.parametrize(
    ("result", "status", "words"),
    [
        ({"success": {"content": "hi"}}, ToolStatus.OK, "hi"),
        ({"success": {"exitCode": 2, "stdout": "no", "stderr": ""}}, ToolStatus.ERROR, "no"),
        ({"failure": {"exitCode": 1, "stdout": "a", "stderr": "b"}}, ToolStatus.ERROR, "a\nb"),
        ({"exitCode": 0, "stdout": "flat"}, ToolStatus.OK, "flat"),
        ({"error": {"error": "gone"}}, ToolStatus.ERROR, "gone"),
        ({"timeout": {"message": "late"}}, ToolStatus.ERROR, "late"),
        ({"rejected": {"reason": "no"}}, ToolStatus.DENIED, "no"),
        ({"spawnError": {"message": "no shell"}}, ToolStatus.ERROR, "no shell"),
        ({"success": {"content": [{"text": {"text": "deep"}}], "isError": True}}, ToolStatus.ERROR, "deep"),
        ({"success": {"content": [{"text": {"text": "a"}}, {"text": {"text": "b"}}]}}, ToolStatus.OK, "a\nb"),
        ({"success": {}}, ToolStatus.OK, ""),
        ("text", ToolStatus.OK, "text"),
    ],
)
def test_results(tmp_path, result, status, words):
    asked = {"command": "x"}
    message = one(
        tmp_path, tool("started", "c", "shellToolCall", asked), tool("completed", "c", "shellToolCall", asked, result)
    )
    assert (message.tool.status, message.tool.text) == (status, words)
    assert bool(message.flags & Flag.ERROR) == (status is ToolStatus.ERROR)
    assert not message.flags & Flag.PENDING


@pytest.mark.parametrize(
    "args",
    [
        {"path": "a.py", "strReplace": {"oldText": "x\n", "newText": "y\n"}},
        {"path": "a.py", "multiStrReplace": {"edits": [{"oldText": "x\n", "newText": "y\n"}]}},
        {"path": "a.py", "applyPatch": {"patchContent": "@@ -1 +1 @@\n-x\n+y\n"}},
    ],
)
def test_edits_are_drawn_as_differences(tmp_path, args):
    done = tool("completed", "c", "editToolCall", args, {"success": {"path": "a.py", "linesAdded": 1}})
    message = one(tmp_path, done)
    (diff,) = message.tool.diffs
    assert (diff.path, diff.hunks[0].lines) == ("a.py", ["-x", "+y"])
    assert message.path_hints == ["a.py"] and message.tool.input == args
    failed = one(tmp_path, tool("completed", "c", "editToolCall", args, {"error": {"error": "no"}}))
    assert failed.tool.diffs == []


def test_the_function_form(tmp_path):
    call = {"function": {"name": "custom", "arguments": '{"x": 1}'}, "note": "sibling"}
    lines = [cursor("tool_call", state, call_id="c", tool_call=call) for state in ("started", "completed")]
    found = one(tmp_path, *lines).tool
    assert (found.name, found.input, found.status) == ("custom", {"x": 1}, ToolStatus.OK)


def test_uses_are_paired_by_the_whole_id(tmp_path):
    lines = [tool("started", ident, "readToolCall", {"path": ident}, tick=1) for ident in ("a\n1", "a\n2")]
    lines.append(tool("completed", "a\n2", "readToolCall", {"path": "new"}, {"success": {"content": "two"}}, tick=501))
    session = read(tmp_path, [*cursor_begin(), *lines])
    first, second = (session.message(i) for i in (1, 2))
    assert (first.tool.status, second.tool.text, second.tool.input) == (ToolStatus.PENDING, "two", {"path": "new"})
    assert "\n" not in first.id and first.tool.use_id == "a\n1"
    ended = read(tmp_path, [*cursor_begin(), *lines, cursor_end("")])
    assert ended.message(1).tool.status is ToolStatus.PENDING, "nobody says why there is no result"


# -- the rest ----------------------------------------------------------------------------------------------------------


def test_without_figures_or_times_they_are_lacking(tmp_path):
    session = read(tmp_path, [*cursor_begin(), spoken("Hi."), cursor_end("Hi.")])
    assert session.usage() is None and session.lacks == {Lack.TIMES, Lack.TOKENS}
    assert session.created is None


def test_a_failure_may_have_an_end_or_none(tmp_path):
    cut = read(tmp_path, [*cursor_begin(), "Error: not logged in"])
    assert described(cut)[1:] == ["NOTE Error: not logged in", "NOTE the stream ended without its end marker"]
    failed = cursor("result", "error", is_error=True, error="out of quota", result="")
    session = read(tmp_path, [*cursor_begin(), failed])
    assert described(session)[1:] == ["ERROR out of quota"] and session.metadata["ended"] == "failed"


def test_thinking_comes_in_pieces(tmp_path):
    think = [cursor("thinking", "delta", text=words, tick=i) for i, words in enumerate(("Let ", "me ", "see."))]
    done = cursor("thinking", "completed", tick=9)
    session = read(tmp_path, [*cursor_begin(), *think, done, *think[:1], spoken("Ok"), *think[2:]])
    assert described(session)[1:-1] == ["THINKING Let me see.", "THINKING Let", "TEXT Ok", "THINKING see."]


def test_events_that_nobody_described(tmp_path):
    lines = [cursor("connection", "lost", detail="x"), cursor("later", "on"), cursor("system", "later")]
    session = read(tmp_path, [*cursor_begin(), *lines])
    assert [session.messages.kind_of(i) for i in (1, 2, 3)] == [Kind.NOTE, Kind.UNKNOWN, Kind.UNKNOWN]
    assert session.message(1).label == "connection" and '"detail": "x"' in session.message(1).text


def test_numbers_and_halves_of_characters_that_json_hardly_knows(tmp_path):
    odd = {"n": 2**70, "text": "\ud800"}
    session = read(
        tmp_path, [*cursor_begin(), cursor("retry", **odd), cursor("result", "error", is_error=True, error=odd)]
    )
    assert all(str(2**70) in session.message(i).text and "\ufffd" in session.message(i).text for i in (1, 2))


def test_a_resumed_run_goes_on_in_the_same_session(tmp_path):
    first = [*cursor_begin(), spoken("One."), cursor_end("One.", usage={"inputTokens": 5, "outputTokens": 1})]
    then = [*cursor_begin(), spoken("Two."), cursor_end("Two.", usage={"inputTokens": 7, "outputTokens": 2})]
    session = read(tmp_path, [*first, *then])
    assert len(session.live_exchanges) == 2 and session.usage().total == 15


# -- while it is printed -----------------------------------------------------------------------------------------------


def begun(folder: Path, lines: list[Any]) -> Reading:
    """A stream of which more may come."""
    reading = PROVIDER.open(saved(folder / "stream.jsonl", lines))
    reading.step()
    return reading


def growing(session: Session) -> list[int]:
    return [i for i in range(len(session.messages)) if session.messages.has(i, Flag.GROWING)]


def test_what_is_drawn_while_it_grows_is_what_the_records_say(tmp_path: Path) -> None:
    lines = [*cursor_lines(), *cursor_begin(), spoken("Hel"), spoken("Hello"), spoken(" there")]
    grew = 0
    for cut in range(1, len(lines) + 1):
        session = begun(tmp_path, lines[:cut]).session
        grew += bool(growing(session))
        assert described(session) == described(read(tmp_path, lines[:cut]))[: len(session.messages)]
    assert grew > 3 and session.message(len(session.messages) - 1).text == "Hello there"


DRAFTS = {
    "text": ([spoken(f"{n} ", tick=n) for n in range(300)], cursor("retry")),
    "thinking": ([cursor("thinking", "delta", text="x", tick=n) for n in range(300)], spoken("Well.")),
}


@pytest.mark.parametrize("name", DRAFTS)
def test_a_draft_is_kept_until_something_else_is_printed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, other = DRAFTS[name]
    session = begun(tmp_path, [*cursor_begin(), *lines]).session
    reads: list[int] = []
    read_bytes = FileStore.read

    def counted(store: FileStore, offset: int, length: int) -> bytes:
        reads.append(offset)
        return read_bytes(store, offset, length)

    monkeypatch.setattr(FileStore, "read", counted)
    assert len(session.message(1).text) >= 300 and growing(session) == [1] and len(reads) <= 1
    assert 1 not in growing(begun(tmp_path, [*cursor_begin(), *lines, other]).session)
    reading = begun(tmp_path, [*cursor_begin(), *lines])
    reading.finish()
    assert not growing(reading.session)


# -- what others print -------------------------------------------------------------------------------------------------

SHARED = Path(__file__).parents[2] / "../shared/lab"


@pytest.mark.parametrize("name", ["droid/droid-0.215.0/stdout/run3.out", "kimi-code/kimi-code-2.1.0/stdout/run7.out"])
def test_streams_of_other_agents_are_not_taken_for_cursors(name: str) -> None:
    path = SHARED / name
    if not path.is_file():
        pytest.skip("the shared lab is not here")
    assert not any(STREAM.prints(record) for record in head_of(path).records)


@pytest.mark.parametrize(
    ("line", "mine"),
    [
        ({"type": "system", "subtype": "init", "permissionMode": "default"}, True),
        ({"type": "system", "subtype": "init", "tools": ["Read"], "model": "m"}, False),
        ({"type": "tool_call", "subtype": "started", "tool_call": {}}, True),
        ({"type": "tool_call", "id": "c", "toolName": "Read", "parameters": {}}, False),
        ({"type": "result", "duration_ms": 5, "result": ""}, True),
        ({"type": "result", "duration_ms": 5, "num_turns": 0, "usage": {"factory_credits": 0}}, False),
        ({"type": "assistant", "message": {}, "uuid": "u"}, False),
        ({"type": "message", "role": "user", "text": "x"}, False),
    ],
)
def test_a_line_is_told_by_its_fields(line: dict[str, Any], mine: bool) -> None:
    assert STREAM.prints({"session_id": "s", **line}) is mine and not STREAM.prints(line)

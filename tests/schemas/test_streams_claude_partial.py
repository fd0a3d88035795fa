"""Responses in deltas (`claude -p --include-partial-messages`): each block once (`streams` note 2.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag, Kind, ToolStatus
from tests.fixtures.streams import NOT_TOLD
from tests.fixtures.streams.claude_cursor import (
    OPUS,
    back,
    begin,
    delta,
    event,
    init,
    line,
    partial_lines,
    read,
    result,
    says,
    start,
    text,
    thinking,
    told,
    usage,
    use,
)
from tests.schemas.conformance import described

STOP = event("message_stop")


def test_each_block_is_there_once(tmp_path):
    session = read(tmp_path, partial_lines())
    assert described(session) == [
        f"PROMPT {NOT_TOLD}",
        "THINKING Which lamps?",
        "TEXT The red ones.",
        "TOOL Bash",
        "TEXT One fi",
        "NOTE the stream ended without its end marker",
    ]
    assert {session.model_of(i) for i in range(1, 5)} == {OPUS}
    tool = session.message(3).tool
    assert (tool.input, tool.text, tool.status) == ({"command": "ls"}, "a.txt", ToolStatus.OK)
    assert session.usage().total == 8 + 1000 + 60 + 3 + 1100 + 1


@pytest.mark.parametrize("cut", range(len(partial_lines())))
def test_what_was_shown_keeps_its_place_while_the_stream_grows(tmp_path, cut):
    lines = partial_lines()
    before, after = read(tmp_path / "a", lines[:cut]), read(tmp_path / "b", lines[: cut + 1])
    rows = [i for i in range(len(before.messages)) if before.messages.kind[i] not in (Kind.NOTE, Kind.PROMPT)]
    for row in rows:
        old, new = before.message(row), after.message(row)
        assert (old.id, old.kind) == (new.id, new.kind)
        assert new.text.startswith(old.text)


def test_two_texts_of_one_response_are_claimed_in_order(tmp_path):
    drafts = [start(0, text("")), delta(0, "text", "One."), start(1, text("")), delta(1, "text", "Two.")]
    lines = [init(), begin("m", usage(1)), *drafts, says("m", text("One!")), says("m", text("Two!")), STOP]
    assert described(read(tmp_path, lines))[1:3] == ["TEXT One!", "TEXT Two!"]


def test_tool_uses_are_claimed_by_id(tmp_path):
    drafts = [
        start(0, use("a", "Bash")), start(1, use("b", "Bash")),
        delta(1, "input_json", '{"command": "b"}'), delta(0, "input_json", '{"command": "a"}'),
    ]  # fmt: skip
    lines = [init(), begin("m", usage(1)), *drafts, says("m", use("b", "Bash", command="b!"))]
    session = read(tmp_path, lines)
    assert [session.message(i).tool.input for i in (1, 2)] == [{"command": "a"}, {"command": "b!"}]


@pytest.mark.parametrize(
    ("pieces", "given_"), [([], {}), ([""], {}), (['{"a"', ": 1}"], {"a": 1}), (['{"a": '], {"raw": '{"a": '})]
)
def test_the_input_of_a_use_is_pieced_together(tmp_path, pieces, given_):
    deltas = [delta(0, "input_json", piece) for piece in pieces]
    session = read(tmp_path, [init(), begin("m", usage(1)), start(0, use("a", "Bash")), *deltas])
    message = session.message(1)
    assert (message.tool.input, message.tool.status) == (given_, ToolStatus.PENDING)


def test_a_result_may_come_before_the_complete_line(tmp_path):
    lines = [
        init(),
        begin("m", usage(1)),
        start(0, use("a", "Bash")),
        back("a", "done"),
        says("m", use("a", "Bash", command="ls")),
    ]
    session = read(tmp_path, lines)
    assert described(session)[1:-1] == ["TOOL Bash"]
    assert (session.message(1).tool.input, session.message(1).tool.text) == ({"command": "ls"}, "done")


def test_deltas_without_their_beginning_and_late_ones(tmp_path):
    lines = [
        init(),
        delta(3, "text", "Middle"),
        delta(3, "text", " part"),
        says("m", text("Whole.")),
        delta(3, "text", "!"),
    ]
    assert described(read(tmp_path, lines))[1:-1] == ["TEXT Whole."]


def test_thinking_that_only_the_deltas_tell(tmp_path):
    lines = [init(), begin("m", usage(1)), start(0, thinking("")), delta(0, "thinking", "Hm."), says("m", thinking(""))]
    session = read(tmp_path, lines)
    assert session.message(1).text == "Hm." and not session.messages.has(1, Flag.WITHHELD)
    assert session.message(1).label == ""


def test_speakers_have_drafts_of_their_own(tmp_path):
    lines = [
        init(), told("x"),
        begin("m", usage(1)), start(0, text("")), begin("s", usage(1), "t"), start(0, text(""), "t"),
        delta(0, "text", "main"), delta(0, "text", "sub", "t"),
        says("m", text("main")), says("s", text("sub"), parent="t"), result("main"),
    ]  # fmt: skip
    session = read(tmp_path, lines)
    assert described(session) == ["PROMPT x", "TEXT main"]
    assert described(session.subagents[0].session)[1:] == ["TEXT sub"]


def test_an_error_in_the_middle_keeps_what_was_written(tmp_path):
    error = line(
        "stream_event", event={"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    )
    lines = [init(), begin("m", usage(1)), start(0, text("")), delta(0, "text", "Half"), error, begin("n", usage(1)),
             start(0, text("")), delta(0, "text", "Whole"), says("n", text("Whole")), result("Whole")]  # fmt: skip
    assert described(read(tmp_path, lines))[1:] == ["TEXT Half", "ERROR Overloaded", "TEXT Whole"]


_BLOCKS = st.lists(
    st.tuples(st.sampled_from(["text", "thinking", "tool"]), st.lists(st.text("abc {}", max_size=4))), max_size=5
)


@given(_BLOCKS, st.data())
def test_deltas_make_what_the_complete_lines_make(tmp_path, blocks, data):
    """With complete lines behind or before the stop of each block, the texts are those of the lines alone."""
    whole, streamed = [], [begin("m", usage(1))]
    for index, (kind, pieces) in enumerate(blocks):
        words = f"{index} {''.join(pieces)}"
        pieces = [f"{index} ", *pieces]
        if kind == "tool":
            block, first = use(f"t{index}", "Bash", command=words), use(f"t{index}", "Bash")
            deltas = [delta(index, "input_json", "{}")]
        else:
            block = text(words) if kind == "text" else thinking(words)
            first = text("") if kind == "text" else thinking("")
            deltas = [delta(index, kind, piece) for piece in pieces]
        complete = says("m", block)
        end = [complete, event("content_block_stop", index=index)]
        whole.append(complete)
        streamed += [start(index, first), *deltas, *(end if data.draw(st.booleans()) else end[::-1])]
    told_ = read(tmp_path / "whole", [init(), told("x"), *whole, result("y")])
    made = read(tmp_path / "streamed", [init(), told("x"), *streamed, result("y")])
    assert described(made) == described(told_)
    assert made.messages.chars == told_.messages.chars and made.messages.lines == told_.messages.lines

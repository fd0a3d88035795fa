"""Responses in deltas (`claude -p --include-partial-messages`): each block once (`streams` note 2.5)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.streams.claude_cursor import (
    begin,
    delta,
    event,
    init,
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

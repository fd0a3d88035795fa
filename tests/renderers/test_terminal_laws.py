"""Laws of all rows, whatever stands in a message: no control character, never wider than the pane."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from renderers.terminal.block import render_block
from renderers.terminal.code import Highlights
from renderers.terminal.folds import Fold
from renderers.terminal.layout import Look
from renderers.terminal.rows import Row
from renderers.terminal.style_names import Palette
from schemas.clean import clean, clean_styled, clean_value
from schemas.diffs import from_strings, from_structured_patch, from_unified, from_v4a
from schemas.message import Flag, Kind, Part, Tool, ToolStatus
from schemas.slices import Listing
from schemas.usage import TokenUsage
from tests.support import Hand

PIECE = st.one_of(
    st.sampled_from(
        ["a", " ", "word ", "\t", "\n", "\r\n", "\x1b[31m", "\u2028", "\u202e", "漢字", "👩\u200d👩\u200d👧", "🇯🇵",
         "e\u0301", "\u200b", "x" * 90, "表" * 50, "\n\n", "    ", "```\n", "```py\n", "**", "`", "- ", "1. ", "> ",
         "# ", "| a | b |\n|---|---|\n| 1 | 2\t|\n", "[l](http://x.example/", ")", "![", "&#9;", "&#10;", "&Tab;",
         "<b>", "---\n", "- [ ] ", "+", "-", "```diff\n", "\n--- a\n+++ b\n@@ -1,2 +1,2 @@ f\n", "\n-a b\n+a c\n"]
    ),
    st.characters(),
)  # fmt: skip
TEXT = st.lists(PIECE, max_size=14).map("".join)
LINE = st.lists(PIECE, max_size=5).map("".join)
VALUE = st.recursive(
    st.one_of(TEXT, st.integers(), st.just(2**80), st.floats(), st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(LINE, inner, max_size=3)),
    max_leaves=6,
)
NAMES = st.one_of(
    LINE,
    st.sampled_from(["command", "prompt", "content", "file_path", "todos", "plan", "description", "edits", "pattern"]),
)
TODOS = st.lists(st.fixed_dictionaries({"content": TEXT, "status": st.sampled_from(["completed", "x"])}), min_size=1)


@st.composite
def diffs(draw: st.DrawFn) -> list[Any]:
    path, text, other = draw(LINE), draw(TEXT), draw(TEXT)
    patch = [{"lines": draw(st.lists(LINE, max_size=4)), "oldStart": 9, "newStart": draw(st.integers(0, 10**9))}]
    made = [
        from_strings(path, text, other),
        from_structured_patch(path, patch),
        from_unified(path, "@@ -1 +1 @@\n" + text, renamed_to=other),
        *from_v4a(f"*** Update File: {path}\n@@\n{text}\n"),
    ]
    return draw(st.lists(st.sampled_from(made), max_size=2))


@st.composite
def tools(draw: st.DrawFn) -> Tool:
    """A tool use as a parser makes it: everything has gone through the one door."""
    types = ["shell", "write", "read", "task", "search", "generic", "unknown"]
    given = draw(st.dictionaries(NAMES, VALUE, max_size=4))
    if draw(st.booleans()):
        given["todos"] = draw(TODOS)
    text, runs = clean_styled(draw(TEXT))
    return Tool(
        clean(draw(st.one_of(LINE, st.sampled_from(["Bash", "Edit", "Task", "TodoWrite", "Read"])))),
        draw(st.sampled_from(types)),
        "t",
        clean_value(given),
        text=text,
        runs=runs,
        status=draw(st.sampled_from(list(ToolStatus))),
        diffs=draw(diffs()),
        formatted=clean(draw(st.one_of(st.just(""), TEXT))),
        spilled=draw(st.booleans()),
        images=[Part("image", "", clean(draw(LINE)), 5)] if draw(st.booleans()) else [],
        subagent=draw(st.one_of(st.none(), st.just("a"))),
        listing=draw(st.sampled_from([None, Listing(), Listing(r" *(\d+)[|]")])),
    )


def check(rows: list[Row], width: int) -> None:
    assert rows
    for row in rows:
        for segment in row.segments:
            assert "\n" not in segment.text and "\t" not in segment.text, row
            assert clean(segment.text) == segment.text, row
        assert cell_len(row.text) <= width, (cell_len(row.text), row.text)
        assert 0 <= row.gutter <= len(row.text)


WIDTHS = st.one_of(st.integers(20, 60), st.sampled_from([78, 138, 158]))
FLAGS = st.sampled_from([Flag(0), Flag.REWOUND, Flag.INHERITED, Flag.WITHHELD])


@settings(max_examples=60)
@given(tools(), WIDTHS, st.booleans(), FLAGS)
@example(Tool("mcp__a__b", "unknown", "t", {"k" * 150: "v"}), 78, False, Flag(0))
@example(Tool("Probe", "unknown", "t", {"n": 2**80, "deep": [2**80]}), 78, False, Flag(0))
def test_of_a_tool_use(tool: Tool, width: int, running: bool, flags: Flag) -> None:
    hand = Hand()
    hand.prompt("go")
    index = hand.tool(tool, flags=flags, usage=TokenUsage(2**40, 2**40, 2**40, 2**40))
    look = Look(width, Palette(), Highlights(), running=0 if running else -1, subagents={index: "9 messages · 22k"})
    for fold in (Fold.LINE, Fold.SHORT, Fold.FULL):
        check(render_block(hand.session, index, fold, look).rows, width)


@settings(max_examples=60)
@given(st.sampled_from([k for k in Kind if k is not Kind.TOOL]), TEXT, LINE, LINE, WIDTHS, FLAGS, st.booleans())
def test_of_any_other_message(
    kind: Kind, text: str, label: str, figures: str, width: int, flags: Flag, opens: bool
) -> None:
    hand = Hand()
    hand.session.models.append(clean(label))
    text, runs = clean_styled(text) if kind is Kind.OUTPUT else (clean(text), [])
    index = hand.add(
        kind,
        opener=text if opens else None,
        parts=[Part("text", text, runs=runs)] if text else [],
        label=clean(label),
        figures=clean(figures),
        model=clean(label),
        flags=flags,
        usage=TokenUsage(2**40, 2**40, 2**40, 2**40),
    )
    hand.tool(Tool("Bash", "shell", "t", {}))
    for cost in (None, "", "$1,234,567.89"):
        look = Look(width, Palette(), Highlights(), cost=lambda exchange, cost=cost: cost)
        for fold in (Fold.LINE, Fold.SHORT, Fold.FULL):
            check(render_block(hand.session, index, fold, look).rows, width)

from __future__ import annotations

from hypothesis import given

from renderers.options import Include
from renderers.plain import render, render_message
from schemas.message import Tool
from tests.renderers.hostile import hostile
from tests.renderers.sample import load, sample
from tests.support import Hand


def text_of(hand: Hand) -> str:
    return "".join(render(hand.session, Include(), subagents=load))


def test_roles_are_marked() -> None:
    lines = text_of(sample()).split("\n")
    assert lines[0] == "Fix the flaky test"
    for line in (
        "> Find out why *one in five* fails",
        "> and fix it <now>",
        "✻ Thinking  (45 characters)",
        "▸ $ pytest -q …  (exit 1 · 41 s · 4 lines)",
        "  │ \ttab",
        "▸ Edit db/migrate.py  (+2 -1)",
        "● # Fixed",
        "    ● Two callers.",
        "✗ Interrupted by the person",
        "— Compacted, auto, 170k → 8k",
        "═══ 2. run it ten times",
        "═══ rewound: try the other lock",
    ):
        assert line in lines


def test_one_message() -> None:
    hand = sample()
    index = next(i for i in range(len(hand.session.messages)) if hand.session.message(i).tool)
    assert render_message(hand.session, index, Include()).startswith("▸ $ pytest -q …")
    assert render_message(hand.session, index, Include(tools=False)) == ""


@given(hostile)
def test_content_cannot_look_like_ours(text: str) -> None:
    hand = Hand()
    hand.prompt("go")
    hand.text(f"x\n═══ 9. fake\n> fake\n{text}")
    hand.tool(Tool("Bash", "shell", "t", {"command": "x"}, text=f"═══ 9. fake\n> fake\n{text}"))
    lines = text_of(hand).split("\n")
    assert [line for line in lines if line.startswith(("═", ">"))] == ["═══ 1. go", "═══ Totals"]


def test_one_exchange_is_no_plural() -> None:
    hand = Hand()
    hand.prompt("go")
    assert "1 exchange" in text_of(hand).split("\n")[1].split(" · ")
    hand.prompt("on")
    assert "2 exchanges" in text_of(hand).split("\n")[1].split(" · ")

from __future__ import annotations

from hypothesis import given

from renderers import html, markdown
from renderers.document import Document
from renderers.options import Include
from renderers.plain import render
from renderers.redact import Redactor
from schemas.message import Kind, Tool
from schemas.session import Lack
from tests.renderers.hostile import hostile
from tests.renderers.sample import load, sample
from tests.support import Hand


def text_of(hand: Hand) -> str:
    return "".join(render(Document(hand.session, Include(), subagents=load)))


def test_roles_are_marked() -> None:
    lines = text_of(sample()).split("\n")
    assert lines[0] == "Fix the flaky test"
    for line in (
        "> Find out why *one in five* fails",
        "> and fix it <now>",
        "✻ Thinking: The lock is taken before the transaction.",
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


def test_what_the_source_does_not_give_is_said_in_every_export() -> None:
    hand = Hand()
    hand.prompt("go")
    assert "source gives" not in text_of(hand)
    hand.session.lacks = frozenset({Lack.TIMES, Lack.TOKENS})
    assert "source gives no tokens, times" in text_of(hand).splitlines()[1]
    assert '    not_in_source: ["tokens", "times"]' in "".join(markdown.render(Document(hand.session, Include())))
    assert "<dt>not in source</dt><dd>tokens, times</dd>" in "".join(html.render(Document(hand.session, Include())))


def test_an_unknown_record_is_called_so_once() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.note(Kind.UNKNOWN, "Unknown record not a message", "{}")
    hand.note(Kind.UNKNOWN, "novelty", "{}")
    lines = text_of(hand).split("\n")
    assert "▸ Unknown record not a message  (1 line)" in lines and "▸ Unknown record: novelty  (1 line)" in lines


def test_context_that_was_given_in_one_go_is_one_fold() -> None:
    hand = Hand()
    for label, text in (("instructions", "be brief"), ("environment", "cwd /w"), ("image", "")):
        hand.note(Kind.CONTEXT, label, text)
    hand.prompt("go")
    hand.note(Kind.CONTEXT, "reminder", "still brief")
    lines = text_of(hand).split("\n")
    assert [line for line in lines if line.startswith("▸ Context")] == [
        "▸ Context: instructions, environment, image  (3 blocks)",
        "▸ Context: reminder  (1 line)",
    ]
    assert [line.strip() for line in lines if "│" in line] == ["│ be brief", "│ cwd /w", "│ still brief"]
    bare = "".join(render(Document(hand.session, Include(context=False))))
    assert "Context" not in bare and "brief" not in bare


def test_the_first_words_of_a_thinking_hold_no_secret() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.thinking("The key is " + "ghp_" + "A1b2C3d4" * 5 + " for all")
    text = "".join(render(Document(hand.session, Include(), redactor=Redactor())))
    assert "Thinking: The key is" in text and "ghp_A1b2" not in text

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given

from renderers.document import Document
from renderers.markdown import front_matter, render, render_exchange
from renderers.options import Include
from renderers.redact import Redactor
from schemas.diffs import FileDiff, Hunk
from schemas.message import Flag, Kind, Part, Tool, ToolStatus
from schemas.session import Subagent
from schemas.usage import TokenUsage
from tests.renderers.hostile import codes, headings, headings_on_github, hostile, live, live_on_github, tokens
from tests.renderers.sample import TOKEN, load, sample
from tests.support import Hand


def document(hand: Hand, include: Include = Include(), redactor: Redactor | None = None) -> str:  # noqa: B008
    return "".join(render(Document(hand.session, include, redactor=redactor, subagents=load)))


def test_the_exporters_headings_and_nothing_else() -> None:
    text = document(sample())
    assert [h for h in headings(text) if h[0] <= 3] == [
        (1, "Fix the flaky test"),
        (2, "Before the first prompt"),
        (2, "1. Find out why *one in five* fails and fix it <now>"),
        (2, "2. run it ten times"),
        (3, "1. find callers of lock()"),
        (2, "3. /model opus"),
        (2, "rewound: try the other lock"),
        (2, "Totals"),
    ]


def test_folds_are_balanced_and_say_what_they_hide() -> None:
    text = document(sample())
    folds = [t.content.strip() for t in tokens(text) if t.type == "html_block"]
    assert folds.count("</details>") == sum(f.startswith("<details><summary>") for f in folds) == len(folds) / 2
    assert "<details><summary><b>$</b> pytest -q … · exit 1 · 41 s · 4 lines</summary>" in folds
    assert "<details><summary><b>Edit</b> db/migrate.py · +2 -1</summary>" in folds
    assert "<details><summary>Thinking: The lock is taken before the transaction.</summary>" in folds
    assert " · 1 thinking block withheld by the provider*" in text


def test_totals() -> None:
    text = document(sample())
    assert "*exchange: 1,585 tokens: in 15 · cache read 1,300 · cache write 200 · out 70 · 1 thinking" in text
    assert "- this session: 1,585 tokens: in 15" in text
    assert "- with 1 subagent: 2,362 tokens: in 22" in text
    assert "line 7 could not be read: not JSON: expecting value" in text
    assert "1 record not known to turnlog: hologram" in text


def test_a_total_nobody_knows_is_unknown() -> None:
    hand = Hand()
    hand.prompt("hi")
    assert "- this session: tokens unknown" in document(hand)


def test_front_matter_is_facts_to_yaml_and_code_to_markdown() -> None:
    hand = sample()
    hand.session.workspace_root = "/home/dev/_under_*star*_"
    hand.session.title = 'a "title": with # and\n---\n[b'
    text = document(hand)
    lines = text.split("\n---\n")[0].split("\n")[1:]
    facts = {name: json.loads(value) for name, value in (line.strip().split(": ", 1) for line in lines)}
    assert facts["workspace"] == "/home/dev/_under_*star*_"
    assert facts["title"] == 'a "title": with # and --- [b'
    assert facts["tokens"]["totalTokens"] == 1585
    assert facts["tokens"]["reasoningTokens"] is None
    assert all(re.match(r" {4}[a-z_]+: ", line) for line in lines)
    assert "/home/dev/_under_*star*_" in codes(text)[0]
    assert headings(text)[0] == (1, 'a "title": with # and --- [b')


def test_front_matter_escapes_what_yaml_cannot_print() -> None:
    assert front_matter({"title": "a\ufffeb"}) == '---\n    title: "a\\ufffeb"\n---\n'


def test_tool_output_is_exact() -> None:
    hand = Hand()
    hand.prompt("go")
    output = "# Readme\n\n```bash\nmake install\n`````\nfive\n`````\n\ttab  \n    \n</details>"
    hand.tool(Tool("Bash", "shell", "t", {"command": "cat"}, text=output))
    assert f"{output}\n" in codes(document(hand))


def test_options_leave_out() -> None:
    hand = sample()
    text = document(hand, Include(thinking=False, output=False, subagents=False, context=False))
    for gone in (
        "The lock is taken",
        "withheld by",
        "E   assert",
        "Two callers.",
        "<b>brief</b>",
        "its log",
        "hologram}",
    ):
        assert gone not in text
    assert "output left out: 4 lines" in text
    assert "a background task finished" in text
    assert "Subagent explore: find callers: 2 messages left out · 777 tokens" in text
    assert "left out: thinking, output, subagents, context" in text
    assert "<b>Edit</b>" in text
    assert "<b>Edit</b>" not in document(hand, Include(tools=False))


def test_redaction_is_counted_and_said() -> None:
    redactor = Redactor()
    text = document(sample(), redactor=redactor)
    assert TOKEN not in text
    assert redactor.counts == {"github token": 1}
    assert "- 1 secret redacted: 1 github token" in text
    assert TOKEN in document(sample())


def test_no_redacted_text_reaches_any_place() -> None:
    hand = Hand()
    hand.session.title = hand.session.branch = hand.session.workspace_root = f"x {TOKEN}"
    hand.prompt(TOKEN)
    hand.thinking(TOKEN)
    patch = FileDiff(TOKEN, hunks=[Hunk([f"+{TOKEN}"])])
    hand.tool(
        Tool(TOKEN, "write", "e", {"a": {"b": [TOKEN]}}, text=TOKEN, diffs=[patch], images=[Part("image", TOKEN)])
    )
    hand.tool(Tool("x", "generic", "e", {TOKEN: TOKEN}, summary=TOKEN, subagent="s"))
    hand.session.subagents.append(Subagent("s", TOKEN, TOKEN, session=Hand().session))
    for kind in (Kind.NOTE, Kind.ERROR, Kind.CONTEXT, Kind.COMPACTION, Kind.INTERRUPT, Kind.UNKNOWN, Kind.OUTPUT):
        hand.note(kind, TOKEN, f"text {TOKEN}")
    hand.session.unknown[TOKEN] = 1
    assert TOKEN not in document(hand, redactor=Redactor())


def test_inherited_exchanges_are_folded_together() -> None:
    hand = Hand()
    for text in ("old one", "old two", "new"):
        hand.prompt(text)
        hand.session.exchanges[-1].inherited = text != "new"
    hand.session.lineage.forked_from = "other-session"
    text = document(hand)
    assert "<details><summary>2 exchanges inherited from other-session · copies, not counted here</summary>" in text
    assert [h for h in headings(text) if h[0] < 4][1:4] == [(3, "old one"), (3, "old two"), (2, "1. new")]


def test_rewound_messages_are_folded() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.text("kept")
    hand.text("taken back", flags=Flag.REWOUND)
    text = document(hand)
    assert text.index("kept") < text.index("<summary>Rewound") < text.index("taken back") < text.index("</details>")


def test_an_unreadable_subagent_is_said() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.tool(Tool("Task", "task", "a", {}, subagent="gone"))
    hand.session.subagents.append(Subagent("gone", "explore", path=Path("gone.jsonl")))
    assert "*Subagent explore: its session cannot be read*" in document(hand)


def test_a_subagent_whose_session_lies_elsewhere_is_named() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.tool(Tool("spawn_agent", "task", "a", {}, subagent="01a0-7"))
    hand.session.subagents.append(Subagent("01a0-7"))
    assert "*Subagent: a session of its own: 01a0-7*" in document(hand)


def test_subagents_that_call_each_other_end() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.tool(Tool("Task", "task", "a", {}, subagent="self"), usage=TokenUsage(1, 1, 1, 1))
    hand.session.subagents.append(Subagent("self", session=hand.session))
    text = document(hand)
    assert text.count("<details>") == text.count("</details>")
    assert "with 1 subagent: 4 tokens" in text


def test_an_indented_text_after_a_list_stands_alone() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.text("- item\n  ```\n  open")
    hand.text("  ```js\n  let a\n  ```\n\nprose")
    text = document(hand)
    assert "prose" not in "".join(codes(text))


def test_one_exchange_has_prompt_answers_and_a_line_a_tool_use() -> None:
    text = render_exchange(sample().session, 2)
    assert text.startswith("## 2. run it ten times\n")
    assert "Totals" not in text
    hand = Hand()
    hand.prompt("go on")
    hand.thinking("let me see")
    hand.text("I look.\n\n- one")
    command = "cat token # " + "x" * 20
    hand.tool(
        Tool("Bash", "shell", "b", {"command": command}, text="row\n" * 900, exit_code=1, status=ToolStatus.ERROR)
    )
    hand.tool(Tool("Edit", "write", "e", {}, diffs=[FileDiff("a_b.py", hunks=[Hunk(["-old", "+new"])])]))
    hand.note(Kind.CONTEXT, "reminder", "be brief")
    hand.text("Done.")
    text = render_exchange(hand.session, 0)
    lines = [line for line in text.split("\n") if line]
    assert lines[0] == "## 1. go on"
    assert lines[2:] == [
        "I look.", "- one", "<!-- -->", f"- $ {command} · exit 1 · 900 lines",
        "- Edit a_b.py · +1 -1", "Done.",
    ]  # fmt: skip


@given(first=hostile, second=hostile, third=hostile)
@pytest.mark.parametrize("tables", [False, True])
def test_hostile_texts_cannot_break_the_document(tables: bool, first: str, second: str, third: str) -> None:
    hand = Hand()
    hand.session.title = first
    hand.prompt(second)
    hand.thinking(third, usage=TokenUsage(1))
    hand.text(first)
    hand.text(second)
    hand.tool(Tool(third, "generic", "t", {"a": first, "b": second * 9}, text=third, images=[Part("image", first)]))
    hand.tool(Tool("Edit", "write", "t", {}, diffs=[FileDiff(first.replace("\n", ""), hunks=[Hunk([f"+{second}"])])]))
    hand.text(third)
    for kind in (Kind.STEER, Kind.NOTE, Kind.CONTEXT, Kind.COMPACTION, Kind.ERROR, Kind.UNKNOWN):
        hand.note(kind, first.replace("\n", " "), second)
    hand.prompt("the next prompt")
    hand.text("the last reply")
    text = document(hand)
    ours = [h for h in headings(text, tables=tables) if h[0] <= 3]
    assert [level for level, _ in ours] == [1, 2, 2, 2]
    assert ours[2:] == [(2, "2. the next prompt"), (2, "Totals")]
    folds = [line for block in live(text, tables=tables) for line in block.strip().split("\n")]
    assert all(f in ("</details>", "<!-- -->") or re.fullmatch(r"<details><summary>.*</summary>", f) for f in folds)
    assert not any(re.search(r"<(?!/?(details|summary|b)>)[a-z/!]", f) for f in folds if f != "<!-- -->")
    assert sum(f.startswith("<details>") for f in folds) == folds.count("</details>")
    assert any(t.type == "text" and t.content == "the last reply" for t in tokens(text, tables=tables))
    own = r"<details><summary>.*</summary>|</details>|<!-- -->"
    assert live_on_github(re.sub(rf"^(?:{own})$", "OURS", text, flags=re.MULTILINE)) == []
    on_github = headings_on_github(text)
    assert [level for level, _ in on_github] == [1, 2, 2, 2] and on_github[2:] == ours[2:]
    if third.strip():
        assert (third if third.endswith("\n") else f"{third}\n") in codes(text)

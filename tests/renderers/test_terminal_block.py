"""Messages as rows: what a folded one says, what an open one shows, how wide it may be."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from rich.cells import cell_len
from rich.style import Style

from renderers.terminal.block import render_block
from renderers.terminal.code import Highlights
from renderers.terminal.diff import diff_rows
from renderers.terminal.folds import SHORT_LINES, Fold
from renderers.terminal.layout import Block, Look
from renderers.terminal.style_names import Palette
from renderers.terminal.text import output_rows
from schemas.clean import clean_styled
from schemas.diffs import FileDiff, Hunk
from schemas.message import Flag, Kind, Part, Tool, ToolStatus
from schemas.slices import Listing
from schemas.usage import TokenUsage
from tests.support import Hand
from viewer.transcript.select import rows_text, tool_source

LOOK = Look(90, Palette(), Highlights())


def draw(hand: Hand, index: int, fold: Fold, look: Look = LOOK) -> Block:
    return render_block(hand.session, index, fold, look)


def texts(block: Block) -> list[str]:
    return [row.text.rstrip() for row in block.rows]


def bash(**fields: Any) -> Tool:
    return Tool("Bash", "shell", "t", {"command": "pytest -q"}, **fields)


def test_a_folded_tool_says_what_it_hides() -> None:
    hand = Hand()
    index = hand.tool(bash(text="x\n" * 211 + "y", exit_code=1, seconds=41, status=ToolStatus.ERROR))
    (line,) = texts(draw(hand, index, Fold.LINE))
    assert line.startswith("   ▸ $ pytest -q ")
    assert line.endswith("✗ exit 1 · 41 s · 212 lines")
    assert cell_len(line) == 90


def test_outcomes_end_at_one_edge() -> None:
    hand = Hand()
    hand.tool(bash(text="a"))
    hand.tool(Tool("Edit", "write", "e", {"file_path": "a.py"}, diffs=[FileDiff("a.py", hunks=[Hunk(["+a", "-b"])])]))
    hand.thinking("hm")
    assert {len(texts(draw(hand, i, Fold.LINE))[0]) for i in (0, 1)} == {90}


def test_long_output_is_cut_and_says_by_how_much() -> None:
    hand = Hand()
    index = hand.tool(bash(text="\n".join(f"row {i}" for i in range(212))))
    block = draw(hand, index, Fold.SHORT)
    assert block.more
    assert texts(block)[-1].strip() == "… 196 more lines (enter)"
    assert block.rows[-1].act == "more"
    assert len(block.rows) == 1 + SHORT_LINES + 1
    full = draw(hand, index, Fold.FULL)
    assert not full.more
    assert texts(full)[-1].strip() == "│ row 211"


def test_output_that_is_huge_is_cut_even_when_open() -> None:
    hand = Hand()
    index = hand.tool(bash(text="\n".join(map(str, range(10_000)))))
    block = draw(hand, index, Fold.FULL)
    assert block.more
    assert "9,000 more lines" in texts(block)[-1]
    assert "9999" in texts(draw(hand, index, Fold.FULL, Look(90, Palette(), Highlights(), full=16_000)))[-1]


def test_a_command_in_full_where_its_line_does_not_hold_it() -> None:
    hand = Hand()
    index = hand.tool(Tool("Bash", "shell", "t", {"command": "for i in 1 2\ndo\n  echo LAST\ndone"}, text="1"))
    assert any("echo LAST" in line for line in texts(draw(hand, index, Fold.SHORT)))
    short = hand.tool(bash(text="1"))
    assert len(draw(hand, short, Fold.SHORT).rows) == 2


def test_a_diff_has_numbers_and_signs() -> None:
    diff = FileDiff("a.py", hunks=[Hunk([" keep", "-old", "+new", "+more"], 38, 38), Hunk([" x"], 90, 91)])
    assert [row.text.rstrip() for row in diff_rows(diff, 40, Palette())] == [
        " 38   keep",
        " 39 - old",
        " 39 + new",
        " 40 + more",
        "    ⋯",
        " 91   x",
    ]


def test_a_diff_without_numbers_has_signs() -> None:
    diff = FileDiff("a.py", hunks=[Hunk(["-\told", "+new"])])
    rows = list(diff_rows(diff, 40, Palette()))
    assert [row.text.rstrip() for row in rows] == ["-     old", "+ new"]
    assert rows[0].source == "-\told"


def test_colours_of_a_program_become_styles() -> None:
    text, runs = clean_styled("plain \x1b[31mred\x1b[0m\n\x1b[1;38;5;200mbold\nover two\x1b[0m end")
    rows = list(output_rows(text, runs, 40, Style()))
    assert [row.text for row in rows] == ["plain red", "bold", "over two end"]
    red = rows[0].segments[1]
    assert red.text == "red"
    assert red.style is not None
    assert red.style.color is not None
    assert red.style.color.number == 1
    assert rows[1].segments[0].style == rows[2].segments[0].style
    assert rows[1].segments[0].style.bold


def test_a_very_long_line_says_what_it_leaves_out() -> None:
    rows = list(output_rows("x" * 1_000_000, [], 100, Style()))
    assert rows[-1].text == "… 800,000 more characters in this line"


def priced(cost: str | None, width: int = 90) -> Look:
    return Look(width, Palette(), Highlights(), cost=lambda exchange: cost)


def exchange(prompt: str) -> tuple[Hand, int]:
    hand = Hand()
    index = hand.prompt(prompt)
    hand.text("done", usage=TokenUsage(1_000, 200, 40_000, 0))
    return hand, index


@pytest.mark.parametrize("prompt", ["Fix the lamp", "Fix the lamp in the window of the shop " * 5])
@pytest.mark.parametrize("width", [40, 50, 60, 80, 90, 140])
def test_a_cost_that_comes_moves_nothing(prompt: str, width: int) -> None:
    hand, index = exchange(prompt)
    for fold in (Fold.LINE, Fold.SHORT):
        before, after = (texts(draw(hand, index, fold, priced(cost, width))) for cost in (None, "$0.08"))
        assert before == [line.removesuffix(" · $0.08").rstrip() for line in after]


def test_a_cost_gives_way_before_the_tokens() -> None:
    hand, index = exchange("Fix the lamp in the window of the shop " * 5)
    shown = [texts(draw(hand, index, Fold.LINE, priced("$0.08", width)))[0] for width in range(20, 140)]
    assert shown[-1].endswith("1 message · 20:26 · 5 s · opus-5 · 41k · $0.08")
    assert any(line.endswith(" · 41k") for line in shown)
    assert not any("$" in line and "41k" not in line for line in shown)


def test_the_header_keeps_the_facts_at_the_edge_and_the_prompt_whole() -> None:
    hand = Hand()
    index = hand.prompt(
        "why does the test fail when it runs under load and what should be done about it, please?\n\nEND"
    )
    hand.text("because", usage=TokenUsage(1000, 2000, 30_000, 8_000))
    block = draw(hand, index, Fold.SHORT)
    assert texts(block)[0].endswith("41k")
    assert texts(block)[-1].strip() == "END"
    words = " ".join(" ".join(line.split()) for line in texts(block))
    assert "please?" in words
    (line,) = texts(draw(hand, index, Fold.LINE))
    assert "1 message" in line
    assert "…" in line


def test_a_long_paste_is_cut_until_asked_for() -> None:
    hand = Hand()
    index = hand.prompt("\n".join(f"line {i}" for i in range(300)))
    block = draw(hand, index, Fold.SHORT)
    assert block.more
    assert len(block.rows) < 40
    assert texts(draw(hand, index, Fold.FULL))[-1].strip() == "line 299"


def test_the_group_total_stands_under_its_last_message() -> None:
    hand = Hand()
    index = hand.text("done", usage=TokenUsage(10, 20, 30, 40))
    assert (
        texts(draw(hand, index, Fold.FULL))[-1].strip() == "100 tokens: in 10 · cache read 30 · cache write 40 · out 20"
    )
    assert len(draw(hand, index, Fold.SHORT).rows) == 1


@pytest.mark.parametrize(("flag", "row"), [(Flag.WITHHELD, "thinking withheld"), (Flag.GROWING, "thinking …")])
def test_thinking_without_words_says_why(flag: Flag, row: str) -> None:
    hand = Hand()
    index = hand.thinking("", flags=flag)
    assert texts(draw(hand, index, Fold.FULL))[0].strip() == f"· {row}"


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_fits_every_width(kind: Kind) -> None:
    hand = Hand()
    text = "漢字 and words " * 30 + "\n" + "x" * 500 + "\n\ttab\n" + "line\n" * 40
    todos = [{"content": text, "status": "completed"}, {"content": "x"}]
    write = {"file_path": "/a/b.py", "content": text}
    task = {"prompt": text, "subagent_type": "Explore"}
    diff = FileDiff(text[:20], "move", [Hunk(["+" + "漢字 x" * 99], 1, 1)], "to")
    tools = [
        Tool(
            "Weird tool with a long name " * 9, "unknown", "w", {"a": {"b": [1, text]}, "c": text, "d": None}, text=text
        ),
        Tool("TodoWrite", "generic", "t", {"todos": todos}),
        Tool("Write", "write", "x", write, images=[Part("image", "i")]),
        Tool("Task", "task", "y", task, text=text, subagent="a1", spilled=True),
        Tool("Edit", "write", "z", {}, diffs=[diff]),
    ]
    if kind is Kind.TOOL:
        indices = [hand.tool(tool) for tool in tools]
    elif kind is Kind.PROMPT:
        indices = [hand.prompt(text), hand.add(kind, parts=[Part("text", text)]), hand.prompt("")]
    else:
        indices = [
            hand.add(kind, parts=[Part("text", text)], label="label " * 60),
            hand.add(kind),
            hand.add(kind, label="x"),
        ]
    for index, fold, width in itertools.product(indices, (Fold.LINE, Fold.SHORT, Fold.FULL), (20, 38, 78, 198)):
        block = draw(hand, index, fold, Look(width, Palette(), Highlights()))
        assert block.rows
        for row in block.rows:
            assert cell_len(row.text) <= width, (fold, row.text)
            assert 0 <= row.gutter <= len(row.text)
            assert "\n" not in row.text
            assert "\t" not in row.text


def test_the_name_of_an_argument_is_one_line() -> None:
    hand = Hand()
    index = hand.tool(Tool("Probe", "other", "t", {"a\nkey\r\n": "short", "an\nother": "two\nlines"}))
    for fold in (Fold.SHORT, Fold.FULL):
        assert not [line for line in texts(draw(hand, index, fold)) if "\n" in line or "\r" in line]


def test_context_that_was_given_in_one_go_is_one_line() -> None:
    hand = Hand()
    for label in ("instructions", "environment", "environment", ""):
        hand.note(Kind.CONTEXT, label, "a\nb\nc\nd\ne")
    (line,) = texts(draw(hand, 0, Fold.LINE))
    assert line.startswith("   ▸ instructions, environment, context ") and line.endswith("4 blocks")
    (line,) = texts(draw(hand, 1, Fold.LINE))
    assert line.startswith("   ▸ environment ") and line.endswith("5 lines"), "one in the middle speaks for itself"
    assert texts(draw(hand, 0, Fold.SHORT))[0].endswith("5 lines")


def test_context_apart_from_other_context_is_a_line_of_its_own() -> None:
    hand = Hand()
    hand.note(Kind.CONTEXT, "instructions", "a")
    hand.prompt("go")
    hand.note(Kind.CONTEXT, "reminder", "b")
    hand.text("yes")
    hand.note(Kind.CONTEXT, "reminder", "c")
    hand.note(Kind.CONTEXT, "copied", "d", flags=Flag.INHERITED)
    table = hand.session.messages
    assert [table.joined(i) for i in (0, 2, 4, 5)] == [range(i, i + 1) for i in (0, 2, 4, 5)]


def test_a_change_that_failed_says_why_before_what_was_tried() -> None:
    hand = Hand()
    given = {"file_path": "/w/a.py", "old_string": "one", "new_string": "two"}
    why = "String to replace not found in file.\nString: one"
    index = hand.tool(Tool("Edit", "write", "t", given, text=why, status=ToolStatus.ERROR))
    line, *rest = texts(draw(hand, index, Fold.SHORT))
    assert line.endswith("✗ failed · String to replace not found in file.")
    assert [row.strip() for row in rest] == [
        "│ String to replace not found in file.", "│ String: one", "- one", "+ two",
    ]  # fmt: skip
    narrow = texts(draw(hand, index, Fold.LINE, Look(50, Palette(), Highlights())))[0]
    assert "Edit a.py" in narrow.replace("/w/", "") and "✗ failed · String to" in narrow and narrow.endswith("…")


@pytest.mark.parametrize(("denier", "end"), [("you", "✗ denied by you"), ("a rule", "✗ denied by a rule")])
def test_what_was_denied_says_who_denied_it(denier: str, end: str) -> None:
    hand = Hand()
    tool = Tool("Write", "write", "t", {"file_path": "a", "content": "x"}, text="No.", status=ToolStatus.DENIED)
    tool.denier = denier
    assert texts(draw(hand, hand.tool(tool), Fold.LINE))[0].endswith(end)


def test_lines_of_a_file_have_numbers_and_are_copied_without_them() -> None:
    hand = Hand()
    text = "\n".join(f"{n:>6}→\tline {n}" for n in range(8, 40))
    tool = Tool("Read", "read", "t", {"file_path": "a.py", "offset": 8}, text=text, listing=Listing(r" *(\d+)→"))
    index = hand.tool(tool)
    block = draw(hand, index, Fold.SHORT)
    assert [row.text for row in block.rows[1:3]] == ["       8      line 8", "       9      line 9"]
    assert texts(block)[-1].strip() == "… 16 more lines (enter)"
    assert rows_text(block.rows[1:3]) == "\tline 8\n\tline 9"
    assert tool_source(tool).split("\n")[1:3] == ["\tline 8", "\tline 9"]
    assert tool.text == text


@pytest.mark.parametrize("prompt", ["Fix it", "Fix the lamp in the window of the shop " * 5, "Fix it\n\nsoon"])
@pytest.mark.parametrize("width", [60, 80, 97, 140, 200])
def test_facts_of_all_lines_end_in_one_column(prompt: str, width: int) -> None:
    hand, opener = exchange(prompt)
    use = hand.tool(
        Tool("Bash", "shell", "t", {"command": "make " + "all " * 40}, text="one\ntwo", exit_code=1, seconds=9)
    )
    edit = hand.tool(
        Tool("Edit", "write", "e", {"file_path": "a.py"}, diffs=[FileDiff("a.py", hunks=[Hunk(["+new"])])])
    )
    output = hand.add(Kind.OUTPUT, parts=[Part("text", "one\ntwo")])
    look = Look(width, Palette(), Highlights())
    for fold in (Fold.LINE, Fold.SHORT):
        ends = {cell_len(texts(draw(hand, index, fold, look))[0]) for index in (opener, use, edit, output)}
        assert ends == {look.width}
        assert sum("41k" in line for line in texts(draw(hand, opener, fold, look))) == 1


def test_words_stay_narrow_and_code_and_tables_take_the_room_they_need() -> None:
    words, code = "word " * 80, "x = " + "1 + " * 29 + "1"
    table = f"| a | b |\n|---|---|\n| {'m' * 70} | {'n' * 70} |"
    hand = Hand()
    text, prompt = hand.text(f"{words}\n\n```\n{code}\n```\n\n```\nshort\n```\n\n{table}"), hand.prompt(words)
    for width, room in ((80, 75), (130, 125), (200, 195)):
        look = Look(width, Palette(), Highlights())
        rows = [line.rstrip() for line in texts(draw(hand, text, Fold.FULL, look))]
        assert max(cell_len(line) for line in rows if "word" in line) <= look.text + look.prose
        assert any(code.strip() in line for line in rows) == (room >= len(code) + 2)
        assert any("m" * 70 in line and "n" * 70 in line for line in rows) == (width == 200)
        short = next(row for row in draw(hand, text, Fold.FULL, look).rows if "short" in row.text)
        assert cell_len(short.text) == look.text + look.prose
        assert max(cell_len(line.rstrip()) for line in texts(draw(hand, prompt, Fold.FULL, look))[1:]) <= 107

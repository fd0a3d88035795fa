"""Markdown on the screen: what it looks like, that nothing is lost, that nothing gets round the door."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from renderers.terminal.code import Highlights, Want
from renderers.terminal.markdown import MAX_MARKDOWN, markdown_rows
from renderers.terminal.style_names import Palette
from schemas.clean import clean


def shown(text: str, width: int = 60) -> list[str]:
    return [row.text.rstrip() for row in markdown_rows(text, width, Palette(), Highlights(), [])]


def test_a_document_is_drawn() -> None:
    text = (
        "# Title\n\nSome **bold** and `code`.\n\n1. one\n2. two\n   - inner\n\n- [ ] open\n- [x] done\n\n> quoted\n\n"
        "```python\nx = 1\n```\n\n---\n"
    )
    assert shown(text, 30) == [
        "Title", "", "Some bold and code.", "", "1. one", "2. two", "   • inner", "", "☐ open", "☑ done", "",
        "▎ quoted", "", " x = 1", "", "─" * 30,
    ]  # fmt: skip


def test_a_table_is_aligned() -> None:
    assert shown("| a | value |\n|:--|--:|\n| 表 | 1 |\n| long | 22 |") == [
        "a    │ value",
        "─────┼──────",
        "表   │     1",
        "long │    22",
    ]


def test_a_wide_table_wraps_its_cells_and_then_becomes_records() -> None:
    table = "| name | text |\n|---|---|\n| a | " + "word " * 20 + "|"
    assert max(map(len, shown(table, 40))) <= 40
    assert len(shown(table, 40)) > 4
    many = (
        "|" + "|".join(f"c{i}" for i in range(40)) + "|\n|" + "---|" * 40 + "\n|" + "|".join(map(str, range(40))) + "|"
    )
    rows = shown(many, 40)
    assert "c0: 0" in rows
    assert "c39: 39" in rows


@pytest.mark.parametrize("before", ["", "> ", "- "])
@pytest.mark.parametrize("bar", ["|", ""])
def test_a_row_with_more_cells_than_the_heading_keeps_them(before: str, bar: str) -> None:
    rows = ["a | b", "--- | ---", "1 | 2", "x | `y` | z\\|w | **last**", "p | q | | r"]
    indent = before if before == "> " else " " * len(before)
    lines = [f"{indent if number else before}{bar}{row}{bar}" for number, row in enumerate(rows)]
    said = " ".join("\n".join(shown("\n".join(lines))).split())
    assert "x │ y | z|w | last" in said and "p │ q | | r" in said
    assert "1 │ 2" in said and "2 |" not in said


def test_links_say_where_they_lead() -> None:
    assert shown("[here](https://evil.example/x) and <https://a.example>") == [
        "here (https://evil.example/x) and https://a.example"
    ]
    assert shown("[x](javascript:alert(1))") == ["[x](javascript:alert(1))"]
    assert shown("![pic](a.png)") == ["[image: pic] (a.png)"]


def test_what_markdown_would_swallow_is_shown() -> None:
    assert "[1]: https://x.example" in shown("see [1]\n\n[1]: https://x.example")
    assert "<b>bold</b>" in "\n".join(shown("a <b>bold</b>\n\n<div>\nblock\n</div>"))
    assert "<div>" in shown("<div>\nblock\n</div>")
    deep = ">" * 200 + " deep END"
    assert "END" in "\n".join(shown(deep))


@pytest.mark.parametrize(
    "hostile", ["&#x1b;[2J", "&#x202e;abc", "&#155;31m", "[a](&#x1b;[2J)", "``` &#x1b;[2J\nx\n```"]
)
def test_entities_do_not_bring_control_characters_back(hostile: str) -> None:
    text = "\n".join(shown(hostile))
    assert clean(text) == text


def test_what_is_too_big_is_shown_as_it_stands() -> None:
    text = "**x** " * (MAX_MARKDOWN // 6 + 1)
    assert shown(text)[0].startswith("**x** **x**")
    assert shown("[" * 5000)[0] == "[" * 60


PIECES = [
    "# ",
    "- ",
    "1. ",
    "> ",
    "```\n",
    "| a | b |\n|---|---|\n",
    "word",
    " ",
    "\n",
    "\n\n",
    "**",
    "*",
    "`",
    "[x](y)",
]
PIECES += ["漢字", "    ", "\t", "<b>", "~~", "![", "](", "|", "---\n", "[ ] "]
WORDS = st.lists(st.sampled_from(PIECES), max_size=40)


@given(WORDS, st.sampled_from([20, 40, 77]))
def test_no_row_is_too_wide_and_no_word_is_lost(pieces: list[str], width: int) -> None:
    text = "".join(pieces)
    rows = markdown_rows(text, width, Palette(), Highlights(), [])
    assert all(cell_len(row.text) <= width for row in rows)
    assert all(0 <= row.gutter <= len(row.text) for row in rows)
    joined = "".join(row.join + row.text[row.gutter :] for row in rows)
    # A word in a code fence's first line is the name of a language.
    without_info = re.sub(r"`{3,}[^\n]*", "", text)
    if without_info == text:
        assert joined.count("word") + joined.replace("\n", "").count("word") >= text.count("word")


def test_colours_come_later_and_move_nothing() -> None:
    highlights = Highlights()
    text = "```python\ndef f(x):\n\treturn 'a' * 200 + " + "x" * 80 + "  # why\n\n```\n"
    wanted: list[Want] = []
    before = markdown_rows(text, 40, Palette(), highlights, wanted)
    assert len(wanted) == 1
    for _ in highlights.work(wanted[0]):
        pass
    again: list[Want] = []
    after = markdown_rows(text, 40, Palette(), highlights, again)
    assert not again
    assert [row.text for row in after] == [row.text for row in before]
    assert len(after[0].segments) > len(before[0].segments)


def test_unknown_languages_stay_plain_and_are_asked_for_once() -> None:
    highlights = Highlights()
    want = Want("no-such-language", "x")
    assert highlights.needs(want)
    for _ in highlights.work(want):
        pass
    assert not highlights.needs(want)
    assert highlights.lookup(want) == []


def test_a_list_item_that_begins_with_a_quote_or_a_list_keeps_its_marker() -> None:
    rows = [row.text for row in markdown_rows("1. > quoted\n2. - item\n", 40, Palette(), Highlights(), [])]
    assert "1. ▎ quoted" in rows
    assert "2. • item" in rows

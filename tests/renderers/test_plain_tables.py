"""Markdown tables in plain text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from renderers.plain_tables import WIDEST, aligned_tables

TABLE = """before

| name | two words | n |
| --- | ---: | :-: |
| a\\|b\\_c | **1,000** | x |
| `d\\_` | 1 | |

after"""


def test_a_table_stands_in_columns():
    assert aligned_tables(TABLE).split("\n") == [
        "before", "",
        "name  │ two words │ n",
        "──────┼───────────┼──",
        "a|b_c │     1,000 │ x",
        "d\\_   │         1 │",
        "", "after",
    ]  # fmt: skip


def test_a_cell_keeps_where_its_link_leads():
    text = "| a | b |\n|---|---|\n| [x](http://y) | **z** |"
    assert aligned_tables(text).split("\n")[2] == "x (http://y) │ z"


def test_what_is_wide_or_within_something_or_no_table_stays_as_it_was():
    wide = "| a |\n|---|\n| " + "x" * (WIDEST + 1) + " |"
    for text in (
        wide,
        "> | a |\n> |---|\n> | b |",
        "a | b",
        "```\n| a |\n|---|\n```",
        "a | b\n\n---",
        "| a |\n|--|--|",
    ):
        assert aligned_tables(text) == text


@given(st.lists(st.sampled_from(["| a | b |", "|---|---:|", "|:-|", "text", "", "- | x |", "```", "    | y |", "---"])))
def test_words_are_kept_in_their_order(lines):
    text = "\n".join(lines)
    words = [char for char in text if char.isalpha()]
    assert [char for char in aligned_tables(text) if char.isalpha()] == words

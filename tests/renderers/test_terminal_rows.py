"""Cutting text into rows: nothing lost, nothing too wide, no wide character in half."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, get_character_cell_size, split_graphemes
from rich.style import Style

from renderers.terminal.rows import (
    MIN_WIDTH,
    Cut,
    crop,
    cut_cells,
    cut_words,
    expand_tabs,
    is_single,
    slice_spans,
    width_of,
    wrap,
)

TEXT = st.text(
    st.one_of(
        st.sampled_from("aaaaa    bcd-_/表漢字한글é€→“”…✅❤\ufe0f\u200d👩🇯🇵\u0301\u200b"),
        st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]),
    ),
    max_size=120,
)


def rejoined(text: str, cuts: list[Cut]) -> str:
    return "".join(("" if i == 0 else cut.join) + text[cut.start : cut.end] for i, cut in enumerate(cuts))


@given(TEXT, st.integers(1, 60), st.one_of(st.none(), st.integers(1, 60)))
def test_words_are_wrapped_without_loss_and_fit(text: str, width: int, first: int | None) -> None:
    cuts = cut_words(text, width, first)
    assert rejoined(text, cuts) == text
    for number, cut in enumerate(cuts):
        room = max(width if number or first is None else first, MIN_WIDTH)
        assert cell_len(text[cut.start : cut.end]) <= room


@given(TEXT, st.integers(1, 60))
def test_cells_are_cut_without_loss_and_fit(text: str, width: int) -> None:
    cuts = cut_cells(text, width)
    assert "".join(text[cut.start : cut.end] for cut in cuts) == text
    assert all(cell_len(text[cut.start : cut.end]) <= max(width, MIN_WIDTH) for cut in cuts)


@given(TEXT, st.integers(1, 60))
def test_no_grapheme_is_cut(text: str, width: int) -> None:
    starts = {begin for begin, _, _ in split_graphemes(text)[0]} | {len(text)}
    assert all(cut.start in starts for cut in cut_words(text, width))


@given(TEXT, st.integers(0, 60))
def test_cropped_text_fits(text: str, width: int) -> None:
    shown = crop(text, width)
    assert cell_len(shown) <= max(0, width)
    assert shown == text or shown.endswith("…") or width == 0


def test_what_counts_as_single_is_one_cell() -> None:
    """The quick path relies on it."""
    for code in range(32, min(0x3000, sys.maxunicode)):
        if is_single(chr(code)) and not 127 <= code < 160:
            assert get_character_cell_size(chr(code)) == 1, hex(code)


def test_a_line_breaks_at_the_space_that_still_fits() -> None:
    assert ["one two three"[c.start : c.end] for c in cut_words("one two three", 8)] == ["one two", "three"]
    assert ["aaaaaaaa bbb"[c.start : c.end] for c in cut_words("aaaaaaaa bbb", 8)] == ["aaaaaaaa", "bbb"]


def test_chinese_breaks_between_characters() -> None:
    text = "漢字漢字漢字"
    assert [text[c.start : c.end] for c in cut_words(text, 8)] == ["漢字漢字", "漢字"]


def test_tabs_are_columns_of_cells() -> None:
    assert expand_tabs("a\tb") == "a       b"
    assert expand_tabs("漢\tb") == "漢      b"
    assert expand_tabs("\t\tx", 4) == "        x"


def test_styles_survive_wrapping() -> None:
    bold, plain = Style(bold=True), Style()
    rows = list(wrap([("one two ", plain), ("three four", bold)], 9))
    assert ["".join(s.text for s in segments) for segments, _ in rows] == ["one two", "three", "four"]
    assert rows[1][0][0].style == bold
    assert slice_spans([("abc", plain), ("def", bold)], 2, 4)[1].style == bold


def test_width_of_wide_text() -> None:
    assert width_of("ab漢") == 4

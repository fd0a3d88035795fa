from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.clean import Run, Sgr, clean, clean_styled, clean_value, one_line

FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
HOSTILE = [
    "\x1b", "\x1b[", "\x1b[2J", "\x1b]0;title", "\x07", "\x1b\\", "\x9b31m", "\x9d52;c;", "\x9c", "\x1bP", "\x1b_",
    "\x1b^", "\x1bX", "\x1bk", "\x1bc", "\x1b(0", "\x90", "\x98", "\x1b[31m", "\x1b[0m", "\x1b[38;5;9m",
    "\x1b[48;2;1;2;3m", "\x1b[1:2m", "\r", "\n", "\t", "\x00", "\x7f", "\x85", "\u202e", "\u2066", "\u2028", "\ufeff",
    "\ud83e", "\udd91", "m", "[", ";", "a", "é", "🪑",
]  # fmt: skip
hostile = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=4) | st.characters(), max_size=20).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\x1b[31mred\x1b[0mb", "aredb"),
        ("a\x1b]0;owned\x07b", "ab"),
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x1b]52;c;never ends\nnext", "a52;c;never ends\nnext"),
        ("a\x9d0;title\x9cb\x9b2Jc", "abc"),
        ("a\x1bPdata\x1b\\b", "ab"),
        ("a\x1bcb\x1b(0c", "abc"),
        ("one\r\ntwo\rthree\x85four\u2028five", "one\ntwo\nthree\nfour\nfive"),
        ("\u202eabc\u202c", "⟨RLO⟩abc⟨PDF⟩"),
        ("\ud83e\ude91", "🪑"),
        ("half \ud83e", "half \ufffd"),
        ("\ufeffbom \x00nul \x07bell", "bom nul bell"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
    ],
)
def test_what_text_becomes(text, expected):
    assert clean(text) == expected


@given(hostile)
def test_no_control_character_survives_and_cleaning_again_changes_nothing(text):
    once = clean(text)
    assert not FORBIDDEN.search(once)
    assert clean(once) == once
    once.encode()


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf", "Zl", "Zp"]), max_size=40))
def test_harmless_text_is_left_alone(text):
    assert clean(text) == text


@given(hostile)
def test_colours_lie_within_the_text_and_apart(text):
    plain, runs = clean_styled(text)
    assert not FORBIDDEN.search(plain)
    assert all(0 <= run.start < run.end <= len(plain) for run in runs)
    assert all(a.end <= b.start for a, b in itertools.pairwise(runs))
    assert all(run.sgr != Sgr() for run in runs)


words = st.text("abc ", min_size=1, max_size=5)
codes = st.sampled_from(["", "0", "1", "31", "32", "1;31", "38;5;200", "48;2;1;2;3", "39", "97"])


@given(st.lists(st.tuples(codes, words), max_size=8))
def test_every_character_has_the_colour_that_was_set_last(pieces):
    """A slow reader of the same rules, character by character."""
    plain, runs = clean_styled("".join(f"\x1b[{code}m{word}" for code, word in pieces))
    assert plain == "".join(word for _, word in pieces)
    state, expected = Sgr(), []
    for code, word in pieces:
        for one in [code] if code.startswith(("38", "48")) else code.split(";"):
            state = {
                "": Sgr(), "0": Sgr(), "1": state._replace(bold=True), "31": state._replace(fg=1),
                "32": state._replace(fg=2), "38;5;200": state._replace(fg=200), "39": state._replace(fg=None),
                "48;2;1;2;3": state._replace(bg=(1, 2, 3)), "97": state._replace(fg=15),
            }[one]  # fmt: skip
        expected += [state] * len(word)
    found = [Sgr()] * len(plain)
    for run in runs:
        found[run.start : run.end] = [run.sgr] * (run.end - run.start)
    assert found == expected


@pytest.mark.parametrize(
    ("code", "sgr"),
    [
        ("1;3;4;7;9", Sgr(bold=True, italic=True, underline=True, reverse=True, strike=True)),
        ("2", Sgr(dim=True)),
        ("91;104", Sgr(fg=9, bg=12)),
        ("38;2;300;0;0", Sgr(fg=(255, 0, 0))),
        ("38;5;999", Sgr(fg=255)),
        ("38", Sgr()),
        ("38;9;1;2", Sgr()),
        ("99999999999", Sgr()),
        ("31;", Sgr()),
    ],
)
def test_what_a_colour_code_sets(code, sgr):
    plain, runs = clean_styled(f"\x1b[{code}mx")
    assert plain == "x"
    assert runs == ([] if sgr == Sgr() else [Run(0, 1, sgr)])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | hostile,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(hostile, inner, max_size=3),
        max_leaves=10,
    )
)
def test_a_value_is_clean_all_through(value):
    def strings(item):
        if isinstance(item, str):
            yield item
        for inner in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
            yield from strings(inner)
        yield from item if isinstance(item, dict) else ()

    done = clean_value(value)
    assert not any(map(FORBIDDEN.search, strings(done)))
    assert clean_value(done) == done


def test_depth_ends_somewhere():
    value: list = []
    for _ in range(5000):
        value = [value]
    assert "nested too deeply" in str(clean_value(value))


@given(hostile, st.integers(1, 40))
def test_one_line_is_one_short_clean_line(text, limit):
    line = one_line(text, limit)
    assert len(line) <= limit
    assert "\n" not in line and "\t" not in line
    assert not FORBIDDEN.search(line)


@given(hostile.map(lambda text: text * 3) | st.text(alphabet="ab \n\u200d", max_size=60), st.integers(2, 8))
def test_one_line_does_not_depend_on_how_much_is_looked_at(text, limit):
    words = " ".join(clean(text[: limit * 20]).split())
    if len(words) <= limit:
        assert one_line(text, limit) == words
    else:
        assert one_line(text, limit) == words[: limit - 1].rstrip("\u200d\ufe0f\ufe0e ") + "…"


def test_one_line_says_that_it_was_cut():
    assert one_line("  a \n\n b  ") == "a b"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcdef", 6) == "abcdef"
    assert one_line("ab👩\u200d👧", 5) == "ab👩\u200d👧"
    assert one_line("ab👩\u200d👧cd", 5) == "ab👩…"

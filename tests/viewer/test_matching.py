"""Text as every search compares it: case and the encoding of marked letters make no difference, places stay true."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viewer.machine import Machine
from tests.viewer.shelf import HERE, NOW, summary
from viewer.index.matching import find_all, plain_runs, search_key
from viewer.widgets.sessions import Shelf

FORMS = ("NFC", "NFD")
ODD = st.text(
    st.one_of(
        st.sampled_from("abesSßẞÜüéU\u0308\u0301\u0323\u0302 ㄱ한ﬁİKſ\u1112\u1161\u11ab\u093c\u0915"),
        st.characters(exclude_categories=("Cs",)),
    )
)


@pytest.mark.parametrize(
    ("text", "sought", "found"),
    [
        ("open U\u0308bersicht.md", "Übersicht", ["U\u0308bersicht"]),
        ("open Übersicht.md", "u\u0308BERSICHT", ["Übersicht"]),
        ("die Straße, STRASSE", "strasse", ["Straße", "STRASSE"]),
        (normalize("NFD", "한글 파일"), "파일", [normalize("NFD", "파일")]),
        ("cafe\u0301 cafe", "cafe", ["cafe"]),
        ("İstanbul and word", "word", ["word"]),
        ("aaa", "aa", ["aa"]),
        ("anything", "", []),
    ],
)
def test_places_are_those_of_the_text(text: str, sought: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in find_all(text, search_key(sought))] == found


@given(ODD, ODD, ODD)
def test_both_forms_have_one_key_and_a_place_holds_what_was_sought(before: str, sought: str, after: str) -> None:
    text = before + sought + after
    assert search_key(normalize("NFC", sought)) == search_key(normalize("NFD", sought))
    for start, end in find_all(text, search_key(sought)):
        assert search_key(sought) in search_key(text[start:end])


@given(ODD, st.sampled_from(FORMS), st.sampled_from(FORMS))
def test_the_bytes_of_a_file_that_holds_it_hold_its_plain_runs(sought: str, typed: str, written: str) -> None:
    data = normalize(written, sought).encode().lower()
    assert all(run.encode() in data for run in plain_runs(normalize(typed, sought)))


@pytest.mark.parametrize("typed", FORMS)
@pytest.mark.parametrize("written", FORMS)
def test_commands_and_the_filter_of_the_list_find_both_forms(tmp_path: Path, typed: str, written: str) -> None:
    machine = Machine(tmp_path)
    word, title = normalize(typed, "Übersicht"), normalize(written, "open Übersicht.md")
    machine.session("aaaaaaaa-0000-4000-8000-000000000001", [title, "ok"], minute=1)
    assert len(machine.run("search", "--json", word).json) == 1
    assert [row["title"] for row in machine.run("list", "--json", word).json] == [title]
    shelf = Shelf(HERE)
    shelf.add([summary("a", title=title), summary("b")])
    assert [row.summary.id for row in shelf.rows(word, NOW, "newest") if row.summary] == ["a"]

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viewer.machine import Machine
from viewer.index.search import Needles, snippet

ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session(ONE, ["why is the Lamp dark", 'The "lamp"\nhas no bulb: größe 日本語'], minute=1)
    machine.session(TWO, ["buy a lamp", "bought"], minute=2)
    return machine


def test_json_has_the_agreed_shape_newest_first(machine: Machine) -> None:
    rows = machine.run("search", "--json", "lamp").json
    assert [row["id"][:2] for row in rows] == ["bb", "aa", "aa"]
    assert rows[0].keys() == {"provider", "id", "path", "key", "exchangeId", "messageId", "role", "snippet", "score"}
    assert [row["role"] for row in rows] == ["user", "agent", "user"]
    assert rows[0]["snippet"] == "buy a lamp"


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["LAMP", "bulb"], 1),
        (['"lamp" has'], 1),
        (["no bulb"], 1),
        (["bulb no"], 0),
        (["GRÖSSE"], 1),
        (["gro\u0308ße"], 1),
        (["GRÖẞE"], 1),
        (["größe"], 1),
        (["日本"], 1),
        (["?"], 0),
        ([":"], 1),
        (["qqqzzz"], 0),
    ],
)
def test_words(machine: Machine, words: list[str], count: int) -> None:
    result = machine.run("search", "--json", "--", *words)
    assert len(result.json) == count
    assert result.code == (0 if count else 1)


def test_subagents_are_searched(machine: Machine) -> None:
    parent = machine.session(ONE, ["go", "gone"], minute=1)
    child = machine.subagent(parent, "a1f00001", ["look", "NEEDLE"], {"output_tokens": 1})
    (row,) = machine.run("search", "--json", "needle").json
    assert row["path"] == str(child)


def test_for_people(machine: Machine) -> None:
    machine.session(TWO, ["[red]lamp[/red]", "bought"], minute=2)
    result = machine.run("search", "lamp")
    assert result.code == 0
    assert "[red]lamp[/red]" in result.out
    result = machine.run("search", "qqqzzz")
    assert (result.code, result.out, result.err) == (1, "", "turnlog: nothing found\n")


def test_behind_a_pipe_a_hit_and_a_title_are_a_line_each(machine: Machine) -> None:
    long = "a zebra " + "of many words " * 9
    machine.session(ONE, [f"{long}\n{long}", "bought"], minute=2, cwd="", folder="-x")
    _, title, place, *hits = machine.run("search", "zebra", COLUMNS="40").out.splitlines()
    assert title.startswith("a zebra of many") and len(title) > 80
    assert place.startswith("claude · ~/") and place.endswith(".jsonl")
    assert len(hits) == 1 and len(hits[0]) > 80


def test_bad_calls(machine: Machine) -> None:
    for args in ([], [""], ["  "]):
        result = machine.run("search", *args)
        assert result.code == 2 and result.err.count("\n") == 1


def test_a_snippet_says_what_it_leaves_out() -> None:
    text = "alpha " * 50 + "needle" + " omega" * 50
    line = snippet(text, (300, 306))
    assert line.startswith("… alpha") and line.endswith("omega …") and "needle" in line
    assert snippet("a needle", (2, 8)) == "a needle"


@given(st.text(min_size=1).filter(str.strip), st.text(), st.text())
def test_a_text_is_found_in_what_holds_it(word: str, before: str, after: str) -> None:
    needles = Needles([word])
    assert needles.find(before + word + after) is not None
    missing = needles.missing(word.lower().encode("utf-8", "surrogatepass"))
    assert missing == [], "the file's bytes hold every piece of a word that stands in them"

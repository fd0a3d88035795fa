from __future__ import annotations

import re
import time
from collections.abc import Iterable
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.clean import clean
from schemas.diffs import FileDiff
from schemas.message import Flag, Tool
from schemas.providers import ids
from tests.support import START, Hand
from viewer.index.find import Find, rows_in
from viewer.index.fulltext import TextStore
from viewer.index.matching import words_of
from viewer.index.query import Marks, Query, Term, of_arguments, parse
from viewer.index.snippets import snippet_of
from viewer.index.texts import SessionText, names_of, text_of_session
from viewer.sessions.freshness import Side


@pytest.mark.parametrize(
    ("typed", "terms"),
    [
        ("lock", [Term(("lock",), "part")]),
        ("db", [Term(("db",))]),
        ('"Lock file"', [Term(("lock", "file"))]),
        ('"lock file', [Term(("lock", "file"))]),
        ("migr*", [Term(("migr",), "begins")]),
        ("src/app", [Term(("src", "app"), "begins")]),
        ("user_by", [Term(("user", "by"), "whole", "userby")]),
        ("ÜBER", [Term(("uber",), "part")]),
        ("日本", [Term(("日", "本"))]),
        ("--force", [Term(("force",), "part")]),
        ("std::vector", [Term(("std", "vector"), "begins")]),
        ("http://x.org", [Term(("http", "x", "org"), "begins")]),
    ],
)
def test_words(typed: str, terms: list[Term]) -> None:
    query = parse(typed)
    assert (query.terms, query.without, query.filters, query.problem) == (terms, [], {}, "")


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("is:green", "is:green: it can be error"),
        ("role:boss", "role:boss: it can be you, user, agent, thinking, tool"),
        ("agent:boss", f"agent:boss: no such agent; there are {', '.join(ids())}"),
        ("since:soon", "since:soon: neither a day (2026-03-01, today) nor an age (12h, 7d)"),
        ("since:", "since: says nothing to look for"),
        ('tool:" "', "tool: says nothing to look for"),
        ("-since:7d", "-since: a time cannot be taken away; say before:"),
        ("=> lock", "=>: no letter or digit in it, by which it could be found"),
        (
            "x" * 300,
            f"{'x' * 39}…: so long a run of letters and digits is taken for encoded data, which is not searched",
        ),
    ],
)
def test_what_cannot_be_meant_is_said(typed: str, problem: str) -> None:
    assert parse(typed).problem == problem


@pytest.mark.parametrize(
    "typed", ["since:", "since:2", "since:to", "is:er", "role:th", "lock -", 'lock "', "lock tool:", "=", ""]
)
def test_what_is_not_typed_to_its_end_is_no_mistake(typed: str) -> None:
    assert parse(typed, typing=True).problem == ""


@pytest.mark.parametrize("typed", ["since:abc", "before:tuesday", "is:x"])
def test_what_nothing_typed_behind_it_can_mend_is_said_at_once(typed: str) -> None:
    assert parse(typed, typing=True).problem


def test_the_last_word_is_a_beginning_while_it_is_typed() -> None:
    assert parse("lock db", typing=True).terms == [Term(("lock",), "part"), Term(("db",), "begins")]
    assert parse("lock db ", typing=True).terms[1] == Term(("db",))
    assert parse("x", typing=True).terms == [Term(("x",))], "one letter would find everything"


def test_filters() -> None:
    query = parse('agent:Codex project:"lamp shop" -tool:Bash -word file:db/ since:2026-03-01 before:today is:error')
    assert {name: (f.one_of, f.none_of) for name, f in query.filters.items()} == {
        "agent": (["codex"], []), "project": (["lamp shop"], []), "tool": ([], ["bash"]), "file": (["db/"], []),
        "is": (["error"], []),
    }  # fmt: skip
    assert query.without == [Term(("word",), "part")] and not query.terms
    assert query.since is not None and query.before is not None and query.since < query.before


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("file:db/", True),
        ("file:MIGR", True),
        ("file:shop", False),
        ("file:/home/dev/lamp-shop/db", True),
        ("file:~/lamp-shop", True),
        ("file:/db", True),
        ("-file:db", False),
        ("file:x file:db", True),
    ],
)
def test_files(typed: str, meant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/dev")
    assert parse(typed).file("/home/dev/lamp-shop", "db/migrate.py") is meant
    assert parse("file:/db/mig").file("", "db/migrate.py"), "of a session whose workspace nobody knows"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("agent:pi", ["pi"]), ("agent:Kimi", ["kimi-cli"]), ("-agent:pi", ["copilot", "kimi-cli"]), ("agent:cli", [])],
)
def test_an_agent_is_named_by_the_beginning_of_its_id(typed: str, meant: list[str]) -> None:
    agents = "copilot", "kimi-cli", "pi"
    assert [one for one in agents if parse(typed).session({"provider": one, "root": "", "branch": ""})] == meant


def test_an_argument_with_white_space_is_a_phrase_unless_it_is_a_query() -> None:
    assert of_arguments(["lock", "no such file"]) == 'lock "no such file"'
    assert of_arguments(['lock "no file"', "a tool:bash"]) == 'lock "no file" a tool:bash'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Straße ÀÉ", "strasse ae"),
        ("ﬁle ＡＢ", "file ab"),
        ("日本x", " 日  本 x"),
        ("a→b ✓", "a b  "),
        ("e\u0301", "e"),
        ("\U000ffffdk6 \ue000", " k6  "),
        ("x" * 300, " "),
    ],
)
def test_words_of(text: str, words: str) -> None:
    assert words_of(text) == words


class Shelf:
    """A library for `Find`: an index in a folder, and no session that it lacks."""

    def __init__(self, folder: Path, texts: Iterable[SessionText]) -> None:
        self._path = folder / "text.sqlite"
        with self.texts() as store:
            for text in texts:
                store.add(text)
            store.finish()

    def texts(self, report: object = None) -> TextStore:
        return TextStore(self._path, "r", pytest.fail)

    def lacking(self, known: object) -> list[str]:
        return []


_WORDS = [
    "lock",
    "tryLockFile",
    "lock_file",
    "block",
    "Straße",
    "STRASSE",
    "naïve",
    "日本語",
    "x",
    "err",
    "error",
    "a.b",
]
_texts = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=5).map(" ".join)
_paths = st.sampled_from(["db/migrate.py", "src/app.py", "/etc/hosts"])


@st.composite
def texts(draw: st.DrawFn) -> list[SessionText]:
    """Some sessions, each of a few messages of every kind."""
    made = []
    for number in range(draw(st.integers(1, 3))):
        hand = Hand(draw(st.sampled_from(["claude", "codex"])), session_id=f"s{number}")
        hand.session.title = draw(_texts)
        hand.session.branch = draw(st.sampled_from(["main", "fix", None]))
        for _ in range(draw(st.integers(0, 6))):
            kind = draw(st.sampled_from(["prompt", "text", "thinking", "tool"]))
            text, path = draw(_texts), draw(_paths)
            form = normalize(draw(st.sampled_from(["NFC", "NFD"])), text)
            if kind == "tool":
                name = draw(st.sampled_from(["Bash", "Edit"]))
                tool = Tool(name, "shell" if name == "Bash" else "write", "u", {"command": form}, text=draw(_texts))
                hand.tool(tool, flags=draw(st.sampled_from([Flag(0), Flag.ERROR])), path_hints=[path])
            else:
                getattr(hand, kind)(form)
        session = hand.session
        times: list[float | None] = [*session.messages.time] or [None]
        session.created, session.updated = times[0], times[-1]
        made.append(text_of_session(session, Side(f"/s{number}", 1, draw(st.sampled_from([0, time.time_ns()])))))
    return made


_PIECES = [
    *_WORDS, "lo", "ock", "rr", '"lock file"', '"日本"', "err*", "user_by", "lock-file", "tool:bash", "tool:nope",
    "role:you", "role:tool", "is:error", "agent:claude", "branch:fix", "project:lamp", "file:db", "file:/etc",
    f"since:{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(START + 12))}",
    f"before:{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(START + 12))}",
]  # fmt: skip
_queries = st.lists(
    st.tuples(st.sampled_from(["", "", "-"]), st.sampled_from(_PIECES)).map("".join), min_size=1, max_size=3
).map(" ".join)


@settings(max_examples=60)
@given(texts(), _queries, st.booleans())
def test_the_index_finds_what_a_look_at_the_text_finds(
    tmp_path_factory: pytest.TempPathFactory, made: list[SessionText], typed: str, typing: bool
) -> None:
    query = parse(re.sub(r"-(since|before)", r"\1", typed), typing=typing)
    find = Find(Shelf(tmp_path_factory.mktemp("shelf"), made))  # type: ignore[arg-type]
    try:
        *_, answer = find.groups(query)
        found = {}
        for group in answer.groups:
            find.hits(group, 0, 0)
            assert group.rows is not None and group.hits == len(group.rows)
            found[str(group.path)] = sorted(row & 0xFFFFF | row >> 44 << 44 for row in group.rows)
    finally:
        find.close()
    looked = {text.state.path: sorted(rows) for text in made if (rows := rows_in(text, query))} if query else {}
    assert found == looked, query


def test_marks_are_no_words() -> None:
    marks = Marks(6, 0, ("k6",), None)
    assert not Query(terms=[Term(("k6",))]).finds("other", marks)


@given(st.text(), st.text(min_size=1), st.text())
def test_a_snippet_of_any_text_marks_what_is_in_it(before: str, word: str, after: str) -> None:
    query = parse(f'"{word}"')
    line = snippet_of(clean(f"{before} {word} {after}"), query)
    assert all(0 <= start < end <= len(line.text) for start, end in line.spans)
    assert [start for start, _ in line.spans] == sorted(start for start, _ in line.spans)
    if query.terms and word.isalnum() and len(word) < 20 and word.isascii():
        assert any(line.text[start:end].lower() == word.lower() for start, end in line.spans)


@pytest.mark.parametrize(
    ("tool", "names"),
    [
        (Tool("exec_command", "shell", "t", {"cmd": "ls"}), ["exec_command", "bash", "shell"]),
        (Tool("replace", "write", "t", {"file_path": "/a"}, diffs=[FileDiff("/a")]), ["replace", "Edit"]),
        (Tool("Read", "read", "t", {"file_path": "/a"}), ["Read"]),
    ],
)
def test_a_tool_is_found_by_its_name_and_by_the_one_that_is_shown(tool: Tool, names: list[str]) -> None:
    assert names_of(tool) == names

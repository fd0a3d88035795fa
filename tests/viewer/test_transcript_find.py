"""Search within a session: what the bytes of the file say must be what a look at every message says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.terminal.code import Highlights
from renderers.terminal.layout import Look
from renderers.terminal.style_names import Palette
from schemas.opening import read_session
from schemas.session import Session
from tests.support import Hand
from tests.viewer.transcripts import story
from viewer.index.matching import search_key
from viewer.transcript import find
from viewer.transcript.find import Finder, matches, needles, whole_rows

TEXTS = [
    'He said "quoted" and C:\\path\\to',
    "first line\nsecond line\ttab",
    "Straße über Äpfel, ÉCOLE",
    "日本語のテキスト",
    "a/b/c <tag> & more",
    "plain Words here",
    "🎉 party",
    "percent % and plus + and {braces}",
]


def write(path: Path, *, ascii_only: bool, escape_slash: bool = False) -> Path:
    """A Claude Code session of these texts, as different writers of JSON would leave it."""
    rows: list[dict[str, Any]] = []
    parent = None
    for n, text in enumerate(TEXTS * 3):
        role = "user" if n % 4 == 0 else "assistant"
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"msg_{n}", "model": "claude-opus-5", "type": "message"}
        row = {"type": role, "uuid": f"u{n}", "parentUuid": parent, "sessionId": "s", "version": "2.1.40",
               "timestamp": f"2026-03-04T09:{n:02}:00.000Z", "message": message}  # fmt: skip
        rows.append(row)
        parent = f"u{n}"
    lines = (json.dumps(row, ensure_ascii=ascii_only) for row in rows)
    path.write_text("".join((line.replace("/", "\\/") if escape_slash else line) + "\n" for line in lines), "utf-8")
    return path


LOOK = Look(80, Palette(), Highlights())


def finder_of(session: Session, query: str, start: int = 0) -> Finder:
    return Finder(session, query, start, lambda: LOOK)


def search(session: Session, query: str, start: int = 0) -> list[int]:
    finder = finder_of(session, query, start)
    for _ in finder.run():
        assert finder.hits == sorted(finder.hits)
    assert finder.done
    return finder.hits


def shuffled(path: Path) -> Path:
    """A Claude Code session of which the results of parallel tool uses came in another order, and words stand in none
    of its records as the screen shows them.
    """

    def row(n: int, role: str, content: Any) -> str:
        message = {"role": role, "content": content} | ({"id": "m"} if role == "assistant" else {})
        told = {"type": role, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "sessionId": "s",
                "timestamp": f"2026-03-04T09:{n:02}:00.000Z", "message": message}  # fmt: skip
        return json.dumps(told) + "\n"

    uses = [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"echo {n}"}} for n in range(4)]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "the lamp is lit"} for n in (3, 1, 0, 2)]
    rows = [("user", "go"), ("assistant", [{"type": "text", "text": "the l**amp** is"}])]
    rows += [("assistant", [use]) for use in uses] + [("user", [result]) for result in results]
    path.write_text("".join(row(n, *told) for n, told in enumerate([*rows, ("user", "a lamp")])))
    return path


def everything(session: Session, query: str) -> list[int]:
    """The messages whose rows show it, all of them drawn."""
    return [i for i in range(len(session.messages)) if matches(whole_rows(session, i, LOOK), search_key(query))]


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("escape_slash", [True, False])
def test_bytes_find_what_messages_hold(tmp_path: Path, ascii_only: bool, escape_slash: bool) -> None:
    session = read_session(write(tmp_path / "s.jsonl", ascii_only=ascii_only, escape_slash=escape_slash))
    for query in (
        '"quoted"', "\\path", "C:\\path\\to", "über", "ÜBER", "straße", "école", "日本", "a/b", "<tag>", "WORDS",
        "words", "Words", "🎉", "%", "&", '"', "\\", "/", "line", "d line\ttab", "zzz",
    ):  # fmt: skip
        assert search(session, query) == everything(session, query), query


@given(st.data(), st.integers(0, 23), st.integers(1, 400))
def test_chunks_and_start_change_nothing(tmp_path_factory: Any, data: st.DataObject, start: int, chunk: int) -> None:
    folder = tmp_path_factory.getbasetemp()
    session = read_session(write(folder / "chunks.jsonl", ascii_only=False))
    text = data.draw(st.sampled_from(TEXTS))
    at = data.draw(st.integers(0, len(text) - 1))
    query = text[at : at + data.draw(st.integers(1, 8))]
    old, find._CHUNK = find._CHUNK, chunk
    try:
        assert search(session, query, start) == everything(session, query)
    finally:
        find._CHUNK = old


def test_the_first_hit_is_the_same_whenever_it_is_known(tmp_path: Path) -> None:
    session = read_session(shuffled(tmp_path / "s.jsonl"))
    for query, start in ((query, start) for query in ("lamp", "lit", "echo", "exit") for start in range(7)):
        finder = finder_of(session, query, start)
        known = set()
        for _ in finder.run():
            behind = [hit for hit in finder.hits if hit > start] or finder.hits
            known |= {hit for hit in behind[:1] if finder.is_next(hit)}
        assert list(known) == ([hit for hit in finder.hits if hit > start] or finder.hits)[:1], (query, start)


def test_needles_are_safe_in_json() -> None:
    assert needles("the Test") == [b"test"]
    assert needles('say "hello there"') == [b"hello"]


def test_sessions_without_a_file_are_searched_message_by_message() -> None:
    hand = story(2)
    assert search(hand.session, "row 33") == [3, 9]


def test_a_match_that_is_wrapped_is_found() -> None:
    from rich.style import Style

    from renderers.terminal.markdown import prose_rows

    rows = list(prose_rows("some words that are wrapped here", 12, Style()))
    assert len(rows) == 3
    assert matches(rows, "that are wrapped") == [[(1, 0, 8), (2, 0, 7)]]


def test_a_session_that_grew_is_searched_anew() -> None:
    hand = Hand()
    hand.prompt("one")
    finder = finder_of(hand.session, "two")
    for _ in finder.run():
        pass
    assert not finder.is_outdated
    hand.text("two")
    assert finder.is_outdated


def test_what_changes_while_it_is_searched_is_searched_again() -> None:
    hand = Hand()
    hand.prompt("go")
    for n in range(9):
        hand.text(f"lamp {n}")
    finder = finder_of(hand.session, "lamp 3 lit")
    run = finder.run()
    for _ in range(7):
        next(run)
    assert not finder.hits
    hand._made[4].parts[0].text = "lamp 3 lit"
    finder.forget([4])
    hand.text("and lamp 3 lit")
    for _ in run:
        pass
    assert finder.hits == [4, 10] and finder.done and not finder.is_outdated


def test_numbers_are_those_of_the_places_in_order() -> None:
    hand = Hand()
    hand.prompt("lamp")
    hand.text("lamp lamp")
    hand.text("dark")
    hand.text("lamp")
    finder = finder_of(hand.session, "lamp", 2)
    for _ in finder.run():
        pass
    assert [finder.number(*place) for place in ((0, 0), (1, 0), (1, 1), (3, 0))] == [1, 2, 3, 4]
    assert finder.total == 4

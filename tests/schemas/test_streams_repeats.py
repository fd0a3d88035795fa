"""Ids that come again with other content, as in a later turn: nothing of what was said is lost (`streams` note 1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Kind
from schemas.providers.streams import PROVIDER
from schemas.session import Session
from tests.fixtures.streams import THREAD, item, saved, turn
from tests.schemas.conformance import assert_builds_clean, assert_nothing_lost, assert_sums, whole

TURN = {"type": "turn.started"}
CODEX = [{"type": "thread.started", "thread_id": THREAD}, TURN]


def read(folder: Path, lines: list[Any]) -> Session:
    path = saved(folder / "stream.jsonl", lines)
    session = whole(PROVIDER, path)
    assert_sums(session)
    assert_builds_clean(session)
    assert_nothing_lost(session, path.read_bytes())
    return session


def texts(session: Session) -> list[str]:
    made = (session.message(i) for i in range(len(session.messages)))
    return [message.text for message in made if message.kind is Kind.TEXT]


def says_(ident: int, words: str) -> dict[str, Any]:
    return item("completed", f"item_{ident}", "agent_message", text=words)


# -- Codex -------------------------------------------------------------------------------------------------------------


_STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.sampled_from(["", "x", "y"])), min_size=1, max_size=12
)


@given(_STEPS)
def test_codex_no_words_are_lost_whatever_the_ids(tmp_path: Path, steps: list[tuple[str, int, str]]) -> None:
    """Of a text in each turn, or of several: all are there, in order, but for the very same once more in its turn."""
    lines: list[Any] = [*CODEX]
    expected: list[str] = []
    said: dict[int, str] = {}
    for number, (action, ident, words) in enumerate(steps):
        if action == "a":
            lines += [turn(number, 0, number), TURN]
            said = {}
        elif words:
            lines.append(says_(ident, words))
            if said.get(ident) != words:
                expected.append(words)
            said[ident] = words
    assert texts(read(tmp_path, lines)) == expected

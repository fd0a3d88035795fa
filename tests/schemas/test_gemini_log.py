"""The event log: in whatever order it is written, dropped and written again, every way of reading it agrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.message import Flag
from schemas.providers.gemini import PROVIDER
from schemas.session import Change, Op, Session
from tests.schemas.conformance import assert_all_laws, facts
from tests.schemas.gemini_logs import Data, lines, logs, reduced


def growing(path: Path, pieces: list[bytes]) -> tuple[Session, list[int]]:
    """Read a file while it grows; the second is what somebody knows who only heard of the changes."""
    path.write_bytes(b"")
    reading = PROVIDER.open(path)
    heard: list[int] = []
    left: list[tuple[Session, dict[str, Any]]] = []
    for piece in pieces:
        with path.open("ab") as file:
            file.write(piece)
        before = reading.session
        was = facts(before)
        reading.done = False
        changes: list[Change] = []
        while not reading.done:
            changes += reading.step()
        heard = follow(heard, before, reading.session, changes)
        if reading.session is not before:
            left.append((before, was))
    reading.finish()
    for old, was in left:
        assert {**facts(old), "counted": 0} == {**was, "counted": 0}, "a session that was left stays as it was"
    return reading.session, heard


def follow(heard: list[int], old: Session, new: Session, changes: list[Change]) -> list[int]:
    """Apply changes to a list of keys, as a screen does."""
    removed = {change.message for change in changes if change.op is Op.REMOVED}
    if new is old:
        assert not removed
    heard = [key for i, key in enumerate(heard) if i not in removed]
    for op, index in changes:
        if op is Op.APPENDED:
            heard.insert(index, new.messages.key[index])
        elif op is Op.UPDATED:
            assert heard[index] == new.messages.key[index]
    return heard


@given(items=logs, data=st.data())
def test_reading_while_it_grows_is_reading_it_whole(
    items: list[Data], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("log")
    written = lines(items)
    whole, _ = growing(folder / "whole.jsonl", [b"".join(written)])
    each, heard = growing(folder / "whole.jsonl", written)
    cut = data.draw(st.integers(0, len(written)))
    two, _ = growing(folder / "whole.jsonl", [b"".join(written[:cut]), b"".join(written[cut:])])
    assert facts(whole) == facts(each) == facts(two)
    assert heard == list(each.messages.key)
    assert len(set(heard)) == len(heard)


@settings(max_examples=50)
@given(items=logs)
def test_what_is_not_rewound_is_what_the_agent_itself_would_have(
    items: list[Data], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("log") / "session.jsonl"
    path.write_bytes(b"".join(lines(items)))
    session = assert_all_laws(PROVIDER, path)
    live: dict[str, Any] = {}
    for i in range(len(session.messages)):
        message = session.message(i)
        if not message.flags & Flag.REWOUND and not message.id.startswith("@"):
            live[message.id.partition(":")[0].partition("#")[0]] = message
    shown = set(live)
    kept = reduced(items)
    left_out = any("messages" in item.get("$set", {}) for item in items)  # by a checkpoint, which takes nothing back
    silent = set(kept) - shown
    assert shown - set(kept) == set() or left_out
    rows = {m["id"]: m for item in items for m in (item.get("$set", {}).get("messages") or [item]) if "id" in m}
    assert all(not rows[name].get("toolCalls") for name in silent)

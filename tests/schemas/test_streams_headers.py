"""Whoever shows an exchange's header, with its tokens and time, or a message is told when it changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderers.facts import exchange_facts
from schemas.interchange.session_data_write import SessionDataWriter
from schemas.opening import open_reading
from schemas.session import Change
from tests.fixtures.streams import samples


@pytest.mark.parametrize("number", range(10))
def test_nothing_that_is_shown_changes_without_a_change(tmp_path: Path, number: int) -> None:
    files = [s.path for s in samples(tmp_path / "home") if s.path.is_file()]
    records = files[number % len(files)].read_bytes().splitlines(keepends=True)
    if len(records[0]) < 5 or len(records) < 3 or not records[0].rstrip().endswith(b"}"):
        pytest.skip("one document")
    path = tmp_path / "stream.jsonl"
    path.write_bytes(b"".join(records[:2]))
    reading = open_reading(path)
    known: list[list[str]] = []
    written: list[dict[str, Any]] = []
    for line in [b"", *records[2:], None]:
        changes: list[Change] = []
        if line is None:
            changes += reading.finish()
        else:
            with path.open("ab") as file:
                file.write(line)
            changes += reading.step(1 << 20)
        session = reading.session
        told = {session.messages.exchange[change.message] for change in changes}
        facts = [exchange_facts(session, n) for n in range(len(session.exchanges))]
        for n, fact in enumerate(facts[: len(known)]):
            assert fact == known[n] or n in told, (line, known[n], fact)
        known = facts
        writer = SessionDataWriter(session)
        messages = [writer.message(session.message(i)) for i in range(len(session.messages))]
        rows = {change.message for change in changes}
        for i, message in enumerate(messages[: len(written)]):
            assert message == written[i] or i in rows, (line, written[i], message)
        written = messages

"""An exchange's header tells its tokens and its time: whoever draws it is told when they change."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderers.facts import exchange_facts
from schemas.opening import open_reading
from schemas.session import Change
from tests.fixtures.streams import samples


@pytest.mark.parametrize("number", range(10))
def test_a_header_never_changes_without_a_change_in_its_exchange(tmp_path: Path, number: int) -> None:
    files = [s.path for s in samples(tmp_path / "home") if s.path.is_file()]
    records = files[number % len(files)].read_bytes().splitlines(keepends=True)
    if len(records[0]) < 5 or len(records) < 3 or not records[0].rstrip().endswith(b"}"):
        pytest.skip("one document")
    path = tmp_path / "stream.jsonl"
    path.write_bytes(b"".join(records[:2]))
    reading = open_reading(path)
    known: list[list[str]] = []
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

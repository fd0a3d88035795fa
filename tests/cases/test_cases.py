"""Each case (`case.py`): what is read of it is what it expects, whole and grown line by line, and keeps the laws."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.paths import source_of
from schemas.providers.streams import PROVIDER as STREAMS
from schemas.records import FileStore
from tests.cases.case import ROOT, Case, cases
from tests.schemas.conformance import (
    assert_builds_clean,
    assert_nothing_lost,
    assert_sums,
    facts,
    family_of,
    in_pieces,
    whole,
)

CASES = list(cases(ROOT))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, tmp_path: Path) -> None:
    folder = tmp_path / "case"
    session, text = case.read(folder)
    assert text == case.expected, f"see python -m tests.cases tests/cases/{case.name}"
    assert sum(path.is_file() for path in folder.rglob("*")) == len(case.files), "nothing is written beside a session"
    for member in family_of(session):
        assert_sums(member)
        assert len(set(member.messages.key)) == len(member.messages)
    assert_builds_clean(session)
    source = source_of(session.path)[0]
    if case.is_one_file and isinstance(session.stores[0], FileStore):
        data = source.read_bytes()
        if case.provider is not STREAMS and not session.inherited:  # what was copied, or printed twice, has no law
            assert_nothing_lost(session, data)
        ends = [at + 1 for at, byte in enumerate(data) if byte == 10]
        grown = in_pieces(case.provider, data, source, ends)
        assert facts(grown) == facts(whole(case.provider, source, beside=False))

"""Reading lines as an agent prints them, for the tests of streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schemas.providers.streams import PROVIDER
from schemas.session import Session
from tests.fixtures.streams import saved
from tests.schemas.conformance import assert_builds_clean, assert_sums, whole


def read(tmp_path: Path, lines: list[Any]) -> Session:
    """Return the session of a saved stream, whose figures add up and whose messages can all be made."""
    session = whole(PROVIDER, saved(tmp_path / "stream.jsonl", lines))
    assert_sums(session)
    assert_builds_clean(session)
    return session

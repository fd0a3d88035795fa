"""Gemini CLI: titles in summaries, and the end of a big file."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.opening import open_reading
from schemas.providers.gemini import summary_title
from tests.fixtures import gemini as g

# -- the session -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("summary", "title"),
    [
        ("Plain", "Plain"),
        ('{"a": {"b": "Found it"}}', "Found it"),
        ("{broken", "{broken"),
        ("{}", ""),
        (None, ""),
        (3, ""),
    ],
)
def test_summaries(summary: object, title: str) -> None:
    assert summary_title(summary) == title


# -- documents ---------------------------------------------------------------------------------------------------------


def test_the_end_of_a_big_file_knows_whose_it_is(tmp_path: Path) -> None:
    path = g.write_lines(tmp_path / "s.jsonl", [g.header(), *(g.user(f"u{n}", n / 100, f"P{n}") for n in range(200))])
    reading = open_reading(path, start=path.stat().st_size - 1000)
    while not reading.done:
        reading.step()
    assert reading.session.id == g.SESSION and 0 < len(reading.session.messages) < 10
    assert reading.session.exchanges[-1].prompt == "P199"

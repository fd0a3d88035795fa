"""What `x` shows of a record, however deep or large it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from schemas.opening import read_session
from viewer.screens.records import _MOST_ROWS, _pretty, raw_screen


def shown(path: Path, **more: Any) -> list[str]:
    """The rows of the records screen of a prompt whose record holds `more`."""
    message = {"role": "user", "content": "Fix the lamp"}
    record = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "version": "2.1.40"}
    path.write_text(json.dumps({**record, "message": message, **more}) + "\n")
    return [row.text for row in raw_screen(read_session(path), 0).make(80)]


def test_a_deeply_nested_record_is_shown(tmp_path: Path) -> None:
    value: list[Any] = ["CORE"]
    for _ in range(300):
        value = [value]
    rows = shown(tmp_path / "a.jsonl", deep=value)
    assert "CORE" in "".join(row.strip() for row in rows)
    assert rows[-1] == "}"


def test_what_is_nested_beyond_all_reason_is_shown_as_it_stands() -> None:
    assert _pretty(b"[" * 100_000) == "[" * 100_000


def test_integers_and_surrogates_that_json_allows(tmp_path: Path) -> None:
    text = "".join(shown(tmp_path / "a.jsonl", big=1 << 80, half="\ud800"))
    assert str(1 << 80) in text


def test_a_huge_record_is_drawn_up_to_a_limit_and_says_so(tmp_path: Path) -> None:
    rows = shown(tmp_path / "a.jsonl", many=list(range(60_000)))
    assert len(rows) <= _MOST_ROWS + 10
    assert "too much at once" in rows[-1]
    rows = shown(tmp_path / "b.jsonl", long="x" * (2 << 20))
    assert rows[-1].startswith("…") and rows[-1].endswith("more")

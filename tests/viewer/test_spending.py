"""A response without a time is priced and dated alike, whoever asks: as of its file's time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from schemas.opening import read_session
from schemas.prices import Call, Prices
from viewer.commands.usage import _Report
from viewer.costs import _Shared, group_cost
from viewer.counting import Once
from viewer.spending import Coster, FileSpending, Filters, rows_by
from viewer.summary import group_rows, index_file
from viewer.targets import Target

WRITTEN = 1_700_000_000.0
LINES = [
    {"type": "thread.started", "thread_id": "aaaaaaaa-0000-4000-8000-000000000001"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": "Done."}},
    {"type": "turn.completed", "usage": {"input_tokens": 3, "cached_input_tokens": 0, "output_tokens": 4}},
]


class Recorder(Prices):
    """Says when it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float | None] = []

    def cost(self, provider: str, model: str | None, call: Call, time: float | None) -> float | None:
        self.times.append(time)
        return 1.0


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "stream.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    os.utime(path, (WRITTEN, WRITTEN))
    return path


def test_whoever_asks(stream: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = Recorder()
    coster, target = Coster(prices), Target(stream, str(stream))
    _Report(coster, tables=False).read([target], lambda done, of: None, strict=True)
    session = read_session(stream)
    monkeypatch.setattr(_Shared, "coster", coster)
    group_cost(session, 0)
    spent = list(FileSpending(Filters(), coster, Once()).of(target, session))
    session.close()
    assert prices.times == [WRITTEN] * 3
    assert [row.key for row in rows_by("day", spent)[0]] == ["2023-11-14"]
    assert [row.time for row in group_rows(index_file(str(stream)).groups)] == [WRITTEN]

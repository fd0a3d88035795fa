"""A response without a time is priced and dated alike, whoever asks: as of its file's time."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from schemas.costs.prices import Prices
from schemas.costs.responses import Table
from schemas.opening import read_session
from schemas.usage import Call
from viewer.index.summary import index_file
from viewer.sessions.targets import Target
from viewer.usage.costs import _Shared, group_cost
from viewer.usage.report import Report
from viewer.usage.spending import Spending
from viewer.usage.sums import rows_by

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
    prices, target = Recorder(), Target(stream, str(stream))
    Report(prices, tables=False).read([target], lambda done, of: None, strict=True)
    session = read_session(stream)
    monkeypatch.setattr(_Shared, "prices", prices)
    group_cost(session, 0)
    spent = Spending(prices).take(target, session).counted
    session.close()
    assert prices.times == [WRITTEN] * 3
    assert [row.key for row in rows_by("day", spent)[0]] == ["2023-11-14"]
    assert [row.time for row in Table.from_bytes(index_file(str(stream)).groups).rows()] == [WRITTEN]

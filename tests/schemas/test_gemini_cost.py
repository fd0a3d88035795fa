"""What reading a log costs: as much as there is to read, however long the session is by then."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from schemas.opening import read_session
from schemas.providers.gemini import PROVIDER
from schemas.reading import LinesReading
from tests.fixtures import gemini as g
from tests.schemas.conformance import facts

Data = dict[str, Any]
ROUNDS = 140
_MOST = 4096
"""Bytes; as many are set aside for each reading, whatever there is."""


def prompts(n: int) -> list[Data]:
    """A prompt a round, its answer written three times, as the agent does it."""
    text, counts = g.answer(f"a{n}", 2, f"answer {n}", thoughts=["Hm"]), g.tokens(100 + n, 5)
    calls = [g.call(f"t{n}", "glob", {}, "found", agentId=f"sub-{n}")]
    full = {**text, "tokens": counts, "toolCalls": calls}
    return [
        g.user(f"u{n}", 1, f"prompt {n}"),
        text,
        {**text, "tokens": counts},
        full,
        {"$set": {"lastUpdated": g.at(3)}},
    ]


def alone(n: int) -> list[Data]:
    """One prompt, and an agent that works on by itself."""
    return prompts(n)[0 if n == 0 else 1 :]


def rewound(n: int) -> list[Data]:
    """Each round is taken back again."""
    return [*prompts(n), {"$rewindTo": f"u{n}"}]


def retried(n: int) -> list[Data]:
    """Of one prompt each answer is taken back again."""
    return [*alone(n), {"$rewindTo": f"a{n}"}]


def compacted(n: int) -> list[Data]:
    """Each round ends in a checkpoint that keeps its last message."""
    last = prompts(n)[3]
    return [*prompts(n), {"$set": {"messages": [g.user(f"s{n}", 3, "<state_snapshot>x</state_snapshot>"), last]}}]


def counted(work: Callable[[], object]) -> int:
    """How many lines of Python are executed."""
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines


def allocated(work: Callable[[], object]) -> int:
    """How many bytes more than before are in use at some time meanwhile."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    work()
    return tracemalloc.get_traced_memory()[1] - before


def costs(path: Path, rounds: Callable[[int], list[Data]], measure: Callable[[Callable[[], object]], int]) -> list[int]:
    """What each round costs, fed as it comes."""
    path.write_text(json.dumps(g.header()) + "\n")
    reading = PROVIDER.open(path)
    assert isinstance(reading, LinesReading)
    reading.step()
    found: list[int] = []
    with path.open("a") as file:
        for n in range(ROUNDS):
            total = 0
            for record in rounds(n):
                file.write(json.dumps(record) + "\n")
                file.flush()
                total += measure(lambda: reading.step(_MOST))
            found.append(total)
    assert len(reading.session.messages) >= ROUNDS
    return found


# Not `rewound`: where everything was taken back, the title is looked for in all exchanges.
@pytest.mark.parametrize("rounds", [prompts, alone, retried, compacted])
def test_a_record_costs_the_same_however_long_the_log_is(tmp_path: Path, rounds: Callable[[int], list[Data]]) -> None:
    lines = costs(tmp_path / "s.jsonl", rounds, counted)
    early, late = sum(lines[20:60]), sum(lines[-40:])
    assert late < 1.1 * early


@pytest.mark.parametrize(("last", "status"), [("success", "ok"), ("executing", "pending")])
def test_a_version_that_waits_for_a_result_is_read(tmp_path: Path, last: str, status: str) -> None:
    """Its tool use may be the one that a later record answers."""
    waits = g.call("t1", "glob", {}, status="executing")
    done = g.call("t1", "glob", {}, "found", status=last)
    results = [{"functionResponse": {"id": "t1", "name": "glob", "response": {"output": "late"}}}]
    records = [
        g.header(),
        g.user("u1", 1, "prompt"),
        g.answer("a1", 2, "one", toolCalls=[{**waits, "id": "t0"}]),
        g.answer("a2", 3, "two", toolCalls=[waits]),
        g.answer("a2", 4, "two", toolCalls=[done]),
        {**g.user("r1", 5), "content": results},
    ]
    path = g.write_lines(tmp_path / "s.jsonl", records)
    whole, reading = read_session(path), PROVIDER.open(path)
    while not reading.done:
        reading.step(64)
    reading.finish()
    assert facts(reading.session) == facts(whole)
    statuses = [tool.status for i in range(len(whole.messages)) if (tool := whole.message(i).tool) is not None]
    assert statuses == ["pending", status]


@pytest.mark.parametrize("rounds", [prompts, alone, rewound, retried, compacted])
def test_nothing_is_copied_that_stays_as_it_is(tmp_path: Path, rounds: Callable[[int], list[Data]]) -> None:
    """Copies of columns are no lines of Python, but they take memory."""
    tracemalloc.start()
    try:
        sizes = costs(tmp_path / "s.jsonl", rounds, allocated)
    finally:
        tracemalloc.stop()
    # The middle of many: now and then a table that is full moves to a larger place.
    early, late = sorted(sizes[20:60])[20], sorted(sizes[-40:])[20]
    assert late < 1.2 * early

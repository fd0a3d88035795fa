"""Breaks of the prompt cache: which calls are some, what they cost, and their causes."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from schemas.costs.responses import NOBODY, Response
from schemas.usage import TokenUsage
from tests.viewer.machine import Machine
from viewer.cli import turnlog
from viewer.usage.cache import misses

CORPUS = Path(__file__).parents[2] / "../shared/corpus/claude"
ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
WARM = {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 40_000}
MINUTES = {"cache_creation": {"ephemeral_5m_input_tokens": 40_000, "ephemeral_1h_input_tokens": 0}}
HOUR = {"cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 40_000}}


def row(read: int | None, written: int | None, fresh: int = 10, model: str = "m") -> Response:
    return Response(NOBODY, "any", model, None, TokenUsage(fresh, 1, read, written))


figures = st.tuples(st.integers(0, 200_000), st.integers(0, 200_000))


@given(st.lists(figures, max_size=8))
def test_no_break_costs_more_than_the_cache_held_or_than_was_written(calls: list[tuple[int, int]]) -> None:
    rows = [row(read, written) for read, written in calls]
    for miss in misses(rows):
        held = (miss.before.usage.cache_read or 0) + (miss.before.usage.cache_write or 0)
        assert 0 < miss.again <= held - (miss.row.usage.cache_read or 0)
        assert miss.again <= (miss.row.usage.cache_write or miss.row.usage.input or 0)
        assert any(one is miss.before and two is miss.row for one, two in pairwise(rows))


@given(st.lists(st.integers(0, 50_000), max_size=8))
def test_a_talk_that_always_reads_what_was_there_breaks_nothing(written: list[int]) -> None:
    total, rows = 0, []
    for more in written:
        rows.append(row(total, more))
        total += more
    assert not list(misses(rows))


@pytest.mark.parametrize(
    ("calls", "again"),
    [
        ([(0, 40_000), (0, 41_000)], [40_000]),
        ([(0, 40_000), (30_000, 9_000)], [9_000]),
        ([(0, 40_000), (37_000, 3_000)], []),  # less than a tenth
        ([(0, 900), (0, 1_000)], []),  # less than anybody caches
        ([(0, 40_000), (None, 41_000), (40_000, 0)], []),  # unknown is no miss
        ([(40_000, None, 500), (0, None, 41_000)], [40_000]),  # a cache that needs no writes
        ([(0, 40_000, 0, "a"), (0, 40_000, 0, "b"), (40_000, 10, 0, "a")], [40_000]),
    ],
)
def test_breaks_are_told_by_the_figures(calls: list[Any], again: list[int]) -> None:
    assert [miss.again for miss in misses([row(*call) for call in calls])] == again


def written(path: Path, change: Any) -> None:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(record) + "\n" for record in change(records)))


def causes(machine: Machine, *targets: str) -> list[tuple[str, str]]:
    return [(one["cause"], one["detail"]) for one in machine.run("cache", *targets, "--json").json["breaks"]]


def test_a_break_and_what_it_cost(machine: Machine) -> None:
    machine.session(ONE, ["first", "one", "second", "two"], usage=WARM | MINUTES)
    answer = machine.run("cache", ONE, "--json").json
    (one,) = answer["breaks"]
    assert (one["place"], one["heldTokens"], one["readTokens"], one["againTokens"]) == ("#2.2", 40_000, 0, 40_000)
    # Claude Opus 4.5: 6.25 dollars for a million written for five minutes, half a dollar for a million read.
    assert (one["costUsd"], one["readUsd"]) == (0.25, 0.02)
    assert (answer["cacheWriteTokens"], answer["againTokens"], answer["sessions"]) == (80_000, 40_000, 1)
    out = machine.run("cache", ONE).out
    assert "50% of all cache writes: $0.25, as reads $0.02" in out
    assert max(map(len, out.splitlines()[:3])) <= 80
    written(machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl", lambda records: records[:2])
    assert machine.run("cache", ONE).code == 1


@pytest.mark.parametrize(
    ("kept", "later", "cause"),
    [
        (MINUTES, "09:00:03", ("unknown", "unknown, 2 s after the call before")),
        (MINUTES, "09:07:01", ("idle", "idle 7 m, kept for 5 m")),
        (HOUR, "09:07:01", ("unknown", "unknown, 7 m after the call before")),
        (HOUR, "10:30:01", ("idle", "idle 1 h 30 m, kept for 1 h")),
        ({}, "10:30:01", ("unknown", "unknown, 1 h 30 m after the call before")),
    ],
)
def test_a_cache_that_was_not_used_in_time(
    machine: Machine, kept: dict[str, Any], later: str, cause: tuple[str, str]
) -> None:
    def change(records: list[Any]) -> list[Any]:
        records[3]["timestamp"] = f"2026-03-04T{later}.000Z"
        return records

    written(machine.session(ONE, ["first", "one", "second", "two"], usage=WARM | kept), change)
    assert causes(machine, ONE) == [cause]


def test_causes_that_records_tell(machine: Machine) -> None:
    path = machine.session(ONE, ["first", "one", "second", "two"], usage=WARM | MINUTES)
    before = path.read_text()

    def told(**message: Any) -> list[tuple[str, str]]:
        def change(records: list[Any]) -> list[Any]:
            records[3]["message"] |= message
            return records

        path.write_text(before)
        written(path, change)
        return causes(machine, ONE)

    usage = WARM | MINUTES
    assert told(model="claude-sonnet-4-5-20250929") == [("model", "another model: opus-4.5 → sonnet-4.5")]
    assert told(usage=usage | {"cache_read_input_tokens": 12_000}) == [
        ("prefix", "changed prefix: the first 12k still read")
    ]
    assert told(diagnostics={"cache_miss_reason": {"type": "tools_changed"}}) == [
        ("recorded", "tools changed (recorded)")
    ]
    assert told(diagnostics={"cache_miss_reason": {"type": "none"}})[0][0] == "unknown"
    summary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
    path.write_text(before)
    written(path, lambda records: [*records[:2], records[1] | summary | {"uuid": "c", "message": None}, *records[2:]])
    assert causes(machine, ONE) == [("compaction", "compaction")]


def test_over_all_sessions_the_dearest_first_and_copies_once(machine: Machine) -> None:
    ids = {"message_ids": "msg_01FhGm3kq9Yt5Wz7Lb2Rc8Vd"}
    machine.session(ONE, ["first", "one", "second", "two"], usage=WARM | MINUTES, **ids)
    path = machine.session(TWO, ["first", "one", "second", "two"], usage=WARM | HOUR, minute=5)
    machine.session("cccccccc-0000-4000-8000-000000000003", ["first", "one"], usage=WARM, minute=7)
    machine.session(
        "dddddddd-0000-4000-8000-000000000004", ["first", "one", "second", "two"], usage=WARM, minute=9, **ids
    )
    machine.subagent(path, "a1f00001", ["look", "one", "more", "two"], WARM | MINUTES)
    answer = machine.run("cache", "--json").json
    assert [(one["id"], one["agent"]) for one in answer["breaks"]] == [(TWO, None), (ONE, None), (TWO, "a1f00001")]
    assert (answer["sessions"], answer["cacheWriteTokens"]) == (4, 7 * 40_000)
    assert (
        answer["breaks"] == machine.run("cache", *sorted(machine.projects.glob("*/*.jsonl")), "--json").json["breaks"]
    )
    out = machine.run("cache").out
    assert "3 breaks in 4 sessions" in out and f"{TWO[:8]}#2.2" in out and f"{TWO[:8]} a1f00001 #2.2" in out


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus")
def test_breaks_of_genuine_sessions() -> None:
    """The breaks of eleven sessions take more than half of all that was written to the cache."""
    paths = sorted(CORPUS.glob("*.jsonl"))
    files = [str(path) for path in paths if "gemini" not in path.name and "22_" not in path.name]
    answer = json.loads(CliRunner().invoke(turnlog, ["cache", "--json", *files], standalone_mode=False).stdout)
    assert len(answer["breaks"]) == 24
    assert 0.5 < answer["againTokens"] / answer["cacheWriteTokens"] < 0.65
    assert {one["cause"] for one in answer["breaks"]} == {"compaction", "idle", "model", "prefix", "unknown"}
    assert all(one["costUsd"] > one["readUsd"] > 0 for one in answer["breaks"])

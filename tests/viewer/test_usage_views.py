"""Files of events and snapshots on the screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from schemas.interchange import snapshot
from tests.viewer.transcripts import bare, lines
from tests.waiting import until
from viewer.follow.follower import Follower
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView

SESSION = "aaaaaaaa-0000-4000-8000-000000000001"
SNAPSHOT = {
    "schema_version": 1,
    "generated_at": "2026-02-21T02:00:00Z",
    "month": "2026-02",
    "mode": "compact",
    "totals": {
        "cost_usd": 2.0, "tokens": 200_000, "blended_usd_per_mtok": 10.0, "session_count": 3,
        "skipped_unpriced_count": 1,
    },
    "top_providers": [
        {"name": "here", "tokens": 120_000, "total_cost_usd": 1.4, "blended_usd_per_mtok": 11.67, "session_count": 2},
    ],
    "top_models": [],
    "suggestions": ["Use less."],
}  # fmt: skip


def event(model: str, **changes: Any) -> str:
    usage = {"input_tokens": 1000, "output_tokens": 200, "cache_write_tokens": 0, "cache_read_tokens": 30_000}
    usage |= {"tool_input_tokens": 0, "tool_output_tokens": 0}
    base = {"provider": "claude", "model": model, "session_id": SESSION, "timestamp": "2026-02-20T10:11:12Z"}
    return json.dumps(base | {"usage": usage} | changes) + "\n"


async def seen(pilot: Pilot[None], words: str) -> str:
    """What stands on the screen once the words do."""

    def shown() -> str:
        return "\n".join(lines(pilot.app.screen.query_one(TranscriptView)))

    await until(pilot, lambda: words in shown(), shown)
    return shown()


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_events_are_sums_and_then_rows_and_grow(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(event("claude-opus-4-5"))
    screen = TranscriptScreen(Follower(path))
    async with bare(screen).run_test(size=size) as pilot:
        shown = await seen(pilot, "$0.03")
        assert "opus-4.5" in shown and "tokens unknown" not in shown
        assert "2026-02-20 10:11 opus-4.5   aaaaaaaa" in shown
        (row,) = (line for line in shown.split("\n") if "2026-02-20 10:11" in line)
        assert row.split()[-6:] == ["1k", "30k", "0", "200", "31k", "$0.03"]
        with path.open("a") as file:
            file.write(event("nobody-knows"))
        shown = await seen(pilot, "1 call has no price and is not in the cost: nobody-knows (1).")
        (total,) = (line for line in shown.split("\n") if line.strip().startswith("total"))
        assert total.replace("│", " ").split()[1:3] == ["2", "2k"]


async def test_w_on_a_snapshot_says_its_own_total(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(SNAPSHOT))
    async with bare(TranscriptScreen(Follower(path))).run_test(size=(100, 30)) as pilot:
        await seen(pilot, "200,000")
        await pilot.press("w")

        def said() -> str:
            return pilot.app.screen.query_one("#lookup").text  # type: ignore[attr-defined]

        await until(pilot, lambda: "session: 200k tokens" in said().replace("\n", " "))
        text = said()
        assert "unknown" not in text
        assert "holds sums" in text and "model call" not in text


async def test_a_snapshot_that_turns_into_another_version_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "WAIT", 0)
    path = tmp_path / "s.json"
    path.write_text(json.dumps(SNAPSHOT))
    screen = TranscriptScreen(Follower(path))
    async with bare(screen).run_test(size=(100, 40)) as pilot:
        shown = await seen(pilot, "Use less.")
        assert "● •" not in shown and "02:00 UTC" in shown
        path.write_text(json.dumps({"schema_version": 2, "cells": ["elsewhere"], "month": "2027-01"}))
        await until(pilot, lambda: screen._follower.trouble)
        assert screen._follower.trouble == "a UI Snapshot of version 2; only version 1 can be read"
        shown = await seen(pilot, "Use less.")
        assert "elsewhere" not in shown and "2027" not in shown

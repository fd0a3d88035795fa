from __future__ import annotations

import json
import time
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from schemas.message import Kind, ToolStatus
from schemas.opening import open_reading, read_session
from schemas.providers.codex.locate import uuid_time
from schemas.session import Session
from viewer.commands.demo import command
from viewer.demo import DIRECTORY, demo_home, demo_library, demo_session, moved, unpack
from viewer.demo.live import LONGEST_PAUSE, LiveWriter, steps

NOW = 1_780_000_000.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    unpack(tmp_path, NOW)
    return tmp_path


def files(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*") if path.is_file())


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_the_demo_is_the_same_each_time_but_for_its_times(tmp_path: Path) -> None:
    unpack(tmp_path / "a", NOW)
    unpack(tmp_path / "b", NOW)
    one, two = files(tmp_path / "a"), files(tmp_path / "b")
    assert [p.relative_to(tmp_path / "a") for p in one] == [p.relative_to(tmp_path / "b") for p in two]
    assert [p.read_bytes() for p in one] == [p.read_bytes() for p in two]


@pytest.mark.parametrize(
    ("recorded", "an_hour_later"),
    [
        ('"timestamp":"2026-05-28T23:30:00.250Z"', '"timestamp":"2026-05-29T00:30:00.250Z"'),
        ('"started_at":1779989085,"duration_ms":5771', '"started_at":1779992685,"duration_ms":5771'),
        ("019e6f9d-f5bc-73af-8c36-c5202fc7108d", "019e6fd4-e43c-73af-8c36-c5202fc7108d"),
        ("a16a8feb-fa23-489b-b5f0-3d09009d17c7", "a16a8feb-fa23-489b-b5f0-3d09009d17c7"),
        (
            "DTSTART:20260713T230200Z, date(2026, 7, 14), 2026-02-11",
            "DTSTART:20260713T230200Z, date(2026, 7, 14), 2026-02-11",
        ),
    ],
)
def test_times_are_moved_and_nothing_else(recorded: str, an_hour_later: str) -> None:
    assert moved(recorded, 3600) == an_hour_later
    assert moved(an_hour_later, -3600) == recorded


def test_a_session_lies_where_its_times_say(tmp_path: Path) -> None:
    unpack(tmp_path, NOW + 500 * 86_400)
    paths = sorted(tmp_path.glob(".codex/sessions/2027/*/*/rollout-2027-*.jsonl"))
    assert len(paths) == 2
    for path in paths:
        meta = records(path)[0]["payload"]
        assert path.stem.endswith(meta["id"])
        assert datetime.fromisoformat(meta["timestamp"]).astimezone().strftime("%Y-%m-%dT%H-%M-%S") in path.stem
        assert uuid_time(meta["id"]) == datetime.fromisoformat(meta["timestamp"]).timestamp()


def test_it_is_gone_afterwards_and_touches_nothing_else() -> None:
    with demo_home(NOW) as env:
        assert env.variables == {}
        assert files(env.home)
        home = env.home
    assert not home.exists()


def test_records_are_linked_as_claude_code_links_them(home: Path) -> None:
    for path in home.glob(".claude/projects/*/**/*.jsonl"):
        seen: set[str] = set()
        uses: set[str] = set()
        for record in records(path):
            if "uuid" not in record:
                continue
            assert record["uuid"] not in seen
            assert record["parentUuid"] is None or record["parentUuid"] in seen
            seen.add(record["uuid"])
            message = record.get("message", {})
            for block in message.get("content", []) if isinstance(message.get("content"), list) else []:
                if block["type"] == "tool_use":
                    uses.add(block["id"])
                elif block["type"] == "tool_result":
                    assert block["tool_use_id"] in uses
                    uses.remove(block["tool_use_id"])
        assert not uses


def test_lines_of_one_response_repeat_its_usage_and_the_output_grows(home: Path) -> None:
    responses: dict[str, list[dict[str, Any]]] = {}
    for path in home.glob(".claude/projects/**/*.jsonl"):
        for record in records(path):
            if record["type"] == "assistant" and "forkedFrom" not in record:
                assert len(record["message"]["content"]) == 1
                responses.setdefault(record["message"]["id"], []).append(record["message"]["usage"])
    assert any(len(usages) > 2 for usages in responses.values())
    for usages in responses.values():
        assert len({(u["input_tokens"], u["cache_read_input_tokens"]) for u in usages}) == 1
        assert all(a["output_tokens"] <= b["output_tokens"] for a, b in pairwise(usages))


def test_times_go_forward_and_end_before_now(home: Path) -> None:
    for path in home.rglob("*.jsonl"):
        stamps = [record["timestamp"] for record in records(path) if "timestamp" in record]
        assert stamps == sorted(stamps)
        assert path.stat().st_mtime <= NOW


def test_there_is_nothing_in_them_that_we_cannot_read() -> None:
    with demo_home(NOW) as env:
        library = demo_library(env)
        summaries = library.bring_up_to_date()
        assert library.problems == []
        assert {summary.provider for summary in summaries} == {"claude", "codex", "gemini"}
        assert len(summaries) >= 6
        for summary in summaries:
            assert not summary.unreadable and not summary.unknown
            assert summary.usage is not None and summary.usage.total
            assert summary.title and summary.last_text
        assert summaries[0].workspace_root == str(DIRECTORY)
        assert any(summary.lineage.forked_from for summary in summaries)


def kinds(session: Session) -> set[Kind]:
    return {session.messages.kind_of(i) for i in range(len(session.messages))}


def test_the_main_session_shows_what_it_promises() -> None:
    with demo_home(NOW) as env:
        session = read_session(demo_session(env))
        assert session.title == "Fix tide times that are an hour early in summer"
        assert {Kind.PROMPT, Kind.STEER, Kind.THINKING, Kind.TEXT, Kind.TOOL, Kind.COMPACTION, Kind.INTERRUPT} <= kinds(
            session
        )
        agents = [agent for agent in session.subagents if not agent.internal]
        assert [agent.name for agent in agents] == ["Explore", "general-purpose"] or len(agents) == 2
        assert all(agent.tool_use is not None and agent.path is not None for agent in agents)
        tools = [m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool]
        tests = [tool for tool in tools if "pytest" in str(tool.input)]
        assert [tool.status for tool in tests][:2] == [ToolStatus.ERROR, ToolStatus.ERROR]
        assert tests[-1].status == ToolStatus.OK
        assert any(tool.diffs for tool in tools)
        session.close()


def test_the_gemini_session_takes_a_prompt_back() -> None:
    with demo_home(NOW) as env:
        (path,) = env.home.glob(".gemini/tmp/*/chats/*.jsonl")
        session = read_session(path)
        assert len(session.live_exchanges) == 2 and sum(e.rewound for e in session.exchanges) == 1
        assert session.workspace_root == str(DIRECTORY) and not session.unknown and not session.unreadable
        tools = [m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool is not None]
        assert [(tool.name, len(tool.diffs)) for tool in tools][-1] == ("replace", 1)
        usage = session.usage()
        assert usage is not None and usage.cache_read and usage.reasoning


def test_the_codex_session_patches_files() -> None:
    with demo_home(NOW) as env:
        paths = sorted(env.home.glob(".codex/sessions/**/*.jsonl"))
        sessions = [read_session(path) for path in paths]
        tools = [m.tool for s in sessions for i in range(len(s.messages)) if (m := s.message(i)).tool]
        assert sum(bool(tool.diffs) for tool in tools) == 2
        assert {"apply_patch", "update_plan", "exec_command"} <= {tool.name for tool in tools}


def test_the_live_session_grows_by_lines_and_half_lines_to_the_whole_story(tmp_path: Path) -> None:
    sizes = []

    class Watched(LiveWriter):
        def _append(self, data: bytes) -> None:
            super()._append(data)
            sizes.append(self.path.read_bytes().endswith(b"\n"))

    writer = Watched(tmp_path, pace=0.0)
    writer.start()
    writer.join()
    assert False in sizes
    told = records(writer.path)
    assert len(told) == len(steps())
    stamps = [record["timestamp"] for record in told if "timestamp" in record]
    assert stamps == sorted(stamps)
    reading = open_reading(writer.path)
    while not reading.done:
        reading.step()
    assert not reading.session.unreadable
    assert len(reading.session.live_exchanges) == 2


def test_the_writer_stops_at_once(tmp_path: Path) -> None:
    writer = LiveWriter(tmp_path, pace=1000.0)
    writer.start()
    assert open_reading(writer.path).session.provider == "claude"
    writer.stop()
    assert any(record["type"] == "user" for record in records(writer.path))
    assert not any(record["type"] == "assistant" for record in records(writer.path))


def test_no_pause_is_longer_than_anybody_wants_to_wait() -> None:
    pauses = [pause for pause, _ in steps()]
    assert max(pauses) <= LONGEST_PAUSE
    assert 20 < sum(pauses) < 120


def test_without_a_terminal_the_main_session_is_printed() -> None:
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 0, result.output
    assert "people have missed the causeway" in result.stdout
    assert "Tide times follow summer time" in result.stdout
    assert time.strftime("%Y") in result.stdout

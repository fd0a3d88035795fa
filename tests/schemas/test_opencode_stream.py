"""`opencode run --format json`: parts, steps, costs and ends (formats/streams.md 6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Kind
from schemas.providers.streams import PROVIDER
from schemas.session import Op
from schemas.usage import TokenUsage
from tests.fixtures.streams import STEP, opencode_lines, part, saved, step, tool
from tests.schemas.conformance import described
from tests.schemas.printed import messages, read, tools


def test_steps_are_added_once_each(tmp_path: Path) -> None:
    lines = opencode_lines()
    session = read(tmp_path, [*lines, lines[4], lines[7]])
    # The first step's total leaves room for its reasoning beside its output, the second's does not.
    assert session.usage() == TokenUsage(120, 55, 2100, 50, 15)
    assert session.metadata["costUsd"] == 0.02 and session.context_used == 1120
    assert len(session.live_exchanges) == 1 and session.groups.ids == ["prt_004", "prt_007"]


@pytest.mark.parametrize(
    ("tokens", "total", "output"),
    [((10, 20, 5, 100, 1), 136, 25), ((10, 20, 5, 100, 1), 131, 20), ((10, 20, 5, 100, 1), None, 20), ((1, 2), 3, 2)],
)
def test_output_with_and_without_reasoning(
    tmp_path: Path, tokens: tuple[int, ...], total: int | None, output: int
) -> None:
    session = read(tmp_path, [part(1, "text", "text", text="Hi"), step(2, "stop", *tokens, total=total)])
    usage = session.usage()
    assert usage is not None and usage.output == output and usage.reasoning == (tokens[2] if len(tokens) > 2 else None)


def test_all_zero_is_unknown(tmp_path: Path) -> None:
    hi = part(1, "text", "text", text="Hi")
    assert read(tmp_path, [hi, step(2, "stop", 0, 0, 0, 0, 0, cost=0)]).usage() is None


def test_a_part_that_is_printed_again_is_replaced(tmp_path: Path) -> None:
    lines = [
        part(1, "text", "text", text="Hel"),
        part(1, "text", "text", text="Hello"),
        tool(2, "bash", {"command": "ls"}, status="running"),
        tool(2, "bash", {"command": "ls"}, output="a\n"),
    ]
    session = read(tmp_path, [*lines, step(3, "stop", 1, 1)])
    assert described(session)[1:] == ["TEXT Hello", "TOOL bash"]
    assert tools(session)[0].status == "ok" and tools(session)[0].text == "a\n"


def test_tools(tmp_path: Path) -> None:
    rejected = "The user rejected permission to use this specific tool call."
    lines = [
        tool(1, "bash", {"command": "touch a b"}, output="", metadata={"exit": 2}, time={"start": 1000, "end": 3500}),
        tool(2, "edit", {"filePath": "/w/a", "oldString": "x", "newString": "y"}, output="ok"),
        tool(3, "write", {"filePath": "/w/b", "content": "1\n2\n"}, output="ok"),
        tool(4, "webfetch", {"url": "https://lamps.example"}, status="error", error=rejected),
        tool(5, "invalid", {"tool": "dance"}, output="no such tool"),
        tool(
            6,
            "docs_search",
            {"q": "lamp"},
            output="found",
            attachments=[{"mime": "image/png", "url": "data:image/png;base64,QUJD"}],
        ),
        tool(7, "edit", {"filePath": "/w/c"}, metadata={"diff": "--- a\n+++ b\n@@ -4 +4,2 @@\n x\n+y\n"}),
        tool(8, "todowrite", {"todos": [{"content": "Dust", "status": "completed"}]}, title="0 todos"),
    ]
    session = read(tmp_path, lines)
    found = tools(session)
    assert [(t.name, t.type, str(t.status)) for t in found] == [
        ("bash", "shell", "error"),
        ("edit", "write", "ok"),
        ("write", "write", "ok"),
        ("webfetch", "read", "denied"),
        ("invalid", "generic", "error"),
        ("docs_search", "unknown", "ok"),
        ("edit", "write", "ok"),
        ("todowrite", "task", "ok"),
    ]
    assert (found[0].exit_code, found[0].seconds) == (2, 2.5) and found[3].text == rejected
    assert [(d.added, d.removed) for t in found for d in t.diffs] == [(1, 1), (2, 0), (1, 0)]
    assert found[6].diffs[0].hunks[0].old_start == 4 and found[5].images[0].size == 3
    assert messages(session)[1].path_hints == ["a", "b"] and messages(session)[2].path_hints == ["/w/a"]
    assert session.exchanges[0].errors == 2  # what was denied did not fail


def test_a_child_session_is_a_link_and_its_tokens_are_not_here(tmp_path: Path) -> None:
    session = read(tmp_path, opencode_lines())
    (agent,) = session.subagents
    assert (agent.id, agent.name, agent.description) == ("ses_dust", "explore", "Dust")
    assert tools(session)[1].subagent == "ses_dust"
    assert sum("Tokens exclude subagents" in line for line in described(session)) == 1


@pytest.mark.parametrize(
    ("lines", "ended"),
    [
        (opencode_lines(), "stop"),
        (opencode_lines()[:5], "no end marker"),
        (opencode_lines()[:3], "no end marker"),
        ([*opencode_lines()[:7], step(7, "length", 1, 1)], "length"),
        (
            [*opencode_lines()[:3], {"type": "done", "timestamp": STEP, "sessionID": "ses_lamp", "reason": "idle"}],
            "idle",
        ),
    ],
)
def test_has_no_end_marker(tmp_path: Path, lines: list[Any], ended: str) -> None:
    session = read(tmp_path, lines)
    assert session.metadata["ended"] == ended
    assert any("possibly cut off" in line for line in described(session)) == (ended == "no end marker")


def test_errors(tmp_path: Path) -> None:
    error = {"name": "APIError", "data": {"message": "Overloaded", "statusCode": 529}}
    line = {"type": "error", "timestamp": STEP + 9000, "sessionID": "ses_lamp", "error": error}
    session = read(tmp_path, [*opencode_lines(), line])
    last = messages(session)[-1]
    assert (last.kind, last.label, last.text) == (Kind.ERROR, "APIError 529", "Overloaded")
    assert session.metadata["ended"] == "error"


def test_a_line_of_a_new_name_is_read_by_its_part(tmp_path: Path) -> None:
    session = read(tmp_path, [part(1, "message.part", "text", text="Hi"), part(2, "dream", "sheep")])
    assert described(session)[1] == "TEXT Hi" and session.unknown == {"part sheep": 1}


def test_times(tmp_path: Path) -> None:
    session = read(tmp_path, opencode_lines())
    assert (session.created, session.updated) == (STEP / 1000, STEP / 1000 + 7) and session.lacks == frozenset()


def test_text_before_the_first_event_is_shown_at_once_and_stays(tmp_path: Path) -> None:
    path = saved(tmp_path / "stream.jsonl", ["building the lamp"])
    reading = PROVIDER.open(path)
    reading.step()
    assert reading.session.message(0).text == "building the lamp"
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in opencode_lines())
    assert all(change.op is not Op.RESTARTED for change in reading.step())
    assert reading.session.provider == "opencode"
    assert reading.session.message(0).text == "building the lamp"
    assert reading.session.usage() == read(tmp_path, opencode_lines()).usage()

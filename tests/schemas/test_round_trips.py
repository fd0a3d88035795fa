"""Every provider's samples, written as SessionData or Agent Response and read again: nothing that they hold is lost.

Of Toolpath, which has no place for turnlog's own facts, test_toolpath_laws.py says it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from renderers.options import Include
from schemas.costs.responses import responses
from schemas.interchange.events import event_line, validate_events
from schemas.interchange.registry import check
from schemas.message import Message, Tool, ToolStatus
from schemas.opening import OpenError, family, read_session
from schemas.providers import providers
from schemas.session import Inherited, Session, Subagent
from tests.schemas.test_agent_response import told
from viewer.commands.export import FORMATS, document

SHARED = Path(__file__).parents[2] / "../shared/corpus"
_LARGEST = 100_000
Picture = dict[str, list[dict[str, Any]]]

LOST: dict[str, dict[str, str]] = {
    "json": {},
}
"""What a format does not hold, by its part of the picture, and why: as schemas/documents/*.md say it."""
KEPT = ("toolpath",)
"""Keys of a session's metadata under which a reader keeps what only its own format has."""
ALWAYS = {
    "messages.tool.output": "of a tool that has ended the formats want a result object, and get an empty one",
    "messages.id": "ids are unique in a document: a repeated one gets #2, #3",
    "session.*": "SessionData has no place for facts of a session without exchanges",
}
"""Exceptions with a condition, made in `expected`."""


def picture(session: Session) -> Picture:
    """All that a session tells, but for where it was read: one object for the session, for each of its exchanges,
    token groups, inherited responses, messages and subagents. What refers to another one does so by its number.
    """
    return {
        "session": [_session(session)],
        "exchanges": [_exchange(session, number) for number in range(len(session.exchanges))],
        "groups": [_group(session, number) for number in range(len(session.groups))],
        "inherited": [_inherited(one) for one in session.inherited.values()],
        "messages": [_message(session.message(number)) for number in range(len(session.messages))],
        "subagents": [_subagent(agent) for agent in session.subagents],
    }


def _session(session: Session) -> dict[str, Any]:
    names = (
        "provider", "provider_name", "id", "title", "workspace_root", "branch", "version", "created", "updated",
        "context_window", "context_used", "lineage", "links", "duplicates", "lacks", "unreadable", "unknown", "hidden",
        "own_total",
    )  # fmt: skip
    return {name: getattr(session, name) for name in names} | {
        "models": sorted(session.models),
        "usage": session.usage(),
        "metadata": {key: value for key, value in session.metadata.items() if key not in KEPT},
    }


def _exchange(session: Session, number: int) -> dict[str, Any]:
    exchange = session.exchanges[number]
    names = [name for name in type(exchange).__slots__ if name != "model"]
    return {name: getattr(exchange, name) for name in names} | {
        "model": session.models[exchange.model],
        "usage": session.exchange_usage(number),
    }


def _group(session: Session, number: int) -> dict[str, Any]:
    groups = session.groups
    return {
        "id": groups.ids[number],
        "exchange": groups.exchange[number],
        "last": groups.last[number],
        "model": session.models[groups.model[number]],
        "usage": groups.usage[number],
    }


def _inherited(one: Inherited) -> dict[str, Any]:
    return {key: value for key, value in one._asdict().items() if key not in ("span", "tail")}


def _message(message: Message) -> dict[str, Any]:
    data = {name: getattr(message, name) for name in Message.__slots__ if name != "tool"}
    data["metadata"] = {key: value for key, value in message.metadata.items() if key != "records"}
    for name in set(Tool.__slots__) - {"listing"}:  # which the agent says, and no document
        data[f"tool.{name}"] = getattr(message.tool, name) if message.tool is not None else None
    return data


def _subagent(agent: Subagent) -> dict[str, Any]:
    return {
        "id": agent.id,
        "name": agent.name,
        "description": agent.description,
        "tool_use": agent.tool_use,
        "internal": agent.internal,
        "inside": picture(agent.session) if agent.session is not None else None,
    }


def expected(form: str, session: Session) -> Picture:
    """What must be there after reading, by LOST and ALWAYS."""
    whole = picture(session)
    without_result = {None, ToolStatus.PENDING, ToolStatus.OK}
    seen: Counter[str] = Counter()
    for message in whole["messages"]:
        seen[message["id"]] += 1
        if (times := seen[message["id"]]) > 1:
            message["id"] += f"#{times}"
        if message["tool.status"] not in without_result and message["tool.output"] is None:
            failed = message["tool.status"] == ToolStatus.ERROR
            message["tool.output"] = {"content": message["tool.text"], "is_error": failed}
    return whole


def without(form: str, whole: Picture) -> Picture:
    """The part of a picture that a format holds."""
    held: Picture = {}
    for section, rows in whole.items():
        if f"{section}.*" not in LOST[form]:
            kept = [{key: value for key, value in row.items() if f"{section}.{key}" not in LOST[form]} for row in rows]
            held[section] = sorted(kept, key=repr) if section == "groups" and "groups.last" in LOST[form] else kept
    return held


@pytest.fixture(scope="module", params=[*sorted(providers()), "corpus"])
def sessions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Session]:
    if request.param == "corpus":
        if not SHARED.is_dir():
            pytest.skip("the shared corpus is not here")
        files = [p for p in sorted(SHARED.rglob("*")) if p.is_file() and p.stat().st_size <= _LARGEST]
        return list(_readable(files))
    fixtures = import_module(f"tests.fixtures.{request.param.replace('-', '_')}")
    return [read_session(sample.path) for sample in fixtures.samples(tmp_path_factory.mktemp("home"))]


def _readable(files: list[Path]) -> Iterator[Session]:
    for path in files:
        try:
            yield read_session(path)
        except OpenError:
            continue


@pytest.mark.parametrize("form", LOST)
def test_what_is_written_is_valid_and_read_again_as_it_was(
    sessions: list[Session], form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sessions
    path = tmp_path / f"again{FORMATS[form]}"
    for session in sessions:
        for _ in family(session):
            pass  # so that subagents' own sessions are in the document, as far as it can hold them
        data = b"".join(document(session, form, Include(redact=False), None))
        assert check({"json": "session-data"}.get(form, form), data).errors == [], session.path
        path.write_bytes(data)
        again = read_session(path)
        before, after = without(form, expected(form, session)), without(form, picture(again))
        if form == "json" and not session.exchanges:
            del before["session"], after["session"]
        for section, rows in before.items():
            for number, (row, other) in enumerate(zip(rows, after[section], strict=True)):
                assert other == row, (session.path, section, number)
        if "exchanges.*" not in LOST[form]:  # or it could not say how long they took together
            assert b"".join(document(again, form, Include(redact=False), None)) == data, session.path
    said = capsys.readouterr().err.splitlines()
    assert all(line.startswith(f"turnlog: {form}") for line in said)


def test_agent_response(sessions: list[Session], tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for session in sessions:
        data = b"".join(document(session, "agent-response", Include(redact=False), None))
        assert check("agent-response", data).errors == [], session.path
        path.write_bytes(data)
        before, again = told(session), read_session(path)
        # The answer stands there once more where something follows it.
        assert told(again)[: len(before)] == before, session.path
        used, said = session.usage(), again.usage()
        if used is not None:
            assert said is not None and (said.context, said.output) == (used.context, used.output), session.path


def test_events(sessions: list[Session], tmp_path: Path) -> None:
    path = tmp_path / "usage.events.jsonl"
    for session in sessions:
        ours = [one for one in responses(session) if one.dated]
        data = b"".join(filter(None, (event_line(one) for one in ours)))
        if not data:
            continue
        assert validate_events(data) == ([], []), session.path
        path.write_bytes(data)
        again = read_session(path)
        assert [(c.usage, c.model, c.provider, c.session.id) for c in responses(again)] == [
            (c.usage, c.model or "unknown", c.provider, c.session.id) for c in ours
        ], session.path
        assert again.groups.ids == [one.group for one in ours]

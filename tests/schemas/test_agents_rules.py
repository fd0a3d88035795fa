"""What lies beside these agents' files, whose a file is, and which subagent a use started."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path

import pytest

from schemas.message import Message
from schemas.opening import family, head_of, open_reading, read_session, recognise
from schemas.provider import Environment, Keyed
from schemas.providers import printers, providers
from schemas.reading import WholeReading
from schemas.session import Session
from schemas.usage import TokenUsage, total_usage
from tests.fixtures import (
    atif,
    crush,
    goose,
    hermes,
    kimi_cli,
    kimi_code,
    messages,
    openhands,
    roo,
    vibe,
)
from tests.fixtures.build import (
    PROMPTS,
    START,
    Data,
    message,
    ms,
    write_json,
    write_lines,
)


def shown(session: Session) -> list[str]:
    """The messages as lines: their kinds and texts; of tool uses the name, how they ended and the exit code."""
    return [_line(session.message(row)) for row in range(len(session.messages))]


def _line(message: Message) -> str:
    if tool := message.tool:
        code = "" if tool.exit_code is None else f" {tool.exit_code}"
        return f"TOOL {tool.name} {tool.status}{code}: {' '.join(tool.text.split())}".rstrip(": ")
    return f"{message.kind.name} {message.text or message.label}"


# -- one rule a case ---------------------------------------------------------------------------------------------------

ASKED, SAID = f"PROMPT {PROMPTS[0]}", "TEXT It is lit."


# -- databases, and many files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "context", "listed"),
    [
        (kimi_cli.lamp(), ["_system_prompt", "user"], "wire.jsonl"),
        (kimi_cli.lamp()[:1], ["_system_prompt", "user"], "context.jsonl"),
        (None, ["_system_prompt", "user"], "context.jsonl"),
        (kimi_cli.lamp()[:1], [], "wire.jsonl"),
        (None, [], ""),
    ],
)
def test_kimi_clis_context_is_the_session_where_the_wire_tells_no_event(
    wire: list[Data] | None, context: list[str], listed: str, tmp_path: Path
) -> None:
    folder = tmp_path / "sessions/0cc1/0197"
    write_lines(folder / "context.jsonl", [message(role, PROMPTS[0]) for role in context])
    if wire is not None:
        write_lines(folder / "wire.jsonl", wire)
    agent = providers()["kimi-cli"]
    found = list(agent.find(agent.locations(Environment({"KIMI_SHARE_DIR": str(tmp_path)}, tmp_path, "linux"))[0], []))
    assert [file.path.name for file in found] == [listed] * bool(listed)
    if listed == "context.jsonl":
        session = read_session(found[0].path)
        assert (session.provider, session.id, shown(session)[1:]) == ("kimi-cli", "0197", [ASKED])


@pytest.mark.parametrize(("said", "created"), [(str(ms(0)), START), (ms(0), START), ("soon", None), (None, None)])
def test_the_list_of_continues_sessions_tells_when_one_was_begun(
    said: object, created: float | None, tmp_path: Path
) -> None:
    sample = import_module("tests.fixtures.continue").samples(tmp_path)[0]
    listed = [
        {"sessionId": "other", "dateCreated": "1"},
        {"sessionId": read_session(sample.path).id, "dateCreated": said},
    ]
    write_json(sample.path.with_name("sessions.json"), listed)
    session = read_session(sample.path)
    assert (session.created, session.updated) == (created, None)


def test_crushs_projects_are_in_its_list(tmp_path: Path) -> None:
    projects = [{"path": "/srv/one"}, {"path": "/srv/two", "data_dir": "/data/two"}, {"path": "three"}, 4]
    write_json(tmp_path / ".local/share/crush/projects.json", {"projects": projects})
    found = [place.path for place in providers()["crush"].locations(Environment({}, tmp_path, "linux"))]
    assert found == [tmp_path / ".crush", Path("/srv/one/.crush"), Path("/data/two")]


def _helpers(session: Session) -> list[tuple[str, str, TokenUsage | None]]:
    """The subagents: their names, the tool uses that started them, and what they took."""
    return [
        (
            member.id,
            "" if child.tool_use is None else _line(session.message(child.tool_use)).split()[1],
            member.usage(),
        )
        for child, member in zip(session.subagents, list(family(session))[1:], strict=True)
    ]


HELPERS: dict[str, tuple[str, str, TokenUsage | None]] = {
    "atif": ("lamp:helper", "delegate", TokenUsage(20, 4, 0)),
    "crush": (crush.HELPER, "agent", None),
    "goose": (goose.HELPER, "delegate", TokenUsage(20, 4, 0, 0)),
    "hermes": (hermes.HELPER, "delegate_task", TokenUsage(11, 3, 0, 0, 0)),
    "kimi-cli": ("0197aaaa-lamp:a1b2", "Agent", TokenUsage(20, 4, 0, 0)),
    "kimi-code": (f"{kimi_code.LAMP}:agent-0", "Agent", TokenUsage(20, 4, 0, 0)),
    "openhands": (openhands.HELPER, "task", TokenUsage(20, 4, 0, 0, 0)),
    "vibe": ("0197bbbb", "task", TokenUsage(20, 4, 0)),
}


@pytest.mark.parametrize("name", HELPERS)
def test_a_subagent_belongs_to_the_use_that_started_it_and_counts_once(name: str, tmp_path: Path) -> None:
    made = import_module(f"tests.fixtures.{name.replace('-', '_')}").samples(tmp_path)
    sample = made[1] if name == "vibe" else made[0]
    session = read_session(sample.path)
    assert _helpers(session) == [HELPERS[name]]
    assert total_usage(member.usage() for member in family(session)) == total_usage([sample.usage, HELPERS[name][2]])


def test_a_trajectory_beside_another_is_its_subagent(tmp_path: Path) -> None:
    refs = [{"session_id": "helper", "trajectory_path": "helper.json"}, {"trajectory_path": "../secret.json"}]
    step = atif.step(2, "agent", "", **atif.tool("c1", "delegate", "Three.", refs=refs, prompt="Count them"))
    helper = atif.trajectory(
        [atif.step(1, "user", "Count them"), atif.step(2, "agent", "3", **atif.metrics(20, 4))], "h"
    )
    write_json(tmp_path / "lamp/helper.json", helper)
    write_json(tmp_path / "secret.json", helper)
    main = atif.trajectory([atif.step(1, "user", PROMPTS[0]), step], "main")
    session = read_session(write_json(tmp_path / "lamp/main.json", main))
    assert [(member.id, member.usage()) for member in family(session)] == [("main", None), ("h", TokenUsage(20, 4, 0))]


def test_a_task_is_roos_by_its_place_or_the_facts_beside_it_else_clines(tmp_path: Path) -> None:
    (sample,) = roo.samples(tmp_path)
    copy = tmp_path / "elsewhere/1" / sample.source.name
    copy.parent.mkdir(parents=True)
    shutil.copy(sample.source, copy)
    for path, owner in ((sample.source, "roo"), (copy, "cline")):
        assert (found := recognise(head_of(path))) is not None and found.id == owner
    write_json(copy.with_name("history_item.json"), roo.facts())
    assert (found := recognise(head_of(copy))) is not None and found.id == "roo"


def test_a_row_of_a_dataset_is_a_session(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "rows.jsonl", [*messages.rows(), messages.rows()[0]])
    provider = recognise(head_of(path))
    assert isinstance(provider, Keyed)
    assert [file.key for file in provider.held(path)] == ["kite.3", "2", "kite"]
    assert [read_session(Path(file.path)).title for file in provider.held(path)] == [
        "Fly the kite",
        "Hi",
        "Fly the kite",
    ]


@pytest.mark.parametrize(("first", "agent"), [({}, "kimi-cli"), ({"created_at": 1795893589608}, "kimi-code")])
def test_the_first_line_of_a_wire_tells_whose_it_is(first: Data, agent: str, tmp_path: Path) -> None:
    (tmp_path / "wire.jsonl").write_text(json.dumps({"type": "metadata", "protocol_version": "1.5", **first}) + "\n")
    assert recognise(head_of(tmp_path / "wire.jsonl")).id == agent


@pytest.mark.parametrize("name", ["droid", "kimi-code", "vibe"])
def test_what_an_agent_prints_is_its_own_and_no_others(name: str, tmp_path: Path) -> None:
    records = import_module(f"tests.fixtures.{name.replace('-', '_')}").stream()
    assert {stream.id for stream in printers() for record in records if stream.prints(record)} == {name}
    session = read_session(write_lines(tmp_path / "saved.jsonl", records))
    assert (session.provider, session.metadata["source"]) == (name, "stream")
    failed = [line for line in shown(session) if line.startswith("TOOL")]
    assert [line.split()[2:4] for line in failed] == [["error", "3:"]] and session.unknown == {}


# -- what the store of Vibe does ---------------------------------------------------------------------------------------


def test_vibes_journal_adds_to_the_chunks_and_replaces_what_it_named_before(tmp_path: Path) -> None:
    path = vibe.write_store(tmp_path / vibe.LAMP, vibe.lamp(), vibe.later()[:2])
    reading = open_reading(path)
    while not reading.done:
        reading.step()
    assert shown(reading.session)[-2:] == [f"PROMPT {PROMPTS[1]}", "TOOL bash pending"]
    assert "PROMPT Old" not in shown(reading.session), "an older generation's journal is in the chunks"
    write_lines(tmp_path / vibe.LAMP / vibe.JOURNAL, vibe.later())
    assert isinstance(reading, WholeReading) and reading.reread()
    assert shown(reading.session)[-2:] == ["TOOL bash error 3: oh", "ERROR 503: busy"]
    assert reading.session.usage() == TokenUsage(25, 10, 220)


def test_a_chunk_is_never_followed_out_of_the_store(tmp_path: Path) -> None:
    path = vibe.write_store(tmp_path / vibe.LAMP, vibe.lamp(), [])
    secret = write_json(tmp_path / "secret.json", [vibe.said(1, "s", "user", "secret")])
    manifest = tmp_path / vibe.LAMP / "generations/0000000000000008/manifest.json"
    held = json.loads(manifest.read_text())
    held["projection_state"]["chunks"] += ["../../secret", str(secret.with_suffix(""))]
    write_json(manifest, held)
    assert not any("secret" in line for line in shown(read_session(path)))

"""The law of the kit: what a record holds depends on the record alone, at any time and in any order."""

from __future__ import annotations

import json
import random
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Flag, Kind
from schemas.opening import OpenError, head_of, open_reading, recognise
from schemas.provider import Keyed
from schemas.providers import printers, providers
from schemas.providers.kit.bases import Agent, Stream
from schemas.records import MemoryStore
from schemas.session import Op, Session

AGENTS = {name: agent for name, agent in providers().items() if isinstance(agent, Agent)}
SHARED = Path(__file__).parents[2] / "../shared"


def _sessions(name: str, folder: Path) -> list[Path]:
    """The addresses of an agent's fixtures, and where they are at hand of genuine files."""
    made = [sample.path for sample in import_module(f"tests.fixtures.{name.replace('-', '_')}").samples(folder)]
    found = {path for pattern in AGENTS[name].files for path in (SHARED / "lab" / name).rglob(Path(pattern).name)}
    return made + [one for path in sorted(found) if _is_mine(name, path) for one in _held(name, path)]


def _held(name: str, path: Path) -> list[Path]:
    agent = AGENTS[name]
    return [file.path for file in agent.held(path)] if isinstance(agent, Keyed) else [path]


def _is_mine(name: str, path: Path) -> bool:
    try:
        return AGENTS[name].detect(head_of(path))
    except OpenError:
        return False


def _records(session: Session) -> list[dict[str, Any]]:
    """The records of a session, read back from its store."""
    store = session.stores[0]
    if isinstance(store, MemoryStore):
        return [json.loads(line) for line in store.whole().split(b"\0") if line]
    lines = session.path.read_bytes().split(b"\n")
    return [value for line in lines if line[:1] == b"{" and isinstance(value := _loaded(line), dict)]


def _loaded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _read(path: Path) -> Session:
    reading = open_reading(path)
    while not reading.done:
        reading.step()
    reading.finish()
    return reading.session


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_read_says_the_same_at_any_time_and_in_any_order(name: str, tmp_path: Path) -> None:
    agent, looked = AGENTS[name], 0
    for path in _sessions(name, tmp_path):
        records = _records(_read(path))
        said = [repr(list(agent.read(record))) for record in records]
        order = list(range(len(records)))
        random.Random(len(records)).shuffle(order)
        fresh = type(agent)()
        assert {at: repr(list(fresh.read(records[at]))) for at in order} == dict(enumerate(said)), path
        looked += len(records)
    assert looked


@pytest.mark.parametrize("stream", printers(), ids=lambda stream: stream.name)
def test_so_does_that_of_streams(stream: Stream, tmp_path: Path) -> None:
    made = [sample.path for sample in import_module("tests.fixtures.streams").samples(tmp_path)]
    shared = sorted((SHARED / "corpus/streams").glob("*.jsonl")) + sorted((SHARED / "lab").glob("*/streams/*.jsonl"))
    lines = [line for path in made + shared for line in path.read_bytes().split(b"\n")]
    records = [value for line in lines if isinstance(value := _loaded(line), dict)]
    said = [repr(list(stream.read(record))) for record in records]
    order = list(range(len(records)))
    random.Random(len(records)).shuffle(order)
    fresh = type(stream)()
    assert {at: repr(list(fresh.read(records[at]))) for at in order} == dict(enumerate(said))


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_text_that_grows_only_grows(name: str, tmp_path: Path) -> None:
    """A message whose text comes piece by piece keeps what it showed, until the whole text takes its place."""
    for number, path in enumerate(_sessions(name, tmp_path)):
        if path.suffix != ".jsonl":
            continue
        copy, shown = tmp_path / f"{number}.jsonl", dict[str, str]()
        copy.write_bytes(b"")
        reading = AGENTS[name].open(copy)
        for line in path.read_bytes().splitlines(keepends=True)[:500]:
            with copy.open("ab") as file:
                file.write(line)
            for change in reading.step():
                if change.op is not Op.REMOVED:
                    message = reading.session.message(change.message)
                    if message.flags & Flag.GROWING and message.kind in (Kind.TEXT, Kind.THINKING):
                        assert message.text.startswith(shown.get(message.id, "")), (path, message.id)
                    shown[message.id] = message.text


REPEATED = {
    "codex": "a fork has one time for all that it copied",
    "cursor": "a blob is named by what it holds",
    "gemini": "a second rewind to a message takes all back, as it does for the program",
    "grok": "records have neither ids nor times",
    "messages": "messages have neither ids nor times",
}
"""Agents for which an equal record is another one, and why."""


@pytest.mark.parametrize("name", sorted(AGENTS.keys() - REPEATED))
def test_a_record_that_is_written_twice_counts_once(name: str, tmp_path: Path) -> None:
    samples = import_module(f"tests.fixtures.{name.replace('-', '_')}").samples(tmp_path)
    for path in {sample.source for sample in samples if sample.lines or sample.source.suffix == ".jsonl"}:
        once = _told(_read(path))
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(line for line in lines for _ in range(2)))
        assert _told(_read(path)) == once, path
        path.write_bytes(b"".join(lines))


def _told(session: Session) -> list[Any]:
    """What is in a session."""
    messages = [session.message(row) for row in range(len(session.messages))]
    prompts = [(exchange.prompt, exchange.rewound) for exchange in session.exchanges]
    return [session.id, session.title, session.usage(), prompts, [(one.kind, one.text) for one in messages]]


@pytest.mark.parametrize("name", sorted(AGENTS.keys() - {"gptme", "messages"}))  # they have messages only
def test_an_agent_is_known_by_its_header_wherever_that_stands(name: str, tmp_path: Path) -> None:
    samples = import_module(f"tests.fixtures.{name.replace('-', '_')}").samples(tmp_path)
    for path in {sample.source for sample in samples if sample.source.suffix == ".jsonl"}:
        path.write_bytes(b'{"type": "something.else", "note": "from elsewhere"}\n' + path.read_bytes())
        assert recognise(head_of(path)).id == name, path

"""The law of hostile sources: a value of any type may stand in any field, of a record, a file or a table's row.

The conformance suite damages sources that are one file of JSON; here those of many files and of rows are damaged, and
every field of every record of every agent.
"""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Message
from schemas.paths import address_of
from schemas.provider import Keyed, Location
from schemas.providers import printers, providers
from schemas.providers.kit.bases import Agent, Database, Document, Tree
from schemas.providers.kit.words import Answer, Use
from schemas.records import read_record
from schemas.session import Session
from tests.laws.test_read import _read, _records
from tests.schemas.conformance import assert_builds_clean, assert_sums, family_of
from tests.schemas.samples import Sample
from tests.schemas.test_conformance import _JUNK, _damage, _places

AGENTS: dict[str, Any] = {name: agent for name, agent in providers().items() if isinstance(agent, Agent)}
STREAMS = ("droid", "kimi-code", "vibe")
MANY = {name: agent for name, agent in AGENTS.items() if isinstance(agent, Database | Document | Tree)}
ROUNDS = 12


def _fixtures(name: str) -> Any:
    return import_module(f"tests.fixtures.{name.replace('-', '_')}")


def _try(agent: Agent, record: dict[str, Any]) -> None:
    """Ask an agent all that the kit asks of a record."""
    agent.type(record), agent.time(record), agent.name_of(record), agent.facts(record), agent.setting(record)
    items = list(agent.read(record))
    answers = [item for item in items if isinstance(item, Answer)]
    for use in (item for item in items if isinstance(item, Use)):
        for answer in (use.answer, *answers):
            agent.tool(use, answer, Path("any"))
    for answer in answers:
        for name in agent.tools:
            agent.tool(Use(name=name, input={"path": "x", "content": [1]}), answer, Path("any"))


def _spoilt(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A record with each value in it replaced by each kind of junk, and left out."""
    for holder, name in list(_places(record)):
        value = holder[name]
        for junk in _JUNK:
            holder[name] = junk
            yield read_record(json.dumps(record).encode()) or {}
        del holder[name]
        yield read_record(json.dumps(record).encode()) or {}
        if isinstance(holder, list):
            holder.insert(name, value)
        else:
            holder[name] = value


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_any_value_may_stand_in_any_field_of_a_record(name: str, tmp_path: Path) -> None:
    agent, tried = AGENTS[name], set[str]()
    for sample in _fixtures(name).samples(tmp_path):
        for record in _records(_read(sample.path)):
            if len(json.dumps(record)) < 2000 and (shape := repr(_shape(record))) not in tried:
                tried.add(shape)
                for spoilt in _spoilt(record):
                    _try(agent, spoilt)


def _shape(value: Any, key: object = "") -> Any:
    """What one record has in common with another: its fields and their types, and what is said of types and tools."""
    if isinstance(value, dict):
        return {name: _shape(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return value if key in ("type", "kind", "role", "name", "tool", "status", "state") else type(value).__name__


@pytest.mark.parametrize("name", STREAMS)
def test_and_of_what_is_printed(name: str) -> None:
    stream = next(stream for stream in printers() if stream.id == name)
    for record in _fixtures(name).stream():
        for spoilt in _spoilt(record):
            stream.prints(spoilt), stream.may_print(spoilt), stream.run_of(spoilt)
            _try(stream, spoilt)


@pytest.mark.parametrize("name", sorted(MANY))
def test_a_source_with_damage_is_read_or_refused(name: str, tmp_path: Path) -> None:
    """Files are damaged within, rows in their columns and in the JSON of these."""
    chance = random.Random(name)
    samples: list[Sample] = _fixtures(name).samples(tmp_path / "whole")
    for number in range(ROUNDS):
        copy = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", copy)
        sample = chance.choice(samples)
        source = copy / sample.source.relative_to(tmp_path / "whole")
        _damage_some(source, copy, chance)
        _survive(AGENTS[name], source, str(sample.path)[len(str(sample.source)) + 1 :])
        shutil.rmtree(copy)


def _damage_some(source: Path, folder: Path, chance: random.Random) -> None:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name[-3:] != "shm")
    path = source if chance.randrange(3) == 0 else chance.choice(files)
    if path.read_bytes()[:6] == b"SQLite":
        with closing(sqlite3.connect(path)) as database:
            for _ in range(3):
                _damage_row(database, chance)
            database.commit()
        return
    try:
        values, lines = [json.loads(path.read_text())], False
    except ValueError:
        try:
            values, lines = [json.loads(line) for line in path.read_text().splitlines()], True
        except ValueError:
            return  # prose, settings
    for _ in range(chance.randrange(1, 4)):
        _damage(values, chance)
    path.write_text("".join(json.dumps(value) + "\n" for value in values) if lines else json.dumps(values[:1][0]))


def _damage_row(database: sqlite3.Connection, chance: random.Random) -> None:
    """One column of one row: another value, or damage to the JSON in it."""
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    table = chance.choice([name for name in tables if not name.startswith("sqlite_")])
    rows = list(database.execute(f"SELECT rowid, * FROM {table}"))
    if not rows:
        return
    columns = [column[0] for column in database.execute(f"SELECT rowid, * FROM {table}").description]
    row, at = chance.choice(rows), chance.randrange(1, len(columns))
    value = row[at]
    try:
        values = [json.loads(value)]
        _damage(values, chance)
        value = json.dumps(values[0])
    except (TypeError, ValueError, RecursionError):
        value = chance.choice([None, "", "x", -1, 1.5, b"\xff\0", 1 << 62, "[" * 5000, 1e300])
    try:
        database.execute(f"UPDATE {table} SET {columns[at]} = ? WHERE rowid = ?", (value, row[0]))
    except sqlite3.IntegrityError:
        return  # the table itself refuses it


def _survive(agent: Any, source: Path, key: str) -> None:
    try:
        reading = agent.open_key(source, key) if isinstance(agent, Keyed) else agent.open(source)
        while not reading.done:
            reading.step()
        reading.finish()
        reading.refresh()
    except OSError:
        return  # refused in words
    for member in family_of(reading.session):
        assert_sums(member)
    assert_builds_clean(reading.session)


def test_messages_with_very_long_ids_have_ids_of_their_own(tmp_path: Path) -> None:
    """What is cut off an id tells it from others all the same."""
    crush = _fixtures("crush")
    rows = crush.lamp()
    rows[1][1]["id"], rows[2][1]["id"] = "x" * 400, "x" * 401
    session = _read(address_of(crush.write_database(tmp_path / "crush.db", crush.TABLES, rows), crush.LAMP))
    ids = [session.message(at).id for at in range(len(session.messages))]
    assert len(set(ids)) == len(ids) and max(map(len, ids)) < 300


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_a_session_opens_whatever_became_of_the_files_beside_it(name: str, tmp_path: Path) -> None:
    """Under its id, or the beginning of that where only the file beside it has all of it."""
    samples: list[Sample] = _fixtures(name).samples(tmp_path)
    pairs = [(one, path) for path in sorted(tmp_path.rglob("*")) if path.is_file() for one in samples]
    known = {sample.path: _read(sample.path).id for sample in samples}
    for number, (sample, path) in enumerate(pairs):
        if path == sample.source:
            continue
        raw = path.read_bytes()
        damages = (raw[: len(raw) // 2], b"", None)
        for damage in damages if len(pairs) < 50 else (damages[number % 3],):  # of many, each another one
            path.unlink() if damage is None else path.write_bytes(damage)
            assert known[sample.path].startswith(_read(sample.path).id), (path, damage)
            path.write_bytes(raw)


@pytest.mark.parametrize(
    ("state", "opened"),
    [
        ("whole", "base_state.json"),
        (b'{"id": "0197", "agent": {"ll', "base_state.json"),
        (b"garbage", "base_state.json"),
        (b"", "event-00000-"),
        (None, "event-00000-"),
    ],
)
def test_a_conversation_of_openhands_is_that_of_its_events(
    state: bytes | str | None, opened: str, tmp_path: Path
) -> None:
    openhands, agent, folder = _fixtures("openhands"), AGENTS["openhands"], "0197aaaa000040008000000000000001"
    path = openhands.write(tmp_path / folder, openhands.lamp(), agent=[openhands.spent("r1", 10, 5)])
    if state is None:
        path.unlink()
    elif isinstance(state, bytes):
        path.write_bytes(state)
    (found,) = agent.find(Location(tmp_path, "default"), [])
    session = _read(found.path)
    assert found.path.name.startswith(opened)
    assert (session.provider, session.id, found.id) == ("openhands", *["0197aaaa-0000-4000-8000-000000000001"] * 2)
    assert [exchange.prompt for exchange in session.exchanges][1:] == openhands.PROMPTS
    assert (session.usage() is None) == bool(session.unreadable) == (state != "whole")


def test_a_store_of_vibe_is_read_from_the_newest_generation_that_is_whole(tmp_path: Path) -> None:
    vibe = _fixtures("vibe")
    current = vibe.write_store(tmp_path / "unified/0197", vibe.lamp(), vibe.later())
    whole = [message.kind for message in _messages(_read(current))]
    shutil.copytree(newest := current.parent / "generations/0000000000000008", newest.with_name("0000000000000001"))
    for damaged in (current, newest / "manifest.json"):
        damaged.write_bytes(damaged.read_bytes()[:20])
        session = _read(current)
        assert [message.kind for message in _messages(session)] == whole
        assert str(damaged.relative_to(current.parent)) in [bad.file or "CURRENT" for bad in session.unreadable]


def _messages(session: Session) -> list[Message]:
    return [session.message(row) for row in range(len(session.messages))]


LATE = {"amp", "mini-swe-agent"}
"""What tells their documents stands at the end."""
DOCUMENTS = {name for name, agent in AGENTS.items() if isinstance(agent, Document)}


@pytest.mark.parametrize("name", sorted(DOCUMENTS - LATE))
def test_a_document_that_breaks_off_is_read_as_far_as_it_goes(name: str, tmp_path: Path) -> None:
    sample = next(sample for sample in _fixtures(name).samples(tmp_path) if sample.source.suffix == ".json")
    raw = sample.source.read_bytes()
    sample.source.write_bytes(raw[: raw.rindex(b"role") if b"role" in raw else len(raw) * 9 // 10])
    session = _read(sample.path)
    assert (session.provider, len(session.unreadable)) == (name, 1)
    assert sample.prompts[0] in [message.text for message in _messages(session)]

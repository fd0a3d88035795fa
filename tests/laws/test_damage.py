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
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from schemas.paths import address_of
from schemas.provider import Keyed
from schemas.providers import printers, providers
from schemas.providers.kit.agent import Agent, Database, Document, Tree
from schemas.providers.kit.words import Answer, Use
from schemas.records import read_record
from tests.laws.test_read import _read, _records
from tests.schemas.conformance import assert_builds_clean, assert_sums, family_of
from tests.schemas.samples import Sample
from tests.schemas.test_conformance import _JUNK, _damage, _places

AGENTS: dict[str, Any] = {name: agent for name, agent in providers().items() if isinstance(agent, Agent)}
STREAMS = ("droid", "kimi-code", "vibe")
MANY = {name: agent for name, agent in AGENTS.items() if isinstance(agent, Database | Document | Tree)}
ROUNDS = 20


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
    for at in range(sum(1 for _ in _places(record))):
        for junk in _JUNK:
            copy = deepcopy(record)
            holder, name = list(_places(copy))[at]
            holder[name] = deepcopy(junk)
            yield read_record(json.dumps(copy).encode()) or {}
        copy = deepcopy(record)
        holder, name = list(_places(copy))[at]
        del holder[name]
        yield copy


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_any_value_may_stand_in_any_field_of_a_record(name: str, tmp_path: Path) -> None:
    agent = AGENTS[name]
    for sample in _fixtures(name).samples(tmp_path):
        for record in _records(_read(sample.path)):
            if len(json.dumps(record)) < 2000:
                for spoilt in _spoilt(record):
                    _try(agent, spoilt)


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

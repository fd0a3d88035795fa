"""Sessions of the agents that are kept in files of all kinds are followed while they are written."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path

import pytest

from schemas.opening import open_reading
from schemas.provider import Reading
from schemas.providers import providers
from schemas.reading import WholeReading
from schemas.session import Change, Session
from tests.fixtures.build import write_json
from tests.schemas.conformance import facts, whole
from tests.schemas.test_agents_rules import shown


def _without_lines(count: int) -> Callable[[Path], None]:
    def shorten(path: Path) -> None:
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:count]))

    return shorten


def _without_messages(key: str, count: int) -> Callable[[Path], None]:
    def shorten(path: Path) -> None:
        held = json.loads(path.read_text())
        write_json(path, held[:count] if isinstance(held, list) else {**held, key: held[key][:count]})

    return shorten


def _gone(path: Path) -> None:
    path.unlink()


GROWING: list[tuple[str, int, str, Callable[[Path], None]]] = [
    ("amp", 0, "**/*01.json", _without_messages("messages", 3)),
    ("antigravity", 0, "**/transcript.jsonl", _without_lines(2)),
    ("atif", 0, "trajectory.json", _without_messages("steps", 3)),
    ("continue", 0, "**/0197*.json", _without_messages("history", 3)),
    ("droid", 0, "**/*.jsonl", _without_lines(4)),
    ("droid", 0, "**/*.settings.json", _gone),
    ("goose", 2, "**/*.jsonl", _without_lines(2)),
    ("gptme", 0, "**/conversation.jsonl", _without_lines(3)),
    ("grok", 0, "**/chat_history.jsonl", _without_lines(6)),
    ("grok", 1, "**/*kite/updates.jsonl", _without_lines(3)),
    ("kilo-code", 0, "**/api_conversation_history.json", _without_messages("", 2)),
    ("kimi-cli", 0, "**/wire.jsonl", _without_lines(8)),
    ("kimi-code", 0, "**/main/wire.jsonl", _without_lines(12)),
    ("messages", 0, "lamp.json", _without_messages("", 3)),
    ("mini-swe-agent", 0, "**/last*.json", _without_messages("messages", 3)),
    ("nanocoder", 0, "**/0197*.json", _without_messages("messages", 2)),
    ("openhands", 0, "*/*/*/events/event-0001*.json", _gone),
    ("openhands", 0, "*/*/*/events/event-00003*.json", _gone),
    ("roo", 0, "**/api_conversation_history.json", _without_messages("", 2)),
    ("swe-agent", 0, "lamp.json", _without_messages("trajectory", 1)),
    ("vibe", 0, "**/journal/*9.jsonl", _without_lines(2)),
    ("vibe", 1, "**/session_*/messages.jsonl", _without_lines(3)),
]
"""An agent, the number of its sample, the files that were shorter before, and how."""


@pytest.mark.parametrize(("name", "number", "pattern", "shorten"), GROWING, ids=[f"{g[0]} {g[2]}" for g in GROWING])
def test_what_comes_later_is_read_when_it_comes(
    name: str, number: int, pattern: str, shorten: Callable[[Path], None], tmp_path: Path
) -> None:
    sample = import_module(f"tests.fixtures.{name.replace('-', '_')}").samples(tmp_path)[number]
    shutil.copytree(tmp_path, later := tmp_path / "later", ignore=shutil.ignore_patterns("later"))
    paths = [path for path in tmp_path.glob(pattern) if later not in path.parents]
    assert paths
    for path in paths:
        shorten(path)
    reading = open_reading(sample.path)
    while not reading.done:
        reading.step()
    before = shown(reading.session), reading.session.usage()
    for path in sorted(paths):
        path.write_bytes((later / path.relative_to(tmp_path)).read_bytes())
    assert _look(reading)
    reading.refresh()
    assert (shown(reading.session), reading.session.usage()) != before
    assert _same(reading.session, whole(providers()[name], sample.path))


@pytest.mark.parametrize("name", ["crush", "goose", "hermes", "zed"])
def test_rows_that_come_later_are_read_when_they_come(name: str, tmp_path: Path) -> None:
    fixtures = import_module(f"tests.fixtures.{name}")
    sample = fixtures.samples(tmp_path)[0]
    later = sample.source.read_bytes()
    with closing(sqlite3.connect(sample.source)) as database:
        if name == "zed":
            short = {**fixtures.lamp(), "messages": fixtures.lamp()["messages"][:2]}
            database.execute(
                "UPDATE threads SET data_type = 'json', data = ? WHERE id = ?", (json.dumps(short), fixtures.LAMP)
            )
        else:
            database.execute("DELETE FROM messages WHERE rowid > 3")
        database.commit()
    reading = open_reading(sample.path)
    while not reading.done:
        reading.step()
    before = shown(reading.session)
    sample.source.write_bytes(later)
    assert _look(reading)
    reading.refresh()
    assert shown(reading.session) != before
    assert _same(reading.session, whole(providers()[name], sample.path))


def _look(reading: Reading) -> list[Change]:
    return reading.reread() if isinstance(reading, WholeReading) else reading.step()


def _same(one: Session, other: Session) -> bool:
    return facts(one) == facts(other) and shown(one) == shown(other)

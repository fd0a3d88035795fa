"""`table.json`: what is known of the agents without importing them."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

from schemas.opening import head_of
from schemas.provider import Environment
from schemas.providers import (
    TABLE_FILE,
    each_provider,
    likely,
    names,
    present,
    printer_of,
    printers,
    provider_of,
    providers,
    table,
)
from schemas.providers.__main__ import made

IDS = sorted(set(providers()) - {"streams"})


def test_the_table_says_what_the_agents_say() -> None:
    assert TABLE_FILE.read_text("utf-8") == made(), "python -m schemas.providers writes it"


@pytest.mark.parametrize("agent", IDS)
def test_an_agent_is_asked_about_its_own_files(agent: str, tmp_path: Path) -> None:
    samples = import_module(f"tests.fixtures.{agent.replace('-', '_')}").samples(tmp_path)
    for sample in samples:
        if sample.path.is_file():
            assert agent in {provider.id for provider in likely(head_of(sample.path))}, sample.path


def test_a_log_is_shown_to_few(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"type":"session_start","id":"a","cwd":"/"}\n' * 2)
    asked = [provider.id for provider in likely(head_of(path))]
    assert asked == ["droid", "omp", "openclaw", "pi", "streams"]


def test_agents_without_a_home_here_are_not_asked(tmp_path: Path) -> None:
    env = Environment({}, tmp_path, sys.platform)
    before = {provider.id for provider in present(env)}
    assert before == {row.id for row in table().values() if row.homes is None}
    (tmp_path / ".vibe/logs/session").mkdir(parents=True)
    (tmp_path / "moved/sessions").mkdir(parents=True)
    moved = Environment({"FACTORY_HOME": str(tmp_path / "moved")}, tmp_path, sys.platform)
    assert {provider.id for provider in present(env)} - before == {"vibe"}
    assert {provider.id for provider in present(moved)} - before == {"vibe", "droid"}


def test_every_way_to_the_agents_leads_to_the_same() -> None:
    assert [provider_of(provider.id) for provider in each_provider()] == list(providers().values())
    assert provider_of("nobody") is None
    assert [row.printer for row in table().values()] == [printer_of(name) for name in names()]
    assert {stream.id for stream in printers()} >= {"claude", "codex", "cursor", "gemini", "qwen", "droid"}

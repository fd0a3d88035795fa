"""session-data.md has what the agents' tables of tools say, and every key that turnlog adds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schemas import documents
from schemas.interchange import session_data_facts as facts
from schemas.providers import _google
from schemas.providers.claude import Claude
from schemas.providers.codex.tools import TYPES as CODEX
from schemas.providers.cursor import tools as cursor
from tests.schemas.session_documents import small, written

PAGE = Path(documents.__file__).with_name("session-data.md").read_text()
TYPES = ("write", "read", "search", "shell", "task", "generic")
AGENTS = {
    "Claude Code": Claude.tools,
    "Codex": CODEX,
    "Gemini CLI, Qwen Code": _google.TYPES,
    "Cursor": cursor.TYPES,
}


def told(agent: str) -> dict[str, str]:
    """The types on the page, by the tool's name."""
    row = next(line for line in PAGE.split("\n") if line.startswith(f"| {agent} | "))
    cells = [cell.split() for cell in row.strip("|").split("|")[1:]]
    return {name: kind for kind, names in zip(TYPES, cells, strict=True) for name in names if name not in ("+", "–")}


@pytest.mark.parametrize("agent", AGENTS)
def test_the_page_has_the_tools_of_each_agent(agent):
    assert told(agent) == AGENTS[agent]


def test_the_page_has_every_fact_of_turnlogs_own():
    tables = (facts.TOOL, facts.PART, facts.EXCHANGE, facts.SESSION, facts.SUBAGENT)
    session = small().session
    session.rounds[0] = "r"
    group = written(session)["exchanges"][0]["metadata"]["turnlog"]["groups"][0]
    keys = {fact.key for table in tables for fact in table} | group.keys()
    assert {"id", "usage", "round"} <= group.keys()
    assert keys <= set(re.findall(r"`(\w+)`", PAGE))

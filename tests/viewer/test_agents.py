from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from schemas.providers import providers
from viewer.commands.agents import as_markdown, command, known

README = Path(__file__).parents[2] / "README.md"


def test_the_table_in_readme_is_what_the_agents_say() -> None:
    """`turnlog agents --markdown` prints it."""
    assert as_markdown(known()) in README.read_text("utf-8")


def test_every_agent_is_listed_with_what_it_keeps() -> None:
    rows = {row["id"]: row for row in json.loads(CliRunner().invoke(command, ["--json"]).output)}
    assert set(rows) == set(providers()) - {"streams"}
    for row in rows.values():
        assert row["formats"] and row["counting"].endswith(".") and "\n" not in row["counting"]


def test_a_row_has_no_cell_more_than_its_head() -> None:
    lines = as_markdown(known()).splitlines()
    assert {line.count("|") for line in lines} == {5}


def test_it_is_printed_for_people() -> None:
    lines = CliRunner().invoke(command).output.splitlines()
    for row in known():
        at = lines.index(f"{row['name']}  {row['id']}")
        assert lines[at + 1 : at + 1 + len(row["formats"])] == [f"  {name}" for name in row["formats"]]

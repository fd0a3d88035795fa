"""`turnlog agents`: which agents' sessions turnlog reads, and what it knows of each."""

from __future__ import annotations

from typing import Any

import click

from schemas.providers import each_provider, printers
from schemas.providers.kit.agent import Agent
from viewer.output import DONE, console, say, write_bytes, write_json


@click.command("agents")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", is_flag=True, help="Print README's table.")
def command(as_json: bool, markdown: bool) -> int:
    """List the agents whose sessions can be read, how each counts tokens, and on which files that was tried."""
    rows = known()
    if as_json:
        write_json(rows)
    elif markdown:
        write_bytes(as_markdown(rows).encode())
    else:
        _print(rows)
    return DONE


def known() -> list[dict[str, Any]]:
    """Each agent: its id, its name, the kinds of files it keeps and prints, how it counts, and what it was tried on."""
    printed = {stream.id: [one.name for one in stream.formats] for stream in printers()}
    found = [
        {
            "id": agent.id,
            "name": agent.name,
            "formats": [*(one.name for one in agent.formats), *printed.get(agent.id, [])],
            "counting": agent.counting,
            "verified": agent.verified or None,
        }
        for agent in each_provider()
        if isinstance(agent, Agent)
    ]
    return sorted(found, key=lambda row: str(row["name"]).lower())


def as_markdown(rows: list[dict[str, Any]]) -> str:
    """The table in README."""
    lines = ["| agent | what is read | tokens | tried on |", "|---|---|---|---|"]
    for row in rows:
        agent = row["name"]  # it need not stand in front of each format
        formats = "; ".join(name.removeprefix(f"{agent} ").removeprefix(f"{agent}, ") for name in row["formats"])
        lines.append(f"| {agent} (`{row['id']}`) | {formats} | {row['counting']} | {_tried(row)} |")
    return "\n".join(lines) + "\n"


def _tried(row: dict[str, Any]) -> str:
    return row["verified"] or "unverified: the format's description and made-up files only"


def _print(rows: list[dict[str, Any]]) -> None:
    screen = console()
    for row in rows:
        say(screen, (row["name"], "bold"), f"  {row['id']}")
        for name in row["formats"]:
            say(screen, f"  {name}")
        say(screen, f"  {row['counting']}")
        say(screen, f"  {_tried(row)}")
        screen.print()

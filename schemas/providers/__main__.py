"""`python -m schemas.providers`: write `table.json`, what is known of the agents without importing them."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from schemas.providers import TABLE_FILE, names, printer_of
from schemas.providers.kit.agent import Agent


def made() -> str:
    """The text of `table.json` as it should be: a line an agent."""
    lines = []
    for name in names():
        module = import_module(f"schemas.providers.{name}")
        agent: Any = module.PROVIDER
        declared = isinstance(agent, Agent) and type(agent).locations is Agent.locations
        marks = [mark.decode() for mark in getattr(agent, "marks", ())]
        called = list(agent.published.names) if isinstance(agent, Agent) else []
        row = [agent.id, marks, list(agent.homes) if declared else None, printer_of(name), called]
        lines.append(f"{json.dumps(name)}: {json.dumps(row)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    TABLE_FILE.write_text(made(), "utf-8")

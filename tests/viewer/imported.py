"""What the commands of turnlog import when they are called, for processes that are forked (`forked.py`)."""

from importlib import import_module

from schemas.interchange.registry import FORMATS, readers
from schemas.providers import providers
from viewer.cli import COMMANDS, DEFAULT

for _name in (
    *(f"viewer.commands.{command}" for command in (*COMMANDS, DEFAULT)),
    *(f"schemas.interchange.{one.check.partition(':')[0]}" for one in FORMATS),
    "genai_prices", "rich.table", "renderers.html", "renderers.markdown", "renderers.names", "renderers.plain",
    "schemas.costs.prices", "schemas.costs.responses", "schemas.interchange.agent_response_write",
    "schemas.interchange.events", "schemas.interchange.session_data_write",
    "schemas.interchange.snapshot_make", "schemas.interchange.toolpath_write", "viewer.sessions.doctor",
    "viewer.exporting", "viewer.index.worker", "viewer.index.library", "viewer.sessions.selection",
    "viewer.sessions.targets", "viewer.usage.events", "viewer.usage.explain", "viewer.usage.report",
):  # fmt: skip
    import_module(_name)
list(readers())
providers()

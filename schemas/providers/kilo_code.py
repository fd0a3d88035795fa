"""Kilo Code, the editor's extension: tasks as Roo Code has them, of which it is a fork (others.md 7.2)."""

from __future__ import annotations

from schemas.provider import Format
from schemas.providers._cline_tasks import in_editors
from schemas.providers.roo import Roo


class KiloCode(Roo):
    """Kilo Code's tasks."""

    id = "kilo-code"
    name = "Kilo Code"
    extension = "kilo-code"
    counting = "Kilo Code keeps the tokens of each request; where none has any, the sum beside the task counts."
    formats = (Format("Kilo Code task, JSON", "a list of messages in a folder of kilocode.kilo-code"),)
    homes = tuple(in_editors("kilocode.kilo-code"))


PROVIDER = KiloCode()

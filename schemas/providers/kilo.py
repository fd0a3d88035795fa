"""Kilo CLI: a fork of OpenCode with the same rows in a database of its own (formats/found-others.md 1.6)."""

from __future__ import annotations

from schemas.provider import Format
from schemas.providers.kit.bases import Home
from schemas.providers.opencode import OpenCode


class Kilo(OpenCode):
    """Told by its tables `kilo_…`; where OpenCode's files would look the same, by the folder `kilo`."""

    id = "kilo"
    name = "Kilo CLI"
    verified = "genuine databases of 7.0.33 and 7.7.9"
    counting = OpenCode.counting.replace("OpenCode", "Kilo")
    formats = (Format("Kilo CLI database", "OpenCode's tables, and tables kilo_…"),)
    homes = (Home("$XDG_DATA_HOME/kilo", "XDG_DATA_HOME"), Home(".local/share/kilo"))
    files = ("kilo*.db",)
    resume = ("kilo", "--session")


PROVIDER = Kilo()

"""The state of the screens from one run to the next: the list as one left it, and of sessions where one was in them.

A JSON file in the user's state directory, which its owner alone can read, written on leaving and when a
transcript has been at rest. What is damaged in it counts as not there.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from schemas.values import dict_of, whole

_KEPT = 300
"""So many sessions, those that were looked at last."""


def state_path() -> Path:
    """The state's file."""
    from platformdirs import user_state_path

    return user_state_path("turnlog", appauthor=False) / "state.json"


class State:
    """The state that is kept; without a path for this run only. Its values are from a file: values.py reads them."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        kept = _read(path)
        self.list: dict[str, Any] = dict_of(kept.get("list"))
        """The list's."""
        self.transcript: dict[str, Any] = dict_of(kept.get("transcript"))
        """What holds for all transcripts."""
        self._sessions: dict[str, dict[str, Any]] = {}
        """Of the sessions that were asked for in this run; the others stay in the file."""
        self._before = dict_of(kept.get("sessions"))

    def of_session(self, path: Path) -> dict[str, Any]:
        """The state of a session, to be read and changed; empty at first, and forgotten if it is empty at the end."""
        name = os.path.abspath(path)
        state = self._sessions.pop(name, None)
        self._sessions[name] = dict_of(self._before.get(name)) if state is None else state
        return self._sessions[name]

    def new_in(self, path: Path, messages: int) -> int:
        """Count the messages that came to a session, which has so many now, since it was read last; 0 where it never
        was.
        """
        name = os.path.abspath(path)
        state = self._sessions.get(name) or dict_of(self._before.get(name))
        seen = whole(dict_of(state.get("seen")).get("count"))
        return 0 if seen is None else max(0, messages - seen)

    def save(self) -> None:
        """Write the file anew. A disk that takes nothing costs the place in the list, and is no reason to complain."""
        if self._path is None:
            return
        # Another turnlog may have left meanwhile.
        sessions = dict_of(_read(self._path).get("sessions"))
        for name, state in self._sessions.items():
            sessions.pop(name, None)
            if state:
                sessions[name] = state
        data = json.dumps(
            {"list": self.list, "transcript": self.transcript, "sessions": dict(list(sessions.items())[-_KEPT:])}
        ).encode()
        beside = self._path.with_name(f"{self._path.name}.{os.urandom(8).hex()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            os.replace(beside, self._path)
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _read(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return dict_of(json.loads(path.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return {}

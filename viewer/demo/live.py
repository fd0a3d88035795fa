"""A session that is being written while one watches: lines, and sometimes half lines, at a human pace."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from time import time
from typing import Any

from viewer.demo import LIVE, SESSIONS, iso, places

LONGEST_PAUSE = 3.5
"""Seconds; the story's own pauses are longer than anybody wants to watch."""


class LiveWriter:
    """Writes the live session below a home directory, in a thread, from `start` to `stop` or its end."""

    def __init__(self, home: Path, *, pace: float = 1.0, clock: Callable[[], float] = time) -> None:
        self.path = home / places()[LIVE]
        self._steps = steps()
        self._pace, self._clock = pace, clock
        self._stopped = Event()
        self._thread = Thread(target=self._write, name="demo writer", daemon=True)

    def start(self) -> None:
        """Begin: the prompt is there when this returns, so that the file is a session."""
        self.tell(1 + next(i for i, (_, record) in enumerate(self._steps) if "message" in record))
        self._thread.start()

    def tell(self, records: int) -> None:
        """Write the next records at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        for _, record in self._steps[:records]:
            self._append(self._line(record))
        del self._steps[:records]

    def stop(self) -> None:
        """Stop writing, at once."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def join(self) -> None:
        """Wait until the story is told."""
        self._thread.join()

    def _write(self) -> None:
        for pause, record in self._steps:
            if self._stopped.wait(pause * self._pace):
                return
            line = self._line(record)
            # Agents write long lines in pieces; a reader must wait for the newline.
            half = len(line) // 2 if len(line) > 600 else 0
            if half:
                self._append(line[:half])
                self._stopped.wait(0.15 * self._pace)
            self._append(line[half:])

    def _line(self, record: dict[str, Any]) -> bytes:
        """A record as its agent would write it now."""
        if "timestamp" in record:
            record = record | {"timestamp": iso(datetime.fromtimestamp(self._clock(), UTC))}
        return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def _append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)


def steps() -> list[tuple[float, dict[str, Any]]]:
    """The recorded lines, each with the pause before it, in seconds."""
    found = []
    last = None
    for line in (SESSIONS / LIVE).read_bytes().splitlines():
        record = json.loads(line)
        moment = datetime.fromisoformat(record["timestamp"]) if "timestamp" in record else last
        pause = (moment - last).total_seconds() if moment and last else 0.0
        found.append((min(max(pause, 0.0), LONGEST_PAUSE), record))
        last = moment
    return found

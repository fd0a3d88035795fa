"""A session that is being written while one watches: lines, and sometimes half lines, at a human pace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from time import time
from typing import Any

from viewer.demo.claude import ClaudeSession, Say, Think
from viewer.demo.files import Files
from viewer.demo.ids import iso
from viewer.demo.make import claude_path, line_of

_MONTH = '''"""The month view: one line a day."""

from __future__ import annotations

from datetime import date, timedelta

from tidewatch.almanac import tides_on
from tidewatch.harbours import Harbour


def month(harbour: Harbour, first: date) -> list[str]:
    """The lines of the month that begins with `first`."""
    lines = []
    day = first
    while day.month == first.month:
        highs = [f"{tide.at:%H:%M} {tide.height:4.1f}" for tide in tides_on(harbour, day) if tide.high]
        lines.append(f"{day:%a %d}  " + "  ".join(highs))
        day += timedelta(days=1)
    return lines
'''
_MOON = '''"""The phase of the moon, well enough for a tide table."""

from __future__ import annotations

from datetime import date

SYNODIC = 29.530588
"""Days from one new moon to the next, on average."""
NEW = date(2000, 1, 6)
"""A new moon."""
SIGNS = "●◐○◑"


def phase(day: date) -> float:
    """From 0, new, over 0.5, full, to just below 1."""
    return (day - NEW).days / SYNODIC % 1


def sign(day: date) -> str:
    """The phase as a picture."""
    return SIGNS[round(phase(day) * 4) % 4]
'''
_FAILED = """.........................................F                               [100%]
=================================== FAILURES ===================================
____________________________ test_full_moon_in_july ____________________________

    def test_full_moon_in_july():
>       assert sign(date(2026, 7, 29)) == "○"
E       AssertionError: assert '◐' == '○'

tests/test_moon.py:7: AssertionError
1 failed, 41 passed in 2.02s"""
LONGEST_PAUSE = 3.5
"""Seconds; the story's own pauses are longer than anybody wants to watch."""


def live_session(start: float) -> ClaudeSession:
    """The story: the moon comes into the month view."""
    files = Files("/home/dev/src/tidewatch", {"tidewatch/month.py": _MONTH})
    session = ClaudeSession("live", start, files, branch="moon")
    session.begin("Show the moon in the month view")
    session.prompt("show the phase of the moon in the month view, the fishermen keep asking", 0.5)
    session.reply(
        Think("Spring tides follow full and new moon, so this belongs beside the heights. A mean lunation is enough."),
        Say("I'll read the month view, then add the moon as its own small module."),
        session.read("tidewatch/month.py"),
        after=2,
    )
    session.reply(
        session.todos(
            ("Add a module for the moon", "Adding a module for the moon", "in_progress"),
            ("Show it in the month view", "Showing it in the month view", "pending"),
            ("Test a known full moon", "Testing a known full moon", "pending"),
        ),
        session.create("tidewatch/moon.py", _MOON),
        after=3,
    )
    session.reply(
        session.edit(
            "tidewatch/month.py",
            '        lines.append(f"{day:%a %d}  " + "  ".join(highs))\n',
            '        lines.append(f"{day:%a %d} {sign(day)}  " + "  ".join(highs))\n',
        ),
        session.edit(
            "tidewatch/month.py",
            "from tidewatch.harbours import Harbour\n",
            "from tidewatch.harbours import Harbour\nfrom tidewatch.moon import sign\n",
        ),
        after=3,
    )
    session.reply(
        Say("Now a day on which the moon is known to be full: 29 July 2026."),
        session.bash("pytest -q tests", _FAILED, 3.0, about="Run the tests", exit_code=1),
        after=2,
    )
    session.reply(
        Think(
            "Off by less than a day. The reference moon was new at 18:14 UTC on 6 January 2000; I count from midnight "
            "and compare with noon at best."
        ),
        Say(
            "The count starts at midnight, but that new moon was at **18:14 UTC**. Three quarters of a day "
            "matter at the edge of a phase: a "
            "sign lasts a week."
        ),
        session.edit(
            "tidewatch/moon.py",
            "    return (day - NEW).days / SYNODIC % 1\n",
            "    # Noon of the day, and the new moon at 18:14 UTC.\n    return ((day - NEW).days + 0.5 - 0.76) / "
            "SYNODIC % 1\n",
        ),
        session.edit(
            "tidewatch/moon.py",
            "    return SIGNS[round(phase(day) * 4) % 4]\n",
            "    return SIGNS[int(phase(day) * 4 + 0.5) % 4]\n",
        ),
        after=3,
    )
    session.reply(
        session.bash(
            "pytest -q tests",
            "..........................................                               [100%]\n42 passed in 1.98s",
            2.6,
            about="Run the tests",
        ),
        after=2,
    )
    session.reply(
        Say(
            "The month view shows the moon:\n\n"
            "```\nTue 21 ◐  06:12  8.3  18:49  8.6\nWed 29 ○  01:05 10.4  13:26 10.6\n"
            "Thu 30 ○  01:46 10.8  14:06 10.9\n```\n\n"
            "It counts mean lunations from a known new moon, which is right to about half a day, enough to see why the "
            "spring tides come when they come. **42 tests** pass."
        ),
        after=3,
    )
    session.end_turn()
    session.prompt("lovely. is that the northern or the southern moon?", 6)
    session.reply(
        Say(
            "The northern one: the signs show a waxing moon that is light on its right. Our southernmost harbour is in "
            "Brittany, so "
            "that is right for everyone for now."
        ),
        after=3,
    )
    session.end_turn()
    return session


class LiveWriter:
    """Writes the live session below a home directory, in a thread, from `start` to `stop` or its end."""

    def __init__(self, home: Path, *, pace: float = 1.0, clock: Callable[[], float] = time) -> None:
        session = live_session(0.0)
        self.path = claude_path(home, session)
        self._steps = _steps(session.records)
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
            self._append(line_of(self._now(record)))
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
            line = line_of(self._now(record))
            # Agents write long lines in pieces; a reader must wait for the newline.
            half = len(line) // 2 if len(line) > 600 else 0
            if half:
                self._append(line[:half])
                self._stopped.wait(0.15 * self._pace)
            self._append(line[half:])

    def _now(self, record: dict[str, Any]) -> dict[str, Any]:
        return record | {"timestamp": iso(self._clock())} if "timestamp" in record else record

    def _append(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)


def _steps(records: list[dict[str, Any]]) -> list[tuple[float, dict[str, Any]]]:
    """Each record with the pause before it, in seconds."""
    steps = []
    last = 0.0
    for record in records:
        moment = datetime.fromisoformat(record["timestamp"]).timestamp() if "timestamp" in record else last
        steps.append((min(max(moment - last, 0.0), LONGEST_PAUSE), record))
        last = moment
    return steps

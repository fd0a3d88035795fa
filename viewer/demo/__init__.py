"""The bundled example sessions: recorded files, laid out in a temporary home while they are wanted."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.provider import Environment
from viewer.cleanup import removed_after

if TYPE_CHECKING:
    from viewer.index.library import Library

DIRECTORY = Path("/home/dev/src/tidewatch")
"""The directory that the demo pretends to be started in."""
SESSIONS = Path(__file__).parent / "sessions"
"""The recorded files. `places.json` maps each to its place below a home, in which `%Y`, `%m` … (as of strftime) are of
the session's beginning.
"""
MAIN = "tidewatch.jsonl"
LIVE = "live.jsonl"
"""Written line by line while somebody watches (viewer/demo/live.py), so it isn't there from the start."""
_RECORDED = 1_780_000_000.0
"""The moment at which the files were recorded; the newest session ended minutes before it."""
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_SECONDS = re.compile(r'(?<=_at":)\d{10}\b')
_UUID7_TIME = re.compile(r"\b([0-9a-f]{8})-([0-9a-f]{4})(?=-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b)")


@contextmanager
def demo_home(now: float | None = None) -> Iterator[Environment]:
    """A machine on which there are the demo's sessions and nothing else; the newest ended minutes before `now`."""
    home = Path(tempfile.mkdtemp(prefix="turnlog-demo-"))
    with removed_after(partial(shutil.rmtree, home, ignore_errors=True)):
        unpack(home, time.time() if now is None else now)
        yield Environment({}, home, sys.platform)


def demo_library(env: Environment) -> Library:
    """A library of the demo's sessions, whose index lies beside them and goes with them."""
    from viewer.index.library import Library

    return Library(env, env.home / "index.sqlite")


def demo_session(env: Environment) -> Path:
    """The demo's main session: Claude Code, with two subagents, a compaction and a failing test that gets fixed."""
    return env.home / places()[MAIN]


def places() -> dict[str, str]:
    """The place below a home of each recorded file."""
    found: dict[str, str] = json.loads((SESSIONS / "places.json").read_text("utf-8"))
    return found


def unpack(home: Path, now: float) -> None:
    """Lay the recorded sessions out below `home` as their agents would, the newest ended minutes before `now`."""
    seconds = round(now - _RECORDED)
    began = ended = now
    for name, place in places().items():
        if name == LIVE:
            continue
        text = moved((SESSIONS / name).read_text("utf-8"), seconds)
        # A file without times belongs to the session before it, and is as old as that.
        if stamps := _STAMP.findall(text):
            began, ended = (datetime.fromisoformat(stamp).timestamp() for stamp in (min(stamps), max(stamps)))
        path = home / datetime.fromtimestamp(began).strftime(moved(place, seconds))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        os.utime(path, (ended, ended))
    for folder in filter(Path.is_dir, home.rglob("*")):
        newest = max(path.stat().st_mtime for path in folder.rglob("*") if path.is_file())
        os.utime(folder, (newest, newest))


def moved(text: str, seconds: int) -> str:
    """A recorded text with its times later by `seconds`: stamps, counts of seconds, UUIDs that begin with a time."""

    def stamp(match: re.Match[str]) -> str:
        return iso(datetime.fromisoformat(match[0]) + timedelta(seconds=seconds))

    def uuid7_time(match: re.Match[str]) -> str:
        milliseconds = f"{int(match[1] + match[2], 16) + seconds * 1000:012x}"
        return f"{milliseconds[:8]}-{milliseconds[8:]}"

    text = _STAMP.sub(stamp, text)
    text = _SECONDS.sub(lambda match: str(int(match[0]) + seconds), text)
    return _UUID7_TIME.sub(uuid7_time, text)


def iso(moment: datetime) -> str:
    """A time as agents write it: UTC with milliseconds and a Z."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

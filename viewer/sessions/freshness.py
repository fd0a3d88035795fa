"""The freshness of sessions: whether one is being written, and whether what lies beside it changed.

Apart from viewer/index/summary.py, since `list --json` needs no more, and summaries bring the whole model of a session.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import NamedTuple

from schemas.paths import source_of

LIVE_SECONDS = 60
"""A session written within so many seconds counts as being written."""
RECENT_SECONDS = 600
"""A session whose newest record is older than that was copied or restored when its file was written. Not all that an
agent writes has a time, and what has one may be written late, hence the minutes. Nor is one being written that is
said to be from tomorrow.
"""


def is_live(touched: float | None, newest: float | None, now: float | None = None) -> bool:
    """Tell whether a session counts as being written: it, or what lies beside it, was written (`touched`) a moment ago,
    and its newest record says so too. Seconds since 1970; None where nobody knows: what tells no time may be a copy.
    """
    if touched is None or newest is None:
        return False
    now = time.time() if now is None else now
    return now - touched < LIVE_SECONDS and abs(now - newest) < RECENT_SECONDS


class Side(NamedTuple):
    """The state of a file or folder beside a session when it was read; size -1 says it was not there."""

    path: str
    size: int
    mtime_ns: int


def file_state(path: str | Path) -> Side:
    """The state of a file or folder now."""
    try:
        stat = os.stat(source_of(Path(path))[0])
    except OSError:
        return Side(str(path), -1, 0)
    # A folder's size says nothing, and differs between file systems.
    return Side(str(path), 0 if os.path.isdir(path) else stat.st_size, stat.st_mtime_ns)


def sides_changed(data: str) -> bool:
    """Tell whether a file or folder beside a session is not as `index_file` noted it."""
    if data == "[]":
        return False
    return any(file_state(path) != (path, size, mtime_ns) for path, size, mtime_ns, *_ in json.loads(data))


def newest_side(data: str) -> int:
    """Return when a file or folder beside a session, as `index_file` noted them, was written last; 0 for none."""
    return max((file_state(path).mtime_ns for path, *_ in json.loads(data)), default=0)

"""OpenClaw: Pi's entries, as files until 2026.5 and in a database since (formats/found-others.md 3.2, 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.folders import matching
from schemas.provider import Format, Head, Location, Problem, Reading, SessionFile
from schemas.providers.kit.bases import Data, Database, Home, Lines
from schemas.providers.kit.words import Item, Skip
from schemas.providers.pi import Pi, is_embedded
from schemas.records import read_record
from schemas.values import text_of

if TYPE_CHECKING:
    import sqlite3

_LARGEST_EVENT = 4 << 20
"""Bytes of an event that is kept compressed: the database's own bound."""
_REPEATS = (".trajectory", ".checkpoint.")
"""In the names of files that tell a session again."""


class OpenClaw(Pi, Database):
    """A session is a file of Pi's entries, or rows of an agent's database; what repeats one is left out."""

    id = "openclaw"
    name = "OpenClaw"
    verified = "genuine databases of 2026.9.6; files on made-up ones"
    counting = Pi.counting.replace("Pi", "OpenClaw", 1)
    formats = (
        Format("OpenClaw sessions, SQLite", "a table transcript_events with event_json"),
        Format("OpenClaw session before 2026.6, JSON lines", "Pi's records with OpenClaw's own, or in its folders"),
    )
    homes = (
        Home("$OPENCLAW_STATE_DIR/agents", "OPENCLAW_STATE_DIR"),
        Home(".openclaw/agents"),
        Home(".clawdbot/agents", "its name until January 2026"),
        Home(".moltbot/agents", "its name until January 2026"),
    )
    files = ("*/agent/openclaw-agent.sqlite",)
    has_files = True
    logs = "*/sessions/*.jsonl"
    marks = (b"SQLite format 3", b'"cwd"')
    resume = ()

    def detect(self, head: Head) -> bool:
        """Return whether a file is a database with transcripts, or Pi's form with the marks of this agent."""
        return "event_json" in head.tables.get("transcript_events", ()) or super().detect(head)

    def is_mine(self, head: Head) -> bool:
        """Return whether the entries name the agent, or the file lies in its folders."""
        marked = any(text_of(record.get("customType")).startswith("openclaw.") for record in head.records[:50])
        return marked or is_embedded(head)

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions of all agents' databases, and of their files."""
        yield from Database.find(self, location, problems)
        for file, stat in matching(location.path, self.logs, problems):
            if not any(word in Path(file).name for word in _REPEATS):
                yield SessionFile(self.id, file, Path(file).stem, stat.st_size, stat.st_mtime_ns)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a file, or the newest session of a database."""
        return self.open_key(path, self.held(path)[0].key)

    def open_key(self, path: Path, key: str) -> Reading:
        """Begin to read a session of a database, or the one in a file."""
        return Database.open_key(self, path, key) if key else Lines.open(self, path)

    def sessions(self, database: sqlite3.Connection) -> Iterable[tuple[str, float]]:
        """The sessions with events, and when the last one of each was written."""
        rows = database.execute("SELECT session_id, max(created_at) FROM transcript_events GROUP BY session_id")
        return [(text_of(name), time / 1000) for name, time in rows if isinstance(time, int | float)]

    def rows(self, database: sqlite3.Connection, session: str) -> Iterable[Data]:
        """The events of a session, in their order."""
        found = database.execute(
            "SELECT event_json, event_zstd FROM transcript_events WHERE session_id = ? ORDER BY seq", (session,)
        )
        return [read_record(_event(plain, packed)) for plain, packed in found]

    def read(self, record: Data) -> Iterator[Item]:
        """Read the items of a record; one that could not be unpacked holds nothing."""
        return super().read(record) if record else iter([Skip("event that could not be read")])


def _event(plain: object, packed: object) -> bytes:
    """An event's JSON, which a long one is compressed to."""
    if isinstance(plain, str):
        return plain.encode("utf-8", "surrogatepass")
    if not isinstance(packed, bytes):
        return b""
    import zstandard

    try:
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=_LARGEST_EVENT)
    except zstandard.ZstdError:
        return b""  # it is counted as an event that could not be read


PROVIDER = OpenClaw()

"""The interface of an agent's provider. One file (or folder) in schemas/providers is one agent; no list names them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from schemas.records import MAX_LINE, JsonLines, Record, breaks_off, read_document, read_record

if TYPE_CHECKING:
    from schemas.session import Change, Session


class Environment(NamedTuple):
    """The variables, home and system that decide where sessions live: passed in, so that tests and doctor can ask for
    any machine.
    """

    variables: Mapping[str, str]
    home: Path
    platform: str
    """As `sys.platform` says it: linux, darwin, win32."""


class Location(NamedTuple):
    """A folder in which a provider looks for sessions, and why there: a variable's name or "default"."""

    path: Path
    reason: str


class SessionFile(NamedTuple):
    """A session that discovery found: what can be told without reading it.

    A list of 10,000 is made whenever sessions are listed, so it is a tuple with the path as text: ten thousand `Path`
    objects take a quarter of the time of `turnlog list`.
    """

    provider: str
    file: str
    """Its address (schemas/paths.py)."""
    id: str
    size: int
    mtime_ns: int
    key: str = ""
    """Which session of its source it is, where that holds many."""

    @property
    def path(self) -> Path:
        """The place of the file."""
        return Path(self.file)


class Problem(NamedTuple):
    """A place that could not be looked into, and why."""

    path: Path
    reason: str


class Format(NamedTuple):
    """A kind of file that a provider reads: what `turnlog doctor --formats` says of it."""

    name: str
    """`Gemini CLI session, JSON lines`."""
    told_by: str
    """By what it is recognised, whatever its name: `a record with sessionId and projectHash`."""


class Home(NamedTuple):
    """A folder of sessions: below the home directory, or below that which a variable names (`$PI_DIR/sessions`)."""

    place: str
    reason: str = "default"
    platforms: tuple[str, ...] = ()
    """Systems on which it is asked, as `sys.platform` calls them; all if empty."""


def places_of(homes: Iterable[Home], env: Environment) -> list[Location]:
    """Return the folders of sessions on such a machine, existing or not."""
    found = []
    for home in homes:
        root, _, rest = home.place.partition("/")
        base = env.variables.get(root[1:], "") if root.startswith("$") else str(env.home / root)
        if base and (not home.platforms or env.platform in home.platforms):
            path = Path(f"{env.home}{base[1:]}" if base.startswith("~/") else base)
            found.append(Location(path / rest if rest else path, home.reason))
    return found


class Retention(NamedTuple):
    """An agent's rule for deleting its own sessions."""

    text: str
    """In a few words: `deletes sessions after 30 days`."""
    source: str
    """The setting and its file, or "default"."""


class Head(NamedTuple):
    """The beginning of a file, by which it is recognised. Its name is no evidence."""

    path: Path
    data: bytes
    """Its first 64 KB, and the whole of its first two lines (decompressed, if it is a zstd file)."""
    records: list[dict[str, Any]]
    """The records in them, if it is JSON lines."""
    document: Any
    """The whole value, an object or a list, if the file is one JSON document; else None."""
    compressed: bool = False
    tables: Mapping[str, frozenset[str]] = {}
    """The tables of a SQLite database, with the names of their columns."""
    rows: Mapping[str, Mapping[str, Any]] = {}
    """The first row of each table that has one, its values by their columns, none over 64 KB."""

    @property
    def first(self) -> list[dict[str, Any]]:
        """The first records, among which a header stands: a line may be doubled, or come before it."""
        return self.records[:_FIRST]


_FIRST = 10
HEAD_BYTES = 64 << 10
NOISE_BYTES = 1 << 20
"""How much text may stand before the first record of a stream (formats/streams.md 1.2)."""
_BLANK = b"\xef\xbb\xbf \t\r\n"


class Parser(Protocol):
    """Turns records into a session, any number at a time. Feeding them in pieces gives the same session as at once."""

    session: Session

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more records, in the file's order; returns what changed."""
        ...

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file: subagents, titles in an index. Cheap when nothing changed."""
        ...


class Reading(Protocol):
    """A session being read from its source, a slice at a time. Opening and following are the same code."""

    done: bool
    """Whether everything that is there now has been read."""

    @property
    def session(self) -> Session:
        """The session as far as it was read; a new object after a rewrite (see `schemas.session.Change`)."""
        ...

    @property
    def sources(self) -> list[Path]:
        """The files whose change means that there is something to read."""
        ...

    def step(self, limit: int = 1 << 20) -> list[Change]:
        """Read about `limit` more bytes."""
        ...

    def finish(self) -> list[Change]:
        """No more will come: take what waits for its newline, and report what stays unfinished."""
        ...

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the source."""
        ...

    @property
    def progress(self) -> tuple[int, int]:
        """Bytes read, and bytes there are."""
        ...


class Provider(Protocol):
    """One agent, or one published format. What is answered here holds for files that no agent keeps: they lie where
    somebody saved them.
    """

    id: str
    """SessionData's id: claude, codex, …"""
    name: str
    """What the agent is called: Claude Code."""
    formats: tuple[Format, ...]
    """The kinds of files it reads."""
    counting: str
    """The agent's way to count tokens and the reading of it, in a sentence or two for whoever asks where a figure is
    from.
    """
    uncounted: Mapping[str, str] = {}
    """Why figures in records of a type count nowhere, by the type."""
    cache_miss: tuple[str, ...] = ()
    """The keys under which a record of a response says why the prompt cache was missed; empty where none does."""
    verified: str = ""
    """The genuine files that it was tried on; empty where there were none."""

    def locations(self, env: Environment) -> list[Location]:
        """Return the places of its sessions on such a machine, existing or not."""
        return []

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions in a location, subagents apart, in no order. What cannot be read is added to `problems`."""
        return iter(())

    def detect(self, head: Head) -> bool:
        """Return whether a file with this beginning is a session of this agent."""
        ...

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session. `start` skips to the first record behind that offset, to show a big file's end."""
        ...

    def resume_command(self, session: Session) -> list[str] | None:
        """The arguments that let the agent go on with a session; None where its id is not one the agent could have."""
        return None

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """The variable and its value with which the agent's command finds the session in a file; None where it looks
        there by itself, or the file lies in no home of the agent.
        """
        return None

    def retention(self, env: Environment) -> Retention | None:
        """Return what the agent itself deletes, by its settings or by default; None where it keeps everything."""
        return None


@runtime_checkable
class Keyed(Protocol):
    """A provider whose sources hold many sessions each, told apart by a key: a database."""

    def held(self, path: Path) -> list[SessionFile]:
        """The sessions in a source, subagents apart, the newest first. Raises OSError."""
        ...

    def open_key(self, path: Path, key: str) -> Reading:
        """Begin to read one of them, a subagent's too. Raises OSError where there is no such session."""
        ...


@runtime_checkable
class Foreworded(Protocol):
    """A provider whose sessions may begin with records that do not tell whose they are."""

    def is_foreword(self, records: list[dict[str, Any]]) -> bool:
        """Return whether records are such, so that a session's first one may come yet."""
        ...


@dataclass(eq=False)
class SavedFormat(Provider):
    """The provider of a published format, declared where it is read."""

    id: str
    name: str
    counting: str
    formats: tuple[Format, ...]
    told: Callable[[Head], bool]
    read: Callable[[Path], Reading]

    def detect(self, head: Head) -> bool:
        """Return whether a file with this beginning is of the format."""
        return self.told(head)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a file, whatever `start` says: what stands behind it is not understood by itself."""
        return self.read(path)


def beginning(read: Callable[[int, int], bytes], most: int = MAX_LINE) -> tuple[bytes, bool]:
    """The bytes that tell what a file is, and whether they are all of it: its first 64 KB, and on to the end of its
    second line, since a first record may be megabytes long. `read` gives bytes by offset and length.
    """
    data = bytearray(read(0, HEAD_BYTES))
    if len(data) < HEAD_BYTES:
        return bytes(data), True
    start = data.lstrip(_BLANK)
    lines, most = start.count(b"\n"), most if start.startswith((b"{", b"[")) else NOISE_BYTES
    while lines < 2 and len(data) < most:
        if not (more := read(len(data), 1 << 20)):
            return bytes(data), True
        data += more
        lines += more.count(b"\n")
    return bytes(data), False


def moved_home(variable: str, home: Path | None, usual: Iterable[Path]) -> tuple[str, str] | None:
    """Answer for `Provider.resume_home`: nothing for one of the `usual` homes, which need no variable."""
    if home is None or os.path.realpath(home) in map(os.path.realpath, usual):
        return None
    return variable, os.path.abspath(home)


def read_head(path: Path, data: bytes, *, whole: bool, compressed: bool = False) -> Head:
    """A file's beginning as detectors want it; `whole` says that `data` is all of it."""
    first, _, rest = data.lstrip().partition(b"\n")
    record = read_record(first) if whole else None
    if record and not rest.strip():  # a document of 100 MB on one line is parsed once, not three times
        return Head(path, data, [record], record, compressed)
    if not (record if whole else first.rstrip().endswith(b"}")):
        document = read_document(data)
        if document is not None or breaks_off(data):
            # Not looked at as lines: a document, whole or its beginning, may hold what looks like records.
            return Head(path, data, [], document, compressed)
    records = [record[3] for record in JsonLines().push(data if data.endswith(b"\n") else data + b"\n" * whole)]
    return Head(path, data, records, read_document(data) if len(records) < 2 else None, compressed)

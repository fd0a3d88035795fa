"""Reading a store, and reading it again while Cursor writes it (formats notes 3.2, 3.5 and 3.6)."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Any, NamedTuple

from schemas.changes import digest
from schemas.clean import one_line
from schemas.message import Flag, Kind
from schemas.providers.cursor import locate, workspace
from schemas.providers.cursor.align import align
from schemas.providers.cursor.children import Children
from schemas.providers.cursor.entries import Entry, Sketch, entry, gap, made, note, sketch
from schemas.providers.cursor.fill import Filler
from schemas.providers.cursor.gaps import tell_gaps
from schemas.providers.cursor.merge import from_transcript, merge
from schemas.providers.cursor.meta import read_meta_row
from schemas.providers.cursor.state import Blobs, Item, State, read_state
from schemas.providers.cursor.turns import Turn
from schemas.reading import WholeReading
from schemas.records import MemoryStore, read_record
from schemas.session import Lack, Session
from schemas.sqlite import log_of, read_database

_RACY = 100_000_000
"""Nanoseconds. A file written so short a time ago may be written again without its time telling."""
_UNTITLED = frozenset({"", "new agent", "untitled", "new chat"})
_Stamp = tuple[int, int, int]


class _Read(NamedTuple):
    """What one look at the database gave; no state where the meta row is still the same."""

    meta: bytes
    state: State | None
    blobs: dict[str, bytes]
    turns: dict[str, Turn]
    complete: bool


class StoreReading(WholeReading):
    """A `store.db`, its write-ahead log, the `meta.json` beside it, and the transcript that fills its gaps."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _empty(path))
        self._root = locate.root_of(path)
        self._sketches: dict[str, Sketch] = {}
        self._transcripts: list[Path] = []
        self._stamps: list[_Stamp | None] = []
        self._looked = 0
        self._read = _Read(b"", None, {}, {}, False)

    @property
    def sources(self) -> list[Path]:
        """The files whose change means that there is something to read."""
        return [self.path, log_of(self.path), self.path.with_name("meta.json"), *self._transcripts[:1]]

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        """Read the store, if it was written since. Costs a few `stat` calls where it was not. Raises OSError."""
        looked, stamps = time.time_ns(), [_stamp(path) for path in self.sources]
        if known and stamps == self._stamps and not self._is_racy(stamps):
            return None
        meta = locate.read_meta(self.path)
        self._transcripts = locate.transcripts_of(self._root, _empty(self.path).id)
        read = read_database(self.path, self._look)
        transcript = self._transcripts[0] if self._transcripts else None
        told = transcript.read_bytes() if transcript else b""  # gone since: an error, and the next look finds none
        mark = digest(b"\0".join([read.meta, repr(sorted(meta.items(), key=str)).encode("utf-8", "replace"), told]))
        self._stamps, self._looked = stamps, looked
        size = sum(stamp[0] for stamp in stamps[:2] if stamp)
        if mark == known and read.state is None:
            return None
        state = read.state or self._read.state
        if state is None:
            raise OSError("not a store of Cursor's")
        if read.state is not None:
            self._read = read
        return mark, size, self._session(state, meta, transcript)

    def _is_racy(self, stamps: list[_Stamp | None]) -> bool:
        """Whether a file was written so shortly before it was looked at that its time cannot be trusted."""
        return any(abs(self._looked - stamp[1]) < _RACY for stamp in stamps if stamp)

    def _look(self, database: sqlite3.Connection) -> _Read:
        raw = read_meta_row(database)
        if raw == self._read.meta and self._read.complete:
            return _Read(raw, None, {}, {}, True)
        blobs = Blobs(database, self._read.blobs, self._read.turns)
        state = read_state(raw, blobs)
        # What is missing may come, and where nothing says which messages there are, the row does not tell of new ones.
        return _Read(raw, state, blobs.used, blobs.turns, not blobs.missing and not state.wrong)

    # -- from the state to a session -------------------------------------------------------------------------------

    def _session(self, state: State, meta: dict[str, Any], transcript: Path | None) -> Session:
        session, store = _empty(self.path), MemoryStore(self.path)
        session.stores.append(store)
        entries = align(self._entries(state), state.turns)
        session.workspace_root = self._workspace(state, meta, transcript)
        if transcript is not None:
            from schemas.providers.cursor.transcript import transcript_records

            entries = merge(entries, from_transcript(transcript_records(transcript), session.id))
        entries = tell_gaps(entries)
        if state.wrong:
            entries.insert(0, note(f"{session.id}:wrong", state.wrong, []))
        model = state.meta.get("lastUsedModel")
        Filler(session, store, model if isinstance(model, str) else "").fill(entries)
        _tell(session, state, meta)
        if transcript is not None:
            _find_subagents(session, transcript)
            if others := self._transcripts[1:]:
                session.metadata["otherTranscripts"] = [one_line(str(path), 4096) for path in others]
        session.title = _title(session, state, meta)
        return session

    def _entries(self, state: State) -> list[Entry]:
        """The messages in order, those first that a summary took the place of."""
        now = {item.id for item in state.items}
        entries: list[Entry] = []
        sketches: dict[str, Sketch] = {}
        for archive in state.archives:
            older = [item for item in archive.items if item.id not in now]
            entries += [self._entry(item, sketches) for item in older]
            now.update(item.id for item in older)
            if archive.summary and older:
                told = {"role": "user", "content": archive.summary, "providerOptions": {"cursor": {"isSummary": True}}}
                entries.append(made(f"{older[-1].id}:summary", told))
        entries += [self._entry(item, sketches) for item in state.items]
        self._sketches = sketches
        return entries

    def _entry(self, item: Item, sketches: dict[str, Sketch]) -> Entry:
        if item.raw is None:
            return gap(item.id)
        kept = self._sketches.get(item.id) or sketches.get(item.id)
        if kept is None:
            kept = sketch(read_record(item.raw), item.raw)
        sketches[item.id] = kept
        return entry(item.id, item.raw, kept)

    def _workspace(self, state: State, meta: dict[str, Any], transcript: Path | None) -> str | None:
        """The directory, by what knows it best (note 3.1)."""
        if isinstance(cwd := meta.get("cwd"), str) and cwd:
            return one_line(cwd, 4096)
        found = next((path for uri in reversed(state.workspaces) if (path := workspace.from_uri(uri))), None)
        found = found or next((kept.workspace for kept in self._sketches.values() if kept.workspace), None)
        slug = locate.slug_at(transcript) if transcript else None
        resolved = workspace.resolve_slug(slug) if slug else ""
        if found is None and self._root is not None:
            name = Path(os.path.abspath(self.path)).parents[1].name
            found = workspace.by_hash(name, [*locate.known_folders(self.path), resolved, _here()])
        return one_line(found or resolved, 4096) or None


def _empty(path: Path) -> Session:
    session = Session(locate.PROVIDER_ID, locate.PROVIDER_NAME, path, locate.store_id(path))
    session.lacks = frozenset({Lack.TOKENS, Lack.TIMES})
    return session


def _here() -> str:
    """Where turnlog runs, mostly the project whose sessions are looked at."""
    try:
        return os.getcwd()
    except OSError:
        return ""  # a directory that is gone


def _stamp(path: Path) -> _Stamp | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


def _tell(session: Session, state: State, meta: dict[str, Any]) -> None:
    """What the store says of itself: times, context, mode."""
    rows = session.messages
    if any(rows.when(i) is not None for i in range(len(rows))):
        session.lacks -= {Lack.TIMES}
    created = _when(state.meta.get("createdAt")) or _when(meta.get("createdAtMs")) or state.started
    session.created = created or session.created
    updated = _when(meta.get("updatedAtMs"))
    session.updated = max((t for t in (updated, session.updated) if t is not None), default=None)
    session.context_used, session.context_window = state.used, state.window
    if isinstance(mode := state.meta.get("mode"), str) and mode:
        session.metadata["mode"] = one_line(mode, 60)


def _find_subagents(session: Session, transcript: Path) -> None:
    """The transcripts of subagents, linked to the tool uses that started them."""
    rows = session.messages
    started = [i for i in range(len(rows)) if rows.has(i, Flag.SUBAGENT)]
    asked = {i: tool.input for i in started if (tool := session.message(i).tool) is not None}
    Children(session, asked, transcript).look()


def _when(value: object) -> float | None:
    """Milliseconds since 1970, which some versions write as text, as seconds."""
    try:
        number = int(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else 0
    except (ValueError, OverflowError):
        return None
    return number / 1000 if 10**12 <= number < 10**14 else None


def _title(session: Session, state: State, meta: dict[str, Any]) -> str:
    """The title that was given, by the file beside the store, the store, or Cursor's statistics; else the prompt."""
    for title in (meta.get("title"), state.meta.get("name")):
        if isinstance(title, str) and (line := one_line(title)).lower() not in _UNTITLED:
            return line
    told = one_line(locate.title_of(session.path, session.id))
    if told.lower() not in _UNTITLED:
        return told
    return next((one_line(e.prompt) for e in session.exchanges if e.opener is Kind.PROMPT and e.prompt), "")

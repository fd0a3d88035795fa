"""Where rollouts lie, and what the first record of one says about it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from schemas.folders import entries_of, reason_of
from schemas.provider import HEAD_BYTES, Head, Location, Problem, SessionFile, beginning, read_head
from schemas.providers.codex.header import (
    UUID,
    agent_name,
    is_internal,
    is_old_header,
    is_subagent,
    is_typescript,
    parent_of,
    uuid_time,
)
from schemas.providers.codex.zst import ZSTD_MAGIC, decompressed_start, unpacks
from schemas.records import read_record
from schemas.troubles import guarded
from schemas.values import dict_of, text_of

ROOTS = ("sessions", "archived_sessions")
_SUFFIXES = (".jsonl", ".jsonl.zst", ".json")
_ENVELOPES = frozenset(
    {
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "token_usage_record",
        "world_state",
        "inter_agent_communication",
    }
)
_DAY = re.compile(r"/sessions/\d{4}/\d\d/\d\d$")
_FIRST_LINE = 16 << 20
"""Bytes. A first line holds the base instructions; tools with schemas have made it megabytes long."""
_HEADER = 32 << 10
"""Bytes. What most headers fit in."""
_ID = re.compile(rf"({UUID.pattern})(?:\.[a-z.]+)?$")


class Found(NamedTuple):
    """What a rollout's first record tells."""

    path: Path
    id: str
    size: int
    mtime_ns: int
    parent: str = ""
    subagent: bool = False
    internal: bool = False
    base: str | None = None
    """Rollout id of the file that this one goes on from."""
    name: str = ""
    is_none: bool = False
    """Whether only its name says that it is a rollout: it stands for no other one with its id."""

    @property
    def rollout(self) -> str:
        """The id in the file's name; another one than the thread's after a revert."""
        return file_id(self.path)


def file_id(path: Path) -> str:
    """The id at the end of a rollout's name, or the name itself."""
    name = path.name.removesuffix(".zst")
    match = _ID.search(name)
    return match[1] if match else name.rsplit(".", 1)[0] or path.name


def home_of(path: Path) -> Path | None:
    """The Codex folder in whose `sessions` or `archived_sessions` a file lies."""
    for parent in path.parents:
        if parent.name in ROOTS:
            return parent.parent
    return None


def is_archived(path: Path) -> bool:
    """Whether a file lies where Codex puts what people archive (faults/f29)."""
    return any(parent.name == ROOTS[1] for parent in path.parents)


def resumable_home(path: Path) -> Path | None:
    """The same for a rollout that lies as Codex lays it out (`sessions/2026/03/04`); None for a copy somewhere else."""
    path = Path(os.path.abspath(path))
    return home_of(path) if path.parent.name == ROOTS[1] or _DAY.search(path.parent.as_posix()) else None


# -- recognising a file ------------------------------------------------------------------------------------------------


def detect(head: Head) -> bool:
    """Whether a file that begins so is a rollout of any era."""
    if is_typescript(head.document):
        return True
    for record in head.records:
        if isinstance(record.get("payload"), dict):
            if text_of(record.get("type")) in _ENVELOPES:
                return True
        elif _is_bare_item(record):
            return True
    records = head.records
    return (
        bool(records)
        and is_old_header(records[0])
        and ("instructions" in records[0] or "record_type" in _second(records))
    )


def _second(records: list[dict[str, Any]]) -> dict[str, Any]:
    return records[1] if len(records) > 1 else {}


def _is_bare_item(record: dict[str, Any]) -> bool:
    """A line of before mid-September 2025 that no other agent would write."""
    kind = record.get("type")
    if kind == "message":
        content = record.get("content")
        parts = content if isinstance(content, list) else []
        return "role" in record and any(dict_of(p).get("type") in ("input_text", "output_text") for p in parts)
    return (
        kind == "function_call" and isinstance(record.get("call_id"), str) and isinstance(record.get("arguments"), str)
    )


# -- the first record of a file ----------------------------------------------------------------------------------------


def first_line(path: Path) -> bytes:
    """A file's first line, at most 16 MB of it. Raises OSError."""
    with path.open("rb", buffering=0) as file:
        data = file.read(_HEADER)
        if data[:4] == ZSTD_MAGIC:
            data = decompressed_start(path, _FIRST_LINE)
        while b"\n" not in data and len(data) < _FIRST_LINE and (more := file.read(1 << 20)):
            data += more
    return data.partition(b"\n")[0]


def first_meta(line: bytes) -> dict[str, Any]:
    """The session's header in a file's first line; empty if the line is something else."""
    record = read_record(line) if line else {}
    if record.get("type") == "session_meta":
        return dict_of(record.get("payload"))
    return record if is_old_header(record) and "payload" not in record else {}


_seen: dict[Path, tuple[int, int, Found | None]] = {}


@guarded()
def look(path: Path, stat: os.stat_result) -> Found | None:
    """What the file is; None if it is no rollout. The first line never changes, so it is read once. Raises OSError."""
    known = _seen.get(path)
    if known is not None and known[0] == stat.st_ino and known[1] <= stat.st_size and known[2] is not None:
        return known[2]._replace(size=stat.st_size, mtime_ns=stat.st_mtime_ns)
    found = _look(path, stat)
    _seen[path] = (stat.st_ino, stat.st_size, found)
    return found


def _look(path: Path, stat: os.stat_result) -> Found | None:
    line = first_line(path)
    meta = first_meta(line)
    if text_of(meta.get("id")) and (b'"session_meta"' in line or "instructions" in meta):
        base = text_of(dict_of(meta.get("history_base")).get("thread_id")) or None
        return Found(
            path,
            text_of(meta["id"]),
            stat.st_size,
            stat.st_mtime_ns,
            parent_of(meta),
            is_subagent(meta),
            is_internal(meta),
            base,
            agent_name(meta),
        )
    with path.open("rb") as file:

        def read(offset: int, length: int) -> bytes:
            file.seek(offset)
            return file.read(length)

        data, whole = beginning(read)
        if data[:4] == ZSTD_MAGIC:
            data, whole = decompressed_start(path, HEAD_BYTES), False
        elif path.suffix == ".json" and not whole:
            data, whole = read(0, -1), True
    head = read_head(path, data, whole=whole)
    if not detect(head):
        return None
    session = dict_of(dict_of(head.document).get("session"))
    return Found(path, text_of(session.get("id")) or file_id(path), stat.st_size, stat.st_mtime_ns)


# -- discovery ---------------------------------------------------------------------------------------------------------


def find(location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions in a Codex folder: each thread once, at its newest file; subagents only where their parent is
    missing.
    """
    base = location.path
    roots = [base] if base.name in ROOTS else [base / name for name in ROOTS]
    threads: dict[str, list[Found]] = {}
    for one in _rollouts(roots, problems):
        threads.setdefault(str(one.path) if one.is_none else one.id, []).append(one)
    for files in threads.values():
        shown, damaged = _newest(files)
        if not (shown.internal or (shown.subagent and shown.parent in threads)):
            for one in (shown, *damaged):
                yield SessionFile("codex", os.fspath(one.path), one.id, one.size, one.mtime_ns)


def _newest(files: list[Found]) -> tuple[Found, list[Found]]:
    """The file of a thread in which it goes on, and those that cannot be unpacked, each of which says so itself."""
    if len(files) == 1:
        return files[0], []
    damaged = [one for one in files if one.path.suffix == ".zst" and not unpacks(one.path)]
    files = [one for one in files if one not in damaged] or files[:1]
    bases = {one.base for one in files}
    heads = [one for one in files if one.rollout not in bases] or files
    newest = max(uuid_time(one.rollout) or 0 for one in heads)
    heads = [one for one in heads if (uuid_time(one.rollout) or 0) == newest]
    shown = max(heads, key=lambda one: (one.path.suffix != ".zst", one.size))
    return shown, [one for one in damaged if one is not shown]


def _rollouts(roots: Iterable[Path], problems: list[Problem]) -> Iterator[Found]:
    for root in roots:
        if not root.is_dir():
            continue
        for path in _walk(root, problems):
            try:
                stat = path.stat()
            except OSError as error:
                problems.append(Problem(path, reason_of(error)))
                continue
            try:
                rollout = look(path, stat)
                named = stat.st_size > 0 and path.name.startswith("rollout-")
            except OSError as error:
                problems.append(Problem(path, reason_of(error)))
                rollout, named = None, path.suffix == ".zst"
            if rollout is None and named:  # reading it says what it is
                rollout = Found(path, file_id(path), stat.st_size, stat.st_mtime_ns, is_none=True)
            if rollout is not None:
                yield rollout


def _walk(root: Path, problems: list[Problem]) -> Iterator[Path]:
    """Every file below a folder that may be a rollout."""
    folders = [root]
    while folders:
        folder = folders.pop()
        entries = entries_of(folder, problems, is_root=folder == root)
        plain = {entry.name for entry in entries}
        for entry in entries:
            if entry.is_dir():
                folders.append(Path(entry.path))
            elif entry.name.endswith(".zst") and entry.name.removesuffix(".zst") in plain:
                continue  # Codex itself reads the plain one
            elif entry.name.endswith(_SUFFIXES) and entry.is_file():
                yield folder / entry.name


# -- other rollouts near one ------------------------------------------------------------------------------------------


def folders_near(path: Path, home: Path | None, since: float | None, until: float | None) -> list[Path]:
    """Where rollouts that were begun between two times lie: by the local date, as Codex names its folders."""
    folders = [path.parent]
    if home is None or since is None:
        return folders
    last = max(until or since, since)
    day = datetime.fromtimestamp(since).date() - timedelta(days=1)
    end = datetime.fromtimestamp(last).date() + timedelta(days=1)
    for _ in range(400):  # a session that is older than a year had no children every day
        if day > end:
            break
        folders.append(home / "sessions" / f"{day:%Y}" / f"{day:%m}" / f"{day:%d}")
        day += timedelta(days=1)
    folders += [home / name for name in reversed(ROOTS)]
    return list(dict.fromkeys(folders))


def find_rollout(rollout: str, path: Path) -> Path | None:
    """The file whose name ends in an id, near another one; looked for in few folders, never in all."""
    if not UUID.fullmatch(rollout):
        return None
    born = uuid_time(rollout)
    for folder in folders_near(path, home_of(path), born, born):
        names = _names_in(folder)
        for suffix in (".jsonl", ".jsonl.zst"):
            for name in names:
                if name.endswith(rollout + suffix):
                    return folder / name
    return None


def files_of(thread: str, path: Path) -> list[Path]:
    """The files whose names have a thread's id (`rollout-TIME-THREAD_ROLLOUT.jsonl`), from its beginning until today,
    the plain one of each.
    """
    if not UUID.fullmatch(thread):
        return []
    found = {}
    for folder in folders_near(path, home_of(path), uuid_time(thread), time.time()):
        for name in sorted(_names_in(folder), reverse=True):
            if thread in name and name.endswith((".jsonl", ".jsonl.zst")):
                found[file_id(folder / name)] = folder / name
    return list(found.values())


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


_TURN_ID = re.compile(rb'"turn_id"\s*:\s*"([^"\\]{1,100})"')
_PARENT_LIMIT = 64 << 20


def turns_of(path: Path | None) -> frozenset[str]:
    """The turn ids that a file names, if it is small enough to be read through; none otherwise."""
    if path is None or path.suffix == ".zst":
        return frozenset()
    try:
        if path.stat().st_size > _PARENT_LIMIT:
            return frozenset()
        data = path.read_bytes()
    except OSError:
        return frozenset()
    return frozenset(turn.decode("utf-8", "replace") for turn in set(_TURN_ID.findall(data)))

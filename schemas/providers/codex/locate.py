"""The places of rollouts, the ids and facts in the header of one, and the things beside one: names, subagents."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas import zst
from schemas.folders import bytes_in, entries_of, matching, reason_of, state_of
from schemas.path_hints import local_path
from schemas.provider import Head, Location, Problem, SessionFile, read_head
from schemas.providers.kit.words import Child, Data, Fact, Item, Task, Title
from schemas.records import JsonLines, read_record
from schemas.running import Stated, Status
from schemas.troubles import guarded
from schemas.values import dict_of, list_of, text_of, when, whole

if TYPE_CHECKING:
    import sqlite3

    from schemas.session import Session

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ROOTS = ("sessions", "archived_sessions")
_SUFFIXES = (".jsonl", ".jsonl.zst", ".json")
_ENVELOPES = frozenset({
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "token_usage_record", "world_state",
    "inter_agent_communication",
})  # fmt: skip
_INDEX = "session_index.jsonl"
DAY = re.compile(r"/sessions/\d{4}/\d\d/\d\d$")
_LARGEST = 16 << 20
"""Bytes of a first line, which holds the base instructions, with tools' schemas too; and of a database of turns."""
_SMALL = 64 << 20
"""Bytes. No more is read of a file for a fact in it."""
_ID = re.compile(rf"({UUID.pattern})(?:\.[a-z.]+)?$")


def uuid_time(value: object) -> float | None:
    """The creation time within a version 7 UUID; None for another UUID, and for a time that cannot be."""
    is_one = isinstance(value, str) and UUID.fullmatch(value) is not None and value[14] == "7"
    made = int(text_of(value)[:13].replace("-", ""), 16) / 1000 if is_one else 0.0
    return made if 0 < made < 2.0**32 else None  # before 2106: digits that somebody made up name any year


def is_old_header(value: Data) -> bool:
    """Return whether a line is the header of a rollout of before mid-September 2025."""
    return isinstance(value.get("id"), str) and isinstance(value.get("timestamp"), str) and "type" not in value


def is_typescript(document: object) -> bool:
    """Return whether a document is a rollout of the TypeScript program (formats note 9.1)."""
    held = dict_of(document)
    return "timestamp" in dict_of(held.get("session")) and isinstance(held.get("items"), list)


class Origin(NamedTuple):
    """The origin of a thread, as its header tells it."""

    parent: str
    """The thread that spawned it; one that a person forked has none."""
    subagent: bool
    """Whether another thread started it."""
    internal: bool
    """Whether the program started it for itself: a guard, a reviewer, a compaction, its memory."""
    name: str
    """A subagent's nickname and role: `Confucius (explorer)`; what it is if it has neither."""
    path: str
    """A subagent's address for mail."""


def origin_of(meta: Data) -> Origin:
    """The origin of a thread: what is told of a subagent stands in the header or in what that says of its source."""
    source, started = dict_of(meta.get("source")), meta.get("thread_source")
    kind = source.get("subagent")
    spawn = dict_of(dict_of(kind).get("thread_spawn"))
    kind = kind.get("other") if isinstance(kind, dict) else kind

    def told(key: str) -> str:
        return text_of(spawn.get(key)) or text_of(meta.get(key))

    name, role = told("agent_nickname"), told("agent_role") or told("agent_type")
    subagent = started in ("subagent", "guardian_review") or "subagent" in source
    subagent = subagent or bool(text_of(meta.get("parent_thread_id")))
    return Origin(
        told("parent_thread_id") or (text_of(meta.get("forked_from_id")) if subagent else ""), subagent,
        started in ("guardian_review", "memory_consolidation") or "internal" in source
        or kind in ("guardian", "review", "compact", "memory_consolidation"),
        f"{name} ({role})" if name and role else name or role or text_of(kind), told("agent_path"),
    )  # fmt: skip


def facts_of(meta: Data) -> Fact:
    """Return the facts of the session in a header."""
    git, source, origin = dict_of(meta.get("git")), meta.get("source"), origin_of(meta)
    cwd, name = local_path(text_of(meta.get("cwd"))), text_of(meta.get("id"))
    return Fact(
        id=name, workspace_root=cwd, cwd=cwd, branch=git.get("branch"), version=meta.get("cli_version"),
        created=when(meta.get("timestamp")), parent=origin.parent, agent_id=name if origin.parent else "",
        forked_from="" if origin.subagent else meta.get("forked_from_id"),
        gitRevision=text_of(git.get("commit_hash")), gitRemote=text_of(git.get("repository_url")),
        originator=text_of(meta.get("originator")), model_provider=text_of(meta.get("model_provider")),
        source=source if isinstance(source, str) else "subagent" if source else "", agent=origin.name,
    )  # fmt: skip


class Found(NamedTuple):
    """The facts in a rollout's first record."""

    path: Path
    id: str
    """Empty where only its name says that it is a rollout: it stands for no other one."""
    size: int
    mtime_ns: int
    origin: Origin = origin_of({})
    base: str = ""
    """Rollout id of the file that this one goes on from."""


def file_id(path: Path) -> str:
    """The id at the end of a rollout's name, or the name itself."""
    name = path.name.removesuffix(".zst")
    match = _ID.search(name)
    return match[1] if match else name.rsplit(".", 1)[0] or path.name


def home_of(path: Path) -> Path | None:
    """The Codex folder in whose `sessions` or `archived_sessions` a file lies."""
    return next((parent.parent for parent in path.parents if parent.name in ROOTS), None)


def detect(head: Head) -> bool:
    """Return whether a file with this beginning is a rollout of any era."""
    if is_typescript(head.document):
        return True
    for record in head.records:
        known = text_of(record.get("type")) in _ENVELOPES
        if known if isinstance(record.get("payload"), dict) else _is_bare_item(record):
            return True
    first, second = [*head.records, {}, {}][:2]
    return is_old_header(first) and ("instructions" in first or "record_type" in second)


def _is_bare_item(record: dict[str, Any]) -> bool:
    """A line of before mid-September 2025 that no other agent would write."""
    if record.get("type") == "message":
        types = [dict_of(part).get("type") for part in list_of(record.get("content"))]
        return "role" in record and ("input_text" in types or "output_text" in types)
    is_call = isinstance(record.get("call_id"), str) and isinstance(record.get("arguments"), str)
    return record.get("type") == "function_call" and is_call


def meta_of(record: Data) -> Data:
    """The session's header in a file's first record; empty if that is something else."""
    if record.get("type") == "session_meta":
        return dict_of(record.get("payload"))
    return record if is_old_header(record) and "instructions" in record else {}


_seen: dict[Path, tuple[int, Found]] = {}


@guarded()
def look(path: Path, stat: os.stat_result) -> Found | None:
    """Return the facts of a file; None if it is no rollout. The first line never changes: read once. Raises OSError."""
    known = _seen.get(path)
    if known is not None and known[0] == stat.st_ino and known[1].size <= stat.st_size:
        return known[1]._replace(size=stat.st_size, mtime_ns=stat.st_mtime_ns)
    if (found := _look(path, stat)) is not None:
        _seen[path] = stat.st_ino, found
    return found


def _look(path: Path, stat: os.stat_result) -> Found | None:
    with path.open("rb", buffering=0) as file:
        data = file.read(32 << 10)  # what most headers fit in
        if data[:4] == zst.MAGIC:
            data = zst.beginning_of(path)
        while b"\n" not in data and len(data) < _LARGEST and (more := file.read(1 << 20)):
            data += more
    meta = meta_of(read_record(data.partition(b"\n")[0]))
    if not (name := text_of(meta.get("id"))):
        is_document = path.suffix == ".json"
        data = path.read_bytes() if is_document else data
        head = read_head(path, data, whole=is_document or len(data) >= stat.st_size)
        if not detect(head):
            return None
        name = text_of(dict_of(dict_of(head.document).get("session")).get("id")) or file_id(path)
    base = text_of(dict_of(meta.get("history_base")).get("thread_id"))
    return Found(path, name, stat.st_size, stat.st_mtime_ns, origin_of(meta), base)


def find(location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions in a folder: each thread once, at its newest file; subagents only where their parent is missing."""
    base = location.path
    roots = [base] if base.name in ROOTS else [base / name for name in ROOTS]
    threads: dict[str, list[Found]] = {}
    for one in _rollouts(roots, problems):
        threads.setdefault(one.id or str(one.path), []).append(one)
    for files in threads.values():
        shown, damaged = _newest(files)
        if not (shown.origin.internal or (shown.origin.subagent and shown.origin.parent in threads)):
            for one in (shown, *damaged):
                yield SessionFile("codex", os.fspath(one.path), one.id or file_id(one.path), one.size, one.mtime_ns)


def _newest(files: list[Found]) -> tuple[Found, list[Found]]:
    """The file of a thread in which it goes on, and those that cannot be unpacked, each of which says so itself."""
    if len(files) == 1:
        return files[0], []
    damaged = [one for one in files if one.path.suffix == ".zst" and not zst.unpacks(one.path, one.size, one.mtime_ns)]
    files = [one for one in files if one not in damaged] or files[:1]
    bases = {one.base for one in files}
    heads = [one for one in files if file_id(one.path) not in bases] or files
    shown = max(heads, key=lambda one: (uuid_time(file_id(one.path)) or 0, one.path.suffix != ".zst", one.size))
    return shown, [one for one in damaged if one is not shown]


def _rollouts(roots: Iterable[Path], problems: list[Problem]) -> Iterator[Found]:
    seen: set[str] = set()
    for name, stat in (one for root in roots for one in matching(root, "**/*", problems)):
        if not name.endswith(_SUFFIXES) or name.removesuffix(".zst") in seen:
            continue  # of two, Codex itself reads the plain one
        seen.add(name)
        path = Path(name)
        try:
            rollout = look(path, stat)
            named = stat.st_size > 0 and path.name.startswith("rollout-")
        except OSError as error:
            problems.append(Problem(path, reason_of(error)))
            rollout, named = None, path.suffix == ".zst"
        if rollout is None and named:  # reading it says what it is
            rollout = Found(path, "", stat.st_size, stat.st_mtime_ns)
        if rollout is not None:
            yield rollout


def _folders_near(path: Path, home: Path | None, since: float | None, until: float | None) -> list[str]:
    """The folders of rollouts begun between two times, that of `path` first."""
    folder = os.fspath(path.parent)
    if home is None or since is None:
        return [folder]
    first, last = date.fromtimestamp(since), date.fromtimestamp(max(until or since, since))
    return [folder, *(one for one in _folders(home, first, last) if one != folder)]


@lru_cache(maxsize=256)
def _folders(home: Path, first: date, last: date) -> list[str]:
    """The folders of some days, by the local date, as Codex names them, and those that have no date."""
    # A session that is older than a year had no children every day.
    days = (first + timedelta(days=number - 1) for number in range(min((last - first).days + 3, 400)))
    return [*(f"{home}/sessions/{day:%Y/%m/%d}" for day in days), *(f"{home}/{name}" for name in reversed(ROOTS))]


def rollouts_near(name: str, path: Path, until: float | None = None) -> dict[str, Path]:
    """The rollouts with an id in their names (`rollout-TIME-THREAD_ROLLOUT.jsonl`) by their own ids, the plain one of
    each: those in the folders of the id's time, or of all days from then on.
    """
    found: dict[str, Path] = {}
    if UUID.fullmatch(name):
        born, path = uuid_time(name), path.absolute()
        for folder in _folders_near(path, home_of(path), born, until or born):
            for file in (Path(folder, one) for one in _names_in(folder) if name in one):
                found.setdefault(file_id(file), file)
    return found


def _names_in(folder: str) -> list[str]:
    """The names of the rollouts in a folder."""
    now, changed = time.time_ns(), state_of(folder)[0]
    # Within the clock's tick a folder changes twice at one time.
    return _listed(folder, changed if now - changed > 1e9 else now)


@lru_cache(maxsize=1000)
def _listed(folder: str, changed: int) -> list[str]:
    """The same as of a time: for each of the folder's sessions they are asked for again."""
    entries = entries_of(folder, [], is_root=True)
    return [entry.name for entry in entries if entry.name.endswith(_SUFFIXES[:2]) and entry.is_file()]


_TURN_ID = re.compile(rb'"turn_id"\s*:\s*"([^"\\]{1,100})"')


def turns_of(path: Path | None) -> frozenset[str]:
    """The turn ids that a file names, if it is small enough to be read through; none otherwise."""
    data = b"" if path is None or path.suffix == ".zst" else bytes_in(path, _SMALL)
    found = _TURN_ID.findall(data) if len(data) < _SMALL else ()
    return frozenset(turn.decode("utf-8", "replace") for turn in set(found))


def stamps(session: Session) -> object:
    """The state of all that `beside` looks at; None while a file there has only begun."""
    home, folders = _places(session)
    looked = [_rollouts_in(folder) for folder in folders]
    others = (home / _INDEX, *_databases(home)) if home is not None else ()
    return [one[0] for one in looked] + [*map(state_of, others)] if all(one[2] for one in looked) else None


def beside(session: Session) -> Iterator[Item]:
    """The names of a thread, the one that counts most last, and its subagents."""
    home, folders = _places(session)
    yield Title(_fallback(session), -1)
    # Where Codex puts what people archive (faults/f29).
    yield Fact(archived=any(parent.name == ROOTS[1] for parent in session.path.absolute().parents))
    if home is not None:
        if databases := _databases(home):
            yield Title(_titles_in(databases[0]).get(session.id, ""), 3)
        index = home / _INDEX
        yield Title(_names_given(index, state_of(index)).get(session.id, ""), 4)
    for folder in folders:
        for child in _rollouts_in(folder)[1]:
            if child.origin.subagent and child.origin.parent == session.id != child.id:
                yield Child(child.id, child.path, task=Task(child.origin.name), internal=child.origin.internal)


def _places(session: Session) -> tuple[Path | None, list[str]]:
    path = session.path.absolute()
    home = home_of(path)
    return home, _folders_near(path, home, session.created, session.updated)


@lru_cache(maxsize=2)
def _names_given(index: Path, state: tuple[int, int]) -> dict[str, str]:
    """The names that people gave to threads: a line a renaming, the last one holds, an empty one takes it back."""
    lines = (record[3] for record in JsonLines().push(bytes_in(index, _SMALL) + b"\n"))
    return {text_of(line.get("id")): text_of(line.get("thread_name")) for line in lines}


def _fallback(session: Session) -> str:
    """A title for a session without any: the subagent's name, or its directory and day."""
    if agent := text_of(session.metadata.get("agent")):
        return agent
    root = (session.workspace_root or "").replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    day = f"{datetime.fromtimestamp(session.created):%Y-%m-%d}" if session.created else ""
    return " ".join(word for word in (root, day) if word)


def _databases(home: Path, kind: str = "state") -> list[Path]:
    """The newest `state_<n>.sqlite`, or other database, and its log."""
    from schemas.sqlite import log_of

    databases = sorted(home.glob(f"{kind}_*.sqlite"), key=lambda path: (len(path.name), path.name))
    return [databases[-1], log_of(databases[-1])] if databases else []


def _titles_in(path: Path) -> dict[str, str]:
    """The threads' titles in Codex's database, but for those that only begin as the first prompt does."""
    from schemas.sqlite import read_database

    def read(database: sqlite3.Connection) -> dict[str, str]:
        found = dict[str, str]()
        for thread, *values in database.execute("SELECT id, first_user_message, name, title FROM threads"):
            prompt, *named = (" ".join(text_of(value).split()) for value in values)
            title = next((title for title in named if title and not prompt.startswith(title.rstrip("…"))), "")
            found |= {thread: title} if title else {}
        return found

    try:
        return read_database(path, read, once="titles")
    except OSError:
        return {}  # locked, damaged or of another make: the title is an extra


_looked: dict[str, tuple[int, list[Found], bool]] = {}


def _rollouts_in(folder: str) -> tuple[int, list[Found], bool]:
    """The time of a folder, the rollouts directly in it, and whether those are final: not while one has only begun."""
    changed, rollouts, final = state_of(folder)[0], list[Found](), True
    if (known := _looked.get(folder)) is not None and known[0] == changed:
        return known
    for name in _names_in(folder):
        path = Path(folder, name)
        try:
            stat = path.stat()
            rollout = look(path, stat)
        except OSError:
            continue  # discovery reports it; here it is only not ours
        if rollout is not None:
            rollouts.append(rollout)
        elif stat.st_size < 1 << 16:
            final = False
    if final:
        _looked[folder] = changed, rollouts, final
    return changed, rollouts, final


_COLUMNS = ("thread_id", "status", "started_at", "completed_at")
_STATUS = {"inProgress": Status.GOES_ON, "completed": Status.DONE, "interrupted": Status.DONE, "failed": Status.DONE}


def stated(locations: list[Location]) -> Iterator[Stated]:
    """Read the status of each thread's last turn, which names no process and stays after kill -9. A large database,
    which would be copied whenever Codex writes, is not read: the rollouts tell the same.
    """
    from schemas.sqlite import read_database, tables_of

    # The newest turns are those of all threads that may run.
    asked = f"SELECT {', '.join(_COLUMNS)} FROM thread_turns ORDER BY started_at DESC LIMIT 400"
    for databases in (_databases(place.path, "thread_history") for place in locations):
        if not databases or sum(state_of(one)[1] for one in databases) > _LARGEST:
            continue
        path = databases[0]
        if not set(_COLUMNS) <= tables_of(path)[0].get("thread_turns", frozenset()):
            continue
        seen: set[str] = set()
        turns = read_database(path, lambda database: database.execute(asked).fetchall(), once="turns")
        for thread, status, started, completed in turns:
            if (session := text_of(thread)) and session not in seen:
                seen.add(session)
                since = whole(completed) or whole(started)
                known = _STATUS.get(text_of(status), Status.UNTOLD)
                yield Stated(session, status=known, since=float(since) if since else None)

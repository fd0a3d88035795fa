"""The stores of OpenCode and its forks: a database, before that a tree of JSON files, and exports.

Which kind of rows counts is decided for each session: the terminal program writes `message` and `part`, the HTTP API
`session_message` beside them, and what was migrated has both, with the same ids. The table `event` says everything
again and is not read. An agent has only to say what the records hold that `rows` and `gather` give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.folders import matching, object_in
from schemas.message import Kind
from schemas.provider import Environment, Head, Location, Problem, Reading, SessionFile
from schemas.providers.kit.bases import Data, Database, Tree, columns_of, objects_in, rows_of, sources_in
from schemas.providers.kit.blocks import arguments_of
from schemas.providers.kit.files import Files
from schemas.providers.kit.history import History
from schemas.providers.kit.words import Child, Count, Fact, Item, Say, Task, Title, Turn
from schemas.records import Record
from schemas.running import Running, Wait
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, when, whole

if TYPE_CHECKING:
    import sqlite3

    from schemas.session import Session

_ID = re.compile(r"ses_\w+")
_UNTITLED = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT")
_AGENT = re.compile(r"\s*\(@([^()]+) subagent\)$")
_FIRST = "storage/session/info"
"""Where the sessions of a project were until version 0.6, with their messages and parts beside that folder."""
_TABLES = (("session", "message"), ("session", "session_message"), ("session_v2", "session_message"))
# Older databases name the session in the message alone.
_PARTS = """
SELECT part.id, message_id, part.data FROM message JOIN part ON message_id = message.id
WHERE message.session_id = ? ORDER BY message_id, part.id
"""
# A fork's copies have new ids, but are as old as they were, and so older than their session. Nothing else tells; where
# the session they are from is gone they are the fork's.
_COPIED = """
SELECT m.time_created, m.id, m.session_id AS session FROM message m JOIN session s ON s.id = m.session_id
WHERE m.session_id <> ? AND m.time_created >= s.time_created
AND m.time_created IN (SELECT time_created FROM message WHERE session_id = ? AND time_created < ?)
"""


class Copies(History):
    """The policy for records that a fork copied or that were undone, as `rows` and `gather` mark them."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._undone = False
        self._rows: list[int] = []

    def enter(self, record: Record, time: float | None) -> bool:
        self.copied = text_of(dict_of(record[3].get("copyOf")).get("session"))
        self._undone = record[3].get("undone") is True
        return True

    def own(self, row: int, kind: int) -> None:
        self._rows += [row] * self._undone

    def settle(self) -> Iterator[tuple[int, bool]]:
        rows, self._rows = self._rows, []
        return ((row, False) for row in rows)


class Stores(Database, Tree):
    """The sessions of one such agent, and their records."""

    files: ClassVar[tuple[str, ...]] = ("opencode*.db",)
    has_files = True
    history: ClassVar[type[History]] = Copies
    running = Running(questions=("question",), draws=True)

    def detect(self, head: Head) -> bool:
        """The tables of a database, or the keys of a session or an export. What all these agents write is told by a
        table of the fork's own, or where all is alike by the folder.
        """
        tables, document = head.tables, dict_of(head.document)
        session = dict_of(document.get("info")) if isinstance(document.get("messages"), list) else document
        owners = ["kilo" for table in tables if table.startswith("kilo_")]
        owners += [name for name in reversed(head.path.parts[:-1]) if name in ("kilo", "opencode")]
        return (
            ("data" in tables.get("message", ()) and "message_id" in tables.get("part", ()) and "session" in tables)
            or "session_v2" in tables
            or (
                ("projectID" in session or head.path.parent.name == "info")
                and _ID.fullmatch(text_of(session.get("id"))) is not None
            )
        ) and [*owners, "opencode"][0] == self.id

    def locations(self, env: Environment) -> list[Location]:
        """The folders, and the database that a variable names."""
        found, variable = super().locations(env), f"{self.id.upper()}_DB"
        if (named := env.variables.get(variable, "")) in ("", ":memory:"):
            return found
        # A name alone is that of a file in the folder; an absolute path stays itself when it is joined.
        return [*dict.fromkeys(Location(folder.path / named, variable) for folder in found), *found]

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions of the databases, and those of the tree that are in none of them."""
        from schemas.sqlite import read_database

        migrated: set[str] = set()
        for path in sources_in(location, self.files, problems):
            try:
                yield from self.held(path)
                migrated |= read_database(path, _ids, once="ids")
            except OSError as error:
                problems.append(Problem(path, str(error)))
        trees = ("storage/session/*/ses_*.json", f"project/*/{_FIRST}/ses_*.json") if location.path.is_dir() else ()
        for file, stat in (one for tree in trees for one in matching(location.path, tree, problems)):
            path = Path(file)
            parent = text_of(object_in(path).get("parentID"))
            is_child = _ID.fullmatch(parent) and (parent in migrated or path.with_name(f"{parent}.json").exists())
            if path.stem not in migrated and not is_child:
                yield SessionFile(self.id, file, path.stem, stat.st_size, stat.st_mtime_ns)
            migrated.add(path.stem)

    def open_key(self, path: Path, key: str) -> Reading:
        """Begin to read a session of a database, or the one in a file."""
        return super().open_key(path, key) if key else Tree.open(self, path)

    def sessions(self, database: sqlite3.Connection) -> Iterable[tuple[str, float]]:
        """Sessions that hold a message, subagents apart unless their parent is gone; of sessions in both tables the
        newer one counts.
        """
        known, found = _ids(database), dict[str, float]()
        for table, messages in _TABLES:
            columns = columns_of(database, table)
            if columns and columns_of(database, messages):
                parent = "parent_id" if "parent_id" in columns else "NULL"
                for name, changed, mother in database.execute(
                    f"SELECT id, time_updated, {parent} FROM {table} s "
                    f"WHERE EXISTS (SELECT 1 FROM {messages} WHERE session_id = s.id)"
                ):
                    if mother not in known:
                        found[text_of(name)] = when(changed) or 0.0
        return found.items()

    def waits(self, session: Session, index: int, use: str) -> Wait | float | None:
        """A command that runs has metadata; one that waits for permission has none yet (formats/found-live.md 6)."""
        record = session.record(session.message_spans(index)[0])
        part = next((one for one in map(dict_of, list_of(record.get("parts"))) if one.get("callID") == use), {})
        state = dict_of(part.get("state"))
        is_told = part.get("tool") == "bash" and state.get("status") == "running"
        return (0.0 if "metadata" in state else Wait.PERMISSION) if is_told else None

    def rows(self, database: sqlite3.Connection, session: str) -> Iterable[Data]:
        """The session, its messages in order with their parts, its subagents, and what is still in the queue."""

        def asked(table: str, where: str, value: str = session) -> list[Data]:
            return [one | arguments_of(one.pop("data", None), "data") for one in rows_of(database, table, where, value)]

        own = next(iter(asked("session_v2", "id = ?") or asked("session", "id = ?")), None)
        if own is None:
            return
        project = next(iter(asked("project", "id = ?", text_of(own.get("project_id")))), dict[str, Any]())
        listed = asked("todo", "session_id = ? ORDER BY position")
        todos = [{key: todo.get(key) for key in ("content", "status")} for todo in listed]
        yield {"type": "session", **own, "worktree": project.get("worktree"), "todos": todos}
        for table in ("session_v2", "session"):
            for child in asked(table, "parent_id = ? ORDER BY id DESC"):
                yield {"type": "subagent", "id": child.get("id"), "title": child.get("title")}
        newer = asked("session_message", "session_id = ? ORDER BY seq")
        older = asked("message", "session_id = ? ORDER BY time_created, id")
        if not newer or not {one["id"] for one in newer} & {one["id"] for one in older}:
            yield from undone(own, _with_parts(database, own, older))
        yield from newer
        for queued in asked("session_input", "session_id = ? AND promoted_seq IS NULL ORDER BY admitted_seq"):
            yield {"type": "queued", **queued}

    def gather(self, path: Path, files: Files) -> Iterable[Data]:
        """The same of an export, or of a session's file and the folders of the tree in which it lies."""
        document = files.document(path)
        if isinstance(document.get("messages"), list):
            session, found = dict_of(document.get("info")), map(dict_of, document["messages"])
            yield {"type": "session", **session}
            yield from undone(session, [dict_of(m.get("info")) | {"parts": list_of(m.get("parts"))} for m in found])
            return
        name = text_of(document.get("id"))
        if not _ID.fullmatch(name):
            return
        first = path.parent.name == "info"
        root = path.parents[1 if first else 2] if len(path.parts) > 3 else path.parent
        messages = list(files.documents(root / "message" / name, growing=True))
        roots = (dict_of(message.get("path")).get("root") for _, message in messages if first)
        project = files.document(root / "project" / f"{path.parent.name}.json") if not first else {}
        yield {"type": "session", **document, "worktree": next(filter(None, roots), project.get("worktree"))}
        for child, session in files.documents(path.parent):
            if session.get("parentID") == name:
                file = str(path.with_name(f"{child}.json"))
                yield {"type": "subagent", "id": child, "title": session.get("title"), "path": file}
        for key, message in messages:
            parts = files.documents(root / "part" / (name if first else "") / key, growing=message is messages[-1][1])
            message["parts"] = [part for _, part in parts]
        yield from undone(document, [message for _, message in messages])

    def type(self, record: Data) -> str:
        """Rows of the older kind say their role instead."""
        return text_of(record.get("type")) or text_of(record.get("role")) or "message"

    def time(self, record: Data) -> float | None:
        return when(dict_of(record.get("time")).get("created")) or when(record.get("time_created"))

    def read(self, record: Data) -> Iterator[Item]:
        """Read the facts of a session, and its records beside the messages of person and model."""
        kind, title, times = self.type(record), text_of(record.get("title")), dict_of(record.get("time"))
        match kind:
            case "session":
                parent = text_of(record.get("parentID")) or text_of(record.get("parent_id"))
                place = text_of(record.get("directory"))
                yield Fact(
                    id=record.get("id"), version=record.get("version"), agent=record.get("agent"),
                    workspace_root=place if len(place) > 1 else text_of(record.get("worktree")) or place,
                    updated=when(times.get("updated")) or when(record.get("time_updated")),
                    parent=parent, agent_id=record.get("id") if parent else "",
                    forked_from=record.get("fork_session_id"), todos=record.get("todos"),
                    link=record.get("share_url") or dict_of(record.get("share")).get("url"),
                    archived=bool(record.get("time_archived") or times.get("archived")),
                )  # fmt: skip
                if not _UNTITLED.match(title):
                    yield Title(title)
            case "subagent":
                name, path, agent = text_of(record.get("id")), text_of(record.get("path")), _AGENT.search(title)
                task = Task(agent[1] if agent else "", _AGENT.sub("", title))
                yield Child(name, Path(path) if path else None, "" if path else name, task)
            case "queued":
                yield Say(Kind.STEER, text_of(arguments_of(record.get("prompt")).get("text")), label="Queued")
            case "synthetic" | "system" | "skill":
                names = (text_of(record.get(key)) for key in ("description", "name", "skill"))
                yield Say(Kind.CONTEXT, text_of(record.get("text")), label=next(filter(None, names), f"Added ({kind})"))
            case "shell":
                yield Say(Kind.COMMAND, f"! {text_of(record.get('command'))}")
                output, code = record.get("output"), whole(record.get("exit"))
                said = text_of(output) or text_of(dict_of(output).get("text")) or text_of(dict_of(output).get("output"))
                yield Say(Kind.OUTPUT, said, label=f"exit {code}" if code else "Output")
            case "compaction":
                label = f"Compacted, {text_of(record.get('reason')) or 'manual'}"
                label += " (failed)" * (record.get("status") == "failed")
                yield Say(Kind.COMPACTION, text_of(record.get("summary")), label=label)
                yield Count(usage_of(record))
            case "idle":
                if record.get("outcome") == "interrupted":
                    yield Say(Kind.INTERRUPT, label="Interrupted")
                yield Turn(begins=False, failed=record.get("outcome") != "succeeded")
            case _:
                yield Say(Kind.UNKNOWN)


def usage_of(record: Data) -> TokenUsage:
    """The figures of a call. Newer builds and all rows of the newer kind keep thinking out of the output."""
    tokens = dict_of(record.get("tokens"))
    fresh, output, reasoning = (as_count(tokens.get(key)) for key in ("input", "output", "reasoning"))
    read, write = (as_count(dict_of(tokens.get("cache")).get(key)) for key in ("read", "write"))
    known = [n for n in (fresh, output, reasoning, read, write) if n is not None]
    apart = tokens["total"] == sum(known) if "total" in tokens else "role" not in record
    if output is not None and reasoning and apart:
        output += reasoning
    return TokenUsage(fresh, output, read, write, reasoning) if any(known) else TokenUsage()


def undone(session: Data, messages: Iterable[Data]) -> Iterator[Data]:
    """The messages, those marked that an undo took back: all from one on, or from one of its parts."""
    revert = arguments_of(session.get("revert"))
    since, part, gone = text_of(revert.get("messageID")), text_of(revert.get("partID")), False
    for message in messages:
        if since and message.get("id") == since:
            gone, parts = True, list_of(message.get("parts"))
            if first := next((n for n, one in enumerate(parts) if part and dict_of(one).get("id") == part), 0):
                yield message | {"parts": parts[:first]}
                message = {key: message.get(key) for key in ("role", "time", "modelID")} | {"parts": parts[first:]}
        yield message | {"undone": True} if gone else message


def _with_parts(database: sqlite3.Connection, session: Data, messages: list[Data]) -> Iterator[Data]:
    """Rows of the older kind with their parts, those marked that a fork copied."""
    parts: dict[str, list[Data]] = {}
    if columns_of(database, "part"):
        for part in objects_in(database, _PARTS, session.get("id")):
            parts.setdefault(text_of(part.pop("message_id")), []).append(part | arguments_of(part.pop("data"), "data"))
    name, begun, origins = session.get("id"), whole(session.get("time_created")) or 0, dict[int | None, Data]()
    if any((whole(one.get("time_created")) or begun) < begun for one in messages):
        origins = {one.pop("time_created"): one for one in objects_in(database, _COPIED, name, name, begun)}
    for message in messages:
        origin = origins.get(whole(message.get("time_created")))
        yield message | {"parts": parts.get(text_of(message.get("id")), [])} | ({"copyOf": origin} if origin else {})


def _ids(database: sqlite3.Connection) -> frozenset[str]:
    """The ids of all sessions, subagents included."""
    tables = [table for table in ("session", "session_v2") if columns_of(database, table)]
    return frozenset(text_of(name) for table in tables for (name,) in database.execute(f"SELECT id FROM {table}"))

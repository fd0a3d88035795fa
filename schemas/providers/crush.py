"""Crush: a database a project (others.md 14); its figures are those of the last call, so no sum is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from schemas.folders import object_in
from schemas.message import NO_FLAGS, Flag, Kind, Lack, ToolStatus
from schemas.provider import Environment, Format, Head, Location
from schemas.providers.kit.bases import Data, Database, Home, rows_of
from schemas.providers.kit.blocks import arguments_of, image_part
from schemas.providers.kit.words import Answer, Child, Fact, Item, Say, Skip, Task, Title, Use
from schemas.records import read_record
from schemas.values import dict_of, list_of, number, text_of, when

if TYPE_CHECKING:
    import sqlite3


class Crush(Database):
    """Crush's databases."""

    id = "crush"
    name = "Crush"
    counting = (
        "Crush overwrites its figures with those of the last call, so the tokens of a session are not known; what it "
        "says is the size of the context, and the cost."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b"SQLite format 3",)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Crush database", "table messages with parts, and table sessions with prompt_tokens"),
    )
    homes = (Home(".crush"),)
    files = ("crush.db",)
    lacks = frozenset({Lack.TOKENS})
    resume: ClassVar[tuple[str, ...]] = ("crush", "--session")
    tools = {
        "bash": "shell", "job_output": "shell", "job_kill": "shell", "view": "read", "fetch": "read", "download":
        "read", "write": "write", "edit": "write", "multiedit": "write", "glob": "search", "grep": "search", "ls":
        "search",
        "sourcegraph": "search", "diagnostics": "search", "agent": "task", "todos": "task",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """The two tables."""
        return "parts" in head.tables.get("messages", ()) and "prompt_tokens" in head.tables.get("sessions", ())

    def locations(self, env: Environment) -> list[Location]:
        """The folders of the projects in Crush's list."""
        data = env.variables.get("XDG_DATA_HOME")
        base = Path(data) if data else env.home / ".local" / "share"
        found = [*super().locations(env)]
        for project in map(dict_of, list_of(object_in(base / "crush" / "projects.json").get("projects"))):
            place, kept = Path(text_of(project.get("path"))), Path(text_of(project.get("data_dir")) or ".crush")
            if (place / kept).is_absolute():
                found.append(Location(place / kept, "a project in projects.json"))
        return list(dict.fromkeys(found))

    def sessions(self, database: sqlite3.Connection) -> Iterable[tuple[str, float]]:
        """Sessions with a message, subagents apart."""
        query = (
            "SELECT id, updated_at FROM sessions s "
            "WHERE coalesce(parent_session_id, '') NOT IN (SELECT id FROM sessions) "
            "AND EXISTS (SELECT 1 FROM messages WHERE session_id = s.id)"
        )
        return [(text_of(name), when(time) or 0.0) for name, time in database.execute(query)]

    def rows(self, database: sqlite3.Connection, session: str) -> Iterable[Data]:
        """The session, its messages in order, and its subagents."""
        about = rows_of(database, "sessions", "id = ?", session)
        if not about:
            return
        yield {"type": "session", **about[0]}
        for message in rows_of(database, "messages", "session_id = ? ORDER BY created_at, rowid", session):
            parts = dict_of(read_record(f'{{"value":{text_of(message.get("parts"))}}}'.encode("utf-8", "replace")))
            yield {"type": "message", **message, "parts": parts.get("value")}
        for child in rows_of(database, "sessions", "parent_session_id = ?", session):
            yield {"type": "subagent", "id": child.get("id"), "title": child.get("title")}

    def time(self, record: Data) -> float | None:
        """Return the time at which a message was begun, recorded in seconds."""
        return when(record.get("created_at"))

    def name_of(self, record: Data) -> str:
        """The message's id."""
        return text_of(record.get("id")) if record.get("type") == "message" else ""

    def read(self, record: Data) -> Iterator[Item]:
        match record.get("type"):
            case "session":
                yield Fact(
                    id=record.get("id"), parent=record.get("parent_session_id"), costUsd=number(record.get("cost")),
                    context_used=record.get("prompt_tokens"),
                )  # fmt: skip
                yield Title(text_of(record.get("title")), 2)
                yield Skip("session")
            case "message":
                yield from self._message(record)
            case "subagent":
                name = text_of(record.get("id"))
                # A subagent's id begins with the message that asked for it and ends in the tool use.
                yield Child(
                    name, key=name, task=Task("", text_of(record.get("title"))), use_id=name.rpartition("$$")[2]
                )
                yield Skip("subagent")
            case _:
                yield Say(Kind.UNKNOWN)

    def _message(self, record: Data) -> Iterator[Item]:
        role, model = record.get("role"), text_of(record.get("model"))
        for part in map(dict_of, list_of(record.get("parts"))):
            data = dict_of(part.get("data"))
            text, name = text_of(data.get("text")), text_of(data.get("name"))
            match part.get("type"):
                case "text" if record.get("is_summary_message") == 1:
                    yield Say(Kind.COMPACTION, text)
                case "text" if text.strip():
                    yield Say(Kind.TEXT if role == "assistant" else Kind.PROMPT, text, model=model)
                case "reasoning":
                    thought = text_of(data.get("thinking"))
                    if thought or data.get("signature"):
                        yield Say(Kind.THINKING, thought, model=model, flags=NO_FLAGS if thought else Flag.WITHHELD)
                case "tool_call":
                    given = arguments_of(data.get("input"), "raw")
                    task = Task("", "", text_of(given.get("prompt"))) if name == "agent" else None
                    yield Use(name=name, use_id=text_of(data.get("id")), input=given, model=model, task=task)
                case "tool_result":
                    yield _result(data)
                case "binary" | "image_url":
                    image = image_part(
                        data.get("MIMEType") or data.get("mime_type"), data.get("Data"), data.get("Path")
                    )
                    yield Say(Kind.TEXT if role == "assistant" else Kind.PROMPT, images=[image])
                case "shell_command":
                    yield Say(Kind.COMMAND, f"! {text_of(data.get('command'))}")
                    yield Say(Kind.OUTPUT, text_of(data.get("output")), label="Output")
                case "finish" if data.get("reason") == "canceled":
                    yield Say(Kind.INTERRUPT, label="Interrupted")
                case "finish" if data.get("reason") == "error":
                    yield Say(Kind.ERROR, text_of(data.get("details")), label=text_of(data.get("message")) or "Error")
                case "finish" | "text" as kind:
                    yield Skip(kind)
                case kind:
                    yield Say(Kind.UNKNOWN, label=f"part {text_of(kind)}")


def _result(data: Data) -> Answer:
    text = text_of(data.get("content"))
    status = ToolStatus.ERROR if data.get("is_error") is True else ToolStatus.OK
    if text.startswith(("user denied permission", "User denied permission")):
        status = ToolStatus.DENIED
    elif text.startswith(("Tool execution canceled", "canceled")):
        status = ToolStatus.INTERRUPTED
    more = dict_of(read_record(text_of(data.get("metadata")).encode("utf-8", "replace") or b"{}"))
    return Answer(text_of(data.get("tool_call_id")), text, status, details=more)


PROVIDER = Crush()

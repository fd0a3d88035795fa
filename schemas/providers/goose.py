"""Goose: a database of all sessions, and before it a file of JSON lines a session (others.md 8).

The ledger tells each call apart from the messages; a database without one has a sum for the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from schemas.message import NO_FLAGS, Flag, Kind, Lack, ToolStatus
from schemas.provider import Format, Head, Location, Problem, Reading, SessionFile
from schemas.providers.kit.bases import Data, Database, Home, Tree, columns_of, rows_of
from schemas.providers.kit.blocks import arguments_of, image_part, texts_in
from schemas.providers.kit.files import Files
from schemas.providers.kit.words import Answer, Child, Count, Fact, Item, Say, Skip, Task, Title, Total, Use
from schemas.records import read_record
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of, when

if TYPE_CHECKING:
    import sqlite3

_FIGURES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
_HIDDEN = "hidden"


class Goose(Database, Tree):
    """Goose's databases and files."""

    id = "goose"
    name = "Goose"
    counting = (
        "Goose keeps the tokens of each call in a ledger, or a sum for the session; since its schema 14 the input "
        "includes the cache, which is taken apart here. Subagents have sessions of their own."
    )
    marks: ClassVar[tuple[bytes, ...]] = (
        b"SQLite format 3",
        b'"working_dir"',
    )
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Goose database", "table messages with content_json and session_id"),
        Format("Goose session, JSON lines", "a line with working_dir and message_count, then messages"),
    )
    homes = (
        Home("$GOOSE_PATH_ROOT/data/sessions", "GOOSE_PATH_ROOT"),
        Home("$XDG_DATA_HOME/goose/sessions", "XDG_DATA_HOME"),
        Home(".local/share/goose/sessions"),
        Home("$APPDATA/Block/goose/data/sessions", "APPDATA", ("win32",)),
    )
    files = ("sessions.db",)
    has_files = True
    lacks = frozenset({Lack.TOKENS})
    resume: ClassVar[tuple[str, ...]] = ("goose", "session", "--resume", "--session-id")
    tools = {
        "developer__shell": "shell", "shell": "shell", "developer__text_editor": "write", "text_editor": "write",
        "write": "write", "edit": "write", "developer__write": "write", "developer__edit": "write", "developer__tree":
        "search", "tree": "search", "developer__analyze": "search", "computercontroller__web_scrape": "read",
        "developer__image_processor": "read", "todo__todo_write": "task", "subagent": "task", "delegate": "task",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """The table of messages, or the header of a file."""
        header = any({"working_dir", "message_count"} <= r.keys() and "type" not in r for r in head.first)
        return header or "content_json" in head.tables.get("messages", ())

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions of the database, and the files of those that are not in it."""
        known = set[str]()
        for found in super().find(location, problems):
            known.add(found.id)
            yield found
        for path in sorted(location.path.glob("*.jsonl")) if location.path.is_dir() else ():
            if path.stem not in known:
                stat = path.stat()
                yield SessionFile(self.id, str(path), path.stem, stat.st_size, stat.st_mtime_ns)

    def open_key(self, path: Path, key: str) -> Reading:
        """Begin to read a session of a database, or the one in a file."""
        return super().open_key(path, key) if key else Tree.open(self, path)

    def sessions(self, database: sqlite3.Connection) -> Iterable[tuple[str, float]]:
        """Sessions with a message, those of subagents and what Goose hides apart."""
        columns = columns_of(database, "sessions")
        kind = "session_type" if "session_type" in columns else "'user'"
        query = (
            f"SELECT id, updated_at, {kind} FROM sessions s WHERE EXISTS "
            "(SELECT 1 FROM messages WHERE session_id = s.id)"
        )
        return [
            (text_of(name), when(changed) or 0.0)
            for name, changed, sort in database.execute(query) if sort not in ("sub_agent", _HIDDEN)
        ]  # fmt: skip

    def rows(self, database: sqlite3.Connection, session: str) -> Iterable[Data]:
        """The session, its messages in order with the figures of the ledger between them, and its subagents."""
        messages = rows_of(database, "messages", "session_id = ? ORDER BY created_timestamp, id", session)
        about = next(iter(rows_of(database, "sessions", "id = ?", session)), {})
        if not messages:
            return
        yield {"type": "session", **about}
        ledger = rows_of(database, "usage_ledger", "session_id = ? ORDER BY created_timestamp, id", session)
        waiting = iter(ledger)
        spent = next(waiting, None)
        for message in messages:
            yield {
                "type": "message", "id": message.get("message_id") or f"row {message.get('id')}",
                "role": message.get("role"), "created": message.get("created_timestamp"),
                "content": _value(message.get("content_json")), "metadata": _value(message.get("metadata_json")),
            }  # fmt: skip
            while spent is not None and _before(spent, message):
                yield {"type": "usage", **spent}
                spent = next(waiting, None)
        while spent is not None:
            yield {"type": "usage", **spent}
            spent = next(waiting, None)
        for child in rows_of(database, "sessions", "parent_session_id = ?", session):
            first = rows_of(
                database, "messages", "session_id = ? ORDER BY created_timestamp, id LIMIT 1", child.get("id")
            )
            prompt = texts_in(_value(first[0].get("content_json"))) if first else ""
            yield {"type": "subagent", "id": child.get("id"), "name": child.get("name"), "prompt": prompt}
        if not ledger:
            yield {"type": "sum", **about}

    def gather(self, path: Path, files: Files) -> Iterable[Data]:
        """The facts on the first line, the messages, and the sum in the facts."""
        lines = files.lines(path)
        about = next((line for line in lines if "working_dir" in line), {})
        if about:
            yield {"type": "session", **about, "id": path.stem}
            yield from ({"type": "message", **line} for line in lines if "role" in line)
            yield {"type": "sum", **about}

    # -- records ---------------------------------------------------------------------------------------------------

    def time(self, record: Data) -> float | None:
        """Return the time at which a message was written; a session's times are read with its facts."""
        return when(record.get("created"))

    def name_of(self, record: Data) -> str:
        """The message's id."""
        return text_of(record.get("id")) if record.get("type") == "message" else ""

    def read(self, record: Data) -> Iterator[Item]:
        match record.get("type"):
            case "session":
                config = dict_of(_value(record.get("model_config_json")))
                yield Fact(
                    id=record.get("id"), workspace_root=record.get("working_dir"), model=config.get("model_name"),
                    created=when(record.get("created_at")), updated=when(record.get("updated_at")),
                    parent=record.get("parent_session_id"), archived=bool(record.get("archived_at")),
                )  # fmt: skip
                given, name = text_of(record.get("description")), text_of(record.get("name"))
                yield Title(given, 1)
                yield Title("" if name == "CLI Session" else name, 3 if record.get("user_set_name") else 2)
                yield Skip("session")
            case "message":
                yield from self._message(record)
            case "usage":
                usage = _figures(record, _FIGURES)
                if any(usage):
                    # A ledger's row is of the answer before it, unless it is a compaction's.
                    aside = record.get("is_compaction") == 1
                    yield Count(usage, f"ledger {record.get('id')}", text_of(record.get("model")), aside, not aside)
                yield Skip("usage")
            case "sum":
                usage = _figures(record, tuple(f"accumulated_{name}" for name in _FIGURES))
                if any(usage):
                    model = text_of(dict_of(_value(record.get("model_config_json"))).get("model_name"))
                    yield Total(usage, model)
                yield Skip("sum")
            case "subagent":
                name = text_of(record.get("id"))
                yield Child(name, key=name, task=Task("", text_of(record.get("name")), text_of(record.get("prompt"))))
                yield Skip("subagent")
            case _:
                yield Say(Kind.UNKNOWN)

    def _message(self, record: Data) -> Iterator[Item]:
        parts = _joined([dict_of(part) for part in list_of(record.get("content"))])
        role = record.get("role")
        seen = dict_of(record.get("metadata")).get("userVisible") is not False
        for part in parts:
            text = text_of(part.get("text"))
            match part.get("type"):
                case "text" if not seen:
                    yield Say(Kind.CONTEXT, text, label="For the agent only")
                case "text" if text.strip():
                    yield Say(Kind.TEXT if role == "assistant" else Kind.PROMPT, text)
                case "thinking" | "redactedThinking":
                    thought = text_of(part.get("thinking"))
                    yield Say(Kind.THINKING, thought, flags=NO_FLAGS if thought else Flag.WITHHELD)
                case "toolRequest" | "frontendToolRequest":
                    yield _use(part)
                case "toolResponse":
                    yield _result(part)
                case "image":
                    image = image_part(part.get("mimeType"), part.get("data"))
                    yield Say(Kind.TEXT if role == "assistant" else Kind.PROMPT, images=[image])
                case "systemNotification":
                    yield Say(Kind.NOTE, text_of(part.get("msg")), label="Goose")
                case "contextLengthExceeded" | "summarizationRequested":
                    yield Say(Kind.COMPACTION, text_of(part.get("msg")))
                case "toolConfirmationRequest" | "actionRequired" | "text" as kind:
                    yield Skip(kind)
                case kind:
                    yield Say(Kind.UNKNOWN, label=f"part {text_of(kind)}")


def _use(part: Data) -> Use:
    call = dict_of(part.get("toolCall"))
    value = dict_of(call.get("value"))
    fault = text_of(call.get("error"))
    answer = Answer(text_of(part.get("id")), fault, ToolStatus.ERROR) if call.get("status") == "error" else None
    name = text_of(value.get("name")) or ("(invalid call)" if fault else "")
    given = arguments_of(value.get("arguments"))
    task = Task("", "", text_of(given.get("instructions"))) if name.endswith(("subagent", "delegate")) else None
    return Use(name=name, use_id=text_of(part.get("id")), input=given, answer=answer, task=task)


def _result(part: Data) -> Answer:
    """The result of a tool use, which may have failed before it ran, or as it ran."""
    result = dict_of(part.get("toolResult"))
    value = result.get("value")
    content = dict_of(value).get("content") if isinstance(value, dict) else value
    failed = result.get("status") == "error" or dict_of(value).get("isError") is True
    images = [
        image_part(one.get("mimeType"), one.get("data"))
        for one in map(dict_of, list_of(content)) if one.get("type") == "image"
    ]  # fmt: skip
    text = texts_in(content, "\n") or text_of(result.get("error"))
    status = ToolStatus.ERROR if failed else ToolStatus.OK
    if "declined to run this tool" in text[:200]:
        status = ToolStatus.DENIED
    return Answer(text_of(part.get("id")), text, status, images=images)


def _joined(parts: list[Data]) -> list[Data]:
    """The parts of a message; thinking comes as a part a token."""
    found: list[Data] = []
    for part in parts:
        if part.get("type") == "thinking" and found and found[-1].get("type") == "thinking":
            found[-1] = {**found[-1], "thinking": text_of(found[-1].get("thinking")) + text_of(part.get("thinking"))}
        else:
            found.append(part)
    return found


def _figures(record: Data, names: tuple[str, ...]) -> TokenUsage:
    """Figures whose input includes the cache."""
    given, output, read, written = (as_count(record.get(name)) for name in names)
    fresh = None if given is None else max(0, given - (read or 0) - (written or 0))
    return TokenUsage(fresh, output, read, written)


def _before(spent: Data, message: Data) -> bool:
    """Return whether a ledger's row is of an answer that is no later than a message."""
    then, now = number(spent.get("created_timestamp")), number(message.get("created_timestamp"))
    return message.get("role") == "assistant" and then is not None and now is not None and then <= now


def _value(column: object) -> object:
    """Return the value in a column of JSON text."""
    if not isinstance(column, str):
        return column
    return dict_of(read_record(f'{{"value":{column}}}'.encode("utf-8", "replace"))).get("value")


PROVIDER = Goose()

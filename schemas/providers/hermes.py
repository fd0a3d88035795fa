"""Hermes Agent: a database of all sessions, with sums of tokens for each and its models (found-others.md 9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, ClassVar

from schemas.diffs import FileDiff
from schemas.message import Kind, Lack, Tool, ToolStatus
from schemas.provider import Format, Head
from schemas.providers.kit.bases import Data, Database, Home, columns_of, diff_of, rows_of
from schemas.providers.kit.blocks import calls_in, texts_in
from schemas.providers.kit.words import Answer, Child, Fact, Item, Say, Skip, Task, Title, Total
from schemas.records import read_record
from schemas.slices import Listing
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, when, whole

if TYPE_CHECKING:
    import sqlite3

_FIGURES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


class Hermes(Database):
    """Hermes Agent's databases."""

    id = "hermes"
    name = "Hermes Agent"
    verified = "genuine databases of 0.19.0"
    counting = (
        "Hermes Agent keeps sums for a session, by model, which count in its last exchange; input excludes the cache, "
        "output includes thinking. A call that was cut off is in none of them."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b"SQLite format 3",)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Hermes Agent database", "table messages with session_id, tool_calls and finish_reason"),
    )
    homes = (Home("$HERMES_HOME", "HERMES_HOME"), Home(".hermes"))
    files = ("state.db", "profiles/*/state.db")
    lacks = frozenset({Lack.TOKENS})
    resume: ClassVar[tuple[str, ...]] = ("hermes", "--resume")
    listing = Listing(r" *(\d+)\|")
    tools = {
        "terminal": "shell", "process": "shell", "execute_code": "shell", "read_file": "read", "web_extract": "read",
        "vision_analyze": "read", "write_file": "write", "patch": "write", "search_files": "search", "web_search":
        "search", "session_search": "search", "todo": "task", "delegate_task": "task", "clarify": "generic", "memory":
        "generic", "skill_view": "generic", "skills_list": "generic", "skill_manage": "generic",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """The table of messages."""
        return {"session_id", "tool_calls", "finish_reason"} <= set(head.tables.get("messages", ()))

    def sessions(self, database: sqlite3.Connection) -> Iterable[tuple[str, float]]:
        """Sessions with a message; those of subagents whose parent is there belong to that."""
        columns = columns_of(database, "sessions")
        children = set[object]()
        if {"parent_session_id", "source"} <= columns:
            children = {name for (name,) in database.execute(
                "SELECT id FROM sessions WHERE source = 'subagent' AND parent_session_id IN (SELECT id FROM sessions)"
            )}  # fmt: skip
        times = database.execute("SELECT session_id, max(timestamp) FROM messages GROUP BY session_id")
        return [(text_of(name), when(time) or 0.0) for name, time in times if name not in children]

    def rows(self, database: sqlite3.Connection, session: str) -> Iterable[Data]:
        """The session, its messages in order, its subagents and its sums."""
        messages = rows_of(database, "messages", "session_id = ? ORDER BY id", session)
        if not messages:
            return
        about = next(iter(rows_of(database, "sessions", "id = ?", session)), {})
        yield {"type": "session", **about, "session": session}
        for message in messages:
            if message.get("active") in (1, None):
                yield {"type": "message", **message}
        for child in rows_of(database, "sessions", "parent_session_id = ?", session):
            if child.get("source") == "subagent":
                first = rows_of(database, "messages", "session_id = ? ORDER BY id LIMIT 1", child.get("id"))
                yield {"type": "subagent", "id": child.get("id"), "prompt": first[0].get("content") if first else ""}
        for spent in rows_of(database, "session_model_usage", "session_id = ?", session) or [about]:
            yield {"type": "tokens", **{name: spent.get(name) for name in ("model", "task", *_FIGURES)}}

    def time(self, record: Data) -> float | None:
        """Return the time at which a message was written, recorded in seconds."""
        return when(record.get("timestamp"))

    def name_of(self, record: Data) -> str:
        """The number of a message's row."""
        return str(record.get("id")) if record.get("type") == "message" else ""

    def read(self, record: Data) -> Iterator[Item]:
        text = text_of(record.get("content"))
        match record.get("role") or record.get("type"):
            case "session":
                parent = record.get("parent_session_id")
                yield Fact(
                    id=record.get("session"), workspace_root=record.get("cwd"), branch=record.get("git_branch"),
                    model=record.get("model"), parent=parent, created=when(record.get("started_at")),
                    agent_id=record.get("session") if record.get("source") == "subagent" else None,
                    archived=record.get("archived") == 1,
                )  # fmt: skip
                yield Title(text_of(record.get("title")), 2)
                yield Skip("session")
            case "user":
                yield Say(Kind.COMPACTION if record.get("compacted") == 1 else Kind.PROMPT, text)
            case "assistant":
                thought = text_of(record.get("reasoning_content")) or text_of(record.get("reasoning"))
                if thought.strip():
                    yield Say(Kind.THINKING, thought)
                if text.strip():
                    yield Say(Kind.TEXT, text)
                for use in calls_in({"tool_calls": _value(record.get("tool_calls"))}):
                    given = dict_of(use.input)
                    use.task = Task("", "", text_of(given.get("goal"))) if use.name == "delegate_task" else None
                    yield use
            case "tool":
                if record.get("tool_call_id") or text:
                    yield _result(text_of(record.get("tool_call_id")), text)
                else:
                    yield Skip("tool")
            case "system" | "developer":
                yield Say(Kind.CONTEXT, text, label="Added")
            case "subagent":
                task = Task("", "", text_of(record.get("prompt")))
                yield Child(text_of(record.get("id")), key=text_of(record.get("id")), task=task)
                yield Skip("subagent")
            case "tokens":
                usage = TokenUsage(*(as_count(record.get(name)) for name in _FIGURES))
                if any(usage):
                    yield Total(usage, text_of(record.get("model")))
                yield Skip("tokens")
            case _:
                yield Say(Kind.UNKNOWN)

    def type(self, record: Data) -> str:
        """A message's role, or the kind of row."""
        return text_of(record.get("role")) or text_of(record.get("type")) or "(no type)"

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The patch that the result has, else what the input says."""
        given = dict_of(answer.details) if answer is not None else {}
        if tool.type == "write" and "@@" in (patch := text_of(given.get("diff"))):
            paths = [text_of(path) for path in list_of(given.get("files_modified"))]
            return diff_of(
                next(iter(paths), text_of(tool.input.get("path"))), patch.replace("a//", "/").replace("b//", "/")
            )
        return super().diffs(tool, answer)


def _value(column: object) -> object:
    """Return the value in a column of JSON text; a list is read by way of an object."""
    if not isinstance(column, str):
        return column
    return dict_of(read_record(f'{{"value":{column}}}'.encode("utf-8", "replace"))).get("value")


def _result(use_id: str, text: str) -> Answer:
    """The result of a tool use: mostly an object with what a person reads, an exit code, an error."""
    given = dict_of(_value(text)) if text.startswith("{") else {}
    if not given:
        return Answer(use_id, text)
    code, error = whole(given.get("exit_code")), text_of(given.get("error"))
    shown = texts_in([given.get("output"), given.get("content"), error], "\n")
    status = ToolStatus.ERROR if code or error or given.get("success") is False else ToolStatus.OK
    if given.get("mode") == "background":
        status = ToolStatus.BACKGROUND
    if not shown and "diff" not in given and "bytes_written" not in given:
        shown = text
    return Answer(use_id, shown, status, code, details=given)


PROVIDER = Hermes()

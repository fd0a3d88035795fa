"""Zed: a database of agent threads, each a document in a row, mostly compressed (others.md 14). Unverified."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.message import NO_FLAGS, Flag, Kind, Lack, ToolStatus
from schemas.provider import Format, Head
from schemas.providers.kit.bases import Data, Database, Home, columns_of, rows_of
from schemas.providers.kit.blocks import image_part, texts_in
from schemas.providers.kit.words import Answer, Child, Count, Fact, Item, Say, Skip, Title, Use
from schemas.records import read_record
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, when

if TYPE_CHECKING:
    import sqlite3

_LARGEST = 256 << 20
"""Bytes of a thread, unpacked."""
_FIGURES = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Zed(Database):
    """Zed's threads."""

    id = "zed"
    name = "Zed"
    counting = "Zed keeps the tokens of the last request for each prompt, and a sum that is larger; the former count."
    marks: ClassVar[tuple[bytes, ...]] = (b"SQLite format 3",)
    formats: ClassVar[tuple[Format, ...]] = (Format("Zed threads, database", "table threads with data_type and data"),)
    homes = (
        Home("$XDG_DATA_HOME/zed/threads", "XDG_DATA_HOME"),
        Home(".local/share/zed/threads", platforms=("linux",)),
        Home("Library/Application Support/Zed/threads", platforms=("darwin",)),
        Home("$LOCALAPPDATA/Zed/threads", "LOCALAPPDATA", ("win32",)),
    )
    files = ("threads.db",)
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})
    tools = {
        "terminal": "shell", "read_file": "read", "fetch": "read", "edit_file": "write", "create_file": "write",
        "write_file": "write", "grep": "search", "find_path": "search", "list_directory": "search", "diagnostics":
        "search", "web_search": "search", "spawn_agent": "task", "thinking": "generic",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """The table of threads."""
        return {"data_type", "data", "summary"} <= set(head.tables.get("threads", ()))

    def sessions(self, database: sqlite3.Connection) -> Iterable[tuple[str, float]]:
        """All threads, subagents whose parent is there apart."""
        parent = "parent_id" if "parent_id" in columns_of(database, "threads") else "NULL"
        found = list(database.execute(f"SELECT id, updated_at, {parent} FROM threads"))
        known = {name for name, _, _ in found}
        return [(text_of(name), when(changed) or 0.0) for name, changed, mother in found if mother not in known]

    def rows(self, database: sqlite3.Connection, session: str) -> Iterable[Data]:
        """The facts of the thread, and its messages, whichever form they have."""
        for row in rows_of(database, "threads", "id = ?", session)[:1]:
            thread = _thread(row.get("data"), text_of(row.get("data_type")))
            about = {key: value for key, value in thread.items() if key != "messages"}
            usage = dict_of(thread.get("request_token_usage"))
            yield {
                "type": "thread", **about, "id": session, "summary": row.get("summary"), "parent": row.get("parent_id"),
                "folders": row.get("folder_paths"), "changed": row.get("updated_at"), "begun": row.get("created_at"),
            }  # fmt: skip
            for message in list_of(thread.get("messages")):
                record = message if isinstance(message, dict) else {text_of(message) or "unknown": {}}
                yield record
                name = text_of(dict_of(record.get("User")).get("id"))
                if figures := dict_of(usage.get(name)):
                    yield {"type": "usage", "id": name, "model": dict_of(thread.get("model")).get("model"), **figures}
        for child in rows_of(database, "threads", "parent_id = ?", session):
            yield {"type": "subagent", "id": child.get("id")}

    def type(self, record: Data) -> str:
        """The one key of a message, its role, or what kind of record it is."""
        known = text_of(record.get("type")) or text_of(record.get("role"))
        return known or next((key for key in ("User", "Agent", "Resume") if key in record), "(no type)")

    def time(self, record: Data) -> float | None:
        """Messages have no times."""
        return None

    def name_of(self, record: Data) -> str:
        """A prompt's id."""
        return text_of(dict_of(record.get("User")).get("id"))

    def read(self, record: Data) -> Iterator[Item]:
        kind = self.type(record)
        match kind:
            case "thread":
                model, places = dict_of(record.get("model")), text_of(record.get("folders"))
                yield Fact(
                    id=record.get("id"), parent=record.get("parent"), model=model.get("model"),
                    workspace_root=places.split("\n")[0], version=record.get("version"),
                    created=when(record.get("begun")), updated=when(record.get("changed")),
                )  # fmt: skip
                yield Title(text_of(record.get("title")) or text_of(record.get("summary")), 2)
                yield Skip(kind)
            case "User":
                for part in _parts(dict_of(record["User"]).get("content")):
                    if part[0] == "Text":
                        yield Say(Kind.PROMPT, text_of(part[1]))
                    elif part[0] == "Mention":
                        yield Say(Kind.CONTEXT, text_of(dict_of(part[1]).get("content")), label="Mentioned")
                    else:
                        yield Say(Kind.PROMPT, images=[image_part(None, dict_of(part[1]).get("source"))])
            case "Agent":
                yield from _answer(dict_of(record["Agent"]))
            case "Resume" | "Compaction":
                yield Skip(kind)
            case "user" | "assistant":  # threads until 2025
                yield from _segments(record, Kind.PROMPT if kind == "user" else Kind.TEXT)
            case "system":
                yield Say(Kind.CONTEXT, texts_in(record.get("segments")), label="System prompt")
            case "usage":
                usage = TokenUsage(*(as_count(record.get(name)) for name in _FIGURES))
                if any(usage):
                    yield Count(usage, f"request {record.get('id')}", text_of(record.get("model")), closes=True)
                yield Skip(kind)
            case "subagent":
                yield Child(text_of(record.get("id")), key=text_of(record.get("id")))
                yield Skip(kind)
            case _:
                yield Say(Kind.UNKNOWN)


def _thread(data: object, kind: str) -> Data:
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data) if isinstance(data, bytes) else b""
    if kind == "zstd":
        import zstandard

        try:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw)) as stream:
                raw = stream.read(_LARGEST)
        except zstandard.ZstdError as error:
            raise OSError(f"a thread that cannot be unpacked: {error}") from None
    return read_record(raw.replace(b"\n", b" "))


def _parts(content: object) -> Iterator[tuple[str, Any]]:
    """The parts of a message, each a name and what it holds."""
    for part in list_of(content):
        yield from dict_of(part).items()


def _answer(agent: Data) -> Iterator[Item]:
    results = {key: dict_of(value) for key, value in dict_of(agent.get("tool_results")).items()}
    for name, part in _parts(agent.get("content")):
        match name:
            case "Text":
                if text_of(part).strip():
                    yield Say(Kind.TEXT, text_of(part))
            case "Thinking" | "RedactedThinking":
                thought = text_of(dict_of(part).get("text"))
                yield Say(Kind.THINKING, thought, flags=NO_FLAGS if thought else Flag.WITHHELD)
            case "ToolUse":
                use = dict_of(part)
                use_id = text_of(use.get("id"))
                result = results.get(use_id)
                yield Use(
                    name=text_of(use.get("name")), use_id=use_id, input=dict_of(use.get("input")),
                    answer=None if result is None else _result(use_id, result),
                )  # fmt: skip
            case _:
                yield Say(Kind.UNKNOWN, label=f"part {name}")


def _result(use_id: str, result: Data) -> Answer:
    content = result.get("content")
    text = text_of(content) or text_of(dict_of(content).get("Text")) or text_of(result.get("output"))
    return Answer(use_id, text, ToolStatus.ERROR if result.get("is_error") is True else ToolStatus.OK)


def _segments(record: Data, kind: Kind) -> Iterator[Item]:
    """A message of the older form: segments of text and thinking, tool uses and results beside them."""
    for segment in map(dict_of, list_of(record.get("segments"))):
        thinks = segment.get("type") in ("thinking", "redacted_thinking")
        yield Say(Kind.THINKING if thinks else kind, text_of(segment.get("text")))
    for use in map(dict_of, list_of(record.get("tool_uses"))):
        yield Use(name=text_of(use.get("name")), use_id=text_of(use.get("id")), input=dict_of(use.get("input")))
    for result in map(dict_of, list_of(record.get("tool_results"))):
        yield _result(text_of(result.get("tool_use_id")), result)


PROVIDER = Zed()

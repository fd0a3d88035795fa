"""Grok Build: a history in JSON lines, and a log of updates with the times and tokens (others.md 14). Unverified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from schemas.message import Kind, Lack, ToolStatus
from schemas.provider import Format, Head
from schemas.providers.kit.bases import Data, Home, Tree
from schemas.providers.kit.blocks import arguments_of, message_items, texts_in
from schemas.providers.kit.files import Files
from schemas.providers.kit.words import Answer, Count, Fact, Item, Piece, Say, Skip, Title, Turn, Use
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, when

_HISTORY, _UPDATES = "chat_history.jsonl", "updates.jsonl"
_FIGURES = ("inputTokens", "outputTokens", "cachedReadTokens", "cacheWriteTokens", "reasoningTokens")
_ENDS = {"completed": ToolStatus.OK, "failed": ToolStatus.ERROR, "cancelled": ToolStatus.INTERRUPTED}


class GrokBuild(Tree):
    """Grok Build's sessions."""

    id = "grok"
    name = "Grok Build"
    counting = (
        "Grok Build keeps the tokens of a turn in its log; the input includes the cache, which is taken apart here."
    )
    marks: ClassVar[tuple[bytes, ...]] = (
        b'"sessionUpdate"',
        b'"prompt_index"',
        b'"synthetic_reason"',
        b'"model_id"',
    )
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Grok Build history, JSON lines", "records of type user with a prompt_index, beside a summary.json"),
        Format("Grok Build updates, JSON lines", "records with params.update.sessionUpdate"),
    )
    homes = (Home("$GROK_HOME/sessions", "GROK_HOME"), Home(".grok/sessions"))
    files = (f"*/*/{_HISTORY}", f"*/*/{_UPDATES}")
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})
    resume: ClassVar[tuple[str, ...]] = ("grok", "--resume")
    tools = {
        "run_terminal_command": "shell", "bash": "shell", "read_file": "read", "web_fetch": "read", "write_file":
        "write", "search_replace": "write", "edit_file": "write", "grep": "search", "glob": "search", "list_dir":
        "search",
        "web_search": "search", "task": "task", "todo_write": "task",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """An update of the protocol, or a history's own types."""
        return any(
            text_of(_update(record).get("sessionUpdate"))
            or (record.get("type") == "user" and ("prompt_index" in record or "synthetic_reason" in record))
            or (record.get("role") == "assistant" and "model_id" in record)
            for record in head.first
        )

    def id_of(self, path: Path) -> str:
        """The session's folder; empty for the updates beside a history."""
        if path.name == _UPDATES and path.with_name(_HISTORY).is_file():
            return ""
        return path.parent.name

    def gather(self, path: Path, files: Files) -> Iterable[Data]:
        """The facts, the history, and the figures of the updates; or the updates alone."""
        summary, lines = files.document(path.with_name("summary.json")), files.lines(path)
        if not lines:
            return
        yield {"type": "session", **summary}
        yield from lines
        if path.name != _UPDATES:
            updates = files.lines(path.with_name(_UPDATES))
            yield from (one for one in updates if _update(one).get("sessionUpdate") == "turn_completed")

    # -- records ---------------------------------------------------------------------------------------------------

    def type(self, record: Data) -> str:
        """An update's kind, a record's type, or a message's role."""
        return (
            text_of(_update(record).get("sessionUpdate"))
            or text_of(record.get("type"))
            or text_of(record.get("role"))
            or "(no type)"
        )

    def time(self, record: Data) -> float | None:
        """Return the time of an update; a history has no times."""
        return when(record.get("timestamp"))

    def name_of(self, record: Data) -> str:
        """Records have no ids."""
        return ""

    def read(self, record: Data) -> Iterator[Item]:
        kind, update, text = self.type(record), _update(record), texts_in(record.get("content"))
        model = text_of(record.get("model_id"))
        chunk = texts_in([update.get("content")])
        name = text_of(dict_of(update.get("_meta")).get("promptId"))
        match kind:
            case "session":
                info = dict_of(record.get("info"))
                yield Fact(
                    id=info.get("id"), workspace_root=info.get("cwd"), branch=record.get("head_branch"),
                    model=record.get("current_model_id"), parent=record.get("parent_session_id"),
                    created=when(record.get("created_at")), updated=when(record.get("updated_at")),
                )  # fmt: skip
                yield Title(text_of(record.get("session_summary")), 1)
                yield Title(text_of(record.get("generated_title")), 2)
                yield Skip(kind)
            case "user" if record.get("synthetic_reason") == "interjection":
                yield Say(Kind.STEER, text)
            case "user" if "synthetic_reason" in record:
                yield Say(Kind.CONTEXT, text, label=text_of(record["synthetic_reason"]).replace("_", " ") or "Added")
            case "assistant" if "type" in record:
                if text.strip():
                    yield Say(Kind.TEXT, text, model=model)
                for call in map(dict_of, list_of(record.get("tool_calls"))):
                    given = arguments_of(call.get("arguments"), "raw")
                    yield Use(name=text_of(call.get("name")), use_id=text_of(call.get("id")), input=given, model=model)
            case "reasoning":
                yield Say(Kind.THINKING, texts_in(record.get("summary")))
            case "tool_result":
                yield Answer(text_of(record.get("tool_call_id")), text)
            case "backend_tool_call":
                call = dict_of(record.get("kind"))
                status = _ENDS.get(text_of(call.get("status")), ToolStatus.PENDING)
                use_id = text_of(call.get("id"))
                answer = None if status is ToolStatus.PENDING else Answer(use_id, "", status)
                given = dict_of(call.get("action"))
                yield Use(name=text_of(call.get("tool_type")), use_id=use_id, input=given, answer=answer)
            case "user_message_chunk":
                yield Piece(Kind.PROMPT, chunk, id=f"prompt {dict_of(update.get('_meta')).get('promptIndex')}")
            case "agent_message_chunk":
                yield Piece(Kind.TEXT, chunk, id=f"text {name}")
            case "agent_thought_chunk":
                yield Piece(Kind.THINKING, chunk, id=f"thought {name}")
            case "tool_call" | "tool_call_update":
                yield from _call(update)
            case "turn_completed":
                yield from _turn(update)
            case "plan" | "available_commands_update" | "current_mode_update":
                yield Skip(kind)
            case _:
                yield from message_items({"role": kind, **record}, model)


def _update(record: Data) -> Data:
    return dict_of(dict_of(record.get("params")).get("update"))


def _call(update: Data) -> Iterator[Item]:
    use_id, status = text_of(update.get("toolCallId")), _ENDS.get(text_of(update.get("status")))
    if update.get("sessionUpdate") == "tool_call":
        yield Use(name=text_of(update.get("title")), use_id=use_id, input=arguments_of(update.get("rawInput")))
    if status is not None:
        parts = [dict_of(part).get("content") for part in list_of(update.get("content"))]
        yield Answer(use_id, texts_in(parts, "\n"), status)
    elif update.get("sessionUpdate") == "tool_call_update":
        yield Skip("tool_call_update")


def _turn(update: Data) -> Iterator[Item]:
    given = dict_of(update.get("usage")) or update
    fresh, output, read, written, thought = (as_count(given.get(name)) for name in _FIGURES)
    rest = None if fresh is None else max(0, fresh - (read or 0))
    usage = TokenUsage(rest, output, read, written, thought)
    if any(usage):
        yield Count(usage, model=text_of(update.get("modelId")))
    yield Turn(begins=False)
    yield Skip("turn_completed")


PROVIDER = GrokBuild()

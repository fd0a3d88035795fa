"""Factory Droid: messages in JSON lines, their tokens in settings beside them (others.md 10, found-others.md 14).

The settings tell one sum for the session, which counts in its last exchange.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar

from schemas.clean import as_json
from schemas.diffs import FileDiff, Hunk
from schemas.message import NO_FLAGS, Flag, Kind, Lack, Part, Tool, ToolStatus
from schemas.provider import Format, Head
from schemas.providers.kit.bases import Data, Home, Stream, Tree
from schemas.providers.kit.blocks import arguments_of, image_part, task_in
from schemas.providers.kit.files import Files
from schemas.providers.kit.words import Answer, Count, Fact, Item, Say, Skip, Title, Total, Turn, Use
from schemas.records import read_record
from schemas.running import Running
from schemas.slices import Listing
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of, when, whole

_REMINDER = re.compile(r"\s*<system-reminder>")
_EXITED = re.compile(r"\n*\[Process exited with code (-?\d{1,6})\]\s*\Z")
_FAILED = re.compile(r"\AError: Command failed \(exit code: (-?\d{1,6})\)\n?")
_STOPPED = ("Error: Command terminated by signal", "Error: Tool execution was cancelled", "Error: Interrupted")
_DENIED = ("Error: Tool use was rejected", "Error: User rejected", "Error: Permission denied by user")
_STREAMED = frozenset({"message", "reasoning", "tool_call", "tool_result", "completion"})


class Droid(Tree):
    """Factory Droid's sessions."""

    id = "droid"
    name = "Factory Droid"
    verified = "genuine sessions of 0.215.0"
    counting = (
        "Factory Droid keeps one sum for a session, in its settings, which counts in the last exchange; input excludes "
        "the cache, output includes thinking."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"session_start"',)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Factory Droid session, JSON lines", "session_start with version and cwd, then messages with ids"),
    )
    homes = (Home("$FACTORY_HOME/sessions", "FACTORY_HOME"), Home(".factory/sessions"))
    files = ("*/*.jsonl", "*.jsonl")
    lacks = frozenset({Lack.TOKENS})
    resume: ClassVar[tuple[str, ...]] = ("droid", "--resume")
    running = Running(questions=("AskUser",), plans=("ExitSpecMode",))
    listing = Listing()
    tools = {
        "Execute": "shell", "Script": "shell", "Read": "read", "FetchUrl": "read", "Create": "write", "Edit": "write",
        "MultiEdit": "write", "ApplyPatch": "write", "LS": "search", "Glob": "search", "Grep": "search", "WebSearch":
        "search", "ToolSearch": "search", "TodoWrite": "task", "Task": "task", "TaskOutput": "task", "TaskStop": "task",
        "AskUser": "generic", "ExitSpecMode": "generic", "Skill": "generic",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """A header of the second version."""
        return any(
            record.get("type") == "session_start" and "cwd" in record and text_of(record.get("id"))
            for record in head.first
        )

    def gather(self, path: Path, files: Files) -> Iterable[Data]:
        """The lines, and the sum in the settings."""
        yield from files.lines(path)
        settings = files.document(path.with_suffix(".settings.json"))
        if usage := dict_of(settings.get("tokenUsage")):
            yield {"type": "tokens", "model": settings.get("model"), **usage}

    # -- records ---------------------------------------------------------------------------------------------------

    def name_of(self, record: Data) -> str:
        """The record's id; the outcome of a turn has that of the turn."""
        turn = text_of(record.get("turnId"))
        return text_of(record.get("id")) or (f"end of {turn}" if turn else "")

    def read(self, record: Data) -> Iterator[Item]:
        kind = self.type(record)
        match kind:
            case "session_start":
                yield Fact(id=record.get("id"), workspace_root=record.get("cwd"))
                rank = 3 if record.get("isSessionTitleManuallySet") is True else 1
                title = text_of(record.get("sessionTitle")) or text_of(record.get("title"))
                yield Title(title.removeprefix("# Task Tool Invocation").strip(), rank)
                yield Skip(kind)
            case "message":
                yield from self._message(record, dict_of(record.get("message")))
            case "compaction_state":
                yield Say(Kind.COMPACTION, text_of(record.get("summaryText")))
            case "agent_turn_outcome":
                reason = text_of(record.get("reason"))
                if "interrupt" in reason or "cancel" in reason or "abort" in reason:
                    yield Say(Kind.INTERRUPT, label="Interrupted")
                yield Turn(begins=False, failed=False if reason == "completed" else None)
                yield Skip(kind)
            case "tokens":
                names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheCreationTokens", "thinkingTokens")
                usage = TokenUsage(*(as_count(record.get(name)) for name in names))
                if any(usage):
                    yield Total(usage, text_of(record.get("model")))
                yield Skip(kind)
            case "todo_state" | "session_end":
                yield Skip(kind)
            case _:
                yield Say(Kind.UNKNOWN)

    def _message(self, record: Data, message: Data) -> Iterator[Item]:
        content, model = message.get("content"), text_of(message.get("modelId"))
        blocks = [content] if isinstance(content, str) else list_of(content)
        seen = text_of(record.get("visibility")) or text_of(message.get("visibility"))
        typed, images = list[str](), list[Part]()
        for block in blocks:
            part = {"type": "text", "text": block} if isinstance(block, str) else dict_of(block)
            text = text_of(part.get("text"))
            match part.get("type"):
                case "text" if message.get("role") == "assistant":
                    if text.strip():
                        yield Say(Kind.TEXT, text, model=model)
                case "text" if seen == "llm_only" or _REMINDER.match(text):
                    yield Say(Kind.CONTEXT, text, label="Reminder" if _REMINDER.match(text) else "Added")
                case "text" if seen == "user_only":
                    yield Say(Kind.ERROR, text, label="Error")
                case "text":
                    typed.append(text)
                case "thinking" | "redacted_thinking":
                    thought = text_of(part.get("thinking"))
                    yield Say(Kind.THINKING, thought, model=model, flags=NO_FLAGS if thought else Flag.WITHHELD)
                case "tool_use":
                    name, given = text_of(part.get("name")), arguments_of(part.get("input"))
                    yield _use(name, text_of(part.get("id")), given, model)
                case "tool_result":
                    yield _result(text_of(part.get("tool_use_id")), part.get("content"), part.get("is_error"))
                case "image":
                    source = dict_of(part.get("source"))
                    images.append(image_part(source.get("media_type"), source.get("data")))
                case kind:
                    yield Say(Kind.UNKNOWN, as_json(part), label=f"block {text_of(kind)}")
        if any(text.strip() for text in typed) or images:
            kind = Kind.TEXT if message.get("role") == "assistant" else Kind.PROMPT
            yield Say(kind, "\n\n".join(typed), images=images)

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The lines that the result gives, else what the input says."""
        given = dict_of(answer.details) if answer is not None else {}
        lines = [dict_of(line) for line in list_of(given.get("diffLines"))]
        signs = {"removed": "-", "added": "+"}
        if tool.type == "write" and tool.status is ToolStatus.OK and any(line.get("type") in signs for line in lines):
            places = [whole(dict_of(lines[0].get("lineNumber")).get(side)) for side in ("old", "new")]
            texts = [signs.get(text_of(line.get("type")), " ") + text_of(line.get("content")) for line in lines]
            return [FileDiff(text_of(given.get("file_path")), hunks=[Hunk(texts, *places)])]
        return super().diffs(tool, answer)


class DroidStream(Stream, Droid):
    """`droid exec -o stream-json` or `json`."""

    formats = (Format("Factory Droid, `exec -o stream-json` (or json)", "lines with session_id, or factory_credits"),)

    def prints(self, record: Data) -> bool:
        """Its own words for the lines of a run, and what no other program's beginning and end have."""
        if not isinstance(record.get("session_id"), str):
            return False
        kind = text_of(record.get("type"))
        if kind == "system":
            return record.get("subtype") == "init" and "reasoning_effort" in record and "uuid" not in record
        return kind in _STREAMED or (kind == "result" and "factory_credits" in dict_of(record.get("usage")))

    def run_of(self, record: Data) -> str:
        """The session's id."""
        return text_of(record.get("session_id"))

    def time(self, record: Data) -> float | None:
        """Return the time at which a record was printed, recorded in milliseconds."""
        return when(record.get("timestamp"))

    def read(self, record: Data) -> Iterator[Item]:
        text, name = text_of(record.get("text")), text_of(record.get("id"))
        match record.get("type"):
            case "system":
                yield Fact(workspace_root=record.get("cwd"), model=record.get("model"))
                yield Skip("system init")
            case "message" if record.get("role") == "assistant":
                yield Say(Kind.TEXT, text)
            case "message":
                yield Say(Kind.PROMPT, text)
            case "reasoning":
                yield Say(Kind.THINKING, text, once=(name, text))
            case "tool_call":
                yield _use(text_of(record.get("toolName")), name, arguments_of(record.get("parameters")), "")
            case "tool_result":
                error = text_of(dict_of(record.get("error")).get("message"))
                yield _result(name, error or record.get("value"), record.get("isError"))
            case "completion" | "result" as kind:
                given = dict_of(record.get("usage"))
                names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
                usage = TokenUsage(*(as_count(given.get(one)) for one in names))
                if kind == "result" and text_of(record.get("result")):
                    failed = record.get("is_error") is True
                    yield Say(Kind.ERROR if failed else Kind.TEXT, text_of(record["result"]))
                if any(usage):
                    yield Count(usage)
                spent = number(record.get("durationMs")) or number(record.get("duration_ms"))
                how = text_of(record.get("subtype")) or "success"
                yield Turn(begins=False, seconds=None if spent is None else spent / 1000, how=how)
                yield Skip(kind)
            case _:
                yield Say(Kind.UNKNOWN)


def _use(name: str, use_id: str, given: Data, model: str) -> Use:
    task = task_in(given)
    return Use(name=name, use_id=use_id, input=given, model=model, task=task if name == "Task" else None)


def _result(use_id: str, content: object, failed: object) -> Answer:
    """The result of a tool use: a shell's says how it ended, an edit's is an object."""
    parts = [content] if isinstance(content, str) else list_of(content)
    text = "\n".join(part if isinstance(part, str) else text_of(dict_of(part).get("text")) for part in parts)
    images = [dict_of(dict_of(part).get("source")) for part in parts if dict_of(part).get("type") == "image"]
    status, details = ToolStatus.ERROR if failed is True else ToolStatus.OK, None
    if text.startswith(_STOPPED):
        status = ToolStatus.INTERRUPTED
    elif text.startswith(_DENIED):
        status = ToolStatus.DENIED
    ended = _EXITED.search(text[-200:])
    text = text[: len(text) - len(ended[0])] if ended else text
    begun = _FAILED.match(text)
    text = text[begun.end() :] if begun else text
    code = ended or begun
    if text.startswith('{"success":') and (details := read_record(text.encode("utf-8", "replace"))):
        text = text_of(details.get("message"))
    return Answer(
        use_id, text, status, int(code[1]) if code else None,
        images=[image_part(image.get("media_type"), image.get("data")) for image in images], details=details,
    )  # fmt: skip


PROVIDER = Droid()
STREAM = DroidStream()

"""Pi: JSON lines that make a tree, one file a session (formats/others.md 6, found-others.md 2).

A rewind leaves its branch in the file, and its tokens were spent all the same. `--fork` copies the entries of the
parent with their ids, times and usage: what is older than a file with a `parentSession` is a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, ClassVar

from schemas.diffs import FileDiff
from schemas.message import NO_FLAGS, Flag, Kind, Part, Tool, ToolStatus
from schemas.provider import Format, Head
from schemas.providers.kit.bases import Data, Home, Lines, Stream, diff_of
from schemas.providers.kit.blocks import image_part
from schemas.providers.kit.history import Chain, History
from schemas.providers.kit.words import Answer, Count, Fact, Item, Say, Skip, Title, Turn, Use
from schemas.records import Record
from schemas.running import Running
from schemas.slices import Listing
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of, when, whole

if TYPE_CHECKING:
    from schemas.session import Session


class Branches(Chain):
    """The tree of a session, and which of its entries came from a parent."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._parent, self._begun = "", 0.0

    def place(self, record: Data) -> tuple[str, object] | None:
        name = text_of(record.get("id"))
        return (name, record.get("parentId")) if name and record.get("type") != "session" else None

    def enter(self, record: Record, time: float | None) -> bool:
        """Put an entry into the tree, and tell whether it is a copy."""
        header = record[3]
        if header.get("type") == "session":
            parent = text_of(header.get("parentSession")) or text_of(header.get("branchedFrom"))
            self._parent, self._begun = session_of(parent), time or 0.0
        elif self._parent and time is not None:
            self.copied = self._parent if time < self._begun else ""
        return super().enter(record, time)


def session_of(path: str) -> str:
    """The id of the session in a file that a header names, with slashes of either kind: `<time>_<id>.jsonl`."""
    return PureWindowsPath(path).name.removesuffix(".jsonl").rpartition("_")[2]


class Pi(Lines):
    """Pi, and what its kin have in common with it."""

    id = "pi"
    name = "Pi"
    verified: ClassVar[str] = "genuine sessions of 0.31, 0.60, 0.74.2, 0.85, 1.3 and 1.6.0"
    counting = (
        "Pi writes the usage of each call with its message, and of summaries with theirs; input excludes the cache, "
        "output includes reasoning. Calls on abandoned branches count. Aborted calls have no figures."
    )
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Pi session, JSON lines", "a record of type session with id and cwd, and entries with ids"),
    )
    homes: ClassVar[tuple[Home, ...]] = (
        Home("$PI_CODING_AGENT_SESSION_DIR", "PI_CODING_AGENT_SESSION_DIR"),
        Home("$PI_CODING_AGENT_DIR/sessions", "PI_CODING_AGENT_DIR"),
        Home(".pi/agent/sessions"),
    )
    files: ClassVar[tuple[str, ...]] = ("*.jsonl", "*/*.jsonl")
    history: ClassVar[type[History]] = Branches
    marks: ClassVar[tuple[bytes, ...]] = (b'"cwd"',)
    resume: ClassVar[tuple[str, ...]] = ("pi", "--session")
    running = Running(variables=("PI_SESSION_ID", "PI_SESSION_FILE"), asks=False)
    listing = Listing(first="offset", tail=r"\[(?:Showing lines|\d+ more lines) .*\]|\.\.\. \(\d+ more lines .*\)")
    tools = {
        "bash": "shell", "exec": "shell", "read": "read", "write": "write", "edit": "write", "grep": "search",
        "find": "search", "ls": "search", "task": "task", "todo": "task",
    }  # fmt: skip
    silent = frozenset({"thinking_level_change", "label", "context_edit"})

    def detect(self, head: Head) -> bool:
        """A header, and no event of a stream behind it."""
        header = next((record for record in head.first if record.get("type") == "session"), {})
        streams = any(record.get("type") == "agent_start" for record in head.records)
        return "cwd" in header and bool(text_of(header.get("id"))) and not streams and self.is_mine(head)

    def is_mine(self, head: Head) -> bool:
        """Return whether a file of Pi's form is this agent's: others build on Pi, and keep more in it."""
        return not keeps_titles(head.first) and not is_embedded(head)

    def read(self, record: Data) -> Iterator[Item]:
        message = dict_of(record.get("message"))
        match record.get("type"):
            case "session":
                yield from self._header(record)
            case "message":
                yield from self._message(message)
            case "model_change":
                yield Fact(model=text_of(record.get("modelId")) or text_of(record.get("model")).rpartition("/")[2])
                yield Skip("model_change")
            case "compaction":
                before = whole(record.get("tokensBefore"))
                label = "Compacted" if before is None else f"Compacted, {before:,} tokens before"
                yield Say(Kind.COMPACTION, text_of(record.get("summary")), label=label)
                yield Count(usage_of(record))
            case "branch_summary":
                yield Say(Kind.NOTE, text_of(record.get("summary")), label="Summary of an abandoned branch")
                yield Count(usage_of(record))
            case "usage" | "model_usage" as kind:  # a call beside the conversation
                yield Skip(kind)
                yield Count(usage_of(record), model=text_of(record.get("model")))
            case "custom_message" if record.get("display") is not False:
                yield Say(Kind.CONTEXT, texts_of(record)[0], label=text_of(record.get("customType")) or "Added")
            case "session_info" | "title" | "title_change" as kind:
                name, rank = ("name", 3) if kind == "session_info" else ("title", 2)
                yield Title(text_of(record.get(name)), rank)
                yield Skip(kind)
            case "custom" | "custom_message" as kind:
                yield Skip(text_of(record.get("customType")) or kind)
            case _:
                yield Say(Kind.UNKNOWN)

    def _header(self, record: Data) -> Iterator[Item]:
        place, model = record.get("cwd"), record.get("modelId")
        yield Fact(id=record.get("id"), workspace_root=place, model=model, created=self.time(record))
        yield Title(text_of(record.get("title")), 1)
        yield Skip("session")

    def _message(self, message: Data) -> Iterator[Item]:
        text, images = texts_of(message)
        match message.get("role"):
            case "user":
                yield Say(Kind.PROMPT, text, images=images)
            case "assistant":
                yield from self._answer(message)
            case "toolResult":
                yield from self.result(message, text, images)
            case "bashExecution":
                yield Say(Kind.COMMAND, f"! {text_of(message.get('command'))}")
                code = whole(message.get("exitCode"))
                label = "Cancelled" if message.get("cancelled") is True else f"exit {code}" if code else "Output"
                yield Say(Kind.OUTPUT, text_of(message.get("output")), label=label)
            case "system" | "developer" as role:
                sections = "\n\n".join(filter(None, map(text_of, dict_of(message.get("sections")).values())))
                label = "System prompt" if role == "system" else "Reminder"
                yield Say(Kind.CONTEXT, text or sections, label=label)
            case "custom" | "hookMessage":
                if message.get("display") is False:
                    yield Skip(text_of(message.get("customType")) or "custom")
                else:
                    yield Say(Kind.CONTEXT, text, label=text_of(message.get("customType")) or "Added", images=images)
            case "branchSummary" | "compactionSummary" as role:
                kind = Kind.NOTE if role == "branchSummary" else Kind.COMPACTION
                yield Say(kind, text_of(message.get("summary")) or text, label="Summary")
            case role:
                yield Say(Kind.UNKNOWN, label=f"message of {text_of(role) or 'nobody'}")

    def _answer(self, message: Data) -> Iterator[Item]:
        model = text_of(message.get("model"))
        content = message.get("content")
        for part in map(dict_of, [{"type": "text", "text": content}] if isinstance(content, str) else list_of(content)):
            match part.get("type"):
                case "text":
                    if text_of(part.get("text")).strip():
                        yield Say(Kind.TEXT, part["text"], model=model)
                case "thinking":
                    text = text_of(part.get("thinking"))
                    yield Say(Kind.THINKING, text, model=model, flags=NO_FLAGS if text else Flag.WITHHELD)
                case "toolCall":
                    yield Use(
                        name=text_of(part.get("name")), use_id=text_of(part.get("id")), model=model,
                        input=dict_of(part.get("arguments")),
                    )  # fmt: skip
                case kind:
                    yield Say(Kind.UNKNOWN, label=f"content {text_of(kind)}")
        match message.get("stopReason"):
            case "error":
                yield Say(Kind.ERROR, text_of(message.get("errorMessage")), label="Error")
            case "aborted":
                yield Say(Kind.INTERRUPT, text_of(message.get("errorMessage")), label="Interrupted")
        yield Count(usage_of(message), model=model)

    def result(self, message: Data, text: str, images: list[Part]) -> Iterator[Item]:
        """The result of a tool use."""
        details = dict_of(message.get("details"))
        status = ToolStatus.ERROR if message.get("isError") is True else ToolStatus.OK
        code = whole(details.get("exitCode"))
        head, _, last = text.rstrip().rpartition("\nCommand exited with code ")
        if head and last.isdecimal() and len(last) < 8:
            code = int(last)
        elif text.rstrip().endswith("Command aborted"):
            status = ToolStatus.INTERRUPTED
        if code and status is ToolStatus.OK:
            status = ToolStatus.ERROR
        spent = (
            number(message.get("durationMs")) or number(details.get("wallTimeMs")) or number(details.get("durationMs"))
        )
        yield Answer(
            text_of(message.get("toolCallId")), text, status, code, None if spent is None else spent / 1000, images,
            details={"patch": text_of(details.get("patch")) or text_of(details.get("diff"))},
        )  # fmt: skip

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The patch that the result has, else what the input says."""
        patch = text_of(dict_of(answer.details).get("patch")) if answer is not None else ""
        if tool.type == "write" and "@@" in patch:
            return diff_of(text_of(tool.input.get("path")), patch)
        return super().diffs(tool, answer)


PRINTED = ("message_start", "message_end")


def keeps_titles(records: list[Data]) -> bool:
    """Return whether a title stands before or in the header, or a model is said in one word: Oh My Pi's additions."""
    return any(
        record.get("type") in ("title", "title_change", "session_init")
        or (record.get("type") == "session" and "title" in record)
        or (record.get("type") == "model_change" and "model" in record)
        for record in records
    )


def is_embedded(head: Head) -> bool:
    """Return whether a program that embeds Pi wrote the file: such keep theirs in `agents/<name>/sessions`."""
    parents = head.path.parent.parts
    return parents[-1:] == ("sessions",) and parents[-3:-2] == ("agents",)


def usage_of(holder: Data) -> TokenUsage:
    """The figures of a call; Google's of before Pi 0.74 have the cache in the input, which their sum tells."""
    said = dict_of(holder.get("usage"))
    fresh, output, read, write = (as_count(said.get(key)) for key in ("input", "output", "cacheRead", "cacheWrite"))
    if read and fresh is not None and fresh + (output or 0) == said.get("totalTokens"):
        fresh = max(0, fresh - read)
    reasoning = as_count(said.get("reasoning", said.get("reasoningTokens")))
    usage = TokenUsage(fresh, output, read, write, reasoning, as_count(said.get("cacheWrite1h")))
    return usage if any(usage) else TokenUsage()


def texts_of(holder: Data) -> tuple[str, list[Part]]:
    """The text of a message's content, and its images."""
    content = holder.get("content")
    if isinstance(content, str):
        return content, []
    parts = [dict_of(part) for part in list_of(content)]
    text = "\n\n".join(text_of(part.get("text")) for part in parts if part.get("type") == "text")
    images = [part for part in parts if part.get("type") == "image"]
    return text, [image_part(image.get("mimeType"), image.get("data")) for image in images]


class PiStream(Stream, Pi):
    """`pi --mode json`, and its kin's: a message is printed whole when it ends, and once more with its turn."""

    formats: ClassVar[tuple[Format, ...]] = (Format("Pi, `--mode json`", "a session's header, and events of a run"),)
    history = History
    unended = ""
    silent = frozenset(
        """agent_start agent_settled turn_start turn_end message_start message_update tool_execution_start
        tool_execution_update tool_execution_end tool_stream_update auto_retry_end compaction_start
        auto_compaction_start queue_update entry_appended advisor_cost_changed todo_reminder""".split()  # noqa: SIM905
    )

    def prints(self, record: Data) -> bool:
        """Messages in events, but for Oh My Pi's; the header is that of a file, too."""
        message = dict_of(record.get("message"))
        return record.get("type") in PRINTED and message.get("role") is not None and "attribution" not in message

    def time(self, record: Data) -> float | None:
        """A message's own time, or the header's."""
        return when(dict_of(record.get("message")).get("timestamp")) or when(record.get("timestamp"))

    def read(self, record: Data) -> Iterator[Item]:
        message = dict_of(record.get("message"))
        match record.get("type"):
            case "message_end":
                yield from self._message(message)
            case "auto_retry_start":
                count = f"{whole(record.get('attempt')) or '?'} of {whole(record.get('maxAttempts')) or '?'}"
                yield Say(Kind.NOTE, text_of(record.get("errorMessage")), label=f"API error, retrying ({count})")
            case "compaction_end" | "auto_compaction_end":
                yield from super().read({**dict_of(record.get("result")), "type": "compaction"})
            case "agent_end":
                if record.get("willRetry") is not True:
                    yield Turn(begins=False, how="done")
                yield Skip("agent_end")
            case "session":
                yield from self._header(record)
            case _:
                yield Say(Kind.UNKNOWN)


PROVIDER = Pi()
STREAM = PiStream()

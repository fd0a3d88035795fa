"""Kimi Code: a wire of records an agent, which tells most things three times (others.md 9.1, found-others.md 6).

What is read: prompts from `turn.prompt`, the agent's words from the events of its loop, tokens from `usage.record`, or
where there is none from the step's end. `agent.message.appended` and most of `context.append_message` repeat these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.message import Kind, Lack, ToolStatus
from schemas.provider import Format, Head
from schemas.providers.kit.agent import Data, Home, Lines, Stream
from schemas.providers.kit.blocks import arguments_of, calls_in, texts_in
from schemas.providers.kit.history import History, Placed
from schemas.providers.kit.words import (
    Answer,
    Child,
    Count,
    Fact,
    Item,
    Link,
    Say,
    Skip,
    Task,
    Title,
    Turn,
    Use,
)  # fmt: skip
from schemas.records import Record, read_record
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, number, text_of, when, whole

if TYPE_CHECKING:
    from schemas.session import Session

_EXIT = re.compile(r"\n?Command failed with exit code: (-?\d{1,6})\.\s*\Z")
_SILENT = frozenset(
    """metadata agent tools permission plugin prompt runtime token_counting file_history llm""".split()  # noqa: SIM905
)
"""Beginnings of the types of records that hold nothing, or nothing new."""
_OTHERS = frozenset({"turn.cancel", "turn.step.interrupted", "subagent.started", "subagent.completed"})


class Typed(Say):
    """A prompt, as the turn has it or as the model's context repeats it."""


class Spent(Count):
    """Tokens of the step that goes on, or as its end repeats them."""


class Steps(History):
    """Which step goes on, what was typed last, and which steps told their tokens."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._step, self._typed = "", ""
        self._counted: set[str] = set()

    def enter(self, record: Record, time: float | None) -> bool:
        event = dict_of(record[3].get("event"))
        if event.get("type") == "step.begin":
            self._step, self._typed = text_of(event.get("uuid")), ""
        return True

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """A prompt once, and a step's tokens once: whichever comes first."""
        match item:
            case Typed():
                if item.text != self._typed:
                    self._typed = item.text
                    yield record, number, Say(item.kind, item.text, label=item.label)
            case Spent():
                name = item.id or self._step
                if name not in self._counted or item.beside:
                    self._counted.add(name)
                    yield record, number, Count(item.usage, "" if item.beside else name, item.model, item.beside)


class KimiCode(Lines):
    """Kimi Code's wires."""

    id = "kimi-code"
    name = "Kimi Code"
    verified = "genuine sessions of 2.1.0; older protocols on others' samples"
    counting = (
        "Kimi Code writes the tokens of a step up to four times; they count once. Input excludes the cache, output "
        "includes thinking. Subagents count in their own sessions. A step that was cut off has figures, or none."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"protocol_version"',)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Kimi Code wire, JSON lines", "metadata with a protocol_version, then records with a time"),
    )
    homes = (
        Home("$KIMI_CODE_HOME/sessions", "KIMI_CODE_HOME"),
        Home(".kimi-code/sessions"),
        Home("Library/Application Support/kimi-desktop/daimon-share/daimon/runtime/kimi-code/home/sessions",
             "the desktop program", ("darwin",)),
    )  # fmt: skip
    files = ("*/session_*/agents/main/wire.jsonl", "*/conv-*/agents/main/wire.jsonl")
    history: ClassVar[type[History]] = Steps
    recount = "largest"
    resume = ("kimi", "--session")
    tools = {
        "Bash": "shell", "Shell": "shell", "BashOutput": "shell", "KillShell": "shell", "Read": "read", "ReadFile":
        "read", "FetchURL": "read", "ReadMediaFile": "read", "Write": "write", "WriteFile": "write", "Edit": "write",
        "StrReplaceFile": "write", "Grep": "search", "Glob": "search", "SearchWeb": "search", "WebSearch": "search",
        "Agent": "task", "Task": "task", "TodoList": "task", "SetTodoList": "task", "TodoWrite": "task",
        "Skill": "generic", "AskUser": "generic", "Think": "generic",
    }  # fmt: skip

    def told(self, head: Head) -> bool:
        """The version of the protocol, and a record with a type of its own behind it."""
        first = head.records[0] if head.records else {}
        mine = first.get("type") == "metadata" and "protocol_version" in first
        return mine and (len(head.records) == 1 or isinstance(head.records[1].get("type"), str))

    def id_of(self, path: Path) -> str:
        """The session's folder; for a subagent with its own name behind it."""
        if len(path.parts) < 4 or path.parts[-3] != "agents":
            return path.stem
        return path.parts[-4] if path.parts[-2] == "main" else f"{path.parts[-4]}:{path.parts[-2]}"

    # -- beside the wire -------------------------------------------------------------------------------------------

    def stamps(self, session: Session) -> object:
        """When the session's state and its folder of agents changed."""
        return [_stamp(path) for path in (_state(session.path), session.path.parent)]

    def beside(self, session: Session) -> Iterable[Item]:
        """The title and the place in `state.json`, and the wires of subagents."""
        path, me = session.path, session.path.parent.name
        if path.name != "wire.jsonl" or path.parents[1].name != "agents":
            return
        state = _object_in(_state(path))
        yield Fact(workspace_root=state.get("cwd") or state.get("workDir"), forked_from=state.get("forkedFrom"))
        if me != "main":
            yield Fact(agent_id=me, parent=path.parents[2].name)
        elif state.get("isCustomTitle") is True:
            yield Title(text_of(state.get("title")), 3)
        for name, about in dict_of(state.get("agents")).items():
            about, wire = dict_of(about), path.parents[1] / Path(name).name / path.name
            if text_of(about.get("parentAgentId")) == me and wire.is_file():
                yield Child(name, wire, task=Task(text_of(dict_of(about.get("labels")).get("profileName"))))

    # -- records ---------------------------------------------------------------------------------------------------

    def time(self, record: Data) -> float | None:
        """When it was written, in milliseconds."""
        return when(record.get("time")) or when(record.get("created_at"))

    def read(self, record: Data) -> Iterator[Item]:
        kind = self.type(record)
        match kind:
            case "turn.prompt" | "turn.steer":
                yield from _typed(record.get("input"), dict_of(record.get("origin")), kind)
            case "context.append_message":
                yield from self._added(dict_of(record.get("message")))
            case "context.append_loop_event":
                yield from self._event(dict_of(record.get("event")))
            case "usage.record":
                beside = record.get("usageScope") == "session"
                yield from _spent(record.get("usage"), "", beside=beside)
                yield Skip(kind)
            case "llm.request":
                yield Fact(model=record.get("model"))
                yield Skip(kind)
            case "config.update" | "profile.bind":
                place = record.get("cwd") or dict_of(record.get("environmentDisclosure")).get("cwd")
                yield Fact(workspace_root=place, model=record.get("modelAlias"))
                yield Skip(kind)
            case "subagent.spawned":
                yield Link(text_of(record.get("parentToolCallId")), text_of(record.get("subagentId")))
                yield Skip(kind)
            case "turn.step.retrying":
                yield _retry(record, "failedAttempt", "maxAttempts", "errorMessage")
            case "turn.ended":
                yield from _ended(record)
            case "context.apply_compaction":
                before, after = whole(record.get("tokensBefore")), whole(record.get("tokensAfter"))
                sizes = f", {before:,} tokens before" if before is not None else ""
                sizes += f", {after:,} after" if after is not None and sizes else ""
                yield Say(Kind.COMPACTION, text_of(record.get("summary")), label=f"Compacted{sizes}")
            case "full_compaction.begin" | "full_compaction.complete":
                yield Skip(kind)
            case _ if kind in _OTHERS or kind.partition(".")[0] in _SILENT:
                yield Skip(kind)
            case _:
                yield Say(Kind.UNKNOWN)

    def _added(self, message: Data) -> Iterator[Item]:
        origin, text = dict_of(message.get("origin")), texts_in(message.get("content"))
        if message.get("role") != "user":
            yield Skip("context.append_message")  # protocol 1.1 repeats what the agent said
        elif origin.get("kind") in ("user", "system_trigger", None):
            yield from _typed(message.get("content"), origin, "context.append_message")
        else:
            yield Say(Kind.CONTEXT, text, label=text_of(origin.get("variant")).replace("_", " ") or "Added")

    def _event(self, event: Data) -> Iterator[Item]:
        kind, part, step = text_of(event.get("type")), dict_of(event.get("part")), text_of(event.get("stepUuid"))
        match kind:
            case "content.part":
                thinking = part.get("type") == "think"
                text = text_of(part.get("think")) or text_of(part.get("text"))
                if text.strip():
                    yield Say(Kind.THINKING if thinking else Kind.TEXT, text)
                    yield Count(TokenUsage(), step)
                else:
                    yield Skip(kind)
            case "tool.call":
                name, given = text_of(event.get("name")), arguments_of(event.get("args"))
                task = Task(*(text_of(given.get(key)) for key in ("subagent_type", "description", "prompt")))
                yield Use(
                    name=name, use_id=text_of(event.get("toolCallId")), input=given,
                    task=task if name in ("Agent", "Task") else None,
                )  # fmt: skip
                yield Count(TokenUsage(), step)
            case "tool.result":
                result = dict_of(event.get("result"))
                yield _result(text_of(event.get("toolCallId")), result.get("output"), result)
            case "step.end":
                yield from _spent(event.get("usage"), text_of(event.get("uuid")), beside=False)
                yield Skip(kind)
            case "step.begin" | "llm.request":
                yield Skip(kind)
            case _:
                yield Say(Kind.UNKNOWN, label=f"event {kind}")


class KimiStream(Stream, KimiCode):
    """`kimi -p … --output-format stream-json`: messages, and lines about the run; what is asked is not printed."""

    formats = (Format("Kimi Code, `--output-format stream-json`", "a line of role meta with a type"),)
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})

    def prints(self, record: Data) -> bool:
        """What the program says of itself; messages are its, once it said something."""
        return record.get("role") == "meta" and isinstance(record.get("type"), str)

    def stamps(self, session: Session) -> object:
        return ()

    def time(self, record: Data) -> float | None:
        """None is told."""
        return None

    def type(self, record: Data) -> str:
        """A message's role, or the type of what the program says."""
        return text_of(record.get("type")) or text_of(record.get("role")) or "(no type)"

    def read(self, record: Data) -> Iterator[Item]:
        match self.type(record):
            case "assistant":
                if thought := text_of(record.get("reasoning_content")):
                    yield Say(Kind.THINKING, thought)
                if (text := texts_in(record.get("content"))).strip():
                    yield Say(Kind.TEXT, text)
                yield from calls_in(record)
            case "tool":
                yield _result(text_of(record.get("tool_call_id")), record.get("content"), record)
            case "system.version" as kind:
                yield Fact(version=record.get("version"))
                yield Skip(kind)
            case "turn.step.retrying":
                yield _retry(record, "failed_attempt", "max_attempts", "error_message")
            case "session.resume_hint" as kind:
                yield Fact(id=record.get("session_id"))
                yield Turn(begins=False, how="done")
                yield Skip(kind)
            case _:
                yield Say(Kind.UNKNOWN)


# -- parts of records --------------------------------------------------------------------------------------------------


def _typed(content: object, origin: Data, kind: str) -> Iterator[Item]:
    """What a person typed, or what started a subagent; what the program itself asks is context."""
    text = texts_in(content)
    if not text:
        yield Skip(kind)  # the context has it (protocol 1.4)
    elif origin.get("kind") in ("user", None) or origin.get("name") == "subagent":
        yield Typed(Kind.STEER if kind == "turn.steer" else Kind.PROMPT, text)
    else:
        yield Typed(Kind.CONTEXT, text, label=text_of(origin.get("name")).replace("_", " ") or "Added")


def _result(use_id: str, output: object, result: Data) -> Answer:
    """The result of a tool use; a shell's exit code stands in its last line."""
    text = texts_in(output)
    spent = number(result.get("durationMs"))
    code = _EXIT.search(text[-100:])
    text = text[: len(text) - len(code[0])] if code else text
    status = ToolStatus.ERROR if result.get("isError") is True or code else ToolStatus.OK
    if text.endswith(("Interrupted by user", "Session closed")):
        status = ToolStatus.INTERRUPTED
    seconds = None if spent is None else spent / 1000
    return Answer(use_id, text or text_of(result.get("message")), status, int(code[1]) if code else None, seconds)


def _spent(given: object, step: str, *, beside: bool) -> Iterator[Item]:
    """The figures of a step; all zero is what a stream that was cut off leaves."""
    names = ("inputOther", "output", "inputCacheRead", "inputCacheCreation")
    usage = TokenUsage(*(as_count(dict_of(given).get(name)) for name in names))
    if any(usage):
        yield Spent(usage, step, beside=beside)


def _ended(record: Data) -> Iterator[Item]:
    error, spent = dict_of(record.get("error")), number(record.get("durationMs"))
    code = whole(dict_of(error.get("details")).get("statusCode"))
    if record.get("reason") == "cancelled":
        yield Say(Kind.INTERRUPT, label="Interrupted")
    elif error or record.get("reason") == "failed":
        yield Say(Kind.ERROR, text_of(error.get("message")), label=f"Error {code}" if code is not None else "Error")
    cut = record.get("reason") in ("cancelled", "failed")
    yield Turn(begins=False, seconds=None if spent is None else spent / 1000, failed=cut)
    yield Skip("turn.ended")


def _retry(record: Data, now: str, most: str, text: str) -> Say:
    count = f"{whole(record.get(now)) or '?'} of {whole(record.get(most)) or '?'}"
    return Say(Kind.NOTE, text_of(record.get(text)), label=f"API error, retrying ({count})")


def _state(path: Path) -> Path:
    return path.parents[2] / "state.json" if len(path.parents) > 2 else path.with_name("state.json")


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0  # not there


def _object_in(path: Path) -> Data:
    try:
        return read_record(path.read_bytes().replace(b"\n", b" ")) or {}
    except OSError:
        return {}


PROVIDER = KimiCode()
STREAM = KimiStream()

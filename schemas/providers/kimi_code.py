"""Kimi Code: a wire of records an agent, which tells most things three times (others.md 9.1, found-others.md 6).

What is read: prompts from `turn.prompt`, the agent's words from the events of its loop, tokens from `usage.record`, or
where there is none from the step's end. `agent.message.appended` and most of `context.append_message` repeat these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from schemas.folders import object_in, state_of
from schemas.message import Kind, Lack
from schemas.provider import Format, Head
from schemas.providers import _kimi_parts as parts
from schemas.providers.kit.bases import Data, Home, Lines, Stream
from schemas.providers.kit.blocks import arguments_of, calls_in, task_in, texts_in
from schemas.providers.kit.history import History
from schemas.providers.kit.words import Child, Count, Fact, Item, Link, Say, Skip, Task, Title, Turn, Use
from schemas.running import Running
from schemas.slices import Listing
from schemas.usage import TokenUsage
from schemas.values import dict_of, text_of, when, whole

if TYPE_CHECKING:
    from schemas.session import Session

_SILENT = frozenset(
    """metadata agent tools permission plugin prompt runtime token_counting file_history llm""".split()  # noqa: SIM905
)
"""Beginnings of the types of records that hold nothing, or nothing new."""
_OTHERS = frozenset({"turn.cancel", "turn.step.interrupted", "subagent.started", "subagent.completed"})


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
    history: ClassVar[type[History]] = parts.Steps
    recount = "largest"
    resume = ("kimi", "--session")
    running = Running(questions=("AskUser",))
    listing = Listing(r" *(\d+)\t")
    tools = {
        "Bash": "shell", "Shell": "shell", "BashOutput": "shell", "KillShell": "shell", "Read": "read", "ReadFile":
        "read", "FetchURL": "read", "ReadMediaFile": "read", "Write": "write", "WriteFile": "write", "Edit": "write",
        "StrReplaceFile": "write", "Grep": "search", "Glob": "search", "SearchWeb": "search", "WebSearch": "search",
        "Agent": "task", "Task": "task", "TodoList": "task", "SetTodoList": "task", "TodoWrite": "task",
        "Skill": "generic", "AskUser": "generic", "Think": "generic",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """The version of the protocol with a time, which kimi-cli's lacks."""
        return any(r.get("type") == "metadata" and {"protocol_version", "created_at"} <= r.keys() for r in head.first)

    def id_of(self, path: Path) -> str:
        """The session's folder; for a subagent with its own name behind it."""
        if len(path.parts) < 4 or path.parts[-3] != "agents":
            return path.stem
        return path.parts[-4] if path.parts[-2] == "main" else f"{path.parts[-4]}:{path.parts[-2]}"

    # -- beside the wire -------------------------------------------------------------------------------------------

    def stamps(self, session: Session) -> object:
        """Return the states of the session's state file and of its folder of agents, which show a change."""
        return [state_of(path) for path in (_state(session.path), session.path.parent)]

    def beside(self, session: Session) -> Iterable[Item]:
        """The title and the place in `state.json`, and the wires of subagents."""
        path, me = session.path, session.path.parent.name
        if path.name != "wire.jsonl" or path.parents[1].name != "agents":
            return
        state = object_in(_state(path))
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
        """Return the time at which a record was written, recorded in milliseconds."""
        return when(record.get("time")) or when(record.get("created_at"))

    def read(self, record: Data) -> Iterator[Item]:
        kind = self.type(record)
        match kind:
            case "turn.prompt" | "turn.steer":
                yield from parts.typed(record.get("input"), dict_of(record.get("origin")), kind)
            case "context.append_message":
                yield from self._added(dict_of(record.get("message")))
            case "context.append_loop_event":
                yield from self._event(dict_of(record.get("event")))
            case "usage.record":
                beside = record.get("usageScope") == "session"
                yield from parts.spent(record.get("usage"), "", beside=beside)
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
                yield parts.retry(record, "failedAttempt", "maxAttempts", "errorMessage")
            case "turn.ended":
                yield from parts.ended(record)
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
            yield from parts.typed(message.get("content"), origin, "context.append_message")
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
                task = task_in(given)
                yield Use(
                    name=name, use_id=text_of(event.get("toolCallId")), input=given,
                    task=task if name in ("Agent", "Task") else None,
                )  # fmt: skip
                yield Count(TokenUsage(), step)
            case "tool.result":
                result = dict_of(event.get("result"))
                yield parts.result(text_of(event.get("toolCallId")), result.get("output"), result)
            case "step.end":
                yield from parts.spent(event.get("usage"), text_of(event.get("uuid")), beside=False)
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
        """Return whether a record is one of the program about itself; messages are its own once there was one."""
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
                yield parts.result(text_of(record.get("tool_call_id")), record.get("content"), record)
            case "system.version" as kind:
                yield Fact(version=record.get("version"))
                yield Skip(kind)
            case "turn.step.retrying":
                yield parts.retry(record, "failed_attempt", "max_attempts", "error_message")
            case "session.resume_hint" as kind:
                yield Fact(id=record.get("session_id"))
                yield Turn(begins=False, how="done")
                yield Skip(kind)
            case _:
                yield Say(Kind.UNKNOWN)


def _state(path: Path) -> Path:
    return path.parents[2] / "state.json" if len(path.parents) > 2 else path.with_name("state.json")


PROVIDER = KimiCode()
STREAM = KimiStream()

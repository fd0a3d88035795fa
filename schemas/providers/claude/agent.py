"""Claude Code's sessions: JSON lines, one for each content block of a response (formats/claude-code.md).

Each line of a response repeats its usage. What a user line really is, `classify` tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from schemas.clean import as_json, one_line
from schemas.message import NO_FLAGS, Flag, Kind, Tool, ToolStatus, ToolType
from schemas.provider import Format
from schemas.providers.claude.classify import (
    UserLine,
    attachment_says,
    classify,
    command_label,
    command_output,
    compaction_label,
    context_label,
    fold_reminders,
    media_part,
    media_parts,
    notification,
    system_says,
    tag,
    typed_text,
)
from schemas.providers.claude.files import AI, BOOKKEEPING, COMMAND, CUSTOM, LAST, RENAMED, SUMMARY, Located
from schemas.providers.claude.history import BELOW, TAKEN_BACK, Held, Rewinds, is_result
from schemas.providers.claude.published import PUBLISHED
from schemas.providers.kit.bases import Data
from schemas.providers.kit.blocks import arguments_of, texts_in
from schemas.providers.kit.history import History
from schemas.providers.kit.words import Answer, Count, Fact, Item, Link, Piece, Say, Skip, Task, Title, Total, Turn, Use
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, number, text_of, when

if TYPE_CHECKING:
    pass

_TELLING = frozenset(
    """progress custom-title ai-title summary last-prompt pr-link frame-link cost-state worktree-state relocated
    permission-mode queue-operation""".split()  # noqa: SIM905
)
"""Those of the program's types that say something of the session, or are links of the chain."""
_SILENT_SUBTYPES = frozenset({"session_start", "", "stop_hook_summary", "turn_duration"})
_TOOLS: dict[ToolType, str] = {
    "write": "write edit multiedit str_replace_editor write_file edit_file create_file append_to_file",
    "read": "read webfetch read_file view_file cat",
    "search": "grep glob websearch",
    "shell": "bash taskoutput killshell bashoutput killbash",
    "task": "notebookedit todowrite taskcreate taskupdate taskget tasklist",
    "generic": "enterplanmode exitplanmode askuserquestion skill lsp task agent",
}
"""Interchange note 5.1, in lower case, and what it forgot: Agent (Task's new name), and the task and shell families."""
USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_BLOCKS = frozenset({"text", "image", "document", "tool_result", "tool_reference"})
_NAMELESS = ("/clear", "/exit", "/model", "/login", "/usage")
"""Commands that name no session."""
_AGENT_ID = re.compile(r"agentId: ([A-Za-z0-9_-]{1,80})")
_INTERRUPTED = "[Request interrupted"
_REFUSED = ("User rejected tool use", "The user doesn't want to", "Error: The user doesn't want to")
_SILENT_DENIALS = [2, 1, 280]
"""The last version known not to say whether a use was denied before it ran (lab/faults/claude-5)."""
_PLAIN = (("speed", ("standard",)), ("service_tier", ("standard",)), ("inference_geo", ("global", "not_available")))
"""What changes the price of a call, and the words for what does not (faults f14)."""
_TEXT, _THINKING, _OK = Kind.TEXT, Kind.THINKING, ToolStatus.OK  # an enum's members take long to look up
_FACTS = {
    "cwd": "cwd", "gitBranch": "gitBranch", "requestId": "requestId", "effort": "effort",
    "permissionMode": "permissionMode", "promptSource": "promptSource", "apiErrorStatus": "apiErrorStatus",
    "isAbortedMidStream": "abortedMidStream", "attributionSkill": "skill", "attributionAgent": "agent",
    "attributionPlugin": "plugin", "attributionMcpServer": "mcpServer", "sourceToolUseID": "sourceToolUseId",
    "supersedesUuids": "supersedes",
}  # fmt: skip
_PROGRESS = (Skip("progress"),)


class Claude(Located):
    """Claude Code, from 1.0.98 to 2.1.332."""

    id = "claude"
    name = "Claude Code"
    verified = "real sessions of 1.0.98 to 2.1.132, genuine ones of 2.1.332; shapes between on made-up files"
    counting = (
        "Claude Code writes a line for each content block of a response and repeats the response's usage on each "
        "of them, so lines with one message id are one group, which counts once: of each figure the largest. "
        "Input does not include what was read from or written to the cache. What a process spent and no line shows "
        "(a compaction, small helpers) is counted from its own total, as in no record."
    )
    uncounted: ClassVar[Mapping[str, str]] = {
        "progress": "what is told of a subagent, whose responses are counted by themselves",
        "user": "what is told of a subagent, whose responses are counted by themselves",
        "system": "a report about responses, no response",
        "result": "a sum of responses, which are counted one by one",
    }
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Claude Code session, JSON lines", "a record with sessionId and uuid, parentUuid or a type of its own"),
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"uuid"', b'"sessionId"', b'"messageId"', b'"leafUuid"')
    resume, uuids = ("claude", "--resume"), True
    silent: ClassVar[frozenset[str]] = BOOKKEEPING - _TELLING
    history: ClassVar[type[History]] = Rewinds
    copies = False  # its history tells them by their uuids
    recount, answers = "largest", "first"
    tools: ClassVar[Mapping[str, ToolType]] = {name: kind for kind, names in _TOOLS.items() for name in names.split()}
    published = PUBLISHED
    starters: ClassVar[frozenset[str]] = frozenset({"Task", "Agent", "Workflow"})
    """Tools that start subagents."""
    said: ClassVar[type[Say]] = Say
    """The word for a text or a thinking, which `once` begins with its response."""

    def __init__(self) -> None:
        self._served: tuple[Data, str, TokenUsage | None, str] = {}, "", None, ""
        """The usage read last, with its model, and what they say."""
        self._kinds: dict[str, Callable[[Data], Iterable[Item]]] = {
            "user": self._user, "assistant": self._assistant, "system": self._system, "attachment": self._attachment,
            "queue-operation": self._queue, "compact_boundary": self._system, "progress": self._progress,
        }  # fmt: skip

    # -- records -------------------------------------------------------------------------------------------------------

    def time(self, record: Data) -> float | None:
        """Bookkeeping may be written much later, so it has none."""
        return when(record.get("timestamp")) if "uuid" in record else None

    def name_of(self, record: Data) -> str:
        """The record's uuid."""
        uuid = record.get("uuid")
        return uuid if type(uuid) is str else ""

    def setting(self, record: Data) -> Fact:
        return Fact(workspace_root=record.get("cwd"), branch=record.get("gitBranch"), version=record.get("version"))

    def facts(self, record: Data) -> Data:
        """What SessionData has no field for."""
        message = dict_of(record.get("message"))
        found = {"recordType": one_line(str(record.get("type")), 60)}
        found |= {key: record[name] for name, key in _FACTS.items() if record.get(name) not in (None, "")}
        more = {
            "origin": dict_of(record.get("origin")).get("kind"), "stopReason": message.get("stop_reason"),
            "stopSequence": message.get("stop_sequence"),
            "serviceTier": dict_of(message.get("usage")).get("service_tier"),
        }  # fmt: skip
        return found | {key: text for key, text in more.items() if isinstance(text, str) and text}

    def read(self, record: Data) -> Iterable[Item]:
        kind = record.get("type")
        reader = self._kinds.get(kind) if type(kind) is str else None
        return reader(record) if reader is not None else self._other(record, kind)

    # -- the agent's lines ---------------------------------------------------------------------------------------------

    def _assistant(self, record: Data) -> Iterator[Item]:
        message = record.get("message")
        if type(message) is str:  # faults f25
            message = {"content": message}
        if type(message) is not dict:
            yield Skip("assistant empty")
            return
        content, model = message.get("content"), message.get("model")
        if model == "<synthetic>" or record.get("isApiErrorMessage") is True:
            yield self.synthetic(record, content)
            return
        name = message.get("id") or record.get("requestId") or record.get("uuid")
        name, model = name if type(name) is str else "", model if type(model) is str else ""
        for block in content if type(content) is list else (content,):
            if (item := self._block(block, name, model)) is not None:
                yield item
        usage = message.get("usage")
        if type(usage) is dict:
            if self._served[:2] != (usage, model):  # the lines of a response repeat it
                self._served = usage, model, self.usage_of(usage), priced_as(model, usage)
            if (figures := self._served[2]) is not None:
                yield Count(figures, name, self._served[3])
            if usage.get("iterations"):
                yield from self._advised(usage["iterations"], name)

    def _block(self, block: object, name: str, model: str) -> Item | None:
        """A block of response `name`. Later lines may repeat it."""
        if type(block) is str:
            block = {"type": "text", "text": block}
        if type(block) is not dict:
            return None
        kind = block.get("type")
        if kind == "text":
            text = block.get("text")
            if type(text) is not str or not text or text.isspace():
                return None
            return self.said(_TEXT, text, "", model, "", (name, text))
        if kind == "thinking" or kind == "redacted_thinking":
            text = text_of(block.get("thinking"))
            seal = text or text_of(block.get("signature")) or text_of(block.get("data"))
            flags = NO_FLAGS if text else Flag.WITHHELD
            return self.said(_THINKING, text, "", model, "", (name, (0, seal)), flags=flags)
        kind = text_of(kind)
        if kind in USES:
            given, tool, task = arguments_of(block.get("input")), text_of(block.get("name")), None
            if tool in self.starters:
                kind = text_of(given.get("subagent_type")) or text_of(given.get("name"))
                task = Task(kind, text_of(given.get("description")), text_of(given.get("prompt")))
            return Use(name=tool, use_id=text_of(block.get("id")), model=model, input=given, task=task)
        if kind.endswith("tool_result"):
            return self.result({}, block, alone=False)
        if kind in ("image", "document"):
            return Say(Kind.TEXT, model=model, images=[media_part(block)])
        if kind == "fallback":
            models = (one_line(str(dict_of(block.get(key)).get("model")), 80) for key in ("from", "to"))
            return Say(Kind.NOTE, label="Model switched: " + " → ".join(models))
        return Say(Kind.UNKNOWN, as_json(block), f"assistant block {one_line(str(block.get('type')), 80)}")

    def _advised(self, iterations: object, name: str) -> Iterator[Item]:
        """The calls of an advisor, which a response's own figures leave out (faults f14); its other iterations repeat
        what those say.
        """
        for at, one in enumerate(iterations if type(iterations) is list else ()):
            if type(one) is dict and one.get("type") == "advisor_message" and (more := self.usage_of(one)) is not None:
                yield Count(more, f"{name}:advisor:{at}", priced_as(text_of(one.get("model")), one), beside=True)

    def usage_of(self, usage: Data) -> TokenUsage | None:
        """The figures of a call, which do not overlap; None if there is not one of them."""
        get = usage.get
        kept, details, hour, reasoning = get("cache_creation"), get("output_tokens_details"), None, None
        written = as_count(get("cache_creation_input_tokens"))
        if type(kept) is dict:
            hour = as_count(kept.get("ephemeral_1h_input_tokens"))
            if written is None:
                minutes = as_count(kept.get("ephemeral_5m_input_tokens"))
                written = None if hour is None and minutes is None else (hour or 0) + (minutes or 0)
        if type(details) is dict:
            reasoning = as_count(details.get("thinking_tokens"))
        given, said = as_count(get("input_tokens")), as_count(get("output_tokens"))
        read = as_count(get("cache_read_input_tokens"))
        if given is None and said is None and read is None and written is None:
            return None
        return TokenUsage(given, said, read, written, reasoning, hour)

    def synthetic(self, record: Data, content: object) -> Item:
        """What Claude Code wrote in the model's place: an API error, or a note."""
        text = texts_in(content).strip()
        error = record.get("error")
        if record.get("isApiErrorMessage") is True or type(error) is str or text.startswith("API Error"):
            kind, code = text_of(error).replace("_", " "), as_count(record.get("apiErrorStatus"))
            label = f"API error{f' {code}' if code else ''}{f' ({one_line(kind, 80)})' if kind else ''}"
            return Say(Kind.ERROR, text, label)
        label, body = notification(text)
        return Say(Kind.NOTE, body, label) if text else Skip("assistant empty")

    # -- a person's lines, and what is dressed like them ---------------------------------------------------------------

    def _user(self, record: Data) -> Iterator[Item]:
        message = record.get("message")
        content = message if type(message) is str else dict_of(message).get("content")
        if type(content) is not list:
            yield from self.typed(record, content)
            return
        results = [] if record.get("isCompactSummary") is True else [block for block in content if is_result(block)]
        for block in results:
            yield self.result(record, block, alone=len(results) == 1)
        if len(results) == len(content) > 0:
            return
        for item in self.typed(record, [block for block in content if not is_result(block)] if results else content):
            if results and isinstance(item, Say) and item.kind is Kind.PROMPT:
                item.kind = Kind.STEER  # what a person typed when refusing
            yield item
        for block in content:
            if type(block) is dict and text_of(block.get("type")) not in _BLOCKS:
                yield Say(Kind.UNKNOWN, as_json(block), f"user block {one_line(str(block.get('type')), 80)}")

    def typed(self, record: Data, content: object) -> Iterator[Item]:
        """What a person typed, and all that is dressed like it (formats/claude-code.md 5)."""
        line, text = classify(record, content)
        images = media_parts(content)
        if line is UserLine.TEAMMATE and record.get("isSidechain") is True:
            line = UserLine.PROMPT
        match line:
            case UserLine.PROMPT:
                label, body = notification(text) if text.lstrip().startswith(("<teammate", "<agent-m")) else ("", text)
                label = "plan" if text_of(record.get("planContent")) else label
                extra = {"injected": found} if (found := typed_text(content)[1]) else None
                yield Held(Kind.PROMPT, body, label, images=images, extra=extra, role="typed")
                yield Held(Kind.NOTE, label=BELOW)
            case UserLine.COMMAND:
                yield from command(text)
            case UserLine.OUTPUT:
                asks = record.get("turnOrigin") == "human"  # lab/faults/claude-3
                yield Say(Kind.OUTPUT, command_output(text), "Output", asks=asks)
            case UserLine.SUMMARY:
                parent = text_of(record.get("parentUuid")) or text_of(record.get("uuid"))
                yield Piece(Kind.COMPACTION, text, id=f"{parent}:compaction")
            case UserLine.INTERRUPT:
                label = "Interrupted during a tool use" if "for tool use" in text else "Interrupted"
                yield Say(Kind.INTERRUPT, text, label)
            case UserLine.NOTIFICATION | UserLine.TEAMMATE:
                yield from notified(text)
            case UserLine.CAVEAT | UserLine.EMPTY:
                yield Skip(f"user {line.name.lower()}")
            case _:
                yield Say(Kind.CONTEXT, texts_in(content), context_label(text), images=images)

    # -- results -------------------------------------------------------------------------------------------------------

    def result(self, record: Data, block: Data, *, alone: bool) -> Answer:
        """The result of a tool use; `alone`: what the record says beside it is of this one."""
        content, extra = block.get("content"), record.get("toolUseResult") if alone else None
        text = content if type(content) is str else texts_in(content, "\n")
        if text.endswith("</system-reminder>"):
            text = fold_reminders(text)[0]
        status = _OK
        if block.get("is_error") is True:
            status = _failure(record, text, extra)
            if text.startswith("Exit code "):
                text = text.partition("\n")[2]
        elif type(extra) is dict:
            if extra.get("interrupted") is True:
                status = ToolStatus.INTERRUPTED
            elif extra.get("backgroundTaskId") or extra.get("status") == "async_launched":
                status = ToolStatus.BACKGROUND
        agent = ""
        if type(extra) is dict:  # SendMessage wakes an agent that another use started (faults f23)
            agent = text_of(extra.get("agentId")) or text_of(extra.get("resumedAgentId"))
        if not agent and text.find("agentId: ", -4000) >= 0 and (found := _AGENT_ID.search(text[-4000:])):
            agent = found[1]
        return Answer(text_of(block.get("tool_use_id")), text, status, subagent=agent, details=(block, extra, record))

    def tool_type(self, name: str) -> ToolType:
        return self.tools.get(name.lower(), "unknown")

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use and its result: `toolUseResult` says more than the model got."""
        from schemas.providers.claude.tools import build_tool

        return build_tool(use, answer, path, self.tool_type(use.name))

    # -- beside the talk -----------------------------------------------------------------------------------------------

    def _system(self, record: Data) -> Iterator[Item]:
        subtype = text_of(record.get("subtype")) if record.get("type") == "system" else "compact_boundary"
        content = text_of(record.get("content"))
        if subtype == "compact_boundary":
            facts = dict_of(record.get("compactMetadata"))
            yield Piece(
                Kind.COMPACTION, label=compaction_label(facts), id=f"{text_of(record.get('uuid'))}:compaction",
                extra={"compaction": facts} if facts else None,
            )  # fmt: skip
        elif subtype == "local_command" and not content.lstrip().startswith("<local-command-"):
            yield from command(content.lstrip())
        elif subtype == "local_command":
            shown = tag(content, "local-command-stdout").strip()
            if shown.startswith("Session renamed to: "):
                yield Title(shown.removeprefix("Session renamed to: "), RENAMED)
            yield Say(Kind.OUTPUT, command_output(content), "Output")
        elif (said := system_says(record)) is not None:
            yield said
        elif subtype in _SILENT_SUBTYPES:
            spent = number(record.get("durationMs")) if subtype == "turn_duration" else None
            if spent is not None and 0 <= spent < 1e12:
                yield Turn(begins=False, seconds=spent / 1000)
            yield Skip(f"system {subtype}".strip())
        else:
            yield Say(Kind.UNKNOWN, label=f"system {subtype}")

    def _attachment(self, record: Data) -> Iterator[Item]:
        inner = dict_of(record.get("attachment"))
        kind = text_of(inner.get("type"))
        if kind == "queued_command":
            prompt = inner.get("prompt")
            line, text = classify(inner, prompt)
            if line in (UserLine.EMPTY, UserLine.META):
                yield Skip("attachment queued_command")
            elif inner.get("commandMode") == "task-notification" or line in (UserLine.NOTIFICATION, UserLine.TEAMMATE):
                yield from notified(text)
            else:
                extra = {"injected": found} if (found := typed_text(prompt)[1]) else None
                yield Held(Kind.STEER, text, images=media_parts(prompt), extra=extra, role="typed")
        else:
            yield attachment_says(inner) or Skip(f"attachment {one_line(kind, 60)}".strip())

    def _queue(self, record: Data) -> Iterator[Item]:
        text, time = text_of(record.get("content")), when(record.get("timestamp"))
        if text.lstrip().startswith("<task-notification>"):
            yield from (item for item in notified(text) if type(item) is Link)
        typed, operation = typed_text(text)[0], text_of(record.get("operation"))
        yield Held(Kind.STEER, typed, "Queued, not delivered", role=operation, time=time)
        yield Held(Kind.STEER, typed, time=time)
        yield Held(Kind.NOTE, label=TAKEN_BACK)
        yield Skip("queue-operation")

    def _progress(self, record: Data) -> Iterable[Item]:
        """What a tool use is at: only links of the chain, but for what says which subagent a use started."""
        data = record.get("data")
        if type(data) is not dict or data.get("type") != "agent_progress":
            return _PROGRESS
        return Link(text_of(record.get("parentToolUseID")), text_of(data.get("agentId"))), *_PROGRESS

    def _other(self, record: Data, kind: object) -> Iterator[Item]:
        """Records without a place in the talk: titles, links, totals, bookkeeping. Unknown types are shown."""
        match kind:
            case "custom-title" | "ai-title":
                yield Title(text_of(record.get("customTitle")), CUSTOM)
                yield Title(text_of(record.get("aiTitle")), AI)
            case "summary":
                yield Title(text_of(record.get("summary")), SUMMARY, hash(text_of(record.get("leafUuid"))))
            case "last-prompt":
                yield Title(text_of(record.get("lastPrompt")), LAST)
            case "pr-link" | "frame-link":
                yield Fact(link=text_of(record.get("prUrl")))
                yield Fact(link=text_of(record.get("frameUrl")))
            case "cost-state":
                for name, usage in model_usage(record.get("modelUsage")).items():
                    yield Total(usage, name, beside=True)
            case "worktree-state" | "relocated":
                inner = dict_of(record.get("worktreeSession"))
                yield Fact(worktree=text_of(inner.get("worktreePath")) or text_of(record.get("relocatedCwd")))
            case "permission-mode" if mode := text_of(record.get("permissionMode")):
                yield Fact(permissionMode=mode)
                time = when(record.get("timestamp"))
                yield Held(Kind.NOTE, label=f"Permission mode: {mode}", id=mode, time=time, role="mode")
                return
        name = "(no type)" if kind is None else str(kind)
        yield Skip(name) if name in BOOKKEEPING else Say(Kind.UNKNOWN, label=name)

    def same_model(self, one: str, other: str) -> bool:
        """A date, the mark of a longer context and what else changes the price stand in one of them only."""
        return not other or bare_model(one) == bare_model(other)


# -- parts of records --------------------------------------------------------------------------------------------------


def priced_as(model: str, usage: Data) -> str:
    """The model, with what makes its calls cost something else than the model's own price says."""
    get, marks = usage.get, []
    for name, plain in _PLAIN:
        if (said := get(name)) is not None and said not in plain and (mark := text_of(said)):
            marks.append(mark)
    served = get("server_tool_use")
    if type(served) is dict and as_count(served.get("web_search_requests")):
        marks.append("web search")
    return f"{model} ({', '.join(marks)})" if marks and model else model


def bare_model(name: str) -> str:
    """A model's name without its date and marks."""
    name = name.partition("[")[0].partition(" (")[0]
    head, _, date = name.rpartition("-")
    return head if len(date) == 8 and date.isdigit() else name


def model_usage(value: object) -> dict[str, TokenUsage]:
    """The figures of a `modelUsage`, by model."""
    keys = (
        "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "thinkingTokens",
    )  # fmt: skip
    found = {name: TokenUsage(*(as_count(dict_of(v).get(k)) for k in keys)) for name, v in dict_of(value).items()}
    return {one_line(name, 100): usage for name, usage in found.items() if any(usage)}


def _failure(record: Data, text: str, extra: object) -> ToolStatus:
    """How a use ended whose result is an error. Since 2.1.3xx a denial says that it came before the run."""
    said, denial = extra if type(extra) is str else "", record.get("toolDenialKind")
    if denial == "interrupted" or text.startswith(_INTERRUPTED) or said.startswith(_INTERRUPTED):
        return ToolStatus.INTERRUPTED
    if not (text.startswith(_REFUSED) or said.startswith(_REFUSED) or type(denial) is str):
        return ToolStatus.ERROR
    late = denial == "user-rejected" and record.get("toolDenialBeforeRun") is not True
    version = text_of(record.get("version")).split(".")
    numbers = [int(n) if n.isascii() and n.isdigit() and len(n) < 9 else -1 for n in version]
    return ToolStatus.INTERRUPTED if late and numbers > _SILENT_DENIALS else ToolStatus.DENIED


def command(text: str) -> Iterator[Item]:
    """A slash command, a `!` command or a note, which names a session that nothing else does."""
    label = command_label(text)
    if label.split(" ", 1)[0] not in _NAMELESS:
        yield Title(label, COMMAND, first=True)
    yield Say(Kind.COMMAND, label, one_line(label))


def notified(text: str) -> Iterator[Item]:
    """A background task's end, or mail."""
    label, body = notification(text)
    yield Say(Kind.NOTE, body, label)
    if (use := tag(text, "tool-use-id")) and (agent := tag(text, "task-id")):
        yield Link(use.strip(), agent.strip())

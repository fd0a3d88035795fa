"""GitHub Copilot CLI: a log of events a session, its subagents among them (formats/others.md 5, found-others.md 4).

Since 1.0.102 each response has a `session.usage_record`, ahead of its message. Before, a message told its output only
and everything else stood in the totals of a shutdown, which go on over resumes and lack what compactions took.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.diffs import FileDiff
from schemas.folders import bytes_in, state_of
from schemas.message import Flag, Kind, Part, Tool, ToolStatus
from schemas.provider import Format, Head
from schemas.providers.copilot.running import HOMES, RUNNING, stated, waits
from schemas.providers.kit.bases import Data, Lines, diff_of
from schemas.providers.kit.blocks import arguments_of, image_part, inclusive_figures, task_in
from schemas.providers.kit.history import History, Placed
from schemas.providers.kit.words import Answer, Count, Dropped, Fact, Item, Link, Say, Skip, Title, Total, Turn, Use
from schemas.published import Published
from schemas.records import Record, read_record
from schemas.slices import Listing
from schemas.usage import TokenUsage
from schemas.values import dict_of, list_of, text_of, whole

if TYPE_CHECKING:
    from schemas.session import Session


class Thought(Say):
    """Thinking, which an event of its own may tell besides the message."""


class Compaction(Count):
    """Tokens of a compaction, which a shutdown's totals leave out."""


class Metrics(Total):
    """A shutdown's totals of a model."""


class Events(History):
    """The policy that finds the agent of each event, and drops thoughts that another event repeats."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._thoughts: dict[int, object] = {}  # told once, with the type of the event that told it
        self._compacted: defaultdict[str, TokenUsage] = defaultdict(TokenUsage)

    def whose(self, record: Data) -> str:
        if record.get("type") in ("subagent.completed", "subagent.failed"):
            return ""  # the tool use that started it is told
        return text_of(record.get("agentId")) or text_of(dict_of(record.get("data")).get("parentToolCallId"))

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        match item:
            case Thought():
                kind = record[3].get("type")
                if self._thoughts.setdefault(hash(item.text), kind) == kind:
                    yield record, number, item
                else:
                    del self._thoughts[hash(item.text)]
            case Compaction():
                self._compacted[item.model] += item.usage
                yield record, number, item
            case Metrics():
                yield record, number, Total(item.usage + self._compacted[item.name], item.name)


class Copilot(Lines):
    """Copilot CLI; what `--output-format json` prints has the same events and more that last for a moment."""

    id = "copilot"
    name = "Copilot CLI"
    published = Published(names=("copilot-cli",), seller="github-copilot")
    verified = "genuine sessions of 1.0.32 and 1.0.102; older shapes on made-up files"
    counting = (
        "Copilot CLI writes a usage record for each response; its input includes the cache, which is taken apart here. "
        "What is told in totals at the end of a run only (before 1.0.102) counts there; compactions tell theirs."
    )
    formats = (
        Format("Copilot CLI events, JSON lines", "session.start with a sessionId, or events with parentId and data"),
    )
    homes = HOMES
    files = ("*/events.jsonl", "*.jsonl")
    history = Events
    recount = "largest"
    marks = (b'"data"',)
    resume = ("copilot", "--resume")
    running, stated, waits = RUNNING, staticmethod(stated), staticmethod(waits)
    listing = Listing()
    tools = {
        "bash": "shell", "powershell": "shell", "local_shell": "shell", "read_bash": "shell", "write_bash": "shell",
        "stop_bash": "shell", "list_bash": "shell", "read_powershell": "shell", "write_powershell": "shell",
        "stop_powershell": "shell", "list_powershell": "shell", "view": "read", "web_fetch": "read",
        "create": "write", "edit": "write", "str_replace_editor": "write", "apply_patch": "write", "grep": "search",
        "rg": "search", "glob": "search", "web_search": "search", "task": "task", "read_agent": "task",
        "write_agent": "task", "list_agents": "task", "update_todo": "task", "report_intent": "generic",
        "ask_user": "generic", "exit_plan_mode": "generic", "skill": "generic", "sql": "generic",
        "store_memory": "generic", "task_complete": "generic",
    }  # fmt: skip
    silent = frozenset({
        "assistant.turn_end", "assistant.turn_start", "hook.end", "hook.start", "human_response.recorded",
        "permission.requested", "session.binary_asset", "session.compaction_start", "session.context_changed",
        "session.mode_changed", "session.mode_notice_delivered", "session.permissions_changed",
        "session.plan_changed", "session.remote_steerable_changed", "session.todos_changed",
        "session.usage_checkpoint", "session.workspace_file_changed", "subagent.configured", "subagent.deselected",
        "subagent.selected", "tool.search_activated",
    })  # fmt: skip

    def detect(self, head: Head) -> bool:
        return any(
            isinstance(data := event.get("data"), dict) and "timestamp" in event and "." in text_of(event.get("type"))
            and ("parentId" in event or (event["type"] == "session.start" and isinstance(data.get("sessionId"), str)))
            for event in head.first
        )  # fmt: skip

    def id_of(self, path: Path) -> str:
        """The folder's name, or that of the file where a session has none (`session-state/<id>.jsonl`)."""
        return path.parent.name if path.name == "events.jsonl" else path.stem

    def stamps(self, session: Session) -> object:
        return state_of(session.path.with_name("workspace.yaml"))

    def beside(self, session: Session) -> Iterable[Item]:
        yield Title(name_in(bytes_in(session.path.with_name("workspace.yaml")).decode("utf-8", "replace")), 3)

    def read(self, record: Data) -> Iterator[Item]:
        kind, data = self.type(record), dict_of(record.get("data"))
        text, lasts = text_of(data.get("content")), record.get("ephemeral") is not True
        match kind:
            case "session.start" | "session.resume":
                place = dict_of(data.get("context"))
                yield Fact(
                    id=data.get("sessionId"), version=data.get("copilotVersion"), workspace_root=place.get("cwd"),
                    branch=place.get("branch"), model=data.get("selectedModel"),
                )  # fmt: skip
                if kind == "session.resume":
                    yield Say(Kind.NOTE, label="Resumed")
                    if data.get("continuePendingWork") is not True and data.get("sessionWasActive") is not True:
                        yield Turn(begins=False, failed=True)
            case "user.message":
                yield self._prompt(record, data, text)
            case "system.message":
                label = "Instructions" if data.get("role") == "developer" else "System prompt"
                yield Say(Kind.CONTEXT, text, label=label)
            case "skill.invoked":
                yield Say(Kind.CONTEXT, text, label=f"Skill {text_of(data.get('name'))}")
            case "system.notification":
                what = text_of(dict_of(data.get("kind")).get("type")).replace("_", " ").capitalize()
                yield Say(Kind.NOTE, _TAGS.sub("", text).strip(), label=what or "Notification")
            case "session.usage_record":
                said = dict_of(data.get("usage"))
                name = text_of(dict_of(said.get("accounting")).get("usageId")) or text_of(said.get("apiCallId"))
                yield Skip(kind)
                yield Count(inclusive_figures(said, *_FIGURES), name, text_of(said.get("model")))
            case "assistant.message":
                model = text_of(data.get("model"))
                if thought := text_of(data.get("reasoningText")):
                    yield Thought(Kind.THINKING, thought, model=model)
                elif data.get("reasoningOpaque") or data.get("encryptedContent"):
                    yield Say(Kind.THINKING, model=model, flags=Flag.WITHHELD)
                if text.strip():
                    yield Say(Kind.TEXT, text, model=model)
                for request in map(dict_of, list_of(data.get("toolRequests"))):
                    yield _use(request, "name", model)
                yield Count(inclusive_figures(data, "", "outputTokens"), text_of(data.get("apiCallId")), model)
            case "assistant.reasoning" if lasts and text:
                yield Thought(Kind.THINKING, text)
            case "tool.user_requested":
                yield Say(Kind.COMMAND, f"! {text_of(dict_of(data.get('arguments')).get('command'))}")
            case "tool.execution_start" if text_of(data.get("toolCallId")) and text_of(data.get("toolName")):
                yield _use(data, "toolName", text_of(data.get("model")))  # the message that asked for it may be lost
                yield Skip(kind)
            case "tool.execution_complete":
                yield self._result(data)
            case "permission.completed":
                if text_of(dict_of(data.get("result")).get("kind")).startswith("denied"):
                    yield Answer(text_of(data.get("toolCallId")), None, ToolStatus.DENIED)
                yield Skip(kind)
            case "subagent.started":
                yield Fact(model=text_of(data.get("model")))
                yield Link(text_of(data.get("toolCallId")), text_of(record.get("agentId")))
                yield Turn()
            case "subagent.completed" | "subagent.failed":
                if kind == "subagent.failed" or data.get("cancelled") is True:
                    status = ToolStatus.INTERRUPTED if data.get("cancelled") is True else ToolStatus.ERROR
                    yield Answer(text_of(data.get("toolCallId")), None, status)
                yield Skip(kind)
            case "session.model_change":
                yield Fact(model=text_of(data.get("newModel")))
            case "session.title_changed":
                yield Title(text_of(data.get("title")), 2)
            case "session.compaction_complete":
                took = dict_of(data.get("compactionTokensUsed"))
                sizes = {"tokens before": data.get("preCompactionTokens"), "after": data.get("postCompactionTokens")}
                if data.get("success") is False:
                    yield Say(Kind.NOTE, text_of(data.get("error")), label="Compaction failed")
                else:
                    known = (f"{size:,} {when}" for when, size in sizes.items() if whole(size) is not None)
                    yield Say(Kind.COMPACTION, text_of(data.get("summaryContent")), ", ".join(["Compacted", *known]))
                # The first versions had other names.
                names = _FIGURES if "inputTokens" in took else ("input", "output", "cachedInput")
                yield Compaction(inclusive_figures(took, *names), model=text_of(took.get("model")))
            case "session.shutdown":
                for model, said in dict_of(data.get("modelMetrics")).items():
                    yield Metrics(inclusive_figures(dict_of(dict_of(said).get("usage")), *_FIGURES), model)
                yield Skip(kind)
            case "abort":
                yield Say(Kind.INTERRUPT, label="Interrupted")
                yield Turn(begins=False, failed=True)
            case "session.error":
                what = text_of(data.get("errorType")).replace("_", " ")
                yield Say(Kind.ERROR, text_of(data.get("message")), label="Error" + f", {what}" * (what != "query"))
            case "session.snapshot_rewind":
                yield Dropped(since=text_of(data.get("upToEventId")))
            case "session.info" | "session.warning" | "session.truncation" | "session.task_complete":
                label = kind.removeprefix("session.").replace("_", " ").capitalize()
                yield Say(Kind.NOTE, text_of(data.get("message")) or text_of(data.get("summary")), label=label)
            case "result" if text_of(record.get("sessionId")):  # the last line of what is printed
                yield Fact(id=record.get("sessionId"))
            case _ if lasts and kind not in ("assistant.reasoning", "tool.execution_start"):
                yield Say(Kind.UNKNOWN)

    def same_model(self, one: str, other: str) -> bool:
        """Calls of subagents that tell only their output name no model; a shutdown's totals have them in."""
        return one in ("", other)

    def _prompt(self, record: Data, data: Data, text: str) -> Say:
        """Read a prompt: a person's text, the task of a subagent, or a text that the program put in."""
        source, attached = text_of(data.get("source")), [dict_of(a) for a in list_of(data.get("attachments"))]
        names = [name for a in attached if (name := text_of(a.get("displayName")) or text_of(a.get("path")))]
        extra, images = {"attachments": names} if names else None, _images(attached)
        tasked = source.startswith("agent-") and bool(text_of(record.get("agentId")))
        program = source.startswith(("skill", "agent-", "autopilot", "system")) or text.startswith("<skill-context")
        if (program or data.get("isAutopilotContinuation") is True) and not tasked:
            return Say(Kind.CONTEXT, text, label="Added by Copilot", images=images, extra=extra)
        kind = Kind.STEER if data.get("delivery") == "steering" else Kind.PROMPT
        return Say(kind, text, images=images, extra=extra, id=text_of(record.get("id")))

    def _result(self, data: Data) -> Item:
        said, error = data.get("result"), dict_of(data.get("error"))
        result = dict_of(said)
        detailed = text_of(result.get("detailedContent"))
        patch = detailed if detailed.lstrip().startswith("diff --git") else ""
        text = text_of(said) or ("" if patch else detailed) or text_of(result.get("content"))
        text = text or text_of(error.get("message"))
        code = whole(dict_of(data.get("shellExecution")).get("exitCode"))
        if ended := _ENDED.search(text):
            text, code = text[: ended.start()], int(ended[1]) if code is None else code
        if data.get("isUserRequested") is True:
            return Say(Kind.OUTPUT, text, label=f"exit {code}" if code else "Output")
        if data.get("success") is False:
            status = ToolStatus.DENIED if error.get("code") in ("denied", "rejected") else ToolStatus.ERROR
        elif _GOES_ON.search(text):
            status = ToolStatus.BACKGROUND
        else:
            status = ToolStatus.ERROR if code else ToolStatus.OK
        images = _images(map(dict_of, list_of(result.get("contents"))))
        return Answer(text_of(data.get("toolCallId")), text, status, code, images=images, details=patch)

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The patch of an edit, which knows the lines; else what the input says."""
        patch = text_of(answer.details) if answer is not None else ""
        if tool.type == "write" and "old_str" in tool.input and patch:
            return diff_of(text_of(tool.input.get("path")), patch)
        return super().diffs(tool, answer)


_FIGURES = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
_TAGS = re.compile(r"</?system_notification>")
_ENDED = re.compile(r"\n?<(?:shellId: \S+ completed|exited) with exit code (-?\d{1,6})>\s*\Z")
_GOES_ON = re.compile(r"<command with shellId: \S+ is still running after [^\n]*\Z")


def _use(said: Data, name: str, model: str) -> Use:
    tool, given = text_of(said.get(name)), arguments_of(said.get("arguments"))
    return Use(
        name=tool, use_id=text_of(said.get("toolCallId")), input=given, model=model,
        type="generic" if text_of(said.get("mcpServerName")) else "unknown",
        task=task_in(given) if tool == "task" else None,
    )  # fmt: skip


def _images(files: Iterable[Data]) -> list[Part]:
    shown = (file for file in files if text_of(file.get("mimeType")).startswith("image/"))
    return [image_part(file.get("mimeType"), file.get("data"), file.get("displayName")) for file in shown]


def name_in(text: str) -> str:
    """The `name` in a `workspace.yaml`: plain, quoted, or a block of lines."""
    found = re.search(r"^name:[ \t]*(.*(?:\n[ \t]+.*|\n(?=[ \t\n]))*)", text, re.MULTILINE)
    said = " ".join(re.sub(r"^[|>]\S*", "", found[1]).split()) if found else ""
    if said[:1] == '"' == said[-1:] and (value := read_record(f'{{"name":{said}}}'.encode())):
        return text_of(value.get("name"))
    return said[1:-1].replace("''", "'") if said[:1] == "'" == said[-1:] else said


PROVIDER = Copilot()

"""OpenHands: a folder a conversation, with a file an event, and the state with the tokens (found-others.md 10)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import ClassVar
from uuid import UUID

from schemas.diffs import FileDiff, added_file, from_strings
from schemas.folders import bytes_in, entries_of, object_in
from schemas.message import Kind, Lack, Tool, ToolStatus
from schemas.provider import Format, Head, Location, Problem, SessionFile
from schemas.providers.kit.bases import Data, Home, Stream, Tree
from schemas.providers.kit.blocks import arguments_of, images_in, task_in, texts_in
from schemas.providers.kit.files import Files
from schemas.providers.kit.words import Answer, Child, Count, Fact, Item, Say, Skip, Task, Use
from schemas.slices import Listing
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, when, whole

_EVENTS = frozenset(
    """SystemPromptEvent MessageEvent ActionEvent ObservationEvent AgentErrorEvent UserRejectObservation PauseEvent
    ConversationErrorEvent Condensation CondensationRequest CondensationSummaryEvent TokenEvent
    ConversationStateUpdateEvent LLMConvertibleEvent StreamingDeltaEvent HookExecutionEvent""".split()  # noqa: SIM905
)
_STATE = "base_state.json"
_HEX = re.compile(r"[0-9a-f]{32}")
_ASIDE = ("security_risk", "summary")
"""What the program asks for beside a tool's own arguments."""


class OpenHands(Tree):
    """OpenHands' conversations."""

    id = "openhands"
    name = "OpenHands"
    verified = "genuine conversations of CLI 1.16.0"
    counting = (
        "OpenHands keeps the tokens of each response in the conversation's state; its input includes the cache, which "
        "is taken apart here. What a subagent took counts in its own conversation."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"execution_status"', b'"source"', b'"agent"')
    formats: ClassVar[tuple[Format, ...]] = (
        Format("OpenHands conversation, JSON files", "base_state.json with stats.usage_to_metrics, beside events"),
    )
    homes = (Home("$OPENHANDS_CONVERSATIONS_DIR", "OPENHANDS_CONVERSATIONS_DIR"), Home(".openhands/conversations"))
    files: ClassVar[tuple[str, ...]] = (f"*/{_STATE}",)
    recount = "largest"
    resume: ClassVar[tuple[str, ...]] = ("openhands", "--resume")
    listing = Listing(r" *(\d+)\t")
    tools = {
        "terminal": "shell", "execute_bash": "shell", "file_editor": "write", "str_replace_editor": "write",
        "apply_patch": "write", "planning_file_editor": "write", "grep": "search", "glob": "search", "task": "task",
        "task_tracker": "task", "delegate": "task", "browser_navigate": "read", "browser_get_content": "read",
        "finish": "generic", "think": "generic", "invoke_skill": "generic",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """A conversation's state; where that is damaged, or an event has its place, the events tell it."""
        state = dict_of(head.document)
        if "execution_status" in state and isinstance(dict_of(state.get("stats")).get("usage_to_metrics"), dict):
            return True
        return head.path == _source_of(_folder_of(head.path)) and any(map(_is_event, _first_in(head.path)))

    def id_of(self, path: Path) -> str:
        """The folder's name, in the form that the state has it in."""
        name = _folder_of(path).name
        return str(UUID(name)) if _HEX.fullmatch(name) else name

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The conversations: their states, or the first event where there is none."""
        for folder in entries_of(location.path, problems, is_root=True):
            if folder.is_dir() and (path := _source_of(Path(folder.path))) is not None:
                stat = path.stat()
                yield SessionFile(self.id, str(path), self.id_of(path), stat.st_size, stat.st_mtime_ns)

    def gather(self, path: Path, files: Files) -> Iterable[Data]:
        """The state's facts, the events in order, the subagents, and the figures of each response."""
        folder = _folder_of(path)
        state = files.document(folder / _STATE, needed=True)
        metrics = dict_of(state.get("stats")).get("usage_to_metrics")
        events = list(files.documents(folder / "events", growing=True))
        if not events and not isinstance(metrics, dict):
            return
        yield {"kind": "session", "workspace": state.get("workspace")}
        for _, event in events:
            yield event
        children = [one.name for one in sorted(folder.glob("subagents/*")) if _source_of(one) is not None]
        for name in children:
            child = folder / "subagents" / name
            first = [files.document(child / "events" / one) for one in files.names(child / "events")[:5]]
            asked = next((dict_of(one.get("llm_message")) for one in first if one.get("source") == "user"), {})
            prompt = texts_in(asked.get("content"))
            yield {"kind": "subagent", "name": name, "path": str(_source_of(child)), "prompt": prompt}
        for purpose, spent in dict_of(metrics).items():
            if children and purpose.startswith("task:"):
                continue  # the same figures are the subagent's own
            for usage in list_of(dict_of(spent).get("token_usages")):
                yield {"kind": "usage", "beside": purpose != "agent", **dict_of(usage)}

    # -- records ---------------------------------------------------------------------------------------------------

    def type(self, record: Data) -> str:
        """The event's kind."""
        return text_of(record.get("kind")) or "(no kind)"

    def time(self, record: Data) -> float | None:
        """Return the time of an event; events have the local time of the machine."""
        return when(record.get("timestamp"), local=True)

    def name_of(self, record: Data) -> str:
        """The event's id."""
        return text_of(record.get("id"))

    def read(self, record: Data) -> Iterator[Item]:
        kind = self.type(record)
        match kind:
            case "session":
                place = dict_of(record.get("workspace")).get("working_dir")
                yield Fact(workspace_root=place)
                yield Skip(kind)
            case "SystemPromptEvent":
                parts = [record.get("system_prompt"), record.get("dynamic_context")]
                yield Say(Kind.CONTEXT, texts_in(parts), label="System prompt")
            case "MessageEvent":
                yield from self._message(record)
            case "ActionEvent":
                yield from self._action(record)
            case "ObservationEvent":
                yield _result(text_of(record.get("tool_call_id")), dict_of(record.get("observation")))
            case "AgentErrorEvent":
                yield Answer(text_of(record.get("tool_call_id")), text_of(record.get("error")), ToolStatus.ERROR)
            case "UserRejectObservation":
                reason = text_of(record.get("rejection_reason"))
                yield Answer(text_of(record.get("tool_call_id")), reason, ToolStatus.DENIED)
            case "ConversationErrorEvent":
                yield Say(Kind.ERROR, text_of(record.get("detail")), label=text_of(record.get("code")) or "Error")
            case "PauseEvent":
                yield Say(Kind.INTERRUPT, label="Paused")
            case "Condensation":
                yield Say(Kind.COMPACTION, text_of(record.get("summary")))
            case "subagent":
                task = Task("", "", text_of(record.get("prompt")))
                yield Child(text_of(record.get("name")), Path(text_of(record.get("path"))), task=task)
                yield Skip(kind)
            case "usage":
                yield from _figures(record)
            case _ if kind in _EVENTS:
                yield Skip(kind)
            case _:
                yield Say(Kind.UNKNOWN)

    def _message(self, record: Data) -> Iterator[Item]:
        message, added = dict_of(record.get("llm_message")), texts_in(record.get("extended_content"))
        content = message.get("content")
        if message.get("role") == "user":
            yield Say(Kind.PROMPT, texts_in(content), images=images_in(content))
            if added:
                yield Say(Kind.CONTEXT, added, label="Added")
            return
        thought = text_of(message.get("reasoning_content")) or text_of(record.get("reasoning_content"))
        if thought.strip():
            yield Say(Kind.THINKING, thought)
        yield Say(Kind.TEXT, texts_in(content))
        yield Count(TokenUsage(), text_of(record.get("llm_response_id")))

    def _action(self, record: Data) -> Iterator[Item]:
        call, name = dict_of(record.get("tool_call")), text_of(record.get("tool_name"))
        given = arguments_of(call.get("arguments"), "raw") or {
            key: value for key, value in dict_of(record.get("action")).items() if key != "kind"
        }
        given = {key: value for key, value in given.items() if key not in _ASIDE}
        if (thought := text_of(record.get("reasoning_content"))).strip():
            yield Say(Kind.THINKING, thought)
        if (text := texts_in(record.get("thought"))).strip():
            yield Say(Kind.TEXT, text)
        task = task_in(given)
        # The editor also shows files.
        reads = name in ("file_editor", "str_replace_editor") and given.get("command") == "view"
        yield Use(
            name="view" if reads else name, use_id=text_of(record.get("tool_call_id")), input=given,
            type="read" if reads else "unknown", task=task if name == "task" else None,
        )  # fmt: skip
        yield Count(TokenUsage(), text_of(record.get("llm_response_id")))

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """Return the changes of a tool, from the text before and after, else from the input."""
        details, given = dict_of(answer.details) if answer is not None else {}, tool.input
        path, old, new = (text_of(given.get("path")), details.get("old_content"), details.get("new_content"))
        if tool.type != "write" or tool.status not in (ToolStatus.OK, ToolStatus.PENDING):
            return []
        if isinstance(new, str):
            return [from_strings(path, old, new) if isinstance(old, str) else added_file(path, new)]
        return super().diffs(tool, answer)


class OpenHandsStream(Stream, OpenHands):
    """`openhands --headless --json`: the events, among lines for people."""

    formats = (Format("OpenHands, `--headless --json`", "events with a kind, a source and a timestamp"),)
    lacks = frozenset({Lack.TOKENS})
    unended = ""

    def prints(self, record: Data) -> bool:
        """An event of a kind that is its own."""
        return _is_event(record)


def _is_event(record: Data) -> bool:
    kind = record.get("kind")
    return isinstance(kind, str) and kind in _EVENTS and "timestamp" in record and "source" in record


def _folder_of(path: Path) -> Path:
    """The folder of the conversation to which a state or an event belongs."""
    return path.parents[1] if path.parent.name == "events" and len(path.parents) > 1 else path.parent


def _source_of(folder: Path) -> Path | None:
    """The file by which a conversation is opened: its state, or its first event where there is none."""
    if bytes_in(state := folder / _STATE, 1):
        return state
    return min(folder.glob("events/event-*.json"), default=None)


def _first_in(path: Path) -> Iterator[Data]:
    """The first events of a conversation."""
    yield from map(object_in, sorted(_folder_of(path).glob("events/event-*.json"))[:5])


def _result(use_id: str, observation: Data) -> Answer:
    """The result of a tool use."""
    text, code = texts_in(observation.get("content"), "\n"), whole(observation.get("exit_code"))
    failed = observation.get("is_error") is True or bool(code) or observation.get("timeout") is True
    status = ToolStatus.ERROR if failed else ToolStatus.OK
    kept = {key: observation.get(key) for key in ("old_content", "new_content")}
    return Answer(use_id, text, status, code, images=images_in(observation.get("content")), details=kept)


def _figures(record: Data) -> Iterator[Item]:
    names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    given, output, read, written, thought = (as_count(record.get(name)) for name in names)
    fresh = None if given is None else max(0, given - (read or 0) - (written or 0))
    if any((given, output)):
        model, beside = text_of(record.get("model")), record.get("beside") is True
        name = text_of(record.get("response_id"))
        yield Count(TokenUsage(fresh, output, read, written, thought), name, model, beside=beside)
    yield Skip("usage")


PROVIDER = OpenHands()
STREAM = OpenHandsStream()

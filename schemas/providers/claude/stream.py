"""`claude -p --output-format stream-json` (or json): one run, with the subagents within it (formats/streams.md 2).

Its lines repeat the usage of their responses; a `result` has the turn's figures, and running totals by model that
include subagents and what no line shows. Of a subagent's lines `parent_tool_use_id` names the use that started it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.clean import as_json, one_line
from schemas.message import Kind, Lack, ToolStatus
from schemas.provider import Format
from schemas.providers.claude import USES, Claude, bare_model, model_usage
from schemas.providers.claude.classify import UserLine, classify, retry_label, system_says
from schemas.providers.kit.bases import Data, Stream
from schemas.providers.kit.blocks import images_in, texts_in
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Answer, Count, Fact, Held, Item, Piece, Say, Skip, Total, Turn, Use
from schemas.usage import TokenUsage, total_usage
from schemas.values import dict_of, list_of, number, text_of, whole

if TYPE_CHECKING:
    from schemas.records import Record
    from schemas.session import Session

_QUIET = frozenset(
    """plugin_install files_persisted session_state_changed background_tasks_changed commands_changed thinking_tokens
    memory_recall elicitation_complete mirror_error worker_shutting_down control_request_progress hook_started
    hook_progress task_progress task_started auth_status prompt_suggestion conversation_reset tool_progress
    subagent_token_usage tool_use_summary control_request control_response control_cancel_request keep_alive""".split()  # noqa: SIM905
)
"""Types and subtypes that hold nothing to read."""
_OTHERS = frozenset({"sessionId", "qwen_code_version", "reasoning_effort"})
"""What lines have that are Claude Code's own files', or another program's."""
_ENDS = {
    "completed": ToolStatus.OK, "failed": ToolStatus.ERROR, "killed": ToolStatus.INTERRUPTED,
    "stopped": ToolStatus.INTERRUPTED,
}  # fmt: skip
_PIECES = {
    "text": (Kind.TEXT, "text"), "text_delta": (Kind.TEXT, "text"), "thinking": (Kind.THINKING, "thinking"),
    "thinking_delta": (Kind.THINKING, "thinking"), "redacted_thinking": (Kind.THINKING, "thinking"),
    "input_json_delta": (Kind.TOOL, "partial_json"),
}  # fmt: skip
"""What a block or a delta of a type is a piece of, and where its text stands."""
_EVENTS = frozenset(
    """message_start message_delta message_stop content_block_start content_block_stop ping goal_state
    signature_delta citations_delta compaction_delta""".split()  # noqa: SIM905
)
_SETTING = {
    "permissionMode": "permissionMode", "output_style": "outputStyle", "apiKeySource": "apiKeySource",
    "fast_mode_state": "fastMode", "effort": "effort", "model": "initModel",
}  # fmt: skip
_RESULT = {
    "num_turns": "turns", "duration_api_ms": "apiMilliseconds", "ttft_ms": "firstTokenMilliseconds",
    "stop_reason": "stopReason", "terminal_reason": "terminalReason", "subtype": "result",
}  # fmt: skip


WOKEN = Held(Kind.NOTE, role="woken")
"""Something other than a person lets the agent go on."""


# -- words of its own: a delta does not say of which response it is, nor a line whether its block was written ----------


@dataclass(slots=True)
class Delta(Piece):
    """A piece that is added to block `index` of the response that is being written."""

    index: int | None = None
    begins: bool = False
    """Whether the block begins."""


@dataclass(slots=True)
class Started(Use):
    """A tool use of which only the name is known."""

    index: int | None = None


@dataclass(slots=True)
class Block(Say):
    """A text or a thinking of a response, complete."""

    once: tuple[str, Hashable] = ("", "")
    response: str = ""
    """The response's id, where `once` does not begin with it."""


@dataclass(slots=True)
class Event(Use):
    """An event of a task: a note where no tool use is known that started it, else its end answers the use."""

    kind: Kind = Kind.NOTE
    task_id: str = ""
    ended: bool = False
    ambient: bool = False


@dataclass(slots=True)
class Result(Say):
    """A turn ends."""

    models: dict[str, TokenUsage] | None = None
    usage: TokenUsage | None = None
    seconds: float | None = None
    waited: float = 0.0
    """Seconds in which it waited for the API."""
    failed: bool = False
    cost: float | None = None


# -- what depends on more than one line --------------------------------------------------------------------------------


class Run(History):
    """Gives each delta its block, and each complete block the place of its deltas."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._response = self._model = ""
        self._drafts: dict[tuple[str, Kind], list[str]] = {}
        """The messages of a response's blocks that were written and are not complete, by the kind of block."""
        self._again: dict[str, str] = {}
        """The ids of blocks whose number was another block's of the same response."""
        self._complete: set[str] = set()
        self._boundary = ""
        self._woken = self._spoke = self._compacted = False
        self._turn = self._uuid = 0
        self._rows: dict[int, list[int]] = {}
        """The messages of each line, by the hash of its uuid, should it be retracted."""
        self._gone: list[int] = []
        self._uses: dict[str, str] = {}
        self._ambient: set[str] = set()
        self._earlier: dict[str, TokenUsage] | None = None
        """What earlier processes took, from which a resumed run counts on; None before the first result."""
        self._sum: TokenUsage | None = None
        """Of results that have no running total."""
        self._cost = self._cost_before = 0.0

    def whose(self, record: Data) -> str:
        """A subagent is called by the use that started it."""
        return text_of(record.get("parent_tool_use_id"))

    def enter(self, record: Record, time: float | None) -> bool:
        """Note which response begins, a compaction, to which the summary that follows belongs, and retracted lines."""
        value = record[3]
        uuid, event = text_of(value.get("uuid")), dict_of(value.get("event"))
        self._uuid, self.whole = hash(uuid), event.get("type") == "message_start"  # the last response is over
        if self.whole:
            message = dict_of(event.get("message"))
            self._response, self._model = text_of(message.get("id")), text_of(message.get("model"))
            self._drafts = {key: names for key, names in self._drafts.items() if key[0] == self._response}
        if value.get("type") == "system":
            if value.get("subtype") == "compact_boundary":
                self._boundary, self._compacted = f"{uuid}:compaction", True
            for name in list_of(value.get("retracted_message_uuids")):  # formats note, streams 2.3
                self._gone += self._rows.get(hash(name), ()) if type(name) is str else ()
        return True

    def own(self, row: int, kind: int) -> None:
        """Note the messages of a line, should it be retracted."""
        if self._uuid and kind != Kind.PROMPT:
            self._rows.setdefault(self._uuid, []).append(row)

    def settle(self) -> Iterator[tuple[int, bool]]:
        """The messages of retracted lines."""
        gone, self._gone = self._gone, []
        return ((row, False) for row in gone)

    def _draft(self, index: int | None, record: Record, *, begins: bool) -> str:
        """The id of the block that is being written; Qwen Code numbers those of one response anew after each."""
        name = f"{self._response}:{index}"
        if begins and self._again.get(name, name) in self._complete:
            self._again[name] = f"{name}@{record[0]}"
        return self._again.get(name, name)

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """The stream's words in the kit's; held are where a turn `begins`, texts `inserted`, what woke the agent."""
        here = record, number
        match item:
            case TokenUsage():  # what the response that is being written took
                yield *here, Count(item, self._response, self._model)
            case Started():
                name = self._draft(item.index, record, begins=True)
                yield *here, as_word(item, Use, id=name, model=self._model)
                yield *here, Piece(Kind.TOOL, id=name)
            case Delta():
                name = self._draft(item.index, record, begins=item.begins)
                drafts = self._drafts.setdefault((self._response, item.kind), [])
                if name not in drafts and item.kind is not Kind.TOOL:
                    drafts.append(name)
                if name not in self._complete:
                    yield *here, as_word(item, Piece, id=name, model=self._model)
            case Block():
                self._spoke |= item.kind is Kind.TEXT
                response = item.response or item.once[0]
                drafts = self._drafts.get((response, item.kind)) or self._drafts.get(("", item.kind), [])
                if not drafts:
                    yield *here, as_word(item, Say, once=(self._turn, item.once))
                else:
                    self._complete.add(name := drafts.pop(0))
                    if item.text:  # else it keeps back what its deltas said
                        yield *here, as_word(item, Say, id=name)
            case Held(role="inserted") if self._boundary:
                yield *here, Piece(Kind.COMPACTION, item.text, id=self._boundary)
                self._boundary = ""
            case Held(role="begins"):
                self._response = self._model = ""
                self._spoke, self._turn = False, self._turn + 1
                self._drafts.clear()
                self._complete.clear()
                if not self._woken:
                    yield *here, Turn()
                self._woken = False
            case Held():
                self._woken = True
                if item.role == "inserted":
                    yield *here, as_word(item, Say)
            case Event():  # later ones of a task may not name the use
                self._ambient |= {item.task_id} if item.ambient else set()
                if use := item.use_id or self._uses.get(item.task_id, ""):
                    self._uses[item.task_id] = use
                self._woken |= item.ended
                if not use and item.task_id not in self._ambient:
                    yield *here, as_word(item, Say)
                elif item.ended and item.answer is not None and item.task_id not in self._ambient:
                    yield *here, as_word(item.answer, Answer, use_id=use)
            case Result():
                yield from self._result(here, item)

    def _result(self, here: tuple[Record, int], result: Result) -> Iterator[Placed]:
        if self._earlier is None:
            self._earlier = self._before(result)
        if result.models:
            for name, usage in result.models.items():
                yield *here, Total(usage.less(self._earlier.get(name, TokenUsage())), name)
        elif result.usage is not None:
            self._sum = result.usage if self._sum is None else self._sum + result.usage
            yield *here, Total(self._sum, "")
        if result.cost is not None:
            if result.cost < self._cost:  # a running total that fell: another process
                self._cost_before += self._cost
            self._cost = result.cost
            cost = round(self._cost_before + self._cost, 10)
            yield *here, Fact(costUsd=cost, costIs="estimated by the agent's program")
        if result.failed:
            text = result.text.strip()
            yield *here, Say(Kind.ERROR, result.text, result.label, once=(self._turn, ("failed", text)))
        elif result.text.strip() and not self._spoke:
            yield *here, Say(Kind.TEXT, result.text)
        ended = "failed" if result.failed else "finished"
        yield *here, Turn(begins=False, seconds=result.seconds, failed=result.failed, how=ended)

    def _before(self, result: Result) -> dict[str, TokenUsage]:
        """Return the part of a resumed run's `modelUsage` that earlier runs took (lab/faults/claude-6).

        Nothing says so. It is one where the program waited longer for the API than it ran, more was read than the lines
        tell, and nothing was compacted.
        """
        inner = total_usage(s.session.usage() for s in self.session.subagents if s.session) or TokenUsage()
        live = self.session.usage() or TokenUsage()
        if self._compacted or not result.models or result.waited <= (result.seconds or 0) or result.usage is None:
            return {}
        known = set(map(bare_model, filter(None, self.session.models)))
        models = (one for one in result.models.items() if not known or bare_model(one[0]) in known)  # no helper's
        main, total = max(models, key=lambda one: one[1].total or 0, default=("", TokenUsage()))
        if (total.context or 0) <= (live.context or 0) + (inner.context or 0):
            return {}
        own = (max(a or 0, b or 0) + (c or 0) for a, b, c in zip(result.usage, live, inner, strict=True))
        return {main: total.less(TokenUsage(*own))}


class ClaudeStream(Stream, Claude):
    """The output of `claude -p`."""

    formats: ClassVar[tuple[Format, ...]] = (
        Format("Claude Code, `-p --output-format stream-json` (or json)", "lines with session_id and uuid"),
    )
    silent: ClassVar[frozenset[str]] = _QUIET
    history: ClassVar[type[History]] = Run
    said: ClassVar[type[Say]] = Block
    copies = True  # a resumed run prints lines again
    lacks = frozenset({Lack.TIMES})

    def __init__(self) -> None:
        super().__init__()
        self._kinds = {
            "user": self._user, "assistant": self._assistant, "system": self._system, "stream_event": self._event,
            "result": self._end,
        }  # fmt: skip

    def prints(self, record: Data) -> bool:
        """The id of a session in its stream's spelling, and one of the line."""
        ends = record.get("type") == "result" and ("modelUsage" in record or "total_cost_usd" in record)
        mine = isinstance(record.get("session_id"), str) and isinstance(record.get("type"), str)
        return mine and not record.keys() & _OTHERS and ("uuid" in record or ends)

    def run_of(self, record: Data) -> str:
        return text_of(record.get("session_id"))

    def setting(self, record: Data) -> Fact:
        return Fact(workspace_root=record.get("cwd"), version=record.get("claude_code_version"))

    def _assistant(self, record: Data) -> Iterator[Item]:
        yield from super()._assistant(record)
        message = dict_of(record.get("message"))
        if type(record.get("error")) is str and message.get("model") != "<synthetic>":  # formats note, streams 2.2
            yield Say(Kind.ERROR, record["error"], "Error")

    def synthetic(self, record: Data, content: object) -> Item:
        """An error in the model's place is told again by the result."""
        item = super().synthetic(record, content)
        if isinstance(item, Say) and item.kind is Kind.ERROR:
            return Block(item.kind, item.text, item.label, once=("failed", item.text))
        return item

    def _event(self, record: Data) -> Iterator[Any]:
        """A piece of a response that is being written."""
        event = dict_of(record.get("event"))
        message, block, delta = (dict_of(event.get(key)) for key in ("message", "content_block", "delta"))
        index, what = whole(event.get("index")), text_of(event.get("type"))
        begins = what == "content_block_start"
        piece = block if begins else delta if what == "content_block_delta" else {}
        if begins and text_of(block.get("type")) in USES:
            yield Started(name=text_of(block.get("name")), use_id=text_of(block.get("id")), index=index)
        elif found := _PIECES.get(text_of(piece.get("type"))):
            kind, text = found
            yield Delta(kind, text_of(piece.get(text)), index=index, begins=begins)
        elif what == "error":
            yield Say(Kind.ERROR, text_of(dict_of(event.get("error")).get("message")), "Error")
        elif (usage := self.usage_of(dict_of(message.get("usage") or event.get("usage")))) is not None:
            yield usage
        elif (text_of(delta.get("type")) or what) in _EVENTS:
            yield Skip(f"stream_event {what}")
        else:
            yield Say(Kind.UNKNOWN, label=f"stream_event {what}".strip())

    def typed(self, record: Data, content: object, kind: Kind = Kind.PROMPT) -> Iterator[Any]:
        """Read a text that a person typed or the program put there; the first case that fits wins."""
        line, text = classify(record, content)
        origin = text_of(dict_of(record.get("origin")).get("kind"))
        by_program = record.get("isSynthetic") is True or origin not in ("", "human", "user", "channel")
        if record.get("parent_tool_use_id") and line not in (UserLine.EMPTY, UserLine.CAVEAT):
            yield Say(kind, text or texts_in(content))
        elif line is UserLine.SUMMARY:
            yield Held(Kind.COMPACTION, text, role="inserted")
        elif line is UserLine.META or (by_program and line is UserLine.PROMPT):
            yield Held(Kind.CONTEXT, texts_in(content), "Added by Claude Code", role="inserted")
        elif line is UserLine.PROMPT:
            yield Say(kind, text, images=images_in(content))
        else:
            yield from super().typed(record, content, kind)
            if line in (UserLine.NOTIFICATION, UserLine.TEAMMATE):
                yield WOKEN

    def _system(self, record: Data) -> Iterator[Any]:
        what = text_of(record.get("subtype"))
        text = text_of(record.get("content")) or text_of(record.get("text"))
        match what:
            case "init":
                yield Fact(**{key: record.get(name) for name, key in _SETTING.items() if text_of(record.get(name))})
                yield Held(Kind.NOTE, role="begins")
                yield Skip("system init")
            case "compact_boundary":
                facts = dict_of(record.get("compact_metadata"))
                names = {"pre_tokens": "preTokens", "post_tokens": "postTokens"}
                facts = {names.get(name, name): fact for name, fact in facts.items()}
                yield from super()._system(record | {"compactMetadata": facts})
            case "task_started" | "task_progress" | "task_updated" | "task_notification":
                yield from _task_event(record, what)
            case "permission_denied":
                yield Answer(text_of(record.get("tool_use_id")), None, ToolStatus.DENIED)
            case "api_retry":
                error = f"{record.get('error_status') or ''} {text_of(record.get('error')).replace('_', ' ')}".strip()
                yield Say(Kind.NOTE, label=retry_label(record.get("attempt"), record.get("max_retries"), error))
            case "status":
                error = text_of(record.get("compact_error"))
                yield Say(Kind.ERROR, error, "The compaction failed") if error else Skip("system status")
            case "hook_response":
                yield _hook(record)
            case "local_command_output":
                yield Say(Kind.OUTPUT, text, "Output")
            case _ if what in _QUIET:
                yield Skip(f"system {what}")
            case _:
                models = {"originalModel": record.get("original_model"), "fallbackModel": record.get("fallback_model")}
                said = system_says({"subtype": what, "content": text} | models)
                yield said or Say(Kind.UNKNOWN, label=f"system {what}".strip())

    def _end(self, record: Data) -> Iterator[Any]:
        failed, text = record.get("is_error"), text_of(record.get("result"))
        if not isinstance(failed, bool):  # `success` may be a failure too
            failed = text_of(record.get("subtype")).startswith("error")
        spent, waited, cost = (number(record.get(key)) for key in ("duration_ms", "duration_api_ms", "total_cost_usd"))
        yield Fact(**{key: record.get(name) for name, key in _RESULT.items()})
        for denial in map(dict_of, list_of(record.get("permission_denials"))):
            yield Answer(text_of(denial.get("tool_use_id")), None, ToolStatus.DENIED)
        windows = (whole(dict_of(entry).get("contextWindow")) for entry in dict_of(record.get("modelUsage")).values())
        yield Fact(context_window=max(filter(None, windows), default=None))
        if failed:
            said = [error for error in list_of(record.get("errors")) if isinstance(error, str)]
            said += [text, text_of(record.get("startup_failure_reason"))]
            text = "\n".join(dict.fromkeys(filter(None, (*said, text_of(dict_of(record.get("error")).get("message"))))))
        yield Result(
            Kind.TEXT, text, "Stopped by an error" if failed else "", failed=failed, waited=(waited or 0) / 1000,
            models=model_usage(record.get("modelUsage")), usage=self.usage_of(dict_of(record.get("usage"))),
            seconds=spent / 1000 if spent is not None and 0 <= spent < 1e12 else None,
            cost=cost if cost is not None and 0 <= cost < 1e9 else None,
        )  # fmt: skip
        if record.get("structured_output") is not None:
            yield Say(Kind.NOTE, as_json(record["structured_output"], indent=True), "Structured output")
        yield Skip("result")

    def _other(self, record: Data, kind: object) -> Iterator[Item]:
        info = dict_of(record.get("rate_limit_info"))
        if kind != "rate_limit_event":
            yield Say(Kind.UNKNOWN, label=self.type(record))
        elif text_of(info.get("status")) in ("allowed", ""):
            yield Skip(kind)
        else:
            yield Say(Kind.NOTE, label=_limit_label(info))


# -- parts of lines ----------------------------------------------------------------------------------------------------


def _task_event(record: Data, what: str) -> Iterator[Any]:
    """An event of a subagent or a background command."""
    status = text_of(dict_of(record.get("patch")).get("status")) or text_of(record.get("status"))
    task, about = text_of(record.get("task_id")), text_of(record.get("description"))
    summary = text_of(record.get("summary")) if what == "task_notification" else ""
    label = ": ".join(filter(None, ("Background task", ", ".join(filter(None, (about or summary, status))))))
    ambient = record.get("ambient") is True or record.get("skip_transcript") is True
    yield Event(
        text=summary, label=one_line(label), id=f"task:{task}", use_id=text_of(record.get("tool_use_id")),
        answer=Answer("", summary or None, _ENDS.get(status, ToolStatus.OK), late=True),
        task_id=task, ended=status in _ENDS, ambient=ambient,
    )  # fmt: skip
    yield Skip(f"system {what}")


def _hook(record: Data) -> Item:
    """`Hook SessionStart:startup failed (exit 1)`, and what it printed, each stream once; little of one that worked."""
    outcome, code = record.get("outcome"), record.get("exit_code")
    if outcome == "success" or (outcome is None and code in (0, None)):
        return Skip("system hook_response")
    outcome, code = "cancelled" if outcome == "cancelled" else "failed", whole(code)
    ended = f" (exit {code})" if code is not None and abs(code) < 1 << 31 else ""
    texts = (text_of(record.get(key)) for key in ("output", "stdout", "stderr"))
    printed = "\n".join(dict.fromkeys(text.rstrip("\n") for text in texts if text.strip()))
    label = f"Hook {one_line(text_of(record.get('hook_name')), 100)} {outcome}{ended}"
    before = record.get("hook_event") in ("SessionStart", "Setup")  # nobody has asked anything yet
    return Say(Kind.NOTE if before or outcome == "cancelled" else Kind.ERROR, printed, label)


def _limit_label(info: Data) -> str:
    """Return `Rate limit is near (five hour), 91% used`."""
    status, kind = text_of(info.get("status")), text_of(info.get("rateLimitType"))
    words = {"rejected": "Rate limit reached", "allowed_warning": "Rate limit is near"}
    label = words.get(status, f"Rate limit: {one_line(status, 60)}")
    label += f" ({one_line(kind, 60).replace('_', ' ')})" if kind else ""
    if (used := number(info.get("utilization"))) is None or not 0 <= used <= 1000:
        return label
    return f"{label}, {used * 100 if used <= 1 else used:.0f}% used"


STREAM = ClaudeStream()

"""OpenCode: what the records of its sessions hold, and what it prints (formats/others.md 4, found-others.md 1 and 14b).

`_opencode_stores` finds the sessions and gives their records: a message of the older kind has parts, one of the newer
`text` or `content`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.clean import as_json
from schemas.diffs import FileDiff
from schemas.message import NO_FLAGS, Flag, Kind, Part, Tool, ToolStatus
from schemas.provider import Format
from schemas.providers._opencode_stores import Stores, usage_of
from schemas.providers.kit.bases import Data, Home, Stream, diff_of
from schemas.providers.kit.blocks import arguments_of, image_part, task_in
from schemas.providers.kit.history import History
from schemas.providers.kit.words import Answer, Child, Count, Item, Piece, Say, Skip, Task, Turn, Use
from schemas.records import Record
from schemas.slices import Listing
from schemas.values import dict_of, list_of, number, text_of, when, whole

if TYPE_CHECKING:
    from schemas.session import Session

_WRAPPED = re.compile(r"<(task_result|content|file)>\n?(.*?)\n?</\1>", re.DOTALL)
_NUMBERED = re.compile(r"^(?:\d+: |\d{5}\| )", re.MULTILINE)
_REMARK = re.compile(r"\s*<(\w+_metadata)>\n?(.*?)\n?</\1>\s*$", re.DOTALL)
_ABORTED = "User aborted the command"
_NO_FAILURE = Say(Kind.ERROR)
_ENDS = {"completed": ToolStatus.OK, "error": ToolStatus.ERROR}


class OpenCode(Stores):
    """OpenCode, and what its forks have in common with it."""

    id = "opencode"
    name = "OpenCode"
    verified: ClassVar[str] = "genuine sessions of 0.5, 1.0 to 1.3, 1.17 and 1.18; rows of 2.x on made-up files"
    counting = (
        "OpenCode keeps the tokens of each call; input excludes the cache, and thinking is added to the output where "
        "it is not in it. Calls that make titles and calls that were interrupted have no figures."
    )
    formats: ClassVar[tuple[Format, ...]] = (
        Format("OpenCode database", "tables session, message and part, or session_v2 and session_message"),
        Format("OpenCode session, JSON files", "an object with a session's id and projectID, which 0.5 lacks"),
        Format("OpenCode export, JSON", "an object with info, the session, and messages, each with info and parts"),
    )
    homes: ClassVar[tuple[Home, ...]] = (
        Home("$OPENCODE_DATA_DIR", "OPENCODE_DATA_DIR"),
        Home("$XDG_DATA_HOME/opencode", "XDG_DATA_HOME"),
        Home(".local/share/opencode"),
    )
    marks: ClassVar[tuple[bytes, ...]] = (b"SQLite format 3", b'"projectID"', b'"id": "ses_')
    resume = ("opencode", "--session")
    silent = frozenset({"agent-switched", "location-switched", "model-switched"})
    listing = Listing(first="offset", tail=r"\((?:End of file|File has more lines|Showing lines|Output capped).*\)")
    tools = {
        "bash": "shell", "read": "read", "webfetch": "read", "write": "write", "edit": "write", "multiedit": "write",
        "patch": "write", "apply_patch": "write", "glob": "search", "grep": "search", "list": "search",
        "codesearch": "search", "websearch": "search", "lsp": "search", "task": "task", "todowrite": "task",
        "todoread": "task", "skill": "generic", "question": "generic", "plan_enter": "generic", "plan_exit": "generic",
        "invalid": "generic",
    }  # fmt: skip

    def read(self, record: Data) -> Iterator[Item]:
        return {"user": self._prompt, "assistant": self._answer}.get(self.type(record), super().read)(record)

    def _prompt(self, record: Data) -> Iterator[Item]:
        """Read a person's message: the typed text, and behind it what the program put beside it."""
        text = [{"type": "text", "text": record["text"]}] if "text" in record else []  # a row of the newer kind
        files = [dict_of(file) | {"type": "file"} for file in list_of(record.get("files"))]
        parts = [dict_of(part) for part in [*text, *list_of(record.get("parts")), *files]]
        typed = [p for p in parts if p.get("type") == "text" and not (p.get("synthetic") or p.get("ignored"))]
        images = _images(parts)
        if typed or images:
            words = "\n\n".join(unquoted(text_of(part.get("text"))) for part in typed)
            name = text_of(typed[0].get("id")) if typed else ""
            yield Say(Kind.PROMPT, words, id=name, images=images)
        for part in parts:
            if part.get("type") == "compaction":
                how = "automatically" if part.get("auto") is True else "by hand"
                yield Piece(Kind.COMPACTION, label=f"Compacted {how}", id=f"compaction:{record.get('id')}")
            elif part not in typed and not _images([part]):
                yield from self._part(part, text_of(part.get("id")))

    def _answer(self, record: Data) -> Iterator[Item]:
        """One response of the model: parts of a row of the older kind, content of one of the newer."""
        model = text_of(record.get("modelID")) or text_of(dict_of(record.get("model")).get("id"))
        parts = [dict_of(part) for part in list_of(record.get("parts")) + list_of(record.get("content"))]
        failure = _failure(record["error"]) if record.get("error") else _NO_FAILURE
        stopped = failure.label.startswith("MessageAbortedError") or failure.text.endswith("interrupted")
        if record.get("summary") is True:
            text = "\n\n".join(text_of(part.get("text")) for part in parts if part.get("type") == "text")
            yield Piece(Kind.COMPACTION, text, id=f"compaction:{record.get('parentID')}", model=model)
            parts = [part for part in parts if part.get("type") != "text"]
        # In version 0.5 a message holds several responses, and the figures of the last one.
        several = sum("tokens" in part for part in parts) > 1
        for part in parts:
            # Rows of the newer kind call the texts of each message alike.
            name = text_of(part.get("id")) if "parts" in record else ""
            for item in self._part(part, name, stopped=stopped):
                item.model, item.time = model, when(_times(part)[0])
                yield item
            if several and "tokens" in part:
                yield Count(usage_of(record | {"tokens": part["tokens"]}), name, model)
        if failure is not _NO_FAILURE:
            failure.id, failure.model = f"{text_of(record.get('id'))}:error", model
            ended = when(dict_of(record.get("time")).get("completed"))
            yield Say(Kind.INTERRUPT, label="Interrupted", id=failure.id, time=ended) if stopped else failure
        if not several:
            yield Count(usage_of(record), text_of(dict_of(record.get("copyOf")).get("id")), model)

    def _part(self, part: Data, name: str, *, stopped: bool = False) -> Iterator[Say]:
        """Read the items of a part of a message, except a person's text; `stopped`: the response was interrupted."""
        text = text_of(part.get("text"))
        match part.get("type"):
            case "text" if part.get("synthetic"):
                yield Say(Kind.CONTEXT, text, id=name, label=f"Added by {self.name}")
            case "text" if part.get("ignored"):
                yield Say(Kind.NOTE, text, id=name, label="Not sent to the model")
            case "text" if text.strip():
                yield Say(Kind.TEXT, text, id=name)
            case "reasoning" if text or not part.get("time") or _times(part)[1]:
                yield Say(Kind.THINKING, text, id=name, flags=NO_FLAGS if text else Flag.WITHHELD)
            case "tool":
                yield _use(part, name, stopped=stopped)
            case "file":
                label = text_of(part.get("filename")) or text_of(part.get("uri")) or text_of(part.get("url"))[:200]
                yield Say(Kind.CONTEXT, id=name, label=f"Attached {label or 'a file'}", images=_images([part]))
            case "subtask":
                label = f"Subtask for {text_of(part.get('agent'))}"
                yield Say(Kind.PROMPT, text_of(part.get("prompt")), label, id=name)
            case "retry":
                count = whole(part.get("attempt")) or "?"
                yield Say(Kind.NOTE, _failure(part.get("error")).text, f"Attempt {count} failed", id=name)
            # What is being written, figures that the message has, changes that the tool uses tell.
            case "text" | "reasoning" | "agent" | "step-start" | "step-finish" | "snapshot" | "patch":
                pass
            case kind:
                yield Say(Kind.UNKNOWN, id=name, label=f"part {text_of(kind)}")

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The changes that the result tells, else what the input says."""
        facts = dict_of(answer.details) if answer is not None else {}
        if tool.type == "write" and tool.status is ToolStatus.OK:
            found = list[FileDiff]()
            for file in map(dict_of, list_of(facts.get("files"))):
                path = text_of(file.get("filePath")) or text_of(file.get("file"))
                found += diff_of(path, text_of(file.get("diff")) or text_of(file.get("patch")))
            patch = text_of(dict_of(facts.get("filediff")).get("patch")) or text_of(facts.get("diff"))
            if found or "@@" in patch:
                return found or diff_of(text_of(tool.input.get("filePath")), patch)
        return super().diffs(tool, answer)


def _use(part: Data, name: str, *, stopped: bool) -> Use:
    state = dict_of(part.get("state"))
    facts = dict_of(state.get("metadata")) | dict_of(state.get("structured"))
    tool = text_of(part.get("tool")) or text_of(part.get("name"))
    use_id = text_of(part.get("callID")) or text_of(part.get("id"))
    given, (begun, ended) = arguments_of(state.get("input"), "raw"), _times(part)
    status, text = _ended(state, facts, tool, stopped=stopped)
    did = next(map(dict_of, list_of(facts.get("summary"))), dict[str, Any]())  # a subagent, in version 0.5
    answer = Answer(
        use_id, text, status, whole(facts.get("exit")), details=facts,
        seconds=None if begun is None or ended is None or ended < begun else (ended - begun) / 1000,
        images=_images(list_of(state.get("attachments")) + list_of(state.get("content"))),
    )  # fmt: skip
    return Use(
        name=tool, use_id=use_id, id=name, input=given, task=task_in(given) if tool == "task" else None,
        answer=answer if text or status is not ToolStatus.PENDING else None,
        subagent=text_of(facts.get("sessionId")) or text_of(did.get("sessionID")),
    )  # fmt: skip


def _times(part: Data) -> tuple[float | None, float | None]:
    """Return the times in a part at which its work began and ended, in milliseconds."""
    times = dict_of(dict_of(part.get("state")).get("time")) or dict_of(part.get("time"))
    begun = number(times.get("start")) or number(times.get("ran")) or number(times.get("created"))
    return begun, number(times.get("end")) or number(times.get("completed"))


def _ended(state: Data, facts: Data, tool: str, *, stopped: bool) -> tuple[ToolStatus, str]:
    """Return the status of a tool use and its text. A command that fails is `completed` like any other."""
    items = [text_of(dict_of(item).get("text")) for item in list_of(state.get("content"))]
    text = text_of(state.get("output")) or "\n".join(filter(None, items))
    text = text or text_of(facts.get("output")) or text_of(facts.get("content"))
    status = _ENDS.get(text_of(state.get("status")), ToolStatus.PENDING)
    if status is ToolStatus.ERROR:
        fault = _failure(state.get("error")).text
        text = "\n".join(filter(None, (text, fault)))
        if "rejected permission" in fault:
            status = ToolStatus.DENIED
        elif facts.get("interrupted") is True or fault.endswith(("interrupted", "aborted")):
            status = ToolStatus.INTERRUPTED
    elif (status is ToolStatus.PENDING and stopped) or (status is ToolStatus.OK and _ABORTED in text[-200:]):
        status = ToolStatus.INTERRUPTED
    elif status is ToolStatus.OK and (whole(facts.get("exit")) or tool == "invalid"):
        status = ToolStatus.ERROR
    if wrapped := _WRAPPED.search(text):
        text = _NUMBERED.sub("", wrapped[2]) if wrapped[1] != "task_result" else wrapped[2]
    return status, _REMARK.sub(r"\n\n\2", text) if text.rstrip().endswith("_metadata>") else text


def _failure(said: object) -> Say:
    """An error, of a response or of a tool use."""
    error = dict_of(said)
    data = dict_of(error.get("data"))
    label = f"{text_of(error.get('name')) or 'Error'} {whole(data.get('statusCode')) or ''}".rstrip()
    text = text_of(data.get("message")) or text_of(error.get("message")) or text_of(said)
    return Say(Kind.ERROR, text or (as_json(said) if said else ""), label=label)


def unquoted(text: str) -> str:
    """A prompt without the quotes that `opencode run` puts around an argument with spaces in it."""
    inner = text.strip()
    if len(inner) > 1 and inner[0] == inner[-1] == '"' and '"' not in inner[1:-1].replace('\\"', ""):
        return inner[1:-1].replace('\\"', '"')
    return text


def _images(parts: Iterable[Any]) -> list[Part]:
    """Return the images among some files."""
    found = []
    for file in map(dict_of, parts):
        if text_of(kind := file.get("mime")).startswith("image/"):
            data = (text_of(file.get("url")) or text_of(file.get("uri"))).partition(";base64,")[2]
            found.append(image_part(kind, data or file.get("data"), file.get("filename")))
    return found


class Steps(History):
    """Adds up what the steps cost: a step may be printed again."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._costs: dict[str, float] = {}

    def enter(self, record: Record, time: float | None) -> bool:
        part = dict_of(record[3].get("part"))
        if cost := number(part.get("cost")):
            self._costs[text_of(part.get("id"))] = cost
            self.session.metadata["costUsd"] = round(sum(self._costs.values()), 9)
        return True


class OpenCodeStream(Stream, OpenCode):
    """`opencode run --format json`: finished parts, each a line; one process is one exchange (formats/streams.md 6)."""

    formats = (Format("OpenCode, `run --format json`", "lines with sessionID and a timestamp in milliseconds"),)
    history = Steps
    unended = "possibly cut off: the last step has no end; the session in OpenCode's own database may hold the rest"

    def prints(self, record: Data) -> bool:
        timed = number(record.get("timestamp")) is not None
        return timed and isinstance(record.get("type"), str) and isinstance(record.get("sessionID"), str)

    def run_of(self, record: Data) -> str:
        return text_of(record.get("sessionID"))

    def time(self, record: Data) -> float | None:
        return when(record.get("timestamp"))

    def facts(self, record: Data) -> Data:
        """The message, which is one step."""
        return {"messageId": step} if (step := text_of(dict_of(record.get("part")).get("messageID"))) else {}

    def read(self, record: Data) -> Iterator[Item]:
        """A line is read by its part, whatever its own type."""
        part = dict_of(record.get("part")) or record
        name = text_of(part.get("id"))
        match part.get("type"):
            case "step-finish":
                # All zero is what is printed where the model's provider told nothing.
                yield Count(usage_of({"role": "assistant"} | part), name)
                if part.get("reason") != "tool-calls":
                    yield Turn(begins=False, how=text_of(part.get("reason")))
                yield Skip("step_finish")
            case "error":
                yield _failure(record.get("error"))
                yield Turn(begins=False, how="error")
            case "done":
                yield Turn(begins=False, how=text_of(record.get("reason")) or "done")
            case _:
                for item in self._part(part, name):
                    yield item
                    if isinstance(item, Use) and item.subagent:
                        yield Child(item.subagent, task=item.task or Task(), use_id=item.use_id)
                        label = "Tokens exclude subagents: theirs are in sessions of their own"
                        yield Say(Kind.NOTE, label=label, once="subagents")


PROVIDER = OpenCode()
STREAM = OpenCodeStream()

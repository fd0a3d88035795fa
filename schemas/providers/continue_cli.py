"""Continue: a JSON document a session; results of tools stand with the messages that asked (found-others.md 13)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.diffs import FileDiff
from schemas.folders import bytes_in, state_of
from schemas.message import Kind, Lack, Tool, ToolStatus
from schemas.provider import Format
from schemas.providers.kit.bases import Data, Document, Home, Stream, diff_of
from schemas.providers.kit.blocks import figures_in, message_items, texts_in
from schemas.providers.kit.words import Answer, Count, Fact, Item, Say, Skip, Task, Title, Turn, Use
from schemas.records import read_document
from schemas.slices import Listing
from schemas.values import dict_of, list_of, text_of, when

if TYPE_CHECKING:
    from schemas.session import Session

_LIST = "sessions.json"
_ENDS = {
    "done": ToolStatus.OK, "errored": ToolStatus.ERROR, "canceled": ToolStatus.INTERRUPTED, "cancelled":
    ToolStatus.INTERRUPTED, "rejected": ToolStatus.DENIED,
}  # fmt: skip


class Continue(Document):
    """Continue's sessions, of its command line and its editor extensions."""

    id = "continue"
    name = "Continue"
    verified = "genuine sessions of CLI 1.5.47"
    counting = (
        "Continue keeps the tokens of each call with its message; the input includes the cache, which is taken apart "
        "here. Its own sum leaves the cache out. A run that was killed or failed is not saved."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"history"',)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Continue session, JSON", "an object with sessionId, workspaceDirectory and history"),
    )
    homes = (Home("$CONTINUE_GLOBAL_DIR/sessions", "CONTINUE_GLOBAL_DIR"), Home(".continue/sessions"))
    files = ("*.json",)
    lacks = frozenset({Lack.TIMES, Lack.THINKING, Lack.TOKENS})
    resume: ClassVar[tuple[str, ...]] = ("cn", "--resume")
    listing = Listing(head=r"Content of .*:\n")
    tools = {
        "Bash": "shell", "runTerminalCommand": "shell", "Read": "read", "readFile": "read", "Fetch": "read",
        "Write": "write", "writeFile": "write", "Edit": "write", "MultiEdit": "write", "editFile": "write",
        "createNewFile": "write", "Search": "search", "List": "search", "listFiles": "search", "searchCode": "search",
        "Subagent": "task", "Checklist": "task", "writeChecklist": "task", "Status": "generic", "Exit": "generic",
    }  # fmt: skip

    def id_of(self, path: Path) -> str:
        """The file's name; the list of all sessions is none."""
        return "" if path.name == _LIST else path.stem

    def stamps(self, session: Session) -> object:
        """Return the state of the list of all sessions, which shows a change."""
        return state_of(session.path.with_name(_LIST))

    def beside(self, session: Session) -> Iterable[Item]:
        """Read the time at which the session began, which only the list of all sessions has."""
        listed = _begun(session.path.with_name(_LIST), state_of(session.path.with_name(_LIST)))
        yield Fact(created=listed.get(session.id))

    def records(self, document: Any) -> Sequence[Data]:
        """The facts of the session, and its history."""
        held = dict_of(document)
        if not isinstance(held.get("history"), list) or not {"sessionId", "workspaceDirectory"} <= held.keys():
            return ()
        about = {key: value for key, value in held.items() if key != "history"}
        return [{"type": "session", **about}, *map(dict_of, held["history"])]

    def type(self, record: Data) -> str:
        """A message's role."""
        return text_of(record.get("type")) or text_of(dict_of(record.get("message")).get("role")) or "(no role)"

    def name_of(self, record: Data) -> str:
        """Messages of the editor extensions have ids."""
        return text_of(dict_of(record.get("message")).get("id"))

    def read(self, record: Data) -> Iterator[Item]:
        if record.get("type") == "session":
            yield Fact(id=record.get("sessionId"), workspace_root=record.get("workspaceDirectory"))
            title = text_of(record.get("title"))
            yield Title("" if title in ("Untitled Session", "New Session") else title, 1)
            yield Skip("session")
            return
        message = dict_of(record.get("message"))
        if message.get("role") == "thinking":
            yield Say(Kind.THINKING, texts_in(message.get("content")))
            return
        usage = dict_of(message.get("usage"))
        model = text_of(usage.get("model"))
        calls = message.get("toolCalls")
        states = [dict_of(state) for state in list_of(record.get("toolCallStates"))]
        if not isinstance(calls, list):
            calls = [state.get("toolCall") for state in states]
        answers = {text_of(state.get("toolCallId")): _answer(state) for state in states}
        for item in message_items(message | {"tool_calls": calls}, model):
            if isinstance(item, Use):
                item.answer = answers.get(item.use_id)
                given = dict_of(item.input)
                task = Task(text_of(given.get("subagent_name")), text_of(given.get("description")),
                            text_of(given.get("prompt")))  # fmt: skip
                item.task = task if item.name == "Subagent" else None
            yield item
        for context in map(dict_of, list_of(record.get("contextItems"))):
            yield Say(Kind.CONTEXT, text_of(context.get("content")), label=text_of(context.get("name")) or "Added")
        if any(figures := figures_in(usage)):
            yield Count(figures, model=model)

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The patch that the result shows, else what the input says."""
        shown = (answer.text or "") if answer is not None else ""
        path = text_of(tool.input.get("file_path")) or text_of(tool.input.get("filepath"))
        if tool.type == "write" and tool.status is ToolStatus.OK and "\n@@ " in shown:
            return diff_of(path, shown[shown.index("\n@@ ") + 1 :])
        return super().diffs(tool, answer)


@lru_cache(4)
def _begun(path: Path, _state: tuple[int, int]) -> dict[str, float | None]:
    """The times at which sessions were begun, by their ids; asked of a list anew when it was written."""
    entries = map(dict_of, list_of(read_document(bytes_in(path))))
    return {text_of(entry.get("sessionId")): _time_of(entry.get("dateCreated")) for entry in entries}


def _time_of(said: object) -> float | None:
    """A time in milliseconds, which the list has as text."""
    return when(int(said) if isinstance(said, str) and said.isdecimal() and len(said) < 16 else said)


def _answer(state: Data) -> Answer | None:
    """The result of a tool use; None while there is none."""
    status = _ENDS.get(text_of(state.get("status")))
    if status is None:
        return None
    text = texts_in([dict_of(one).get("content") for one in list_of(state.get("output"))], "\n")
    return Answer(text_of(state.get("toolCallId")), text, status)


class ContinueStream(Stream, Continue):
    """`cn -p --format json`: the answer alone, in an object where the model's own was no JSON."""

    formats = (Format("Continue, `-p --format json`", "an object with response, status and note"),)

    def prints(self, record: Data) -> bool:
        """The three keys."""
        return record.keys() == {"response", "status", "note"}

    def type(self, record: Data) -> str:
        """Return the type of a record; there is only one."""
        return "response"

    def read(self, record: Data) -> Iterator[Item]:
        failed = record.get("status") != "success"
        yield Say(Kind.ERROR if failed else Kind.TEXT, text_of(record.get("response")))
        yield Turn(begins=False, how=text_of(record.get("status")) or "done")


PROVIDER = Continue()
STREAM = ContinueStream()

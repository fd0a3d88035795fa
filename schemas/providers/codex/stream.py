"""`codex exec --json` (formats/streams.md 3): items as whole snapshots, tokens as the thread's running total."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.clean import as_json, one_line
from schemas.diffs import FileDiff
from schemas.message import Flag, Kind, Lack, Tool
from schemas.path_hints import shell_text
from schemas.provider import Format
from schemas.providers.codex.items import COMPLETED_ITEMS, Event
from schemas.providers.codex.texts import usage_in
from schemas.providers.codex.tools import FOREIGN, TYPES, complete
from schemas.providers.kit.bases import Data, Stream, diff_of
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import NOT_TOLD, Answer, Child, Held, Say, Skip, Task, Total, Turn, Use
from schemas.values import dict_of, list_of, text_of

if TYPE_CHECKING:
    from schemas.records import Record
    from schemas.session import Session

_EVENTS = frozenset({
    "thread.started", "turn.started", "turn.completed", "turn.failed", "item.started", "item.updated", "item.completed",
})  # fmt: skip
_RETRY = re.compile(r"\s*(?:Reconnecting|Retrying)\b.*?(\d+)\s*/\s*(\d+)", re.DOTALL)
_SPOKEN = {"agent_message": Kind.TEXT, "reasoning": Kind.THINKING, "error": Kind.NOTE, "todo_list": Kind.NOTE}
_TOOLS = frozenset({"command_execution", "file_change", "mcp_tool_call", "collab_tool_call", "web_search"})
_SO_FAR = "Tokens: the thread total so far; if it was resumed, those of earlier turns are in it"


class Thread(History):
    """The policy that joins snapshots of an item: they are numbered anew by each process, by some builds each turn."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._begun = self._open = False
        """Whether a turn has begun; whether the exchange is open that it goes into."""
        self._items: dict[str, tuple[str, int | None]] = {}
        """The message of each item of the turn, and the hash of what the item was when it was completed."""
        self._failed: tuple[str, str] = "", ""
        """The text of the last failure in the turn, and the id of its message."""
        self._retry = ""

    def enter(self, record: Record, time: float | None) -> bool:
        """Note where a process, a turn or a run of retries ends."""
        kind = record[3].get("type")
        if kind != "error":
            self._retry = ""
        if kind in ("thread.started", "turn.completed", "turn.failed"):
            self._items.clear()
            self._begun = self._open = False
        return True

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """Items as they are `now`; a `failure`, which the turn's end says again; a `retry`, which replaces another."""
        match item:
            case Held(role="begins"):
                if self._begun or not self._open:
                    self._failed = "", ""
                    yield record, -1, Say(Kind.PROMPT, label=NOT_TOLD, id=f"prompt@{record[0]}")
                self._open, self._begun = True, record[3].get("type") == "turn.started"
                return
            case Held(role="failure"):
                if self._failed[0] != item.text or not self._failed[1]:
                    self._failed = item.text, f"@{record[0]}"
                item.id = self._failed[1]
            case Held(role="retry"):
                item.id = self._retry = self._retry or f"@{record[0]}"
            case Held(role="now"):
                item.id = self._message(record)
            case Event():
                item.id = item.use_id = self._message(record)
        if item.id:
            yield record, number, item if isinstance(item, Event) else as_word(item, Say)
        for thread in item.links if item.id and isinstance(item, Event) else ():
            if thread != self.session.id:
                yield record, number, Child(thread, task=item.task or Task(), use_id=item.id)

    def _message(self, record: Record) -> str:
        """The id of an item's message: a new one where its name is another item's now; empty for a mere repeat."""
        item = dict_of(record[3].get("item"))
        ident, now = item.get("id"), hash(as_json(item))
        name = f"{ident} {text_of(item.get('type'))}" if isinstance(ident, str | int) and ident != "" else ""
        known, completed = self._items.get(name, ("", None))
        if completed == now:
            return ""
        if not known or completed is not None:
            known = f"@{record[0]}"
        if name:
            self._items[name] = known, now if record[3]["type"] == "item.completed" else None
        return known


class CodexStream(Stream):
    """A thread; several processes may go on with it."""

    id = "codex"
    name = "Codex"
    formats = (Format("Codex, `exec --json`", "a thread.started, or turn. and item. events"),)
    history, tools, foreign = Thread, TYPES, FOREIGN
    lacks = frozenset({Lack.TIMES})

    def prints(self, record: Data) -> bool:
        """Its events, which have no times; Kimi's log has some of their types."""
        kind = record.get("type")
        if not isinstance(kind, str) or kind not in _EVENTS or "time" in record:
            return False
        return not kind.startswith("item.") or isinstance(record.get("item"), dict)

    def may_print(self, record: Data) -> bool:
        """An error without more."""
        return record.get("type") == "error" and record.keys() == {"type", "message"} and bool(record["message"])

    def run_of(self, record: Data) -> str:
        """The thread, which only the first event of a process names."""
        return text_of(record.get("thread_id")) if record.get("type") == "thread.started" else ""

    def read(self, record: Data) -> Iterator[Any]:
        """Read the items of an event."""
        kind, message = text_of(record.get("type")), text_of(record.get("message"))
        match kind:
            case "thread.started" | "turn.started":
                yield Held(Kind.PROMPT, role="begins")
                yield Skip(kind)
            case "turn.completed":
                if (usage := usage_in(record.get("usage"))) is not None:
                    if usage.input is not None:  # what is left out of a known input is none
                        usage = usage._replace(cache_read=usage.cache_read or 0, cache_write=usage.cache_write or 0)
                    yield Total(usage, "", of_thread=True)
                    yield Say(Kind.NOTE, label=_SO_FAR, once=_SO_FAR)
                yield Turn(begins=False, failed=False, how="completed")
            case "turn.failed":
                error = record.get("error")
                text = text_of(dict_of(error).get("message")) or text_of(error)
                yield Held(Kind.ERROR, text, "Turn failed", flags=Flag.ERROR, role="failure")
                yield Turn(begins=False, failed=True, how="failed")
            case "error" if found := _RETRY.match(message):
                yield Held(Kind.NOTE, message, f"Retry {found[1]} of {found[2]}", role="retry")
            case "error":
                yield Held(Kind.ERROR, message, "Error", flags=Flag.ERROR, role="failure")
            case "item.started" | "item.updated" | "item.completed":
                yield _item(dict_of(record.get("item")), kind == "item.completed")
            case _:
                yield Say(Kind.UNKNOWN)

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use and its result, with the exit code among its output."""
        tool, facts = super().tool(use, answer, path)
        complete(tool, facts)
        return tool, facts

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The changes of files. How a file was changed is not told, but by one fork of Codex."""
        changes = map(dict_of, list_of(tool.input.get("changes")))
        return [d for c in changes for d in diff_of(text_of(c.get("path")), text_of(c.get("diff")))]


def _item(item: Data, whole: bool) -> Any:
    kind = text_of(item.get("type"))
    if kind in _TOOLS:
        return _call(item, kind, whole)
    if kind not in _SPOKEN:
        label = f"item {one_line(kind, 60)}" if kind else "item"
        return Held(Kind.UNKNOWN, as_json(item), label, role="now")
    text, label = text_of(item.get("text")) or text_of(item.get("message")), "Warning" if kind == "error" else ""
    if kind == "todo_list":
        steps = [dict_of(step) for step in list_of(item.get("items"))]
        done = [step.get("completed") is True for step in steps]
        lines = [f"- [{' x'[did]}] {text_of(step.get('text'))}" for step, did in zip(steps, done, strict=True)]
        text, label = "\n".join(lines), f"To-do list, {sum(done)} of {len(steps)} done"
    if not text:
        return Skip(f"{kind} without text")
    return Held(_SPOKEN[kind], text, label, role="now")


def _call(item: Data, kind: str, whole: bool) -> Any:
    """Read a tool use, which rollouts tell alike under another name; it has its answer once it is `whole`."""
    # Of a command that a person typed a rollout makes no use.
    (use,) = COMPLETED_ITEMS[kind.title().replace("_", "")]({**item, "source": None})
    if kind == "command_execution":
        use.input = {"command": unwrapped(item.get("command"))}
    elif kind == "file_change":
        use.input = {"changes": list_of(item.get("changes"))}
    if use.task is not None:
        use.task = Task("", use.task.prompt)
    use.answer.beside, use.answer = False, use.answer if whole else None
    return use


def unwrapped(command: object) -> str:
    """`/bin/bash -lc 'pytest -q'` as `pytest -q`; any other command as it is."""
    text = shell_text(command)
    try:
        words = shlex.split(text) if " -" in text[:100] and "c " in text[:100] else []
    except ValueError:
        return text
    return words[2] if len(words) == 3 and shell_text(words) == words[2] else text


STREAM = CodexStream()

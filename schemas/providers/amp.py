"""Amp: a JSON document a thread, as it kept them and as it exports them (others.md 11)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar
from urllib.parse import unquote

from schemas.clean import as_json
from schemas.diffs import FileDiff
from schemas.message import Kind, Lack, Tool, ToolStatus
from schemas.provider import Format
from schemas.providers.kit.bases import Data, Document, Home, diff_of
from schemas.providers.kit.blocks import block_items, message_items, texts_in
from schemas.providers.kit.words import Answer, Count, Fact, Item, Say, Skip, Task, Title, Use
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, when, whole

_ENDS = {
    "done": ToolStatus.OK, "error": ToolStatus.ERROR, "cancelled": ToolStatus.INTERRUPTED, "rejected-by-user":
    ToolStatus.DENIED,
}  # fmt: skip
_FIGURES = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")


class Amp(Document):
    """Amp's threads."""

    id = "amp"
    name = "Amp"
    counting = (
        "Amp keeps the tokens of each call with its message; input excludes the cache. Old threads name no model."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"messages"',)
    formats: ClassVar[tuple[Format, ...]] = (Format("Amp thread, JSON", "an object with v, an id and messages"),)
    homes = (Home("$XDG_DATA_HOME/amp/threads", "XDG_DATA_HOME"), Home(".local/share/amp/threads"))
    files = ("T-*.json",)
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})
    resume: ClassVar[tuple[str, ...]] = ("amp", "threads", "continue")
    tools = {
        "Bash": "shell", "Read": "read", "read_web_page": "read", "look_at": "read", "edit_file": "write",
        "create_file": "write", "undo_edit": "write", "Edit": "write", "Write": "write", "apply_patch": "write", "Grep":
        "search", "glob": "search", "finder": "search", "web_search": "search", "librarian": "search", "Task": "task",
        "oracle":
        "task", "todo_write": "task", "todo_read": "task",
    }  # fmt: skip

    def records(self, document: Any) -> Sequence[Data]:
        """The facts of a thread, and its messages."""
        held = dict_of(document)
        if not isinstance(held.get("v"), int) or not text_of(held.get("id")) or not _speaks(held.get("messages")):
            return ()
        about = {key: value for key, value in held.items() if key != "messages"}
        return [{"type": "thread", **about}, *map(dict_of, held["messages"])]

    def type(self, record: Data) -> str:
        """A message's role."""
        return text_of(record.get("type")) or text_of(record.get("role")) or "(no role)"

    def time(self, record: Data) -> float | None:
        """Return the time at which a message was sent or answered; older threads have none."""
        sent = dict_of(record.get("meta")).get("sentAt")
        return when(sent) or when(dict_of(record.get("usage")).get("timestamp"))

    def name_of(self, record: Data) -> str:
        """Messages are numbered."""
        number = record.get("messageId")
        return f"message {number}" if isinstance(number, int) else ""

    def read(self, record: Data) -> Iterator[Item]:
        if record.get("type") == "thread":
            trees = [dict_of(tree) for tree in list_of(dict_of(dict_of(record.get("env")).get("initial")).get("trees"))]
            place = next((unquote(text_of(tree.get("uri")).removeprefix("file://")) for tree in trees), "")
            yield Fact(id=record.get("id"), workspace_root=place, created=when(record.get("created")))
            yield Title(text_of(record.get("title")), 2)
            yield Skip("thread")
            return
        content, usage = record.get("content"), dict_of(record.get("usage"))
        model = text_of(usage.get("model"))
        blocks = [dict_of(block) for block in list_of(content)]
        results = [block for block in blocks if block.get("type") == "tool_result" and "run" in block]
        for block in results:
            yield _result(text_of(block.get("toolUseID")), dict_of(block.get("run")))
        rest = [block for block in blocks if block not in results]
        if blocks:
            for item in block_items(rest, text_of(record.get("role")), model):
                if isinstance(item, Use) and item.name in ("Task", "oracle", "librarian"):
                    given = dict_of(item.input)
                    item.task = Task(item.name, text_of(given.get("description")), text_of(given.get("prompt")))
                yield item
        elif isinstance(content, str):
            yield from message_items(record, model)
        state = dict_of(record.get("state"))
        if state.get("type") == "cancelled":
            yield Say(Kind.INTERRUPT, label="Interrupted")
        elif state.get("type") == "error":
            yield Say(Kind.ERROR, text_of(dict_of(state.get("error")).get("message")), label="Error")
        figures = TokenUsage(*(as_count(usage.get(name)) for name in _FIGURES))
        if any(figures):
            yield Count(figures, model=model)

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The patch that the result has, else what the input says."""
        patch = text_of(dict_of(answer.details).get("diff")) if answer is not None else ""
        if tool.type == "write" and tool.status is ToolStatus.OK and "@@" in patch:
            return diff_of(text_of(tool.input.get("path")), patch.removeprefix("```diff\n").removesuffix("```"))
        return super().diffs(tool, answer)


def _speaks(messages: object) -> bool:
    found = [dict_of(message) for message in list_of(messages)]
    return isinstance(messages, list) and all(message.get("role") in ("user", "assistant") for message in found[:20])


def _result(use_id: str, run: Data) -> Answer:
    """The result of a tool use: a text, a list, or an object in which a text stands."""
    result, status = run.get("result"), _ENDS.get(text_of(run.get("status")), ToolStatus.PENDING)
    given, code = dict_of(result), whole(dict_of(result).get("exitCode"))
    text = texts_in(result if isinstance(result, str | list) else None, "\n")
    text = text or texts_in([given.get("output"), given.get("content")], "\n") or text_of(given.get("diff"))
    text = text or text_of(dict_of(run.get("error")).get("message")) or text_of(run.get("reason"))
    if status is ToolStatus.OK and (code or given.get("success") is False):
        status = ToolStatus.ERROR
    if status is ToolStatus.PENDING:
        return Answer(use_id, None, ToolStatus.PENDING)
    return Answer(use_id, text or (as_json(result) if result else ""), status, code, details=given)


PROVIDER = Amp()

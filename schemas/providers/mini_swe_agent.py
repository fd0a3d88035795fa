"""mini-swe-agent: a trajectory as one JSON document, each message with what came of it (found-others.md 11).

Older versions write nothing beside a message, or the tool's commands in the text; newer ones the whole response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from schemas.message import Kind, Lack, ToolStatus
from schemas.provider import Format
from schemas.providers.kit.bases import Data, Document, Home
from schemas.providers.kit.blocks import arguments_of, figures_in, message_items, texts_in
from schemas.providers.kit.words import Answer, Count, Fact, Item, Say, Skip, Use
from schemas.values import dict_of, list_of, text_of, when, whole

_FENCE = re.compile(r"```(?:mswea_bash_command|bash)\n(.*?)\n?```", re.DOTALL)
_ENDED = re.compile(r"\A<returncode>(-?\d{1,6})</returncode>\n?(?:<output>\n?)?(.*?)\n?(?:</output>\s*)?\Z", re.DOTALL)
"""What the oldest versions tell the model of a command."""
_NOT_RUN = "action was not executed"


class MiniSweAgent(Document):
    """mini-swe-agent's trajectories."""

    id = "mini-swe-agent"
    name = "mini-swe-agent"
    verified = "genuine trajectories of 2.4.6"
    counting = (
        "mini-swe-agent keeps each response as the interface gave it, with its tokens; the input includes the cache, "
        "which is taken apart here."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"trajectory_format"', b'"role"')
    formats: ClassVar[tuple[Format, ...]] = (
        Format("mini-swe-agent trajectory, JSON", "an object with trajectory_format mini-swe-agent-1 and messages"),
        Format("mini-swe-agent trajectory before 1.0, JSON", "a list of messages, one of which tells a returncode"),
    )
    homes = (
        Home("$MSWEA_GLOBAL_CONFIG_DIR", "MSWEA_GLOBAL_CONFIG_DIR"),
        Home("$XDG_CONFIG_HOME/mini-swe-agent", "XDG_CONFIG_HOME"),
        Home(".config/mini-swe-agent", platforms=("linux",)),
        Home("Library/Application Support/mini-swe-agent", platforms=("darwin",)),
        Home("$LOCALAPPDATA/mini-swe-agent/mini-swe-agent", "LOCALAPPDATA", ("win32",)),
    )
    files = ("*.traj.json",)
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})
    tools = {"bash": "shell"}

    def id_of(self, path: Path) -> str:
        """The file's name without its endings."""
        return path.name.removesuffix(".json").removesuffix(".traj")

    def records(self, document: Any) -> Sequence[Data]:
        """The facts of the run, and its messages; commands without ids are numbered, and so are their results."""
        held = dict_of(document)
        if isinstance(document, list):
            if not any(map(_ended, map(dict_of, document))):
                return ()
            held = {"messages": document}
        elif not text_of(held.get("trajectory_format")).startswith("mini-swe-agent"):
            return ()
        records, waiting, number = [{"type": "run", "info": held.get("info")}], list[str](), 0
        for message in map(dict_of, list_of(held.get("messages"))):
            extra = dict_of(message.get("extra"))
            if not extra and (extra := _ended(message) or _asked(message)):
                message = {**message, "extra": extra}
            actions = [dict_of(action) for action in list_of(extra.get("actions"))]
            if message.get("role") == "assistant" and not message.get("tool_calls"):
                ids = [f"action-{number + at}" for at in range(len(actions))]
                number, waiting = number + len(actions), [*waiting, *ids]
                message = {**message, "ids": ids}
            elif message.get("role") == "user" and "returncode" in extra and waiting:
                message = {**message, "role": "tool", "tool_call_id": waiting.pop(0)}
            records.append(message)
        info, last = dict_of(held.get("info")), records[-1]
        if last.get("role") == "user" and info.get("exit_status") and last.get("content") == info.get("submission"):
            records[-1] = last | {"role": "exit", "extra": info}  # how version 1 ends
        return records

    def type(self, record: Data) -> str:
        """A message's role, or the type of what has none."""
        return text_of(record.get("role")) or text_of(record.get("type")) or text_of(record.get("object"))

    def time(self, record: Data) -> float | None:
        """Return the time at which a message was written, recorded in seconds."""
        extra = dict_of(record.get("extra"))
        return when(record.get("timestamp")) or when(extra.get("timestamp")) or when(record.get("created_at"))

    def name_of(self, record: Data) -> str:
        """Messages have no ids."""
        return ""

    def read(self, record: Data) -> Iterator[Item]:
        extra = dict_of(record.get("extra"))
        match self.type(record):
            case "run":
                info = dict_of(record.get("info"))
                config = dict_of(dict_of(info.get("config")).get("environment"))
                yield Fact(version=info.get("mini_version"), workspace_root=config.get("cwd"))
                yield Skip("run")
            case "user" if "interrupt_type" in extra:
                yield from _response(dict_of(extra.get("response")))
                yield Say(Kind.CONTEXT, texts_in(record.get("content")), label=text_of(extra["interrupt_type"]))
            case "assistant":
                yield from self._answer(record, extra)
            case "tool":
                yield _result(text_of(record.get("tool_call_id")), extra, texts_in(record.get("content")))
            case "function_call_output":
                yield _result(text_of(record.get("call_id")), extra, text_of(record.get("output")))
            case "response":
                yield from _response(record)
            case "exit":
                status = text_of(extra.get("exit_status")) or text_of(record.get("content"))
                fault = text_of(extra.get("traceback"))
                if status in ("EOFError", "KeyboardInterrupt", "UserInterruption"):
                    yield Say(Kind.INTERRUPT, fault, label="Interrupted")
                else:
                    kind = Kind.NOTE if status == "Submitted" else Kind.ERROR
                    yield Say(kind, text_of(extra.get("submission")) or fault, label=status)
            case _:
                yield from message_items(record)

    def _answer(self, record: Data, extra: Data) -> Iterator[Item]:
        response = dict_of(extra.get("response"))
        model = text_of(response.get("model"))
        actions = [text_of(dict_of(action).get("command")) for action in list_of(extra.get("actions"))]
        content = record.get("content")
        if isinstance(content, str) and record.get("ids"):
            content = _FENCE.sub("", content).rstrip()
        yield from message_items(record | {"content": content}, model)
        for use_id, command in zip(list_of(record.get("ids")), actions, strict=False):
            yield Use(name="bash", use_id=text_of(use_id), model=model, input={"command": command})
        if any(figures := figures_in(response.get("usage"))):
            yield Count(figures, text_of(response.get("id")), model)


def _ended(message: Data) -> Data:
    """Return the `extra` of a command that ended, made from its text, where only that has it."""
    content = message.get("content")
    ended = _ENDED.match(content) if isinstance(content, str) and message.get("role") == "user" else None
    return {"returncode": int(ended[1]), "raw_output": ended[2]} if ended else {}


def _asked(message: Data) -> Data:
    """Return the `extra` of the command that a text asks for."""
    content = message.get("content")
    asked = _FENCE.search(content) if isinstance(content, str) and message.get("role") == "assistant" else None
    return {"actions": [{"command": asked[1]}]} if asked else {}


def _response(response: Data) -> Iterator[Item]:
    """A whole response, of either of OpenAI's interfaces."""
    model = text_of(response.get("model"))
    for choice in map(dict_of, list_of(response.get("choices"))):
        yield from message_items(dict_of(choice.get("message")) | {"role": "assistant"}, model)
    for item in map(dict_of, list_of(response.get("output"))):
        match item.get("type"):
            case "reasoning":
                if thought := texts_in(item.get("summary")):
                    yield Say(Kind.THINKING, thought, model=model)
            case "message":
                yield Say(Kind.TEXT, texts_in(item.get("content")), model=model)
            case "function_call":
                given = arguments_of(item.get("arguments"), "raw")
                yield Use(name=text_of(item.get("name")), use_id=text_of(item.get("call_id")), model=model, input=given)
    if any(figures := figures_in(response.get("usage"))):
        yield Count(figures, text_of(response.get("id")), model)


def _result(use_id: str, extra: Data, text: str) -> Answer:
    """The result of a command."""
    code, fault = whole(extra.get("returncode")), text_of(extra.get("exception_info"))
    shown = text_of(extra.get("raw_output")) if "raw_output" in extra else text
    status = ToolStatus.ERROR if code else ToolStatus.OK
    if fault == _NOT_RUN:
        status = ToolStatus.INTERRUPTED
    return Answer(use_id, "\n".join(filter(None, (shown, fault))), status, code)


PROVIDER = MiniSweAgent()

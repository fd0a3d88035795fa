"""gptme: a conversation in JSON lines, tool uses written within the answers (found-others.md 15)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from schemas.diffs import FileDiff, from_strings
from schemas.message import Kind, Lack, Tool, ToolStatus
from schemas.provider import Format, Head
from schemas.providers.kit.bases import Data, Home, Lines
from schemas.providers.kit.words import Answer, Count, Fact, Item, Say, Title, Use
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, number, text_of, when

if TYPE_CHECKING:
    from schemas.session import Session

_PART = re.compile(r"<think(?:ing)?>\n?(?P<thought>.*?)\n?</think(?:ing)?>|^@(?P<tool>\w+)\((?P<use>[^()\s]+)\):[ ]*",
                   re.DOTALL | re.MULTILINE)  # fmt: skip
_PLACE = re.compile(r"\*\*Working Directory:\*\* (\S.*)")
_CODE = re.compile(r"(?:exited \(code |[Rr]eturn code:? |exit code:? )(-?\d{1,6})")
_NAME = re.compile(r'^\s*name\s*=\s*"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_REPLACES = re.compile(r"<{7} ORIGINAL\n(.*?)\n?={7}\n(.*?)\n?>{7} UPDATED", re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)


class Gptme(Lines):
    """gptme's conversations."""

    id = "gptme"
    name = "gptme"
    verified = "genuine conversations of 0.35.1"
    counting = (
        "gptme keeps the tokens of each call with its answer; input excludes the cache, output includes thinking."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"timestamp"',)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("gptme conversation, JSON lines", "messages with role, a text and a timestamp, the first a system one"),
    )
    homes = (
        Home("$GPTME_LOGS_HOME", "GPTME_LOGS_HOME"),
        Home("$XDG_DATA_HOME/gptme/logs", "XDG_DATA_HOME"),
        Home(".local/share/gptme/logs"),
        Home("Library/Application Support/gptme/logs", platforms=("darwin",)),
        Home("$LOCALAPPDATA/gptme/gptme/logs", "LOCALAPPDATA", ("win32",)),
    )
    files = ("*/conversation.jsonl",)
    lacks = frozenset({Lack.TOKENS})
    resume: ClassVar[tuple[str, ...]] = ("gptme", "--name")
    tools = {
        "shell": "shell", "ipython": "shell", "tmux": "shell", "read": "read", "browser": "read", "vision": "read",
        "save": "write", "append": "write", "patch": "write", "morph": "write", "rag": "search", "gh": "shell",
        "subagent": "task", "todo": "task", "complete": "generic", "choice": "generic",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """A text by a role, with a time and nothing that others have."""
        first = head.records[0] if head.records else {}
        return (
            first.get("role") in ("system", "user")
            and isinstance(first.get("content"), str)
            and isinstance(first.get("timestamp"), str)
            and "type" not in first
        )

    def id_of(self, path: Path) -> str:
        """The conversation's folder, which is its name."""
        return path.parent.name if path.name == "conversation.jsonl" else path.stem

    def stamps(self, session: Session) -> object:
        """Return the conversation's settings, which show a change."""
        return _settings(session.path)

    def beside(self, session: Session) -> Iterable[Item]:
        """The name in the settings."""
        chat = _settings(session.path).partition("[chat]")[2].partition("\n[")[0]
        if name := _NAME.search(chat):
            yield Title(name[1], 2)

    def time(self, record: Data) -> float | None:
        """Return the time at which a message was written; a time without a zone is the machine's."""
        return when(record.get("timestamp"), local=True)

    def type(self, record: Data) -> str:
        """A message's role."""
        return text_of(record.get("role")) or "(no role)"

    def read(self, record: Data) -> Iterator[Item]:
        text, more = text_of(record.get("content")), dict_of(record.get("metadata"))
        match record.get("role"):
            case "user" if text.startswith("<system>"):
                yield Say(Kind.CONTEXT, text, label="Added")
            case "user":
                yield Say(Kind.PROMPT, text)
            case "assistant":
                model = text_of(more.get("served_model")) or text_of(more.get("model"))
                yield from _parts(text, model)
                given = dict_of(more.get("usage"))
                names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens",
                         "reasoning_tokens")  # fmt: skip
                usage = TokenUsage(*(as_count(given.get(name)) for name in names))
                if any(usage):
                    yield Count(usage, model=model)
            case "system":
                yield from self._system(record, text, more)
            case _:
                yield Say(Kind.UNKNOWN)

    def _system(self, record: Data, text: str, more: Data) -> Iterator[Item]:
        if use_id := text_of(record.get("call_id")):
            code = _CODE.search(text[-400:])
            failed = text.startswith("Error during execution") or (code is not None and int(code[1]) != 0)
            if text.startswith(("Aborted", "Execution interrupted", "User aborted")):
                status = ToolStatus.INTERRUPTED
            else:
                status = ToolStatus.ERROR if failed else ToolStatus.OK
            spent = number(more.get("duration"))
            yield Answer(use_id, text, status, int(code[1]) if code else None, spent)
        elif more.get("error") is True:
            yield Say(Kind.ERROR, text, label=text_of(more.get("error_class")) or "Error")
        elif text.startswith("Interrupted"):
            yield Say(Kind.INTERRUPT, text, label="Interrupted")
        else:
            if place := _PLACE.search(text):
                yield Fact(workspace_root=place[1].strip())
            hidden = record.get("hide") is True or record.get("pinned") is True
            yield Say(Kind.CONTEXT, text, label="System prompt" if hidden else "Added")

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """The replacements of a patch, else what the input says."""
        found = _REPLACES.findall(text_of(tool.input.get("patch")))
        if tool.name == "patch":
            path = text_of(tool.input.get("path"))
            good = tool.status in (ToolStatus.OK, ToolStatus.PENDING)
            return [from_strings(path, old, new) for old, new in found] if good else []
        return super().diffs(tool, answer)


def _parts(text: str, model: str) -> Iterator[Item]:
    """An answer taken apart: thinking, words, and tool uses with their arguments as JSON behind them."""
    at = 0
    while match := _PART.search(text, at):
        if words := text[at : match.start()].strip():
            yield Say(Kind.TEXT, words, model=model)
        at = match.end()
        if match["tool"] is None:
            if match["thought"].strip():
                yield Say(Kind.THINKING, match["thought"].strip(), model=model)
            continue
        given: Any
        try:
            given, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):  # it broke off, or was no JSON
            given, at = {"raw": text[at:]}, len(text)
        yield Use(name=match["tool"], use_id=match["use"], model=model, input=dict_of(given) or {"input": given})
    if words := text[at:].strip():
        yield Say(Kind.TEXT, words, model=model)


def _settings(path: Path) -> str:
    try:
        return path.with_name("config.toml").read_text("utf-8", "replace")
    except OSError:
        return ""


PROVIDER = Gptme()

"""`qwen --output-format stream-json`: the envelope of Claude Code's stream (formats/streams.md 1.2).

Figures and notices are Qwen Code's own (found-claude-codex-gemini-qwen.md, Q1 to Q3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from schemas.message import Kind, Tool
from schemas.provider import Format
from schemas.providers._google import Tools, unwrapped
from schemas.providers.claude.classify import texts_of
from schemas.providers.claude.stream import WOKEN, Block, ClaudeStream, Result, Run
from schemas.providers.kit.bases import Data
from schemas.providers.kit.history import History, Placed
from schemas.providers.kit.words import Answer, Fact, Say, Use
from schemas.providers.qwen import STARTERS
from schemas.usage import TokenUsage, as_count


class QwenRun(Run):
    """The lines of a run tell what it took; its result goes on from the session's earlier processes."""

    def sift(self, record: Any, number: int, item: Any) -> Iterator[Placed]:
        """A result's figures count only where no line told any; each block of a response has a line of its own id."""
        if isinstance(item, Block) and not self.whose(record[3]):
            item.response = self._response
        if isinstance(item, Result) and self.session.usage() is not None:
            item.usage = item.models = None
        return super().sift(record, number, item)


class QwenStream(ClaudeStream):
    """The output of `qwen`, recognised by its `init`; all that follows, by the session."""

    tools, foreign, listing, tool_type = Tools.tools, Tools.foreign, Tools.listing, Tools.tool_type
    id = "qwen"
    name = "Qwen Code"
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Qwen Code, `--output-format stream-json` (or json)", "an init with qwen_code_version"),
    )
    history: ClassVar[type[History]] = QwenRun
    starters: ClassVar[frozenset[str]] = STARTERS

    def prints(self, record: Data) -> bool:
        """The envelope, with the program's version."""
        return "qwen_code_version" in record and isinstance(record.get("session_id"), str)

    def setting(self, record: Data) -> Fact:
        return Fact(workspace_root=record.get("cwd"), version=record.get("qwen_code_version"))

    def usage_of(self, usage: Data) -> TokenUsage | None:
        """The input includes what came from the cache, which the total tells; all zero is not known."""
        figures = super().usage_of(usage)
        if figures is None or not any(figures):
            return None
        total, fresh, read = as_count(usage.get("total_tokens")), figures.input, figures.cache_read
        whole = fresh is not None and total == fresh + (figures.output or 0)
        return figures._replace(input=max(0, (fresh or 0) - (read or 0))) if whole and read else figures

    def typed(self, record: Data, content: object, kind: Kind = Kind.PROMPT) -> Iterator[Any]:
        """A notice that a task has ended stands there like a prompt."""
        text = "".join(texts_of(content))
        if text.startswith(('Background agent "', 'Background task "')) and text.rstrip().endswith("."):
            yield Say(Kind.NOTE, label=text)
            yield WOKEN
        else:
            yield from super().typed(record, content, kind)

    def result(self, record: Data, block: Data, *, alone: bool) -> Answer:
        """The result of a tool use: a shell's is what the model got, its exit code in the text."""
        content = block.get("content")
        if not isinstance(content, str):
            return super().result(record, block, alone=alone)
        text, code = unwrapped(content)
        return replace(super().result(record, block | {"content": text}, alone=alone), exit_code=code)

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use, with the exit code that its result told."""
        tool, facts = super().tool(use, answer, path)
        if answer is not None and answer.exit_code is not None:
            tool.exit_code = answer.exit_code
        return tool, facts


STREAM = QwenStream()

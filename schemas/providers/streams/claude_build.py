"""A message of a Claude stream from its lines: the words of claude/, over the stream's envelope (formats note 2.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.clean import as_json, clean, clean_styled, clean_value, one_line
from schemas.message import Flag, Kind, Message, Part, Span, SpanRole, ToolStatus
from schemas.providers.claude.build import compaction_label
from schemas.providers.claude.classify import command_label, command_output, texts_of, typed_text
from schemas.providers.claude.media import media_part, media_parts
from schemas.providers.claude.notes import context_label, notification
from schemas.providers.claude.results import joined
from schemas.providers.claude.tools import build_tool, tool_path_hints
from schemas.providers.streams.claude_drafts import piece_of
from schemas.providers.streams.claude_words import (
    TASK_ENDS,
    denies,
    error_text,
    failure_text,
    given_input,
    hook_label,
    hook_output,
    limit_label,
    result_blocks,
    retry_label,
    task_facts,
)
from schemas.providers.streams.stream import text_part
from schemas.session import Session

Value = dict[str, Any]
PARTIAL = "partial: the complete text is not in the stream"
_FAILURES = {
    "error_during_execution": "Stopped by an error",
    "error_max_turns": "Stopped: the turn limit is reached",
    "error_max_budget_usd": "Stopped: the budget is used up",
    "error_max_structured_output_retries": "Stopped: no valid structured output",
}


def build_message(session: Session, message: Message, spans: list[Span], so_far: str | None = None) -> None:
    """Fill in a message of one speaker. Never fails: what the lines do not hold is left out.

    `so_far` is what the deltas of a block that is being written make; then only its first line need be in `spans`.
    """
    _Builder(session, message, spans, so_far).fill()
    if not message.parts and message.tool is None and not message.label:
        message.label = "(nothing to read)"


class _Builder:
    """Fills one message; a method a kind."""

    def __init__(self, session: Session, message: Message, spans: list[Span], so_far: str | None) -> None:
        self.session = session
        self.message = message
        self.spans = spans
        self.so_far = so_far
        bodies = [i for i, span in enumerate(spans) if span.role is SpanRole.BODY]
        self.body = bodies[-1]
        """The span of the line that holds it whole; what stands before it are its deltas."""
        self.value = session.record(spans[self.body])
        inner = self.value.get("message")
        self.content: object = inner.get("content") if isinstance(inner, dict) else None
        self.place = session.messages.block[message.index]

    def fill(self) -> None:
        """Parts, tool and label."""
        self.message.metadata["recordType"] = one_line(str(self.value.get("type")), 60)
        _BY_KIND[self.message.kind](self)

    def later(self) -> list[Value]:
        """The lines that stand behind the whole one and tell more of it."""
        return [self.session.record(s) for s in self.spans[self.body + 1 :] if s.role is SpanRole.DETAIL]

    # -- to the agent --------------------------------------------------------------------------------------------------

    def typed(self) -> None:
        """A prompt, or text beside results."""
        text, envelopes = typed_text(self.others())
        self.message.parts = [*text_part(text), *media_parts(self.content)]
        if not self.message.parts:
            self.message.parts = text_part(joined(self.content))
        if envelopes:
            self.message.metadata["injected"] = [clean(envelope) for envelope in envelopes]
        if self.value.get("isReplay") is True:
            self.message.metadata["replayed"] = True

    def others(self) -> object:
        """The content without the tool results in it."""
        if not isinstance(self.content, list):
            return self.content
        return [b for b in self.content if not (isinstance(b, dict) and b.get("type") == "tool_result")]

    def command(self) -> None:
        """A slash command."""
        label = clean(command_label(typed_text(self.content)[0]))
        self.message.label, self.message.parts = one_line(label), [Part("text", label)]

    def interrupt(self) -> None:
        """The person stopped the agent."""
        text = "\n".join(texts_of(self.others())).strip()
        self.message.label = "Interrupted during a tool use" if "for tool use" in text else "Interrupted"
        self.message.parts = text_part(text)

    def context(self) -> None:
        """What the program put into the conversation."""
        text = "\n\n".join(text for text in texts_of(self.others()) if text.strip())
        self.message.label = context_label(text)
        self.message.parts = [*text_part(text), *media_parts(self.content)]

    def output(self) -> None:
        """What a command printed, or a result of a tool use that is not in the stream."""
        block = self.block()
        if "tool_use_id" in block:
            tool, _ = build_tool({}, block, self.value.get("tool_use_result"), self.session.path)
            self.message.label = "Result of a tool use that is not in this stream"
            self.message.parts = [Part("text", tool.text, runs=tool.runs), *tool.images]
            self.message.metadata["toolUseId"] = clean(str(block.get("tool_use_id")))
            return
        text = command_output(typed_text(self.content)[0]) if self.content is not None else self.said()
        shown, runs = clean_styled(text)
        self.message.label = "Output"
        self.message.parts = [Part("text", shown, runs=runs)] if shown else []

    def said(self) -> str:
        """The words of a side event."""
        return next((t for k in ("content", "text") if isinstance(t := self.value.get(k), str)), "")

    # -- by the agent --------------------------------------------------------------------------------------------------

    def block(self) -> Value:
        """The content block that the message is; pieced together while only its deltas are there."""
        if self.value.get("type") == "stream_event":
            return self.draft()
        if isinstance(self.content, str):
            return {"type": "text", "text": self.content}
        if isinstance(self.content, list) and self.place < len(self.content):
            block = self.content[self.place]
            return block if isinstance(block, dict) else {"type": "text", "text": block}
        return {}

    def draft(self) -> Value:
        """A block from its deltas."""
        values = [self.value] if self.so_far is not None else [self.session.record(span) for span in self.spans]
        events = [e for v in values if v.get("type") == "stream_event" and isinstance(e := v.get("event"), dict)]
        start = events[0].get("content_block") if events else None
        block: Value = dict(start) if isinstance(start, dict) else {}
        text = "".join(map(piece_of, events)) if self.so_far is None else self.so_far
        # What keeps back the text that its deltas told is complete all the same.
        if all(value.get("type") != "assistant" for value in values):
            self.message.label = PARTIAL
            self.message.metadata["partial"] = True
        if self.message.kind is not Kind.TOOL:
            return block | {"text": text, "thinking": text}
        return block | {"input": given_input(text, block.get("input"))}

    def text(self) -> None:
        """What the agent said, or the answer that only the end of the turn told."""
        if self.value.get("type") == "result":
            self.message.parts = text_part(self.value.get("result"))
            return
        block = self.block()
        if block.get("type") in ("image", "document"):
            self.message.parts = [media_part(block)]
        else:
            self.message.parts = text_part(block.get("text"))

    def thinking(self) -> None:
        """What the agent thought."""
        text = self.block().get("thinking")
        if isinstance(text, str) and text:
            self.message.parts = [Part("thinking", clean(text))]
        else:
            self.message.label = self.message.label or "Thinking withheld by the provider"

    # -- tool uses -----------------------------------------------------------------------------------------------------

    def tool(self) -> None:
        """A tool use with its results and what side events say of it."""
        message, session = self.message, self.session
        use = self.block()
        later = self.later()
        refused = any(denies(value, use.get("id")) for value in later)
        result, extra = self.result_of(use.get("id"), refused)
        tool, facts = build_tool(use, result, extra, session.path)
        message.tool = tool
        message.metadata |= facts
        for value in later:
            self.detail(value, use.get("id"))
        if result is None and message.flags & Flag.INTERRUPTED:
            tool.status = ToolStatus.DENIED if refused else ToolStatus.INTERRUPTED
        task = message.metadata.get("task")
        if isinstance(task, dict) and (task.get("background") or tool.status is ToolStatus.BACKGROUND):
            self.background(task, answered=result is not None)
        root = session.workspace_root
        message.path_hints = tool_path_hints(tool, root, root)
        if message.flags & Flag.SUBAGENT:
            tool.subagent = next((s.id for s in session.subagents if s.tool_use == message.index), None)

    def result_of(self, use: object, refused: bool) -> tuple[Value | None, object]:
        """The first result of the tool use, and the structured copy beside it if it can only belong to it."""
        for span in self.spans:
            if span.role is SpanRole.RESULT:
                value = self.session.record(span)
                found = result_blocks(value)
                for block in found:
                    if block.get("tool_use_id") == use:
                        denial = "permission" if refused else value.get("toolDenialKind")
                        return block | {"denial": denial}, value.get("tool_use_result") if len(found) == 1 else None
        return None, None

    def detail(self, value: Value, use: object) -> None:
        """A side event of the tool use, or another result of it."""
        tool, metadata = self.message.tool, self.message.metadata
        assert tool is not None
        kind, subtype = value.get("type"), value.get("subtype")
        if kind == "tool_progress":
            spent = value.get("elapsed_time_seconds")
            if isinstance(spent, int | float) and not isinstance(spent, bool) and 0 <= spent < 1e9:
                metadata["elapsedSeconds"] = spent
        elif kind == "tool_use_summary":
            tool.summary = one_line(str(value.get("summary")), 300)
        elif subtype == "permission_denied":
            words = [value.get(key) for key in ("decision_reason", "message")]
            if said := [clean(word) for word in words if isinstance(word, str) and word]:
                metadata["denied"] = said[0]
        elif isinstance(subtype, str) and subtype.startswith("task_"):
            metadata["task"] = task_facts(metadata.get("task"), value)
        else:
            for block in result_blocks(value):
                if block.get("tool_use_id") == use:
                    again, _ = build_tool({}, block, None, self.session.path)
                    tool.text = f"{tool.text}\n\n{again.text}".strip("\n")
                    tool.images += again.images

    def background(self, task: Value, *, answered: bool) -> None:
        """A tool that goes on after its result: how it ended, and with what words."""
        tool = self.message.tool
        assert tool is not None
        status = task.get("status")
        outcome = TASK_ENDS.get(status) if isinstance(status, str) else None
        if outcome is None:
            tool.status = ToolStatus.BACKGROUND
        elif outcome is Flag.ERROR:
            tool.status = ToolStatus.ERROR
        else:
            tool.status = ToolStatus.INTERRUPTED if outcome else ToolStatus.OK
        if outcome is not None and isinstance(summary := task.get("summary"), str):
            tool.text = f"{tool.text}\n\n{summary}" if answered and tool.text else summary

    # -- beside the talk -----------------------------------------------------------------------------------------------

    def compaction(self) -> None:
        """The mark with its numbers, and the summary that took the place of the talk."""
        message = self.message
        message.label = "Compacted"
        for value in (self.value, *self.later()):
            facts = value.get("compact_metadata")
            if value.get("type") == "user":
                inner = value.get("message")
                message.parts = text_part(
                    "\n\n".join(texts_of(inner.get("content") if isinstance(inner, dict) else None))
                )
            elif isinstance(facts, dict):
                known = {"trigger": facts.get("trigger"), "preTokens": facts.get("pre_tokens")}
                known["postTokens"] = facts.get("post_tokens")
                message.label = compaction_label(known)
                message.metadata["compaction"] = clean_value({k: v for k, v in known.items() if v is not None})

    def error(self) -> None:
        """A failure: of a request, of a hook, of the turn."""
        message, value = self.message, self.value
        kind, error = value.get("type"), value.get("error")
        words = one_line(error, 80).replace("_", " ") if isinstance(error, str) else ""
        if kind == "result":
            status = value.get("api_error_status")
            label = _FAILURES.get(str(value.get("subtype")), "The run failed")
            code = one_line(str(status), 40) if isinstance(status, int | str) and not isinstance(status, bool) else ""
            message.label = f"{label} (API error {code})" if code else label
            message.parts = text_part(failure_text(value))
        elif kind == "stream_event":
            message.label, message.parts = "API error", text_part(error_text(value.get("event")))
        elif kind == "system" and "hook_name" in value:
            message.label, message.parts = hook_label(value, "failed"), text_part(hook_output(value))
        elif kind == "system":
            message.label, message.parts = "Compaction failed", text_part(value.get("compact_error"))
        else:
            inner = value.get("message")
            synthetic = isinstance(inner, dict) and inner.get("model") == "<synthetic>"
            message.label = f"API error ({words})" if words else "API error"
            message.parts = text_part("\n\n".join(texts_of(self.content)).strip()) if synthetic else []

    def note(self) -> None:
        """A side event, or what the program or another agent said."""
        message, value = self.message, self.value
        kind = value.get("type")
        if kind in ("user", "assistant"):
            label, text = self.said_note()
        elif kind == "result":
            label, text = "Structured output", as_json(value.get("structured_output"), indent=True)
        elif kind == "rate_limit_event":
            label, text = limit_label(value.get("rate_limit_info")), ""
        elif kind == "tool_use_summary":
            label, text = str(value.get("summary")), ""
        elif "hook_name" in value:
            label, text = hook_label(value, "cancelled"), hook_output(value)
        elif value.get("subtype") == "api_retry":
            label, text = retry_label(value), ""
        elif "task_id" in value:
            label, text = self.task_note()
        elif str(value.get("subtype")).startswith("model_refusal"):
            models = [one_line(str(value.get(k) or "?"), 80) for k in ("original_model", "fallback_model")]
            switched = value.get("fallback_model") is not None
            label, text = (
                f"Model switched after a refusal: {' → '.join(models)}" if switched else "Refused",
                self.said(),
            )
        else:
            text = self.said()
            label, text = (text, "") if len(text) <= 120 and "\n" not in text.strip() else (one_line(text, 120), text)
        message.label = one_line(label, 300)
        message.parts = text_part(text) if text.strip() else []

    def said_note(self) -> tuple[str, str]:
        """A notification, mail from another agent, what the program wrote in the model's place."""
        block = self.block() if self.value.get("type") == "assistant" else {}
        if block.get("type") == "fallback":
            names = [b.get("model") if isinstance(b := block.get(k), dict) else None for k in ("from", "to")]
            return "Model switched: " + " → ".join(one_line(str(name), 80) for name in names), ""
        return notification("\n\n".join(texts_of(self.content)))

    def task_note(self) -> tuple[str, str]:
        """A task whose tool use is not in the stream."""
        task: Value = {}
        for value in (self.value, *self.later()):
            task = task_facts(task, value)
        words = [str(task[key]) for key in ("description", "status") if key in task]
        self.message.metadata["task"] = task
        summary = task.get("summary")
        return "Background task: " + ", ".join(words), summary if isinstance(summary, str) else ""

    def unknown(self) -> None:
        """Made by the parser."""


_BY_KIND: dict[Kind, Callable[[_Builder], None]] = {
    Kind.PROMPT: _Builder.typed,
    Kind.STEER: _Builder.typed,
    Kind.COMMAND: _Builder.command,
    Kind.TEXT: _Builder.text,
    Kind.THINKING: _Builder.thinking,
    Kind.TOOL: _Builder.tool,
    Kind.COMPACTION: _Builder.compaction,
    Kind.INTERRUPT: _Builder.interrupt,
    Kind.ERROR: _Builder.error,
    Kind.OUTPUT: _Builder.output,
    Kind.CONTEXT: _Builder.context,
    Kind.NOTE: _Builder.note,
    Kind.UNKNOWN: _Builder.unknown,
}

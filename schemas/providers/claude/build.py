"""A message from its records: everything that a person may want to read of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from schemas.clean import as_json, clean, clean_styled, clean_value, one_line
from schemas.message import Flag, Kind, Message, Part, Span, SpanRole
from schemas.providers.claude.classify import (
    command_label,
    command_output,
    texts_of,
    typed_text,
)
from schemas.providers.claude.media import media_part, media_parts
from schemas.providers.claude.notes import context_label, describe_attachment, describe_system, notification
from schemas.providers.claude.tools import build_tool, tool_path_hints
from schemas.session import Session
from schemas.table import NONE

Value: TypeAlias = dict[str, Any]
_FACTS = {
    "cwd": "cwd",
    "gitBranch": "gitBranch",
    "requestId": "requestId",
    "effort": "effort",
    "permissionMode": "permissionMode",
    "promptSource": "promptSource",
    "apiErrorStatus": "apiErrorStatus",
    "isAbortedMidStream": "abortedMidStream",
    "attributionSkill": "skill",
    "attributionAgent": "agent",
    "attributionPlugin": "plugin",
    "attributionMcpServer": "mcpServer",
    "sourceToolUseID": "sourceToolUseId",
    "toolDenialKind": "denial",
    "userFeedback": "feedback",
    "supersedesUuids": "supersedes",
}
_RAW_LIMIT = 1 << 20
_SUBAGENT = int(Flag.SUBAGENT)
_flag = cache(Flag)  # few combinations occur, and making one takes longer than reading a record


def build_message(session: Session, index: int) -> Message:
    """Message `index` of a Claude Code session, read back from the file.

    Never fails: where the file changed meanwhile, the message is what can still be read of it.
    """
    table = session.messages
    spans = session.message_spans(index)
    first = value = session.record(spans[0])
    if len(spans) > 1:
        value = session.record(next(span for span in reversed(spans) if span.role is SpanRole.BODY))
    block = table.block[index]
    group = table.group[index]
    message = Message(
        index=index,
        id=_id(first, spans[0], block) + (":unknown" if table.kind[index] == Kind.UNKNOWN else ""),
        kind=table.kind_of(index),
        exchange=table.exchange[index],
        timestamp=table.when(index),
        model=session.model_of(index),
        group=None if group == NONE else session.groups.ids[group],
        flags=_flag(table.flags[index]),
        metadata=_facts(value),
    )
    _Builder(session, message, value, block, spans).fill()
    return message


def _id(value: Value, span: Span, block: int) -> str:
    uuid = value.get("uuid")
    base = clean(uuid) if isinstance(uuid, str) and uuid else f"{one_line(str(value.get('type')), 40)}@{span.offset}"
    return f"{base}:{block}" if block else base


def _facts(value: Value) -> dict[str, Any]:
    """What SessionData has no field for."""
    facts: dict[str, Any] = {"recordType": one_line(str(value.get("type")), 60)}
    for name, fact in value.items():
        if name in _FACTS and fact is not None and fact != "":
            facts[_FACTS[name]] = clean_value(fact)
    origin = value.get("origin")
    if isinstance(origin, dict) and isinstance(origin.get("kind"), str):
        facts["origin"] = clean(origin["kind"])
    message = value.get("message")
    if isinstance(message, dict):
        for name, key in (("stop_reason", "stopReason"), ("stop_sequence", "stopSequence")):
            if isinstance(message.get(name), str) and message[name]:
                facts[key] = clean(message[name])
        usage = message.get("usage")
        tier = usage.get("service_tier") if isinstance(usage, dict) else None
        if isinstance(tier, str):
            facts["serviceTier"] = clean(tier)
    return facts


class _Builder:
    """Fills one message; a method a kind."""

    def __init__(self, session: Session, message: Message, value: Value, block: int, spans: list[Span]) -> None:
        self.session = session
        self.message = message
        self.value = value
        self.block = block
        self.spans = spans
        inner = value.get("message")
        self.content: object = inner.get("content") if isinstance(inner, dict) else None

    def fill(self) -> None:
        """Parts, tool and label."""
        kind = self.message.kind
        record = self.value.get("type")
        if record == "system" or record == "compact_boundary" or record == "attachment":
            beside = self._compaction if kind == Kind.COMPACTION else self._beside
            beside()
        else:
            _BY_KIND[kind](self)
        message = self.message
        if not message.parts and message.tool is None and not message.label:
            message.label = "(nothing to read)"  # its words are control characters, or the file changed meanwhile

    # -- typed -----------------------------------------------------------------------------------------------------

    def _typed(self) -> None:
        """A prompt, or text typed while the agent worked."""
        content = self.content
        if self.value.get("type") == "queue-operation":
            content = self.value.get("content")
        elif isinstance(content, list) and self.block:
            content = [b for b in content if not (isinstance(b, dict) and b.get("type") == "tool_result")]
        self._prompt_parts(content)
        if isinstance(plan := self.value.get("planContent"), str) and plan:
            self.message.label = "plan"
        if (mail := self.message.text.lstrip()).startswith(("<teammate-message", "<agent-message")):
            self._note(mail)

    def _prompt_parts(self, content: object) -> None:
        text, envelopes = typed_text(content)
        if text:
            self.message.parts.append(Part("text", clean(text)))
        self.message.parts += media_parts(content)
        if envelopes:
            self.message.metadata["injected"] = [clean(envelope) for envelope in envelopes]

    def _command(self) -> None:
        label = clean(command_label(typed_text(self.content)[0]))
        self.message.label = one_line(label)
        self.message.parts = [Part("text", label)]

    def _output(self) -> None:
        if isinstance(self.content, list) and (block := self._block()) and "tool_use_id" in block:
            tool, _ = build_tool({}, block, self.value.get("toolUseResult"), self.session.path)
            self.message.label = "Result of a tool use that is not in this file"
            self.message.parts = [Part("text", tool.text, runs=tool.runs), *tool.images]
            self.message.metadata["toolUseId"] = clean(str(block.get("tool_use_id")))
        else:
            self._printed(command_output(typed_text(self.content)[0]))

    def _printed(self, text: str) -> None:
        shown, runs = clean_styled(text)
        self.message.label = "Output"
        self.message.parts = [Part("text", shown, runs=runs)] if shown else []

    def _interrupt(self) -> None:
        text = clean("\n".join(texts_of(self.content)).strip())
        self.message.label = "Interrupted during a tool use" if "for tool use" in text else "Interrupted"
        self.message.parts = [Part("text", text)] if text else []

    def _context(self) -> None:
        content = self.content
        if isinstance(content, list) and self.block:
            content = [b for b in content if not (isinstance(b, dict) and b.get("type") == "tool_result")]
        text = "\n\n".join(text for text in texts_of(content) if text.strip())
        self.message.label = context_label(text)
        self.message.parts = [Part("text", clean(text)), *media_parts(content)]

    def _note(self, text: str | None = None) -> None:
        """A notification, mail, or a note that Claude Code wrote in the model's place."""
        message = self.message
        if self.value.get("type") == "permission-mode":
            message.label = f"Permission mode: {one_line(str(self.value.get('permissionMode')), 80)}"
            return
        block = self._block() if self.value.get("type") == "assistant" else None
        if block is not None and block.get("type") == "fallback":
            names = [b.get("model") if isinstance(b := block.get(k), dict) else None for k in ("from", "to")]
            message.label = "Model switched: " + " → ".join(one_line(str(name), 80) for name in names)
            return
        if text is None:
            text = "\n\n".join(texts_of(self.content))
        label, body = notification(text)
        message.label = clean(label)
        message.parts = [Part("text", clean(body))] if body.strip() else []

    def _error(self) -> None:
        text = "\n\n".join(texts_of(self.content)).strip()
        error = self.value.get("error")
        status = self.value.get("apiErrorStatus")
        kind = one_line(error, 80).replace("_", " ") if isinstance(error, str) else ""
        code = f" {status}" if isinstance(status, int) and not isinstance(status, bool) else ""
        self.message.label = f"API error{code}{f' ({kind})' if kind else ''}"
        self.message.parts = [Part("text", clean(text))] if text else []

    # -- said by the agent -----------------------------------------------------------------------------------------

    def _block(self) -> Mapping[str, Any] | None:
        content = self.content
        if isinstance(content, list) and self.block < len(content):
            block = content[self.block]
            return block if isinstance(block, dict) else {"type": "text", "text": block}
        return None

    def _text(self) -> None:
        if isinstance(self.content, str):
            self.message.parts = [Part("text", clean(self.content))]
            return
        block = self._block() or {}
        if block.get("type") in ("image", "document"):
            self.message.parts = [media_part(block)]
        else:
            text = block.get("text")
            self.message.parts = [Part("text", clean(text))] if isinstance(text, str) else []

    def _thinking(self) -> None:
        text = (self._block() or {}).get("thinking")
        if isinstance(text, str) and text:
            self.message.parts = [Part("thinking", clean(text))]
        else:
            self.message.label = "Thinking withheld by the provider"

    def _tool(self) -> None:
        session, message = self.session, self.message
        use = self._block() or {}
        result, extra, line = self._result_of(use.get("id"))
        tool, facts = build_tool(use, result, extra, session.path)
        message.tool = tool
        message.metadata |= facts
        if line is not None:
            for name in ("toolDenialKind", "userFeedback"):
                if isinstance(line.get(name), str):
                    message.metadata[_FACTS[name]] = clean(line[name])
        cwd = self.value.get("cwd")
        message.path_hints = tool_path_hints(tool, cwd if isinstance(cwd, str) else None, session.workspace_root)
        if session.messages.flags[message.index] & _SUBAGENT:
            tool.subagent = next((s.id for s in session.subagents if s.tool_use == message.index), None)

    def _result_of(self, use: object) -> tuple[Mapping[str, Any] | None, object, Value | None]:
        """The result block of a tool use, the line's `toolUseResult` if it can only belong to it, and the line."""
        for span in self.spans:
            if span.role is not SpanRole.RESULT:
                continue
            line = self.session.record(span)
            inner = line.get("message")
            content = inner.get("content") if isinstance(inner, dict) else None
            blocks = [
                b
                for b in (content if isinstance(content, list) else [])
                if isinstance(b, dict) and str(b.get("type")).endswith("tool_result")
            ]
            for block in blocks:
                if block.get("tool_use_id") == use:
                    return (
                        {**block, "denial": line.get("toolDenialKind")},
                        line.get("toolUseResult") if len(blocks) == 1 else None,
                        line,
                    )
        return None, None, None

    # -- beside the talk -------------------------------------------------------------------------------------------

    def _compaction(self) -> None:
        """The mark, with its numbers, and the summary that took the place of the talk."""
        message = self.message
        message.label = "Compacted"
        for span in self.spans:
            value = self.session.record(span)
            facts = value.get("compactMetadata")
            if value.get("type") == "user":
                inner = value.get("message")
                text = "\n\n".join(texts_of(inner.get("content") if isinstance(inner, dict) else None))
                message.parts = [Part("text", clean(text))] if text.strip() else []
            elif isinstance(facts, dict):
                message.label = compaction_label(facts)
                kept = ("trigger", "preTokens", "postTokens", "durationMs", "cumulativeDroppedTokens")
                message.metadata["compaction"] = {k: clean_value(facts[k]) for k in kept if k in facts}

    def _beside(self) -> None:
        """System records and attachments."""
        message, value = self.message, self.value
        attached = value.get("attachment")
        if not isinstance(attached, dict):
            if value.get("subtype") == "local_command":
                content = value.get("content")
                text = content if isinstance(content, str) else ""
                if message.kind == Kind.COMMAND:
                    label = clean(command_label(text))
                    message.label, message.parts = one_line(label), [Part("text", label)]
                else:
                    self._printed(command_output(text))
                return
            label, text = describe_system(value) if message.kind != Kind.UNKNOWN else ("", "")
        elif attached.get("type") == "queued_command":
            prompt = attached.get("prompt")
            if message.kind == Kind.NOTE:
                self._note("\n\n".join(texts_of(prompt)))
            else:
                self._prompt_parts(prompt)
            return
        else:
            label, text = describe_attachment(attached)
        if message.kind == Kind.UNKNOWN:
            self._unknown()
            return
        message.label = one_line(label)
        message.parts = [Part("text", clean(text))] if text.strip() else []

    def _unknown(self) -> None:
        """A record or block that nobody described, as it is."""
        block = self._block()
        if block is not None and self.value.get("type") in ("user", "assistant"):
            raw = as_json(block).encode()
            self.message.label = f"Unknown block {one_line(str(block.get('type')), 80)}"
        else:
            raw = self.session.raw(self.spans[0])
            self.message.label = f"Unknown record {one_line(str(self.value.get('type')), 80)}"
            if isinstance(subtype := self.value.get("subtype"), str):
                self.message.label += f" {one_line(subtype, 80)}"
        text = raw[:_RAW_LIMIT].decode("utf-8", "replace")
        self.message.parts = [Part("text", clean(text) + ("…" if len(raw) > _RAW_LIMIT else ""))]


def compaction_label(facts: Mapping[str, Any]) -> str:
    """What a compaction says of itself: `Compacted (auto), 170,000 tokens before, 8,000 after`."""
    trigger = facts.get("trigger")
    label = f"Compacted ({one_line(trigger, 40)})" if isinstance(trigger, str) else "Compacted"
    before, after = (
        f"{n:,}" if isinstance(n := facts.get(key), int) and not isinstance(n, bool) and 0 < n < 1 << 62 else None
        for key in ("preTokens", "postTokens")
    )
    if before:
        label += f", {before} tokens before"
    if after:
        label += f", {after} after" if before else f", {after} tokens after"
    return label


_BY_KIND: dict[Kind, Callable[[_Builder], None]] = {
    Kind.PROMPT: _Builder._typed,
    Kind.STEER: _Builder._typed,
    Kind.COMMAND: _Builder._command,
    Kind.TEXT: _Builder._text,
    Kind.THINKING: _Builder._thinking,
    Kind.TOOL: _Builder._tool,
    Kind.COMPACTION: _Builder._compaction,
    Kind.INTERRUPT: _Builder._interrupt,
    Kind.ERROR: _Builder._error,
    Kind.OUTPUT: _Builder._output,
    Kind.CONTEXT: _Builder._context,
    Kind.NOTE: _Builder._note,
    Kind.UNKNOWN: _Builder._unknown,
}

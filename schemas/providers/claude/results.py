"""Tool results, as far as the scan looks at them: which use they end, how, and their size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schemas.message import Flag, Kind, SpanRole
from schemas.providers.claude.classify import fold_reminders, is_refusal
from schemas.records import Record

if TYPE_CHECKING:
    from schemas.providers.claude.parse import ClaudeParser

Value = dict[str, Any]
_PENDING, _ERROR, _INTERRUPTED = int(Flag.PENDING), int(Flag.ERROR), int(Flag.INTERRUPTED)
_RESULT = int(SpanRole.RESULT)
_MOST = 0xFFFF_FFFF


class Results:
    """Pairs results with tool uses by their ids, over the whole session: they come out of order."""

    def __init__(self, parser: ClaudeParser) -> None:
        self.uses: dict[int, int] = {}
        """The message of each tool use, by the hash of its id."""
        self._parser = parser
        self._session = parser.session

    def take(self, record: Record, value: Value, block: Value, *, alone: bool) -> None:
        """Give a tool use its result."""
        session, messages = self._session, self._session.messages
        use = block.get("tool_use_id")
        row = self.uses.get(hash(use), -1) if type(use) is str else -1
        content = block.get("content")
        text = content if type(content) is str else joined(content)
        if text.endswith("</system-reminder>"):
            text = fold_reminders(text)[0]
        if text.startswith("Exit code ") and block.get("is_error") is True:
            text = text.partition("\n")[2]
        chars, lines = len(text), text.count("\n") + bool(text)
        if row < 0 or not messages.flags[row] & _PENDING:
            if row >= 0 and messages.chars[row] == chars:
                session.duplicates += 1
            else:
                self._parser.row(Kind.OUTPUT, record, block=position(record, block), chars=chars, lines=lines)
            return
        flags = messages.flags[row] & ~_PENDING
        extra = value.get("toolUseResult") if alone else None
        exchange = session.exchanges[messages.exchange[row]]
        if block.get("is_error") is True:
            outcome = failure(text, extra, value)
            flags |= outcome
            exchange.errors += outcome == _ERROR
        elif type(extra) is dict and extra.get("interrupted") is True:
            flags |= _INTERRUPTED
        messages.flags[row] = flags
        messages.chars[row], messages.lines[row] = min(chars, 0xFFFF_FFFF), min(lines, 0xFFFF_FFFF)
        spans = session.spans
        spans.extend(messages.span[row], spans.add(0, record[0], record[1], record[2], _RESULT))
        session.touch(exchange, self._parser.time)
        self._parser.changed.add(row)
        if row in self._parser.links.tasks:
            self._parser.links.result(row, extra, text)


def failure(text: str, extra: object, value: Value) -> int:
    """The flag of a use whose result is an error: it failed, or somebody refused it."""
    refused = is_refusal(text) or (type(extra) is str and is_refusal(extra)) or "toolDenialKind" in value
    return _INTERRUPTED if refused else _ERROR


def joined(content: object) -> str:
    """The texts of the blocks of a result."""
    if not isinstance(content, list):
        return ""
    return "\n".join(
        b["text"] for b in content if type(b) is dict and b.get("type") == "text" and type(b.get("text")) is str
    )


def position(record: Record, block: Value) -> int:
    """The place of a block in its record's content."""
    message = record[3].get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    return next((i for i, b in enumerate(content) if b is block), 0) if isinstance(content, list) else 0

"""Claude Code's lines as the steps of a Toolpath document."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.interchange.session_data_facts import as_text, read_time
from schemas.interchange.toolpath import TURN
from schemas.interchange.toolpath_turns import SAID, Data, Line, Source, joined_texts, line_of, offsets, records_in
from schemas.message import USER_KINDS, Kind, Message, SpanRole
from schemas.values import dict_of


class ClaudeSource(Source):
    """Claude Code: each line of type user or assistant is a turn with the line's role.

    A compaction is two lines, and in Toolpath two steps: the boundary an event, the summary a turn.
    """

    event = Source.event_with_record

    def goes_with(self, before: int, kind: int) -> bool:
        return not (before in USER_KINDS and kind in SAID)

    def group(self, messages: list[Message]) -> str | None:
        """The id of the model's message that the line is of."""
        return _message_id(self.record(messages[0]))

    def _line(self, message: Message) -> Data:
        """The line that a message's turn is; none of a prompt that only the answer's line tells of."""
        if message.kind in USER_KINDS and self.record(message).get("type") == "assistant":
            return {}
        summary = self.record(message, SpanRole.DETAIL) if message.kind == Kind.COMPACTION else {}
        return summary if summary.get("isCompactSummary") is True else self.record(message)

    def role(self, messages: list[Message]) -> str | None:
        """The line's type; a line of another type is a turn only if somebody says something in it."""
        said, kind = self._line(messages[0]).get("type"), messages[0].kind
        if said in ("user", "assistant"):
            return str(said)
        return "user" if kind in USER_KINDS else "assistant" if kind in SAID else None

    def text(self, messages: list[Message]) -> str | None:
        """The texts of the line's content, where it was typed or injected; tool results are no text."""
        said = {} if messages[0].kind in SAID else dict_of(self._line(messages[0]).get("message"))
        return joined_texts(said.get("content"), "\n\n")

    def id_of(self, messages: list[Message], number: int) -> str:
        """The line's uuid."""
        return as_text(self._line(messages[0]).get("uuid")) or super().id_of(messages, number)

    def time(self, messages: list[Message]) -> float | None:
        """The line's time."""
        return read_time(self._line(messages[0]).get("timestamp")) or super().time(messages)

    def others(self) -> Iterator[Line]:
        """The other lines; those of the conversation that hold nothing to read are turns with their text."""
        for offset, _, line, record in records_in(self.session, self.owned()):
            other = line_of(record, offset, line)
            message = record.get("message")
            if record.get("type") in ("user", "assistant") and isinstance(message, dict):
                text = joined_texts(message.get("content"), "\n\n") or ""
                turn = {"type": TURN, "role": record["type"], "text": text}
                other = other._replace(said=turn, group=_message_id(record))
            yield other

    def owned(self) -> set[int]:
        table = self.session.messages
        # A line that only gave its usage to a group is a turn of the conversation all the same.
        owned = offsets(self.session, self.session.stores[0], groups=False)
        for index, kind in enumerate(table.kind):
            if kind == Kind.COMPACTION:
                body, *others = self.session.message_spans(index)
                if any(self.session.record(span).get("isCompactSummary") is True for span in others):
                    owned.discard(body.offset)
        return owned


def _message_id(record: Data) -> str | None:
    """The id of the model's message that a line of Claude Code is of."""
    said = dict_of(record.get("message")) if record.get("type") == "assistant" else {}
    return as_text(said.get("id")) or None

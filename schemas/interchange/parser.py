"""The parsers of the published formats: records, each of which says its own messages, into a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from hashlib import blake2b
from typing import Any

from schemas.clean import clean_value
from schemas.message import Flag, Kind, Message, Part
from schemas.records import Record
from schemas.session import Change, Op, Session

_OPENERS = (Kind.PROMPT, Kind.COMMAND)


class RecordParser:
    """A `schemas.provider.Parser` that is its session's `build` as well: `messages` is asked when a record is read, and
    again when one of its messages is shown.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        session.build = self
        self._recent: tuple[object, Sequence[Message]] = None, ()
        """The messages of the record that was asked for last: they are asked for in turn."""

    def messages(self, value: dict[str, Any]) -> Sequence[Message]:
        """The messages of a record, without what their rows say (`Session.place`)."""
        raise NotImplementedError

    def take(self, record: Record) -> None:
        """Take one more record."""
        raise NotImplementedError

    def settle(self) -> Iterable[int]:
        """Do what some records asked for; returns the earlier messages that it changed."""
        return ()

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more records."""
        before = len(self.session.messages)
        for record in records:
            self.take(record)
        updated = [Change(Op.UPDATED, index) for index in sorted(self.settle()) if index < before]
        return updated + [Change(Op.APPENDED, index) for index in range(before, len(self.session.messages))]

    def refresh(self) -> list[Change]:
        """Return no changes: nothing lies beside the file."""
        return []

    def add(self, record: Record, model: str = "", *, within: bool = False) -> range:
        """Append the messages of a record; each that a person typed opens an exchange, unless the source has exchanges
        (`within`), with what is told of them.
        """
        session, first = self.session, len(self.session.messages)
        for block, message in enumerate(self._made(record[3])):
            if opens := not within and message.kind in _OPENERS:
                session.open_exchange(message.kind, _words(message.parts))
            text = message.text if message.tool is None else message.tool.text
            name, time = key_of(message.id), message.timestamp
            index = session.add_message(message.kind, name, record, block=block, time=time)
            session.messages.resize(index, text)
            session.messages.flags[index] |= message.flags.value
            session.messages.model[index] = session.model_index(model)
            if opens:
                session.mark_opener(index)
            session.exchanges[-1].errors += not within and Flag.ERROR in message.flags
        return range(first, len(session.messages))

    def _made(self, value: dict[str, Any]) -> Sequence[Message]:
        if self._recent[0] is not value:
            self._recent = value, self.messages(value)
        return self._recent[1]

    def __call__(self, session: Session, index: int) -> Message:
        """The message of a row."""
        rows = session.messages
        made = self._made(session.record(next(session.spans.chain(rows.span[index]))))
        message = session.place(copy(made[rows.block[index]]), index)
        message.metadata = clean_value(message.metadata)
        return message


def _words(parts: list[Part]) -> str:
    """The words of a prompt; what stands for an image only where there are no words."""
    words = " ".join(part.text for part in parts if part.type == "text")
    return words if words.strip() else " ".join(part.text for part in parts)


def key_of(name: str) -> int:
    """The 64-bit number that stands for a message's id."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")

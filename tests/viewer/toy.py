"""A provider as small as can be, for tests of following: one record is one message, or the end of one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from schemas.clean import clean
from schemas.message import Flag, Kind, Message, Part, SpanRole, Tool, ToolStatus
from schemas.opening import OpenError, head_of
from schemas.reading import LinesReading, open_file
from schemas.records import Record
from schemas.session import Change, Op, Session
from schemas.usage import TokenUsage


class ToyParser:
    """`user` opens an exchange, `assistant` answers, `call` and `result` are a tool use."""

    def __init__(self, path: Path) -> None:
        self.session = Session("toy", "Toy", path, "toy-session")
        self.session.build = self.build
        self.calls: dict[str, int] = {}
        self.groups: dict[str, int] = {}
        self.refreshed = 0

    def feed(self, records: Iterable[Record]) -> list[Change]:
        return [change for record in records if (change := self.take(record)) is not None]

    def take(self, record: Record) -> Change | None:
        session, value = self.session, record[3]
        kind, name, text = value.get("type"), str(value.get("uuid")), clean(str(value.get("text", "")))
        if kind == "result":
            index = self.calls.pop(name, -1)
            if index < 0:
                session.unknown["result without a call"] += 1
                return None
            session.spans.extend(session.messages.span[index], session.add_span(record, SpanRole.RESULT))
            session.messages.flags[index] &= ~Flag.PENDING
            return Change(Op.UPDATED, index)
        if kind not in ("user", "assistant", "call"):
            session.unknown[str(kind)] += 1
            return None
        of = {"user": Kind.PROMPT, "assistant": Kind.TEXT, "call": Kind.TOOL}[kind]
        if of == Kind.PROMPT:
            session.open_exchange(of, text)
        key = int.from_bytes(name.encode()[-8:], "big")
        index = session.add_message(of, key, record, chars=len(text), lines=text.count("\n") + 1)
        if of == Kind.PROMPT:
            session.mark_opener(index)
        if of == Kind.TOOL:
            self.calls[name] = index
            session.messages.flags[index] |= Flag.PENDING
        if (group := value.get("group")) is not None:
            self.account(str(group), TokenUsage(output=int(value.get("tokens", 0))), index, record)
        return Change(Op.APPENDED, index)

    def account(self, group: str, usage: TokenUsage, index: int, record: Record) -> None:
        if group in self.groups:
            number = self.groups[group]
            self.session.extend_group(number, usage.largest(self.session.groups.usage[number]), record)
        else:
            number = self.groups[group] = self.session.add_group(group, usage, record)
        self.session.join_group(index, number)

    def refresh(self) -> list[Change]:
        self.refreshed += 1
        return []

    def build(self, session: Session, index: int) -> Message:
        spans = session.message_spans(index)
        record = session.record(spans[0])
        text = clean(str(record.get("text", "")))
        message = Message(
            index, str(record.get("uuid")), session.messages.kind_of(index), session.messages.exchange[index]
        )
        message.flags = Flag(session.messages.flags[index])
        if message.kind == Kind.TOOL:
            message.tool = Tool("Shell", "shell", message.id, {"command": text}, status=ToolStatus.PENDING)
            if len(spans) > 1:
                message.tool.text = clean(str(session.record(spans[1]).get("text", "")))
                message.tool.output = {"content": message.tool.text, "is_error": False}
                message.tool.status = ToolStatus.OK
        else:
            message.parts = [Part("text", text)]
        return message


def open_toy(path: Path, *, start: int = 0, growing: bool = False) -> LinesReading:
    """In the place of `schemas.opening.open_reading`."""
    try:
        head = head_of(path)
        if not any(record.get("type") in ("user", "assistant", "call", "result") for record in head.records):
            raise OpenError(path, "no toy session")
        return LinesReading(open_file(path), ToyParser(path), start)
    except OSError as error:
        raise OpenError(path, str(error)) from error


def line(kind: str, uuid: str, text: str = "", **more: Any) -> bytes:
    """A record with its newline."""
    return json.dumps({"type": kind, "uuid": uuid, "text": text} | more, ensure_ascii=False).encode() + b"\n"


def digest(session: Session) -> list[Any]:
    """All that a reader can see of a session, for comparing two."""
    groups = session.groups
    return [
        [
            (m.id, m.kind, m.exchange, m.text, m.tool and (m.tool.input, m.tool.text, m.tool.status), int(m.flags))
            for m in map(session.message, range(len(session.messages)))
        ],
        [(e.start, e.opener, e.prompt, e.tools, e.groups) for e in session.exchanges],
        [(g, groups.usage[i], groups.exchange[i], groups.last[i]) for i, g in enumerate(groups.ids)],
        [list(session.message_spans(i)) for i in range(len(session.messages))],
        sorted(session.unknown.items()),
    ]


def read_afresh(path: Path) -> Session:
    """The session in a file, read at once; a complete last object counts, what is unfinished does not."""
    return _read_on(open_toy(path))


def read_as_lines(path: Path) -> Session:
    """The same of whatever the file holds: as by someone who opened it when it was a session."""
    return _read_on(LinesReading(open_file(path), ToyParser(path), 0))


def _read_on(reading: LinesReading) -> Session:
    while not reading.done:
        reading.step()
    reading.take_tail()
    return reading.session

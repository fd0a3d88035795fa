"""A session as a SessionData 1.0 document, written a message at a time.

What is written is valid for all three validators there are (formats note 2.2), so the stricter rule of each holds.
Where 1.0 has no place for a fact it goes into `metadata.turnlog` of the message or the exchange, and facts of the
whole session into that of the first exchange: session_data_facts.py declares them, session_data_read.py reads them
back. Session -> document -> Session -> document loses nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import orjson

from schemas.agents import published_of
from schemas.clean import clean_value
from schemas.interchange.session_data_facts import (
    EXCHANGE,
    PART,
    SESSION,
    SUBAGENT,
    TOOL,
    iso_time,
    result_of,
    tell,
    tell_flags,
    tell_usage,
)
from schemas.interchange.session_data_usage import own_usage
from schemas.json_output import json_bytes
from schemas.message import Kind, Message, Part, Tool
from schemas.paths import path_text
from schemas.session import Exchange, Session, Subagent
from schemas.table import NONE
from schemas.values import given

UNKNOWN = "unknown"
"""Stands where a version or a workspace root is required and none is known; no real root is a relative path."""
EPOCH = "1970-01-01T00:00:00Z"
"""Stands where SessionData requires the time of creation and none is known."""
_TOOL_TYPES = frozenset({"write", "read", "search", "shell", "task", "generic", "unknown"})

_Value = TypeVar("_Value")


class Edit(Protocol):
    """Changes a JSON value, with its members' names, on its way out: redaction."""

    def __call__(self, value: _Value, /) -> _Value: ...


def to_session_data(
    session: Session, *, edit: Edit | None = None, subagents: bool = False, lost: Counter[str] | None = None
) -> Iterator[bytes]:
    """The document in pieces, a message a line; joined they are one JSON object and a newline.

    `edit` is applied to every part of it. `subagents` puts the sessions of subagents that lie
    in files of their own into the document as well, as far as they have been read; without it their paths are named.
    `lost` counts what is not in it.
    """
    writer = SessionDataWriter(session, edit=edit, subagents=subagents, lost=lost)
    writer.lost["hidden record"] += sum(session.hidden.values())
    writer.lost["unknown record"] += unseen(session)
    head = dump(writer.header(), edit)
    yield head[:-1] + b',"exchanges":['
    between = b"\n"
    for exchange, before, after in _current_talk(session):
        opening = dump(writer.exchange(exchange, before, after, first=between == b"\n"), edit)
        yield between + opening[:-1] + b',"messages":['
        between, lead = b",\n", b"\n"
        for message in session.exchange_messages(exchange.index):
            yield lead + dump(writer.message(message), edit)
            lead = b",\n"
        yield b"]}"
    yield b"\n]}\n" if session.exchanges else b"]}\n"


def unseen(session: Session) -> int:
    """Count the records of unknown kinds that are no messages of a session: lines of a Toolpath stream."""
    return max(sum(session.unknown.values()) - session.messages.kind.count(Kind.UNKNOWN), 0)


def _current_talk(session: Session) -> Iterator[tuple[Exchange, list[Exchange], list[Exchange]]]:
    """The exchanges that are still part of the talk, each with the rewound ones that stand before and after it.

    SessionData has no branches: who reads `exchanges` takes all of them for one talk, so what was taken back is kept
    beside them. Before stands only what no other exchange precedes. Where all was rewound, all is written.
    """
    current = [e for e in session.exchanges if not e.rewound] or session.exchanges
    last = len(session.exchanges)
    for place, exchange in enumerate(current):
        end = current[place + 1].index if place + 1 < len(current) else last
        before = session.exchanges[: exchange.index] if place == 0 else []
        yield exchange, before, session.exchanges[exchange.index + 1 : end]


def dump(value: dict[str, Any], edit: Edit | None = None) -> bytes:
    """An object of a document as JSON, edited."""
    return json_bytes(edit(value) if edit is not None else value, fit=lambda value: _fitting(clean_value(value)))


class SessionDataWriter:
    """The objects of one session's document. Ids are unique in it: a repeated one gets `#2`, `#3`, …"""

    def __init__(
        self, session: Session, *, edit: Edit | None = None, subagents: bool = False, lost: Counter[str] | None = None
    ) -> None:
        self.session = session
        self._edit = edit
        self._subagents = subagents
        self.lost: Counter[str] = Counter() if lost is None else lost
        """What the document does not hold, and how many of each: `image`, `coloured run`."""
        self._exchange_ids, self._message_ids, self._group_ids = Names(), Names(), Names()

    def header(self) -> dict[str, Any]:
        """The document without its exchanges."""
        session = self.session
        provider = {
            "id": session.provider or UNKNOWN,
            "name": session.provider_name or session.provider or UNKNOWN,
            "version": session.version or UNKNOWN,
        }
        return given(
            schemaVersion="1.0",
            provider=provider,
            sessionId=session.id or session.path.stem or UNKNOWN,
            createdAt=iso_time(session.created) or EPOCH,
            updatedAt=iso_time(session.updated),
            slug=session_slug(session, self._edit) or None,
            workspaceRoot=session.workspace_root or UNKNOWN,
        )

    def exchange(
        self,
        exchange: Exchange,
        before: Iterable[Exchange] = (),
        after: Iterable[Exchange] = (),
        *,
        first: bool = False,
    ) -> dict[str, Any]:
        """An exchange without its messages. `before` and `after` are rewound ones that are kept with it; the `first`
        one of the document says what is true of the whole session.
        """
        session = self.session
        name = self._exchange_ids.unique(exchange.id or f"{session.id}:{exchange.index}", exchange.index)
        data = given(exchangeId=name, startTime=iso_time(exchange.started), endTime=iso_time(exchange.ended))
        ours: dict[str, Any] = {"opener": exchange.opener.name.lower() if exchange.opener else None}
        ours |= tell(EXCHANGE, exchange) | given(model=session.models[exchange.model] or None)
        if exchange.groups:
            ours["groups"] = [self._group(group) for group in exchange.groups]
        if first:
            ours["session"] = self._session_facts()
        for key, rewound in (("rewoundBefore", before), ("rewoundAfter", after)):
            if whole := [self.exchange(e) | {"messages": self._messages(e)} for e in rewound]:
                ours[key] = whole
        data["metadata"] = {"turnlog": ours}
        return data

    def _messages(self, exchange: Exchange) -> list[dict[str, Any]]:
        return [self.message(message) for message in self.session.exchange_messages(exchange.index)]

    def message(self, message: Message) -> dict[str, Any]:
        """A message: also what `tail --json` prints."""
        session = self.session
        metadata = dict(message.metadata)
        name = message.id or f"{session.id}:{message.exchange}:{message.index}"
        name = self._message_ids.unique(name, message.index)
        data = given(id=name, timestamp=iso_time(message.timestamp), role=message.role)
        ours: dict[str, Any] = {"kind": message.kind.name.lower()}
        if message.model:
            (data if message.role == "agent" else ours)["model"] = message.model
        content = [{"type": "thinking" if p.type == "thinking" else "text", "text": p.text} for p in message.parts]
        if not content and (message.role == "user" or (message.tool is None and not message.path_hints)):
            content = [{"type": "text", "text": message.label or "(no text)"}]
            ours["placeholder"] = True
        if content:
            data["content"] = content
        if message.tool is not None:
            if message.role == "agent":
                data["tool"] = _tool(message.tool)
            ours["tool"] = self._tool_facts(message.tool)
        if message.path_hints:
            data["pathHints"] = message.path_hints
        ours |= given(flags=tell_flags(message.flags), label=message.label or None, parts=self._parts(message.parts))
        ours |= given(figures=message.figures or None)
        self._put_usage(message, data, ours)
        if (records := metadata.pop("records", None)) is None:
            records = self._records(self.session.messages.span[message.index])
        if records:
            ours["records"] = records
        if "turnlog" in metadata:  # somebody else's key of that name
            metadata["foreign"] = metadata.pop("turnlog")
        data["metadata"] = metadata | {"turnlog": ours}
        return data

    def _put_usage(self, message: Message, data: dict[str, Any], ours: dict[str, Any]) -> None:
        """Name the message's group, and on the group's last message give its usage, also in the producer's own form."""
        group = self.session.messages.group[message.index]
        if group == NONE:
            return
        ours["group"] = self.group_id(group)
        if self.session.groups.last[group] == message.index:
            usage = self.session.groups.usage[group]
            ours["usage"] = tell_usage(usage)
            data["usage"] = own_usage(self.session.provider, usage, message.metadata)

    def group_id(self, group: int) -> str:
        """A token group's id, unique in the document: two groups of one name would be read as one."""
        return self._group_ids.unique(self.session.groups.ids[group], group)

    def _group(self, group: int) -> dict[str, Any]:
        session, groups = self.session, self.session.groups
        return given(
            id=self.group_id(group),
            model=session.models[groups.model[group]] or None,
            usage=tell_usage(groups.usage[group]),
            records=session.exported_records.get(group) or self._records(groups.span[group]) or None,
            round=session.rounds.get(group) or None,
        )

    def _records(self, head: int) -> list[dict[str, Any]]:
        """Return the places of the records, in the file that the session was read from (or in the one named)."""
        rows = []
        for span in filter(self.session.in_lines, self.session.spans.chain(head)):
            row: dict[str, Any] = {"line": span.line, "offset": span.offset, "length": span.length}
            if span.role:
                row["role"] = span.role.name.lower()
            if (path := self.session.stores[span.store].path) != self.session.path:
                row["file"] = path_text(path.name)
            rows.append(row)
        return rows

    def _parts(self, parts: list[Part]) -> list[dict[str, Any] | None] | None:
        """Return what 1.0 cannot say of each part; None when that is nothing."""
        self.lost["image"] += sum(part.type == "image" for part in parts)
        rows = [self._shown(tell(PART, part)) or None for part in parts]
        return rows if any(rows) else None

    def _shown(self, facts: dict[str, Any]) -> dict[str, Any]:
        """The facts of a text, without its colours where they count characters of a text that is edited."""
        if self._edit is not None and (runs := facts.pop("runs", None)):
            self.lost["coloured run"] += len(runs)
        return facts

    def _tool_facts(self, tool: Tool) -> dict[str, Any]:
        """Return the facts of a tool use that have no place in SessionData."""
        self.lost["image"] += len(tool.images)
        facts = self._shown(tell(TOOL, tool))
        for image in facts.get("images", ()):
            self._shown(image)
        return facts

    def _session_facts(self) -> dict[str, Any]:
        """Return the facts of the whole session that have no place in SessionData."""
        session = self.session
        subagents = [self._subagent(one) for one in session.subagents]
        return tell(SESSION, session) | given(subagents=subagents or None, metadata=dict(session.metadata) or None)

    def _subagent(self, subagent: Subagent) -> dict[str, Any]:
        within = subagent.session is not None and (self._subagents or subagent.path is None)
        document = None
        if within and subagent.session is not None:
            pieces = to_session_data(subagent.session, edit=self._edit, subagents=self._subagents, lost=self.lost)
            document = orjson.loads(b"".join(pieces))
        tool_use = subagent.tool_use
        path = path_text(subagent.path) if subagent.path else subagent.exported_path
        return (
            {"id": subagent.id}
            | tell(SUBAGENT, subagent)
            | given(
                path=path or None,
                toolUse=self.session.message(tool_use).id if tool_use is not None else None,
                session=document,
            )
        )


def _tool(tool: Tool) -> dict[str, Any]:
    """1.0's tool object."""
    return given(
        name=tool.name or UNKNOWN,
        type=tool.type if tool.type in _TOOL_TYPES else "unknown",
        useId=tool.use_id or None,
        input=tool.input,
        output=result_of(tool),
        summary=tool.summary or None,
        formattedMarkdown=tool.formatted or None,
    )


class Names:
    """Names of which none may be there twice: the second of a name gets `#2` behind it (formats note 1.4)."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}
        """Each name, with the index of what is called so."""
        self._numbered: dict[tuple[str, int], str] = {}
        self._last: dict[str, int] = {}
        """Where the search for a free name ended: with thousands of one name, each from the start takes minutes."""

    def free(self, name: str) -> str:
        """The name, or with a number the first one behind it that nothing has."""
        return self.unique(name, -1 - len(self.taken))

    def unique(self, name: str, index: int) -> str:
        """The name, unless something with another index has it; the same index gets the same answer."""
        if self.taken.setdefault(name, index) == index:
            return name
        if (given := self._numbered.get((name, index))) is not None:
            return given
        number = self._last.get(name, 1)
        while True:
            number += 1
            free = f"{name}#{number}"
            if self.taken.setdefault(free, index) == index:
                break
        self._last[name], self._numbered[name, index] = number, free
        return free


def _fitting(value: Any) -> Any:
    """A cleaned value that JSON can hold: an integer beyond 64 bits becomes a float, as readers of JSON make it one."""
    if isinstance(value, dict):
        return {key: _fitting(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_fitting(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 64:
        return float(value) if abs(value) < 1 << 1023 else None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


# -- the slug ----------------------------------------------------------------------------------------------------------


_WORDS = 4
_LONGEST = 80
"""Characters of a slug. The producer sets no limit, but a prompt may be one word of a megabyte, and no file name is."""
_LOOKED_AT = 2_000
"""Characters of a prompt, its blocks apart, in which the first words are looked for."""
_OPENING = re.compile(r"<([A-Za-z_][\w-]*)(?:\s[^<>]*?)?(/?)>")
_CLOSING = re.compile(r"</([A-Za-z_][\w-]*)\s*>")
_HEADING = re.compile(r"#{1,6}\s+")
_PLAN = "Implement the following plan:"
_SPOKEN = {"@": " at ", "&": " and ", "#": " hash "}


def session_slug(session: Session, edit: Callable[[Any], Any] | None = None) -> str:
    """The slug of a session's first prompt; empty if it has no words. `edit` takes secrets out before it is made."""
    slug = slug_of(_first_prompt(session), edit)
    return slug or published_of(session.provider).slug


def _first_prompt(session: Session) -> str:
    untyped = published_of(session.provider).untyped
    for exchange in session.exchanges:
        if exchange.opener is not Kind.PROMPT or exchange.rewound or not session.message_range(exchange.index):
            continue
        text = session.message(exchange.start).text.strip()
        if untyped is None:
            return text
        if not untyped.search(text):
            return text.removeprefix(_PLAN)
    return ""


def slug_of(text: str, edit: Callable[[Any], Any] | None = None) -> str:
    """The first four words of `text` in plain lower-case letters and digits: `fix-the-login-bug`."""
    text = _without_blocks(text).strip()
    if edit is not None:  # what is a secret can only be told while its signs still stand in it, and while it is whole
        text = edit(text)
    text = text[:_LOOKED_AT]
    if heading := _HEADING.match(text):
        text = text[heading.end() :]
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn").lower()
    for sign, word in _SPOKEN.items():
        plain = plain.replace(sign, word)
    return "-".join(re.findall("[a-z0-9]+", plain)[:_WORDS])[:_LONGEST].rstrip("-")


def _without_blocks(text: str) -> str:
    """The text without what stands between tags, such as the file that an editor names: `<a>…</a>` and `<a/>`."""
    last = {match[1]: match.start() for match in _CLOSING.finditer(text)}
    pieces, end = [], 0
    for tag in _OPENING.finditer(text):
        if tag.start() < end:
            continue
        if tag[2]:
            pieces.append(text[end : tag.start()])
            end = tag.end()
        elif last.get(tag[1], -1) >= tag.end():
            closing = next(m for m in _CLOSING.finditer(text, tag.end()) if m[1] == tag[1])
            pieces.append(text[end : tag.start()])
            end = closing.end()
    return " ".join([*pieces, text[end:]])

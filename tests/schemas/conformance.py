"""Laws that hold for every provider; each provider's tests call them on its own files.

`whole` reads a file at once, `in_pieces` as it would be read while it grows; `facts` is all that can be seen of a
session, for comparing. The `assert_*` functions are the laws.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from renderers.places import exchange_names, find_place, place_of
from schemas.clean import clean
from schemas.message import Flag, Kind, Message
from schemas.opening import OpenError, head_of
from schemas.paths import source_of
from schemas.provider import Keyed, Provider, Reading
from schemas.records import JsonLines
from schemas.session import Change, Op, Session
from schemas.table import NONE
from schemas.usage import total_usage


def whole(provider: Provider, path: Path, *, beside: bool = True) -> Session:
    """The session at an address; `beside` looks for subagents too."""
    source, key = source_of(path)
    reading = provider.open_key(source, key) if isinstance(provider, Keyed) and key else provider.open(source)
    while not reading.done:
        reading.step()
    reading.finish()
    if beside:
        reading.refresh()
    return reading.session


def in_pieces(provider: Provider, data: bytes, path: Path, cuts: Iterable[int]) -> Session:
    """The session of `data`, written to `path` up to each cut in turn and read after each; the changes are checked."""
    ends = sorted({min(max(cut, 0), len(data)) for cut in cuts} | {len(data)})
    path.write_bytes(b"")
    reading = provider.open(path)
    written = 0
    for end in ends:
        with path.open("ab") as file:
            file.write(data[written:end])
        written = end
        _read_on(reading)
    before = len(reading.session.messages)
    _check_changes(reading.finish(), before, len(reading.session.messages))
    return reading.session


def _read_on(reading: Reading) -> None:
    while True:
        before = len(reading.session.messages)
        changes = reading.step(1 << 16)
        _check_changes(changes, before, len(reading.session.messages))
        if reading.done:
            return


def _check_changes(changes: list[Any], before: int, after: int) -> None:
    """Each new message is announced once, in order; what is updated was there before, unless all was read anew."""
    if changes[:1] == [Change(Op.RESTARTED)]:
        changes, before = changes[1:], 0
    assert [c.message for c in changes if c.op is Op.APPENDED] == list(range(before, after))
    assert all(0 <= c.message < before for c in changes if c.op is Op.UPDATED)
    assert all(c.op in (Op.APPENDED, Op.UPDATED) for c in changes)


def facts(session: Session) -> dict[str, Any]:
    """Everything of a session that a reader could tell apart, bodies aside."""
    rows, groups = session.messages, session.groups
    columns = ("kind", "flags", "block", "model", "exchange", "group", "chars", "lines", "key")
    return {
        "columns": {name: list(getattr(rows, name)) for name in columns},
        "times": [rows.when(i) for i in range(len(rows))],
        "spans": [session.message_spans(i) for i in range(len(rows))],
        "groups": [
            (
                groups.ids[g],
                groups.usage[g],
                groups.exchange[g],
                groups.last[g],
                groups.model[g],
                session.group_spans(g),
            )
            for g in range(len(groups))
        ],
        "exchanges": [dataclasses.asdict(exchange) for exchange in session.exchanges],
        "session": {
            name: getattr(session, name)
            for name in [
                "title",
                "workspace_root",
                "branch",
                "version",
                "created",
                "updated",
                "context_used",
                "models",
                "links",
                "duplicates",
                "metadata",
            ]
        },
        "lineage": dataclasses.asdict(session.lineage),
        "counted": [dict(+session.unknown), dict(+session.hidden)],
        "unreadable": list(session.unreadable),
        "inside": [(s.id, s.name, s.tool_use, facts(s.session)) for s in session.subagents if s.session is not None],
    }


def family_of(session: Session) -> list[Session]:
    """The session and those inside its own file."""
    return [session, *(child for s in session.subagents if s.session for child in family_of(s.session))]


def assert_same_in_pieces(provider: Provider, data: bytes, folder: Path, cuts: Iterable[int], name: str) -> None:
    """Reading a file while it grows gives the session that reading it whole gives."""
    path = folder / name
    pieces = facts(in_pieces(provider, data, path, cuts))
    assert pieces == facts(whole(provider, path, beside=False))


def assert_nothing_lost(session: Session, data: bytes) -> None:
    """Every record is a message, part of one or of a group, counted, or reported as unreadable."""
    lines = JsonLines(plain=session.metadata.get("source") == "stream")
    records = lines.push(data) + lines.finish()
    members = family_of(session)
    kept: set[int] = set()
    counted = 0
    for member in members:
        for i in range(len(member.messages)):
            kept.update(span.offset for span in member.message_spans(i))
        for g in range(len(member.groups)):
            kept.update(span.offset for span in member.group_spans(g))
        counted += sum(member.hidden.values()) + member.duplicates
    lost = [record[0] for record in records if record[0] not in kept]
    assert len(lost) <= counted, f"{len(lost)} records left out, {counted} accounted for"
    assert session.unreadable == lines.unreadable
    unknown = sum(kind == Kind.UNKNOWN for member in members for kind in member.messages.kind)
    assert sum(sum(member.unknown.values()) for member in members) == unknown


def assert_sums(session: Session) -> None:
    """The groups make the session's total, each counts in one exchange, and each exchange is a run of messages."""
    groups = session.groups
    assert session.usage() == total_usage(session.exchange_usage(e.index) for e in session.exchanges)
    assert sorted(g for e in session.exchanges for g in e.groups) == list(range(len(groups)))
    for exchange in session.exchanges:
        span = session.message_range(exchange.index)
        assert all(session.messages.exchange[i] == exchange.index for i in span)
        assert all(groups.exchange[g] == exchange.index for g in exchange.groups)
        openers = [i for i in span if session.messages.flags[i] & Flag.OPENER]
        assert openers == ([] if exchange.opener is None else [exchange.start])
        assert exchange.tools == sum(session.messages.kind[i] == Kind.TOOL for i in span)
    assert [i for e in session.exchanges for i in session.message_range(e.index)] == list(range(len(session.messages)))
    for g in range(len(groups)):
        assert session.group_spans(g)
        if groups.last[g] != NONE:
            assert session.messages.group[groups.last[g]] == g
    names = exchange_names(session)
    assert len(set(names)) == len(names)
    for i in range(0, len(session.messages), max(1, len(session.messages) // 50)):
        assert find_place(session, place_of(session, i)) == (session.messages.exchange[i], i)


def assert_builds_clean(session: Session) -> None:
    """Every message can be made, agrees with its row, has something to show, and holds clean text only."""
    for member in family_of(session):
        seen: set[str] = set()
        for i in range(len(member.messages)):
            message = member.message(i)
            assert (message.index, message.kind, message.exchange) == (
                i,
                member.messages.kind[i],
                member.messages.exchange[i],
            )
            assert message.parts or message.tool or message.label, f"message {i} shows nothing"
            assert (message.tool is not None) == (message.kind is Kind.TOOL)
            assert message.id not in seen, f"two messages are called {message.id}"
            seen.add(message.id)
            for run in [r for p in message.parts for r in p.runs] + (message.tool.runs if message.tool else []):
                assert 0 <= run.start < run.end
            assert_clean(message)
        assert_clean([member.title, member.workspace_root, member.branch, member.version, member.models, member.links])
        assert_clean(member.metadata)
        assert_clean([e.prompt for e in member.exchanges])
        assert_clean([(s.id, s.name, s.description) for s in member.subagents])


def assert_clean(value: object) -> None:
    """No string in a value would change if it were cleaned again."""
    for text in _strings(value):
        assert clean(text) == text, f"not clean: {text[:80]!r}"


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _strings(getattr(value, field.name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(key)
            yield from _strings(item)
    elif isinstance(value, list | tuple | set):
        for item in value:
            yield from _strings(item)


def assert_all_laws(provider: Provider, path: Path) -> Session:
    """All the laws that need one reading of a file."""
    session = whole(provider, path)
    assert_nothing_lost(session, path.read_bytes())
    for member in family_of(session):
        assert_sums(member)
    assert_builds_clean(session)
    return session


def assert_claims_none(
    provider: Provider, paths: Iterable[Path], skip: Callable[[Path], bool] = lambda path: False
) -> None:
    """No file of another agent is taken for one of this provider's."""
    for path in paths:
        if path.is_file() and not skip(path):
            try:
                head = head_of(path)
            except OpenError:
                continue  # empty: nobody claims it
            assert not provider.detect(head), f"{provider.id} claims {path}"


def described(session: Session) -> list[str]:
    """A session as lines of `KIND text`, for tests that say what a reader should see."""
    return [_described(message) for e in session.exchanges for message in session.exchange_messages(e.index)]


def _described(message: Message) -> str:
    text = message.tool.name if message.tool else message.text or message.label
    return f"{message.kind.name} {' '.join(text.split())[:60]}".strip()

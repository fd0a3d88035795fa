"""A UI Snapshot v1 as a session: its totals, its tables and its suggestions, an exchange each.

By the contract's guidance for readers: the version is looked at before anything else; a file that is half-written is
read again, a moment later; and one that stays so shows nothing, or what was there before, instead of an error.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from schemas.clean import clean, one_line
from schemas.interchange.rfc3339 import parse_time
from schemas.interchange.snapshot import is_snapshot
from schemas.message import Kind, Message, Part
from schemas.reading import WholeReading
from schemas.records import MemoryStore, read_document
from schemas.session import Session

TRIES = 4
WAIT = 0.05
"""Seconds between two looks at a file that is half-written."""
_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~!&])")


class SnapshotReading(WholeReading):
    """A snapshot's file, read whole, and again when it changed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _empty(path))

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        """The snapshot, if it is another one than before. Raises OSError for another version of the format, and for
        what is no snapshot (any more), unless nothing was shown before.
        """
        from schemas.changes import digest

        data, document = self._patiently()
        mark = digest(data)
        if mark == known:
            return None
        if document is None:
            if known:
                raise OSError("not a whole document (being written?)")
            return mark, len(data), session_of({}, self.path)
        if (version := document.get("schema_version")) != 1 or isinstance(version, bool):
            raise OSError(f"a UI Snapshot of version {one_line(str(version), 20)}; only version 1 can be read")
        return mark, len(data), session_of(document, self.path)

    def _patiently(self) -> tuple[bytes, dict[str, Any] | None]:
        """The file's bytes and the document in them; None where they are none even after a while."""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(WAIT)
            data = self.path.read_bytes()
            if is_snapshot(document := read_document(data)):
                assert isinstance(document, dict)
                return data, document
        return data, None


def _empty(path: Path) -> Session:
    session = Session("snapshot", "UI Snapshot", path, path.name.partition(".")[0] or path.name)
    session.title = "Usage snapshot"
    session.build = build
    session.stores.append(MemoryStore(path))
    return session


def session_of(document: dict[str, Any], path: Path) -> Session:
    """The session that shows a snapshot; an empty document shows that there is none yet."""
    session = _empty(path)
    store = session.stores[0]
    assert isinstance(store, MemoryStore)
    month, mode = (_word(document.get(key)) for key in ("month", "mode"))
    if month:
        session.title = f"Usage snapshot {month}" + (f" ({mode})" if mode else "")
    made = parse_time(document.get("generated_at"))
    for number, page in enumerate(pages(document)):
        exchange = session.open_exchange(Kind.NOTE, page.title)
        exchange.opener = None  # nobody typed anything
        record = store.add({"kind": int(page.kind), "title": page.title, "text": page.text})
        session.add_message(
            page.kind,
            number + 1,
            record,
            time=made.timestamp() if made else None,
            chars=len(page.text),
            lines=page.text.count("\n") + 1,
        )
    return session


class Page(NamedTuple):
    """A piece of a snapshot, in Markdown."""

    title: str
    text: str
    kind: Kind = Kind.TEXT


def pages(document: dict[str, Any]) -> Iterator[Page]:
    """What a snapshot says, a page each. What is of another type than it should be is left out or shown as it is."""
    if not document:
        yield Page("Nothing to show yet", "The snapshot is being written, or is damaged.", Kind.NOTE)
        return
    totals = _object(document.get("totals"))
    rows = [(_LABELS.get(key, key), _figure(key, value)) for key, value in totals.items()]
    yield Page("Totals", _table(("totals", _escaped(_word(document.get("month")))), rows))
    for key, title in (("top_providers", "Providers"), ("top_models", "Models")):
        heading = (title[:-1].lower(), "tokens", "cost", "$ / M tokens", "sessions")
        names = ("name", "tokens", "total_cost_usd", "blended_usd_per_mtok", "session_count")
        lines = [tuple(_figure(name, row.get(name)) for name in names) for row in map(_object, _items(document, key))]
        yield Page(title, _table(heading, lines) if lines else "None.")
    tips = [f"- {_escaped(tip)}" for tip in _items(document, "suggestions") if isinstance(tip, str)]
    yield Page("Suggestions", "\n".join(tips) if tips else "None.")
    if isinstance(path := document.get("reconcile_latest_summary_path"), str):
        yield Page("Reconciliation", f"Latest summary: {_escaped(path)}")


_LABELS = {
    "cost_usd": "cost",
    "tokens": "tokens",
    "blended_usd_per_mtok": "$ / M tokens",
    "session_count": "sessions",
    "skipped_unpriced_count": "events without a price, left out",
}


def build(session: Session, index: int) -> Message:
    """A page as a message."""
    rows = session.messages
    page = session.record(next(session.spans.chain(rows.span[index])))
    kind = rows.kind_of(index)
    message = Message(index, f"{session.id}:{index}", kind, rows.exchange[index], rows.when(index))
    message.parts = [Part("text", str(page.get("text", "")))]
    message.label = str(page.get("title", "")) if kind == Kind.NOTE else ""
    return message


def _figure(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _escaped(value) if isinstance(value, str) else "?"
    if key.endswith("cost_usd"):
        return f"${value:,.2f}"
    return f"{value:,.4f}" if isinstance(value, float) else f"{value:,}"


def _table(heading: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    rule = ["---", *["---:"] * (len(heading) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (heading, rule, *rows))


def _escaped(text: str) -> str:
    """Text as Markdown that shows it."""
    return _MARKUP.sub(r"\\\1", one_line(text, 500))


def _word(value: object) -> str:
    return one_line(clean(value), 40) if isinstance(value, str) else ""


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _items(document: dict[str, Any], key: str) -> list[Any]:
    value = document.get(key)
    return value if isinstance(value, list) else []

"""UI Snapshot v1, a month's use and cost, as a session: its totals, its tables and its suggestions, an exchange each.

By the contract's guidance for readers: the version is looked at before anything else; a file that is half-written is
read again, a moment later; and where it stays so, an open view keeps what was there before. It is judged here
too; snapshot_make.py makes snapshots. schemas/documents/snapshot.md.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from schemas.broken import why_unread
from schemas.clean import clean, one_line
from schemas.figures import format_cost, format_count
from schemas.interchange.rfc3339 import parse_time
from schemas.interchange.sheets import escaped, open_section, table
from schemas.interchange.snapshot_make import TOP
from schemas.interchange.verdicts import Finding, Judged, Verdict, explain, pointed, schema_findings, shown, verdict_of
from schemas.message import Flag, Kind, Message, Part
from schemas.provider import Format, Head, SavedFormat
from schemas.reading import WholeReading
from schemas.records import MemoryStore, read_document
from schemas.session import Session
from schemas.values import dict_of, list_of

_KEYS = frozenset({"schema_version", "totals"})
_OTHERS = frozenset({"generated_at", "month", "mode", "top_providers", "top_models", "suggestions"})
_MANY = 4
_BEGINNING = (b'"schema_version"', b'"generated_at"', b'"month"')
TRIES = 4
WAIT = 0.05
"""Seconds between two looks at a file that is half-written."""


def is_snapshot(document: object) -> bool:
    """Return whether a JSON value has keys that only a snapshot has together, of whatever version: one of which a
    required key is missing is one all the same.
    """
    if not isinstance(document, dict):
        return False
    return document.keys() >= _KEYS or len(document.keys() & (_KEYS | _OTHERS)) >= _MANY


def _detect(head: Head) -> bool:
    """Return whether the file is one JSON object with a snapshot's keys, or the beginning of one: a program that does
    not write it at once may be at it just now.
    """
    if head.document is not None or head.records:
        return is_snapshot(head.document)
    return head.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and sum(key in head.data for key in _BEGINNING) > 1


class SnapshotReading(WholeReading):
    """A snapshot's file, read whole, and again when it changed."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _empty(path))

    def load(self, known: bytes) -> tuple[bytes, int, Session] | None:
        """The snapshot, if it is another one than before. Raises OSError for another version of the format, and for
        what is no snapshot (any more).
        """
        from schemas.changes import digest

        data, document = self._patiently()
        mark = digest(data)
        if mark == known:
            return None
        if document is None:
            raise OSError(why_unread(data))
        if "schema_version" not in document:
            raise OSError("a UI Snapshot without `schema_version`; only version 1 can be read")
        if not is_supported(document["schema_version"]):
            raise OSError(f"a UI Snapshot of version {shown(document['schema_version'])}; only version 1 can be read")
        return mark, len(data), session_of(document, self.path)

    def _patiently(self) -> tuple[bytes, dict[str, Any] | None]:
        """The file's bytes and the document in them; None where they are none even after a while."""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(WAIT)
            data = self.path.read_bytes()
            document = read_document(data)
            # What a snapshot turned into says its version, whatever other keys that version has.
            if isinstance(document, dict) and (is_snapshot(document) or "schema_version" in document):
                return data, _exact(data) or document
        return data, None


SNAPSHOT = SavedFormat(
    "snapshot",
    "UI Snapshot",
    "A snapshot holds sums only; which calls they are made of is in the events it was made from.",
    (
        Format(
            "UI Snapshot v1, one JSON document",
            "an object with schema_version and totals, or four other keys of a snapshot",
        ),
    ),
    _detect,
    SnapshotReading,
)


def is_supported(version: object) -> bool:
    """Return whether the version is the number 1: neither "1" nor true nor 1.0 is."""
    return type(version) is int and version == 1


def _exact(data: bytes) -> dict[str, Any] | None:
    """The document with its integers as they are, however long: the quick parser makes floats of those over 64 bits."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):  # the tolerant reader takes more than JSON
        return None
    return document if isinstance(document, dict) else None


def _empty(path: Path) -> Session:
    session = Session("snapshot", "UI Snapshot", path, path.name.partition(".")[0] or path.name)
    session.title = "Usage snapshot"
    session.build = build
    session.stores.append(MemoryStore(path))
    return session


def session_of(document: dict[str, Any], path: Path) -> Session:
    """The session that shows a snapshot."""
    session = _empty(path)
    store = session.stores[0]
    assert isinstance(store, MemoryStore)
    month, mode = (_word(document.get(key)) for key in ("month", "mode"))
    if month:
        session.title = f"Usage snapshot {month}" + (f" ({mode})" if mode else "")
    session.own_total = _total(dict_of(document.get("totals")))
    if made := parse_time(document.get("generated_at")):
        session.created = session.updated = made.timestamp()
    for number, page in enumerate(pages(document)):
        record = store.add(page._asdict())
        open_section(session, page.title, 2 * number, record)
        session.messages.resize(session.add_message(Kind.TEXT, 2 * number + 1, record), page.text)
    return session


def _total(totals: dict[str, Any]) -> str:
    """The whole in a few words, for the line below."""
    tokens, cost = totals.get("tokens"), totals.get("cost_usd")
    pieces = [f"{format_count(tokens)} tokens"] if type(tokens) is int and tokens >= 0 else ["tokens unknown"]
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
        pieces.append(format_cost(cost))
    return " · ".join(pieces)


class Page(NamedTuple):
    """A piece of a snapshot, in Markdown."""

    title: str
    text: str


def pages(document: dict[str, Any]) -> Iterator[Page]:
    """Yield the pages of a snapshot. A value of another type than it should be is shown as `?`, or as it is."""
    totals = dict_of(document.get("totals"))
    rows = [(_LABELS.get(key, escaped(key, 60)), _figure(key, value)) for key, value in totals.items()]
    made = parse_time(document.get("generated_at"))
    rows.append(("made", f"{made:%Y-%m-%d %H:%M} UTC" if made else "?"))
    yield Page("Overall", table(("month", escaped(_word(document.get("month"))) or "?"), rows))
    for key, title in (("top_providers", "Providers"), ("top_models", "Models")):
        yield Page(title, _rows(title[:-1].lower(), list_of(document.get(key))))
    tips = [escaped(tip if isinstance(tip, str) else json.dumps(tip)) for tip in list_of(document.get("suggestions"))]
    yield Page("Suggestions", "\n\n".join(tips) if tips else "None.")
    if isinstance(path := document.get("reconcile_latest_summary_path"), str):
        yield Page("Reconciliation", f"Latest summary: {escaped(path)}")


_LABELS = {
    "cost_usd": "cost",
    "tokens": "tokens",
    "blended_usd_per_mtok": "$ / M tokens",
    "session_count": "sessions",
    "skipped_unpriced_count": "events without a price, left out",
}
_COLUMNS = ("name", "tokens", "total_cost_usd", "blended_usd_per_mtok", "session_count")


def _rows(kind: str, rows: Sequence[Any]) -> str:
    lines = [[_figure(name, row.get(name)) for name in _COLUMNS] for row in map(dict_of, rows)]
    return table((kind, "tokens", "cost", "$ / M tokens", "sessions"), lines) if lines else "None."


def build(session: Session, index: int) -> Message:
    """A page as a message, or its heading."""
    page = session.record(session.message_spans(index)[0])
    message = session.place(Message(index, f"{session.id}:{index}", Kind.TEXT, 0), index)
    if message.flags & Flag.OPENER:
        message.label = str(page.get("title", ""))
    else:
        message.parts = [Part("text", str(page.get("text", "")))]
    return message


def _figure(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return escaped(value, 60) if isinstance(value, str) else "?"
    if key.endswith("cost_usd"):
        return f"{'-' if value < 0 else ''}${abs(value):,.2f}"
    return f"{value:,.4f}" if isinstance(value, float) else f"{value:,}"


def _word(value: object) -> str:
    return one_line(clean(value), 40) if isinstance(value, str) else ""


_TABLES = ("top_providers", "top_models")


def validate_snapshot(document: object) -> Verdict:
    """Errors and warnings. A version other than 1 is the only error of its document: nothing else can be said of it."""
    if isinstance(document, dict) and "schema_version" in document and not is_supported(document["schema_version"]):
        version = shown(document["schema_version"])
        return Verdict([Finding("/schema_version", f"`schema_version` {version} is not supported, only 1")], [])
    rejected = ((finding, True) for finding in schema_findings("snapshot", document, _words))
    return verdict_of(chain(rejected, _beyond_the_schema(document) if isinstance(document, dict) else ()))


def _words(error: Any) -> Iterator[Finding]:
    for finding in explain(error):
        is_month = error.validator == "pattern"
        yield finding._replace(message="`month` must be of the form YYYY-MM") if is_month else finding


def _beyond_the_schema(document: dict[str, Any]) -> Judged:
    made = document.get("generated_at")
    if isinstance(made, str):
        if parse_time(made) is None:
            yield Finding("/generated_at", "`generated_at` must be an RFC 3339 time with an offset"), True
        elif made[-1] not in "Zz" and timedelta() != _offset(made):
            yield Finding("/generated_at", "`generated_at` should be in UTC"), False
    totals = dict_of(document.get("totals"))
    yield from pointed("/totals", totals, ("tokens", "session_count", "skipped_unpriced_count"))
    for name in _TABLES:
        rows = document.get(name)
        if isinstance(rows, list):
            yield from _check_rows(f"/{name}", [row for row in rows if isinstance(row, dict)], document, totals)


def _offset(text: str) -> timedelta:
    hours, _, minutes = text[-5:].partition(":")
    return timedelta(hours=int(hours), minutes=int(minutes))


def _check_rows(path: str, rows: list[dict[str, Any]], document: dict[str, Any], totals: dict[str, Any]) -> Judged:
    for number, row in enumerate(rows):
        yield from pointed(f"{path}/{number}", row, ("tokens", "session_count"))
    tokens = [row.get("tokens") for row in rows]
    counts = [count for count in tokens if type(count) is int]
    if len(counts) != len(tokens):
        return  # said already
    for number, (before, count) in enumerate(pairwise(counts), 1):
        if count > before:
            yield Finding(f"{path}/{number}", f"rows stand by tokens, most first: {count:,} after {before:,}"), True
        elif count == before and _is_after(rows[number - 1].get("name"), rows[number].get("name")):
            yield Finding(f"{path}/{number}", "rows of as many tokens should stand by name"), False
    if document.get("mode") == "compact" and len(rows) > TOP:
        yield Finding(path, f"compact has at most {TOP} rows, not {len(rows)}"), True
    names = [row.get("name") for row in rows]
    if len({name for name in names if isinstance(name, str)}) < sum(isinstance(name, str) for name in names):
        yield Finding(path, "a name stands twice"), False
    total = totals.get("tokens")
    whole = document.get("mode") == "extended" or (document.get("mode") == "compact" and len(rows) < TOP)
    if type(total) is int and (sum(counts) > total or (whole and sum(counts) != total)):
        yield Finding(path, f"the rows' tokens add up to {sum(counts):,}, the total is {total:,}"), False


def _is_after(before: object, name: object) -> bool:
    """Return whether the name of a row should stand before that of the row above it."""
    return isinstance(before, str) and isinstance(name, str) and before.encode() > name.encode()

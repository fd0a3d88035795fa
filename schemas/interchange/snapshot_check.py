"""Whether a document is a UI Snapshot v1."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

from schemas.interchange.rfc3339 import parse_time
from schemas.interchange.snapshot import is_supported
from schemas.interchange.snapshot_make import TOP
from schemas.interchange.verdicts import Finding, Verdict, explain, schema_findings, shown

_TABLES = ("top_providers", "top_models")


def validate_snapshot(document: object) -> Verdict:
    """Errors and warnings. A version other than 1 is the only error of its document: nothing else can be said of it."""
    if isinstance(document, dict) and "schema_version" in document and not is_supported(document["schema_version"]):
        version = shown(document["schema_version"])
        return Verdict([Finding("/schema_version", f"`schema_version` {version} is not supported, only 1")], [])
    errors = schema_findings("snapshot", document, _words)
    warnings: list[Finding] = []
    if isinstance(document, dict):
        for finding, fatal in _beyond_the_schema(document):
            (errors if fatal else warnings).append(finding)
    return Verdict(errors, warnings)


def _words(error: Any) -> Iterator[Finding]:
    for finding in explain(error):
        is_month = error.validator == "pattern"
        yield finding._replace(message="`month` must be of the form YYYY-MM") if is_month else finding


def _beyond_the_schema(document: dict[str, Any]) -> Iterator[tuple[Finding, bool]]:
    made = document.get("generated_at")
    if isinstance(made, str):
        if parse_time(made) is None:
            yield Finding("/generated_at", "`generated_at` must be an RFC 3339 time with an offset"), True
        elif made[-1] not in "Zz" and timedelta() != _offset(made):
            yield Finding("/generated_at", "`generated_at` should be in UTC"), False
    totals = document.get("totals")
    totals = totals if isinstance(totals, dict) else {}
    yield from _floats("/totals", totals, ("tokens", "session_count", "skipped_unpriced_count"))
    for name in _TABLES:
        rows = document.get(name)
        if isinstance(rows, list):
            yield from _rows(f"/{name}", [row for row in rows if isinstance(row, dict)], document, totals)


def _offset(text: str) -> timedelta:
    hours, _, minutes = text[-5:].partition(":")
    return timedelta(hours=int(hours), minutes=int(minutes))


def _rows(
    path: str, rows: list[dict[str, Any]], document: dict[str, Any], totals: dict[str, Any]
) -> Iterator[tuple[Finding, bool]]:
    for number, row in enumerate(rows):
        yield from _floats(f"{path}/{number}", row, ("tokens", "session_count"))
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
    """Whether the name of a row should stand before that of the row above it."""
    return isinstance(before, str) and isinstance(name, str) and before.encode() > name.encode()


def _floats(path: str, value: dict[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[Finding, bool]]:
    """A JSON Schema takes 5.0 for an integer; a reader with typed fields does not."""
    for key in keys:
        if isinstance(count := value.get(key), float) and count.is_integer():
            yield Finding(f"{path}/{key}", f"`{key}` must be an integer, not a number with a point"), True

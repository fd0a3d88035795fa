"""Whether a document is a UI Snapshot v1."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

from schemas.clean import one_line
from schemas.interchange.rfc3339 import parse_time
from schemas.interchange.session_data_check import Finding, Verdict, explain
from schemas.interchange.snapshot_make import TOP

_TABLES = ("top_providers", "top_models")


def validate_snapshot(document: object) -> Verdict:
    """Errors and warnings. A version other than 1 is the only error of its document: nothing else can be said of it."""
    from jsonschema import Draft202012Validator

    from schemas.documents import load_schema

    if isinstance(document, dict) and "schema_version" in document and not _is_one(document["schema_version"]):
        shown = one_line(str(document["schema_version"]), 40)
        return Verdict([Finding("/schema_version", f"version {shown} is not supported, only 1")], [])
    validator = Draft202012Validator(load_schema("snapshot"))
    found = sorted(validator.iter_errors(document), key=lambda e: [(isinstance(p, str), p) for p in e.absolute_path])
    errors = [finding for error in found for finding in _words(error)]
    warnings: list[Finding] = []
    if isinstance(document, dict):
        for finding, fatal in _beyond_the_schema(document):
            (errors if fatal else warnings).append(finding)
    return Verdict(errors, warnings)


def _is_one(version: object) -> bool:
    return type(version) is int and version == 1


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
    if document.get("mode") == "compact" and len(rows) > TOP:
        yield Finding(path, f"compact has at most {TOP} rows, not {len(rows)}"), True
    names = [row.get("name") for row in rows]
    if len({name for name in names if isinstance(name, str)}) < sum(isinstance(name, str) for name in names):
        yield Finding(path, "a name stands twice"), False
    total = totals.get("tokens")
    if type(total) is int and (sum(counts) > total or (document.get("mode") == "extended" and sum(counts) != total)):
        yield Finding(path, f"the rows' tokens add up to {sum(counts):,}, the total is {total:,}"), False


def _floats(path: str, value: dict[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[Finding, bool]]:
    """A JSON Schema takes 5.0 for an integer; a reader with typed fields does not."""
    for key in keys:
        if isinstance(count := value.get(key), float) and count.is_integer():
            yield Finding(f"{path}/{key}", f"`{key}` must be an integer, not a number with a point"), True

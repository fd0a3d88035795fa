"""Whether a file is Normalized Events v1, line by line and by the letter of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from schemas.interchange.events_read import COUNTERS
from schemas.interchange.json_text import read_json
from schemas.interchange.rfc3339 import parse_time
from schemas.interchange.verdicts import Finding, Verdict, kind_of, pointer, schema_findings


def validate_events(data: bytes) -> Verdict:
    """Errors and warnings of a file's bytes, in order; each names its line. Blank lines are passed over."""
    errors: list[Finding] = []
    warnings: list[Finding] = []
    count = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        count += 1
        for path, message, fatal in _line(line):
            finding = Finding(f"line {number}: {path}" if path else f"line {number}", message)
            (errors if fatal else warnings).append(finding)
    if not count:
        errors.append(Finding("", "there is no event in it"))
    return Verdict(errors, warnings)


def _line(line: bytes) -> Iterator[tuple[str, str, bool]]:
    try:
        if _is_plain(orjson.loads(line)):
            return
    except orjson.JSONDecodeError:
        pass  # which is said below, in the words of every check
    text = read_json(line)  # by the letter: the quickest parser makes a float of a long integer
    if text.fault:
        yield "", text.fault.replace(" line 1,", ""), True
        return
    value = text.value
    if not isinstance(value, dict):
        yield "", f"an event must be an object, not {kind_of(value)}", True
        return
    for finding in schema_findings("events", value):
        yield *finding, True
    yield from _beyond_the_schema(value)


def _is_plain(value: object) -> bool:
    """Whether it is an event as they all are, for which the validator, fifty times as slow, need not be asked."""
    if not isinstance(value, dict) or not all(isinstance(value.get(key), str) and value[key] for key in _WORDS):
        return False
    usage, time = value.get("usage"), value.get("timestamp")
    if not isinstance(usage, dict) or not isinstance(time, str):
        return False
    counts = [usage.get(key) for key in COUNTERS]
    return all(type(c) is int and c >= 0 for c in counts) and parse_time(time) is not None and time[10] != " "


_WORDS = ("provider", "model", "session_id")


def _beyond_the_schema(event: dict[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """What a JSON Schema cannot say, with whether it is an error."""
    for key in _WORDS:
        if event.get(key) == "":
            yield f"/{key}", f"`{key}` is empty", False
    time = event.get("timestamp")
    if isinstance(time, str):
        moment = parse_time(time)
        if moment is None or time[10] == " ":
            yield (
                "/timestamp",
                "`timestamp` must be an RFC 3339 time with an offset, such as 2026-02-19T22:12:00Z",
                True,
            )
    said = event.get("usage")
    usage = said if isinstance(said, dict) else {}
    for key in COUNTERS:
        # A JSON Schema takes 5.0 for an integer, the format's own reader does not.
        if isinstance(count := usage.get(key), float) and count.is_integer():
            yield pointer(["usage", key]), f"`{key}` must be an integer, not a number with a point", True

"""Whether a file is Normalized Events v1, line by line and by the letter of the contract."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import orjson

from schemas.interchange.events_read import COUNTERS
from schemas.interchange.rfc3339 import parse_time
from schemas.interchange.session_data_check import Finding, Verdict, explain, pointer

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


def validate_events(data: bytes) -> Verdict:
    """Errors and warnings of a file's bytes, in order; each names its line. Blank lines are passed over."""
    from jsonschema import Draft202012Validator

    from schemas.documents import load_schema

    validator = Draft202012Validator(load_schema("events"))
    errors: list[Finding] = []
    warnings: list[Finding] = []
    count = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        count += 1
        for path, message, fatal in _line(line, validator):
            finding = Finding(f"line {number}: {path}" if path else f"line {number}", message)
            (errors if fatal else warnings).append(finding)
    if not count:
        errors.append(Finding("", "there is no event in it"))
    return Verdict(errors, warnings)


def _line(line: bytes, validator: Draft202012Validator) -> Iterator[tuple[str, str, bool]]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        yield "", f"not JSON: {error.msg.lower()} at column {error.colno}", True
        return
    if _is_plain(value):
        return
    for broken in validator.iter_errors(value):
        for finding in explain(broken):
            beyond = broken.validator == "maximum"
            yield finding.path, "a count of more than 64 bits" if beyond else finding.message, True
    if isinstance(value, dict):
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


_EXAMPLE = "2026-02-19T22:12:00Z"
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

"""The only times a transcript tells: `<timestamp>` tags around prompts (formats note 3.3)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Newer runtimes put a narrow no-break space before AM and PM, which `\s` takes too.
_STAMP = re.compile(
    r"(?:\w{1,12},\s)?([A-Za-z]{3,9})\s(\d{1,2}),\s(\d{4}),\s(\d{1,2}):(\d{2})\s([AP])M"
    r"\s\((?:UTC|GMT)(?:([+\-−])(\d{1,2}))?(?::(\d{2}))?\)",
    re.ASCII | re.IGNORECASE,
)


def parse_timestamp(text: str) -> float | None:
    """`Tuesday, Jun 2, 2026, 11:20 AM (UTC+8)` as seconds since 1970; None for anything else.

    English and exact to the minute. Without its offset from UTC such a time could be any of 26 hours: unknown.
    """
    match = _STAMP.search(re.sub(r"\s", " ", text[:200]))
    if match is None:
        return None
    month, day, year, hour, minute, half, sign, hours, minutes = match.groups()
    if month[:3].lower() not in _MONTHS or not 1 <= int(hour) <= 12:
        return None
    ahead = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        local = datetime(
            int(year),
            _MONTHS.index(month[:3].lower()) + 1,
            int(day),
            int(hour) % 12 + (12 if half in "pP" else 0),
            int(minute),
            tzinfo=UTC,
        )
        return (local + ahead if sign in ("-", "−") else local - ahead).timestamp()
    except (ValueError, OverflowError):
        return None

"""Times as RFC 3339 has them: a date, a time and an offset, all three."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_FORM = re.compile(r"(\d{4}-\d\d-\d\d)([Tt ])(\d\d:\d\d:)(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def parse_time(text: object) -> datetime | None:
    """The moment in UTC, to the microsecond; None for what is no such time: a bare date, one without an offset, a
    number. A blank between date and time is taken too, as RFC 3339 allows among friends; a leap second counts as 59.
    """
    match = _FORM.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    date, _, minutes, seconds, fraction, offset = match.groups()
    fraction = (fraction or ".0")[:7]
    seconds = "59" if seconds == "60" else seconds
    try:
        return datetime.fromisoformat(f"{date}T{minutes}{seconds}{fraction}{offset.upper()}").astimezone(UTC)
    except (ValueError, OverflowError):  # the 31st of February, an offset of 99 hours, the year 0
        return None


def format_time(moment: datetime) -> str:
    """A moment in UTC, to the microsecond, ending in Z."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"

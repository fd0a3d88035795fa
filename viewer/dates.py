"""The times that people give to commands: `--since 7d`, `--until 2026-03-01`."""

from __future__ import annotations

import re
import time
from datetime import date, datetime, timedelta

from viewer.output import CallError

_UNITS = {"m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_WORDS = {"today": 0, "yesterday": 1}
"""Days ago."""


def since(text: str) -> float:
    """The beginning of what is meant, in seconds since 1970: a day (`2026-03-01`, `today`, `yesterday`), a time
    (`2026-03-01T14:00`) or an age (`30m`, `12h`, `7d`, `2w`). Days are those of this machine's clock. Raises CallError.
    """
    return _bounds("--since", text)[0]


def until(text: str) -> float:
    """The end of what is meant, as `since` its beginning: a day ends with its last second. Raises CallError."""
    return _bounds("--until", text)[1]


def _bounds(option: str, text: str) -> tuple[float, float]:
    try:
        if match := re.fullmatch(r"([0-9]+)([mhdw])", text):
            moment = time.time() - int(match[1]) * _UNITS[match[2]]
            return moment, moment
        day = _day(text)
        if day is None:
            moment = datetime.fromisoformat(text).timestamp()
            return moment, moment
        midnight = datetime.min.time()
        return (
            datetime.combine(day, midnight).timestamp(),
            datetime.combine(day + timedelta(days=1), midnight).timestamp(),
        )
    except (ValueError, OverflowError, OSError):
        raise CallError(f"{option} {text}: neither a day (2026-03-01, today) nor an age (12h, 7d)") from None


def _day(text: str) -> date | None:
    """A day by its name or date; None for anything else. Raises ValueError, OverflowError."""
    if text.casefold() in _WORDS:
        return date.today() - timedelta(days=_WORDS[text.casefold()])
    return date.fromisoformat(text) if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text) else None

"""Small readers of what a record's fields hold: any of them may be missing, null or of another type."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def text_of(value: object) -> str:
    """`value` if it is a string, else the empty one."""
    return value if isinstance(value, str) else ""


def dict_of(value: object) -> dict[str, Any]:
    """`value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """`value` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def texts_of(value: object) -> list[str]:
    """The strings in a list; none where `value` is something else."""
    return [one for one in list_of(value) if isinstance(one, str)]


def given(**values: Any) -> dict[str, Any]:
    """Return the values that are not None, by name."""
    return {key: value for key, value in values.items() if value is not None}


def number(value: object) -> float | None:
    """A finite number, or None."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e18:
        return float(value)
    return None


def whole(value: object) -> int | None:
    """An integer, or None."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def when(value: object, *, local: bool = False) -> float | None:
    """A time as seconds since 1970: ISO 8601 text, or a number of seconds or milliseconds (third-party files). A text
    without a zone is UTC, or `local` time.
    """
    if isinstance(value, str):
        try:
            time = datetime.fromisoformat(value)
            seconds = (time if time.tzinfo or local else time.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            return None
        return seconds if seconds > 0 else None  # Go writes the year 1 for no time
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e15:
        return value / 1000 if value > 1e11 else float(value)
    return None

"""Counts, sums and models' names in few characters: the same words wherever figures are shown."""

from __future__ import annotations

import math
import re

_DATE = re.compile(r"-(?:20\d{6}|20\d\d-\d\d-\d\d)(?=$|[-@:\[])")
_CLAUDE_OLD = re.compile(r"^(\d+(?:-\d+)?)-(opus|sonnet|haiku)(.*)$")
_VERSION = re.compile(r"^([a-z]+(?:-[a-z]+)*)-(\d+)-(\d+)(?!\d)(.*)$")
SYNTHETIC = "<synthetic>"
"""The model name Claude Code gives to messages that no model wrote."""


def format_count(count: int | None) -> str:
    """A number in few characters: `999`, `1.2k`, `312k`, `1.9M`; `?` for an unknown one."""
    return "?" if count is None else _scaled(count, 1000, ("", "k", "M", "G", "T", "P", "E"), "")


def format_cost(dollars: float | None) -> str:
    """US dollars: `$0.0042`, `$1.25`, `$1,204`, `$12M`; `?` for an unknown sum, and for one that is no number."""
    if dollars is None or not math.isfinite(dollars):
        return "?"
    if dollars >= 1e7:
        return f"${format_count(round(dollars))}"
    digits = 0 if dollars >= 999.5 else 2 if dollars >= 0.01 or dollars == 0 else 4
    return f"${dollars:,.{digits}f}"


def format_size(size: int | None) -> str:
    """Bytes: `812 B`, `3.4 KB`, `57 MB` (1 KB is 1,024 bytes); `?` for an unknown size."""
    return "?" if size is None else _scaled(size, 1024, ("B", "KB", "MB", "GB", "TB"), " ")


def _scaled(number: float, base: int, units: tuple[str, ...], gap: str) -> str:
    for unit in units:
        # What would be rounded up to a full 1000 belongs to the next unit.
        if number < base - 0.5 or unit == units[-1]:
            break
        number /= base
    digits = f"{number:.1f}".removesuffix(".0") if unit != units[0] and number < 9.95 else f"{number:.0f}"
    return f"{digits}{gap}{unit}"


_NAME = re.compile(r"(?!\w+://)[\w.@:/-]+")


def short_model(name: str | None) -> str:
    """A model's name as people say it: `opus-4.5` for `claude-opus-4-5-20251101`; empty where no model spoke."""
    if not name or name == SYNTHETIC:
        return ""
    # Nothing is cut off what is no name: a secret that lost its context is none to the redaction.
    short = name.rsplit("/", 1)[-1] if _NAME.fullmatch(name) else name
    short = short.rsplit("anthropic.", 1)[-1]  # us.anthropic.claude-… on Bedrock
    short = re.sub(r"-v\d+(:\d+)?$", "", short)
    short = re.sub(r"@(?:20\d{6}|latest|default)$", "", short)
    short = _DATE.sub("", short).removesuffix("-latest")
    if short.startswith("claude-"):
        short = short.removeprefix("claude-")
        short = _CLAUDE_OLD.sub(r"\2-\1\3", short)
        short = _VERSION.sub(r"\1-\2.\3\4", short)
    return short or name

"""Envelopes: the texts that agents' programs put before the words of a person."""

from __future__ import annotations

import re

_ENVELOPE = re.compile(
    r"[\ufeff\s]*<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics)\b[^>]{0,200}>.*?</\1>\s*", re.DOTALL
)


def strip_envelopes(text: str) -> tuple[str, list[str]]:
    """`text` without the envelopes that stand before it, and those."""
    position = 0
    envelopes: list[str] = []
    while match := _ENVELOPE.match(text, position):
        envelopes.append(match[0].strip("\ufeff \t\r\n"))
        position = match.end()
    return text[position:].lstrip("\ufeff \t\r\n"), envelopes

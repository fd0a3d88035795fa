"""Colour that a program printed, as HTML: classes for the terminal's sixteen colours, which follow light and dark."""

from __future__ import annotations

import html
from collections.abc import Iterable

from schemas.clean import Run, Sgr

_STEPS = (0, 95, 135, 175, 215, 255)
_FLAGS = (("bold", "B"), ("dim", "D"), ("italic", "I"), ("underline", "U"), ("strike", "S"), ("reverse", "R"))


def coloured(text: str, runs: Iterable[Run]) -> str:
    """`text` escaped, with a span around each run that is more than plain text."""
    pieces: list[str] = []
    position = 0
    for start, end, sgr in runs:
        attributes = _attributes(sgr)
        if attributes and position <= start < end:
            pieces.append(html.escape(text[position:start]))
            pieces.append(f"<span{attributes}>{html.escape(text[start:end])}</span>")
            position = end
    return "".join((*pieces, html.escape(text[position:])))


def _attributes(sgr: Sgr) -> str:
    """Return the HTML attributes of a style. Nothing in them comes from the text: numbers and our own words only."""
    classes = [letter for flag, letter in _FLAGS if getattr(sgr, flag)]
    styles: list[str] = []
    for colour, letter, name in ((sgr.fg, "f", "color"), (sgr.bg, "g", "background")):
        if isinstance(colour, int) and colour < 16:
            classes.append(f"{letter}{colour}")
        elif colour is not None:
            red, green, blue = _from_palette(colour) if isinstance(colour, int) else colour
            styles.append(f"{name}:#{red:02x}{green:02x}{blue:02x}")
    named = f' class="{" ".join(classes)}"' if classes else ""
    return named + (f' style="{";".join(styles)}"' if styles else "")


def _from_palette(index: int) -> tuple[int, int, int]:
    """A colour of the 6x6x6 cube (16 to 231) or of the 24 greys behind it."""
    if index >= 232:
        grey = 8 + 10 * (index - 232)
        return grey, grey, grey
    cube = index - 16
    return _STEPS[cube // 36], _STEPS[cube // 6 % 6], _STEPS[cube % 6]

"""The transcript's colours, from the variables of whatever theme is chosen.

Not component classes of CSS: three dozen of them would be worked out anew each time the widget's styles are, four times
before the first picture, which is a tenth of the time that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import NamedTuple

from rich.style import Style
from textual.color import Color
from textual.widget import Widget

from renderers.terminal.style_names import Palette


class _Look(NamedTuple):
    """Colours as names of the theme's variables, with how much of them is laid over the background."""

    colour: str = ""
    background: str = ""
    style: str = ""


_PALETTE = {
    "dim": _Look("text-muted"),
    "rule": _Look("text-muted"),
    "prompt": _Look("foreground", "", "bold"),
    "person": _Look("accent", "", "bold"),
    "agent": _Look("success"),
    "thinking": _Look("text-muted", "", "italic"),
    "tool": _Look("foreground", "", "bold"),
    "target": _Look("foreground"),
    "output": _Look("foreground 80%"),
    "good": _Look("success"),
    "bad": _Look("error", "", "bold"),
    "warn": _Look("warning"),
    "add": _Look("success", "success 10%"),
    "remove": _Look("error", "error 10%"),
    "add_words": _Look("foreground", "success 30%"),
    "remove_words": _Look("foreground", "error 30%"),
    "add_text": _Look("success"),
    "remove_text": _Look("error"),
    "heading": _Look("accent", "", "bold"),
    "link": _Look("accent", "", "underline"),
    "code": _Look("warning"),
    "block": _Look("", "surface"),
}
_SYNTAX = {
    "keyword": _Look("accent"),
    "string": _Look("success"),
    "comment": _Look("text-muted", "", "italic"),
    "number": _Look("warning"),
    "name": _Look("", "", "bold"),
    "builtin": _Look("accent"),
    "add": _Look("success"),
    "remove": _Look("error"),
}
_OVERLAYS = {
    "cursor": _Look("", "boost"),
    "mark": _Look("accent"),
    "match": _Look("background", "warning"),
    "found": _Look("background", "accent", "bold underline"),
    "unread": _Look("accent", "", "bold"),
    "selection": _Look("foreground", "screen-selection-background"),
}

_ROWS = {
    "text": _Look("foreground"),
    "bold": _Look("foreground", "", "bold"),
    "dim": _Look("text-muted"),
    "accent": _Look("accent"),
    "strong": _Look("accent", "", "bold"),
    "good": _Look("success"),
    "bad": _Look("error"),
    "alarm": _Look("error", "", "bold"),
    "warn": _Look("warning"),
    "match": _Look("warning", "", "bold"),
}

_ANSI = {
    "output": _Look(),
    "add": _Look("success"),
    "remove": _Look("error"),
    "add_words": _Look("", "", "bold underline"),
    "remove_words": _Look("", "", "bold underline"),
    "block": _Look(),
    "cursor": _Look(),
    "match": _Look("warning", "", "reverse"),
    "found": _Look("accent", "", "reverse bold underline"),
    "selection": _Look("foreground", "", "reverse"),
}
"""What is different where the terminal's own colours are used: they have no shades, and may be taken away."""


def palette_of(widget: Widget) -> Palette:
    """The palette in the colours of the widget's theme: whole styles, background included."""
    variables, base, background = widget.app.theme_variables, widget.rich_style, widget.background_colors[1]
    looks = _PALETTE | (_ANSI if widget.app.native_ansi_color else {})
    styles = {
        field.name: (Style() if field.name.endswith("_words") else base)
        + _style(looks.get(field.name, _Look()), variables, background)
        for field in fields(Palette)
        if field.name != "syntax"
    }
    # Highlighted code stands on the code block's background, so its roles say no background of their own.
    syntax = {role: _style(look, variables, background) for role, look in _SYNTAX.items()}
    return Palette(**styles, syntax=syntax)


def row_styles(widget: Widget) -> dict[str, Style]:
    """The styles of a list's rows: whole ones, but for `cursor`, which is what lies under the row with the cursor."""
    variables, background = widget.app.theme_variables, widget.background_colors[1]
    styles = {name: widget.rich_style + _style(look, variables, background) for name, look in _ROWS.items()}
    return styles | {"cursor": _style(_Look("", "panel"), variables, background)}


def extra_style(widget: Widget, name: str) -> Style:
    """One of the styles that are laid over rows, those of `_OVERLAYS`. Only what it sets itself."""
    looks = _OVERLAYS | (_ANSI if widget.app.native_ansi_color else {})
    return _style(looks[name], widget.app.theme_variables, widget.background_colors[1])


def _style(look: _Look, variables: Mapping[str, str], background: Color) -> Style:
    below = background + _colour(look.background, variables, background) if look.background else background
    return Style.parse(look.style) + Style(
        color=(below + _colour(look.colour, variables, below)).rich_color if look.colour else None,
        bgcolor=below.rich_color if below != background else None,
    )


def _colour(name: str, variables: Mapping[str, str], below: Color) -> Color:
    """A variable's colour: `success 10%` is a tenth of it, and a theme's `auto 60%` is black or white, as fits."""
    name, _, share = name.partition(" ")
    value, _, own = variables[name].partition(" ")
    colour = below.get_contrast_text(1.0) if value == "auto" else Color.parse(value)
    for part in filter(None, (share, own)):
        colour = colour.multiply_alpha(float(part.rstrip("%")) / 100)
    return colour

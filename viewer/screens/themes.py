"""The themes of our own. Every colour of the first two is one of the 256, so nothing changes where there are no more;
against its background each reaches a contrast of 4.5 to 1, which tests check. The third is for terminals with 16
colours or fewer: it takes the terminal's own, and tells things apart by bold, dim and reversed text as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme

_DARK_GREY, _DARK_DIM = "#8a8a8a", "#6c6c6c"
_LIGHT_GREY, _LIGHT_DIM = "#626262", "#8a8a8a"
_ANSI_GREY = "ansi_bright_black"
"""Drawn as dim text, see DimGrey."""


def _variables(grey: str, dim: str, accent: str, surface: str, bar: str, selected: tuple[str, str]) -> dict[str, str]:
    return {
        # Solid, text too: what is selected may have any colour.
        "screen-selection-foreground": selected[0],
        "screen-selection-background": selected[1],
        "input-selection-foreground": selected[0],
        "input-selection-background": selected[1],
        # Greys as colours, not as "60 % of what stands below": that one gets muddy in 256 colours.
        "text-muted": grey,
        "text-disabled": dim,
        "block-cursor-text-style": "bold",
        "input-cursor-background": accent,
        "border": accent,
        "border-blurred": dim,
        "footer-key-foreground": accent,
        "scrollbar": bar,
        "scrollbar-hover": grey,
        "scrollbar-active": accent,
        "scrollbar-background": surface,
        "scrollbar-background-hover": surface,
        "scrollbar-background-active": surface,
        "scrollbar-corner-color": surface,
        "link-color": accent,
        "link-background-hover": surface,
        "link-color-hover": accent,
    }


def _theme(name: str, accent: str, variables: dict[str, str], **colours: Any) -> Theme:
    return Theme(name=name, primary=accent, secondary=accent, accent=accent, variables=variables, **colours)


DARK = _theme(
    "turnlog-dark", "#5fafd7",
    _variables(_DARK_GREY, _DARK_DIM, "#5fafd7", "#1c1c1c", "#4e4e4e", ("#ffffff", "#005f87")),
    foreground="#d0d0d0", background="#1c1c1c", surface="#262626", panel="#303030", boost="#3a3a3a",
    success="#87af5f", warning="#d7af5f", error="#ff8787", dark=True,
)  # fmt: skip
LIGHT = _theme(
    "turnlog-light", "#005f87",
    _variables(_LIGHT_GREY, _LIGHT_DIM, "#005f87", "#ffffff", "#bcbcbc", ("#000000", "#afd7ff")),
    foreground="#262626", background="#ffffff", surface="#eeeeee", panel="#e4e4e4", boost="#dadada",
    success="#005f00", warning="#875f00", error="#af0000", dark=False,
)  # fmt: skip
ANSI = _theme(
    "turnlog-ansi", "ansi_cyan",
    _variables(_ANSI_GREY, _ANSI_GREY, "ansi_cyan", "ansi_default", "ansi_cyan", ("ansi_black", "ansi_cyan"))
    | {"scrollbar-hover": "ansi_cyan", "ansi-background": "ansi_default", "ansi-foreground": "ansi_default"},
    foreground="ansi_default", background="ansi_default",
    success="ansi_green", warning="ansi_yellow", error="ansi_red", ansi=True,
)  # fmt: skip


class DimGrey(LineFilter):
    """Draws the grey of 16 colours as dim text: in some palettes (Solarized) it is the background's colour."""

    def __init__(self, wanted: Callable[[], bool]) -> None:
        self._wanted = wanted

    @property
    def enabled(self) -> bool:  # type: ignore[override]
        """Tell whether the terminal's own colours are used now."""
        return self._wanted()

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments with grey as dim text."""
        return [Segment(text, style and _dimmed(style), control) for text, style, control in segments]


@lru_cache(1024)
def _dimmed(style: Style) -> Style:
    grey = style.color is not None and style.color.number == 8
    return style + Style(color="default", dim=True) if grey else style


def fitting_theme(environ: Mapping[str, str], colours: str | None) -> str:
    """The theme for a terminal; `colours` is what Rich calls the system of colours that it will send. Some terminals
    say their colours in COLORFGBG, as `foreground;background` by palette number; for the others dark is the better
    guess.
    """
    if colours in (None, "standard") or "NO_COLOR" in environ:
        return ANSI.name
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in ("7", "15") else DARK.name

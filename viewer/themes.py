"""The two themes of our own. Every colour is one of the 256 that all terminals have, so nothing changes where there are
no more; against its background each reaches a contrast of 4.5 to 1, which tests check.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import Theme

_DARK_GREY, _DARK_DIM = "#8a8a8a", "#6c6c6c"
_LIGHT_GREY, _LIGHT_DIM = "#626262", "#8a8a8a"


def _variables(grey: str, dim: str, accent: str, surface: str, bar: str) -> dict[str, str]:
    return {
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


DARK = Theme(
    name="turnlog-dark",
    primary="#5fafd7",
    secondary="#5fafd7",
    accent="#5fafd7",
    foreground="#d0d0d0",
    background="#1c1c1c",
    surface="#262626",
    panel="#303030",
    boost="#3a3a3a",
    success="#87af5f",
    warning="#d7af5f",
    error="#ff8787",
    dark=True,
    variables=_variables(_DARK_GREY, _DARK_DIM, "#5fafd7", "#1c1c1c", "#4e4e4e"),
)
LIGHT = Theme(
    name="turnlog-light",
    primary="#005f87",
    secondary="#005f87",
    accent="#005f87",
    foreground="#262626",
    background="#ffffff",
    surface="#eeeeee",
    panel="#e4e4e4",
    boost="#dadada",
    success="#005f00",
    warning="#875f00",
    error="#af0000",
    dark=False,
    variables=_variables(_LIGHT_GREY, _LIGHT_DIM, "#005f87", "#ffffff", "#bcbcbc"),
)


def fitting_theme(environ: Mapping[str, str]) -> str:
    """The theme for a terminal. Some say their colours in COLORFGBG, as `foreground;background` by palette number;
    for the others dark is the better guess.
    """
    background = environ.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT.name if background in ("7", "15") else DARK.name

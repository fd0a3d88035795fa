"""The transcript's colours: one component class for each style of the palette, in the theme's own variables."""

from __future__ import annotations

from dataclasses import fields

from rich.style import Style
from textual.widget import Widget

from renderers.terminal.code import ROLES
from renderers.terminal.palette import Palette

PREFIX = "transcript--"
_NAMES = tuple(field.name for field in fields(Palette) if field.name != "syntax")
COMPONENTS = {
    *(PREFIX + name for name in _NAMES),
    *(f"{PREFIX}code-{role}" for role in ROLES),
    *(PREFIX + name for name in ("cursor", "mark", "match", "unread")),
}

CSS = """
TranscriptWindow {
    height: 1fr;
    overflow-x: hidden;
    overflow-y: scroll;
    scrollbar-size-vertical: 1;
    background: $background;
    color: $foreground;
    & > .transcript--dim, & > .transcript--rule { color: $text-muted; }
    & > .transcript--prompt { color: $foreground; text-style: bold; }
    & > .transcript--person { color: $accent; text-style: bold; }
    & > .transcript--agent { color: $success; }
    & > .transcript--thinking { color: $text-muted; text-style: italic; }
    & > .transcript--tool { color: $foreground; text-style: bold; }
    & > .transcript--target { color: $foreground; }
    & > .transcript--output { color: $foreground 80%; }
    & > .transcript--good { color: $success; }
    & > .transcript--bad { color: $error; text-style: bold; }
    & > .transcript--warn { color: $warning; }
    & > .transcript--add { color: $success; background: $success 10%; }
    & > .transcript--remove { color: $error; background: $error 10%; }
    & > .transcript--add_text { color: $success; }
    & > .transcript--remove_text { color: $error; }
    & > .transcript--heading { color: $accent; text-style: bold; }
    & > .transcript--link { color: $accent; text-style: underline; }
    & > .transcript--code { color: $warning; }
    & > .transcript--block { background: $surface; }
    & > .transcript--code-keyword { color: $accent; }
    & > .transcript--code-string { color: $success; }
    & > .transcript--code-comment { color: $text-muted; text-style: italic; }
    & > .transcript--code-number { color: $warning; }
    & > .transcript--code-name { text-style: bold; }
    & > .transcript--code-builtin { color: $accent; }
    & > .transcript--code-add { color: $success; }
    & > .transcript--code-remove { color: $error; }
    & > .transcript--cursor { background: $boost; }
    & > .transcript--mark { color: $accent; }
    & > .transcript--match { background: $warning; color: $background; }
    & > .transcript--unread { color: $accent; text-style: bold; }
}
"""


def palette_of(widget: Widget) -> Palette:
    """The palette in the colours of the widget's theme: whole styles, background included."""
    styles = {name: widget.get_component_rich_style(PREFIX + name) for name in _NAMES}
    # Highlighted code stands on the code block's background, so its roles say no background of their own.
    syntax = {role: widget.get_component_rich_style(f"{PREFIX}code-{role}", partial=True) for role in ROLES}
    return Palette(**styles, syntax={role: style for role, style in syntax.items() if style})


def extra_style(widget: Widget, name: str) -> Style:
    """One of the styles that are laid over rows: cursor, mark, match, unread. Only what it sets itself."""
    return widget.get_component_rich_style(PREFIX + name, partial=True)

"""The styles a transcript is drawn in. The viewer fills them from its theme, so that this layer names no colour."""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.style import Style

_PLAIN, _DIM, _BOLD = Style(), Style(dim=True), Style(bold=True)
_UNDERLINE, _THOUGHT = Style(underline=True), Style(italic=True, dim=True)


@dataclass(frozen=True, slots=True)
class Palette:
    """One style for each thing that is told apart."""

    text: Style = _PLAIN
    dim: Style = _DIM
    prompt: Style = _BOLD
    """What a person typed."""
    person: Style = _BOLD
    """A person's glyph and the exchange's number."""
    agent: Style = _PLAIN
    """The agent's glyph."""
    thinking: Style = _THOUGHT
    tool: Style = _BOLD
    """A tool's verb."""
    target: Style = _PLAIN
    """What the tool was pointed at."""
    good: Style = _PLAIN
    bad: Style = _BOLD
    warn: Style = _PLAIN
    add: Style = _PLAIN
    """A line that came; may have a background."""
    remove: Style = _PLAIN
    add_words: Style = _BOLD
    """Laid over the words of a line that differ from those of the line for which it came."""
    remove_words: Style = _BOLD
    add_text: Style = _PLAIN
    """The number of lines that came, within other text."""
    remove_text: Style = _PLAIN
    output: Style = _PLAIN
    """What a program printed."""
    heading: Style = _BOLD
    link: Style = _UNDERLINE
    code: Style = _PLAIN
    """Code within a sentence."""
    block: Style = _PLAIN
    """A block of code; its background goes across the line."""
    rule: Style = _DIM
    syntax: dict[str, Style] = field(default_factory=dict)
    """Styles of highlighted code by role (renderers/terminal/code.py); what is missing is drawn plain."""

"""The one table of keys. Bindings, footer, help and README are made from it, so they cannot disagree.

This module knows nothing of Textual: the README's table and `turnlog keys` in the help are made from it too.
"""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """Keys that do one thing. `keys` are Textual's names, the first is shown; `action` is the screen's method."""

    keys: tuple[str, ...]
    action: str
    label: str
    """Two words for the footer."""
    help: str
    """One line for the help screen."""
    footer: bool = False


BROWSER: tuple[Key, ...] = (
    Key(("enter",), "open", "open", "open the session under the cursor", footer=True),
    Key(("ctrl+f",), "follow", "follow", "open it at its end and follow it", footer=True),
    Key(("down", "ctrl+n"), "cursor_down", "down", "next session"),
    Key(("up",), "cursor_up", "up", "previous session"),
    Key(("pagedown",), "page_down", "page down", "a page down"),
    Key(("pageup",), "page_up", "page up", "a page up"),
    Key(("home",), "top", "first", "first session"),
    Key(("end",), "bottom", "last", "last session"),
    Key(("tab",), "scope", "all/here", "this directory's sessions first, or all by age", footer=True),
    Key(("ctrl+e",), "export", "export", "write the session as Markdown", footer=True),
    Key(("ctrl+r",), "resume", "resume", "show and copy the command that resumes it", footer=True),
    Key(("f5",), "reload", "reload", "look for sessions again"),
    Key(("f1",), "help", "keys", "this help", footer=True),
    Key(("ctrl+p",), "palette", "commands", "command palette"),
    Key(("escape",), "clear", "clear", "clear the filter; leave when it is empty"),
    Key(("ctrl+q",), "quit", "quit", "leave turnlog", footer=True),
)

TRANSCRIPT: tuple[Key, ...] = (
    Key(("j", "down"), "line_down", "down", "a line down"),
    Key(("k", "up"), "line_up", "up", "a line up"),
    Key(("space", "pagedown", "ctrl+f"), "page_down", "page down", "a page down"),
    Key(("b", "pageup", "ctrl+b"), "page_up", "page up", "a page up"),
    Key(("d", "ctrl+d"), "half_down", "half down", "half a page down"),
    Key(("u", "ctrl+u"), "half_up", "half up", "half a page up"),
    Key(("g", "home"), "top", "start", "start of the session"),
    Key(("G", "end"), "bottom", "end", "end of the session; following goes on from there"),
    Key(("]",), "next_exchange", "next", "next exchange", footer=True),
    Key(("[",), "previous_exchange", "previous", "previous exchange", footer=True),
    Key(("enter",), "fold", "fold", "fold or unfold the block under the cursor", footer=True),
    Key(("z",), "fold_level", "level", "next level for all: prompts, answers, one-liners, everything", footer=True),
    Key(("t",), "fold_thinking", "thinking", "fold or unfold all thinking", footer=True),
    Key(("o",), "fold_output", "output", "fold or unfold all tool output", footer=True),
    Key(("/",), "search", "search", "search; hits in folded blocks open", footer=True),
    Key(("n",), "search_next", "next hit", "next hit"),
    Key(("N",), "search_previous", "previous hit", "previous hit"),
    Key(("f",), "follow", "follow", "follow the session as it grows", footer=True),
    Key(("U",), "first_unread", "unread", "first message that is new"),
    Key(("y",), "copy_block", "copy", "copy the block under the cursor"),
    Key(("Y",), "copy_exchange", "copy all", "copy the exchange as Markdown"),
    Key(("x",), "raw", "raw", "the block's records as the agent wrote them"),
    Key(("w",), "why", "why", "where this token figure comes from"),
    Key(("a",), "subagent", "subagent", "open the subagent that this call started"),
    Key(("e",), "export", "export", "write the session as Markdown"),
    Key(("r",), "resume", "resume", "show and copy the command that resumes it"),
    Key(("tab",), "outline", "outline", "the list of exchanges"),
    Key(("question_mark",), "help", "keys", "this help", footer=True),
    Key(("colon", "ctrl+p"), "palette", "commands", "command palette"),
    Key(("q", "escape"), "back", "back", "back to the list", footer=True),
    Key(("ctrl+q",), "quit", "quit", "leave turnlog"),
)

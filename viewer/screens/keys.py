"""The one table of keys. Bindings, footer, help and README are made from it, so they cannot disagree.

This module knows nothing of Textual: the README's table is made from it too.
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
    footer: int = 0
    """Whether the footer shows it: 1 for what everybody needs, 2 and 3 where there is room."""
    pair: str = ""
    """A label for the footer that this key shares with the next one in the table."""


BROWSER: tuple[Key, ...] = (
    Key(("enter",), "open", "open", "open the session under the cursor", footer=1),
    Key(("ctrl+f",), "follow", "follow", "open it at its end and follow it", footer=1),
    Key(("down", "ctrl+n"), "cursor_down", "down", "next session"),
    Key(("up",), "cursor_up", "up", "previous session"),
    Key(("pagedown",), "page_down", "page down", "a page down"),
    Key(("pageup",), "page_up", "page up", "a page up"),
    Key(("home",), "top", "first", "first session"),
    Key(("end",), "bottom", "last", "last session"),
    Key(("slash",), "find", "search", "search in all sessions, where the filter is empty", footer=1),
    Key(("tab",), "narrow", "narrow", "narrow by agent, project, date, live, failed, cost", footer=1),
    Key(("ctrl+s",), "order", "order", "next order: this directory, newest, tokens, cost, exchanges", footer=2),
    Key(("ctrl+e",), "export", "export", "write the session, or a part of it, to a file", footer=2),
    Key(("ctrl+r",), "resume", "resume", "show and copy the command that resumes it", footer=2),
    Key(("ctrl+l",), "watch", "watch", "the sessions that run: what each does, and which waits for you", footer=1),
    Key(("f5",), "reload", "reload", "look for sessions again"),
    Key(("f1",), "help", "keys", "this help", footer=1),
    Key(("ctrl+p",), "palette", "commands", "command palette"),
    Key(("escape",), "clear", "clear", "clear the filter, then what else narrows the list"),
    Key(("ctrl+q",), "quit", "quit", "leave turnlog, as ctrl+c twice does", footer=1),
)

FIND: tuple[Key, ...] = (
    Key(("enter",), "open", "open there", "open the session at the hit; show more hits of it", footer=1),
    Key(("down", "ctrl+n"), "cursor_down", "down", "next hit"),
    Key(("up",), "cursor_up", "up", "previous hit"),
    Key(("pagedown",), "page_down", "page down", "a page down"),
    Key(("pageup",), "page_up", "page up", "a page up"),
    Key(("home",), "top", "first", "first hit"),
    Key(("end",), "bottom", "last", "last hit"),
    Key(("tab",), "narrow", "narrow", "narrow by agent, project, date", footer=1),
    Key(("ctrl+y",), "copy_address", "address", "copy the hit's address, such as 4f2a81c9#3.2: a TARGET", footer=2),
    Key(("f1",), "help", "keys", "this help", footer=1),
    Key(("ctrl+p",), "palette", "commands", "command palette"),
    Key(("escape",), "back", "back", "back to the list", footer=1),
    Key(("ctrl+q",), "quit", "quit", "leave turnlog, as ctrl+c twice does"),
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
    Key(("enter",), "fold", "fold", "fold or unfold the block under the cursor", footer=1),
    Key(("z",), "fold_level", "level", "next level for all: prompts, answers, one-liners, everything", footer=1),
    Key(("t",), "fold_thinking", "thinking", "fold or unfold all thinking", footer=3),
    Key(("o",), "fold_output", "output", "fold or unfold all tool output", footer=3),
    Key(("[",), "previous_exchange", "previous", "previous exchange", footer=1, pair="exchange"),
    Key(("]",), "next_exchange", "next", "next exchange", footer=1),
    Key(("/",), "search", "search", "search all text, folded or not; ↑ brings the last one back", footer=1),
    Key(("n",), "search_next", "next hit", "next hit"),
    Key(("N",), "search_previous", "previous hit", "previous hit"),
    Key(("escape",), "end_search", "end search", "end the search, else drop a selection, else back to the list"),
    Key(("f",), "follow", "follow", "follow the session, and the one that takes its place", footer=2),
    Key(("U",), "first_unread", "unread", "first message that is new"),
    Key(("y",), "copy_block", "copy", "copy the block under the cursor, secrets replaced"),
    Key(("Y",), "copy_exchange", "copy all", "copy the exchange as short Markdown: a line a tool use"),
    Key(("c",), "copy_as_it_is", "copy as is", "copy the same once more as it is, with its secrets"),
    Key(("number_sign",), "copy_address", "address", "copy the block's address, such as 4f2a81c9#3.2: a TARGET"),
    Key(("x",), "raw", "raw", "the block's records as the agent wrote them"),
    Key(("w",), "why", "why", "where tokens and costs come from; what could not be read"),
    Key(("a",), "subagent", "subagent", "open the subagent that this call started"),
    Key(("e",), "export", "export", "write the session, or a part of it, to a file"),
    Key(("s",), "save", "save", "write what came on standard input to a file, as it came"),
    Key(("r",), "resume", "resume", "show and copy the command that resumes it"),
    Key(("tab",), "outline", "outline", "the exchanges, to go to one; again: back to the text", footer=3),
    Key(("O",), "outline_beside", "outline", "the exchanges beside the text, from 140 columns on, or not"),
    Key(("question_mark",), "help", "keys", "this help", footer=1),
    Key(("colon", "ctrl+p"), "palette", "commands", "command palette"),
    Key(("q",), "back", "back", "back to the list; leave where there is none", footer=1),
    Key(("ctrl+q",), "quit", "quit", "leave turnlog, as ctrl+c twice does"),
)

WATCH: tuple[Key, ...] = (
    Key(("j", "down"), "cursor_down", "down", "the next session or subagent"),
    Key(("k", "up"), "cursor_up", "up", "the one before"),
    Key(("space", "pagedown"), "page_down", "page down", "a page down"),
    Key(("b", "pageup"), "page_up", "page up", "a page up"),
    Key(("g", "home"), "top", "first", "the first session"),
    Key(("G", "end"), "bottom", "last", "the last one"),
    Key(("enter",), "open", "open", "open the transcript and follow it", footer=1),
    Key(("o",), "outline", "outline", "open it with the list of its exchanges", footer=2),
    Key(("a",), "subagents", "subagents", "show all subagents of the session, or its first ones", footer=1),
    Key(("exclamation_mark",), "next_waiting", "next that waits", "the next session that waits for you", footer=1),
    Key(("m",), "notices", "notify me", "notify you when a session begins to wait, or stop that", footer=1),
    Key(("question_mark",), "help", "keys", "this help", footer=1),
    Key(("colon", "ctrl+p"), "palette", "commands", "command palette"),
    Key(("q", "escape"), "back", "back", "back to the list; leave where there is none", footer=1),
    Key(("ctrl+q",), "quit", "quit", "leave turnlog, as ctrl+c twice does"),
)

LEAVING: tuple[Key, ...] = (
    Key(("y",), "end", "end", "quit, which closes the pipe: the agent ends when it writes next"),
    Key(("d",), "drain", "drain", "leave the screen, but read on until the agent ends, then quit"),
    Key(("s",), "save", "save", "write what came so far to a file, and go back"),
)
"""The answers to the question that quitting asks while an agent still writes to standard input."""

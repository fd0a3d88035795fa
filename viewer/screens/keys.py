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
    run: str = ""
    """What is run where one method serves several keys; else it is the action."""

    @property
    def call(self) -> str:
        """The action as Textual runs it."""
        return self.run or self.action


_PLAIN = (("j", "down"), ("k", "up"), ("space", "pagedown"), ("b", "pageup"), ("g", "home"), ("G", "end"))
_AMONG_TYPED = (("down", "ctrl+n"), ("up",), ("pagedown",), ("pageup",), ("home",), ("end",))
"""The keys that move a cursor; the others where letters are typed."""


def _cursor(
    forth: str, back: str, first: str, last: str, keys: tuple[tuple[str, ...], ...] = _PLAIN
) -> tuple[Key, ...]:
    """The keys that move the cursor of a list; the words are their help."""
    down, up, page_down, page_up, home, end = keys
    return (
        Key(down, "cursor_down", "down", forth, run="go('move', 1)"),
        Key(up, "cursor_up", "up", back, run="go('move', -1)"),
        Key(page_down, "page_down", "page down", "a page down", run="go('page', 1)"),
        Key(page_up, "page_up", "page up", "a page up", run="go('page', -1)"),
        Key(home, "top", "first", first, run="go('first')"),
        Key(end, "bottom", "last", last, run="go('last')"),
    )


def _end(back: str, keys: tuple[str, ...] = ("q", "escape")) -> tuple[Key, ...]:
    """The keys at the end of a table: help, palette and the ways out."""
    return (
        Key(("question_mark",), "help", "keys", "this help", footer=1, run="app.help"),
        Key(("colon", "ctrl+p"), "palette", "commands", "command palette", run="app.command_palette"),
        Key(keys, "back", "back", back, footer=1),
        Key(("ctrl+q",), "quit", "quit", "leave turnlog, as ctrl+c twice does"),
    )


BROWSER: tuple[Key, ...] = (
    Key(("enter",), "open", "open", "open the session under the cursor", footer=1),
    Key(("ctrl+f",), "follow", "follow", "open it at its end and follow it", footer=1),
    *_cursor("next session", "previous session", "first session", "last session", _AMONG_TYPED),
    Key(("slash",), "find", "search", "search in all sessions, where the filter is empty", footer=1),
    Key(("tab",), "narrow", "narrow", "narrow by agent, project, date, live, failed, cost", footer=1),
    Key(("ctrl+s",), "order", "order", "next order: this directory, newest, tokens, cost, exchanges", footer=2),
    Key(("ctrl+e",), "export", "export", "write the session, or a part of it, to a file", footer=2),
    Key(("ctrl+r",), "resume", "resume", "show and copy the command that resumes it", footer=2),
    Key(("ctrl+g",), "diff", "diff", "the files that it changed, with one diff of each", footer=2),
    Key(("ctrl+t",), "mark", "mark", "mark the session, for a comparison"),
    Key(("ctrl+x",), "compare", "compare", "the two marked sessions, or the marked one and this one, compared"),
    Key(("ctrl+l",), "watch", "watch", "the sessions that run: what each does, and which waits for you", footer=1),
    Key(("f5",), "reload", "reload", "look for sessions again"),
    Key(("f1",), "help", "keys", "this help", footer=1, run="app.help"),
    Key(("ctrl+p",), "palette", "commands", "command palette", run="app.command_palette"),
    Key(("escape",), "clear", "clear", "clear the filter, then what else narrows the list"),
    Key(("ctrl+q",), "quit", "quit", "leave turnlog, as ctrl+c twice does", footer=1),
)

FIND: tuple[Key, ...] = (
    Key(("enter",), "open", "open there", "open the session at the hit; show more hits of it", footer=1),
    *_cursor("next hit", "previous hit", "first hit", "last hit", _AMONG_TYPED),
    Key(("tab",), "narrow", "narrow", "narrow by agent, project, date", footer=1),
    Key(("ctrl+g",), "diff", "diff", "the files that the session changed, with one diff of each", footer=1),
    Key(("ctrl+y",), "copy_address", "address", "copy the hit's address, such as 4f2a81c9#3.2: a TARGET", footer=2),
    Key(("f1",), "help", "keys", "this help", footer=1, run="app.help"),
    Key(("ctrl+p",), "palette", "commands", "command palette", run="app.command_palette"),
    Key(("escape",), "back", "back", "back to the list", footer=1),
    Key(("ctrl+q",), "quit", "quit", "leave turnlog, as ctrl+c twice does"),
)


def _jumps(what: str, back: tuple[str, ...], forth: tuple[str, ...], footer: int = 0) -> tuple[Key, Key]:
    """The keys of the jumps to the previous and to the next `what`."""
    return (
        Key(back, f"previous_{what}", "previous", f"previous {what}", footer, what, f"jump('{what}', -1)"),
        Key(forth, f"next_{what}", "next", f"next {what}", footer, run=f"jump('{what}', 1)"),
    )


def _copy(key: str, what: str, label: str, says: str) -> Key:
    return Key((key,), f"copy_{what}", label, says, run=f"copy('{what}')")


TRANSCRIPT: tuple[Key, ...] = (
    Key(("j", "down"), "line_down", "down", "a line down", run="go('move_cursor', 1)"),
    Key(("k", "up"), "line_up", "up", "a line up", run="go('move_cursor', -1)"),
    Key(("space", "pagedown", "ctrl+f"), "page_down", "page down", "a page down", run="go('page', 1)"),
    Key(("b", "pageup", "ctrl+b"), "page_up", "page up", "a page up", run="go('page', -1)"),
    Key(("d", "ctrl+d"), "half_down", "half down", "half a page down", run="go('half_page', 1)"),
    Key(("u", "ctrl+u"), "half_up", "half up", "half a page up", run="go('half_page', -1)"),
    Key(("g", "home"), "top", "start", "start of the session"),
    Key(("G", "end"), "bottom", "end", "end of the session; following goes on from there"),
    Key(("enter",), "fold", "fold", "fold or unfold the block under the cursor", footer=1, run="go('fold_here')"),
    Key(("z",), "unfold_level", "more", "unfold a level for all", 1, "level", "fold_all('shift_level', 1)"),
    Key(("Z",), "fold_level", "less", "fold a level", footer=1, run="fold_all('shift_level', -1)"),
    Key(("1",), "level_1", "prompts", "level 1: prompts", run="fold_all('set_level', 0)"),
    Key(("2",), "level_2", "answers", "level 2: prompts and answers", run="fold_all('set_level', 1)"),
    Key(("3",), "level_3", "one-liners", "level 3: tools and thinking in a line each", run="fold_all('set_level', 2)"),
    Key(("4",), "level_4", "everything", "level 4: everything", run="fold_all('set_level', 3)"),
    Key(("t",), "fold_thinking", "thinking", "fold or unfold all thinking", 3, run="fold_all('toggle_thinking')"),
    Key(("o",), "fold_output", "output", "fold or unfold all tool output", 3, run="fold_all('toggle_output')"),
    *_jumps("exchange", ("[",), ("]",), footer=1),
    *_jumps("prompt", ("P",), ("p",)),
    *_jumps("answer", ("(",), (")",)),
    *_jumps("block", ("{", "K"), ("}", "J")),
    *_jumps("edit", ("<",), (">",)),
    *_jumps("failure", ("comma",), ("full_stop",)),
    Key(("H", "ctrl+o", "alt+left"), "jump_back", "back", "back to where the last jump began", run="return(-1)"),
    Key(("L", "alt+right"), "jump_forward", "forward", "forward again", run="return(1)"),
    Key(("m",), "mark", "mark", "mark this line: a letter names it, and it is kept", run="ask_mark('mark')"),
    Key(("apostrophe",), "to_mark", "to mark", "to a mark, by its letter; '' goes back", run="ask_mark('to_mark')"),
    Key(("/",), "search", "search", "search all text, folded or not; ↑ brings the last one back", footer=1),
    Key(("n",), "search_next", "next hit", "next hit", run="search_again(1)"),
    Key(("N",), "search_previous", "previous hit", "previous hit", run="search_again(-1)"),
    Key(("escape",), "end_search", "end search", "end the search, else drop a selection, else back to the list"),
    Key(("f",), "follow", "follow", "follow the session, and the one that takes its place", footer=2),
    Key(("U",), "first_unread", "unread", "first message that is new"),
    _copy("y", "block", "copy", "copy the block under the cursor, secrets replaced"),
    _copy("Y", "exchange", "copy all", "copy the exchange as short Markdown: a line a tool use"),
    _copy("c", "as_it_is", "copy as is", "copy the same once more as it is, with its secrets"),
    _copy("number_sign", "address", "address", "copy the block's address, such as 4f2a81c9#3.2: a TARGET"),
    Key(("x",), "raw", "raw", "the block's records as the agent wrote them"),
    Key(("w",), "why", "why", "where tokens and costs come from; what could not be read"),
    Key(("D",), "diff", "diff", "the files that the session changed, with one diff of each", footer=2),
    Key(("i",), "image", "image", "show the block's image, or write it to a file"),
    Key(("a",), "subagent", "subagent", "open the subagent that this call started"),
    Key(("e",), "export", "export", "write the session, or a part of it, to a file"),
    Key(("s",), "save", "save", "write what came on standard input to a file, as it came"),
    Key(("r",), "resume", "resume", "show and copy the command that resumes it"),
    Key(("tab",), "outline", "outline", "the exchanges, to go to one; again: back to the text", footer=3),
    Key(("O",), "outline_beside", "outline", "the exchanges beside the text, from 140 columns on, or not"),
    *_end("back to the list; leave where there is none", ("q",)),
)

OUTLINE: tuple[Key, ...] = (
    Key(("enter",), "choose", "go there", "go to the exchange", footer=1),
    *_cursor("next exchange", "previous exchange", "first exchange", "last exchange", _AMONG_TYPED),
    Key(("escape",), "clear", "clear", "clear what was typed, else back to the text", footer=1),
    Key(("tab",), "leave", "text", "back to the text", footer=1),
    Key(("f1",), "help", "keys", "this help", footer=1, run="app.help"),
)

WORDS: tuple[Key, ...] = (
    Key(("enter",), "submit", "go on reading", "go on reading at the hit", footer=1),
    Key(("up",), "older", "last search", "the search before", footer=2, run="recall(-1)"),
    Key(("down",), "newer", "next search", "the search after it", run="recall(1)"),
    Key(("escape",), "leave", "end", "end the search", footer=1),
    Key(("f1",), "help", "keys", "this help", footer=1, run="app.help"),
)

WATCH: tuple[Key, ...] = (
    *_cursor("the next session or subagent", "the one before", "the first session", "the last one"),
    Key(("enter",), "open", "open", "open the transcript and follow it", footer=1),
    Key(("o",), "outline", "outline", "open it with the list of its exchanges", footer=2),
    Key(("a",), "subagents", "subagents", "show all subagents of the session, or its first ones", footer=1),
    Key(("exclamation_mark",), "next_waiting", "next that waits", "the next session that waits for you", footer=1),
    Key(("m",), "notices", "notify me", "notify you when a session begins to wait, or stop that", footer=1),
    *_end("back to the list; leave where there is none"),
)

DIFF: tuple[Key, ...] = (
    Key(("enter",), "open", "go there", "go to the edit in the transcript; of a file to its first", footer=1),
    Key(("j", "down"), "cursor_down", "down", "next file or edit", run="go('move', 1)"),
    Key(("k", "up"), "cursor_up", "up", "the one before", run="go('move', -1)"),
    Key(("g", "home"), "top", "first", "first file", run="go('first')"),
    Key(("G", "end"), "bottom", "last", "last file or edit", run="go('last')"),
    Key(("space", "pagedown"), "page_down", "diff", "a page of the diff down", footer=2, run="scroll(1)"),
    Key(("b", "pageup"), "page_up", "back", "a page of the diff up", run="scroll(-1)"),
    Key(("d",), "half_down", "half down", "half a page of the diff down", run="scroll(0.5)"),
    Key(("u",), "half_up", "half up", "half a page of the diff up", run="scroll(-0.5)"),
    Key(("tab",), "scope", "exchange", "the exchange of this edit, or the whole session again", footer=1),
    Key(("y",), "copy", "copy", "copy it as a patch, secrets replaced", footer=1, run="copy(False)"),
    Key(("c",), "copy_as_it_is", "copy as is", "copy the patch as it is, with its secrets", run="copy(True)"),
    Key(("e",), "write", "write", "write it as a patch for `git apply` to a file", footer=1),
    *_end("back to where one came from"),
)

WHY: tuple[Key, ...] = (
    Key(("enter",), "open", "go there", "open the session at the edit that wrote the line", footer=1),
    Key(("tab",), "next_edit", "next edit", "the next edit, where the line may be from several", footer=1),
    *_cursor("next line", "the one before", "first line", "last line"),
    *_end("back to where one came from"),
)

LEAVING: tuple[Key, ...] = (
    Key(("y",), "end", "end", "quit, which closes the pipe: the agent ends when it writes next"),
    Key(("d",), "drain", "drain", "leave the screen, but read on until the agent ends, then quit"),
    Key(("s",), "save", "save", "write what came so far to a file, and go back"),
)
"""The answers to the question that quitting asks while an agent still writes to standard input."""

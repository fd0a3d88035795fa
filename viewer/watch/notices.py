"""Notices that a session began to wait: a bell, a notification on the desktop, a command of the user's own.

Each is off unless it was asked for. What a session says reaches a terminal without control bytes, a notification
without markup, and a command in variables of its environment only: nothing runs through a shell.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from html import escape
from pathlib import Path

from schemas.clean import one_line
from schemas.paths import path_text
from viewer.output import CallError
from viewer.watch.state import Does
from viewer.watch.tile import Tile
from viewer.watch.words import state_words

_BELL, _ESCAPE = "\a", "\x1b"
_LONGEST = 200


class Notices:
    """Tells of sessions that begin to wait; `write` gives text to the terminal.

    Raises CallError for a command that cannot be run.
    """

    def __init__(
        self,
        write: Callable[[str], object],
        *,
        bell: bool = False,
        notify: bool = False,
        command: str = "",
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._write, self._environ, self._clock = write, environ, clock
        self.bell, self.notify = bell, notify
        try:
            self._command = shlex.split(command)
        except ValueError as error:
            raise CallError(f"--exec: {error}".lower()) from None
        if self._command and shutil.which(self._command[0]) is None:
            raise CallError(f"--exec: {one_line(self._command[0])} is no program that can be run")
        self._waiting: set[Path] = set()
        """Those that waited at the last look."""
        self._begun: float | None = None
        """When it was looked first. Who waited before that does not begin to, however long it took to know."""
        self._running: list[subprocess.Popen[bytes]] = []

    def look(self, tiles: Iterable[Tile]) -> list[Tile]:
        """Tell of those that began to wait since the last look, and return them."""
        waiting = {tile.path: tile for tile in tiles if tile.state.does is Does.WAITS}
        before, self._waiting, first = self._waiting, set(waiting), self._begun
        begun: list[Tile] = []
        if first is None:
            self._begun = self._clock()
        else:
            new = [tile for path, tile in waiting.items() if path not in before]
            begun = [tile for tile in new if tile.state.since is None or tile.state.since >= first]
        for tile in begun:
            if self.notify:
                self._notify(tile)
            if self._command:
                self._start(self._command, {**self._environ, **variables(tile)})
        if begun and self.bell:
            self._write(_BELL)
        self._running = [process for process in self._running if process.poll() is None]
        return begun

    def _notify(self, tile: Tile) -> None:
        """Say it on the desktop: by `notify-send` where there is one, else by the terminal."""
        title = one_line(f"{tile.project or tile.title or tile.id} {state_words(tile.state)}", _LONGEST)
        asked = one_line("; ".join(ask.question for ask in tile.state.asks), _LONGEST)
        environ = self._environ
        if (program := shutil.which("notify-send")) and (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")):
            self._start([program, "--app-name=turnlog", "--", title, escape(asked, quote=False)], environ)
        else:
            self._write(terminal_notice(title, asked, environ))

    def _start(self, words: list[str], environ: Mapping[str, str]) -> None:
        with suppress(OSError):  # it was there when it was asked for
            self._running.append(
                subprocess.Popen(
                    words,
                    env=dict(environ),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )


def terminal_notice(title: str, text: str, environ: Mapping[str, str]) -> str:
    """The escape sequence with which a terminal shows a notification: OSC 777 where that is known to be taken, else
    OSC 9. tmux hands it on where its `allow-passthrough` is on.
    """
    takes_777 = "VTE_VERSION" in environ or re.match(r"rxvt|foot|ghostty", environ.get("TERM", "")) is not None
    if takes_777:
        code = f"{_ESCAPE}]777;notify;{title.replace(';', ',')};{text}{_BELL}"
    else:  # what begins with a number would be another request
        code = f"{_ESCAPE}]9;turnlog: {title}{': ' * bool(text)}{text}{_BELL}"
    if environ.get("TMUX"):
        return f"{_ESCAPE}Ptmux;{code.replace(_ESCAPE, 2 * _ESCAPE)}{_ESCAPE}\\"
    return code


def variables(tile: Tile) -> dict[str, str]:
    """The facts of a tile as a command gets them."""
    state = tile.state
    facts = {
        "PROVIDER": tile.provider, "ID": tile.id, "PATH": path_text(tile.path), "TITLE": tile.title,
        "WORKSPACE": tile.workspace_root or "", "BRANCH": tile.branch or "", "STATE": state.does, "WHAT": state.what,
        "CERTAIN": "yes" if state.certain else "no", "SOURCE": state.source,
        "ASKS": "\n".join(ask.question for ask in state.asks),
    }  # fmt: skip
    return {f"TURNLOG_{name}": value.replace("\0", "") for name, value in facts.items()}

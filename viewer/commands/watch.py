"""`turnlog watch`: the sessions that run, and which of them waits for whom."""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from renderers.facts import iso_time, local_time
from schemas.clean import one_line
from schemas.paths import session_json
from viewer.follow.clock import call_at_signals
from viewer.output import DONE, NO, CallError, reader_gone, warn, write_bytes, write_json
from viewer.start import draw_where_people_look
from viewer.usage.costs import load
from viewer.watch.notices import Notices
from viewer.watch.state import Does, State
from viewer.watch.tile import Helper, Tile
from viewer.watch.tiles import Watch, tiles_now
from viewer.watch.words import state_words


@click.command("watch")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a change of state.")
@click.option("--once", is_flag=True, help="Print the states as they are now, and end.")
@click.option("--bell", is_flag=True, help="Ring when a session begins to wait.")
@click.option("--notify", is_flag=True, help="Show a notification when a session begins to wait.")
@click.option("--exec", "program", metavar="COMMAND", help="Run a command when a session begins to wait.")
def command(as_json: bool, once: bool, bell: bool, notify: bool, program: str | None) -> int:
    """Watch the sessions that run: what each does, and which waits for you and why.

    On a terminal this opens the screen, where they stand as tiles, those that need you first. Elsewhere a state is
    printed when it changes; what is a guess says "perhaps". --once takes up to five seconds where it must see whether
    a terminal is still. The command of --exec is run without a shell and finds the
    facts in variables: TURNLOG_PROVIDER, _ID, _PATH, _TITLE, _WORKSPACE, _BRANCH, _STATE, _WHAT, _CERTAIN, _SOURCE,
    _ASKS.
    """
    if program is not None and not program.strip():
        raise CallError("--exec: which command?")
    if sys.stdout.isatty() and not (as_json or once):
        draw_where_people_look()
        from viewer.screens.run import run_screen
        from viewer.screens.watch import WatchScreen

        run_screen(WatchScreen(Watch(), bell=bell, notify=notify, command=program or ""))
        return DONE
    notices = Notices(_to_terminal, bell=bell, notify=notify, command=program or "")
    printer = _Printer(as_json)
    if once:
        load()
        tiles = tiles_now()
        printer.print(tiles)
        running = any(tile.state.does is not Does.ENDED for tile in tiles)
        if not running:
            warn("no session runs")
        return DONE if running else NO
    asyncio.run(_watch(Watch(), printer, notices))
    return DONE


async def _watch(watch: Watch, printer: _Printer, notices: Notices) -> None:
    """Print changes until a signal comes or the reader of standard output goes away."""
    working = asyncio.create_task(_print(watch, printer, notices))
    call_at_signals(working.cancel)
    beside = [asyncio.create_task(one) for one in (asyncio.to_thread(load), _until_gone(working))]
    with suppress(asyncio.CancelledError):
        await working
    for task in beside:
        task.cancel()


async def _print(watch: Watch, printer: _Printer, notices: Notices) -> None:
    noted = ""
    async for tiles in watch.changes():
        printer.print(tiles)
        notices.look(tiles)
        if watch.note != noted:
            noted = watch.note
            warn(noted)


async def _until_gone(working: asyncio.Task[None]) -> None:
    """End the work when nobody reads standard output any more."""
    while not reader_gone():
        await asyncio.sleep(1.0)
    working.cancel()


def _to_terminal(text: str) -> None:
    """Give text to the terminal, also where standard output is a pipe."""
    with suppress(OSError), Path("/dev/tty").open("w", encoding="utf-8") as terminal:
        terminal.write(text)


class _Printer:
    """Prints each session's state when it is another one than before."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._before: dict[Path, tuple[Tile, object]] = {}
        self._held: set[Path] | None = None
        """Those of the first look whose verdict is told when it is final; None before that."""

    def print(self, tiles: list[Tile]) -> None:
        """Print what changed, and that a session is gone which was there."""
        open_ = {tile.path for tile in tiles if tile.may_change}
        self._held = open_ if self._held is None else self._held & open_
        now = {tile.path: tile for tile in tiles if tile.path not in self._held}
        for path, (tile, _) in list(self._before.items()):
            if path not in now:
                del self._before[path]
                if tile.state.does is not Does.ENDED:
                    self._write(tile, _GONE)
        for path, tile in now.items():
            mark = _mark(tile)
            if path not in self._before or self._before[path][1] != mark:
                self._write(tile)
            self._before[path] = tile, mark

    def _write(self, tile: Tile, gone: str = "") -> None:
        if self._as_json:
            write_json(tile_object(tile) | ({"state": "ended", "what": "", "source": gone} if gone else {}))
        else:
            state = "ended" if gone else state_words(tile.state)
            asks = "; ".join(ask.question for ask in tile.state.asks) if not gone else ""
            where, known = f"{tile.project or tile.title} ({tile.provider})", gone or tile.state.source
            line = f"{local_time(time.time())} {where}: {state}{': ' * bool(asks)}{asks} ({known}) {tile.id}"
            write_bytes(f"{one_line(line, 1000)}\n".encode())


_GONE = "its process has ended"


def _mark(tile: Tile) -> object:
    """The facts whose change is a change of state."""
    state = tile.state
    helpers = tuple((helper.id, helper.state.does, helper.state.what) for helper in tile.helpers)
    sure = state.certain or state.does is not Does.WAITS
    return state.does, state.what, sure, state.asks, helpers, tile.shared


def tile_object(tile: Tile) -> dict[str, Any]:
    """A tile as `--json` prints it."""
    state = tile.state
    return {
        "time": iso_time(time.time()),
        **session_json(tile.provider, tile.id, tile.path),
        "title": tile.title,
        "workspaceRoot": tile.workspace_root,
        "project": tile.project,
        "branch": tile.branch,
        **_state_object(state),
        "asks": [{"question": ask.question, "options": list(ask.options)} for ask in state.asks],
        "subagents": [_helper_object(helper) for helper in tile.helpers],
        "tokens": None if tile.usage is None else tile.usage.total,
        "cost": None if tile.cost is None else tile.cost.cost,
        "tokensLastMinute": tile.recent,
        "contextUsed": tile.context_used,
        "contextWindow": tile.context_window,
        "shared": [
            {"path": shared.path, "with": list(shared.others), "ids": list(shared.ids)} for shared in tile.shared
        ],
    }


def _state_object(state: State) -> dict[str, Any]:
    return {
        "state": state.does,
        "what": state.what,
        "since": None if state.since is None else iso_time(state.since),
        "certain": state.certain,
        "source": state.source,
    }


def _helper_object(helper: Helper) -> dict[str, Any]:
    return {
        "id": helper.id,
        "name": helper.name,
        "description": helper.description,
        **_state_object(helper.state),
        "tokens": None if helper.usage is None else helper.usage.total,
        "subagents": [_helper_object(child) for child in helper.children],
    }

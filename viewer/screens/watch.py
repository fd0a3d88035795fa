"""The watch screen: the sessions that run on this machine, what each does and which of them waits for a person."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from renderers.facts import cost_fact, format_count
from renderers.terminal.rows import width_of
from schemas.clean import one_line
from schemas.costs.responses import Tally
from viewer.screens.program import aside, program
from viewer.usage.costs import load
from viewer.watch.notices import Notices
from viewer.watch.state import Does
from viewer.watch.tile import Tile
from viewer.watch.tiles import Watch
from viewer.widgets.chrome import KeyFooter, StatusBar
from viewer.widgets.row_list import RowListScreen
from viewer.widgets.tiles import TileList

if TYPE_CHECKING:
    from textual.worker import WorkType


_FRAME = 0.1
"""Seconds between two pictures of what changed."""
_TICK = 1.0
_APART = 2
"""Blank cells between how many wait and what was used, at least."""
_PRICES_AFTER = 0.3
"""Seconds after the first picture in which nothing competes with the second one."""


class WatchScreen(RowListScreen):
    """The tiles of `watch`, which looks in a thread: looking through 100,000 sessions takes longer than a key may."""

    TABLE = "watch"

    def __init__(
        self,
        watch: Watch,
        clock: Callable[[], float] = time.time,
        *,
        bell: bool = False,
        notify: bool = False,
        command: str = "",
    ) -> None:
        super().__init__()
        self._watch = watch
        self._tiles: list[Tile] = []
        self._list = TileList(clock, id="tiles")
        self._empty = Static("", id="empty", markup=False)
        self._bar = StatusBar(id="title")
        self._notices = Notices(self._to_terminal, bell=bell, notify=notify, command=command, clock=clock)
        self._stop: Callable[[], object] | None = None
        """Ends the thread that looks."""
        self._closing = False
        self._looked = False
        """Whether all sessions were looked through once."""
        self._news = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield self._bar
        yield self._list
        yield self._empty
        yield KeyFooter(id="keys")

    def on_mount(self) -> None:
        self._show()
        self.set_focus(None)
        self.set_interval(_TICK, self._list.tick)
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        for work in self._look, self._take:
            self.run_worker(cast("WorkType[None]", work))

    def on_unmount(self) -> None:
        """Let the thread end."""
        self._closing = True
        if self._stop is not None:
            with suppress(RuntimeError):  # it has just ended
                self._stop()

    def on_resize(self) -> None:
        """Say as much as there is room for."""
        self._show()

    # -- what is shown ---------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Look in a thread for as long as the screen is there."""
        heard = partial(asyncio.get_running_loop().call_soon_threadsafe, self._news.set)

        async def looking() -> None:
            task, loop = asyncio.current_task(), asyncio.get_running_loop()
            if task is not None and not self._closing:
                self._stop = partial(loop.call_soon_threadsafe, task.cancel)
                async for tiles in self._watch.changes():
                    self._tiles = tiles
                    if not self._news.is_set():
                        heard()

        def look() -> None:
            with suppress(asyncio.CancelledError):
                asyncio.run(looking())

        try:
            await aside(look)
        except OSError as error:  # a disk that fails
            program(self).say(one_line(str(error)), title="Cannot look for sessions", bad=True)

    async def _take(self) -> None:
        """Show what was found, so often that nothing flickers, and once prices are there what it cost."""
        await self._news.wait()
        pricing = asyncio.ensure_future(self._price())
        try:
            while True:
                self._news.clear()
                self._looked = True
                self._show()
                self._notices.look(self._tiles)
                await asyncio.sleep(_FRAME)
                await self._news.wait()
        finally:
            pricing.cancel()

    async def _price(self) -> None:
        await asyncio.sleep(_PRICES_AFTER)
        await aside(load)

    def _show(self) -> None:
        tiles = self._tiles
        self._list.show(tiles)
        self._list.display, self._empty.display = bool(tiles), not tiles
        if not tiles:
            self._empty.update(_NOTHING if self._looked else Content.styled("Looking for sessions …", "$text-muted"))
        width, left = self.size.width - 2, _counts(tiles)  # the bar may have its old size still
        if width < left.cell_length:
            left = _counts(tiles, narrow=True)
        self._bar.left, self._bar.right = left, _sums(tiles, width - left.cell_length - _APART)

    # -- keys ------------------------------------------------------------------------------------------------------

    @on(TileList.Chosen)
    def action_open(self) -> None:
        self._open()

    def action_outline(self) -> None:
        self._open(outline=True)

    def _open(self, *, outline: bool = False) -> None:
        tile, chosen = self._list.current, self._list.chosen
        if tile is not None and chosen is not None:
            above = "" if chosen[1] == tile.path else f"{one_line(tile.title or tile.project, 32)} › "
            program(self).open_session(chosen[1], follow=True, above=above, outline=outline)

    def action_subagents(self) -> None:
        if not self._list.toggle_helpers():
            program(self).say("No subagent of this session runs.")

    def action_next_waiting(self) -> None:
        if not self._list.go_waiting():
            program(self).say("None waits for you.")

    def action_notices(self) -> None:
        notices = self._notices
        notices.bell = notices.notify = not (notices.bell or notices.notify)
        how = "A bell and a notification say" if notices.notify else "Nothing says"
        program(self).say(f"{how} from now on that a session begins to wait for you.")

    def _to_terminal(self, text: str) -> None:
        if (driver := self.app._driver) is not None:
            driver.write(text)


_NOTHING = Content.assemble(
    "No session runs on this machine now.\n\n",
    (
        "As soon as an agent works, it stands here: what it does and for how long, for what it waits and how that is "
        "known, its last words, tokens and cost, and its subagents. Those that wait for you come first.\n\n",
        "$text-muted",
    ),
    ("turnlog", "bold $accent"),
    ("  lists the sessions of before", "$text-muted"),
)


def _counts(tiles: list[Tile], *, narrow: bool = False) -> Content:
    """`1 waits for you · 4 running`, in fewer words where there is less room."""
    parts = [] if narrow else [("turnlog watch", "bold $accent"), ("   ", "")]
    you = "" if narrow else " for you"
    does = [(tile.state.does, tile.state.certain) for tile in tiles]
    waits, perhaps = does.count((Does.WAITS, True)), does.count((Does.WAITS, False))
    running = sum(one is not Does.ENDED for one, _ in does)
    if waits:
        parts += [(f"{waits} {'waits' if waits == 1 else 'wait'}{you}", "bold $error"), (" · ", "$text-muted")]
    if perhaps:
        words = "perhaps waits" if perhaps == 1 else "perhaps wait"
        parts += [(f"{perhaps} {words}{you}", "$warning"), (" · ", "$text-muted")]
    parts.append((f"{running} running", "$text-muted"))
    return Content.assemble(*parts)


def _sums(tiles: list[Tile], room: int) -> Content:
    """The tokens and costs of all so far, and the last minute's tokens; the last of them where there is less room."""
    used = sum(tile.usage.total or 0 for tile in tiles if tile.usage is not None)
    recent = sum(tile.recent for tile in tiles)
    cost = sum((tile.cost for tile in tiles if tile.cost is not None), Tally())
    facts = [f"{format_count(used)} tokens" if used else "", cost_fact(cost) if used else ""]
    facts.append(f"+{format_count(recent)} a minute" if recent else "")
    facts = list(filter(None, facts))
    while facts and width_of(" · ".join(facts)) > room:
        del facts[0]
    return Content.styled(" · ".join(facts), "$text-muted")

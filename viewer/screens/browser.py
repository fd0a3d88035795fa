"""The list of sessions to choose from. What is typed goes to the filter."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static
from textual.worker import Worker, get_current_worker

from renderers.facts import plural
from schemas.clean import one_line
from schemas.paths import source_of
from viewer.output import short_path
from viewer.screens.background import aside
from viewer.screens.bindings import bindings
from viewer.usage.costs import load, summary_costs
from viewer.widgets.chrome import KeyFooter, TitleBar
from viewer.widgets.preview import NO_COSTS, Costs, Preview
from viewer.widgets.rows import Shelf
from viewer.widgets.sessions import SessionList

if TYPE_CHECKING:
    from viewer.index.library import Library
    from viewer.index.summary import Summary
    from viewer.screens.app import TurnlogApp

WATCH_SECONDS = 2.0
"""How often the sessions in sight are looked at, whether they grow."""
FIRST = 200
"""So many sessions are enough for the first picture; the others follow when it stands."""
PRICE_SECONDS = 0.15
"""How long the cursor rests on a session before it is priced."""
SHARE = 5
"""While sessions come in, the list is idle so many times as long as it takes to show them: 100,000 take a while."""
LOOK_SECONDS = 15.0
"""How often new sessions are looked for; less often where looking takes long."""


class Filter(Input, inherit_bindings=False):
    """The line that takes what is typed; every key that edits no text is the list's."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "cursor_left", show=False),
        Binding("right", "cursor_right", show=False),
        Binding("ctrl+left", "cursor_left_word", show=False),
        Binding("ctrl+right", "cursor_right_word", show=False),
        Binding("ctrl+a", "home", show=False),
        Binding("backspace", "delete_left", show=False),
        Binding("delete,ctrl+d", "delete_right", show=False),
        Binding("ctrl+w,ctrl+backspace", "delete_left_word", show=False),
        Binding("ctrl+u", "delete_left_all", show=False),
        Binding("ctrl+k", "delete_right_all", show=False),
        Binding("ctrl+v", "paste", show=False),
    ]


class BrowserScreen(Screen[None]):
    """The sessions of a library, with a preview of the one under the cursor."""

    CSS_PATH = "browser.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("list")]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def __init__(
        self,
        library: Library,
        start_directory: Path,
        clock: Callable[[], float] = time.time,
        known: list[Summary] | None = None,
        word: str = "",
    ) -> None:
        """`word` stands beside the program's name: which sessions these are, if not the machine's."""
        super().__init__()
        self._clock = clock
        self._word = word
        self._library = library
        self._directory = start_directory
        self._shelf = Shelf(start_directory)
        self._here_first = True
        self._costs: dict[Path, tuple[int, Costs]] = {}
        """What sessions cost that were looked at, and when they had been written last by then."""
        self._indexed: tuple[int, int] | None = None
        self._looked = self._looking = False
        self._known, self._show_after = -1, 0.0
        self._next_look: Timer | None = None
        # Few widgets: each one costs a few milliseconds before the first picture. They are kept, since a thread that
        # is still looking for sessions may come back when the screen is being taken apart.
        self._list = SessionList(start_directory, clock)
        self._filter = Filter(placeholder="type to filter", compact=True, select_on_focus=False)
        self._preview = Preview()
        self._content = Horizontal(id="content")
        known = library.first(start_directory, FIRST) if known is None else known
        self._complete = len(known) < FIRST
        self._shelf.replace(known)
        self._bar = TitleBar(self._title(), self._counts())

    def compose(self) -> ComposeResult:
        """Title, filter, list and preview, keys."""
        yield self._bar
        yield self._filter
        with self._content:
            yield self._list
            yield self._preview
        yield KeyFooter("list")

    def on_mount(self) -> None:
        """Show what the index knows, then look whether it is still so."""
        self._show()
        self._filter.focus()
        # The first picture must be on its way to the terminal before a thread competes with it.
        self.set_timer(0.1, self._look)
        self.set_interval(WATCH_SECONDS, self._watch)

    @property
    def _app(self) -> TurnlogApp:
        return cast("TurnlogApp", self.app)

    # -- what is shown ---------------------------------------------------------------------------------------------

    def _title(self) -> Content:
        name = f"turnlog {self._word}".rstrip()
        return Content.assemble((name, "bold $accent"), "   ", (short_path(self._directory), "$text-muted"))

    def _counts(self) -> Content:
        sessions = self._shelf.sessions()
        if not self._complete or not (sessions or self._looked):
            return Content("")
        live = sum(session.live for session in sessions)
        agents = len({session.provider for session in sessions})
        text = f"{plural(len(sessions), 'session')} · {plural(agents, 'agent')}"
        if self._indexed is not None and (total := self._indexed[1]):
            text = f"reading {self._indexed[0] * 100 // total} %   {text}"
        if not live:
            return Content.styled(text, "$text-muted")
        return Content.assemble(("●", "$success"), (f" {live} live · {text}", "$text-muted"))

    def _show(self, *, to_top: bool = False) -> None:
        """Fill the list from the shelf, the filter and the scope."""
        begun = time.monotonic()
        words = self._filter.value
        rows = self._shelf.rows(words, self._clock(), here_first=self._here_first)
        self._list.show(rows, to_top=to_top)
        self._bar.right = self._counts()
        self._show_emptiness(words, bool(rows))
        now = time.monotonic()
        self._show_after = now + SHARE * (now - begun)

    def _show_emptiness(self, words: str, filled: bool) -> None:
        """Words instead of an empty list."""
        self._content.display = filled
        empty = self.query("#empty")
        if filled:
            empty.remove()
            return
        if len(self._shelf) and self._complete:
            text = Content.assemble(("Nothing fits ", "$text-muted"), words, ("   esc clears", "$text-muted"))
        elif not self._looked:
            text = Content.styled("Looking for sessions …", "$text-muted")
        else:
            text = self._nothing_found()
        if empty:
            empty.first(Static).update(text)
        elif self._content.is_attached:
            self.mount(Static(text, id="empty", markup=False), after=self._content)

    def _nothing_found(self) -> Content:
        """No sessions at all: say where they were looked for, and what can be done."""
        places = [short_path(place.location.path) for place in self._library.found.places]
        lines = [Content("No sessions on this machine yet.\n\n"), Content.styled("Looked in\n", "$text-muted")]
        lines += [Content(f"  {place}\n") for place in places]
        lines += [
            Content("\n"),
            Content.assemble(("turnlog demo", "bold $accent"), ("  shows what it is like\n", "$text-muted")),
            Content.assemble(("turnlog doctor", "bold $accent"), ("  says more about where it looks", "$text-muted")),
        ]
        return Content("").join(lines)

    @on(SessionList.Moved)
    def _session_moved(self, event: SessionList.Moved) -> None:
        summary = event.summary
        if summary is None:
            self._preview.show(None)
            return
        state, costs = self._costs.get(summary.path, (0, NO_COSTS))
        self._preview.show(summary, costs)
        if state != summary.touched_ns and self._preview.display:
            self._price(summary)

    @work(exclusive=True, group="price")
    async def _price(self, summary: Summary) -> None:
        """Price a session a moment later, so that no key waits for it."""
        await asyncio.sleep(PRICE_SECONDS)
        costs = await asyncio.to_thread(self._costs_of, summary)
        self._costs[summary.path] = (summary.touched_ns, costs)
        if self._list.current is summary:
            self._preview.show(summary, costs)

    def _costs_of(self, summary: Summary) -> Costs:
        load()
        return summary_costs(summary, self._library.responses_of(summary))

    @on(Input.Changed)
    def _filter_typed(self) -> None:
        self._show(to_top=True)

    # -- what changes on disk --------------------------------------------------------------------------------------

    @work(group="look")
    async def _look(self) -> None:
        """Bring the library up to date in a thread, which quitting does not wait for."""
        if self._looking:
            return
        self._looking, begun = True, time.monotonic()
        try:
            await aside(partial(self._refresh, get_current_worker()))
        except OSError as error:  # a disk that fails: what is known stays, and it is looked again
            self._app.say(one_line(str(error)), title="Cannot look for sessions", bad=True)
        finally:
            self._looking = False
        self._looked_through(time.monotonic() - begun)

    def _refresh(self, worker: Worker[None]) -> None:
        """Bring the index up to date, in a thread: batches go to the list as they come."""

        def progress(done: int, total: int) -> None:
            self._indexed = (done, total)

        if not self._complete:
            self.app.call_from_thread(self._take_all, self._library.cached())
        news = False
        for batch in self._library.refresh(progress):
            if worker.is_cancelled:
                return
            news = True
            self.app.call_from_thread(self._take, batch)
        summaries = self._library.all()
        if news or len(summaries) != self._known:  # or some are gone
            self.app.call_from_thread(self._take_all, summaries)

    def _take_all(self, summaries: list[Summary]) -> None:
        """All that the index knows."""
        self._complete, self._known = True, len(summaries)
        self._shelf.replace(summaries)
        self._show()

    def _take(self, batch: list[Summary]) -> None:
        self._shelf.add(batch)
        if time.monotonic() >= self._show_after:
            self._show()

    def _looked_through(self, seconds: float) -> None:
        """Everything is known; some time later it is looked again."""
        self._indexed, self._looked = None, True
        self._show()
        self._set_next_look(max(LOOK_SECONDS, 30 * seconds))

    def _set_next_look(self, seconds: float) -> None:
        if self._next_look is not None:  # what was asked for by key was out of turn
            self._next_look.stop()
        self._next_look = self.set_timer(seconds, self._look_again)

    def _look_again(self) -> None:
        if self.is_current:
            self._look()
        else:
            self._set_next_look(LOOK_SECONDS)

    async def _watch(self) -> None:
        """See whether the sessions in sight are growing. A slow disk must not hold the keys up, hence the thread."""
        if not self.is_current:
            return
        sessions = self._list.in_sight()
        times = await asyncio.to_thread(_modified, [session.path for session in sessions])
        for session, modified in zip(sessions, times, strict=True):
            if modified > session.touched_ns:
                session.touched_ns = modified
                if session.newest is None:  # it tells no time, but was seen to be written
                    session.newest = modified / 1e9
        self._list.refresh()
        self._bar.right = self._counts()

    # -- keys ------------------------------------------------------------------------------------------------------

    def action_cursor_down(self) -> None:
        self._list.move(1)

    def action_cursor_up(self) -> None:
        self._list.move(-1)

    def action_page_down(self) -> None:
        self._list.page(1)

    def action_page_up(self) -> None:
        self._list.page(-1)

    def action_top(self) -> None:
        self._list.first()

    def action_bottom(self) -> None:
        self._list.last()

    def action_open(self) -> None:
        """Open the session under the cursor."""
        self._open(self._list.current)

    def action_follow(self) -> None:
        """Open the session under the cursor at its end and follow it."""
        self._open(self._list.current, follow=True)

    @on(SessionList.Chosen)
    def _session_chosen(self, event: SessionList.Chosen) -> None:
        self._open(event.summary)

    def _open(self, summary: Summary | None, *, follow: bool = False) -> None:
        if summary is not None:
            self._app.open_session(summary.path, follow=follow)

    def action_scope(self) -> None:
        """Show the start directory's sessions first, or all by age."""
        self._here_first = not self._here_first
        self._show()

    def action_export(self) -> None:
        """Write the session under the cursor as Markdown."""
        if summary := self._list.current:
            self._app.export_path(summary.path)

    def action_resume(self) -> None:
        """Show and copy the command that resumes the session under the cursor."""
        if summary := self._list.current:
            self._app.resume_path(summary.path)

    def action_reload(self) -> None:
        """Look for sessions again."""
        self._look()

    def action_clear(self) -> None:
        """Clear the filter."""
        self._filter.value = ""

    def action_help(self) -> None:
        """Show the keys."""
        self._app.show_help("list")

    def action_palette(self) -> None:
        """Show all commands."""
        self.app.action_command_palette()


def _modified(paths: list[Path]) -> list[int]:
    """Return the time at which each file was written last, in nanoseconds; 0 for one that is gone."""
    times = []
    for path in paths:
        try:
            times.append(os.stat(source_of(path)[0]).st_mtime_ns)
        except OSError:
            times.append(0)
    return times

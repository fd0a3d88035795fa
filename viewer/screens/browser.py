"""The list of sessions to choose from. What is typed goes to the filter."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, Static
from textual.worker import Worker, get_current_worker

from renderers.facts import plural
from schemas.clean import one_line
from schemas.paths import source_of
from schemas.values import text_of
from viewer.output import short_path
from viewer.screens.filter import Filter
from viewer.screens.program import aside, program
from viewer.usage.costs import NO_COSTS, SummaryCosts
from viewer.widgets.chrome import FacetLine, KeyFooter, TitleBar
from viewer.widgets.row_list import RowListScreen
from viewer.widgets.sessions import HERE_FIRST, ORDERS, Facets, SessionList, Shelf, passing, preview, shown

if TYPE_CHECKING:
    from schemas.costs.responses import Tally
    from viewer.index.library import Library
    from viewer.index.summary import Summary
    from viewer.screens.find import FindScreen
    from viewer.widgets.sessions import Choice

WATCH_SECONDS = 2.0
"""How often the sessions in sight are looked at, whether they grow."""
FIRST = 200
"""So many sessions are enough for the first picture; the others follow when it stands."""
PRICE_SECONDS = 0.15
"""How long the cursor rests on a session before it is priced."""
SHARE = 5
"""While sessions come in, the list is idle so many times as long as it takes to show them: 100,000 take a while."""
LOOK_SECONDS, FIND_SECONDS = 15.0, 3.0
"""How often new sessions are looked for, and what was said in them while one searches; less often where looking takes
long.
"""


class BrowserScreen(RowListScreen):
    """The sessions of a library, with a preview of the one under the cursor."""

    CSS_PATH = "browser.tcss"
    TABLE = "list"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def __init__(
        self,
        library: Library,
        start_directory: Path,
        clock: Callable[[], float] = time.time,
        known: list[Summary] | None = None,
        word: str = "",
        kept: dict[str, Any] | None = None,
    ) -> None:
        """`word` stands beside the name of the program: which sessions these are. `kept` is the list as it was left in
        the last run; it is changed when the list is left.
        """
        super().__init__()
        self._kept = {} if kept is None else kept
        kept = self._kept if self._kept.get("directory") == str(start_directory) else {}
        self._clock = clock
        self._library = library
        self._directory = start_directory
        self._shelf = Shelf(start_directory)
        self._facets = Facets.from_json(kept.get("facets"))
        self._order = order if (order := text_of(kept.get("order"))) in ORDERS else HERE_FIRST
        self._costs = SummaryCosts(library)
        self._pricing = ""
        self._indexed: tuple[int, int] | None = None
        self._looked = self._looking = self._news = False
        self._finds_later = False
        """Whether to search for what was typed when all titles are read, if none has it."""
        self._known, self._show_after = -1, 0.0
        self._next_look: Timer | None = None
        self._find: FindScreen | None = None
        # Few widgets: each one costs a few milliseconds before the first picture. They are kept, since a thread that
        # is still looking for sessions may come back when the screen is being taken apart.
        self._typed, place = text_of(kept.get("filter")), text_of(kept.get("place"))
        place_in_list = Path(place) if place else None
        self._list = SessionList(start_directory, clock, self._cost_of, place_in_list, self._new_in)
        self._filter = Filter("type to filter", {"/": "screen.find", "q": "screen.stay"})
        self._back = False
        """Whether one has just come back to the list."""
        self._narrowed = FacetLine()
        self._preview = Static(id="preview", markup=False)
        self._content = Horizontal(id="content")
        known = library.first(start_directory, FIRST) if known is None else known
        self._complete = len(known) < FIRST
        self._shelf.replace(known)
        title = f"turnlog {word}".rstrip(), "bold $accent"
        self._bar = TitleBar(
            Content.assemble(title, "   ", (short_path(start_directory), "$text-muted")), self._counts()
        )

    def compose(self) -> ComposeResult:
        yield self._bar
        with Horizontal(id="filter-line"):
            yield self._filter
            yield self._narrowed
        with self._content:
            yield self._list
            yield self._preview
        yield KeyFooter()

    def on_mount(self) -> None:
        """Show what the index knows, then look whether it is still so."""
        with self._filter.prevent(Input.Changed):  # which begins at the top
            self._filter.value = self._filter.settled = self._typed
            self._filter.select_all()  # what one types takes the place of what was kept
            self._typed = ""
        self._show()
        self._filter.focus()
        # The first picture must be on its way to the terminal before a thread competes with it.
        self.set_timer(0.1, self._look)
        self.set_interval(WATCH_SECONDS, self._watch)

    def on_screen_suspend(self) -> None:
        """Note that one leaves the list, with the filter as it is."""
        self._back, self._filter.settled = not isinstance(self.app.screen, ModalScreen), self._filter.value
        self._show_narrowed()

    def on_unmount(self) -> None:
        """Keep the list as it is."""
        place = self._list.current
        self._kept.update(
            directory=str(self._directory),
            filter=self._filter.value,
            facets=self._facets._asdict(),
            order=self._order,
            place=str(place.path) if place else "",
        )

    # -- what is shown ---------------------------------------------------------------------------------------------

    def _counts(self) -> Content:
        sessions = self._shelf.unsorted()
        if not self._complete or not (sessions or self._looked):
            return Content("")
        live = sum(session.live for session in sessions)
        agents = len({session.provider for session in sessions})
        text = f"{plural(len(sessions), 'session')} · {plural(agents, 'agent')}"
        text = self._reading() + self._pricing + text
        if not live:
            return Content.styled(text, "$text-muted")
        return Content.assemble(("●", "$success"), (f" {live} live · {text}", "$text-muted"))

    def _reading(self) -> str:
        """Say that sessions are being looked for where none was known, or how much has been read of what is new."""
        if self._indexed is None and not (self._looked or self._known):
            return "looking …   "
        if self._indexed is None or not self._indexed[1]:
            return ""
        return f"reading {self._indexed[0] * 100 // self._indexed[1]} %   "

    def _show(self, *, to_top: bool = False) -> None:
        """Fill the list from the shelf, the filter and the scope."""
        begun = time.monotonic()
        words = self._filter.value
        fit = passing(self._facets, self._clock(), self._cost_of)
        rows = self._shelf.rows(words, self._clock(), self._order, fit.values(), self._cost_of)
        self._list.show(rows, self._order, to_top=to_top)
        self._show_narrowed()
        self._bar.right = self._counts()
        self._show_emptiness(words, bool(rows))
        now = time.monotonic()
        self._show_after = now + SHARE * (now - begun)

    def _show_narrowed(self) -> None:
        words = self._filter.value
        kept = [("clear", "esc clears", True)] if words and words == self._filter.settled else []
        order = "order", ORDERS[self._order].label, self._order != HERE_FIRST
        self._narrowed.show([*kept, *self._facets.labels(), order])

    def _show_emptiness(self, words: str, filled: bool) -> None:
        """Words instead of an empty list."""
        self._content.display = filled
        empty = self.query("#empty")
        if filled:
            empty.remove()
            return
        if len(self._shelf) and self._complete and (self._reading() or not self._looked):
            more = f"{words}   {'enter searches all sessions   ' if words else ''}esc clears"
            text = Content.styled(f"Nothing fits yet: sessions are being read   {more}", "$text-muted")
        elif len(self._shelf) and self._complete:
            narrowed = "" if self._facets == Facets() else "   of what the list is narrowed to" if words else " that"
            text = Content.assemble(
                ("Nothing fits ", "$text-muted"),
                words,
                (f"{narrowed}   {'enter searches all sessions   ' if words else ''}esc clears", "$text-muted"),
            )
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
    def _session_moved(self) -> None:
        self._show_preview()
        self._price()

    def _show_preview(self) -> None:
        current = self._list.current
        self._preview.update(preview(current, self._costs.of(current) or NO_COSTS) if current else Content(""))

    def _cost_of(self, summary: Summary) -> Tally | None:
        costs = self._costs.of(summary)
        return costs[0] if costs else None

    def _new_in(self, summary: Summary) -> int:
        return program(self).state.new_in(summary.path, summary.messages)

    # -- what sessions cost ----------------------------------------------------------------------------------------

    @on(SessionList.Scrolled)
    @work(exclusive=True, group="price")
    async def _price(self) -> None:
        """Price what can be seen of sessions, a moment later, so that no key waits for it: the one under the cursor,
        those in sight where costs are shown, all where the list depends on them.
        """
        await asyncio.sleep(PRICE_SECONDS)
        current = self._list.current if self._preview.display else None
        in_sight = (
            self._list.in_sight() if any(c.name == "cost" for c in shown(self._list.size.width, self._order)) else []
        )
        while due := self._costs.due([*([current] if current else ()), *in_sight]):
            await self._price_some(due)
            self._list.refresh()
            self._show_preview()
        if self._order != "cost" and not self._facets.cost:
            return
        sessions, shown_at = self._shelf.sessions(), time.monotonic()
        while due := self._costs.due(sessions):
            self._pricing = f"pricing {100 - 100 * len(due) // len(sessions)} %   "
            self._bar.right = self._counts()
            await self._price_some(due)
            if time.monotonic() > shown_at + WATCH_SECONDS:
                shown_at = time.monotonic()
                self._show(to_top=self._list.at_top)
        if self._pricing:
            self._pricing = ""
            self._show(to_top=self._list.at_top)

    async def _price_some(self, due: list[Summary]) -> None:
        await aside(partial(self._costs.work_out, due, PRICE_SECONDS))

    @on(Input.Changed)
    def _filter_typed(self) -> None:
        self._back, self._filter.settled = False, ""
        self._show(to_top=True)
        # A word that no title has may be in the sessions. Not while one takes letters back.
        words, before = self._filter.value, self._typed
        self._typed, self._finds_later = words, self._finds_later and words == before
        if len(words) > len(before):
            self._filter.call_later(self._find_typed)

    def _find_typed(self) -> None:
        """Search for what was typed where it leaves nothing, once the filter has taken all keys that came by now: those
        to come are the search's. Not before all titles are read, which may have it.
        """
        self._finds_later = bool(self._reading())
        if self._filter.message_queue_size:
            self._filter.call_later(self._find_typed)
        elif self.is_current and self._is_filtered_away and self._facets == Facets() and not self._finds_later:
            self.action_find(self._filter.value)

    @property
    def _is_filtered_away(self) -> bool:
        """Tell whether there are sessions, and what was typed leaves none."""
        return self._complete and bool(len(self._shelf) and self._filter.value) and self._list.current is None

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
            program(self).say(one_line(str(error)), title="Cannot look for sessions", bad=True)
        finally:
            self._looking = False
        self._looked_through(time.monotonic() - begun)
        if self._news and self._find is not None:
            self._find.look_again()

    def _refresh(self, worker: Worker[None]) -> None:
        """Bring the index up to date, in a thread: batches go to the list as they come."""

        def progress(done: int, total: int) -> None:
            self._indexed = (done, total)

        if not self._complete:
            self.app.call_from_thread(self._take_all, self._library.cached())
        self._news = False
        for batch in self._library.refresh(progress):
            if worker.is_cancelled:
                return
            self._news = True
            self.app.call_from_thread(self._take, batch)
        summaries = self._library.all()
        if self._news or len(summaries) != self._known:  # or some are gone
            self.app.call_from_thread(self._take_all, summaries)

    def _take_all(self, summaries: list[Summary]) -> None:
        """All that the index knows."""
        typed_before = not self._complete and self._filter.value != self._filter.settled
        self._complete, self._known = True, len(summaries)
        self._shelf.replace(summaries)
        self._show()
        if typed_before:  # when it was not known yet whether that leaves anything
            self._find_typed()

    def _take(self, batch: list[Summary]) -> None:
        self._shelf.add(batch)
        if (current := self._list.current) is not None and any(s.file == current.file for s in batch):
            self._show_preview()  # it was found, and is read now
            self._price()
        if time.monotonic() >= self._show_after:
            self._show()
        else:
            self._list.refresh()

    def _looked_through(self, seconds: float) -> None:
        """Everything is known; some time later it is looked again."""
        self._indexed, self._looked = None, True
        self._show()
        if self._finds_later:
            self._find_typed()
        least = FIND_SECONDS if self._find is self.app.screen else LOOK_SECONDS
        self._set_next_look(max(least, 30 * seconds))

    def _set_next_look(self, seconds: float) -> None:
        if self._next_look is not None:  # what was asked for by key was out of turn
            self._next_look.stop()
        self._next_look = self.set_timer(seconds, self._look_again)

    def _look_again(self) -> None:
        if self.is_current or self._find is self.app.screen:
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

    @on(SessionList.Chosen)
    def action_open(self) -> None:
        """Open the session under the cursor; where the filter leaves none, search in all."""
        if self._is_filtered_away:
            self.action_find(self._filter.value)
        else:
            self._open()

    def action_follow(self) -> None:
        self._open(follow=True)

    def _open(self, *, follow: bool = False) -> None:
        if summary := self._list.current:
            program(self).open_session(summary.path, follow=follow)

    def action_order(self) -> None:
        names = list(ORDERS)
        self._order_by(names[(names.index(self._order) + 1) % len(names)])

    @on(SessionList.Ordered)
    def _column_clicked(self, event: SessionList.Ordered) -> None:
        self._order_by(HERE_FIRST if event.order == self._order else event.order)

    def _order_by(self, order: str) -> None:
        self._order = order
        self._show(to_top=True)
        self._price()

    def action_find(self, words: str = "") -> None:
        """Search in all sessions, as far as the list is narrowed to them."""
        from viewer.screens.find import FindScreen

        def reading() -> str:
            return self._reading() or ("" if self._looked else "looking for sessions")

        sessions, clock = self._shelf.sessions, self._clock
        self._find = FindScreen(self._library, sessions, self._facets, words, reading, clock)
        self.app.push_screen(self._find)
        if words:  # they are the search's now: no session's title has them
            self._filter.value = ""
        if self._looked:
            self._set_next_look(FIND_SECONDS / 10)  # what was said since is to be found

    def action_stay(self) -> None:
        """Say how to leave to somebody who goes back once more from the list; else `q` is a letter of the filter."""
        if self._back:
            self._back = False
            program(self).say("This is the list: ctrl+q leaves, letters filter it.")
        else:
            self._filter.insert_text_at_cursor("q")

    def action_narrow(self, facet: str = "agent") -> None:
        """Choose what to narrow the list by, or its order."""
        if facet == "clear":
            self.action_clear()
            return
        from viewer.screens.narrow import NarrowScreen
        from viewer.widgets.sessions import Choice, choices

        found = choices(self._shelf.fitting(self._filter.value), self._facets, self._clock(), self._cost_of)
        if self._costs.due(self._shelf.sessions()):  # how many cost that much is not known yet
            found = [choice._replace(sessions=None) if choice.facet == "cost" else choice for choice in found]
        found += [Choice("order", name, order.label) for name, order in ORDERS.items()]
        chosen = [*self._facets._asdict().items(), ("order", self._order)]
        self.app.push_screen(NarrowScreen(found, chosen, facet), self._chosen)

    def _chosen(self, choice: Choice | None) -> None:
        if choice is None:
            return
        if choice.facet == "order":
            self._order_by(str(choice.value))
            return
        self._facets = self._facets.toggled(choice.facet, choice.value)
        self._show(to_top=True)
        self._price()

    def action_export(self) -> None:
        if summary := self._list.current:
            program(self).read(summary.path, program(self).export_session)

    def action_resume(self) -> None:
        if summary := self._list.current:
            program(self).read(summary.path, program(self).resume_session)

    def action_diff(self) -> None:
        from viewer.screens.diff import DiffScreen

        if summary := self._list.current:
            self.app.push_screen(DiffScreen(summary.path))

    def action_mark(self) -> None:
        """Mark the session under the cursor, or take its mark away; the newest two marks stay."""
        if summary := self._list.current:
            marked = [path for path in self._list.marked if path != summary.path]
            self._list.marked = marked if summary.path in self._list.marked else [*marked, summary.path][-2:]
            self._list.move(1)
            self._list.refresh()

    def action_compare(self) -> None:
        from viewer.screens.compare import CompareScreen

        current = [self._list.current.path] if self._list.current else []
        chosen = list(dict.fromkeys([*self._list.marked, *current]))[:2]
        if self._list.marked and len(chosen) == 2:
            self.app.push_screen(CompareScreen(*chosen))
        else:
            program(self).say("Two sessions are compared: ctrl+t marks one, ctrl+x on another compares them.")

    def action_watch(self) -> None:
        from viewer.screens.watch import WatchScreen
        from viewer.watch.tiles import Watch

        self.app.push_screen(WatchScreen(Watch()))

    def action_reload(self) -> None:
        self._look()

    def action_clear(self) -> None:
        if self._filter.value:
            self._filter.value = ""
        elif self._facets != Facets():
            self._facets = Facets()
            self._show(to_top=True)


def _modified(paths: list[Path]) -> list[int]:
    """Return the time at which each file was written last, in nanoseconds; 0 for one that is gone."""
    times = []
    for path in paths:
        try:
            times.append(os.stat(source_of(path)[0]).st_mtime_ns)
        except OSError:
            times.append(0)
    return times

"""Find: a search over all sessions while one types. What is typed is the query; Enter opens a session at the hit."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from threading import Condition, Thread
from time import perf_counter
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key
from textual.message import Message
from textual.widgets import Input, Static

from renderers.facts import plural
from viewer.index.find import Answer, Find
from viewer.index.library import uncollected
from viewer.index.query import Query, parse
from viewer.screens.filter import Filter
from viewer.screens.program import program
from viewer.widgets.chrome import FacetLine, KeyFooter, StatusBar
from viewer.widgets.hits import HitList, Line
from viewer.widgets.row_list import RowListScreen

if TYPE_CHECKING:
    from viewer.index.find import Group, Hit
    from viewer.index.library import Library
    from viewer.index.summary import Summary
    from viewer.widgets.sessions import Choice, Facets

_FACETS = ("agent", "project", "since")
_AGAIN_SECONDS = 1.0
"""How often is asked again while sessions are being read."""
_LINES = 8
"""So many lines are made before they are shown."""
_HINTS = (
    ("lock migration", "both words, or parts of longer ones"),
    ('"could not obtain lock"', "words in a row"),
    ("-test", "not that"),
    ("tool:Edit  file:db/  role:you", "done with what, to what, by whom"),
    ("agent:codex  project:shop", "in which sessions; branch: too"),
    ("since:7d  before:2026-03-01", "when"),
    ("is:error", "what failed"),
)


class Asker:
    """The thread that asks. The newest query counts: one that is still at work is broken off. Lines of hits that can be
    seen come before further answers.
    """

    @dataclass
    class Answered(Message):
        """An answer to the query of that number came, so many seconds after it was asked."""

        number: int
        answer: Answer
        seconds: float

    @dataclass
    class Drawn(Message):
        """Lines of hits were made."""

        number: int
        lines: dict[Line, Hit | None]

    @dataclass
    class Failed(Message):
        """The thread ended with an error."""

        error: Exception

    def __init__(self, library: Library, post: Callable[[Message], object]) -> None:
        self._find, self._post = Find(library), post
        self._state = Condition()
        self._query, self._filling = Query(), False
        self.number = 0
        self._asked = 0.0
        self._wanted: list[tuple[Group, int]] = []
        self._closed = False
        # Textual knows by the context where a message belongs.
        Thread(target=copy_context().run, args=(self._run,), name="find", daemon=True).start()

    def ask(self, query: Query, *, filling: bool) -> None:
        """Ask something, and nothing else any more; with `filling` only of what the index holds by now."""
        with self._state:  # until it is left the thread does not begin with what is asked now
            self._query, self._filling = query, filling
            self.number, self._asked, self._wanted = self.number + 1, perf_counter(), []
            self._find.cancel()
            self._state.notify()

    def want(self, hits: list[tuple[Group, int]]) -> None:
        """Ask for the lines of hits, by their groups and numbers there, and for no others any more."""
        with self._state:
            self._wanted = hits
            self._state.notify()

    def close(self) -> None:
        """End the thread."""
        with self._state:
            self._closed = True
            self._find.cancel()
            self._state.notify()

    def _run(self) -> None:
        try:
            while not self._closed:
                self._answer()
        except Exception as error:  # noqa: BLE001 - the screen raises it: a thread would only print it
            self._post(self.Failed(error))
        finally:
            self._find.close()

    def _answer(self) -> None:
        """Answer the newest query to its end, then make lines until there is another."""
        with self._state:
            self._state.wait_for(lambda: self.number or self._closed)
            number, query, asked = self.number, self._query, self._asked
            answers = self._find.groups(query, filling=self._filling)
        while not self._is_over(number):
            if self._draw(number):
                continue
            with _in_short_pauses():
                answer = next(answers, None)
            if answer is not None and not self._is_over(number):
                self._post(self.Answered(number, answer, perf_counter() - asked))
            elif answer is None:
                with self._state:
                    self._state.wait_for(lambda: self._wanted or self._is_over(number))

    def _draw(self, number: int) -> bool:
        """Make some of the lines that are wanted; returns whether there were any."""
        with self._state:
            some, self._wanted = self._wanted[:_LINES], self._wanted[_LINES:]
        lines: dict[Line, Hit | None] = {}
        for group, hit in some:
            if self._is_over(number):
                break
            with _in_short_pauses():
                lines[group.path, hit] = next(iter(self._find.hits(group, hit, hit + 1)), None)
        if lines:
            self._post(self.Drawn(number, lines))
        return bool(some)

    def _is_over(self, number: int) -> bool:
        return self._closed or self.number != number


@contextmanager
def _in_short_pauses() -> Iterator[None]:
    """Collect garbage when something is done, and not in its midst: keys wait for a collection in any thread, and one
    of the fifty thousand objects that the app lets come together takes 30 ms.
    """
    with uncollected():
        yield
    gc.collect(0)


class FindScreen(RowListScreen):
    """The query, and what it finds."""

    CSS_PATH = "browser.tcss"
    TABLE = "find"
    AUTO_FOCUS = ""

    def __init__(
        self,
        library: Library,
        sessions: Callable[[], list[Summary]],
        facets: Facets,
        words: str = "",
        reading: Callable[[], str] = str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`sessions` are those to choose facets from, `reading` says how far the index is."""
        super().__init__()
        self._sessions, self._reading, self._clock = sessions, reading, clock
        self._facets = facets.only(_FACETS)
        self._asker = Asker(library, self.post_message)
        self._anew = True
        self._asked: str | None = None
        """What was typed when it was asked last."""
        self._opens = False
        """Whether to open the hit under the cursor as soon as it is there."""
        self._done = False
        """Whether the last answer is whole."""
        self._early = False
        """Whether there were sessions that nobody had read yet when that was asked."""
        self._problem = ""
        """What of the query cannot be meant."""
        self._took = 0.0
        """Seconds until the first answer."""
        self._bar = StatusBar(Content.assemble(("turnlog", "bold $accent"), ("   search all", "$text-muted")))
        self._box = Filter("words in any session", value=words)
        self._narrowed = FacetLine()
        self._hits = HitList(clock)
        self._remark = Static("", id="remark", markup=False)

    def compose(self) -> ComposeResult:
        yield self._bar
        with Horizontal(id="filter-line"):
            yield Static("/", id="slash", markup=False)
            yield self._box
            yield self._narrowed
        yield self._remark
        yield self._hits
        yield KeyFooter()

    def on_mount(self) -> None:
        """Ask what was typed in the list."""
        self._focus_box()
        self._narrowed.show(self._facets.labels())
        self._ask()
        self.set_interval(_AGAIN_SECONDS, self._ask_again)

    def on_unmount(self) -> None:
        self._asker.close()

    def _focus_box(self) -> None:
        """Let the box take keys itself once all that came before are in it, else it takes later ones first."""
        if self.message_queue_size:
            self.call_later(self._focus_box)
        else:
            self.set_focus(self._box)

    async def on_key(self, event: Key) -> None:
        """Take keys that come before the box has the focus."""
        if self._box.has_focus:
            return
        if event.character is not None and event.is_printable:
            self._box.insert_text_at_cursor(event.character)
            event.stop()  # else the app would pass on once more what the list's filter passed on
        else:
            await self._box._on_key(event)

    # -- asking ----------------------------------------------------------------------------------------------------

    @on(Input.Changed)
    def _typed(self) -> None:
        if self._box.value != self._asked:
            self._opens = self._opens and self._asked is None  # else other words were meant
            self._ask()

    def _ask_again(self) -> None:
        """Ask once more what was asked before all sessions were read."""
        if self._early:
            self.look_again()

    def look_again(self) -> None:
        """Ask once more: sessions have changed."""
        if self._done and self.is_current:
            self._ask(anew=False)

    def _ask(self, *, anew: bool = True) -> None:
        self._anew, self._done, self._early = anew, False, bool(self._reading())
        self._asked = self._box.value
        query = parse(f"{self._facets.query()} {self._box.value}", typing=True)
        self._problem = query.problem
        self._asker.ask(Query() if query.problem else query, filling=self._early)

    def on_asker_answered(self, event: Asker.Answered) -> None:
        if event.number != self._asker.number:
            return
        answer = event.answer
        self._hits.show(answer.groups, anew=self._anew)
        self._done = answer.done
        if self._anew:
            self._took, self._anew = event.seconds, False
        self._bar.right = Content.styled(self._counts(answer), "$text-muted")
        self._show_remark(answer)
        if self._opens:
            self.action_open()

    def on_asker_drawn(self, event: Asker.Drawn) -> None:
        if event.number == self._asker.number:
            self._hits.take(event.lines)
            if self._opens:
                self.action_open()

    def on_asker_failed(self, event: Asker.Failed) -> None:
        """Raise what the thread met."""
        raise event.error

    @on(HitList.Wanted)
    @on(HitList.Scrolled)
    def _lines_wanted(self) -> None:
        if not self._anew:  # else these are hits of a query before
            self._asker.want(self._hits.wanted())

    def _counts(self, answer: Answer) -> str:
        pieces = [self._reading().strip()] if self._early and answer.done else []
        if not answer.done:
            pieces += [answer.note, f"looking through {plural(answer.missing, 'session')} …"]
        if (self._box.value.strip() or answer.groups) and not self._problem:
            more = "+" if answer.at_least else ""
            hits = f"{answer.hits:,}{more} {'hit' if answer.hits == 1 and not more else 'hits'}"
            pieces.append(f"{hits} in {plural(len(answer.groups), 'session')} · {self._took * 1000:.0f} ms")
        return " · ".join(filter(None, pieces))

    def _show_remark(self, answer: Answer) -> None:
        """Say something where nothing is to be shown."""
        text = Content("")
        if self._problem:
            text = Content.styled(self._problem, "$warning")
        elif not self._box.value.strip() and not answer.groups:
            width = max(len(words) for words, _ in _HINTS) + 3
            lines = [Content.assemble((words.ljust(width), "$accent"), (says, "$text-muted")) for words, says in _HINTS]
            text = Content("\n").join(lines)
        elif not answer.groups:
            found = "Nothing found for " if answer.done and not self._early else "Nothing found yet for "
            text = Content.assemble((found, "$text-muted"), self._box.value)
        self._remark.update(text)
        self._remark.display = bool(text)
        self._hits.display = not text

    # -- keys ------------------------------------------------------------------------------------------------------

    @on(HitList.Chosen)
    def action_open(self) -> None:
        """Open the session under the cursor at the hit, or show more hits of it; as soon as it is found, where somebody
        has only just typed.
        """
        if self._box.value != self._asked:
            self._ask()
        self._opens = (
            self._anew or self._hits.is_awaited or (self._hits.current is None and (self._early or not self._done))
        )
        if not self._opens and not self._hits.unfold() and (current := self._hits.current) is not None:
            group, hit = current
            place = hit.place if hit is not None else ""
            words = "\n".join(group.query.words) if place else ""
            program(self).open_session(group.path, place=place, words=words)

    def action_diff(self) -> None:
        """Show what the session under the cursor changed in files, from the hit on."""
        from viewer.screens.diff import DiffScreen

        if (current := self._hits.current) is not None:
            group, hit = current
            place = hit.place if hit is not None and group.parent is None else ""
            self.app.push_screen(DiffScreen(group.parent or group.path, place))

    def action_copy_address(self) -> None:
        from viewer.transcript.clipboard import address_copy, put_on_clipboard

        if (current := self._hits.current) is not None:
            group, hit = current
            copy = address_copy(f"{group.target}{hit.place if hit else ''}")
            program(self).say(put_on_clipboard(self.app, copy, ""))

    def action_narrow(self, facet: str = "agent") -> None:
        from viewer.screens.narrow import NarrowScreen
        from viewer.widgets.sessions import choices

        found = choices(self._sessions(), self._facets, self._clock(), lambda summary: None, _FACETS)
        self.app.push_screen(NarrowScreen(found, self._facets._asdict().items(), facet), self._chosen)

    def _chosen(self, choice: Choice | None) -> None:
        if choice is not None:
            self._facets = self._facets.toggled(choice.facet, choice.value)
            self._narrowed.show(self._facets.labels())
            self._ask()

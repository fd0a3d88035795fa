"""The transcript screen: one session, read while one looks at it, followed as it grows."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from textual import on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key, Resize
from textual.screen import Screen

from renderers.facts import local_time
from renderers.places import exchange_names, find_place, place_of
from schemas.changes import Seen
from schemas.clean import one_line
from schemas.session import Change, Op, Session
from viewer.follow.clock import Hints
from viewer.follow.follower import SLICE, Follower
from viewer.screens.config_keys import Keyed, actions_by_key
from viewer.screens.figures import TOTALS_EVERY, Figures
from viewer.screens.outline import OPEN, SessionOutline
from viewer.screens.place import OpeningPlace
from viewer.screens.program import aside, back, program
from viewer.screens.subagents import Subagents
from viewer.transcript.folds import LEVELS
from viewer.transcript.replacing import replace_session
from viewer.transcript.status import PromptLine, name_line, running_exchange, state_line
from viewer.transcript.view import QUIET, TranscriptView
from viewer.widgets.chrome import KeyFooter, StatusBar, TitleBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.worker import WorkType

    from viewer.follow.family import Succession
    from viewer.follow.follower import Within
    from viewer.follow.pipe import StreamFollower
    from viewer.screens.copies import Copies
    from viewer.screens.doing import Doing
    from viewer.screens.find_bar import FindBar
    from viewer.screens.program import Opening
    from viewer.screens.state import State

_FIRST = 0.03
"""Seconds to read before the first picture."""
_SCREENFUL = 48
"""Messages that fill the first picture."""
_MANY = 1 << 30
_FLUSH = 0.1
_FRAME = 0.03
"""Seconds between pictures of a stream: words come a hundred times a second, and nobody reads so fast."""
_IDLE = 0.02
_FAMILY_EVERY = 3.0
_WIDE, _LOW = 140, 16
"""Columns from which there is room for the outline, lines below which there is none for the prompt."""
_TEXT, _OUTLINE = 160, (40, 72)
"""Columns of the text from which differences stand side by side, and those of the outline, which has what is over."""
_WATCH_EVERY = 0.5
_SOON = 0.1
"""Seconds in which most jumps are done."""
_REST = 3.0
"""Seconds without a move after which where one is is kept."""


class TranscriptScreen(Keyed, Screen[None]):
    """One session: a view of it with its figures below and, once it is asked for, a find bar. `stream` is the follower
    once more where it follows standard input, which ends. `kept` is what OpeningPlace keeps of the session.
    """

    TABLE = "transcript"
    AUTO_FOCUS = "TranscriptView"
    DEFAULT_CSS = """
    TranscriptScreen > #title { background: $surface; }
    TranscriptScreen.-low > #prompt { display: none; }
    TranscriptScreen > #reading { height: 1fr; }
    TranscriptScreen SessionOutline { display: none; border-left: solid $panel; }
    TranscriptScreen.-wide.-outline SessionOutline { display: block; }
    """

    def __init__(
        self,
        follower: Follower | Within,
        *,
        stream: StreamFollower | None = None,
        kept: dict[str, Any] | None = None,
        **how: Unpack[Opening],
    ) -> None:
        super().__init__()
        place = how.get("place", "")
        self._follower = follower
        self._stream = stream
        self._words, self._begins_with_outline = how.get("words", ""), how.get("outline", False)
        self._read_first(_MANY if place else _SCREENFUL)
        self._shown = Seen(follower.session)
        self._view = TranscriptView(follower.session, at_end=how.get("follow", False) and not place, id="transcript")
        self._prompt = PromptLine(self._view, id="prompt")
        self._status, self._keys = StatusBar(id="status"), KeyFooter(id="keys")
        self._figures = Figures(self._view, follower, self._status)
        self.subagents = Subagents(self._view, follower, how.get("above", ""))
        self._find: FindBar | None = None
        self._loose = how.get("loose", False)
        self._succession: Succession | None = None
        self._next: Path | None = None
        """The session that took this one's place."""
        self._next_at = ""
        self._hints = Hints()
        self._doing: Doing | None = None
        self._names: list[str] = []
        """What each exchange is called in a place."""
        self._last = self._rewound = 0
        """The number of the last exchange that has one, and how many are rewound."""
        self._place = OpeningPlace(self._view, place, kept)
        self._jumps = self._place.jumps
        self._stirred = asyncio.Event()
        self._took = 0.0
        """Seconds that it took to show the last changes: a long text that grows is made anew each time."""
        self._live = False
        """Whether what comes now is new, and not only being read for the first time."""

    @classmethod
    def of(cls, source: Path | Within, state: State, **how: Unpack[Opening]) -> Self:
        """The screen of the session in a file, or within that of its parent. Raises OpenError or OSError."""
        if not isinstance(source, Path):
            return cls(source, **how)
        follow = how.get("follow", False)
        follower = Follower(source, from_end=follow and not how.get("place"), wait=follow)
        return cls(follower, kept=state.of_session(source), **how)

    @property
    def session(self) -> Session:
        """The session on the screen."""
        return self._view.session

    def _say(self, text: str) -> None:
        if text:
            program(self).say(text)

    def _work(self, work: WorkType[None], group: str) -> None:
        """Begin work in place of the group's other work. Not a coroutine: one that is cancelled before it begins is
        never awaited, and Python complains at the end.
        """
        self.run_worker(work, group=group, exclusive=True)

    def _read_first(self, most: int) -> None:
        """Enough for the first picture, where that is there at once."""
        end = time.perf_counter() + _FIRST
        while (
            not self._follower.loaded
            and self._follower.ahead is None
            and len(self._follower.session.messages) < most
            and time.perf_counter() < end
        ):
            self._follower.step(SLICE)

    async def _arrive(self, *, loaded: bool = False) -> None:
        """Go to the place at which to open, and look for the words from there on, as soon as it has been read."""
        there = self._place.go()
        if self._words and (there or loaded):
            words, self._words = self._words, ""
            (await self._find_bar()).begin_with(words)
        if loaded:
            if self._place.wanted and not there:
                last = f"; its last exchange is #{self._last}" if self._last else ""
                self._say(f"There is no {self._place.wanted} in this session{last}.")
            self._place.loaded()
            if self._begins_with_outline:
                self._begins_with_outline = False
                self.action_outline()

    def shows_nothing(self) -> str:
        """Say why there is nothing to show, where the source could not be read."""
        return "" if self.session.messages else self._follower.trouble

    def compose(self) -> ComposeResult:
        yield TitleBar(id="title")
        yield self._prompt
        # A subagent's session is mostly one exchange.
        kept = {"outline": False} if self.subagents.way else program(self).state.transcript
        self._outline = SessionOutline(self._view, self._figures, kept, self._go_exchange)
        self.set_class(self._outline.is_wanted, OPEN)
        self._take_size()
        with Horizontal(id="reading"):
            yield self._view
            yield self._outline
        yield self._status
        yield self._keys

    @on(Resize)
    def _take_size(self) -> None:
        """Lay the screen out for its size: before the first picture, which Textual's breakpoints would draw twice."""
        self.set_class(self.app.size.width >= _WIDE, "-wide")
        self.set_class(self.app.size.height < _LOW, "-low")
        self._outline.styles.width = sorted((*_OUTLINE, self.app.size.width - _TEXT))[1]

    def on_mount(self) -> None:
        self._show_facts()
        self._figures.show()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        if self.session.lineage.parent is None and self._stream is None:  # no session takes a subagent's place
            from viewer.follow.family import Succession

            self._succession = Succession(self.session, loose=self._loose)
        self._work(self._read, "read")
        self._work(self._idle, "idle")
        self._work(self._figures.price, "price")
        self._work(self._outline.keep, "outline")

    async def on_unmount(self) -> None:
        """Let go of the file, and keep where one was."""
        self._place.keep()
        if self._stream is not None:
            self._stream.spool.listen(None)
        await self._hints.close()
        if self._doing is not None:
            self._doing.close()
        self._follower.close()

    # -- reading ---------------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        """Read everything there is, then what comes, for as long as the screen is there."""
        await self._read_on()
        if reason := self.shows_nothing():
            program(self).say(reason, bad=True, seconds=60)  # the title line has room for its beginning
        self._live = True
        if self._stream is not None:
            loop = asyncio.get_running_loop()
            self._stream.spool.listen(lambda: loop.call_soon_threadsafe(self._hints.wake))
        family_at = watched_at = 0.0
        async for _ in self._hints.ticks():
            self._follower.poll()
            if changed := self._take():
                self._hints.stir()
            if not self._follower.loaded:
                await self._read_on()
            if self._stream is None:
                self._hints.watch(self._follower.sources)  # others than before, once it is another kind of source
            elif changed:
                await asyncio.sleep(max(_FRAME, 2 * self._took))
            now = time.monotonic()
            if self.session.subagents and now - family_at > _FAMILY_EVERY:
                await self._figures.count_family()
                family_at = time.monotonic()
            if now - watched_at > _WATCH_EVERY:
                await self._see_what_it_does()
                watched_at = time.monotonic()
            self._show_activity()
            if self._stream is not None and self._stream.finished:
                await self._show_end()
                return
            self._show_title()
            self._figures.show_if_due()
            self._look_for_next()

    async def _show_end(self) -> None:
        """Show that nothing more will come, and the last of the totals."""
        self._show_facts()
        await self._figures.count_family()
        while self._figures.due:
            self._figures.show()
            await asyncio.sleep(TOTALS_EVERY)

    async def _see_what_it_does(self) -> None:
        """See what a session does that is followed. One within its parent's file, or a stream, has no process of its
        own.
        """
        words = "", ""
        if self._view.following and isinstance(self._follower, Follower) and self._stream is None:
            if self._doing is None:
                await aside(partial(import_module, "viewer.screens.doing"))  # takes longer than a key may
                from viewer.screens.doing import Doing

                self._doing = Doing(self._follower)
            words = self._doing.look()
        self._figures.show_doing(words)

    def _show_activity(self) -> None:
        """Show what goes on in the exchange that is being worked on, and what the subagents did and do."""
        running = running_exchange(self.session, self._follower.live)
        said = self._figures.family.by_message(self.session)
        if self._doing is not None and self._view.following:
            said = self._doing.of_subagents(self.session, said)
        self._view.set_activity(running, said)

    def _look_for_next(self) -> None:
        """Go on with the session that takes this one's place, if its end is followed; else say that it is there."""
        if self._succession is None or self._next is not None or self.app.screen is not self:
            return
        # Nor does one take the place of a session of which nothing is there yet.
        if self.session.lineage.parent is not None or not self.session.provider:
            return
        self._succession.session = self.session
        self._next = self._succession.look()
        if self._next is None:
            return
        self._next_at = local_time(time.time())
        if self._view.following:
            self._open_next(f"{self._what_began()} at {self._next_at}; q goes back to the one before.")
        else:
            self._show_facts()

    def _what_began(self) -> str:
        from viewer.follow.family import is_twin

        twin = self._next is not None and is_twin(self.session.path, self._next)
        return "The session went on in another file" if twin else "A new session began"

    def _open_next(self, why: str = "") -> None:
        if self._next is not None and program(self).open_session(self._next, follow=True, loose=self._loose):
            self._view.following = False
            self._show_facts()
            self._say(why)

    async def _read_on(self) -> None:
        """Slices of reading, each short enough that a key need not wait; what was read is shown ten times a second."""
        if work := self._follower.ahead:
            await aside(work)
        shown = 0.0
        while not self._follower.loaded:
            await self._view.give_way()
            self._follower.step(SLICE)
            due = time.monotonic() - shown > max(_FLUSH, 4 * self._took)
            if due or self._follower.loaded or self._follower.session is not self.session:
                self._take()
                await self._arrive()
                shown = time.monotonic()
            await asyncio.sleep(0)
        self._take()
        self._show_facts()
        self._figures.show()
        await self._arrive(loaded=True)

    def _take(self) -> bool:
        """Show what was read; returns whether that was anything."""
        session, is_new = self._follower.session, self._follower.session is not self.session
        changes = self._shown.changes(session)
        if not (changes or is_new) or not self._status.is_attached:
            return False  # nothing, or the screen is going away
        begun = time.perf_counter()
        if is_new:
            self._replace(session, changes)
        else:
            of = session.messages.exchange
            messages = [change.message for change in changes if 0 <= change.message < len(of)]
            exchanges = {of[message] for message in messages}
            self._figures.changed(exchanges)  # before headers are drawn
            self._outline.changed(messages, exchanges)
        updated = [change.message for change in changes if change.op is Op.UPDATED]
        appended = [change.message for change in changes if change.op is Op.APPENDED]
        if self._find is not None:
            self._find.session_changed(updated, appended)
        if updated or is_new:
            self._names = []  # an exchange that is rewound now has none
        # Of a stream all is new: what comes while a person looks on is not set apart.
        watched = self._stream is not None and self._view.following
        if self._live and appended and not watched:
            self._place.unread.came(appended[0])
        if updated or appended:
            self._view.session_changed(changes)
        self._show_facts()
        self._figures.show()
        self._took = time.perf_counter() - begun
        return True

    def _replace(self, session: Session, changes: list[Change]) -> None:
        """Show a session that takes the place of the one before: the same one, written or read anew."""
        self._figures.begin(session)  # before headers are drawn
        anew = Change(Op.RESTARTED) in changes
        moves = replace_session(self._view, session)
        self._work(partial(self._view.in_slices, self._view.settle()), "settle")
        self._figures.follow(moves)
        self._outline.replaced(moves)
        if self._find is not None:
            self._find.follow(moves, anew=anew)

    async def _idle(self) -> None:
        """Draw ahead and colour the code on the screen, when no key has come for a moment; some seconds later, keep
        where one is: a program that is killed keeps nothing.
        """
        while True:
            if not await self._stirs(_REST) and self._follower.loaded:
                self._place.keep()
                program(self).state.save()
            await self._stirred.wait()
            self._stirred.clear()
            await asyncio.sleep(_IDLE)
            for _ in self._view.draw_ahead():
                await asyncio.sleep(0)
                if self._stirred.is_set():
                    break
            await self._stirs(QUIET)
            while not self._stirred.is_set() and (wanted := self._view.wanted):
                await self._view.in_slices(self._view.look.highlights.work(wanted[0]))
                self._view.blocks.forget_wanting(wanted[0])
                self._view.show()

    async def _stirs(self, seconds: float) -> bool:
        """Wait until something moves, so long at most; returns whether something did."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stirred.wait(), seconds)
        return self._stirred.is_set()

    # -- what is said around it ------------------------------------------------------------------------------------

    @on(TranscriptView.Moved)
    def _moved(self) -> None:
        self._stirred.set()
        self._show_facts()

    def on_key(self, event: Key) -> None:
        """A person is here. The letter of a mark is taken before keys are."""
        self._view.touch()
        self.workers.cancel_group(self, "jump")
        if self._view.at_end:
            self._place.unread.caught_up = True
        if not self._view.has_focus:
            return
        action = actions_by_key("transcript", program(self).keymap).get(event.key, "")
        answer = self._jumps.takes(event.key, action)
        if answer is not None:
            event.stop()
            self.app.call_later(self._answer_mark, answer)

    def _answer_mark(self, answer: Callable[[], str]) -> None:
        self._say(answer())
        self._show_position()

    def _show_facts(self) -> None:
        """Show how the session stands, and where one is in it."""
        self._show_title()
        self._show_position()

    def _show_title(self) -> None:
        """The title line, which may change though no message does: a title can come by itself."""
        if not self._status.is_attached:  # not made yet, or going away
            return
        news = f"{self._what_began()} at {self._next_at}" if self._next is not None else ""
        problem = "file is gone" if self._follower.missing else self._follower.trouble
        ended = None if self._stream is None else self._stream.finished
        bar = self.query_one("#title", TitleBar)
        name = one_line(name_line(self.session), 200)
        bar.left = Content.assemble((self.subagents.way, "$text-muted"), (name, "bold"))
        bar.right = state_line(self.session, problem, news, ended, self._view.following, self._follower.live)

    def _show_position(self) -> None:
        """Show where one is in the session."""
        if not self._status.is_attached:
            return
        session, view = self.session, self._view
        pieces: list[str] = []
        if asks := self._jumps.asked():
            pieces.append(asks)
        if view.folds.chosen:
            pieces.append(LEVELS[view.folds.level][0])
        if not self._follower.loaded:
            awaited = self._place.awaited
            pieces.append(f"reading on to {awaited} …" if awaited else "reading …")
        if len(self._names) != len(session.exchanges):  # walked once, not with every key
            self._names = exchange_names(session)
            self._last = max((int(name) for name in self._names if name.isdecimal()), default=0)
            self._rewound = sum(exchange.rewound for exchange in session.exchanges)
        rewound = f" ({self._rewound} rewound)" if self._rewound else ""
        if session.exchanges and self._has_cursor():
            index = session.messages.exchange[view.cursor.block]
            place, name = place_of(session, view.cursor.block, self._names), self._exchange_name(index)
            if name != f"exchange {place[1:]}":
                pieces.append(place)
            pieces.append(f"{name} of {self._last}{rewound}" if name.startswith("exchange ") else name)
        if session.exchanges:
            pieces.append("end" if view.at_end else f"{view.percent} %")
        self._status.right = Content.styled(" · ".join(pieces), "$text-muted")
        self._prompt.show(self._names)
        self._outline.moved()
        self._keys.also = ("subagent",) if self.subagents.is_here else ()

    # -- moving ----------------------------------------------------------------------------------------------------

    def action_go(self, how: str, *by: int) -> None:
        """Move in the view, or fold what is under its cursor, by one of its methods."""
        getattr(self._view, how)(*by)

    def action_fold_all(self, how: str, *by: int) -> None:
        """Change the folds of all messages by one of their methods."""
        self._view.fold_all(how, *by)

    def action_top(self) -> None:
        self._jumps.leap("start", self._view.go_start)

    def action_bottom(self) -> None:
        self._jumps.leap("end", self._view.go_end)
        self._view.following = True
        self._show_facts()

    async def action_jump(self, what: str, step: int) -> None:
        """Jump to the next (or previous) message of a sort. The keys after it wait for a moment; then the next one ends
        the search.
        """
        done = asyncio.Event()
        self._work(partial(self._jump, what, step, done), "jump")
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), _SOON)

    async def _jump(self, what: str, step: int, done: asyncio.Event) -> None:
        if not await self._jumps.to(what, step):
            self._say(f"There is no {what} {'below' if step > 0 else 'above'}.")
        done.set()

    def action_return(self, step: int) -> None:
        if not self._jumps.back(step):
            self._say(f"There is no jump to go {'back from' if step < 0 else 'forward to'}.")

    def action_ask_mark(self, action: str) -> None:
        """Ask for the letter of a mark, to set it or to go there."""
        self._jumps.takes("", action)
        self._show_position()

    def action_first_unread(self) -> None:
        unread = self._view.unread
        if unread is None:
            self._say("Nothing new has come since you opened this.")
            return
        self._jumps.leap("unread", lambda: self._view.go_to(unread, -1))

    def action_follow(self) -> None:
        """Follow, or stop following; when another session took this one's place, go on with that one."""
        if self._next is not None:
            self._open_next()
            return
        self._view.following = not self._view.following
        if self._view.following:
            self._view.go_end()
        self._show_facts()

    # -- searching -------------------------------------------------------------------------------------------------

    async def action_search(self) -> None:
        """Ask what to look for. Its key has priority, so that the bar is there before the next key is given out; in
        the bar it is a letter like others.
        """
        if self.focused not in (None, self._view):
            raise SkipAction
        self._jumps.asks = ""
        # Waited for, so that the next letters go there and do not fold or move anything.
        (await self._find_bar()).ask()

    async def _find_bar(self) -> FindBar:
        from viewer.screens.find_bar import FindBar

        if self._find is None:
            self._find = FindBar(self._view, self._jumps)
            await self.mount(self._find, before=self._status)
        return self._find

    def action_search_again(self, step: int) -> None:
        if self._find is None or not self._find.again(step):
            self._say("Nothing is looked for; / begins a search.")

    def on_find_bar_ended(self) -> None:
        """Take the find bar away; nothing moves."""
        if self._find is not None:
            self._find.end()
            self._find = None
            self.set_focus(self._view)

    # -- copying and looking things up -----------------------------------------------------------------------------

    def action_copy(self, what: str) -> None:
        """Copy what is under the cursor, or was copied last, by one of the methods of Copies."""
        if what == "as_it_is" or self._has_cursor():
            getattr(self._copies, what)()

    @cached_property
    def _copies(self) -> Copies:
        from viewer.screens.copies import Copies

        return Copies(self._view, self._exchange_name)

    def _exchange_name(self, index: int) -> str:
        """Name an exchange: `exchange 3`, or what it is where it has no number."""
        exchange = self.session.exchanges[index]
        if exchange.opener is None:
            return exchange.prompt or "before the first prompt"
        name = exchange_names(self.session)[index] if len(self._names) <= index else self._names[index]
        if name.isdecimal():
            return f"exchange {name}"
        return "rewound exchange" if exchange.rewound else "inherited exchange"

    def _has_cursor(self) -> bool:
        return self._view.cursor.block < len(self.session.messages)

    def action_raw(self) -> None:
        from viewer.screens.records import raw_screen

        if self._has_cursor():
            self.app.push_screen(raw_screen(self.session, self._view.cursor.block))

    def action_why(self) -> None:
        if self._has_cursor():
            self.app.push_screen(self._figures.why(self._view.cursor.block))

    def action_diff(self) -> None:
        """Show what the session changed in files, from the block under the cursor on."""
        from viewer.screens.diff import DiffScreen

        place = place_of(self.session, self._view.cursor.block) if self._has_cursor() else ""
        within = None if isinstance(self._follower, Follower) else self.session
        self.app.push_screen(DiffScreen(self.session.path, place, self._go_to_place, within))

    def action_image(self) -> None:
        from renderers.names import export_tail
        from viewer.screens.image import ImageScreen

        images = self.session.message(self._view.cursor.block).images if self._has_cursor() else []
        if recorded := [image for image in images if image.data]:
            self.app.push_screen(ImageScreen(recorded, f"image-{export_tail(self.session)}-{self._view.cursor.block}"))
        else:
            named = "Of the image only its name is recorded." if images else "The block under the cursor has no image."
            self._say(named)

    def _go_to_place(self, place: str) -> None:
        """Go to a place in the session."""
        if (found := find_place(self.session, place)) is not None:
            self._jumps.leap("place", partial(self._view.open_at, found[1]))

    def action_subagent(self) -> None:
        self.subagents.open_here()

    def action_outline(self) -> None:
        if self.session.exchanges and self._has_cursor():
            self._outline.ask()

    def action_outline_beside(self) -> None:
        self._outline.toggle()

    def _go_exchange(self, exchange: int) -> None:
        if exchange < len(self.session.exchanges):
            self._jumps.leap("outline", partial(self._view.go_to, self.session.exchanges[exchange].start))

    def action_export(self) -> None:
        program(self).export_session(self.session, self._view.cursor.block)

    def action_save(self) -> None:
        program(self).save_stream(self.session)

    def action_resume(self) -> None:
        program(self).resume_session(self.session)

    async def action_back(self) -> None:
        await back(self)

    def action_end_search(self) -> None:
        """End the search, else drop what is selected, else go back; never leave the program."""
        if self._find is not None:
            self.on_find_bar_ended()
        elif self.selections:
            self.clear_selection()
        elif len(self.app.screen_stack) > 1:
            self.dismiss()

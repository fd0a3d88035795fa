"""The line in which one types what to look for, the search behind it, and the marks on what it finds. Imported when
somebody searches: the first picture does not need it.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Key, Resize
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, Static

from renderers.terminal.folds import Fold
from renderers.terminal.rows import Row
from schemas.changes import Moves
from schemas.clean import one_line
from viewer.follow.follower import SLICE
from viewer.index.matching import search_key
from viewer.screens.config_keys import Keyed, actions_by_key, effective, key_name
from viewer.screens.filter import Line
from viewer.screens.program import program
from viewer.transcript.drawn import Drawn, Overlay, overlaid
from viewer.transcript.find import ALL_LINES, Finder, Stretch, matches
from viewer.transcript.jumps import Jumps
from viewer.transcript.layout import Position
from viewer.transcript.select import MARK_CELLS
from viewer.transcript.view import TranscriptView

if TYPE_CHECKING:
    from textual.worker import WorkType

    from schemas.changes import Moves

_KEPT = 100
_HINT = {"search_next": "next", "search_previous": "previous", "end_search": "ends"}
"""What is said of the keys that go on from here."""
_FEW = 20
"""So many messages that changed or came are searched at once."""


_MARKED = 200
"""Messages of which it is kept where their matches stand."""


class Hits:
    """Marks in a view what is looked for, and goes there."""

    def __init__(self, view: TranscriptView) -> None:
        self._view = view
        self.sought = ""
        """What is looked for, as a `search_key`."""
        self.hit: tuple[int, int, int] | None = None
        """The match that was gone to: its message, the line in it, and which of the message's matches it is, from 0."""
        self._marks: dict[int, tuple[Drawn, dict[int, list[tuple[int, int, int]]]]] = {}
        """Where the matches of messages stand: by row, start and end on the screen, and their number from 0."""

    def look_for(self, key: str) -> None:
        """Mark what matches this `search_key` from now on; "" marks nothing."""
        self.sought, self.hit = key, None
        self._marks.clear()
        self._view.mark_hits = self._marked if key else None
        self._view.show()

    def follow(self, moves: Moves) -> None:
        """Stay at the match in the session that took the other one's place."""
        block = None if self.hit is None else moves.find(self.hit[0])
        self.hit = None if self.hit is None or block is None else (block, *self.hit[1:])
        self._marks.clear()

    def go(self, finder: Finder, start: Position, step: int, *, inclusive: bool = False) -> bool:
        """Go to the place after (or before) the one that was gone to, if `start` is still there, else after that line;
        with `inclusive`, to one on that line too. What hides it is opened. Returns whether one is known: while all is
        searched, another may yet be found before it.
        """
        hits = finder.hits
        if not hits:
            return False
        if start.block in finder.counts:
            ordinal = self._beside(start, step, finder.counts[start.block], inclusive)
            if ordinal is not None:
                self._show(start.block, ordinal)
                return True
        others = [i for i in hits if (i > start.block if step > 0 else i < start.block)] or hits
        block = others[0] if step > 0 else others[-1]
        if not finder.done and not (step > 0 and (inclusive or block > start.block) and finder.is_next(block)):
            return False
        self._show(block, 0 if step > 0 else finder.counts[block] - 1)
        return True

    def _beside(self, start: Position, step: int, count: int, inclusive: bool) -> int | None:
        """Return the place of the message under `start` that comes next; None where none does."""
        line = start.line
        if self.hit is not None and self.hit[:2] == start and not inclusive:
            ordinal = self.hit[2] + step
            return ordinal if 0 <= ordinal < count else None
        lines = [place[0].row for place in matches(self._whole(start.block).block.rows, self.sought)]
        if step > 0:
            return next((n for n, row in enumerate(lines) if row > line or (inclusive and row == line)), None)
        return next((n for n in reversed(range(len(lines))) if lines[n] < line), None)

    def _whole(self, block: int) -> Drawn:
        """A message as it is when it is open and nothing of it left out."""
        drawn = self._view.blocks.get(block, Fold.FULL)
        if drawn.block.more:
            self._view.blocks.extend(block, ALL_LINES)
            self._view.layout_of.forget_height(block)
            drawn = self._view.blocks.get(block, Fold.FULL)
        return drawn

    def _show(self, block: int, ordinal: int) -> None:
        """Go to a place of a message; it is opened unless the line can be seen as it is."""
        if self._view.folds.fold(block) is Fold.HIDDEN:
            self._view.open_exchange(self._view.session.messages.exchange[block])
        rows = self._whole(block).block.rows
        places = matches(rows, self.sought)
        place = places[min(ordinal, len(places) - 1)] if places else [Stretch(0, 0, 0)]
        shown = self._view.block(block).block.rows if self._view.folds.fold(block) > Fold.HIDDEN else []
        last = place[-1].row + 1
        if len(shown) < last or any(_own(a) != _own(b) for a, b in zip(shown[:last], rows, strict=False)):
            self._view.folds.blocks[block] = Fold.FULL
            self._view.layout_of.refold(range(block, block + 1))
            self._view.measure(block)
        self.hit = (block, place[0].row, ordinal)
        self._view.visit(block, place[0].row)

    def _marked(self, strip: Strip, block: int, drawn: Drawn, line: int, look: Overlay) -> Strip:
        """A line with the matches on it marked, the one that was gone to in a colour of its own."""
        known = self._marks.get(block)
        if known is None or known[0] is not drawn:
            if len(self._marks) > _MARKED:
                self._marks.clear()
            spans: dict[int, list[tuple[int, int, int]]] = {}
            for ordinal, place in enumerate(matches(drawn.block.rows, self.sought)):
                for row, start, end in place:
                    spans.setdefault(row, []).append((start + MARK_CELLS, end + MARK_CELLS, ordinal))
            known = self._marks[block] = drawn, spans
        here = known[1].get(line, [])
        at = self.hit[2] if self.hit is not None and self.hit[0] == block else None
        strip = overlaid(strip, [(start, end) for start, end, n in here if n != at], look.match)
        return overlaid(strip, [(start, end) for start, end, n in here if n == at], look.found)


def _own(row: Row) -> str:
    """Return a row's text behind its glyph, which says only whether it is open."""
    return row.text[row.gutter :]


class FindBox(Keyed, Line):
    """The input of what is looked for. The searches before it are behind the arrow keys."""

    TABLE = "words"
    history: ClassVar[list[str]] = []
    """Searches of any session, the last one last, for as long as the program runs."""

    def __init__(self, **options: Any) -> None:
        super().__init__(compact=True, select_on_focus=False, **options)
        self._at = 0
        self._typed = ""

    def ask(self) -> None:
        """Begin with an empty line."""
        self.keep()
        self._at, self._typed, self.value = len(self.history), "", ""
        self.placeholder = "↑ brings the last search back" if self.history else ""

    def keep(self) -> None:
        """Keep what was looked for."""
        if self.value.strip():
            if self.value in self.history:
                self.history.remove(self.value)
            self.history.append(self.value)
            del self.history[:-_KEPT]

    def action_recall(self, step: int) -> None:
        """The search before, or the one after, at last what was typed."""
        if self._at == len(self.history):
            self._typed = self.value
        if 0 <= self._at + step <= len(self.history):
            self._at += step
            self.value = [*self.history, self._typed][self._at]
            self.cursor_position = len(self.value)

    def action_leave(self) -> None:
        self.post_message(FindBar.Ended())

    async def action_submit(self) -> None:
        self.query_ancestor(FindBar).submit()

    async def _on_key(self, event: Key) -> None:
        """Keys behind Enter are the transcript's. As a binding it would be done once it had gone up to the app, when
        whoever types quickly has typed more.
        """
        if self.app.focused is not self:
            event.prevent_default().stop()
            self.app.post_message(Key(event.key, event.character))
        elif actions_by_key(self.TABLE, program(self).keymap).get(event.key) == "submit":
            event.prevent_default().stop()
            await self.action_submit()


class FindBar(Horizontal):
    """`/`, the words, and how many places of the transcript show them: searches while one types, and goes there."""

    DEFAULT_CSS = """
    FindBar { height: 1; padding: 0 1; }
    FindBar #find-mark { width: 2; color: $accent; }
    FindBar #find, FindBar #find:focus { width: 1fr; border: none; height: 1; padding: 0; background: $background; }
    FindBar #find-count { width: auto; color: $text-muted; }
    """

    class Ended(Message):
        """The message that nothing is looked for: the bar may go."""

    def __init__(self, view: TranscriptView, jumps: Jumps) -> None:
        super().__init__()
        self._view, self._jumps, self.hits = view, jumps, Hits(view)
        self._from = view.top, view.cursor
        self._goes = False
        """Whether the first hit is to be gone to once it is known."""
        self._steps: list[int] = []
        """Steps to other hits that are still to be done."""
        self._width = 0
        self.finder: Finder | None = None
        """The search; None until something was typed."""

    def compose(self) -> ComposeResult:
        yield Static("/", id="find-mark", markup=False)
        yield FindBox(id="find")
        yield Static("", id="find-count", markup=False)

    @property
    def box(self) -> FindBox:
        """The input in which one types."""
        return self.query_one("#find", FindBox)

    def ask(self) -> None:
        """Ask what to look for from here on."""
        self._from = self._view.top, self._view.cursor
        self._jumps.note()
        self.look_for("")
        self.box.ask()
        self.screen.set_focus(self.box)

    def begin_with(self, words: str) -> None:
        """Look for words that were asked for elsewhere, a line each. The keys stay the transcript's, and so does the
        place: a hit in the message under the cursor is gone to, and no other.
        """
        with self.box.prevent(Input.Changed):
            self.box.value = " ".join(words.split("\n"))
        self.box.keep()
        self.look_for(words, go=False)
        if self.finder is not None:
            self.finder.renew([self._from[1].block])
            if self.finder.hits:
                self._go_hit(1, inclusive=True)

    def end(self) -> None:
        """Take the bar and the marks away; nothing moves."""
        self.workers.cancel_group(self, "find")
        self.finder = None
        self.box.keep()
        self.remove()
        self.hits.look_for("")

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._look_for_typed()

    def _look_for_typed(self) -> None:
        """Look for what was typed, unless that is done: Enter may have come before the message of a change."""
        if self.finder is None or self.finder.query != self.box.value:
            self.look_for(self.box.value)

    def submit(self) -> None:
        """Go on reading at the hit."""
        self._look_for_typed()
        self.box.keep()
        self.screen.set_focus(self._view)
        if self.hits.sought:
            self._show_count()
        else:
            self.post_message(self.Ended())

    def on_resize(self, event: Resize) -> None:
        """Search again where lines are cut elsewhere now: not when the bar has just come."""
        before, self._width = self._width, event.size.width
        if self.finder is not None and before not in (0, self._width):
            self.call_after_refresh(self._search_again)

    # -- searching -------------------------------------------------------------------------------------------------

    def look_for(self, query: str, *, go: bool = True) -> None:
        """Look for something else, from where one was when one was asked; with `go`, go to the first hit."""
        self.hits.look_for(search_key(query) if query.strip() else "")
        self.workers.cancel_group(self, "find")
        self.finder = None
        if not self.hits.sought:
            self._show_count()
            return
        self.finder = Finder(self._view.session, query, self._from[1].block, lambda: self._view.look)
        self._goes = go
        self._steps.clear()
        self._begin(self.finder)

    def _begin(self, finder: Finder) -> None:
        """Begin a search in place of the one before. Not a coroutine: one that is cancelled before it begins is never
        awaited, and Python complains at the end.
        """
        work: WorkType[None] = partial(self._search, finder)
        self.run_worker(work, group="find", exclusive=True)

    def _search_again(self) -> None:
        """Begin anew: what was found counts no more."""
        if (old := self.finder) is not None:
            self.finder = Finder(self._view.session, old.query, self._view.cursor.block, lambda: self._view.look)
            self._begin(self.finder)

    def session_changed(self, changed: list[int], new: list[int]) -> None:
        """Search messages that changed or are new."""
        finder = self.finder
        if finder is None:
            return
        if len(changed) + len(new) <= _FEW:
            finder.renew([*changed, *new])
            self._show_count()
        else:
            finder.forget(changed)
            if finder.done:
                self._begin(finder)

    def follow(self, moves: Moves, *, anew: bool) -> None:
        """Search the session that took the other one's place; all of it where it was read `anew`."""
        self.hits.follow(moves)
        top, cursor = self._from
        self._from = top._replace(block=moves.near(top.block)), cursor._replace(block=moves.near(cursor.block))
        if self.finder is not None and self.finder.done and not anew:
            self.finder.follow(moves)
        else:
            self._search_again()

    async def _search(self, finder: Finder) -> None:
        """Look at all of the session, and go to the first hit as soon as there is one, if that is still to be done."""
        await asyncio.sleep(0.05)  # the next letter may be on its way
        self._show_count()
        last = time.monotonic()
        begun = time.perf_counter()
        for _ in finder.run():
            if time.perf_counter() - begun > SLICE:
                self._go_on()
                if time.monotonic() - last > 0.2:
                    last = time.monotonic()
                    self._show_count()
                await asyncio.sleep(0)
                begun = time.perf_counter()
        self._go_on()
        if self._goes:
            self._view.top, self._view.cursor = self._from
            self._view.show()
        self._goes = False
        self._steps.clear()
        self._show_count()

    def _go_on(self) -> None:
        """Go to the first hit, if that is still to be done, and on from there as was asked, if known."""
        if self._goes:
            self._goes = not self._go_hit(1, inclusive=True)
        while not self._goes and self._steps and self._go_hit(self._steps[0]):
            del self._steps[0]

    def _go_hit(self, step: int, *, inclusive: bool = False) -> bool:
        """Go to the next (or previous) place that shows what is looked for; the search goes round at the ends."""
        finder = self.finder
        if finder is None or not finder.hits:
            return False
        start = self._from[1] if inclusive else self._view.cursor
        gone = self.hits.go(finder, start, step, inclusive=inclusive)
        self._show_count()
        return gone

    def again(self, step: int) -> bool:
        """Go to the next (or previous) hit; returns whether anything is looked for."""
        finder = self.finder
        if finder is None:
            return False
        if finder.is_outdated:  # grown since
            self._begin(finder)
        if finder.done and not finder.hits:
            program(self).say(f"{one_line(finder.query, 60)}: not found")
        else:
            self._steps.append(step)
            self._jumps.leap("search", self._go_on)
        return True

    # -- how many --------------------------------------------------------------------------------------------------

    def _show_count(self) -> None:
        """Say which of the places one is at, and how many there are; and, unless one is still typing, the keys that go
        on from there. A search may still run while the bar goes away with its screen.
        """
        keys = [key for key in effective("transcript", program(self).keymap) if key.action in _HINT]
        hint = (
            "" if self.has_focus_within else "".join(f"   {key_name(key.keys[0])} {_HINT[key.action]}" for key in keys)
        )
        for static in self.query("#find-count").results(Static):
            static.update(Content.assemble(self._count(), (hint, "$text-muted")))

    def _count(self) -> str:
        finder, hit = self.finder, self.hits.hit
        if finder is None:
            return ""
        if not finder.hits:
            return "not found" if finder.done else "searching …"
        if not finder.done:  # how many stand before this one is not known yet
            return f"{finder.total:,} …"
        if hit is not None and hit[2] < finder.counts.get(hit[0], 0):
            return f"{finder.number(hit[0], hit[2]):,} of {finder.total:,}"
        return f"{finder.total:,}"

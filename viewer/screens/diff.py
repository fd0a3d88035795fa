"""The diff screen: the files that a session changed, each with its edits, and what came of them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from renderers.facts import plural
from renderers.places import find_part
from renderers.terminal.code import Highlights, Want
from renderers.terminal.diff import diff_rows
from renderers.terminal.markdown import prose_rows
from renderers.terminal.rows import Row
from schemas.changes import Seen
from schemas.clean import one_line
from schemas.diffs import totals
from schemas.opening import OpenError
from viewer.edits.patch import patch_of
from viewer.edits.session import Changes, Command, Edit, FileChange, changes_of
from viewer.edits.words import counts, did, notes, shown_name
from viewer.follow.family import FollowSet
from viewer.follow.follower import Follower
from viewer.screens.program import aside, program
from viewer.transcript.colours import palette_of
from viewer.transcript.status import name_line
from viewer.widgets.chrome import KeyFooter, TitleBar
from viewer.widgets.row_list import RowListScreen, RowsPane, TextRow, TextRows

if TYPE_CHECKING:
    from schemas.session import Session

_AT_ONCE, _MOST_ROWS = 100, 10_000
"""Rows of a diff that are drawn at once, and in all; the patch has every line."""
_LACKS = 8
"""What a patch lacks of which so much is said; `turnlog diff --patch` says all."""
_ABOVE = 3
"""Rows that stay in sight above an edit."""
_LOOK, _REST = 1.0, 4
"""Seconds between looks whether the session grew, and the rest after working out its changes, in multiples of that."""
_SLICE = 0.05

Subject = tuple[FileChange | None, Edit | Command | None]
"""What a row is about: a file, an edit or a command in it, or a command that may have changed any file."""


class DiffScreen(RowListScreen):
    """The changes of the session at `path`, or of one `within` its parent's file. `place` is where one comes from: an
    exchange, or a message in it. `go` goes to a place in the session's transcript, above which this stands; without it
    a transcript is opened. As the session grows so does what is shown, and the cursor stays where it is.
    """

    TABLE = "diff"
    AUTO_FOCUS = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    DEFAULT_CSS = """
    DiffScreen #content { height: 1fr; layout: vertical; }
    DiffScreen TextRows { height: auto; max-height: 40%; }
    DiffScreen RowsPane { height: 1fr; width: 1fr; margin: 1 1 0 1; }
    DiffScreen.-wide #content { layout: horizontal; }
    DiffScreen.-wide TextRows { width: 40%; max-width: 52; height: 1fr; max-height: 100%; }
    DiffScreen.-wide RowsPane { margin: 0 1; }
    """

    def __init__(
        self, path: Path, place: str = "", go: Callable[[str], None] | None = None, within: Session | None = None
    ) -> None:
        super().__init__()
        self._path, self._place, self._go = path, place, go
        self._exchange = place.partition(".")[0]
        self._whole, self._busy, self._gone, self._percent, self._took = True, False, False, 0, 0.0
        self._session, self._within, self._grown = within, within, False
        self._seen = Seen(within)
        self._family: FollowSet | None = None
        self._known: dict[bool, Changes] = {}
        self._subjects: list[Subject] = []
        self._shown: FileChange | None = None
        self._made_by: list[Edit | None] = []
        """The edit behind each row of the diff."""
        self._on = _key((None, None))
        """What the cursor was on when the diff was last scrolled to it."""
        self._sought: Edit | None = None
        """The edit that comes into sight once its rows are drawn."""
        self._highlights, self._wanted = Highlights(), list[Want]()
        """Coloured code, and what of the diff on the screen waits for its colours."""
        self._bar, self._list = TitleBar(), TextRows()
        self._pane = RowsPane(lambda width: [Row([Segment("Reading …")])])
        self._pane.can_focus = False

    def compose(self) -> ComposeResult:
        yield self._bar
        with Container(id="content"):
            yield self._list
            yield self._pane
        yield KeyFooter()

    def on_mount(self) -> None:
        self.run_worker(self._bring(True))
        self._grow()
        self.set_interval(0.3, self._say_how_far)

    def on_unmount(self) -> None:
        """Let go of the files."""
        self._gone = True
        if self._family is not None:
            self._family.close()

    @work
    async def _grow(self) -> None:
        """Show the changes anew whenever the session or a subagent grew; the cursor stays on what it is on."""
        while True:
            await asyncio.sleep(_LOOK + _REST * self._took)
            if not self._known or self._busy or not self.is_current:
                continue
            if self._within is None:
                await aside(self._look)
            elif self._seen.changes(self._within):
                self._grown = True
            if self._grown and not self._busy:
                await self._bring(self._whole, anew=True)

    async def _bring(self, whole: bool, *, anew: bool = False) -> None:
        """Work out the changes, in a thread, and show them; `anew` what is shown stays where it is."""
        self._busy = True
        try:
            if self._within is not None and anew:
                self._work_out(whole, anew)  # it grows in this thread
            else:
                await aside(partial(self._work_out, whole, anew))
        except (OpenError, OSError) as error:
            self._say(one_line(str(error), 400))
            return
        self._busy, self._whole, self._percent = False, whole, 0
        before, changes = self._subject, self._changes
        self._subjects = [(None, one) for one in changes.commands]
        self._subjects[:0] = [(file, one) for file in changes.files for one in (None, *file.happened)]
        at = self._same(before) if anew else self._start()
        if anew and self._shown is not None and self._subjects and (file := self._subjects[at][0]) is not None:
            self._shown = file
            self._pane.remake(partial(self._make, file))
        self._list.show(
            [row for file in changes.files for row in _file_rows(file)] + [*map(_row, changes.commands)], at
        )
        facts = [plural(changes.changed, "file"), *("+{} -{}".format(*lines) for lines in [changes.lines] if lines)]
        facts += [f"left out: {counts(changes.left_out)}"] * bool(changes.left_out)
        facts += [f"{plural(len(changes.problems), 'subagent')} not read"] * bool(changes.problems)
        what = "changed by the session" if self._whole else f"changed in exchange {self._exchange}"
        name = one_line(name_line(self._session), 200) if self._session is not None else ""
        self._bar.left = Content.assemble((what, "bold"), "   ", (name, "$text-muted"))
        self._bar.right = Content.styled(" · ".join(facts), "$text-muted")
        if not self._subjects:
            inherited = " What it has from the session that it was forked from is not its own."
            self._say(
                "No file was changed here." + inherited * bool(self._session and self._session.lineage.forked_from)
            )

    def _work_out(self, whole: bool, anew: bool) -> None:
        began = time.monotonic()
        session = self._session = self._read()
        self._grown = False
        if anew or whole not in self._known:
            part = None if whole else find_part(session, self._exchange)
            changes = changes_of(session, part and part.messages(session))
            self._known = {**({} if anew else self._known), whole: changes}
            self._took = time.monotonic() - began

    def _read(self) -> Session:
        """Read the session to its end."""
        if self._within is not None:
            return self._within
        if self._family is None:
            follower = Follower(self._path)
            while not follower.loaded:
                follower.step(_SLICE)
                done, total = follower.progress
                self._percent = 100 * done // max(1, total)
                if self._gone:
                    follower.close()
                    raise InterruptedError  # nobody waits for it any more
            self._family = FollowSet(follower)
            self._look()
        return self._family.main.session

    def _look(self) -> None:
        """Read on, and note whether anything changed."""
        if self._family is not None and list(self._family.poll()):
            self._grown = True

    def _say_how_far(self) -> None:
        if self._busy and self._percent:
            self._say(f"Reading {self._percent} % …" if self._percent < 100 else "Following the edits …")

    def _say(self, text: str) -> None:
        """Say something in place of a diff."""
        self._pane.remake(lambda width: list(prose_rows(text, width, palette_of(self._pane).dim)))

    @property
    def _changes(self) -> Changes:
        return self._known[self._whole]

    def _same(self, before: Subject) -> int:
        """The row of what the cursor was on, else the one in its place."""
        keys = [_key(subject) for subject in self._subjects]
        return keys.index(key) if (key := _key(before)) in keys else min(self._list.current or 0, max(0, len(keys) - 1))

    def _start(self) -> int:
        """The row to begin with: that of the edit at the place, else the first one of its exchange."""
        places = [one.place if one is not None else "" for _, one in self._subjects]
        if self._place and self._place in places:
            return places.index(self._place)
        return next((i for i, place in enumerate(places) if place and place.partition(".")[0] == self._exchange), 0)

    # -- the diff --------------------------------------------------------------------------------------------------

    @on(TextRows.Moved)
    def _moved(self) -> None:
        """Show what came of the edits of the file under the cursor, from the edit under it on."""
        file, one = self._subject
        if file is self._shown and _key((file, one)) == self._on:
            return  # it has grown
        self._on = _key((file, one))
        if file is None and one is not None:
            self._say("What it did is not recorded.")
        elif file is not None and file is not self._shown:
            self._pane.remake(partial(self._make, file))
        if file is not self._shown or one is None:
            self._pane.scroll_home(animate=False)
        self._shown = file
        self._sought = one if isinstance(one, Edit) else None
        self._seek()

    def _seek(self) -> None:
        """Scroll to the edit that is sought, once its rows are there."""
        if self._sought in self._made_by and self._sought is not None:
            self._pane.scroll_to(y=max(0, self._made_by.index(self._sought) - _ABOVE), animate=False)
            self._sought = None

    @property
    def _subject(self) -> Subject:
        return (None, None) if self._list.current is None else self._subjects[self._list.current]

    def _make(self, file: FileChange, width: int) -> list[Row]:
        """Draw as much as a screen shows; the rest follows."""
        self._wanted.clear()
        self._made_by.clear()
        shown, rows = list[Row](), self._rows(file, width)
        self._draw(shown, rows, round(self._pane.scroll_offset.y) + _AT_ONCE)
        self._draw_rest(shown, rows)
        return shown

    def _draw(self, shown: list[Row], rows: Iterator[tuple[Row, Edit | None]], count: int) -> bool:
        """Draw on; tell whether there was something to draw."""
        before = len(shown)
        for row, edit in islice(rows, count):
            shown.append(row)
            self._made_by.append(edit)
        return len(shown) > before

    @work(exclusive=True, group="draw")
    async def _draw_rest(self, shown: list[Row], rows: Iterator[tuple[Row, Edit | None]]) -> None:
        """Draw on in slices, so that no key waits; then colour the code, and draw it once more."""
        while len(shown) < _MOST_ROWS and self._draw(shown, rows, _AT_ONCE):
            self._pane.grown()
            self._seek()
            await asyncio.sleep(0.01)
        if next(rows, None) is not None:
            shown.append(Row([Segment("… the rest is not shown; the patch has all of it", palette_of(self._pane).dim)]))
            self._pane.grown()
        if wanted := [want for want in self._wanted if self._highlights.needs(want)]:
            for want in wanted:
                for _ in self._highlights.work(want):
                    await asyncio.sleep(0)
            self._pane.remake()

    def _rows(self, file: FileChange, width: int) -> Iterator[tuple[Row, Edit | None]]:
        """Draw the diff, each row with the edit behind it."""
        palette = palette_of(self._pane)
        said = [(shown_name(file), palette.tool), *((note, palette.dim) for note in notes(file))]
        if not file.stages and not file.edits:
            said.append(("what came of it is not recorded", palette.dim))
        for text, style in said:
            yield from ((row, None) for row in prose_rows(text, width, style))
        for stage in file.stages:
            yield Row([]), None
            if stage.follows:
                after = prose_rows("after a change that is not recorded", width, palette.dim)
                yield from ((row, None) for row in after)
            for row in diff_rows(stage.diff, width, palette, self._highlights, self._wanted):
                yield row, stage.made_by[row.line] if row.line >= 0 else None

    # -- keys ------------------------------------------------------------------------------------------------------

    @on(TextRows.Chosen)
    def action_open(self) -> None:
        file, one = self._subject
        first = one or next(iter(file.happened if file else ()), None)
        if first is None or not first.place:
            program(self).say("No place in the session is known of it.")
        elif self._go is not None:
            self.dismiss()
            self._go(first.place)
        else:
            program(self).open_session(self._path, place=first.place)

    def action_scope(self) -> None:
        """Show the changes of the exchange under the cursor, else of the one that it was opened from; or those of the
        whole session again.
        """
        one = self._subject[1]
        if self._whole and one is not None and one.place and not self._busy:
            self._place, self._exchange = one.place, one.place.partition(".")[0]
            self._known.pop(False, None)
        if not self._exchange:
            program(self).say("It was not opened from an exchange.")
        elif not self._busy:
            self.run_worker(self._bring(not self._whole))

    def action_scroll(self, pages: float) -> None:
        self._sought = None
        self._pane.scroll_relative(y=round(pages * max(1, self._pane.size.height - 1)), animate=False)

    def _patch(self) -> tuple[str, str]:
        """The patch, and what it lacks."""
        if self._whole not in self._known:
            return "", ""
        text, lacks = patch_of(self._changes, os.getcwd())
        said = ["Not in the patch:", *(one_line(lack, 200) for lack in lacks[:_LACKS])] if lacks else []
        said += [f"and {len(lacks) - _LACKS} more"] * (len(lacks) > _LACKS)
        return text, "\n".join(said)

    def action_copy(self, as_it_is: bool) -> None:
        from viewer.transcript.clipboard import put_on_clipboard, redacted_text

        text, lacks = self._patch()
        said = [put_on_clipboard(self.app, redacted_text("the patch", text), "c", as_it_is=as_it_is)] if text else []
        if lacks:
            said.append("Not all is in the patch; what is not, e lists.")
        if said:
            program(self).say("\n".join(said))

    def action_write(self) -> None:
        text, lacks = self._patch()
        if text:
            program(self).write_file("Write the patch", "session.patch", text.encode("utf-8", "replace"), note=lacks)
        elif lacks:
            program(self).say(lacks)


def _key(subject: Subject) -> tuple[str, str, str]:
    """The name of what a row is about, the same when the session has grown."""
    file, one = subject
    return file.path if file else "", one.place if one else "", did(one) if one else ""


def _file_rows(file: FileChange) -> list[TextRow]:
    """A file, its exchanges and lines at the right, then its edits."""
    added, removed = totals(file.diffs)
    places = dict.fromkeys(one.place.partition(".")[0] for one in file.happened)
    facts = [(f"{' '.join(places)}  ", "dim")] if len(places) <= 3 else []  # more would take the name's room
    facts += [(f"+{added}", "good"), (f" -{removed}", "bad")] if file.stages else []
    said = "".join(f"  {note}" for note in notes(file))
    rows = [TextRow(((one_line(shown_name(file), 4096), "bold"), (said, "dim")), tuple(facts))]
    return [*rows, *(_row(one, "  ") for one in file.happened)]


def _row(one: Edit | Command, before: str = "") -> TextRow:
    return TextRow(((before, "text"), (one.place, "accent"), (f"  {did(one)}", "dim")))

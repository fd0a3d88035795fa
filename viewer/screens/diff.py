"""The diff screen: the files that a session changed, each with its edits, and what came of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.segment import Segment
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content

from renderers.facts import plural
from renderers.places import find_part
from renderers.terminal.code import Highlights, Want
from renderers.terminal.diff import diff_rows
from renderers.terminal.markdown import prose_rows
from renderers.terminal.rows import Row
from schemas.clean import one_line
from schemas.diffs import totals
from schemas.opening import OpenError, read_session
from viewer.edits.patch import patch_of
from viewer.edits.session import Changes, Command, Edit, FileChange, changes_of
from viewer.edits.words import by, chain, counts, notes, shown_name
from viewer.screens.background import aside
from viewer.screens.bindings import bindings
from viewer.transcript.colours import palette_of
from viewer.transcript.pane import RowsPane
from viewer.transcript.status import name_line
from viewer.widgets.chrome import KeyFooter, TitleBar
from viewer.widgets.row_list import RowListScreen
from viewer.widgets.text_rows import TextRow, TextRows

if TYPE_CHECKING:
    from schemas.session import Session

_AT_ONCE, _MOST_ROWS = 100, 10_000
"""Rows of a diff that are drawn at once, and in all; the patch has every line."""

Subject = tuple[FileChange | None, Edit | Command | None]
"""What a row is about: a file, an edit or a command in it, or a command that may have changed any file."""


class DiffScreen(RowListScreen):
    """The changes of the session at `path`, or of one `within` its parent's file. `place` is where one comes from: an
    exchange, or a message in it. `go` goes to a place in the session's transcript, above which this stands; without it
    a transcript is opened.
    """

    TABLE = "diff"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("diff")]
    AUTO_FOCUS = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
    DEFAULT_CSS = """
    DiffScreen > TitleBar { background: $surface; margin-bottom: 1; }
    DiffScreen #content { height: 1fr; layout: vertical; }
    DiffScreen TextRows { height: auto; max-height: 40%; }
    DiffScreen RowsPane { height: 1fr; width: 1fr; margin: 1 1 0 1; }
    DiffScreen.-wide #content { layout: horizontal; }
    DiffScreen.-wide TextRows { width: 40%; height: 1fr; max-height: 100%; }
    DiffScreen.-wide RowsPane { margin: 0 1; }
    """

    def __init__(
        self, path: Path, place: str = "", go: Callable[[str], None] | None = None, within: Session | None = None
    ) -> None:
        super().__init__()
        self._path, self._place, self._go = path, place, go
        self._exchange = place.partition(".")[0]
        self._whole, self._busy, self._gone, self._percent = True, False, False, 0
        self._session, self._closes = within, within is None
        self._known: dict[bool, Changes] = {}
        self._subjects: list[Subject] = []
        self._shown: FileChange | None = None
        self._highlights, self._wanted = Highlights(), list[Want]()
        """Coloured code, and what of the diff on the screen waits for its colours."""
        self._bar, self._list = TitleBar(), TextRows()
        self._pane = RowsPane(lambda width: [Row([Segment("Reading …")])])
        self._pane.can_focus = False

    def compose(self) -> ComposeResult:
        """Title, files with their edits, diff, keys."""
        yield self._bar
        with Container(id="content"):
            yield self._list
            yield self._pane
        yield KeyFooter()

    def on_mount(self) -> None:
        """Begin to read."""
        self._show(whole=True)
        self.set_interval(0.3, self._say_how_far)

    def on_unmount(self) -> None:
        """Let go of the file."""
        self._gone = True
        if self._session is not None and self._closes:
            self._session.close()

    @work
    async def _show(self, whole: bool) -> None:
        """Work out the changes, in a thread, and show them. The session on a transcript's screen grows, so it is read
        once more.
        """
        self._busy = True
        try:
            await aside(partial(self._work_out, whole))
        except (OpenError, OSError) as error:
            self._say(one_line(str(error), 400))
            return
        self._busy, self._whole = False, whole
        changes = self._changes
        self._subjects = [(None, one) for one in changes.commands]
        self._subjects[:0] = [(file, one) for file in changes.files for one in (None, *_happened(file))]
        self._list.show([row for file in changes.files for row in _file_rows(file)] + _any_rows(changes), self._start())
        added, removed = totals(diff for file in changes.files for diff in file.diffs)
        facts = [plural(len(changes.files), "file"), f"+{added} -{removed}"]
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

    def _work_out(self, whole: bool) -> None:
        session = self._session = self._session or read_session(self._path, self._count)
        if self._gone:  # while it was read
            session.close()
            return
        if whole not in self._known:
            part = None if whole else find_part(session, self._exchange)
            self._known[whole] = changes_of(session, part and part.messages(session))

    def _count(self, done: int, total: int) -> None:
        if self._gone:
            raise InterruptedError  # nobody waits for it any more
        self._percent = 100 * done // max(1, total)

    def _say_how_far(self) -> None:
        if self._busy and self._percent:
            self._say(f"Reading {self._percent} % …" if self._percent < 100 else "Following the edits …")

    def _say(self, text: str) -> None:
        """Say something in place of a diff."""
        self._pane.remake(lambda width: list(prose_rows(text, width, palette_of(self._pane).dim)))

    @property
    def _changes(self) -> Changes:
        return self._known[self._whole]

    def _start(self) -> int:
        """The row to begin with: that of the edit at the place, else the first one of its exchange."""
        places = [one.place if one is not None else "" for _, one in self._subjects]
        for i, place in enumerate(places):
            if place and place == self._place:
                return i
        return next((i for i, place in enumerate(places) if place and place.partition(".")[0] == self._exchange), 0)

    # -- the diff --------------------------------------------------------------------------------------------------

    @on(TextRows.Moved)
    def _moved(self) -> None:
        """Show what came of the edits of the file under the cursor."""
        file = self._subject[0]
        if file is not self._shown and self._subjects:
            self._shown = file
            if file is None:
                self._say("What it did is not recorded.")
            else:
                self._pane.remake(partial(self._make, file))
            self._pane.scroll_home(animate=False)

    @property
    def _subject(self) -> Subject:
        return (None, None) if self._list.current is None else self._subjects[self._list.current]

    def _make(self, file: FileChange, width: int) -> list[Row]:
        """Draw as much as a screen shows; the rest follows."""
        self._wanted.clear()
        rows = self._rows(file, width)
        shown = list(islice(rows, _AT_ONCE))
        self._draw_rest(shown, rows)
        return shown

    @work(exclusive=True, group="draw")
    async def _draw_rest(self, shown: list[Row], rows: Iterator[Row]) -> None:
        """Draw on in slices, so that no key waits; then colour the code, and draw it once more."""
        while len(shown) < _MOST_ROWS and (more := list(islice(rows, _AT_ONCE))):
            shown += more
            self._pane.grown()
            await asyncio.sleep(0.01)
        if next(rows, None) is not None:
            shown.append(Row([Segment("… the rest is not shown; the patch has all of it", palette_of(self._pane).dim)]))
            self._pane.grown()
        if wanted := [want for want in self._wanted if self._highlights.needs(want)]:
            for want in wanted:
                for _ in self._highlights.work(want):
                    await asyncio.sleep(0)
            self._pane.remake()

    def _rows(self, file: FileChange, width: int) -> Iterator[Row]:
        palette = palette_of(self._pane)
        yield from prose_rows(shown_name(file), width, palette.tool)
        for note in notes(file) + ["what came of it is not recorded"] * (not file.stages and not file.edits):
            yield from prose_rows(note, width, palette.dim)
        for stage in file.stages:
            yield Row([])
            if stage.follows:
                yield from prose_rows("after a change that is not recorded", width, palette.dim)
            yield from diff_rows(stage.diff, width, palette, self._highlights, self._wanted)

    # -- keys ------------------------------------------------------------------------------------------------------

    @on(TextRows.Chosen)
    def action_open(self) -> None:
        """Go to the edit in the transcript, of a file to its first one."""
        file, one = self._subject
        first = one or next(iter(_happened(file) if file else ()), None)
        if first is None or not first.place:
            self._app.say("No place in the session is known of it.")
        elif self._go is not None:
            self.dismiss()
            self._go(first.place)
        else:
            self._app.open_session(self._path, place=first.place)

    def action_scope(self) -> None:
        """Show the changes of the exchange under the cursor, else of the one that it was opened from; or those of the
        whole session again.
        """
        one = self._subject[1]
        if self._whole and one is not None and one.place and not self._busy:
            self._place, self._exchange = one.place, one.place.partition(".")[0]
            self._known.pop(False, None)
        if not self._exchange:
            self._app.say("It was not opened from an exchange.")
        elif not self._busy:
            self._show(not self._whole)

    def action_page_down(self) -> None:
        """A page of the diff down."""
        self._scroll(1)

    def action_page_up(self) -> None:
        """A page of the diff up."""
        self._scroll(-1)

    def action_half_down(self) -> None:
        """Half a page of the diff down."""
        self._scroll(0.5)

    def action_half_up(self) -> None:
        """Half a page of the diff up."""
        self._scroll(-0.5)

    def _scroll(self, pages: float) -> None:
        self._pane.scroll_relative(y=round(pages * max(1, self._pane.size.height - 1)), animate=False)

    def _patch(self) -> str:
        """The patch; what it lacks is said."""
        if self._whole not in self._known:
            return ""
        text, lacks = patch_of(self._changes, os.getcwd())
        if lacks:
            self._app.say("\n".join(one_line(lack, 200) for lack in lacks), title="Not in the patch")
        return text

    def action_copy(self) -> None:
        """Copy the patch, secrets replaced."""
        self._copy()

    def action_copy_as_it_is(self) -> None:
        """Copy the patch as it is."""
        self._copy(as_it_is=True)

    def _copy(self, *, as_it_is: bool = False) -> None:
        from viewer.transcript.clipboard import put_on_clipboard, redacted_text

        if text := self._patch():
            said = put_on_clipboard(self._app, redacted_text("the patch", text), "c", as_it_is=as_it_is)
            self._app.say(said)

    def action_write(self) -> None:
        """Write the patch to a file."""
        if text := self._patch():
            self._app.write_file("Write the patch", "session.patch", text.encode("utf-8", "replace"))

    def action_back(self) -> None:
        """Go back to where one came from."""
        self.dismiss()

    @property
    def _app(self) -> Any:
        """The program, by no name of its type: it knows the transcript's screen, and that knows this one."""
        return self.app


def _happened(file: FileChange) -> list[Edit | Command]:
    """The edits of a file, and what changed it otherwise, as `chain` has them."""
    return [*file.edits, *file.commands]


def _file_rows(file: FileChange) -> list[TextRow]:
    """A file, its exchanges and lines at the right, then its edits."""
    added, removed = totals(file.diffs)
    places = dict.fromkeys(one.place.partition(".")[0] for one in _happened(file))
    facts = [(f"{' '.join(places)}  ", "dim")] if len(places) <= 3 else []  # more would take the name's room
    facts += [(f"+{added}", "good"), (f" -{removed}", "bad")] if file.stages else []
    said = "".join(f"  {note}" for note in notes(file))
    rows = [TextRow(((one_line(shown_name(file), 4096), "bold"), (said, "dim")), tuple(facts))]
    for line in chain(file):
        place, _, words = line.partition("  ")
        rows.append(TextRow((("  ", "text"), (place, "accent"), (f"  {words}", "dim"))))
    return rows


def _any_rows(changes: Changes) -> list[TextRow]:
    words = "any file may be changed by"
    return [TextRow(((one.place, "accent"), (f"  {words} {by(one)}", "dim"))) for one in changes.commands]

"""The hits of a search over all sessions, grouped by session. Lines are made when they come into sight."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.message import Message
from textual.strip import Strip

from renderers.facts import format_age, plural, project_name
from viewer.widgets.row_list import RowList
from viewer.widgets.sessions import cut

if TYPE_CHECKING:
    from viewer.index.find import Group, Hit

_REST, _BLANK, _HEADING, _MORE = -4, -3, -2, -1
_FEW = 3
"""So many hits of a session are shown unless more are asked for, and so many more each time."""
_MANY = 20
_SESSIONS = 200
"""So many sessions are shown, the best first: a picture of them is made within a frame."""
_PLACE, _WHO = 9, 10
"""The cells of a hit's place and of who said it."""
_INDENT = " " * (2 + _PLACE + _WHO)
_LOUD = ("you", "agent", "title")
"""Whose words stand in full strength."""

Line = tuple[Path, int]
"""A hit: its session's address and its number there, the best first."""


class _Row(NamedTuple):
    """A row of the list: a group, and the number of a hit or what else it is."""

    group: int
    hit: int


class HitList(RowList):
    """Sessions with their hits beneath. The cursor is on a hit, or on what unfolds more of them."""

    class Wanted(Message):
        """Lines came into sight that are not made yet."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__()
        self._clock = clock
        self._groups: list[Group] = []
        self._rows: list[_Row]
        self._lines: dict[Line, Hit | None] = {}
        self._unfolded: dict[Path, int] = {}

    # -- content ---------------------------------------------------------------------------------------------------

    def show(self, groups: list[Group], *, anew: bool) -> None:
        """Show what was found; the cursor stays on its hit, unless something else is looked for now (`anew`), and
        unless nobody has moved.
        """
        self._chosen = self._chosen and not anew
        was, line = (
            self._current_line if self._chosen or (self._top and not anew) else None,
            0 if self._cursor is None else self._cursor - self._top,
        )
        if anew:
            self._lines.clear()
            self._unfolded.clear()
        else:  # of a session that changed, other hits may be the best
            same = {(one.path, one.hits, one.updated) for one in self._groups}
            same_paths = {one.path for one in groups if (one.path, one.hits, one.updated) in same}
            self._lines = {line: hit for line, hit in self._lines.items() if line[0] in same_paths}
        self._groups = groups
        self._rows = []
        for number, group in enumerate(groups[:_SESSIONS]):
            shown = self._unfolded.get(group.path, _FEW)
            shown = group.hits if group.hits <= shown + 1 else shown  # one more takes no more room than saying so
            self._rows += [_Row(number, _BLANK)] * bool(number) + [_Row(number, _HEADING)]
            self._rows += [_Row(number, hit) for hit in range(shown)]
            self._rows += [_Row(number, _MORE)] * (group.hits > shown)
        if len(groups) > _SESSIONS:
            self._rows += [_Row(_SESSIONS, _BLANK), _Row(_SESSIONS, _REST)]
        self._cursor = next((i for i, row in enumerate(self._rows) if self._line(row) == was), None) if was else None
        if self._cursor is None:
            self._cursor, line = self._next(0, 1), self._next(0, 1) or 0
        self._fit()
        self._scroll_top((self._cursor or 0) - line)
        self._keep_cursor_in_sight()
        self.refresh()
        self.post_message(self.Wanted())

    def take(self, lines: dict[Line, Hit | None]) -> None:
        """Take lines that were made; None for what is not there any more."""
        self._lines.update(lines)
        self.refresh()

    def wanted(self) -> list[tuple[Group, int]]:
        """The hits in sight, and a few around, whose lines are not made yet: their groups and numbers there."""
        around = self._rows[max(0, self._top - self._page // 2) : self._top + self._page * 3 // 2]
        sight = self._rows[self._top : self._top + self._page]
        return [
            (self._groups[row.group], row.hit)
            for row in dict.fromkeys([*sight, *around])
            if row.hit >= 0 and self._line(row) not in self._lines
        ]

    def _line(self, row: _Row) -> Line | None:
        return (self._groups[row.group].path, row.hit) if row.hit >= 0 else None

    @property
    def _current_line(self) -> Line | None:
        return None if self._cursor is None else self._line(self._rows[self._cursor])

    @property
    def current(self) -> tuple[Group, Hit | None] | None:
        """The hit under the cursor and its session; no hit where its line is not made."""
        line = self._current_line
        if line is None or self._cursor is None:
            return None
        return self._groups[self._rows[self._cursor].group], self._lines.get(line)

    @property
    def is_awaited(self) -> bool:
        """Tell whether the line under the cursor is still to be made."""
        line = self._current_line
        return line is not None and line not in self._lines

    def unfold(self) -> bool:
        """Show more hits of a session, if the cursor is on what says that there are more; returns whether it was."""
        if self._cursor is None or self._rows[self._cursor].hit != _MORE:
            return False
        at, path = self._cursor, self._groups[self._rows[self._cursor].group].path
        self._unfolded[path] = self._unfolded.get(path, _FEW) + _MANY
        self.show(self._groups, anew=False)
        self._go(at)
        return True

    def _can(self, index: int) -> bool:
        return self._rows[index].hit >= _MORE

    # -- drawing ---------------------------------------------------------------------------------------------------

    def _row(self, index: int, width: int) -> Iterable[Segment]:
        """A session, a hit, or nothing between."""
        row, dim = self._rows[index], self._styles["dim"]
        if row.hit == _BLANK:
            return []
        group = self._groups[row.group]
        if row.hit == _REST:
            return [Segment(f"and {plural(len(self._groups) - _SESSIONS, 'more session')}: add a word, or narrow", dim)]
        if row.hit == _HEADING:
            return self._heading(group, width)
        if row.hit == _MORE:
            shown = self._unfolded.get(group.path, _FEW)
            return [Segment(_INDENT), Segment(f"{plural(group.hits - shown, 'more hit')} …", dim)]
        return self._hit(self._lines.get((group.path, row.hit), ...), width)

    def _heading(self, group: Group, width: int) -> list[Segment]:
        facts = [group.provider, project_name(group.root), format_age(self._clock() - group.updated)]
        facts += ["subagent"] * (group.parent is not None) + [plural(group.hits, "hit")]
        words = " · ".join(filter(None, facts))
        words = words if cell_len(words) < width * 2 // 3 else plural(group.hits, "hit")
        room = max(8, width - cell_len(words) - 5)
        title = set_cell_size(cut(group.title or "(no title)", room), room)
        text, dim = self._styles["text"], self._styles["dim"]
        return [Segment(f"{title}  ", text + Style(bold=True)), Segment(words, dim)]

    def _hit(self, hit: Hit | ellipsis | None, width: int) -> list[Segment]:  # noqa: F821
        text, dim = self._styles["text"], self._styles["dim"]
        if hit is ... or hit is None:
            words = " …" if hit is ... else "is not there any more"
            return [Segment(_INDENT), Segment(words, dim)]
        who, style = set_cell_size(cut(hit.who, _WHO - 1), _WHO), text if hit.who in _LOUD else dim
        changed = f"  +{hit.added} -{hit.removed}" if hit.added or hit.removed else ""
        lead = [Segment("  "), Segment(set_cell_size(hit.place, _PLACE), self._styles["accent"])]
        room = max(8, width - 5 - _PLACE - _WHO - len(changed))
        snippet = self._snippet(hit.snippet, hit.spans, room, style)
        return [*lead, Segment(who, style), *snippet, Segment(changed, dim)]

    def _snippet(self, words: str, spans: list[tuple[int, int]], room: int, style: Style) -> Strip:
        """The words around what was looked for, which is marked; what would be beyond the line is moved into sight."""
        start = 0
        if spans and cell_len(words[: spans[0][1]]) > room - 1:
            start = max(0, spans[0][0] - room // 3)
            start = words.find(" ", start, spans[0][0]) + 1 or start  # at a word
        at, segments = start, [Segment("…", style)] if start else []
        for begin, end in spans:
            segments += [Segment(words[at:begin], style), Segment(words[max(at, begin) : end], self._styles["match"])]
            at = max(at, end)
        strip = Strip([*segments, Segment(words[at:], style)])
        return strip if strip.cell_length <= room else Strip([*strip.crop(0, room - 1), Segment("…", style)])

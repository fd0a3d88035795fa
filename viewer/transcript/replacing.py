"""Another session in the place of the one that a view shows: read anew, or with a history that was rewritten."""

from __future__ import annotations

from itertools import islice

from textual.geometry import Offset
from textual.selection import Selection

from renderers.terminal.folds import Fold
from schemas.changes import Moves
from schemas.session import Session
from viewer.transcript.layout import Layout, Position
from viewer.transcript.select import position_of, row_number
from viewer.transcript.view import TranscriptView

_AT_ONCE = 8
"""Chunks of a session whose heights are worked out at once, in a few milliseconds; the others are by and by."""


def replace_session(view: TranscriptView, session: Session) -> Moves:
    """Show another session. Places and folds stay with the messages to which they belonged, and what is there still
    does not move on the screen, unless it is followed and the end is shown.
    """
    moves = Moves(view.session, session)
    look, selected = view.look, view.text_selection
    anchors, cursor, row = [(0, view.top), *enumerate(view.rows)], view.cursor, view.screen_row(view.cursor)
    if row is not None:
        anchors.insert(1, (row, cursor))
    running = moves.exchange(look.running)
    subagents = {found: said for i, said in look.subagents.items() if (found := moves.find(i)) is not None}
    view.blocks.relook(running=-1 if running is None else running, subagents=subagents)
    unread = None if view.unread is None else moves.find(view.unread)
    view.session, view.folds = session, view.folds.moved(session)
    view.layout_of = Layout(session, view.folds, look.width, read_later=True)
    for _ in islice(view.layout_of.read(), _AT_ONCE):
        pass
    view.blocks = view.blocks.moved(moves)
    view.set_unread(unread, view.unread_since)
    _stand(view, moves, anchors, cursor, row or 0)
    if selected is not None:
        _select(view, moves, selected)
    if view.following:
        view.go_end()
    else:
        view.show()
    return moves


def _stand(view: TranscriptView, moves: Moves, anchors: list[tuple[int, Position]], was: Position, row: int) -> None:
    """Stay where one was, by the first of these lines (each with its row on the screen) that is still there."""
    if not view.layout_of.count:
        view.top = view.cursor = Position(0, 0)
        return
    kept = ((at, place) for at, line in anchors if (place := _found(view, moves, line)) is not None)
    if (first := next(kept, None)) is not None:
        view.top = view.beyond(first[1], -first[0])
    else:
        view.top = view.near(Position(moves.near(anchors[0][1].block), 0))
    cursor = _found(view, moves, was)
    if cursor is None and (block := moves.find(was.block)) is not None:
        cursor = view.header_over(block)
    view.cursor = view.beyond(view.top, row) if cursor is None else cursor


def _found(view: TranscriptView, moves: Moves, place: Position) -> Position | None:
    """Find a line; None if its message is gone or hidden."""
    block = moves.find(place.block)
    if block is None or view.folds.fold(block) is Fold.HIDDEN:
        return None
    view.measure(block)
    return view.layout_of.within(block, place.line)


def _select(view: TranscriptView, moves: Moves, selected: Selection) -> None:
    """Select the same again; nothing if an end of it is gone."""
    ends: list[Offset | None] = []
    for end in selected:
        place = None if end is None else _found(view, moves, position_of(end.y))
        if end is not None and place is None:
            view.screen.clear_selection()
            return
        ends.append(None if end is None or place is None else Offset(end.x, row_number(place)))
    view.screen.selections = {view: Selection(*ends)}

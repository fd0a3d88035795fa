"""Drawing ahead: what the next key will most likely show."""

from __future__ import annotations

from collections.abc import Iterator

from viewer.transcript.layout import Layout
from viewer.transcript.view import TranscriptView


def prefetch(view: TranscriptView) -> Iterator[None]:
    """Draw the pages around, the exchanges around and both ends, one message at a time. Only what is drawn is kept, no
    height is set, so nothing can move.
    """
    if not view.rows:
        return
    folds, first, last = view.folds, view.rows[0].block, view.rows[-1].block
    around_what = (
        first, last, folds.level, folds.thinking, folds.output, len(folds.blocks), len(folds.exchanges),
        view.look.width,
    )  # fmt: skip
    if around_what == view.prefetched:
        return
    # Whatever is needed of them: after a `yield` the rows may be others, and the session read anew.
    layout, exchanges = view.layout_of, view.session.exchanges
    current = view.session.messages.exchange[view.cursor.block] if view.cursor.block < layout.count else 0
    around = [exchanges[n].start for n in (current + 1, current, current - 1) if 0 <= n < len(exchanges)]
    pages = [(last, 1), *((start, 1) for start in around[:1]), (first, -1), *((start, 1) for start in around[1:])]
    for start, step in (*pages, (layout.count - 1, -1), (0, 1)):
        yield from _page(view, layout, start, step)
        if layout is not view.layout_of:
            return
    view.prefetched = around_what


def _page(view: TranscriptView, layout: Layout, start: int, step: int) -> Iterator[None]:
    rows = 0
    around = layout.next_visible if step > 0 else layout.previous_visible
    block = around(start)
    while block is not None and rows < view.height_of_page:
        rows += len(view.blocks.get(block, view.folds.fold(block)).block.rows)
        yield
        if layout is not view.layout_of:
            return
        block = around(block + step)

"""Where in text and rows something that is looked for stands. Lower case in the query means any case."""

from __future__ import annotations

from bisect import bisect_right

from renderers.terminal.rows import Row


def spans_of(text: str, sought: str) -> list[tuple[int, int]]:
    """Start and end of each match."""
    if not sought:
        return []
    if sought == sought.lower():
        lowered = text.lower()
        # lower() of some letters is longer; such text is searched as it stands, or its offsets would be wrong.
        text = lowered if len(lowered) == len(text) else text
    spans: list[tuple[int, int]] = []
    at = text.find(sought)
    while at >= 0:
        spans.append((at, at + len(sought)))
        at = text.find(sought, at + len(sought))
    return spans


def matching_rows(rows: list[Row], sought: str) -> list[int]:
    """Which rows hold a match, or its beginning: one that is wrapped is found too."""
    pieces: list[str] = []
    starts: list[int] = []
    size = 0
    for row in rows:
        joint = row.join if pieces else ""
        piece = row.text[row.gutter :]
        starts.append(size + len(joint))
        pieces.append(joint + piece)
        size += len(joint) + len(piece)
    found = [max(0, bisect_right(starts, start) - 1) for start, _ in spans_of("".join(pieces), sought)]
    return list(dict.fromkeys(found))

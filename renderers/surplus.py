"""Table rows with more cells than the heading: Markdown's rule is to drop what is too much, ours is to lose nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock


def keep_surplus_cells(parser: MarkdownIt) -> None:
    """Let the last cell of such a row hold the rest of it, bars included."""
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    from markdown_it.rules_block.table import table

    before = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    row, cells = start, 0
    for number, token in enumerate(state.tokens[before:], before):
        if token.type == "tr_open" and token.map:
            row, cells = token.map[0], 0
        elif token.type == "inline":
            cells += 1
        elif token.type == "tr_close":
            # Before it stand the last cell's inline token and its end.
            state.tokens[number - 2].content += "".join(f" | {cell}" for cell in _cells(state, row)[cells:])
    return True


def _cells(state: StateBlock, line: int) -> list[str]:
    from markdown_it.rules_block.table import escapedSplit

    cells = escapedSplit(state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]].strip())
    if cells and not cells[0]:
        del cells[0]
    if cells and not cells[-1]:
        del cells[-1]
    return [cell.strip() for cell in cells]

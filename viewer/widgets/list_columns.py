"""The columns of the list of sessions, and the orders in which its sessions stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, set_cell_size

from renderers.facts import cost_fact, format_age, format_count

if TYPE_CHECKING:
    from schemas.costs.responses import Tally
    from viewer.index.summary import Summary

CostOf = Callable[["Summary"], "Tally | None"]
"""Gives what a session cost without its subagents; None where that is not known yet."""


class Order(NamedTuple):
    """An order of the list. Without a figure its sessions stand by age, else those with the largest come first."""

    label: str
    figure: Callable[[Summary, Tally | None], float] | None = None


HERE_FIRST, NEWEST = "here", "newest"
ORDERS = {
    HERE_FIRST: Order("this directory first"),
    NEWEST: Order("newest first"),
    "tokens": Order("most tokens first", lambda s, _: (s.usage.total or 0) if s.usage else -1),
    "cost": Order("highest cost first", lambda _, cost: -1 if cost is None or cost.cost is None else cost.cost),
    "length": Order("most exchanges first", lambda s, _: s.exchanges),
}
"""By their names; the first one is where the list begins."""


class Column(NamedTuple):
    """A column right of the title."""

    name: str
    width: int
    least: int
    """The width that the list must have for it to be shown."""
    order: str
    """The order that a click on its name chooses; empty for none."""
    text: Callable[[Summary, float, Tally | None], str]
    """Its words for a session, at a time, with its cost."""


# Figures are a session's own, as `turnlog list` says them; the preview also says those with subagents.
COLUMNS = (
    Column("agent", 8, 34, "", lambda s, now, cost: s.provider),
    Column("age", 5, 24, NEWEST, lambda s, now, cost: format_age(now - s.when)),
    Column("exch.", 6, 58, "length", lambda s, now, cost: format_count(s.exchanges) if s.read else ""),
    Column(
        "tokens",
        7,
        44,
        "tokens",
        lambda s, now, cost: format_count(s.usage.total if s.usage else None) if s.read else "",
    ),
    # None is to be worked out.
    Column("cost", 8, 84, "cost", lambda s, now, cost: "" if cost is None else cost_fact(cost) or "?"),
)
_GAP = 2
"""Cells before a column of words."""


_LEAST_ORDERED = 34
"""The width from which on the column that a list is ordered by is shown, whatever width it asks for."""


def shown(width: int, order: str = "") -> list[Column]:
    """The columns for which a list has room, and the one by which it is ordered."""
    least = {order: _LEAST_ORDERED} if order else {}
    return [column for column in COLUMNS if width >= min(column.least, least.get(column.order, column.least))]


def cell(column: Column, text: str) -> str:
    """A text as wide as its column: words from the left, figures to the right."""
    if column.name == "agent":
        return " " * _GAP + set_cell_size(cut(text, column.width), column.width)
    return text.rjust(column.width)


def cells(width: int, order: str = "") -> int:
    """The cells that all shown columns fill together."""
    return sum(len(cell(column, "")) for column in shown(width, order))


def cut(text: str, width: int) -> str:
    """`text`, ending in an ellipsis if it is wider than `width` cells."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"

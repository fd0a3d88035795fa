"""The quiet lines around a screen's content: its title on top, its keys below."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len
from textual.content import Content
from textual.events import Click
from textual.reactive import reactive
from textual.widget import Widget

from viewer.bindings import effective, footer_items


class TitleBar(Widget):
    """One line: what this is on the left, facts on the right. The facts give way when there is no room for both."""

    left: reactive[Content] = reactive(Content(""))
    right: reactive[Content] = reactive(Content(""))

    def __init__(self, left: Content | None = None, right: Content | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.set_reactive(TitleBar.left, left or Content(""))
        self.set_reactive(TitleBar.right, right or Content(""))

    def render(self) -> Content:
        """Both ends of the line."""
        return both_ends(self.left, self.right, self.content_size.width)


def both_ends(left: Content, right: Content, width: int) -> Content:
    """`left` and `right` at the ends of a line; `right` goes when less than a third of the line would be left."""
    room = width - right.cell_length - 2
    if not right or room < min(left.cell_length, width // 3):
        return left.truncate(width, ellipsis=True)
    left = left.truncate(room, ellipsis=True)
    return left + Content(" " * (width - left.cell_length - right.cell_length)) + right


class KeyFooter(Widget):
    """The keys of a screen that are worth a line, made from the one table. A click on one does what it says.

    What does not fit is left out whole; the key that shows all keys always stays.
    """

    def __init__(self, screen: str, **options: Any) -> None:
        super().__init__(**options)
        self._screen_name = screen
        self._shown: list[tuple[int, int, str]] = []

    def render(self) -> Content:
        """As many keys as fit."""
        items = footer_items(effective(self._screen_name, getattr(self.app, "keymap", {})))
        room = self.content_size.width
        kept = fitting(items, room)
        parts: list[tuple[str, str] | str] = []
        self._shown = []
        at = 0
        for key, label, action in kept:
            if at:
                parts.append("   ")
                at += 3
            parts += [(key, "bold $accent"), (f" {label}", "$text-muted")]
            end = at + cell_len(key) + 1 + cell_len(label)
            self._shown.append((at, end, action))
            at = end
        return Content.assemble(*parts)

    async def on_click(self, event: Click) -> None:
        """Do what the key under the pointer does."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        for start, end, action in self._shown:
            if start <= offset.x < end:
                event.stop()
                await self.screen.run_action(action)
                return


def fitting(items: list[tuple[str, str, str]], width: int) -> list[tuple[str, str, str]]:
    """The first items that fit side by side, the help item always among them."""

    def size(item: tuple[str, str, str]) -> int:
        return cell_len(item[0]) + 1 + cell_len(item[1])

    kept = list(items)
    while kept and sum(map(size, kept)) + 3 * (len(kept) - 1) > width:
        # The last one that is not help is the least needed.
        drop = next((i for i in reversed(range(len(kept))) if kept[i][2] != "help"), 0)
        del kept[drop]
    return kept

"""The quiet lines around a screen's content: its title on top, its keys below."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from textual.content import Content
from textual.events import Click
from textual.reactive import Reactive, reactive
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

from viewer.screens.config_keys import Keyed, effective, key_name
from viewer.screens.keys import Key

_GAP = 3
"""Blank cells between two keys of a footer."""
_APART = 2
"""Blank cells between the ends of a line, at least."""
_DOT = " · "
FooterItem = tuple[Key, ...]
"""An item of a footer: a key, or two that belong together."""


class TitleBar(Widget):
    """One line: what this is on the left, facts on the right. The facts give way when there is no room for both."""

    left: reactive[Content] = reactive(Content(""))
    right: reactive[Content] = reactive(Content(""))

    def __init__(self, left: Content | None = None, right: Content | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.set_reactive(TitleBar.left, left or Content(""))
        self.set_reactive(TitleBar.right, right or Content(""))

    def render(self) -> Content:
        width = self.content_size.width
        if not self.app.native_ansi_color:
            return both_ends(self.left, self.right, width)
        # Reversed up to the edges; padding would not be.
        return Content(" ") + both_ends(self.left, self.right, width - 2) + Content(" ")


def both_ends(left: Content, right: Content, width: int) -> Content:
    """`left` and `right` at the ends of a line; `right` goes when less than a third of the line would be left."""
    room = width - right.cell_length - _APART
    if not right or room < min(left.cell_length, width // 3):
        return left.truncate(width, ellipsis=True)
    left = left.truncate(room, ellipsis=True)
    return left + Content(" " * (width - left.cell_length - right.cell_length)) + right


class StatusBar(TitleBar):
    """A line of facts at both ends."""

    def render(self) -> Content:
        """Draw as many of them as fit."""
        return both_ends(*fitting_facts(self.left, self.right, self.content_size.width), self.content_size.width)


def fitting_facts(left: Content, right: Content, width: int) -> tuple[Content, Content]:
    """Both ends of a line without the facts, ` · ` between them, for which there is no room. Nothing is cut within a
    word: on the right the first ones go, but for the last two, then on the left the last ones, but for the first, which
    is said with `…`.
    """

    def too_long() -> bool:
        return left.cell_length + right.cell_length + _APART > width

    while too_long() and right.plain.count(_DOT) > 1:
        right = right[right.plain.index(_DOT) + len(_DOT) :]
    whole, end = left, len(left.plain)
    while too_long() and (end := whole.plain.rfind(_DOT, 0, end)) > 0:
        left = whole[: end + len(_DOT)] + Content.styled("…", "$text-muted")
    return left, right


class ActionLine(Widget):
    """A line whose words do something when they are clicked: those that are `clickable`."""

    auto_links: Reactive[bool] = Reactive(False)  # they do not look like links

    @property
    def acts(self) -> Widget:
        """The one whose actions these are."""
        return self.screen

    async def on_click(self, event: Click) -> None:
        """Do what the words under the pointer do."""
        if action := event.style.meta.get("@click"):
            event.prevent_default().stop()
            await self.acts.run_action(action)


def clickable(words: str, style: str, action: str) -> Content:
    """Return words that run an action of whoever acts when they are clicked."""
    return Content.styled(words, style).stylize(Style.from_meta({"@click": action}))


class KeyFooter(ActionLine):
    """The keys that act now and are worth a line, made from the one table. A click on one does what it says.

    What does not fit is left out whole; the key that shows all keys always stays.
    """

    also: reactive[tuple[str, ...]] = reactive(())
    """Actions that do something only where one is now: their keys stand among the others meanwhile."""

    def on_mount(self) -> None:
        """Show other keys when others act: those of the part of the screen in which one types."""
        self.watch(self.screen, "focused", self._others_act, init=False)

    def _others_act(self) -> None:
        self.refresh()

    @property
    def acts(self) -> Widget:
        """The one whose keys they are."""
        return acting(self.screen)[0]

    def render(self) -> Content:
        """Draw as many keys as fit."""
        items = footer_items(effective(acting(self.screen)[1], getattr(self.app, "keymap", {})), self.also)
        return Content(" " * _GAP).join(map(item_words, fitting(items, self.content_size.width)))


def acting(screen: Screen[Any]) -> tuple[Widget, str]:
    """Return the one whose keys act, and their table: what has the focus, or the nearest around it that has one."""
    nodes = (screen.focused or screen).ancestors_with_self
    return next((node, node.TABLE) for node in nodes if isinstance(node, Widget) and isinstance(node, Keyed))


class FacetLine(ActionLine):
    """A quiet line that says what a list is narrowed by and how it is ordered; a click on it chooses something else."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.pieces: list[tuple[str, str, bool]] = []
        """Facet, words, and whether they narrow anything."""

    def show(self, pieces: list[tuple[str, str, bool]]) -> None:
        """Say other words. As wide as they are, so that the filter has the rest."""
        if pieces != self.pieces:
            self.pieces = pieces
            self.refresh(layout=True)

    def render(self) -> Content:
        """Draw them with dots between."""
        parts = (
            clickable(words, "$accent" if narrows else "$text-muted", f"narrow({facet!r})")
            for facet, words, narrows in self.pieces
        )
        return Content.styled(_DOT, "$text-muted").join(parts)


def footer_items(keys: Iterable[Key], also: Collection[str] = ()) -> list[FooterItem]:
    """Return the items of a footer, in the table's order; the keys of the actions `also` are among them."""
    items: list[FooterItem] = []
    for key in keys:
        if not key.footer and key.action not in also:
            continue
        if items and items[-1][-1].pair:
            items[-1] += (key,)
        else:
            items.append((key,))
    return items


def item_words(item: FooterItem) -> Content:
    """Return the words of an item."""
    keys = [clickable(f"{key_name(key.keys[0], short=True)} ", "bold $accent", key.call) for key in item]
    return Content("").join([*keys, clickable(item[0].pair or item[0].label, "$text-muted", item[-1].call)])


def fitting(items: list[FooterItem], width: int) -> list[FooterItem]:
    """The items that fit side by side, the help item always among them."""
    kept = list(items)
    while kept and sum(item_words(item).cell_length + _GAP for item in kept) - _GAP > width:
        # The last one of those that matter least; the key that shows all keys goes last of all.
        kept.remove(max(reversed(kept), key=lambda item: (item[0].call != "app.help", item[0].footer)))
    return kept

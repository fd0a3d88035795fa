"""The command palette: every action of the screen, by its words and with its keys."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from textual.app import SystemCommand
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider

from viewer.screens.config_keys import Keyed, effective, key_name
from viewer.screens.program import program


class Palette(CommandPalette):
    """The palette, also in a terminal that has no room for a line of its list: there Textual's (8.2.8) raises a
    KeyError when a page is turned.
    """

    DEFAULT_CSS = """
    Palette, Palette:ansi { background: $background 60%; }
    Palette > Vertical { width: 84; max-width: 100%; }
    Palette #--input { border: none; height: 3; padding: 1 0; background: $surface; }
    Palette CommandInput, Palette CommandInput:focus { border: none; height: 1; padding: 0 2; background: $surface; }
    Palette SearchIcon { display: none; }
    Palette CommandList, Palette CommandList:focus {
        border: none; background: $surface; scrollbar-size-vertical: 1;
    }
    """

    def _action_command_list(self, action: str) -> None:
        if self.query_one(CommandList).scrollable_content_region:
            super()._action_command_list(action)


class Commands(Provider):
    """The actions in the table of the screen's keys, then what the app offers everywhere."""

    def _commands(self) -> Iterator[tuple[SystemCommand, str]]:
        """Yield each command with what else it is found by."""
        table = effective(self.screen.TABLE, program(self.screen).keymap) if isinstance(self.screen, Keyed) else ()
        # What stands in the footer is what people want most.
        for key in sorted(table, key=lambda key: not key.footer):
            if key.action != "palette":
                title, names = key.help[:1].upper() + key.help[1:], " ".join(map(key_name, key.keys))
                yield SystemCommand(title, names, partial(self.screen.run_action, key.call)), f" {key.label}"
        yield from ((command, "") for command in self.app.get_system_commands(self.screen))

    async def discover(self) -> Hits:
        """Everything, while nothing is typed."""
        for command, _ in self._commands():
            yield DiscoveryHit(command.title, command.callback, help=command.help)

    async def search(self, query: str) -> Hits:
        """Return what fits the words typed, best first."""
        matcher = self.matcher(query)
        for command, label in self._commands():
            if (score := matcher.match(f"{command.title}{label}")) > 0:
                yield Hit(score, matcher.highlight(command.title), command.callback, help=command.help)

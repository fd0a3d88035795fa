"""The smallest Textual app that shows a line: what no Textual program can be faster than."""

from textual.app import App, ComposeResult
from textual.widgets import Static


class Bare(App[None]):
    """One line of text."""

    def compose(self) -> ComposeResult:
        """The line."""
        yield Static("BAREREADY", markup=False)


if __name__ == "__main__":
    Bare().run()

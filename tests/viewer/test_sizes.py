"""A terminal that is hardly there, and one that is resized: no key ends the program, and all is drawn afterwards."""

from __future__ import annotations

import pytest

from tests.viewer.transcripts import Written, lines, story
from viewer.screens.app import TurnlogApp
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView

ALL = ["question_mark", "x", "w", "D", "tab", "ctrl+p", "slash"]
"""What opens something above the transcript."""
MOVES = ["pagedown", "pageup", "end", "home", "down", "z"]


@pytest.mark.parametrize(
    ("size", "begun"),
    [((1, 1), True), ((1, 1), False), ((10, 3), True), ((10, 3), False), ((2, 50), True), ((200, 1), False)],
    ids=["1x1", "1x1 later", "10x3", "10x3 later", "2x50", "200x1 later"],
)
async def test_every_key_is_borne(size: tuple[int, int], begun: bool) -> None:
    app, screen = TurnlogApp(), TranscriptScreen(Written(story()))
    app.start_with(screen)
    async with app.run_test(size=size if begun else (80, 24)) as pilot:
        await pilot.pause()
        for key in ALL[begun::2]:  # the others where it began the other way
            await pilot.press(key)
            await pilot.resize_terminal(*size)
            await pilot.press(*MOVES)
            await pilot.resize_terminal(80, 24)
            await pilot.resize_terminal(*size)
            for _ in range(4):
                if len(app.screen_stack) > 1 or screen._find is not None:
                    await pilot.press("escape")
            assert app.screen is screen
        await pilot.resize_terminal(80, 24)
        await pilot.press("home")
        assert "prompt number 0" in lines(screen.query_one(TranscriptView))[0]

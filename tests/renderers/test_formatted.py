"""What a source made of a tool use itself (SessionData's `formattedMarkdown` and `summary`) is what is shown of it."""

from __future__ import annotations

import pytest

from renderers import html, markdown, plain
from renderers.headline import headline
from renderers.options import Include
from renderers.terminal.folds import Fold
from schemas.message import Tool
from tests.renderers.test_terminal_block import draw, texts
from tests.support import Hand


def tool(**more: object) -> Tool:
    return Tool("Grep", "search", "t", {"pattern": "needle"}, None, "raw output", **more)  # type: ignore[arg-type]


def session(formatted: str | None) -> Hand:
    hand = Hand()
    hand.prompt("go")
    hand.tool(tool(formatted=formatted))
    return hand


@pytest.mark.parametrize("renderer", [markdown, html, plain])
def test_it_stands_in_place_of_input_and_output(renderer):
    shown = "".join(renderer.render(session("Found **two** places").session, Include()))
    assert "two" in shown and "raw output" not in shown
    bare = "".join(renderer.render(session("Found **two** places").session, Include(output=False)))
    assert "two" not in bare and "raw output" not in bare
    assert "raw output" in "".join(renderer.render(session(None).session, Include()))


def test_the_screen_shows_it_too():
    rows = texts(draw(session("Found **two** places"), 1, Fold.FULL))
    assert any("Found two places" in row for row in rows) and not any("raw output" in row for row in rows)


def test_markup_in_it_is_contained():
    text = "".join(html.render(session("<script>x</script>").session, Include()))
    assert "<script>x" not in text


@pytest.mark.parametrize(
    ("summary", "formatted", "object_"),
    [
        ("Tool use: **Grep** `needle in src`", None, "needle in src"),
        ("Looks for it", "x", "Looks for it"),
        ("needle", "x", '"needle"'),
        ("Looks for it", None, '"needle"'),
    ],
)
def test_a_summary_that_was_written_to_be_shown_is_the_line(summary, formatted, object_):
    assert headline(tool(summary=summary, formatted=formatted)).object == object_

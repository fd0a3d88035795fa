"""What a source made of a tool use itself (SessionData's `formattedMarkdown` and `summary`) is what is shown of it."""

from __future__ import annotations

import pytest

from renderers import html, markdown, plain
from renderers.document import Document
from renderers.headline import headline
from renderers.options import Include
from renderers.redact import Redactor
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
    shown = "".join(renderer.render(Document(session("Found **two** places").session, Include())))
    assert "two" in shown and "raw output" not in shown
    bare = "".join(renderer.render(Document(session("Found **two** places").session, Include(output=False))))
    assert "two" not in bare and "raw output" not in bare
    assert "raw output" in "".join(renderer.render(Document(session(None).session, Include())))


def test_the_screen_shows_it_too():
    rows = texts(draw(session("Found **two** places"), 1, Fold.FULL))
    assert any("Found two places" in row for row in rows) and not any("raw output" in row for row in rows)


def test_markup_in_it_is_contained():
    text = "".join(html.render(Document(session("<script>x</script>").session, Include())))
    assert "<script>x" not in text


@pytest.mark.parametrize(
    ("summary", "formatted", "object_"),
    [
        ("Tool use: **Grep** `needle in src`", None, "needle in src"),
        ("Looks for it", "x", "Looks for it"),
        ("Looks for it", None, '"needle" · Looks for it'),
        ("needle", "x", '"needle"'),
        ("needle", None, '"needle"'),
        ('Looks for "needle"', None, 'Looks for "needle"'),
        ("Tool use: **Grep**", None, '"needle"'),
        ("two\nlines", None, '"needle" · two lines'),
    ],
)
def test_a_summary_is_part_of_the_line(summary, formatted, object_):
    assert headline(tool(summary=summary, formatted=formatted)).object == object_


def test_a_word_that_only_begins_like_the_object_does_not_stand_for_it():
    used = Tool("Bash", "shell", "t", {"command": "ls"}, None, "", summary="lsof for the lamp")
    assert headline(used).object == "ls · lsof for the lamp"


def test_the_summary_of_a_tool_that_nobody_knows_is_said_once_and_without_its_lead():
    used = Tool("frobnicate", "unknown", "t", {"x": "y"}, None, "", summary="Tool use: **frobnicate** `the lamp`")
    assert headline(used).title == "frobnicate the lamp"


COMMAND = Tool("Bash", "shell", "t", {"command": "make lamps"}, {"content": "ok"}, "ok", summary="Builds them all")


def with_tool(used: Tool) -> Hand:
    hand = Hand()
    hand.prompt("go")
    hand.tool(used)
    return hand


@pytest.mark.parametrize("renderer", [markdown, html, plain])
@pytest.mark.parametrize("output", [True, False])
def test_every_export_shows_it_with_what_it_stands_beside(renderer, output):
    shown = "".join(renderer.render(Document(with_tool(COMMAND).session, Include(output=output))))
    assert shown.count("Builds them all") == 1 and "make lamps" in shown


@pytest.mark.parametrize("fold", [Fold.LINE, Fold.SHORT, Fold.FULL])
def test_the_screen_shows_it_folded_and_open(fold):
    rows = texts(draw(with_tool(COMMAND), 1, fold))
    assert sum("Builds them all" in row for row in rows) == 1 and "make lamps" in rows[0]


@pytest.mark.parametrize(
    ("command", "summary"),
    [("make " + "lamps " * 30, "Builds them all"), ("make lamps", "Builds " + "them " * 30 + "all")],
)
def test_where_the_line_has_no_room_both_stand_below_it(command, summary):
    used = Tool("Bash", "shell", "t", {"command": command}, None, "", summary=summary)
    below = " ".join(" ".join(texts(draw(with_tool(used), 1, Fold.FULL))[1:]).split())
    assert command.strip() in below and summary in below


def test_a_command_that_the_summary_took_the_place_of_stands_below_it():
    used = Tool("Bash", "shell", "t", {"command": "make lamps"}, None, "", summary="Tool use: **Bash** Builds them")
    rows = texts(draw(with_tool(used), 1, Fold.SHORT))
    assert "Builds them" in rows[0] and any("make lamps" in row for row in rows[1:])


@pytest.mark.parametrize("renderer", [markdown, html, plain])
def test_a_long_one_is_not_cut_in_an_export(renderer):
    long = "Builds " + "lamp after lamp " * 40 + "and the last"
    used = Tool("Bash", "shell", "t", {"command": "make"}, None, "", summary=long)
    assert "and the last" in "".join(renderer.render(Document(with_tool(used).session, Include())))


def test_a_secret_in_it_is_taken_out_and_counted_wherever_it_stood():
    token = "ghp_" + "a1B2" * 9
    both = (("make", f"Builds with {token}"), (f"login {token}", f"Tool use: **Bash** `login {token}`"))
    for command, summary in both:
        redactor = Redactor()
        used = Tool("Bash", "shell", "t", {"command": command}, None, "", summary=summary)
        text = "".join(markdown.render(Document(with_tool(used).session, Include(), redactor=redactor)))
        assert token not in text
        assert redactor.count == text.count("[redacted: github token]")

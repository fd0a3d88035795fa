from __future__ import annotations

import json
import os
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.style import Style
from textual.color import Color
from textual.command import CommandPalette
from textual.theme import Theme
from textual.widgets import Input, OptionList, Static

from tests.viewer.machine import Machine
from tests.viewer.shelf import HERE, NOW, HandLibrary, summary
from tests.waiting import until
from viewer.follow.follower import Follower
from viewer.screens.app import TurnlogApp
from viewer.screens.browser import BrowserScreen
from viewer.screens.config_keys import TABLES, Config, ConfigError
from viewer.screens.dialog import HelpScreen, MessageScreen, PathPrompt
from viewer.screens.export_dialog import ExportScreen
from viewer.screens.themes import DARK, LIGHT, fitting_theme
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar, fitting, footer_items
from viewer.widgets.sessions import SessionList

HOSTILE = "Fix [/red] titles [b [@click=app.quit]x[/] \\[esc]"


def browser(*summaries, config: Config | None = None, kept: dict[str, Any] | None = None) -> TurnlogApp:
    app = TurnlogApp(config)
    library = HandLibrary(list(summaries))
    app.start_with(BrowserScreen(library, HERE, lambda: NOW, kept=kept))  # type: ignore[arg-type]
    return app


async def test_a_picture_of_the_screen_is_written_where_one_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There need be no folder for downloads."""
    monkeypatch.chdir(tmp_path)
    app = browser(summary("a"))
    async with app.run_test() as pilot:
        await pilot.press("ctrl+p")
        await pilot.press(*"screenshot")
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PathPrompt))
        await pilot.press("enter")
        await until(pilot, lambda: (tmp_path / "turnlog.svg").exists())
        picture = (tmp_path / "turnlog.svg").read_text()
        assert picture.startswith("<svg") and "Title" in picture and "screenshot" not in picture.lower()


# -- themes --------------------------------------------------------------------------------------------------------


def luminance(color: Color) -> float:
    def linear(c: int) -> float:
        part = c / 255
        return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(Color.parse(a)), luminance(Color.parse(b))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_words_and_facts_can_be_read_on_every_ground(theme) -> None:
    colours = [theme.foreground, theme.accent, theme.success, theme.warning, theme.error, theme.variables["text-muted"]]
    for ground in (theme.background, theme.surface):
        for colour in colours:
            assert contrast(colour, ground) >= 4.3, (colour, ground)
    for colour in (theme.success, theme.error):  # the words of a line that changed
        ground = Color.parse(theme.background) + Color.parse(colour).multiply_alpha(0.3)
        assert contrast(theme.foreground, ground.hex) >= 4.3, (colour, ground)


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_every_colour_is_one_of_the_256(theme) -> None:
    levels = {0, 95, 135, 175, 215, 255}
    greys = {8 + 10 * n for n in range(24)}
    named = [getattr(theme, name) for name in ("accent", "foreground", "background", "surface", "panel", "boost")]
    for text in [*named, theme.success, theme.warning, theme.error, *theme.variables.values()]:
        if text.startswith("#"):
            colour = Color.parse(text)
            parts = {colour.r, colour.g, colour.b}
            assert parts <= levels or (len(parts) == 1 and parts <= greys), text


def test_the_theme_follows_what_the_terminal_says() -> None:
    assert fitting_theme({}, "truecolor") == "turnlog-dark"
    assert fitting_theme({"COLORFGBG": "15;0"}, "256") == "turnlog-dark"
    assert fitting_theme({"COLORFGBG": "0;default;15"}, "256") == "turnlog-light"
    assert TurnlogApp(Config(theme="turnlog-light")).theme == "turnlog-light"


def test_a_theme_that_does_not_exist_is_said_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"there is no theme 'no such'; there are .*turnlog-dark") as caught:
        TurnlogApp(Config(theme="no\nsuch"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("theme", ["turnlog-dark", "turnlog-light", "nord", "ansi-dark"])
async def test_the_list_is_drawn_in_any_theme(theme: str) -> None:
    app = browser(summary("a"), config=Config(theme=theme))
    async with app.run_test(size=(140, 45)) as pilot:
        await pilot.pause()
        assert "Title a" in app.screen.query_one(SessionList).render_line(1).text
        assert app.animation_level == "none"


@pytest.mark.parametrize(
    ("environ", "theme"),
    [
        ({"TERM": "xterm-256color"}, "turnlog-dark"),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, "turnlog-light"),
        ({"TERM": "linux", "COLORTERM": "truecolor"}, "turnlog-dark"),
        *(({"TERM": term}, "turnlog-ansi") for term in ("linux", "xterm-16color", "vt100", "ansi", "screen", "dumb")),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "turnlog-ansi"),
    ],
)
def test_the_theme_fits_the_terminal(environ: dict[str, str], theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TERM", "COLORTERM", "COLORFGBG", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert TurnlogApp().theme == theme
    assert TurnlogApp(Config(theme="turnlog-light")).theme == "turnlog-light"


def styles_of(app: TurnlogApp, word: str) -> list[Style]:
    """The styles in which a word stands on the screen, as they go to the terminal."""
    strips = app.screen._compositor.render_strips()
    return [s.style for strip in strips for s in strip if word in s.text and s.style is not None]


@pytest.mark.parametrize("colourless", [False, True])
async def test_sixteen_colours_or_none_tell_things_apart(
    colourless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.delenv("COLORTERM")
    if colourless:
        monkeypatch.setenv("NO_COLOR", "1")
    path = Machine(tmp_path).session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "It shines, the lamp"])
    app = TurnlogApp()
    app.start_with(TranscriptScreen(Follower(path)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(styles_of(app, "shines")))
        await pilot.press("/", *"lamp", "enter")
        await until(pilot, lambda: len(styles := styles_of(app, "lamp")) > 3 and any(s.underline for s in styles))
        view = app.screen.query_one(TranscriptView)
        text, dim, bar = (styles_of(app, word)[0] for word in ("It shines", "search", "Claude Code"))
        assert dim.dim and not text.dim and bar.reverse and not text.reverse
        # The prompt's match is the first, so the one that was gone to.
        found, match, *_ = [
            s.style for strip in app.screen._compositor.render_strips() for s in strip if s.text == "lamp"
        ]
        assert found is not None and match is not None and found.reverse and match.reverse
        assert found != match and found.bold and found.underline and not match.underline
        view.text_select_all()
        await pilot.pause()
        assert any(style.reverse for style in styles_of(app, "Fix the"))
        colours = {c for strip in app.screen._compositor.render_strips() for s in strip if s.style is not None
                   for c in (s.style.color, s.style.bgcolor) if c is not None}  # fmt: skip
        assert all(c.is_default if colourless else (c.is_default or c.number in range(16)) for c in colours), colours


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_selected_text_can_be_read(theme: Theme) -> None:
    variables = theme.to_color_system().generate()
    background = variables["screen-selection-background"]
    for text in (
        variables["screen-selection-foreground"],
        variables["foreground"],
        variables["input-selection-foreground"],
    ):
        assert contrast(text, background) >= 4.3
        grey = (
            Color.parse(text).monochrome.hex,
            Color.parse(background).monochrome.hex,
        )  # NO_COLOR and a theme of one's own
        assert contrast(*grey) >= 4.3
    assert contrast(background, theme.background) >= 1.3


async def test_without_colour_the_cursor_can_still_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = browser(summary("a"), summary("b"))
    assert app.no_color
    async with app.run_test(size=(80, 24)):
        assert app.screen.query_one(SessionList).render_line(1).text.startswith("▌")


# -- hostile text --------------------------------------------------------------------------------------------------


async def test_markup_in_titles_stays_text_everywhere() -> None:
    app = browser(summary("a", title=HOSTILE, first_prompt=HOSTILE, last_text=HOSTILE, branch=HOSTILE))
    async with app.run_test(size=(140, 45), notifications=True) as pilot:
        assert "Fix [/red]" in app.screen.query_one(SessionList).render_line(1).text
        assert app.screen.query_one("#preview", Static).content.plain.count(HOSTILE) == 4
        app.say(HOSTILE, title=HOSTILE)
        app.say(HOSTILE, bad=True)
        await until(pilot, lambda: len(app.screen.query("Toast")) == 2)
        toasts = [str(toast.render()) for toast in app.screen.query("Toast")]
        assert len(toasts) == 2 and all(HOSTILE in toast for toast in toasts)
        from textual.content import Content

        app.push_screen(MessageScreen(HOSTILE, Content(HOSTILE)))
        await pilot.pause()
        assert isinstance(app.screen, MessageScreen)
        assert app.screen.query_one("#dialog-title", Static).content.plain == HOSTILE
        assert app.screen.query_one("#dialog-body", Static).content.plain == HOSTILE
        await pilot.press("enter")
        await pilot.press(*"[/b")
        await until(pilot, lambda: "[/b" in str(app.screen.query_one("#remark", Static).content))

    app = browser(summary("a"), kept={"directory": str(HERE), "filter": "[/b"})
    async with app.run_test() as pilot:
        await until(pilot, lambda: "[/b" in str(app.screen.query_one("#empty", Static).content))


async def test_a_file_that_is_no_session_is_said_and_the_list_stays(tmp_path: Path) -> None:
    path = tmp_path / "[b.jsonl"
    path.write_bytes(b"\0\1\2")
    app = browser(summary("a", file=str(path)))
    async with app.run_test(size=(140, 45), notifications=True) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: any("[b.jsonl" in str(toast.render()) for toast in app.screen.query("Toast")))
        assert isinstance(app.screen, BrowserScreen)


# -- export and resume ---------------------------------------------------------------------------------------------


def secret_session(tmp_path: Path, cwd: str) -> Path:
    path = tmp_path / "5e550000-0000-4000-8000-000000000001.jsonl"
    record = {
        "type": "user",
        "uuid": "u1",
        "parentUuid": None,
        "sessionId": path.stem,
        "timestamp": "2026-05-01T10:00:00.000Z",
        "cwd": cwd,
        "version": "2.1.204",
        "message": {"role": "user", "content": "use sk-ant-api03-" + "Ab3dEf6hIj9kLm2nOp5q" * 4 + "AA for it"},
    }
    path.write_text(json.dumps(record) + "\n", "utf-8")
    return path


def note(app: TurnlogApp) -> str:
    return str(app.screen.query_one("#export-note").render())


async def test_export_asks_where_writes_and_says_what_it_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = secret_session(tmp_path, f"{tmp_path}/gone")
    (tmp_path / "there.md").write_text("mine")
    app = browser(summary("a", file=str(path)))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, ExportScreen))
        box = app.screen.query_one("#path", Input)
        assert box.value.startswith("2026-05-01-") and box.value.endswith(".md")
        await until(pilot, lambda: "characters; a pull request takes 65,536" in note(app))
        box.value = "there.md"
        await pilot.press("enter")
        await until(pilot, lambda: "there.md exists already" in note(app))
        box.value = "new.md"
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query("Toast"))
        toast = str(app.screen.query_one("Toast").render())
    assert "new.md" in toast
    assert re.search(r"[1-9] secrets? replaced", toast)
    assert (tmp_path / "there.md").read_text() == "mine"
    assert "Ab3dEf6h" not in (tmp_path / "new.md").read_text()


async def test_export_into_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    app = browser(summary("a", file=str(secret_session(tmp_path, f"{tmp_path}/gone"))))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("ctrl+e")
        await until(pilot, lambda: isinstance(app.screen, ExportScreen))
        app.screen.query_one("#path", Input).value = str(tmp_path / "no" / "such.md")
        await pilot.press("enter")
        await until(pilot, lambda: app.screen.query("Toast"))
        assert "no such directory" in str(app.screen.query_one("Toast").render())


async def test_resume_shows_and_copies_the_quoted_command(tmp_path: Path) -> None:
    gone = f"{tmp_path}/gone/it's; touch PWNED [b"
    path = secret_session(tmp_path, gone)
    app = browser(summary("a", file=str(path)))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, MessageScreen))
        text = app.screen.query_one("#dialog-body", Static).content.plain
        line = text.split("\n")[0]
        assert shlex.split(line)[:4] == ["cd", "--", gone, "&&"]
        assert path.stem in line
        assert "is not there any more" in text
        assert app.clipboard == line


async def test_a_session_that_cannot_be_resumed_says_why(tmp_path: Path) -> None:
    app = browser(summary("a", file=str(secret_session(tmp_path, f"{tmp_path}/gone\nrm -rf x"))))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.screen.query("Toast") or isinstance(app.screen, MessageScreen))
        if app.screen.query("Toast"):
            assert "control character" in str(app.screen.query_one("Toast").render())
        else:
            assert "\n" not in app.clipboard


# -- the rest ------------------------------------------------------------------------------------------------------


async def test_the_command_palette_offers_every_action_and_runs_it() -> None:
    app = browser(summary("a"))
    async with app.run_test(size=(140, 45)) as pilot:
        await pilot.press("ctrl+p")
        assert isinstance(app.screen, CommandPalette)
        await pilot.press(*"this help")
        await until(pilot, lambda: app.screen.query_one(OptionList).option_count == 1)
        await pilot.press("enter")
        await until(pilot, lambda: type(app.screen).__name__ == "HelpScreen")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
async def test_a_terminal_that_goes_away_ends_the_program_in_order() -> None:
    from viewer.screens.hangup import Guard

    app = browser(summary("a"))
    assert not app.leave(1), "nobody can be asked yet"
    died: list[int] = []
    before = signal.getsignal(signal.SIGHUP)
    with Guard(app.leave, died.append):
        async with app.run_test(size=(80, 24)) as pilot:
            os.kill(os.getpid(), signal.SIGHUP)
            await until(pilot, lambda: app.return_code == 128 + signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is before


@pytest.mark.parametrize("before", [[], ["f1"], ["f1", "escape", "x"], ["enter"], ["enter", "/", "x"], ["ctrl+p"]])
async def test_ctrl_c_leaves_when_it_is_pressed_twice(before: list[str], tmp_path: Path) -> None:
    path = Machine(tmp_path).session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "It shines"])
    app = browser(summary("a", file=str(path)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*before)
        await pilot.pause(0.1)
        await pilot.press("ctrl+c")
        await pilot.pause()
        said = [n.message for n in app._notifications]
        said += [str(hint.content) for hint in app.screen.query("#dialog-hint").results(Static)]
        assert app.is_running and said == ["Press ctrl+c again to leave turnlog."]
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app._exit)
    assert app.return_code == 0


async def test_the_first_ctrl_c_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.screens.app._TWICE", 0.05)
    app = browser(summary("a"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+c")
        await pilot.pause(0.2)
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app.is_running and not app._exit


async def test_escape_closes_what_is_open_and_never_leaves_and_q_leaves_at_last(tmp_path: Path) -> None:
    path = Machine(tmp_path).session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "It shines"])
    app = TurnlogApp()
    app.start_with(TranscriptScreen(Follower(path)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(app.screen.query("TranscriptView")))
        for key in ("?", "tab", "x", "w", "e", ":"):
            await pilot.press(key)
            await until(pilot, lambda: len(app.screen_stack) == 2)
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("/", "l", "escape", "escape", "escape")
        await pilot.pause()
        assert app.is_running and not app._exit and not app.screen.query("FindBar")
        await pilot.press("q")
        await until(pilot, lambda: app._exit)
    assert app.return_code == 0


def test_the_way_out_is_shown_in_the_list_at_80_columns() -> None:
    kept = fitting(footer_items(TABLES["list"]), 78)
    assert "quit" in {key.action for item in kept for key in item}


async def test_a_notice_leaves_the_last_three_lines_free_and_goes_with_its_screen() -> None:
    app = browser(summary("a"))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.say("Copied")
        await until(pilot, lambda: app.screen.query("Toast"))
        await pilot.pause()
        assert app.screen.query_one("Toast").region.bottom == 21
        await pilot.press("f1")
        await until(pilot, lambda: not app.screen.query("Toast"))
        await pilot.press("q")
        await until(pilot, lambda: not app.screen.query("Toast"))
        app.push_screen(HelpScreen("list", TABLES["list"]))
        app.say("said on the dialog", title="This is")
        await until(
            pilot, lambda: str(app.screen.query_one("#dialog-hint", Static).content) == "This is: said on the dialog"
        )
        assert not app.screen.query("Toast")


@pytest.mark.parametrize("size", [(40, 12), (80, 24)])
async def test_a_long_notice_leaves_half_of_the_screen(size: tuple[int, int]) -> None:
    app = browser(summary("a"))
    async with app.run_test(size=size, notifications=True) as pilot:
        app.say("much to say " * 200)
        await until(pilot, lambda: app.screen.query("Toast"))
        await pilot.pause()
        # Its beginning is what one sees of it.
        assert app.screen.query_one("Toast").region.y >= size[1] // 2 - 3


async def test_the_demo_says_that_it_is_one() -> None:
    app = TurnlogApp()
    app.start_with(BrowserScreen(HandLibrary([summary("a")]), HERE, lambda: NOW, word="demo"))  # type: ignore[arg-type]
    async with app.run_test(size=(80, 24)):
        assert str(app.screen.query_one(TitleBar).render()).startswith("turnlog demo   ")


@pytest.mark.parametrize(("key", "above"), [("home", False), ("end", True)])
async def test_a_toast_stands_away_from_the_line_that_it_speaks_of(key: str, above: bool) -> None:
    app = browser(*(summary(f"s{n}", title=f"session {n}") for n in range(60)))
    async with app.run_test(size=(60, 20), notifications=True) as pilot:
        await pilot.press(key)
        app.say("Something about this session.")
        await until(pilot, lambda: bool(app.screen.query("Toast")))
        await pilot.pause()
        toast, row = app.screen.query_one("Toast").region, app.screen.query_one(SessionList).cursor_row
        assert row is not None and not toast.y <= row < toast.bottom
        assert (toast.bottom < row) is above

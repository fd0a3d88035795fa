"""The screen of what a session changed: from the list, the search and a transcript, and the way into the transcript."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widgets import Input, Static

from schemas.diffs import added_file
from schemas.message import Tool
from schemas.opening import read_session
from schemas.provider import Environment
from tests.support import Hand
from tests.viewer.machine import Machine
from tests.viewer.test_compare import ONE, machine, use
from tests.viewer.test_find_screen import found
from tests.waiting import until
from viewer.edits.patch import patch_of
from viewer.edits.session import changes_of
from viewer.index.library import Library
from viewer.screens import diff
from viewer.screens.app import TurnlogApp
from viewer.screens.browser import BrowserScreen
from viewer.screens.diff import DiffScreen
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar
from viewer.widgets.row_list import RowsPane, TextRows

__all__ = ["machine"]


@asynccontextmanager
async def listed(machine: Machine, size: tuple[int, int] = (100, 30)) -> AsyncIterator[Pilot[None]]:
    """The list of a machine's sessions."""
    library = Library(Environment({}, machine.home, "linux"), machine.home / "index.sqlite", texts=True)
    library.bring_up_to_date()
    app = TurnlogApp()
    app.start_with(BrowserScreen(library, Path("/home/dev/lamp-shop"), lambda: 1_772_700_000.0))
    async with app.run_test(size=size) as pilot:
        yield pilot


def rows(pilot: Pilot[None]) -> list[str]:
    """The lines of the screen's list, each of them as wide as that."""
    shown = pilot.app.screen.query_one(TextRows)
    lines = [shown.render_line(y) for y in range(shown.size.height)]
    assert {line.cell_length for line in lines} == {shown.size.width}
    return [" ".join(line.text.split()) for line in lines if line.text.strip()]


async def changed(pilot: Pilot[None]) -> list[str]:
    """The lines of the screen of what changed, once they are there."""
    await until(pilot, lambda: isinstance(pilot.app.screen, DiffScreen))
    await until(pilot, lambda: bool(pilot.app.screen.query_one(TitleBar).left))
    await until(pilot, lambda: bool(rows(pilot)) == bool(pilot.app.screen.query_one(TextRows)._rows))
    return rows(pilot)


async def test_files_their_edits_and_what_came_of_them(machine: Machine) -> None:
    async with listed(machine) as pilot:
        pilot.app.push_screen(DiffScreen(machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl", "#2.3"))
        lines = await changed(pilot)
        assert lines == ["lamp.py 1 failed #2 +2 -1", "▌ #2.3 Edit +2 -1"]
        assert str(pilot.app.screen.query_one(TitleBar).right) == "1 file · +2 -1 · left out: 1 failed"
        drawn = [line.split() for line in pilot.app.screen.query_one(RowsPane).text.splitlines()]
        assert drawn[-3:] == [["1", "-", "a"], ["1", "+", "b"], ["2", "+", "c"]]


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_three_keys_from_words_to_the_diff_and_on_to_the_edit(machine: Machine, size: tuple[int, int]) -> None:
    async with listed(machine, size) as pilot:
        await pilot.press("/", *"file:lamp.py")
        await until(pilot, lambda: any("Edit" in line for line in found(pilot)))
        await pilot.press("ctrl+g")
        assert [line[0] for line in await changed(pilot)] == ["l", "▌"]
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, TranscriptScreen))
        view = pilot.app.screen.query_one(TranscriptView)
        await until(pilot, lambda: view.session.message(view.cursor.block).tool is not None)
        await pilot.press("q")
        assert isinstance(pilot.app.screen, DiffScreen)


async def test_in_a_transcript_it_goes_to_the_edit_and_knows_the_exchange(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    async with listed(machine) as pilot:
        app = pilot.app
        assert isinstance(app, TurnlogApp)
        app.open_session(path)
        await pilot.pause()
        view = app.screen.query_one(TranscriptView)
        await pilot.press("g", "D")
        assert (await changed(pilot))[0].startswith("▌lamp.py")
        await pilot.press("tab")
        await until(pilot, lambda: "exchange #1" in str(app.screen.query_one(TitleBar).left))
        assert rows(pilot) == []
        await pilot.press("tab")
        await until(pilot, lambda: "session" in str(app.screen.query_one(TitleBar).left))
        await pilot.press("down", "enter")
        assert app.screen.query_one(TranscriptView) is view
        tool = view.session.message(view.cursor.block).tool
        assert tool is not None and tool.name == "Edit" and tool.diffs


async def test_the_patch_is_written_as_turnlog_diff_prints_it(machine: Machine, tmp_path: Path) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    file = {"file_path": "/home/dev/lamp-shop/new.py", "content": "one\n"}
    use(path, 8, "Write", file, {"type": "create", "filePath": file["file_path"], "content": "one\n"})
    session = read_session(path)
    text, _ = patch_of(changes_of(session), "/")
    session.close()
    async with listed(machine) as pilot:
        pilot.app.push_screen(DiffScreen(path))
        await changed(pilot)
        await pilot.press("e")
        pilot.app.screen.query_one("#path", Input).value = str(tmp_path / "my.patch")
        await pilot.press("enter")
        await until(pilot, (tmp_path / "my.patch").exists)
        assert (tmp_path / "my.patch").read_text() == text != ""


async def test_of_what_no_record_tells_the_lines_nothing_is_counted(machine: Machine) -> None:
    hand = Hand()
    hand.prompt("begin")
    hand.tool(Tool("Bash", "shell", "b", {"command": "cargo fmt"}))
    hand.tool(Tool("Bash", "shell", "c", {"command": "sed -i s/a/b/ x.py"}))
    async with listed(machine) as pilot:
        pilot.app.push_screen(DiffScreen(Path("/nowhere"), "#1.2", within=hand.session))
        await until(pilot, lambda: "not recorded" in pilot.app.screen.query_one(RowsPane).text)
        pane = pilot.app.screen.query_one(RowsPane)
        assert str(pilot.app.screen.query_one(TitleBar).right) == "1 file"
        for key in ("down", "up", "home", "end"):
            await pilot.press(key)
            assert "not recorded" in pane.text


@pytest.mark.parametrize("size", [(40, 12), (60, 20), (100, 30)])
async def test_what_the_patch_lacks_is_said_where_it_covers_nothing(machine: Machine, size: tuple[int, int]) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    given = {"file_path": "/home/dev/lamp-shop/new.py", "content": "one\n"}
    use(path, 8, "Write", given, {"type": "create", "filePath": given["file_path"], "content": "one\n"})
    use(path, 9, "Bash", {"command": "sed -i s/a/b/ old.py"}, {"stdout": "", "stderr": ""})
    async with listed(machine, size) as pilot:
        app = pilot.app
        app.push_screen(DiffScreen(path))
        await changed(pilot)
        await pilot.press("e")
        await until(pilot, lambda: app.screen.query("#dialog-note"))
        note, line = app.screen.query_one("#dialog-note", Static), app.screen.query_one("#path")
        assert str(note.content).startswith("Not in the patch:") and "old.py" in str(note.content)
        app.notify("and this", title="Beside")
        await until(pilot, lambda: "Beside: and this" in str(app.screen.query_one("#dialog-hint", Static).content))
        await pilot.pause()
        assert not any(toast.region for toast in app.screen.query("Toast"))
        box = app.screen.query_one("#dialog-scroll").region
        assert box.contains_region(line.region) and line.region.height == 1
        assert box.contains_point((note.region.x, note.region.y))  # its first line, which says what it lists


async def test_names_may_hold_anything(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    name = "/home/dev/lamp-shop/[red]日本\x1b]0;x\x07" + "long" * 50 + ".py"
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+\x1b[2J日本" * 40]}]
    use(path, 9, "Edit", {"file_path": name, "old_string": "a", "new_string": "b"}, {"structuredPatch": patch})
    async with listed(machine, (60, 20)) as pilot:
        pilot.app.push_screen(DiffScreen(path))
        assert any("[red]日本" in line for line in await changed(pilot))
        await pilot.press("end")
        pane = pilot.app.screen.query_one(RowsPane)
        assert all(cell_len(row) <= pane.size.width for row in pane.text.splitlines())
        assert "\x1b" not in pane.text


async def test_a_file_that_is_no_session_is_said(machine: Machine, tmp_path: Path) -> None:
    async with listed(machine) as pilot:
        pilot.app.push_screen(DiffScreen(tmp_path / "nothing.jsonl"))
        await until(  # a long path is wrapped
            pilot, lambda: "nothing.jsonl" in pilot.app.screen.query_one(RowsPane).text.replace("\n", "")
        )
        await pilot.press("y", "e", "enter", "tab", "q")
        assert isinstance(pilot.app.screen, BrowserScreen)


async def test_a_long_diff_is_drawn_to_its_end(machine: Machine) -> None:
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    given = {"file_path": "/home/dev/lamp-shop/long.py", "content": "".join(f"line {n}\n" for n in range(1000))}
    use(path, 8, "Write", given, {"type": "create", "filePath": given["file_path"], "content": given["content"]})
    async with listed(machine) as pilot:
        pilot.app.push_screen(DiffScreen(path))
        await changed(pilot)
        await pilot.press("end")
        pane = pilot.app.screen.query_one(RowsPane)
        await until(pilot, lambda: "line 999" in pane.text)
        assert pane.virtual_size.height == len(pane.text.splitlines())
        await pilot.press("space")
        assert pane.scroll_offset.y == pane.size.height - 1


def patched(path: Path, number: int, name: str, *lines: tuple[int, str]) -> None:
    """Add an edit of lines, each by its number and its new text, to a session."""
    patch = [{"oldStart": at, "newStart": at, "lines": [f"-line {at}", f"+{text}"]} for at, text in lines]
    file = {"file_path": f"/home/dev/lamp-shop/{name}", "old_string": "a", "new_string": "b"}
    use(path, number, "Edit", file, {"structuredPatch": patch})


def place(pilot: Pilot[None]) -> tuple[str, float]:
    """What the cursor is on, and where the diff is scrolled to."""
    screen = pilot.app.screen
    (row,) = [line for line in rows(pilot) if line.startswith("▌")]
    return row, screen.query_one(RowsPane).scroll_offset.y


async def test_it_grows_with_its_session_and_goes_to_the_edit_under_the_cursor(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff, "_LOOK", 0.05)
    path = machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl"
    patched(path, 5, "long.py", *((n, f"first {n}") for n in range(1, 200, 2)))
    patched(path, 6, "long.py", (400, "second"))
    patched(path, 7, "long.py", *((n, f"third {n}") for n in range(300, 380)))
    async with listed(machine) as pilot:
        pilot.app.push_screen(DiffScreen(path))
        before = await changed(pilot)
        pane = pilot.app.screen.query_one(RowsPane)

        def top() -> str:
            return " ".join(pane.text.splitlines()[pane.scroll_offset.y : pane.scroll_offset.y + 6])

        await pilot.press(*["down"] * (len(before) - 1))
        await until(pilot, lambda: "line 300" in top())
        await pilot.press("up")
        await until(pilot, lambda: pane.scroll_offset.y == pane.max_scroll_y > 300)
        await pilot.press("up")
        await until(pilot, lambda: "line 1 " in top())
        await pilot.press("space", "space", "space", "space")
        kept = place(pilot)
        assert kept[1] > 60
        patched(path, 8, "more.py", (1, "new"))
        await until(pilot, lambda: len(rows(pilot)) == len(before) + 2)
        assert place(pilot) == kept
        patched(path, 9, "lamp.py", (70, "new"))  # above it in the list
        await until(pilot, lambda: "+3 -2" in rows(pilot)[0])
        assert place(pilot) == kept


@pytest.mark.parametrize(("size", "keys"), [((160, 50), "O"), ((200, 60), "")])
async def test_differences_in_a_transcript_have_room_for_two_columns(
    machine: Machine, size: tuple[int, int], keys: str
) -> None:
    async with listed(machine, size) as pilot:
        app = pilot.app
        assert isinstance(app, TurnlogApp)
        app.open_session(machine.projects / "-home-dev-lamp-shop" / f"{ONE}.jsonl", place="#2.3")
        await until(pilot, lambda: app.screen.query_one(TranscriptView).size.height)
        await pilot.press("4", *keys)
        view = app.screen.query_one(TranscriptView)
        await until(pilot, lambda: view.size.width == 160)

        def drawn() -> str:
            return "\n".join(view.render_line(y).text for y in range(view.size.height))

        await until(pilot, lambda: re.search(r"1 - a {60,}\d+ \+ b", drawn()), drawn)


async def test_it_grows_with_a_session_within_another_file(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a subagent's is, or what comes through a pipe: whoever shows that reads it on."""
    monkeypatch.setattr(diff, "_LOOK", 0.05)
    hand = Hand()
    hand.prompt("begin")
    hand.tool(Tool("Write", "write", "w", {}, diffs=[added_file("a.py", "one\n")]))
    async with listed(machine) as pilot:
        pilot.app.push_screen(DiffScreen(Path("/nowhere"), within=hand.session))
        assert await changed(pilot) == ["▌a.py new #1 +1 -0", "#1.2 Write +1 -0"]
        hand.tool(Tool("Write", "write", "w", {}, diffs=[added_file("b.py", "two\n")]))
        await until(pilot, lambda: rows(pilot)[2:] == ["b.py new #1 +1 -0", "#1.3 Write +1 -0"])


def test_it_has_the_styles_of_a_screen() -> None:
    """Of several bases Textual takes styles from the first alone; a screen without a background shows what is below."""
    assert "Screen" in DiffScreen._css_type_names

"""The shared cases, opened on the screen: each shows what its expect.md says in words. Skipped where they are not."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from schemas.provider import Environment
from tests.viewer.transcripts import lines
from tests.waiting import until
from viewer.follow.follower import Follower
from viewer.index.library import Library
from viewer.screens.app import TurnlogApp
from viewer.screens.browser import BrowserScreen
from viewer.screens.config_keys import Config
from viewer.screens.transcript import TranscriptScreen
from viewer.transcript.view import TranscriptView
from viewer.widgets.chrome import TitleBar

CASES = Path(__file__).parents[2] / "../shared/cases"
FOUND = sorted(CASES.glob("s*"))
pytestmark = pytest.mark.skipif(not FOUND, reason="the shared cases are not here")


def case_file(name: str) -> Path:
    folder = next(CASES.glob(f"{name}-*"))
    return next(path for path in sorted(folder.rglob("*.jsonl")) if "agent-" not in path.name)


@asynccontextmanager
async def opened(path: Path, size: tuple[int, int] = (100, 40)) -> AsyncIterator[tuple[Pilot[None], TranscriptView]]:
    app = TurnlogApp(Config(theme="turnlog-dark"))
    screen = TranscriptScreen(Follower(path))
    app.start_with(screen)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: screen._follower.loaded and any(lines(screen.query_one(TranscriptView))))
        await pilot.pause()
        yield pilot, screen.query_one(TranscriptView)


def bar(pilot: Pilot[None], which: str) -> str:
    return pilot.app.screen.query_one(which, TitleBar).render().plain


def page(view: TranscriptView) -> str:
    return "\n".join(lines(view))


async def everything(pilot: Pilot[None], view: TranscriptView) -> str:
    """All that a person can page through with everything unfolded, as one text without the lines' ends."""
    await pilot.press("g")
    while view.folds.level != 3:
        await pilot.press("z")
    await pilot.press("g")
    pages = lines(view)
    for _ in range(400):
        if view.at_end:
            break
        await pilot.press("space")
        pages += lines(view)[1:]
    assert view.at_end
    return "\n".join(line.lstrip("▌▏") for line in pages)


def squeezed(text: str) -> str:
    """Without blanks and line ends: a long word may have been wrapped."""
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("size", [(80, 24), (140, 45)], ids=str)
@pytest.mark.parametrize("name", [f"s{n:02}" for n in range(1, 17)] + ["s18"])
async def test_what_must_be_there_can_be_reached(name: str, size: tuple[int, int]) -> None:
    path = case_file(name)
    expect = json.loads((next(CASES.glob(f"{name}-*")) / "expect.json").read_text())
    expect |= expect.get("stage0", {})
    async with opened(path, size) as (pilot, view):
        text = await everything(pilot, view)
        for word in expect.get("must_contain", []):
            assert squeezed(word) in squeezed(text)
        for word, count in expect.get("count_of", {}).items():
            if "stage0" not in expect:
                assert text.count(word) == count
        totals = expect.get("totals") or expect.get("totals_all") or expect["totals_main"]
        await pilot.press("w")
        figures = pilot.app.screen.query_one("#lookup").text  # type: ignore[attr-defined]
        total = expect.get("totals_main", totals)["total"]
        assert f"session: {total:,} tokens" in figures.replace("\n", " ")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


async def test_s01_one_reply_with_its_parts_in_order_and_all_kinds_of_tokens() -> None:
    async with opened(case_file("s01")) as (pilot, view):
        shown = page(view)
        places = [shown.index(word) for word in ("▸ thinking", "I will read the discount", "Read ", "Grep ")]
        assert places == sorted(places)
        await pilot.press("w")
        assert "in 6 · cache read 272,855 · cache write 1,750 · out 405" in pilot.app.screen.query_one("#lookup").text


async def test_s02_a_response_written_twice_shows_once() -> None:
    async with opened(case_file("s02")) as (pilot, view):
        assert (await everything(pilot, view)).count("Only 8631 on loopback.") == 1


async def test_s03_what_is_unknown_is_called_so_and_the_cut_line_is_told() -> None:
    async with opened(case_file("s03")) as (pilot, view):
        header = next(line for line in lines(view) if "Thanks, commit it" in line)
        assert header.endswith("tokens unknown")
        last = case_file("s03").read_bytes().count(b"\n") + 1
        assert f"unreadable: line {last} ·" in bar(pilot, "#status")
        assert "32k tokens" in bar(pilot, "#status")


@pytest.mark.parametrize("width", [80, 140])
async def test_s05_damaged_lines_are_told_with_their_numbers(width: int) -> None:
    async with opened(case_file("s05"), (width, 24)) as (pilot, _):
        assert bar(pilot, "#status").startswith("unreadable: line")
        assert re.search(r"unreadable: lines? 3\b", bar(pilot, "#status"))
        await pilot.press("w")
        assert "line 3: " in pilot.app.screen.query_one("#lookup").text


async def test_s06_a_reply_that_comes_in_pieces_shows_once(tmp_path: Path) -> None:
    folder = case_file("s06").parent
    path = tmp_path / "input.jsonl"
    shutil.copy(folder / "input.jsonl", path)
    async with opened(path) as (pilot, view):
        assert "exchange 1 of 2" in bar(pilot, "#status")
        for number in (1, 2, 3):
            with path.open("ab") as out:
                out.write((folder / f"append-{number}.bin").read_bytes())
            await until(pilot, lambda n=number: page(view).count("There are four chairs") == (n > 1))
        text = await everything(pilot, view)
        assert text.count("🪑") == 4
        assert "\ufffd" not in text


async def test_s08_what_utf8_cannot_hold_is_found_and_copied() -> None:
    async with opened(case_file("s08")) as (pilot, view):
        await pilot.press("/", *"SURROK", "enter")
        await until(pilot, lambda: any(line.startswith("▌") and "SURROK" in line for line in lines(view)))
        await pilot.press("y", "Y")
        assert "👍" in await everything(pilot, view)


async def test_s09_fences_end_where_they_end() -> None:
    async with opened(case_file("s09"), (100, 80)) as (pilot, view):
        text = await everything(pilot, view)
        assert "<b>LISTCODE</b>" in text
        assert "**" not in next(line for line in text.split("\n") if "AFTER-ALL-FENCES" in line)
        assert "OUTER-STILL-CODE" in text


async def test_s10_tags_and_entities_are_text() -> None:
    async with opened(case_file("s10")) as (pilot, view):
        assert squeezed("&amp; stays &lt;as typed&gt;") in squeezed(await everything(pilot, view))


async def test_s12_brackets_are_text_everywhere() -> None:
    async with opened(case_file("s12")) as (pilot, view):
        assert "Fix [/red] titles [b" in bar(pilot, "#title")
        text = await everything(pilot, view)
        assert "\\[esc]" in text
        await pilot.press("g")
        for _ in view.session.messages.kind:
            for key in ("x", "w", "tab"):
                await pilot.press(key)
                await pilot.pause()
                await pilot.press("escape")
            await pilot.press("y", "Y", "enter", "j")
        await pilot.press("/", *"[red]plain", "enter")
        await until(pilot, lambda: "1 of" in str(pilot.app.screen.query_one("#find-count").render()))


@pytest.mark.parametrize("width", [40, 80, 200])
async def test_s13_every_row_is_as_wide_as_the_screen(width: int) -> None:
    async with opened(case_file("s13"), (width, 30)) as (pilot, view):
        await pilot.press("z")
        while True:
            for y in range(view.height_of_page):
                assert view.render_line(y).cell_length == view.size.width
            if view.at_end:
                break
            await pilot.press("space")


async def test_s14_one_mark_whose_summary_unfolds() -> None:
    async with opened(case_file("s14")) as (pilot, view):
        shown = page(view)
        assert "EARLY-REPLY" in shown
        assert "SECOND-REPLY" in shown
        mark = next(line for line in lines(view) if "Compacted (manual), 640" in line)
        assert shown.count("Compacted (manual)") == 1
        assert "SUMMARYTEXT" not in shown
        assert shown.index("Cut the boards.") < shown.index(mark) < shown.index("3  Now paint it.")
        assert "exchange 1 of 3" in bar(pilot, "#status")
        assert "Plan the shelf." in bar(pilot, "#title")
        view.go_to(next(i for i, kind in enumerate(view.session.messages.kind) if kind == 7))
        await pilot.press("enter")
        assert "SUMMARYTEXT" in page(view)


async def test_s15_the_abandoned_branch_is_marked_and_can_be_opened() -> None:
    async with opened(case_file("s15")) as (pilot, view):
        shown = page(view)
        assert all(word in shown for word in ("TRUNK", "NEW-BRANCH", "NEW-BRANCH-2"))
        old = next(line for line in lines(view) if "Use it on the door." in line)
        assert "rewound" in old
        assert "(1 rewound)" in bar(pilot, "#status")
        assert "110 tokens with rewound" in bar(pilot, "#status")
        await pilot.press("]", "enter")
        hidden = [view.session.message(i).text for i in view.session.message_range(1)]
        assert all(text in page(view) for text in hidden)


async def test_s16_both_calls_open_their_own_subagent() -> None:
    async with opened(case_file("s16")) as (pilot, view):
        said = re.compile(r"310 tokens · \$[\d.]+ · 1\.2k with subagents · \$[\d.]+ ")
        await until(pilot, lambda: said.search(bar(pilot, "#status")))
        for message, prompt in ((1, "Find lamp one"), (2, "Find lamp two")):
            view.go_to(message)
            await pilot.press("a")
            await until(pilot, lambda p=prompt: p in page(pilot.app.screen.query_one(TranscriptView)))
            assert len(pilot.app.screen_stack) == 2
            await pilot.press("q")
            await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        await pilot.press("w")
        assert "with subagents: 1,191 tokens" in pilot.app.screen.query_one("#lookup").text


async def test_s18_context_is_folded_and_mirrors_show_once() -> None:
    async with opened(case_file("s18")) as (pilot, view):
        assert "Why is the build red?" in bar(pilot, "#title")
        assert "INJECTED-RULES" not in page(view)
        text = await everything(pilot, view)
        assert text.count("REPLY-ONCE") == 1
        assert text.count("Looking at the log") == 1
        assert "make: *** [all] Error 1" in text
        await pilot.press("]")
        assert "exchange 1 of 2" in bar(pilot, "#status")


@asynccontextmanager
async def browsed(home: Path, claude: Path) -> AsyncIterator[tuple[Pilot[None], Library]]:
    env = Environment({"CLAUDE_CONFIG_DIR": str(claude), "CODEX_HOME": str(home / "none")}, home, sys.platform)
    library = Library(env, home / "index.sqlite")
    library.bring_up_to_date()
    app = TurnlogApp(Config(theme="turnlog-dark"))
    app.start_with(BrowserScreen(library, home))
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.pause(0.5)
        yield pilot, library


def whole_screen(pilot: Pilot[None]) -> str:
    return "\n".join(strip.text.rstrip() for strip in pilot.app.screen._compositor.render_strips())


@pytest.mark.skipif(os.name != "posix", reason="the case is set up by a shell script")
async def test_s19_sessions_are_listed_by_what_their_records_say(tmp_path: Path) -> None:
    folder = tmp_path / "s19"
    shutil.copytree(next(CASES.glob("s19-*")), folder)
    subprocess.run(["sh", str(folder / "setup.sh")], check=True)
    try:
        async with browsed(tmp_path, folder) as (pilot, _):
            shown = whole_screen(pilot)
            for project in ("my-app", "site.exam", "cc-plus", "deleted", "é"):
                assert project in shown
            assert "OUTSIDE-SECRET" not in shown
    finally:
        (folder / "projects/-home-dev-noread").chmod(0o700)


async def test_s20_resume_commands_are_quoted_or_refused(tmp_path: Path) -> None:
    async with browsed(tmp_path, next(CASES.glob("s20-*"))) as (pilot, library):
        copied: list[str] = []
        pilot.app.copy_to_clipboard = copied.append  # type: ignore[method-assign]
        count = len(library.cached())
        assert count == 8

        def answers() -> tuple[int, int, int]:
            return len(copied), len(pilot.app.screen_stack), len(pilot.app._notifications)

        assert "\n" not in "".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        for _ in range(count):
            before = answers()
            await pilot.press("ctrl+r")
            await until(pilot, lambda before=before: answers() != before)
            if len(pilot.app.screen_stack) > 1:
                await pilot.press("escape")
                await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
            await pilot.press("down")
        assert copied
        for number, line in enumerate(copied):
            place = tmp_path / f"shell{number}"
            place.mkdir()
            assert "\n" not in line
            # With no agent to be found, only what the line itself does happens.
            subprocess.run(
                ["/bin/sh", "-c", line], cwd=place, env={"PATH": "/nonexistent"}, capture_output=True, check=False
            )
            assert not list(place.iterdir())

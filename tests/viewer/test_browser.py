from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import Static

from renderers.facts import project_name
from tests.viewer.shelf import DAY, HERE, HOUR, NOW, HandLibrary, summary
from tests.waiting import until
from viewer.index.summary import Summary
from viewer.screens.app import TurnlogApp
from viewer.screens.browser import BrowserScreen
from viewer.screens.filter import Filter
from viewer.widgets.chrome import KeyFooter, TitleBar
from viewer.widgets.sessions import HERE_FIRST, NEWEST, Days, Row, SessionList, Shelf


def shelf(*summaries: Summary) -> Shelf:
    made = Shelf(HERE)
    made.add(summaries)
    return made


def names(rows: list[Row]) -> list[str]:
    return [f"[{row.heading}]" if row.summary is None else "  " * row.depth + row.summary.id for row in rows]


# -- rows ----------------------------------------------------------------------------------------------------------


def test_this_directory_comes_first_and_the_others_by_age() -> None:
    made = shelf(
        summary("old", ago=100 * DAY, root="/elsewhere"),
        summary("new", ago=HOUR, root="/elsewhere"),
        summary("here", ago=9 * DAY),
        summary("below", ago=10 * DAY, root=f"{HERE}/web"),
        summary("beside", ago=2 * DAY, root=f"{HERE}-web"),
    )
    assert names(made.rows("", NOW)) == [
        "[this directory]",
        "here",
        "below",
        "[today]",
        "new",
        "[last 7 days]",
        "beside",
        "[earlier]",
        "old",
    ]
    assert names(made.rows("", NOW, "newest"))[:2] == ["[today]", "new"]


def test_a_fork_stands_under_its_parent_also_when_it_is_newer() -> None:
    made = shelf(
        summary("single", ago=2 * HOUR),
        summary("parent", ago=5 * HOUR),
        summary("fork", ago=HOUR, fork="parent"),
        summary("fork of fork", ago=3 * HOUR, fork="fork"),
        summary("orphan", ago=4 * HOUR, fork="gone"),
    )
    assert names(made.rows("", NOW))[1:] == ["parent", "  fork", "  fork of fork", "single", "orphan"]


def test_sessions_that_name_each_other_as_parents_are_all_listed() -> None:
    made = shelf(summary("a", fork="b"), summary("b", fork="a"), summary("c", fork="c"))
    assert sorted(name.strip() for name in names(made.rows("", NOW))[1:]) == ["a", "b", "c"]


def test_the_filter_wants_every_word_in_any_of_the_texts() -> None:
    made = shelf(
        summary("one", title="Fix the FLAKY test", provider="codex"),
        summary("two", branch="fix/flaky"),
        summary("three", first_prompt="why is it flaky"),
        summary("four"),
    )
    found = {words: names(made.rows(words, NOW))[1:] for words in ("flaky", "Flaky codex", "nothing")}
    assert sorted(found["flaky"]) == ["one", "three", "two"]
    assert found["Flaky codex"] == ["one"]
    assert made.rows("nothing", NOW) == []


def test_sessions_with_nothing_to_read_are_left_out() -> None:
    made = shelf(summary("full"), summary("blank", exchanges=0, agent_messages=0))
    assert len(made) == 1
    made.add([summary("full", exchanges=0, agent_messages=0)])
    assert len(made) == 0


IDS = st.sampled_from("abcdefgh")


@given(st.lists(st.tuples(IDS, st.floats(0, 400 * DAY), st.none() | IDS, st.booleans())), st.booleans())
def test_every_session_has_exactly_one_row_and_every_group_one_heading(
    sessions: list[tuple[str, float, str | None, bool]], here_first: bool
) -> None:
    made = shelf(
        *(summary(name, ago=ago, fork=fork, root=str(HERE) if here else "/x") for name, ago, fork, here in sessions)
    )
    rows = made.rows("", NOW, HERE_FIRST if here_first else NEWEST)
    ids = [row.summary.id for row in rows if row.summary]
    assert sorted(ids) == sorted({name for name, *_ in sessions})
    headings = [row.heading for row in rows if row.summary is None]
    assert len(headings) == len(set(headings))
    for row in rows:
        if row.summary is None:
            current = row.heading
        else:
            assert row.heading == current


def test_days_and_projects_have_names() -> None:
    assert [Days(NOW).group(when) for when in (NOW + DAY, NOW, 0, -1e18, math.inf)] == [
        "today", "today", "earlier", "earlier", "today",
    ]  # fmt: skip
    assert project_name("C:\\work\\shop\\") == "shop"
    assert project_name("/") == "/"
    assert project_name("/work/lamp\nshop\x1b[2J") == "lamp shop"


# -- the screen ----------------------------------------------------------------------------------------------------


def browser(library: HandLibrary, directory: Path = HERE) -> TurnlogApp:
    app = TurnlogApp()
    app.start_with(BrowserScreen(library, directory, lambda: NOW))  # type: ignore[arg-type]
    return app


def drawn(app: TurnlogApp) -> list[str]:
    """The list as text, line by line."""
    sessions = app.screen.query_one(SessionList)
    return [sessions.render_line(y).text for y in range(sessions.size.height)]


async def test_the_list_is_there_at_once_and_a_key_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[Path, bool]] = []
    monkeypatch.setattr(TurnlogApp, "open_session", lambda self, path, follow=False: opened.append((path, follow)))
    app = browser(HandLibrary([summary("a", ago=HOUR), summary("b", ago=2 * HOUR)]))
    async with app.run_test(size=(100, 30)) as pilot:
        lines = drawn(app)
        assert lines[0].startswith(" this directory")
        assert lines[1].startswith("▌") and "Title a" in lines[1] and "1 h" in lines[1]
        assert "37k" in lines[1]  # its own tokens, as `turnlog list` has them; 39k with its subagents
        await pilot.press("down", "enter", "ctrl+f")
    assert opened == [(Path("nowhere/b.jsonl"), False), (Path("nowhere/b.jsonl"), True)]


async def test_what_is_typed_filters_and_escape_clears_and_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    sought: list[str] = []
    monkeypatch.setattr(BrowserScreen, "action_find", lambda self, words="": sought.append(words))
    app = browser(HandLibrary([summary("a"), summary("b")]))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"title b")
        assert next(line for line in drawn(app) if "Title" in line).startswith("▌  Title b")
        await pilot.press(*"xyz")
        await pilot.pause()
        assert "Nothing fits title bxyz" in str(app.screen.query_one("#empty", Static).content)
        await pilot.press("backspace")
        assert sought == ["title bx", "title bxy", "title bxyz"], "with each letter more, and none less"
        await pilot.press("enter")
        assert sought[-1] == "title bxy"
        await pilot.press("escape")
        await pilot.pause()
        assert len([line for line in drawn(app) if "Title" in line]) == 2
        assert not app.screen.query("#empty")
        await pilot.press("escape", "escape")
        assert app.is_running
        await pilot.press("/")
        assert sought[-1] == ""
        await pilot.press(*"a/b")
        await pilot.pause()
        assert app.screen.query_one(Filter).value == "a/b"
        await pilot.press("ctrl+q")
    assert app.return_code == 0


async def test_the_cursor_stays_on_its_session_when_others_arrive() -> None:
    late = [summary("late", ago=60), summary("later", ago=30), summary("b", ago=2 * HOUR, title="Title b, renamed")]
    library = HandLibrary([summary("a"), summary("b", ago=2 * HOUR)])
    app = browser(library)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("down")
        library._batches = [late]
        await pilot.press("f5")
        await until(pilot, lambda: "later" in drawn(app)[1])
        assert [line.strip("▌ ").split("  ")[0] for line in drawn(app)[1:5]] == [
            "Title later",
            "Title late",
            "Title a",
            "Title b, renamed",
        ]
        assert drawn(app)[4].startswith("▌")
        assert "renamed" in str(app.screen.query_one("#preview", Static).content)


async def test_a_session_that_was_found_only_is_shown_when_it_is_read() -> None:
    found = summary("a", read=False, title="", exchanges=0, agent_messages=0, usage=None)
    library = HandLibrary([found])
    app = browser(library)
    async with app.run_test(size=(140, 30)) as pilot:
        await pilot.pause()
        assert "(not read yet)" in drawn(app)[1] and "(not read yet)" in str(
            app.screen.query_one("#preview", Static).content
        )
        library._batches = [[summary("a")]]
        await pilot.press("f5")
        await until(pilot, lambda: "Title a" in drawn(app)[1])
        assert "first prompt of a" in str(app.screen.query_one("#preview", Static).content)
        await until(pilot, lambda: drawn(app)[1].rstrip().endswith("?"))  # and priced


async def test_a_scrolled_list_does_not_move_when_sessions_arrive() -> None:
    many = [summary(f"s{i:03}", ago=HOUR + i) for i in range(200)]
    library = HandLibrary(many)
    app = browser(library)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press("pagedown", "pagedown", "pagedown")
        before = drawn(app)
        library._batches = [[summary("late", ago=60), summary("later", ago=30)]]
        await pilot.press("f5")
        await until(pilot, lambda: "202 sessions" in str(app.screen.query_one(TitleBar).right))
        assert drawn(app) == before
        await pilot.press("end")
        assert "Title s199" in drawn(app)[-1]
        await pilot.press("home")
        assert drawn(app)[1].startswith("▌  Title later")


async def test_a_click_selects_and_a_second_one_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(TurnlogApp, "open_session", lambda self, path, follow=False: opened.append(path))
    app = browser(HandLibrary([summary("a"), summary("b", ago=2 * HOUR)]))
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.click(SessionList, offset=(10, 2))
        assert drawn(app)[2].startswith("▌")
        assert opened == []
        await pilot.click(SessionList, offset=(10, 2))
        await pilot.click(SessionList, offset=(10, 0))
        await pilot.click(SessionList, offset=(10, 9))
    assert opened == [Path("nowhere/b.jsonl")]


async def test_no_sessions_says_where_it_looked_and_what_to_do() -> None:
    from schemas.provider import Location
    from viewer.sessions.discover import Place

    library = HandLibrary([])
    library.found.places = [Place("claude", Location(Path("/home/dev/.claude/projects"), "default"), False, 0, 0)]
    app = browser(library)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "Looking" not in str(app.screen.query_one("#empty", Static).content))
        text = str(app.screen.query_one("#empty", Static).content)
    assert "/home/dev/.claude/projects" in text
    assert "turnlog demo" in text


async def test_the_preview_hides_where_there_is_no_room() -> None:
    app = browser(HandLibrary([summary("a")]))
    async with app.run_test(size=(140, 45)) as pilot:
        assert app.screen.query_one("#preview", Static).display
        assert "first prompt of a" in str(app.screen.query_one("#preview", Static).content)
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert not app.screen.query_one("#preview", Static).display


async def test_the_dot_comes_when_a_session_grows(tmp_path: Path) -> None:
    import time

    file = tmp_path / "s.jsonl"
    file.write_text("{}\n")
    app = browser(HandLibrary([summary("a", file=str(file))]))
    async with app.run_test(size=(100, 30)) as pilot:
        assert "●" not in drawn(app)[1]
        assert "live" not in str(app.screen.query_one(TitleBar).right)
        file.write_text("{}\n{}\n")
        assert file.stat().st_mtime > time.time() - 60
        await app.screen._watch()  # type: ignore[attr-defined]
        await pilot.pause()
        assert "●" in drawn(app)[1]
        assert "1 live · 1 session · 1 agent" in str(app.screen.query_one(TitleBar).right)


@pytest.mark.parametrize("width", [20, 36, 60, 80, 100, 140, 300])
async def test_every_line_is_as_wide_as_the_list_and_no_key_is_cut(width: int) -> None:
    titles = ["Fix [/red] titles [b", "日本語のタイトル" * 9, "👩‍👩‍👧‍👦 family 🏳️‍🌈" * 5, "é" * 300, "", "\\[esc]"]
    app = browser(HandLibrary([summary(f"s{i}", title=title, ago=i) for i, title in enumerate(titles)]))
    async with app.run_test(size=(width, 24)):
        sessions = app.screen.query_one(SessionList)
        for y in range(sessions.size.height):
            strip = sessions.render_line(y)
            assert strip.cell_length == sessions.size.width
            assert sum(segment.cell_length for segment in strip) == sessions.size.width
        footer = app.screen.query_one(KeyFooter).render()
        assert footer.cell_length <= width
        assert "keys" in str(footer)
        if width >= 80:
            assert "Fix [/red] titles [b" in drawn(app)[1]


async def test_trouble_while_looking_is_said_and_the_list_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: HandLibrary, progress: object = None) -> Iterator[list[Summary]]:
        raise OSError(5, "Input/output error [b")
        yield []

    monkeypatch.setattr(HandLibrary, "refresh", broken)
    app = browser(HandLibrary([summary("a")]))
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await until(pilot, lambda: app.screen.query("Toast"))
        assert "Input/output error [b" in str(app.screen.query("Toast").first().render())
        assert "Title a" in drawn(app)[1]


async def test_the_first_picture_is_made_of_a_part_and_the_rest_follows() -> None:
    many = [summary(f"s{i:03}", ago=i * 60) for i in range(300)]
    app = browser(HandLibrary(many))
    assert isinstance(app._first, BrowserScreen)
    assert len(app._first._shelf) == 200
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: "300 sessions" in str(app.screen.query_one(TitleBar).right))
        await pilot.press("end")
        assert "Title s299" in drawn(app)[-1]


async def test_only_a_screenful_is_drawn_of_ten_thousand_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [summary(f"s{i}", ago=i * 60, root=str(HERE) if i % 3 else "/x") for i in range(10_000)]
    app = browser(HandLibrary(many))
    calls = 0
    original = SessionList.render_line

    def counted(self: SessionList, y: int):  # type: ignore[no-untyped-def]
        nonlocal calls
        calls += 1
        return original(self, y)

    monkeypatch.setattr(SessionList, "render_line", counted)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        calls = 0
        await pilot.press("pagedown")
        await pilot.pause()
        assert 0 < calls <= 2 * 30


@pytest.mark.parametrize("width", [18, 30, 60, 100])
async def test_a_session_that_grew_since_it_was_read_says_by_how_much(width: int) -> None:
    counts = {"grew": 28, "read": 40, "shrank": 50, "damaged": "many"}
    app = browser(HandLibrary([*map(summary, counts), summary("never read"), summary("not there", messages=0)]))
    for name, count in counts.items():
        app.state.of_session(Path(f"nowhere/{name}.jsonl"))["seen"] = {"count": count}
    async with app.run_test(size=(width, 30)):
        rows = {line[3:].split("  ")[0]: line for line in drawn(app) if "Title" in line}
        if width < 30:
            assert not any(" new" in line for line in drawn(app)), "the title needs the room"
            return
        assert len(rows) == 6
        assert [name for name, line in rows.items() if " new" in line] == ["Title grew"]
        assert "  12 new  " in f"{rows['Title grew']}  "

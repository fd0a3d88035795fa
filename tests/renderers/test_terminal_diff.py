"""Differences on the screen: one drawing, below each other or side by side, copied as they stand in the source."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from renderers import changed_words
from renderers.terminal.code import Highlights
from renderers.terminal.diff import SIDES, diff_rows, printed_rows, quoted_rows
from renderers.terminal.rows import Row
from renderers.terminal.style_names import Palette
from schemas.clean import Run, Sgr
from schemas.diffs import FileDiff, Hunk
from viewer.transcript.select import rows_text

WORDS = st.lists(st.sampled_from(["a", "name", " ", "漢字", "(", "x" * 70, "👩\u200d👩\u200d👧"]), max_size=8).map(
    "".join
)
HUNKS = st.lists(
    st.lists(st.tuples(st.sampled_from(" +-"), WORDS).map("".join), min_size=1, max_size=9), min_size=1, max_size=3
)
WIDE = SIDES + 9


def printed(text: str, width: int = 80, runs: tuple[Run, ...] = (), limit: int = 1000) -> list[Row]:
    return list(printed_rows(text, runs, width, Palette(), Highlights(), [], limit))


def texts(rows: list[Row]) -> list[str]:
    return [row.text.rstrip() for row in rows]


@given(HUNKS, st.sampled_from([40, 80, WIDE]), st.sampled_from([None, 1, 98]))
def test_a_difference_is_copied_as_it_stands(hunks: list[list[str]], width: int, start: int | None) -> None:
    diff = FileDiff("a.py", hunks=[Hunk(lines, start, start) for lines in hunks])
    rows = list(diff_rows(diff, width, Palette()))
    assert all(cell_len(row.text) <= width for row in rows)
    copied = [line.rstrip() for line in rows_text(rows).split("\n")]
    lines = [line.rstrip() for hunk in diff.hunks for line in (hunk.header, *hunk.lines)][1:]
    # Side by side all of it is there in another order: what went stands beside what came.
    assert copied == lines if width != WIDE else sorted(copied) == sorted(lines)


def test_side_by_side() -> None:
    lines = [" keep", "-old = 1", "+new = 1", "+more", "-gone"]
    half = (WIDE - 2) // 2
    rows = list(diff_rows(FileDiff("a.py", hunks=[Hunk(lines, 38, 40)]), WIDE, Palette()))
    assert [(row.text[:half].rstrip(), row.text[half + 2 :].rstrip()) for row in rows] == [
        (" 38   keep", " 40   keep"),
        (" 39 - old = 1", " 41 + new = 1"),
        ("", " 42 + more"),
        (" 40 - gone", ""),
    ]
    assert len(list(diff_rows(FileDiff("a.py", hunks=[Hunk(lines)]), SIDES - 1, Palette()))) == 5
    assert all(
        row.text.count("+") == 1 for row in diff_rows(FileDiff("a", hunks=[Hunk(["+a", "+b"])]), WIDE, Palette())
    )


def test_words_that_changed_are_marked_on_top_of_the_codes_colours() -> None:
    ground, mark = Style(bgcolor="green"), Style(bgcolor="bright_green")
    palette = Palette(add=ground, remove=Style(bgcolor="red"), add_words=mark, syntax={"keyword": Style(bold=True)})
    diff, highlights, wanted = FileDiff("a.py", hunks=[Hunk(["-if a:", "+if not a:"])]), Highlights(), []
    list(diff_rows(diff, 80, palette, highlights, wanted))
    for want in wanted:
        list(highlights.work(want))
    row = list(diff_rows(diff, 80, palette, highlights, wanted))[1]
    styles = {segment.text.strip(): segment.style for segment in row.segments if segment.style}
    assert styles["if"].bold and styles["if"].bgcolor == ground.bgcolor
    assert styles["not"].bold and styles["not"].bgcolor == mark.bgcolor
    assert styles["a"].bgcolor == styles[":"].bgcolor == ground.bgcolor


GIT = """commit 1234
    a message

diff --git a/src/a.py b/src/a.py
index 83db48f..bf269f4 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@ def f():
 x
-y
+z
 w
@@ -9,1 +9,1 @@	class A:
-9
+10
\\ No newline at end of file
diff --git a/old.py b/new.py
similarity index 100%
rename from old.py
rename to new.py
the end"""


@pytest.mark.parametrize("width", [80, WIDE])
def test_a_difference_in_output_is_drawn_between_the_rest(width: int) -> None:
    rows = printed(GIT, width)
    assert [row for row in texts(rows) if row[:3].strip() and row[0] not in " \\"] == [
        "commit 1234",
        "src/a.py  +2  -2",
        "move old.py → new.py",
        "the end",
    ]
    assert rows_text(rows).split("\n") == GIT.split("\n")
    assert "    ⋯ class A:" in texts(rows)


@pytest.mark.parametrize(
    "text",
    [
        "--- a\n+++ b\nno hunk",
        "--- a\n+++ b\n@@ -1,3 +1,3 @@\n x\nnot in it\n y",  # a line that is none of a difference's
        "@@ -1 +1 @@\n-a\n+b",  # of which file?
        "+++ b\n--- a\n@@ -1 +1 @@\n-a\n+b",
        f"--- a\n+++ b\n@@ -{'9' * 5000} +1 @@\n-a\n+b",
        "-" * 40 + "\n" + "+" * 40,
    ],
)
def test_what_only_looks_like_a_difference_stays_text(text: str) -> None:
    rows = printed(text, 6000)
    assert texts(rows) == text.split("\n")
    assert rows_text(rows) == text


def test_a_difference_that_the_output_breaks_off_is_one() -> None:
    assert texts(printed("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n one\n-two")) == ["x  -1", "  1   one", "  2 - two"]


def test_colours_stay_with_the_rest_of_the_output() -> None:
    text = "red\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nblue"
    rows = printed(text, runs=(Run(0, 3, Sgr(fg=1)), Run(len(text) - 4, len(text), Sgr(fg=4))))
    colours = {row.text.strip(): row.segments[0].style.color for row in rows if row.segments[0].style}
    assert colours["red"].number == 1 and colours["blue"].number == 4  # type: ignore[union-attr]
    assert colours["x  +1  -1"] is None


def test_a_huge_difference_costs_what_is_drawn_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    real = changed_words.changed_words
    monkeypatch.setattr(changed_words, "changed_words", lambda old, new: compared.append(old) or real(old, new))
    lines = [line for n in range(50_000) for line in (f"-value {n}", f"+value {n} more", " same")]
    rows = islice(diff_rows(FileDiff("a.py", hunks=[Hunk(lines, 1, 1)]), 80, Palette()), 48)
    assert len(list(rows)) == 48 and len(compared) < 40
    long = list(diff_rows(FileDiff("a.py", hunks=[Hunk(["+" + "x" * 1_000_000])]), 100, Palette()))
    assert long[-1].text == "… 800,000 more characters in this line"


@pytest.mark.parametrize(
    ("code", "rows"),
    [
        ("-old\n+new\n same", ["- old", "+ new", "  same"]),
        ("--- a/x.py\n+++ b/x.py\n@@ -7,9 +7,9 @@\n-a\n+b", ["x.py  +1  -1", "  7 - a", "  7 + b"]),  # wrong counts
        ("*** Begin Patch\n*** Update File: x.py\n@@\n-a\n+b\n*** End Patch", ["x.py  +1  -1", "- a", "+ b"]),
        ("plain text\n-a", []),
        (" only context", []),
        ("", []),
    ],
)
def test_a_difference_that_an_answer_quotes(code: str, rows: list[str]) -> None:
    assert texts(list(quoted_rows(code, 60, Palette(), Highlights(), []))) == rows


@pytest.mark.parametrize(
    ("lines", "sides"),
    [
        ([" a", "+b", "\\ No newline"], (0, 1)),
        ([" a", "-b", "\\ No newline"], (1, 0)),
        (["-a", "\\ No newline", "+b"], (1, 0)),
        (["-a", "+b", "\\ No newline"], (0, 1)),
        (["-a", "+b", " c", "\\ No newline"], (1, 1)),
    ],
)
def test_a_remark_stands_on_the_side_of_its_line(lines: list[str], sides: tuple[int, int]) -> None:
    other = Hunk(["-x", "+y"], 9, 9)  # so that there are two sides
    rows = texts(
        list(diff_rows(FileDiff("a.py", "update", [Hunk(lines, 1, 1), other]), WIDE, Palette(), Highlights(), []))
    )
    (row,) = [row for row in rows if "No newline" in row]
    assert (row[: WIDE // 2].count("No newline"), row[WIDE // 2 :].count("No newline")) == sides

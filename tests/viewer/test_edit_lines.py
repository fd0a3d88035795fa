"""A file as a session knows it: however its edits are told, what came of them turns what was into what is."""

from __future__ import annotations

import difflib
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.diffs import FileDiff, Hunk
from viewer.edits.lines import Contradiction, FileLines, Stage, differences

TEXTS = st.lists(st.sampled_from(["a", "b", "", "    return x", "call()", "}", "unlike"]), min_size=1, max_size=14)


def applied(diff: FileDiff, before: list[str]) -> list[str]:
    """What a diff makes of a text, each hunk at its number. Fails where a line of it is another one."""
    after: list[str] = []
    at = 0
    for hunk in diff.hunks:
        olds = [line[1:] for line in hunk.lines if line[:1] != "+"]
        assert hunk.old_start is not None
        start = hunk.old_start - 1 if olds else hunk.old_start
        assert hunk.new_start == len(after) + start - at + bool(hunk.new_start)
        after += before[at:start] + [line[1:] for line in hunk.lines if line[:1] != "-"]
        assert before[start : start + len(olds)] == olds
        at = start + len(olds)
    return after + before[at:]


def hunks_of(before: list[str], after: list[str], *, numbered: bool) -> list[Hunk]:
    """A change as agents record it."""
    hunks: list[Hunk] = []
    for line in list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]:
        if line.startswith("@@"):
            old, new = (int(part[1:].split(",")[0]) for part in line.split()[1:3])
            hunks.append(Hunk([], old, new) if numbered else Hunk([]))
        else:
            hunks[-1].lines.append(line)
    return hunks


@st.composite
def stories(draw: st.DrawFn) -> list[list[str]]:
    """A text, and what was made of it, version by version."""
    versions = [draw(TEXTS)]
    for _ in range(draw(st.integers(1, 5))):
        text = list(versions[-1])
        at = draw(st.integers(0, len(text)))
        text[at : at + draw(st.integers(0, 3))] = draw(st.lists(st.sampled_from(["new", "a", "", "}"]), max_size=3))
        versions.append(text)
    return versions


@given(stories(), st.randoms(use_true_random=False))
def test_numbered_edits_compose(versions: list[list[str]], chance: Random) -> None:
    """Of a file of which only the edits, or parts that were read before, are known."""
    file = FileLines()
    for before, after in pairwise(versions):
        if before and chance.random() < 0.5:
            low = chance.randrange(len(before))
            high = chance.randint(low + 1, len(before))
            file.learn(low + 1, before[low:high], ends=high == len(before))
        if before and after:
            file.apply(hunks_of(before, after, numbered=True), "edit")
        else:
            return
    stage = file.stage("f", "f")
    assert applied(stage.diff, versions[0]) == versions[-1]
    signs = [line[:1] for hunk in stage.diff.hunks for line in hunk.lines]
    assert stage.made_by == [None if sign == " " else "edit" for sign in signs]


@given(stories(), st.booleans())
def test_edits_of_a_known_file_compose(versions: list[list[str]], written: bool) -> None:
    """Whether they name the old and the new text, or write all of it anew."""
    file = FileLines()
    file.learn(1, versions[0], ends=True)
    for before, after in pairwise(versions):
        if written or not "".join(before) or not after:
            file.write(after, "edit")
        else:
            file.apply([Hunk(differences(before, after))], "edit")
        assert [line.text for run in file.view for line in run] == after
    assert applied(file.stage("f", "f").diff, versions[0]) == versions[-1]


def test_an_edit_of_a_part_of_a_line() -> None:
    file = FileLines()
    file.learn(1, ["one", "say('Hi ' + name)", "three"], ends=True)
    file.apply([Hunk(["-'Hi '", "+'Hello '"])], "edit")
    assert stage_lines(file.stage("f", "f")) == [" one", "-say('Hi ' + name)", "+say('Hello ' + name)", " three"]


def test_an_edit_everywhere() -> None:
    file = FileLines()
    file.learn(1, ["x", "y", "x"], ends=True)
    file.apply([Hunk(["-x", "+z"])], "edit", everywhere=True)
    assert [line.text for run in file.view for line in run] == ["z", "y", "z"]


def test_edits_that_undo_each_other_are_no_difference() -> None:
    file = FileLines()
    file.apply([Hunk([" a", "-b", "+c", " d"], 7, 7)], 1)
    file.apply([Hunk(["-c", "+b"])], 2)
    assert not file.stage("f", "f").diff.hunks


def test_each_line_has_the_edit_behind_it() -> None:
    file = FileLines()
    file.learn(1, ["a", "b", "c"], ends=True)
    file.apply([Hunk([" a", "-b", "+x", " c"])], 1)
    file.apply([Hunk(["-c", "+x", "+y"])], 2)
    stage = file.stage("f", "f")
    assert list(zip(stage_lines(stage), stage.made_by, strict=True)) == [
        (" a", None), ("-b", 1), ("-c", 2), ("+x", 1), ("+x", 2), ("+y", 2),
    ]  # fmt: skip


def test_edits_without_numbers_are_placed_by_what_is_read_later() -> None:
    file = FileLines()
    file.apply([Hunk([" def f():", "-    old", "+    new"])], "edit")
    assert file.stage("f", "f").open  # no line behind it is known
    file.learn(1, ["import x", "def f():", "    new", "    return 1"], ends=True)
    (hunk,) = file.stage("f", "f").diff.hunks
    assert (hunk.old_start, hunk.new_start, hunk.lines) == (
        1, 1, [" import x", " def f():", "-    old", "+    new", "     return 1"],
    )  # fmt: skip


@pytest.mark.parametrize("texts", [["a", "CHANGED", "c"], ["a", "b", "c", "d"], ["a", "b"]])
def test_what_somebody_else_changed_is_noticed(texts: list[str]) -> None:
    file = FileLines()
    file.learn(1, ["a", "b", "c"], ends=True)
    with pytest.raises(Contradiction):
        file.learn(1, texts, ends=True)


def test_a_file_that_is_written_anew_over_an_unknown_one() -> None:
    file = FileLines()
    file.learn(5, ["some", "lines"])
    file.write(["all"], "edit")
    assert file.stage("f", "f").rewritten
    file = FileLines()
    file.write(["all"], "edit")
    assert file.stage("f", "f").diff.operation == "add"


NUMBERS = st.one_of(st.none(), st.integers(0, 9), st.just(10**9))
SIGNED = st.lists(st.builds(str.__add__, st.sampled_from("+- "), st.sampled_from(["a", "b", ""])), max_size=5)
HUNKS = st.lists(st.builds(Hunk, SIGNED, NUMBERS, NUMBERS), max_size=3)
HAPPENINGS = st.one_of(
    HUNKS, st.tuples(st.integers(1, 9), st.lists(st.sampled_from("ab"), max_size=4), st.booleans()), TEXTS.map(tuple)
)


@given(st.lists(HAPPENINGS, max_size=6), st.booleans())
def test_whatever_agents_record_is_taken_or_contradicts(happenings: list[object], everywhere: bool) -> None:
    file = FileLines()
    for one in happenings:
        try:
            if isinstance(one, list):
                file.apply(one, "edit", everywhere=everywhere)
            elif isinstance(one, tuple) and one and isinstance(one[0], int):
                file.learn(one[0], one[1], ends=one[2])
            elif isinstance(one, tuple):
                file.write(one, "edit")
            else:
                file.delete()
        except Contradiction:
            file = FileLines()
    diff = file.stage("f", "f").diff
    assert all(hunk.lines and any(line[:1] != " " for line in hunk.lines) for hunk in diff.hunks)


def stage_lines(stage: Stage) -> list[str]:
    """The lines of the only hunk."""
    (hunk,) = stage.diff.hunks
    return hunk.lines

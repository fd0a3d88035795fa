from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import diffs
from schemas.diffs import (
    FileDiff,
    Hunk,
    added_file,
    diff_from_json,
    diff_to_json,
    from_strings,
    from_structured_patch,
    from_unified,
    from_v4a,
    passages_in,
    quoted_diffs,
    totals,
)

lines = st.lists(st.sampled_from(["a", "b", "c", "", "- x", "+ y", "--- z", "@@ -1 +1 @@", "\\ no"]), max_size=12)


def side(diff: FileDiff, marks: str) -> list[str]:
    """One side of a change as far as its hunks tell."""
    return [line[1:] for hunk in diff.hunks for line in hunk.lines if line[0] in marks]


@given(lines, lines)
def test_a_difference_holds_both_texts_where_it_changed(old, new):
    diff = from_strings("f", "\n".join(old) + "\n" * bool(old), "\n".join(new) + "\n" * bool(new))
    if old == new:
        assert diff.added == diff.removed == 0
        return
    # What is on neither side's hunks is the same in both texts.
    assert diff.removed - diff.added == len(old) - len(new)
    if len(old) + len(new) <= 6:  # three lines of context reach over all of it
        assert side(diff, " -") == old
        assert side(diff, " +") == new


@given(lines, lines)
def test_every_line_of_a_hunk_has_its_mark(old, new):
    diff = from_strings("f", "\n".join(old), "\n".join(new))
    assert all(line[:1] in (" ", "+", "-") and "\n" not in line for hunk in diff.hunks for line in hunk.lines)


@given(st.lists(st.text(st.sampled_from("+- a\\\n\r\t\x1b\u2028"), max_size=6), max_size=6))
def test_every_line_of_a_patch_has_its_mark(lines):
    diff = from_structured_patch("f", [{"lines": lines}])
    assert diff is not None
    assert all(line[:1] in (" ", "+", "-") and "\n" not in line for line in diff.hunks[0].lines)


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("+a\r", ["+a"]),
        ("-a\nb", ["-a", "-b"]),
        ("\t// A", [" \t// A"]),
        ("", [" "]),
        ("\n\n", [" ", " "]),
        ("+", ["+"]),
        ("+a\n\n", ["+a", "+"]),
    ],
)
def test_a_line_of_a_patch_that_is_none(line, lines):
    diff = from_structured_patch("f", [{"lines": [line]}])
    assert diff is not None
    assert diff.hunks[0].lines == lines


def test_a_huge_change_is_not_compared(monkeypatch):
    monkeypatch.setattr(diffs, "_SIDE_BY_SIDE_LIMIT", 3)
    assert from_strings("f", "a\nb\n", "a\nc\n").hunks[0].lines == ["-a", "-b", "+a", "+c"]


def test_a_new_file_is_all_added():
    diff = added_file("a.py", "one\ntwo\n")
    assert (diff.operation, diff.added, diff.removed) == ("add", 2, 0)
    assert diff.unified() == "--- /dev/null\n+++ b/a.py\n@@ -0,0 +1,2 @@\n+one\n+two\n"


def test_an_empty_new_file():
    assert added_file("a.py", "").unified() == "--- /dev/null\n+++ b/a.py\n"


def test_claude_codes_patch():
    patch = [
        {"oldStart": 38, "oldLines": 2, "newStart": 38, "newLines": 2, "lines": [" a", "-b", "+c", "\\ No newline"]}
    ]
    diff = from_structured_patch("/w/db.py", patch)
    assert diff == FileDiff("/w/db.py", "update", [Hunk([" a", "-b", "+c"], 38, 38)])
    assert diff.unified().split("\n")[:3] == ["--- a/w/db.py", "+++ b/w/db.py", "@@ -38,2 +38,2 @@"]


@pytest.mark.parametrize("patch", [None, "x", [1], [{"lines": "x"}], [{}]])
def test_what_is_no_patch_is_none(patch):
    assert from_structured_patch("f", patch) is None


def test_a_place_that_is_no_number_is_unknown():
    diff = from_structured_patch("f", [{"oldStart": "7", "newStart": -1, "lines": ["+a", 5]}])
    assert diff is not None
    assert diff.hunks == [Hunk(["+a"], None, None)]


@given(st.lists(st.tuples(lines, lines), min_size=1, max_size=1))
def test_a_unified_diff_is_read_back(pairs):
    ((old, new),) = pairs
    diff = from_strings("f.py", "\n".join(old), "\n".join(new))
    back = from_unified("f.py", diff.unified())
    trimmed = [re.sub(r"(\n )+$", "", "\n".join(hunk.lines)) for hunk in diff.hunks]
    assert ["\n".join(hunk.lines) for hunk in back.hunks] == trimmed


def test_apply_patch():
    patch = """<<'EOF'
*** Begin Patch
*** Add File: new.py
+one
*** Update File: old.py
*** Move to: moved.py
@@ def f():
 keep
-gone
+come

@@
+more
*** Delete File: dead.py
*** End Patch
*** Add File: not.py
"""
    added, moved, deleted = from_v4a(patch)
    assert (added.path, added.operation, added.hunks) == ("new.py", "add", [Hunk(["+one"], 0, 1)])
    assert (moved.path, moved.renamed_to, moved.operation) == ("old.py", "moved.py", "move")
    assert [hunk.lines for hunk in moved.hunks] == [[" keep", "-gone", "+come", " "], ["+more"]]
    assert (deleted.path, deleted.operation, deleted.hunks) == ("dead.py", "delete", [])
    assert totals([added, moved, deleted]) == (3, 1)


@given(st.text(max_size=60))
def test_any_text_is_survived(text):
    from_v4a("*** Begin Patch\n*** Update File: x\n" + text)
    from_unified("f", "@@ -1 +1 @@\n" + text)
    from_strings(text, text, text + "x")
    quoted_diffs("-a\n" + text)
    list(passages_in("--- a\n+++ b\n@@ -1 +1 @@\n" + text))
    list(passages_in("diff --git a/a b/b\n" + text))


hunk_lines = st.lists(st.tuples(st.sampled_from(" +-"), st.text("ab+-@", max_size=3)).map("".join), min_size=1)
files = st.builds(
    FileDiff,
    st.sampled_from(["a.py", "dir/b c.txt"]),
    hunks=st.lists(st.builds(Hunk, hunk_lines, st.integers(1, 99), st.integers(1, 99)), min_size=1, max_size=3),
)
noise = st.lists(st.sampled_from(["text", "", "+ listed", "- listed", "@@ no", "diff --git", "*** x"]), max_size=3)


@given(st.lists(st.tuples(noise, files), max_size=3), noise)
def test_differences_are_found_where_they_begin_and_end(parts, rest):
    diffs = [diff for _, diff in parts if diff.added or diff.removed]  # without a change it is none
    text = "\n".join(line for before, diff in parts for line in (*before, diff.unified().rstrip("\n")))
    text = "\n".join([text, *rest] if parts else rest)
    passages = list(passages_in(text))
    assert "\n".join(text[one.start : one.end] for one in passages) == text.removesuffix(
        "\n" * (passages[-1].end < len(text))
    )
    found = [one for one in passages if one.diff]
    assert [text[one.start : one.end] + "\n" for one in found] == [diff.unified() for diff in diffs]
    assert [text[one.head :].partition("\n")[0] for one in found] == [""] * len(diffs)
    for one, diff in zip(found, diffs, strict=True):
        assert one.diff.path == diff.path
        assert [hunk.lines for hunk in one.diff.hunks] == [hunk.lines for hunk in diff.hunks]


CHANGED = "@@ -1 +1 @@ def f():\n-a\n+b"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (f"diff --git a/x y b/x y\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/x y\n{CHANGED}", "add x y"),
        (f"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n{CHANGED}", "delete x"),
        (f"diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n{CHANGED}", "move x → y"),
        ("diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y", "copy x → y"),
        (f"--- old/x\t2026-01-01 00:00\n+++ new/x\t2026-01-02 00:00\n{CHANGED}", "old/x → new/x"),
        (f"--- a/x\n+++ b/x\n{CHANGED}", "x"),
        (f"--- a/x\n+++ /dev/null\n{CHANGED}", "delete x"),
        (f"diff --git a/x b/long\nindex 1..2\n--- a/x\n+++ b/long\n{CHANGED}", "x → long"),  # --no-index
        ("diff --git a/x b/x\nold mode 100644\nnew mode 100755", "x, mode 100644 → 100755"),
        ("diff --git a/x b/x\nnew file mode 100644\nindex 0..e69", "add x"),
        (f"diff --git i/x w/x\nindex 1..2\n--- i/x\n+++ w/x\n{CHANGED}", "x"),
        (f"diff --git i/x y i/x y\nindex 1..2\n--- i/x y\n+++ i/x y\n{CHANGED}", "i/x y"),
        ("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ", "x, binary"),
        (
            'diff --git "a/\\346\\227\\245" b/y\nold mode 100644\nnew mode 100755\nsimilarity index 60%\n'
            'rename from "\\346\\227\\245"\nrename to y\nindex 1..2\nBinary files a/x and b/y differ',
            "move 日 → y, mode 100644 → 100755, binary",
        ),
    ],
)
def test_what_git_says_of_a_file(text, title):
    before, found, after = passages_in(f"commit 1\n\n{text}\n\ncommit 2")
    assert (found.diff.title, before.diff, after.diff) == (title, None, None)
    assert [hunk.heading for hunk in found.diff.hunks] == [" def f():"] * ("@@" in text)


@pytest.mark.parametrize(
    "text",
    [
        " a.py | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)",
        "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\nindex 1..2\n--- a/x\n+++ b/y\n"
        "@@ -1,3 +1,3 @@\n  one\n  [-two-]{+three+}\n  four",  # each line begins with a blank of its own
        "diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n[-a-]{+b+}",
        "diff --cc x\nindex 1,2..3\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,2 @@@\n -a\n++b",
        "diff --git a/x b/x\nindex 1..2 100644",
    ],
)
def test_what_is_told_otherwise_stays_text(text):
    assert [one.diff for one in passages_in(text)] == [None]


@pytest.mark.parametrize(
    "changed",
    [
        "@@ -1,2 +1,2 @@\n[-a-]{+b+}\nc",  # --word-diff
        "@@ -1,4 +1,4 @@\n- [-a-]{+b+}\n- c",  # of a list, and broken off
        "@@ -1,2 +1,2 @@\na b\nc",  # --color-words, without its colours
        "@@ -1,2 +1,2 @@\n a\n-b\n+c\n d\n~\n e\n~",  # --word-diff=porcelain
        "@@ -1 +1 @@\n-a\n+b\n~",
        "@@ -0,0 +1 @@\n+b\n~",
    ],
)
def test_a_text_that_tells_changes_by_word_is_not_cut(changed):
    parts = (
        "diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ",
        f"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n{changed}",
        "diff --git a/m b/m\nold mode 100644\nnew mode 100755",
        "diff --git a/o b/n\nsimilarity index 100%\nrename from o\nrename to n",
        "diff --git a/e b/e\nnew file mode 100644\nindex 0..e69",
    )
    for text in ("\n".join((*parts[:1], *parts[2:], parts[1])), "\n".join(parts)):
        assert [one.diff for one in passages_in(text)] == [None]
    assert len([one for one in passages_in("\n".join((*parts[:1], *parts[2:]))) if one.diff]) == 4


def test_a_line_without_its_end():
    text = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n\\ No newline at end of file\n+b\n+c\n\\ No newline at end of file"
    (found,) = passages_in(text)
    assert found.diff is not None and (found.diff.added, found.diff.removed) == (2, 1)
    assert found.diff.unified().rstrip("\n") == text.replace("-1 +", "-1,1 +")
    assert quoted_diffs(text) == [found.diff]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (r'"b/\346\227\245.txt"', "日.txt"),
        (r'"b/a\tb\"c\\d"', 'a\tb"c\\d'),
        (r'"b/\999"', "999"),
        ("b/plain", "plain"),
        ('"', '"'),
    ],
)
def test_a_name_that_git_quotes(name, path):
    (diff,) = quoted_diffs(f"--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x")
    assert diff.path == path


def test_escapes_do_not_get_through():
    for diff in (
        from_strings("\x1b[2Jf", "a", "\x1b]0;x\x07b"),
        *from_v4a("*** Add File: \x1b[2Jf\n+\x1b[2Jb"),
        from_unified("\x1b[2Jf", "@@ -1 +1 @@\n+\x1b[2Jb"),
    ):
        assert "\x1b" not in diff.unified()


@given(
    st.text("ab/", min_size=1, max_size=5),
    st.sampled_from(["add", "update", "delete", "move"]),
    st.lists(
        st.builds(
            Hunk,
            st.lists(st.tuples(st.sampled_from(" +-"), st.text("ab", max_size=3)).map("".join), max_size=4),
            st.none() | st.integers(0, 99),
            st.none() | st.integers(0, 99),
        ),
        max_size=3,
    ),
    st.none() | st.text("cd", min_size=1, max_size=3),
)
def test_json_keeps_a_diff(path, operation, hunks, renamed):
    diff = FileDiff(path, operation, hunks, renamed)
    assert diff_from_json(diff_to_json(diff)) == diff


@pytest.mark.parametrize("data", [None, [], {}, {"path": 5}])
def test_what_is_no_diff_is_none(data):
    assert diff_from_json(data) is None

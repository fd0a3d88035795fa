"""Places behind a target. That each place is found again is a law of every session (tests/schemas/conformance.py)."""

from __future__ import annotations

import pytest

from renderers.places import split_place


@pytest.mark.parametrize(
    ("typed", "split"),
    [
        ("4f2a#3", ("4f2a", "#3")),
        ("4f2a#3.2", ("4f2a", "#3.2")),
        ("latest#0.1", ("latest", "#0.1")),
        ("a/b.jsonl#3~1.2", ("a/b.jsonl", "#3~1.2")),
        ("4f2a#3-5", ("4f2a", "#3-5")),
        ("4f2a#0-3~1", ("4f2a", "#0-3~1")),
        ("4f2a#3-5.2", ("4f2a#3-5.2", "")),
        ("opencode.db#ses_1", ("opencode.db#ses_1", "")),
        ("opencode.db#ses_1#2", ("opencode.db#ses_1", "#2")),
        ("#3", ("#3", "")),
        ("4f2a#", ("4f2a#", "")),
        ("4f2a#3.", ("4f2a#3.", "")),
    ],
)
def test_a_target_and_its_place_are_told_apart(typed: str, split: tuple[str, str]) -> None:
    assert split_place(typed) == split

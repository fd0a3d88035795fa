"""Copilot CLI: the name in a workspace's file."""

from __future__ import annotations

import pytest

from schemas.providers.copilot import name_in


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("id: x\nname: Lamp: shop\ncwd: /", "Lamp: shop"),
        ("name: 'it''s lit'\n", "it's lit"),
        ('name: "a \\"b\\" \\u00e9"\n', 'a "b" é'),
        ("name: |-\n  first\n  second\n\n  third\nuser_named: false\n", "first second third"),
        ("name: Please do\n  more of it\nid: x\n", "Please do more of it"),
        ("name:\nid: x\n", ""),
        ("id: x\n", ""),
    ],
)
def test_name_in_a_workspace(text: str, name: str) -> None:
    assert name_in(text) == name

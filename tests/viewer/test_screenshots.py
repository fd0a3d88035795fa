from __future__ import annotations

import re
from pathlib import Path
from runpy import run_path

import pytest

from viewer.demo import demo_home

SCRIPT = Path(__file__).parents[2] / "screenshots" / "take.py"


@pytest.mark.parametrize("name", ["sessions", "diff", "follow"])
async def test_a_picture_loads_nothing_and_shows_the_app(name: str) -> None:
    take = run_path(str(SCRIPT))
    with demo_home(take["NOW"]) as env:
        svg = await take[name](env, (80, 24))
    assert "@font-face" not in svg
    assert not re.search(r"""(href|src)=|url\((?!#)""", svg)
    text = re.sub(r"<[^>]*>", "", svg)
    assert {"sessions": "type to filter", "diff": "tomorrow = midnight", "follow": "new since 20:22"}[name] in text


def test_every_picture_is_there_in_both_sizes() -> None:
    shown = {path.stem for path in SCRIPT.parent.glob("*.svg")}
    names = (
        "sessions", "transcript", "reading", "outline", "diff", "lines", "follow", "find", "watch", "export", "why",
        "changes", "traced", "compare", "image",
    )  # fmt: skip
    assert shown == {f"{name}-{size}" for name in names for size in ("140x45", "80x24")} | {"diff-200x60"}

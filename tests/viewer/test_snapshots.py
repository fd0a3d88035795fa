"""What the screens show of the demo, as text, at two sizes: the same scenes as in screenshots/.

`pytest --snapshot-update` takes them anew after a change that is meant; look at the difference.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App

from viewer.demo import demo_home

SCRIPT = Path(__file__).parents[2] / "screenshots" / "take.py"


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times on the screen are local ones."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def screen_text(app: App[None]) -> str:
    """The screen's characters, the blanks at the ends of its lines apart."""
    strips = app.screen._compositor.render_strips()
    # The mark says when it was set, by the machine's clock.
    return re.sub(r"new since \d\d:\d\d", "new since 20:22", "\n".join(strip.text.rstrip() for strip in strips))


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the time zone cannot be set here")
@pytest.mark.parametrize("size", [(80, 24), (140, 45)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", ["sessions", "transcript", "reading", "outline", "diff", "follow", "find", "watch"])
async def test_screen(name: str, size: tuple[int, int], snapshot: SnapshotAssertion) -> None:
    take = run_path(str(SCRIPT))
    shot = take[name]
    shot.__globals__["picture"] = screen_text
    with demo_home(take["NOW"]) as env:
        text = await shot(env, size)
    assert text.count("\n") == size[1] - 1
    assert text == snapshot

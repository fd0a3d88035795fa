"""Takes the pictures in this folder from the real app, over the demo's sessions: `make screenshots`.

The clock is fixed and the size is given, so the same program makes the same pictures. They load nothing from elsewhere:
the remote fonts that Rich names are dropped, a reader's own monospace font is used.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))
# Times on the pictures are local: without this they would depend on where they are taken.
os.environ["TZ"] = "UTC"
if hasattr(time, "tzset"):
    time.tzset()

from schemas.provider import Environment  # noqa: E402
from viewer.app import TurnlogApp  # noqa: E402
from viewer.bindings import Config  # noqa: E402
from viewer.demo import demo_home, demo_library, demo_session  # noqa: E402
from viewer.demo.live import LiveWriter  # noqa: E402
from viewer.demo.make import DIRECTORY  # noqa: E402
from viewer.follow import Follower  # noqa: E402
from viewer.screens.browser import BrowserScreen  # noqa: E402
from viewer.screens.transcript import TranscriptScreen  # noqa: E402

NOW = 1_780_000_000.0
SIZES = ((140, 45), (80, 24))
Shot = Callable[[Environment, tuple[int, int]], Awaitable[str]]


def picture(app: TurnlogApp) -> str:
    """The screen as an SVG that loads nothing and is the same each time."""
    svg = app.export_screenshot()
    svg = re.sub(r"@font-face\s*\{[^}]*\}", "", svg)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace")
    # Rich numbers its classes by a hash of the text.
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    # Some programs drop a no-break space at the start of a text, and with it the text's place.
    return svg.replace("<text class", '<text xml:space="preserve" class').replace("&#160;", " ")


async def sessions(env: Environment, size: tuple[int, int]) -> str:
    """The list."""
    _write_live(env, NOW - 100)
    library = demo_library(env)
    library.bring_up_to_date()
    app = TurnlogApp(Config(theme="turnlog-dark"))
    app.start_with(BrowserScreen(library, DIRECTORY, lambda: NOW))
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.5)
        return picture(app)


async def _transcript(path: Path, size: tuple[int, int], *keys: str, follow: bool = False, theme: str = "dark") -> str:
    app = TurnlogApp(Config(theme=f"turnlog-{theme}"))
    app.start_with(TranscriptScreen(Follower(path, from_end=follow), follow=follow))
    async with app.run_test(size=size) as pilot:
        await pilot.pause(1.0)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.05)
        await pilot.pause(0.5)
        return picture(app)


async def transcript(env: Environment, size: tuple[int, int]) -> str:
    """The main session, from its beginning."""
    return await _transcript(demo_session(env), size, "g")


async def diff(env: Environment, size: tuple[int, int]) -> str:
    """Where the code is changed."""
    return await _transcript(demo_session(env), size, "g", "/", *"tomorrow = midnight", "enter", theme="light")


async def follow(env: Environment, size: tuple[int, int]) -> str:
    """A session that is being written."""
    return await _transcript(_write_live(env, NOW - 300), size, follow=True)


def _write_live(env: Environment, begun: float) -> Path:
    """The live session, told to its end in no time; its file is fresh, so it counts as being written."""
    ticks = count(begun, 2.5)
    writer = LiveWriter(env.home, pace=0.0, clock=lambda: next(ticks))
    writer.start()
    writer.join()
    return writer.path


async def main() -> None:
    """Write every picture in both sizes."""
    shots: dict[str, Shot] = {"sessions": sessions, "transcript": transcript, "diff": diff, "follow": follow}
    for name, shot in shots.items():
        for size in SIZES:
            with demo_home(NOW) as env:
                svg = await shot(env, size)
            path = FOLDER / f"{name}-{size[0]}x{size[1]}.svg"
            path.write_text(svg, "utf-8")
            print(path.relative_to(FOLDER.parent))


if __name__ == "__main__":
    asyncio.run(main())

"""Takes the pictures in this folder from the real app, over the demo's sessions: `make screenshots`.

The clock is fixed and the size is given, so the same program makes the same pictures. They load nothing from elsewhere:
the remote fonts that Rich names are dropped, a reader's own monospace font is used.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import struct
import subprocess
import sys
import time
import zlib
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent))

from textual.screen import Screen  # noqa: E402

from schemas.message import Part  # noqa: E402
from schemas.opening import read_session  # noqa: E402
from schemas.provider import Environment  # noqa: E402
from viewer.demo import DIRECTORY, demo_home, demo_library, demo_session  # noqa: E402
from viewer.demo.live import LiveWriter, iso, steps  # noqa: E402
from viewer.edits.history import repository_of  # noqa: E402
from viewer.edits.session import changes_of  # noqa: E402
from viewer.edits.trace import trace  # noqa: E402
from viewer.follow.follower import Follower  # noqa: E402
from viewer.screens.app import TurnlogApp  # noqa: E402
from viewer.screens.browser import BrowserScreen  # noqa: E402
from viewer.screens.compare import CompareScreen  # noqa: E402
from viewer.screens.config_keys import Config  # noqa: E402
from viewer.screens.diff import DiffScreen  # noqa: E402
from viewer.screens.filter import Filter  # noqa: E402
from viewer.screens.image import ImageScreen  # noqa: E402
from viewer.screens.trace import TraceScreen  # noqa: E402
from viewer.screens.transcript import TranscriptScreen  # noqa: E402
from viewer.screens.watch import WatchScreen  # noqa: E402
from viewer.usage.costs import load  # noqa: E402
from viewer.watch.tiles import Watch  # noqa: E402
from viewer.widgets.hits import HitList  # noqa: E402

NOW = 1_780_000_000.0
CLOCK = SimpleNamespace(time=lambda: NOW)
SIZES = ((140, 45), (80, 24))
WIDE = (200, 60)
"""Where differences stand side by side."""
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
    # Its file and its records are fresh, so it counts as being written.
    _live(env, NOW - 100).tell(1000)
    library = demo_library(env)
    library.bring_up_to_date()
    app = TurnlogApp(Config(theme="turnlog-dark"))
    app.start_with(BrowserScreen(library, DIRECTORY, lambda: NOW))
    with patch("viewer.sessions.freshness.time", CLOCK):
        async with app.run_test(size=size) as pilot:
            await pilot.pause(1.0)
            shown, before = picture(app), ""
            while shown != before or (size[0] >= 100 and "$" not in shown):  # costs come when prices are loaded
                await pilot.pause(0.3)
                shown, before = picture(app), shown
            return shown


async def _transcript(path: Path, size: tuple[int, int], *keys: str, theme: str = "dark") -> str:
    app = TurnlogApp(Config(theme=f"turnlog-{theme}"))
    app.start_with(TranscriptScreen(Follower(path)))
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


async def reading(env: Environment, size: tuple[int, int]) -> str:
    """Within a long exchange: its prompt on top, the outline beside."""
    return await _transcript(demo_session(env), size, "g", "space", "space", *"jjj", theme="light")


async def outline(env: Environment, size: tuple[int, int]) -> str:
    """The outline, narrowed: beside the text, or the dialog."""
    return await _transcript(demo_session(env), size, "g", "]", "tab", *"change")


async def diff(env: Environment, size: tuple[int, int]) -> str:
    """Where the code is changed."""
    return await _transcript(demo_session(env), size, "g", "/", *"tomorrow = midnight", "enter", theme="light")


async def lines(env: Environment, size: tuple[int, int]) -> str:
    """Lines of a file that the agent read."""
    return await _transcript(demo_session(env), size, "g", "/", *"iCalendar", "enter", "escape")


async def export(env: Environment, size: tuple[int, int]) -> str:
    """The export dialog."""
    return await _transcript(demo_session(env), size, "g", "]", "e", *["up"] * 4, "left", "left")


async def why(env: Environment, size: tuple[int, int]) -> str:
    """Where tokens and money of an exchange went."""
    return await _transcript(demo_session(env), size, "g", "w", theme="light")


async def follow(env: Environment, size: tuple[int, int]) -> str:
    """A session that is being written, with the mark where the new begins."""
    writer = _live(env, NOW - 300)
    writer.tell(20)
    app = TurnlogApp(Config(theme="turnlog-dark"))
    app.start_with(TranscriptScreen(Follower(writer.path, from_end=True), follow=True))
    with patch("viewer.sessions.freshness.time", CLOCK):
        async with app.run_test(size=size) as pilot:
            await pilot.pause(1.0)
            writer.tell(12)
            await pilot.pause(1.0)
            # The mark says when it was set, by the machine's clock.
            return re.sub(r"new since \d\d:\d\d", "new since 20:22", picture(app))


async def watch(env: Environment, size: tuple[int, int]) -> str:
    """The sessions that run."""
    _live(env, NOW - 100).tell(1000)
    question = {"question": "Which database should the tests use?", "options": ["postgres", "sqlite", "both"]}
    _run(env, 4001, "lamp-shop", "fix/migrate", "waiting", 130, 20, "AskUserQuestion", {"questions": [question]})
    _run(env, 4002, "importer", "main", "busy", 41, 12, "Bash", {"command": "pytest -q tests/test_import.py"})
    _run(env, 4003, "lamp-shop-web", "dark-mode", "busy", 9, 7, "Read", {"file_path": "/home/dev/src/theme.ts"})
    app = TurnlogApp(Config(theme="turnlog-dark"))
    watch = Watch(env, env.home / "proc", lambda: NOW)
    app.start_with(WatchScreen(watch, lambda: NOW))
    with patch("viewer.sessions.freshness.time", CLOCK):
        async with app.run_test(size=size) as pilot:
            before: object = None
            for _ in range(100):  # until it is known what all of them cost, and nothing new is told of them
                await pilot.pause(0.1)
                if watch.tiles and watch.tiles == before and all(tile.cost is not None for tile in watch.tiles):
                    break
                before = watch.tiles
            await pilot.pause(0.3)
            return picture(app)


async def find(env: Environment, size: tuple[int, int]) -> str:
    """The search over all sessions."""
    library = demo_library(env)
    library.bring_up_to_date()
    app = TurnlogApp(Config(theme="turnlog-light"))
    app.start_with(BrowserScreen(library, DIRECTORY, lambda: NOW))
    # However long it takes here, the picture is the same.
    with patch("viewer.screens.find.perf_counter", count(0, 0.004).__next__):
        async with app.run_test(size=size) as pilot:
            await pilot.press("/")
            await pilot.pause(1.0)
            app.screen.query_one(Filter).value = "test"
            hits = app.screen.query_one(HitList)
            while hits.current is None or hits.wanted():
                await pilot.pause(0.1)
            await pilot.press("down")
            await pilot.pause(0.5)
            return picture(app)


async def _above(screen: Screen[None], size: tuple[int, int], *keys: str, theme: str) -> str:
    """A screen over nothing."""
    app = TurnlogApp(Config(theme=f"turnlog-{theme}"))
    app.start_with(screen)
    async with app.run_test(size=size) as pilot:
        await pilot.pause(1.0)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.1)
        await pilot.pause(1.0)
        return picture(app)


async def changes(env: Environment, size: tuple[int, int]) -> str:
    """What a session changed in files."""
    return await _above(DiffScreen(demo_session(env)), size, *["down"] * 5, theme="dark")


async def traced(env: Environment, size: tuple[int, int]) -> str:
    """A file whose lines are traced: one that a session of the demo wrote, and a person went on with."""
    library = demo_library(env)
    library.bring_up_to_date()
    path = next(summary.path for summary in library.all() if "Retry-After" in summary.title)
    with closing(read_session(path)) as session:
        file = next(file for file in changes_of(session).files if file.path == "src/retry.ts")
    written = [line[1:] for hunk in file.diffs[0].hunks for line in hunk.lines]
    root = env.home / "postbox"
    (root / "src").mkdir(parents=True)
    (root / "src/retry.ts").write_text("\n".join([*written, "", "export const FOR_EVER = Infinity;", ""]))
    when = {f"GIT_{who}_DATE": f"{int(NOW)} +0000" for who in ("AUTHOR", "COMMITTER")}
    git = ["git", "-c", "user.name=Dana", "-c", "user.email=dana@example.com", "-C", str(root)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Wait as Retry-After says"]):
        subprocess.run([*git, *words], env=os.environ | when, check=True)
    found = trace(repository_of(root / "src/retry.ts"), "src/retry.ts", library, lambda done, total: None, [])
    addresses = {origin: f"{origin.id[:8]}{origin.edit.place}" for line in found for origin in line.origins}
    with (
        patch("viewer.edits.words.time", CLOCK),
        patch("viewer.edits.words.short_path", lambda path: f"~/…/{path.name}"),
    ):
        return await _above(TraceScreen("src/retry.ts", found, addresses), size, *["down"] * 8, theme="light")


async def compare(env: Environment, size: tuple[int, int]) -> str:
    """Two sessions beside each other."""
    library = demo_library(env)
    library.bring_up_to_date()
    found = {summary.title: summary.path for summary in library.all()}
    one, other = (path for title, path in sorted(found.items()) if "Reykjav" in title or title.startswith("README"))
    return await _above(CompareScreen(one, other), size, theme="dark")


async def image(env: Environment, size: tuple[int, int]) -> str:
    """An image, in the half cells that stand for pixels where a terminal draws none."""
    part = Part("image", "", media_type="image/png", data=b64encode(_tides(480, 270)).decode())
    from textual_image import widget

    with patch.object(widget, "Image", widget.HalfcellImage):  # it would ask a terminal, and there is none
        return await _above(ImageScreen([part], "tides"), size, theme="dark")


def _tides(width: int, height: int) -> bytes:
    """A PNG of the tides of two days, the water below the line in the colour of its depth."""
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            level = height * (0.45 + 0.28 * math.sin(x / width * 8 * math.pi) * (1 - 0.3 * x / width))
            depth = (y - level) / height
            steps = int(8 * depth)  # few colours, or the picture would be large
            water = (30, 110 - 12 * steps, 190 - 16 * steps)
            rows += bytes((235, 203, 139) if abs(depth) < 0.012 else (40, 44, 52) if depth < 0 else water)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _run(
    env: Environment, pid: int, project: str, branch: str, status: str, age: float, some: int, tool: str, given: object
) -> None:
    """Lay out a session whose last record is a tool use, so many seconds old, with its registry and its process."""
    session = f"{pid:08}-0000-4000-8000-000000000000"
    root = {"sessionId": session, "cwd": f"/home/dev/{project}", "gitBranch": branch}
    records = [record for _, record in steps() if record.get("type") in ("user", "assistant")][:some]
    last = next(record for record in reversed(records) if record["type"] == "assistant")
    use = {"type": "tool_use", "id": "toolu_last", "name": tool, "input": given}
    message = last["message"] | {"id": "msg_last", "content": [use]}
    records.append(last | {"message": message, "uuid": "last", "parentUuid": records[-1]["uuid"]})
    told = [iso(datetime.fromtimestamp(NOW - age - 3 * (len(records) - n - 1), UTC)) for n in range(len(records))]
    path = env.home / ".claude/projects" / f"-home-dev-{project}" / f"{session}.jsonl"
    path.parent.mkdir(parents=True)
    rows = (json.dumps(record | root | {"timestamp": when}) for record, when in zip(records, told, strict=True))
    path.write_text("".join(f"{row}\n" for row in rows).replace("/home/dev/src/tidewatch", f"/home/dev/{project}"))
    os.utime(path, (NOW - age, NOW - age))
    registry, process = env.home / ".claude/sessions", env.home / "proc" / str(pid)
    registry.mkdir(exist_ok=True)
    process.mkdir(parents=True)
    stated = {"pid": pid, "sessionId": session, "procStart": "100", "status": status, "waitingFor": "input needed"}
    (registry / f"{pid}.json").write_text(json.dumps(stated | {"statusUpdatedAt": (NOW - age) * 1000}))
    (process.parent / "uptime").write_text("9000.0 0\n")
    (process / "stat").write_text(f"{pid} (claude) S 1 {'0 ' * 17}100 0\n")
    (process / "cmdline").write_text("claude\0")


def _live(env: Environment, begun: float) -> LiveWriter:
    """The writer of the live session, its records two seconds and a half apart."""
    ticks = count(begun, 2.5)
    return LiveWriter(env.home, clock=lambda: next(ticks))


async def main() -> None:
    """Write every picture in both sizes."""
    # Times on the pictures are local: without this they would depend on where they are taken.
    os.environ["TZ"] = "UTC"
    time.tzset()
    load()  # costs are there from the start
    shots: dict[str, Shot] = {
        "sessions": sessions,
        "transcript": transcript,
        "reading": reading,
        "outline": outline,
        "diff": diff,
        "lines": lines,
        "follow": follow,
        "export": export,
        "why": why,
        "find": find,
        "watch": watch,
        "changes": changes,
        "traced": traced,
        "compare": compare,
        "image": image,
    }
    for name, shot in shots.items():
        for size in (*SIZES, *[WIDE] * (name == "diff")):
            with demo_home(NOW) as env:
                svg = await shot(env, size)
            path = FOLDER / f"{name}-{size[0]}x{size[1]}.svg"
            path.write_text(svg, "utf-8")
            print(path.relative_to(FOLDER.parent))


if __name__ == "__main__":
    asyncio.run(main())

"""Images of a block: what is said of them, drawn if textual-image is there, and written to files."""

from __future__ import annotations

import base64
import io
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.schemas.test_images import GIF, PNG
from tests.viewer.machine import Machine
from tests.waiting import until
from viewer.follow.follower import Follower
from viewer.screens import image as images
from viewer.screens.app import TurnlogApp
from viewer.screens.image import ImageScreen
from viewer.screens.transcript import TranscriptScreen
from viewer.widgets.chrome import TitleBar


def session(folder: Path, *data: str) -> Path:
    """A session whose prompt has images."""
    path = Machine(folder).session("11111111-1111-4111-8111-111111111111", ["Look", "I see."])
    first, *rest = path.read_text().splitlines()
    record = json.loads(first)
    blocks = [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": one}} for one in data]
    record["message"]["content"] = [{"type": "text", "text": "Look"}, *blocks]
    path.write_text("\n".join([json.dumps(record), *rest, ""]))
    return path


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Pilot[None]]:
    """The images of the first block."""
    app = TurnlogApp()
    app.start_with(TranscriptScreen(Follower(path)))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("g", "i")
        yield pilot


def said(pilot: Pilot[None]) -> str:
    """What stands in place of a picture."""
    return "".join(str(one.content) for one in pilot.app.screen.query_one("#picture").query(Static))


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("data", "facts", "words"),
    [
        (text(PNG), "image/png · 640 x 480 · 29 B", "cannot be drawn: "),
        (text(PNG[:16] + b"\xff" * 8), "4294967295 x 4294967295 · 24 B", "too large"),
        (text(b"%PDF-1.7"), "image 1 of 1 · image/png · 8 B", "no PNG, JPEG, GIF or WebP"),
        ("A", "image 1 of 1 · image/png", "no base64"),
    ],
)
async def test_bad_images_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str, facts: str, words: str
) -> None:
    monkeypatch.setattr(images, "is_installed", lambda: True)
    async with opened(session(tmp_path, data)) as pilot:
        await until(pilot, lambda: words in said(pilot))
        screen = pilot.app.screen
        assert isinstance(screen, ImageScreen) and facts in str(screen.query_one(TitleBar).left)
        screen._deaf_until = time.monotonic() + 60  # as after the terminal was asked
        await pilot.press("q")
        assert pilot.app.screen is screen
        screen._deaf_until = 0.0
        await pilot.press("q")
        assert isinstance(pilot.app.screen, TranscriptScreen)


async def test_without_the_extra_it_is_named_and_written_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "find_spec", lambda name: None)
    async with opened(session(tmp_path, text(GIF), text(PNG))) as pilot:
        await until(pilot, lambda: "extra `images`" in said(pilot))
        await pilot.press("n", "e")
        box = pilot.app.screen.query_one("#path", Input)
        assert box.value == "image-11111111-1111-0-2.png"
        box.value = str(tmp_path / "two.png")
        await pilot.press("enter")
        await until(pilot, (tmp_path / "two.png").exists)
        assert (tmp_path / "two.png").read_bytes() == PNG
        assert isinstance(pilot.app.screen, ImageScreen)


async def test_a_block_without_images_says_so_and_nothing_is_imported(tmp_path: Path) -> None:
    async with opened(session(tmp_path)) as pilot:
        assert isinstance(pilot.app.screen, TranscriptScreen)
        assert [note.message for note in pilot.app._notifications] == ["The block under the cursor has no image."]


async def test_drawn(tmp_path: Path) -> None:
    """With the extra: in cells, where no terminal says that it can more."""
    pytest.importorskip("textual_image")
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (64, 48), "red").save(file, "PNG")
    async with opened(session(tmp_path, text(file.getvalue()), "A")) as pilot:
        await until(pilot, lambda: bool(pilot.app.screen.query("#picture > *")) and not said(pilot))
        (widget,) = pilot.app.screen.query("#picture > *")
        assert type(widget).__module__.startswith("textual_image")
        await until(pilot, lambda: widget.size.area > 0)
        await pilot.press("n")
        await until(pilot, lambda: "no base64" in said(pilot))

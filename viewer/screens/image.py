"""The images of a message, one at a time: drawn where the terminal can, by textual-image if that is installed."""

from __future__ import annotations

import mimetypes
import sys
import time
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from renderers.facts import format_size
from schemas.clean import one_line
from schemas.images import image_bytes, picture_of
from schemas.message import Part
from viewer.screens.program import aside, program
from viewer.widgets.chrome import TitleBar

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_PIXELS = 40_000_000
"""Pixels of an image that is decoded: 160 MB of memory."""
_SHOWN = 1600, 1200
"""Pixels to which it is scaled down before it is drawn: drawing takes as long as there are pixels."""
_WIDGET = "textual_image.widget"
_DEAF = 1.0
"""Seconds after the question to the terminal."""
_DAMAGED = "The image is damaged: it is no base64."
_ABSENT = "Images are drawn where turnlog is installed with its extra `images`, which brings textual-image."


class ImageScreen(Screen[None]):
    """The images `parts`; `name` names the files that they are written to."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape,i,enter", "dismiss", show=False),
        Binding("n,right,space", "turn(1)", show=False),
        Binding("N,left,b", "turn(-1)", show=False),
        Binding("e,s", "write", show=False),
    ]
    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    ImageScreen > TitleBar { background: $surface; margin-bottom: 1; }
    ImageScreen > #picture { height: 1fr; align: center middle; }
    ImageScreen > #picture > * { width: auto; height: auto; max-width: 100%; max-height: 100%; }
    ImageScreen > #hint { height: 1; padding: 0 1; color: $text-muted; }
    """

    def __init__(self, parts: list[Part], name: str) -> None:
        super().__init__()
        self._parts, self._name, self._at = parts, name, 0
        self._drawn: Image | None = None
        self._deaf_until = 0.0

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let no key act for a moment after the terminal was asked: an answer that comes late looks like keys."""
        return time.monotonic() >= self._deaf_until

    def compose(self) -> ComposeResult:
        yield TitleBar()
        yield Container(id="picture")
        more = "n next   " if len(self._parts) > 1 else ""
        yield Static(f"{more}e writes it to a file   q back", id="hint", markup=False)

    def on_mount(self) -> None:
        self._show()

    @work(exclusive=True)
    async def _show(self) -> None:
        """Decode an image in a thread, and draw it; where that cannot be, say why."""
        part = self._parts[self._at]
        data = image_bytes(part.data)
        picture = picture_of(data) if data else None
        facts = [f"image {self._at + 1} of {len(self._parts)}", part.media_type or "of unknown type"]
        facts += [f"{picture.width} x {picture.height}"] if picture else []
        facts += [format_size(len(data))] if data is not None else []
        self.query_one(TitleBar).left = Content(" · ".join(facts))
        if data is None:
            why = _DAMAGED
        elif picture is None:
            why = "This is no PNG, JPEG, GIF or WebP image, or it is damaged."
        elif picture.width * picture.height > _MOST_PIXELS:
            why = "The image is too large to be drawn."
        elif not is_installed():
            why = _ABSENT
        else:
            try:
                await aside(partial(self._decode, data))
                if ask_terminal(self.app):
                    self._deaf_until = time.monotonic() + _DEAF
                body, why = import_module(_WIDGET).Image(self._drawn), ""
            except Exception as error:  # noqa: BLE001 - Pillow says of damaged images what it likes
                why = f"The image cannot be drawn: {one_line(str(error), 200)}"
        place = self.query_one("#picture")
        await place.remove_children()
        await place.mount(Static(why, markup=False) if why else body)

    def _decode(self, data: bytes) -> None:
        from PIL import Image

        # Formats that nobody sends are left out: some of Pillow's decoders start programs.
        with Image.open(BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
            image.draft("RGB", _SHOWN)
            drawn = image.convert("RGBA" if image.has_transparency_data else "RGB")
        drawn.thumbnail(_SHOWN)
        self._drawn = drawn

    def action_turn(self, step: int) -> None:
        """Show the next image, or the one before."""
        if len(self._parts) > 1:
            self._at = (self._at + step) % len(self._parts)
            self._show()

    def action_write(self) -> None:
        """Write the image to a file as it is recorded."""
        part = self._parts[self._at]
        data = image_bytes(part.data)
        if data is None:
            program(self).say(_DAMAGED)
            return
        picture = picture_of(data)
        suffix = f".{picture.kind}" if picture else mimetypes.guess_extension(part.media_type or "") or ".bin"
        name = f"{self._name}-{self._at + 1}{suffix}"
        program(self).write_file("Write the image", name, data)


def is_installed() -> bool:
    """Tell whether images can be drawn here: textual-image is there, and the terminal could be asked."""
    return find_spec("textual_image") is not None and _is_terminal(sys.__stdin__) >= _is_terminal(sys.__stdout__)


def ask_terminal(app: Any) -> bool:
    """Let textual-image ask what the terminal can, once; returns whether it did. It asks when it is imported, and reads
    the answer where Textual reads keys: so the screen is left for that moment.
    """
    if _WIDGET in sys.modules or not _is_terminal(sys.__stdout__):
        return False
    failed: Exception | None = None
    with app.suspend():
        try:
            import_module(_WIDGET)
        except Exception as error:  # noqa: BLE001 - the screen comes back first
            failed = error
    if failed is not None:
        raise failed
    return True


def _is_terminal(stream: Any) -> bool:
    return stream is not None and stream.isatty()

"""Copying: to the terminal's clipboard, or to a file when it is too much for that."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path

from textual.app import App

from viewer.leftovers import remove_at_end

MAX_CLIPBOARD = 75_000
"""Bytes; many terminals drop a longer OSC 52 without a word."""


def put_on_clipboard(app: App[object], text: str, what: str) -> str:
    """Copy `text`; returns a sentence that says what was done with it."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_CLIPBOARD:
        app.copy_to_clipboard(text)
        return f"Copied {what}: {len(text):,} characters."
    fd, path = tempfile.mkstemp(prefix="turnlog-", suffix=".txt")
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    remove_at_end(partial(Path(path).unlink, missing_ok=True))
    size = f"{len(data) // 1000:,} KB"
    return f"Too much for a terminal's clipboard ({size}): {what} is in {path} until turnlog ends"

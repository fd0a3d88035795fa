"""Copying: to the terminal's clipboard, or to a file when it is too much for that."""

from __future__ import annotations

import os
import tempfile

from textual.app import App

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
    return f"Too much for a terminal's clipboard ({len(data) // 1000:,} KB): wrote {what} to {path}"

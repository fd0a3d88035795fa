"""Copying: what is put on the terminal's clipboard, and whether it gets there.

A program asks its terminal to copy (OSC 52) and is not answered. tmux stands between: unless its `set-clipboard` is
`on` it drops what programs ask for, and `external` is its default. So tmux is asked when somebody copies, and what does
not get through is put into a file.
"""

from __future__ import annotations

import base64
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from renderers.facts import plural
from viewer.cleanup import remove_at_end

if TYPE_CHECKING:
    from textual.app import App

    from renderers.redact import Redactor

MAX_CLIPBOARD = 75_000
"""Bytes; many terminals drop a longer OSC 52 without a word."""
_TMUX_SECONDS = 1.0


class Copy(NamedTuple):
    """A text to copy, as an export would have it."""

    text: str
    """Without its secrets."""
    plain: str
    """As it is."""
    what: str
    """What to call it."""
    secrets: int
    """How many secrets were replaced in `text`."""


class Way(NamedTuple):
    """The way of a text that is to be copied in this terminal."""

    reaches: bool
    """Whether it reaches a clipboard, as far as one can know."""
    text: str
    """That in words."""
    passthrough: bool = False
    """Whether tmux hands on to its own terminal what is wrapped for that."""


def clipboard_way(environ: Mapping[str, str]) -> Way:
    """Find out how copying goes here. Asks tmux where this runs in it, and runs nothing else."""
    if environ.get("TMUX"):
        return _tmux_way()
    if environ.get("TERM") == "linux":
        return Way(False, "the Linux console has no clipboard")
    if environ.get("TERM_PROGRAM") == "Apple_Terminal":
        return Way(False, "macOS's Terminal lets no program copy")
    return Way(True, "the terminal is asked to copy (OSC 52), and does not say whether it did")


def _tmux_way() -> Way:
    setting = _ask_tmux("show", "-sv", "set-clipboard")
    if setting == "on":
        return Way(True, "tmux takes it into its buffer and hands it to its terminal (set-clipboard on)")
    # Before 3.3 tmux had no such option, and handed everything on.
    if _ask_tmux("show", "-Apv", "allow-passthrough") in ("on", "all"):
        return Way(True, "tmux hands it to its terminal (allow-passthrough on), and not into its buffer", True)
    if not setting:
        return Way(False, "tmux does not answer, and by default takes nothing from programs")
    return Way(False, f"tmux takes nothing from programs (set-clipboard {setting}): tmux set -s set-clipboard on")


def _ask_tmux(*words: str) -> str:
    """Return tmux's answer; "" where it has none."""
    try:
        asked = subprocess.run(
            ["tmux", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TMUX_SECONDS,
            check=True,
            text=True,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return asked.stdout.strip()


def redacted(what: str, make: Callable[[Redactor | None], str]) -> Copy:
    """Make a copy of what `make` makes, with secrets replaced and, given None, as it is."""
    from renderers.redact import Redactor

    redactor = Redactor()
    text = make(redactor)
    return Copy(text, make(None), what, redactor.count)


def redacted_text(what: str, text: str) -> Copy:
    """A text that is there already."""
    return redacted(what, lambda redactor: text if redactor is None else redactor.redact(text))


def address_copy(address: str) -> Copy:
    """The address of a place."""
    return Copy(address, address, f"the address {address}", 0)


def put_on_clipboard(app: App[Any], copy: Copy, again: str, *, as_it_is: bool = False) -> str:
    """Copy, and return what was done, in words. `again` is the key that copies it once more as it is."""
    text = copy.plain if as_it_is else copy.text
    data = text.encode("utf-8", "replace")
    size = plural(len(text), "character")
    notes = []
    if as_it_is:
        notes.append("As it is: nothing in it is replaced.")
    elif copy.secrets:
        secrets = f"{plural(copy.secrets, 'secret')} replaced"
        notes.append(f"{secrets}; {again} copies it as it is." if again else f"{secrets}.")
    way = clipboard_way(os.environ)
    if way.reaches and len(data) <= MAX_CLIPBOARD:
        if way.passthrough:
            # The terminal around tmux is asked.
            if (driver := app._driver) is not None:
                driver.write(f"\x1bPtmux;\x1b\x1b]52;c;{base64.b64encode(data).decode()}\a\x1b\\")
        else:
            app.copy_to_clipboard(text)
        return "\n".join([f"Copied {copy.what}: {size}.", *notes])
    path = _file_of(data)
    why = "it is too much for a terminal's clipboard" if way.reaches else way.text
    load = f"\ntmux load-buffer {path}" if os.environ.get("TMUX") else ""
    held = f"Until turnlog ends, {path} holds {copy.what}.{load}"
    return "\n".join([f"Not copied: {why}.", held, f"That is {size}.", *notes])


def _file_of(data: bytes) -> Path:
    """A file of its own that holds the text and goes when the program ends."""
    fd, name = tempfile.mkstemp(prefix="turnlog-", suffix=".txt")
    with os.fdopen(fd, "wb") as file:
        file.write(data)
    remove_at_end(partial(Path(name).unlink, missing_ok=True))
    return Path(name)

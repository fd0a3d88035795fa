"""Which folder is Qwen Code's: all that looking for sessions asks of what it shares with Gemini CLI."""

from __future__ import annotations

import os
from pathlib import Path

QWEN_VARIABLES = ("QWEN_RUNTIME_DIR", "QWEN_HOME")
"""Each names a folder that takes the place of `.qwen` in the home directory."""


def is_qwens(path: Path) -> bool:
    """Whether a file lies in Qwen Code's folder. Before 0.4 it wrote Gemini CLI's files, and nothing in them tells
    whose they are (note 2.1). Which folder that is, the variables say as they do to Qwen Code; opening a file knows no
    other machine than this one.
    """
    return ".qwen" in path.parts or _is_in_named_folder(path)


def _is_in_named_folder(path: Path) -> bool:
    """Whether a file is `<folder>/tmp/<project>/chats/<name>` in a folder that a variable names."""
    named = [text for name in QWEN_VARIABLES if (text := os.environ.get(name, "").strip())]
    if not named:
        return False
    parents = Path(os.path.abspath(path)).parents
    if len(parents) < 4 or parents[0].name != "chats" or parents[2].name != "tmp":
        return False
    folder = os.path.realpath(parents[3])
    return any(os.path.realpath(os.path.expanduser(text)) == folder for text in named)

"""What a hostile session sends to a real terminal: its text, and nothing that the terminal would obey."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("needs a pseudo terminal", allow_module_level=True)

from tests.bench.terminal import Terminal
from tests.waiting import LIMIT

HOSTILE = (
    "\x1b]0;EVIL-TITLE\x07 \x1b]52;c;RVZJTA==\x07 \x1b[2J\x1b[H\x1b[?1049l \x9b31m \x9d0;EVIL-C1\x9c "
    "\x1bP+q544e\x1b\\ \u202eEVIL-RLO \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ \x07\x08\x7f "
    "\x1b]0;UNTERMINATED &#x1b;]0;ENTITY&#7; END"
)


def session_file(path: Path) -> Path:
    rows = []
    blocks = [
        {"type": "thinking", "thinking": HOSTILE},
        {
            "type": "text",
            "text": f"VISIBLE **x** {HOSTILE}\n\n```\n{HOSTILE}\n```\n\n[{HOSTILE}](http://a.example/{HOSTILE})",
        },
        {"type": "tool_use", "id": "t1", "name": f"Bash{HOSTILE}", "input": {"command": HOSTILE, HOSTILE: HOSTILE}},
    ]
    rows.append({"type": "user", "message": {"role": "user", "content": f"PROMPT {HOSTILE}"}})
    for n, block in enumerate(blocks):
        message = {"id": f"m{n}", "type": "message", "role": "assistant", "model": HOSTILE, "content": [block]}
        rows.append({"type": "assistant", "message": message})
    result = {"type": "tool_result", "tool_use_id": "t1", "content": HOSTILE * 3, "is_error": True}
    rows.append({"type": "user", "message": {"role": "user", "content": [result]}})
    with path.open("w") as out:
        for n, row in enumerate(rows):
            ids = {"uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "sessionId": "s", "version": "2.1.40"}
            out.write(json.dumps(row | ids | {"cwd": f"/x/{HOSTILE}", "gitBranch": HOSTILE}) + "\n")
    return path


def test_no_control_byte_of_content_reaches_the_terminal(tmp_path: Path) -> None:
    path = session_file(tmp_path / "hostile.jsonl")
    code = (
        "import sys; from pathlib import Path; from viewer.screens.run import run_transcript; "
        "run_transcript(Path(sys.argv[1]))"
    )
    env = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "TERM": "xterm-256color",
        "HOME": str(tmp_path),
    }
    terminal = Terminal([sys.executable, "-c", code, str(path)], env, 100, 40)
    try:
        assert terminal.wait_for(b"PROMPT", LIMIT)
        for key in (b"z", b"G", b"g", b" ", b"x", b"\x1b", b"w", b"\x1b", b"\t", b"\x1b"):
            terminal.key(key, 1)
            terminal.quiet(0.15, 3)
        # Textual's own: the shape of the mouse pointer.
        seen = re.sub(rb"\x1b\]22;[a-z-]*\x07", b"", terminal.seen)
    finally:
        terminal.close()
    assert b"VISIBLE" in seen
    for forbidden in (b"\x07", b"\x1b]0;", b"\x1b]2;", b"\x1b]52", b"\x1b]8;", b"\x1bP", b"\x08", b"\x7f", b"\x1b[2J"):
        assert forbidden not in seen, forbidden
    text = seen.decode("utf-8", "replace")
    assert not [c for c in text if "\x80" <= c <= "\x9f" or c in "\u202e\u202d\u2066\u2067"]

"""Cursor's transcripts in text: how one is told, how it grows, and that no line is lost (formats note 3.4)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.provider import read_head
from schemas.providers.cursor import PROVIDER
from schemas.providers.cursor.store import text_records
from schemas.providers.kit.blocks import arguments_of
from schemas.session import Lack, Op, Session
from tests.fixtures.cursor.transcripts import TEXT
from tests.schemas.conformance import assert_builds_clean, assert_sums, described, whole
from tests.support import changes_by
from viewer.follow.follower import Follower


@pytest.fixture
def session_of(tmp_path: Path) -> Any:
    def made(text: str | bytes) -> Session:
        path = tmp_path / "old.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        session = whole(PROVIDER, path)
        assert_sums(session)
        assert_builds_clean(session)
        return session

    return made


def calls(body: str) -> list[tuple[str, dict[str, Any], str]]:
    """The tool uses in the body of an agent's block: name, input, result."""
    found: list[tuple[str, dict[str, Any], str]] = []
    _, record = text_records(f"user:\nq\n\nassistant:\n{body}".encode())
    for block in record["message"]["content"]:
        if block["type"] == "tool_use":
            found.append((block["name"], arguments_of(block["input"]), block.get("result", "")))
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("[Tool call] Read\n  path: a.py\n  offset: 3", [("Read", {"path": "a.py", "offset": "3"}, "")]),
        ("[Tool call] Shell\n  command=ls -a=b\n", [("Shell", {"command": "ls -a=b"}, "")]),
        ("[Tool call] Shell\n    command: ls\n    cwd: x\n", [("Shell", {"command": "ls", "cwd": "x"}, "")]),
        ('[Tool call] X\n  {"a": [1]}', [("X", {"a": [1]}, "")]),
        ("[Tool call] ApplyPatch\n  *** Begin Patch\n  +x", [("ApplyPatch", {"input": "*** Begin Patch\n+x"}, "")]),
        ("[Tool call] Shell\n  command: true", [("Shell", {"command": "true"}, "")]),
        ("[Tool call] Odd\n  just words", [("Odd", {"input": "just words"}, "")]),
        ("[Tool call] LS", [("LS", {}, "")]),
        (
            "[Tool call] X\n  a: b\n[Tool call] X\n  c: d\n[Tool result] X\n  1\n[Tool result] X\n  2",
            [("X", {"a": "b"}, "1"), ("X", {"c": "d"}, "2")],
        ),
        (
            "[Tool call] A\n[Tool call] B\n[Tool result] A\n    x\n\n    user:\n      y",
            [("A", {}, "x\n\nuser:\n  y"), ("B", {}, "")],
        ),
        (
            "[Tool call] X\n  path: a\n  old_string: one\n\n  two\n  new_string: three\n\n[Tool result] X",
            [("X", {"path": "a", "old_string": "one\n\ntwo", "new_string": "three"}, "")],
        ),
    ],
)  # fmt: skip
def test_what_tools_are_asked_and_say(body, expected):
    assert calls(body) == expected


# -- recognised --------------------------------------------------------------------------------------------------------


def _told(data: bytes) -> bool:
    return PROVIDER.detect(read_head(Path("x"), data, whole=True))


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        b"user:\n<user_query>",
        b"\n\nuser:\r\n<user_info>\nx",
        b"user:\nhi\nassistant:\n[Tool call] LS\n",
        b"assistant:\n[Thinking] x\n",
        b'user:\nhi\nassistant:\n[Thinking] x\n{"a": 1}\n',
        b"A:\nb\n[Tool result] Read",
        b"user:\n<timestamp>x</timestamp>\n<user_query>q",
    ],
)
def test_a_transcript_is_told_by_its_content(data):
    assert _told(data)


@pytest.mark.parametrize(
    "data",
    [
        b"# Notes\n\nuser: hi\n",
        b"user:\n  name: x\n",
        b"user:\nhello\nassistant:\nworld\n",
        b"user: hi\n<user_query>x</user_query>",
        b"Look at this:\nuser:\n<user_query>x</user_query>",
        b"A:\nanswer\n",
        b"assistant:\nthe [Tool call] marker\n",
        b"user:\nwhat is <user_query>?\n",
        b'{"a": 1}\nuser:\n<user_query>',
        b"",
    ],
)
def test_ordinary_text_is_not_claimed(data):
    assert not _told(data)


# -- live --------------------------------------------------------------------------------------------------------------


def test_a_growing_text_keeps_its_messages(tmp_path):
    path = tmp_path / "old.txt"
    whole = TEXT.encode()
    path.write_bytes(whole[: whole.index(b"\n[Tool result] Shell")])
    follower = Follower(path)
    follower.step()
    session, keys = follower.session, list(follower.session.messages.key)
    assert described(session)[-1] == "TOOL Shell" and Lack.RESULTS in session.lacks
    path.write_bytes(whole)
    os.utime(path, ns=(1, 1))
    changes = changes_by(follower.poll)
    assert follower.session is session and list(session.messages.key)[: len(keys)] == keys
    assert [c.message for c in changes if c.op is Op.APPENDED] == [5]
    assert all(change.op is not Op.REMOVED for change in changes)
    path.write_bytes(b"user:\n<user_query>\nother\n</user_query>\n")
    os.utime(path, ns=(2, 2))
    assert Op.REMOVED in {change.op for change in changes_by(follower.poll)}
    assert described(follower.session) == ["PROMPT other"]
    follower.close()


_LINE = st.sampled_from(
    ["user:", "assistant:", "A:", "<user_query>", "</user_query>", "[Thinking] x", "[Thinking]", "[Tool call] Write",
     "[Tool call]", "[Tool result] Write", "[Tool result]", "  path: a", "  contents: b", "  x=y", "    deep", "words",
     "", "  ", "\t[", "\x1b[31m", "{}", "*** Begin Patch"]
)  # fmt: skip


@given(st.lists(_LINE, max_size=30))
def test_no_line_is_lost(session_of, lines):
    numbered = [
        f"{line}{'' if line.endswith(':') or line.endswith('>') or not line.strip() else n}"
        for n, line in enumerate(lines)
    ]
    session = session_of("\n".join(["user:", "<user_query>first</user_query>", *numbered]))
    shown = []
    for i in range(len(session.messages)):
        message = session.message(i)
        shown.append(
            f"{message.text} {message.tool.name} {message.tool.input} {message.tool.text}"
            if message.tool
            else message.text
        )
    whole = " ".join(shown)
    for line in numbered:
        if line.strip()[:5] == "words" or line.strip()[:4] == "deep":
            assert line.strip() in whole

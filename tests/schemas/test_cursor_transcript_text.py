"""Cursor's transcripts in text: formats note 3.4, and what its real files look like."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Kind
from schemas.provider import read_head
from schemas.providers.cursor import PROVIDER
from schemas.providers.cursor.prompts import text_records
from schemas.session import Lack, Op, Session
from tests.fixtures.cursor.transcripts import TEXT
from tests.schemas.conformance import assert_builds_clean, assert_sums, described, whole
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


def tools(session: Session) -> list[tuple[str, dict[str, Any], str]]:
    found = [session.message(i).tool for i in range(len(session.messages))]
    return [(tool.name, tool.input, tool.text) for tool in found if tool is not None]


def calls(body: str) -> list[tuple[str, dict[str, Any], str]]:
    """The tool uses in the body of an agent's block: name, input, result."""
    found: list[tuple[str, dict[str, Any], str]] = []
    _, record = text_records(f"user:\nq\n\nassistant:\n{body}".encode())
    for block in record["message"]["content"]:
        if block["type"] == "tool_use":
            found.append((block["name"], block["input"], block.get("result", "")))
    return found


def test_a_text(session_of):
    session = session_of(TEXT)
    assert described(session) == [
        "PROMPT Write the manual. assistant: is a word in it.",
        "THINKING It needs a title.",
        "TEXT I write it now.",
        "TOOL Write",
        "TOOL Shell",
        "TEXT Done.",
    ]
    assert tools(session) == [
        ("Write", {"path": "manual.md", "contents": "# Lamp\n\nTurn it on.\n- left"}, ""),
        ("Shell", {"command": "wc -l manual.md", "block_until_ms": "0"}, "4 manual.md"),
    ]
    assert session.lacks == {Lack.TOKENS, Lack.TIMES}


def test_the_older_name_of_the_agent(session_of):
    session = session_of(
        "user:\n<user_query>a</user_query>\nA:\nb\nuser:\n<user_query>c</user_query>\nA:\n[Thinking]\n  d\n"
    )
    assert described(session) == ["PROMPT a", "TEXT b", "PROMPT c", "THINKING d"]


def test_roles_within_an_open_query_are_quoted(session_of):
    session = session_of("user:\n<user_query>\nsee:\nassistant:\nuser:\nend\n</user_query>\n\nassistant:\nok\n")
    assert [Kind(k) for k in session.messages.kind] == [Kind.PROMPT, Kind.TEXT]


def test_a_query_that_is_never_closed_does_not_swallow_the_rest(session_of):
    session = session_of("user:\n<user_query>\nhi\n\nassistant:\nok\n")
    assert described(session) == ["PROMPT hi", "TEXT ok"]


def test_times_images_and_context_are_read_as_in_lines(session_of):
    session = session_of(
        "user:\n<attached_files>\nx\n</attached_files>\n<timestamp>Jun 2, 2026, 3:20 AM (UTC)</timestamp>\n"
        "<image_files>\n1. /a.png\n</image_files>\n<user_query>\nhi\n</user_query>\n\nassistant:\nok\n"
    )
    assert described(session)[1].startswith("CONTEXT") and session.message(0).parts[1].text == "[image /a.png]"
    assert session.created == session.messages.when(2) == 1_780_370_400


def test_windows_line_ends_and_a_byte_order_mark(session_of):
    session = session_of(
        b"\xef\xbb\xbfuser: \r\n<user_query>\r\nhi\r\n</user_query>\r\n\r\n"
        b"assistant:\t\r\n[Tool call] LS\r\n  path=x\r\n"
    )
    assert described(session) == ["PROMPT hi", "TOOL LS"] and tools(session)[0][1] == {"path": "x"}


def test_thinking_that_is_not_told_is_withheld(session_of):
    session = session_of("user:\n<user_query>a</user_query>\nassistant:\n[Thinking] \n[Tool call] LS\n")
    assert described(session)[1].startswith("THINKING Thinking withheld")
    assert Lack.THINKING in session.lacks


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("[Tool call] Read\n  path: a.py\n  offset: 3", [("Read", {"path": "a.py", "offset": "3"}, "")]),
        ("[Tool call] Shell\n  command=ls -a=b\n", [("Shell", {"command": "ls -a=b"}, "")]),
        ("[Tool call] Shell\n    command: ls\n    cwd: x\n", [("Shell", {"command": "ls", "cwd": "x"}, "")]),
        ('[Tool call] X\n  {"a": [1]}', [("X", {"a": [1]}, "")]),
        ("[Tool call] ApplyPatch\n  *** Begin Patch\n  +x", [("ApplyPatch", "*** Begin Patch\n+x", "")]),
        ("[Tool call] Shell\n  command: true", [("Shell", {"command": "true"}, "")]),
        ("[Tool call] Odd\n  just words", [("Odd", "just words", "")]),
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


def test_the_agent_speaks_after_a_body(session_of):
    session = session_of(
        "user:\n<user_query>q</user_query>\nassistant:\nFirst.\n"
        "[Tool call] Write\n  path=a\n  content=bar\nI wrote it.\n"
        "[Thinking]\n  hm\n\nWell.\n[Tool call] Shell\n  command=ls\n[Tool result] Shell\n  out\nThat is all.\n"
    )
    assert described(session) == [
        "PROMPT q",
        "TEXT First.",
        "TOOL Write",
        "TEXT I wrote it.",
        "THINKING hm",
        "TEXT Well.",
        "TOOL Shell",
        "TEXT That is all.",
    ]
    assert [(asked.get("content"), said) for _, asked, said in tools(session)] == [("bar", ""), (None, "out")]


def test_a_result_in_the_next_block_joins_by_name(session_of):
    session = session_of(
        "user:\n<user_query>q</user_query>\nassistant:\n[Tool call] LS\n"
        "assistant:\n[Tool result] LS\n  a\n[Tool result] Read\n  b"
    )
    assert tools(session) == [("LS", {}, "a")] and described(session)[-1] == "OUTPUT b"


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
    changes = follower.poll()
    assert follower.session is session and list(session.messages.key)[: len(keys)] == keys
    assert [c.message for c in changes if c.op is Op.APPENDED] == [5]
    assert all(change.op is not Op.REMOVED for change in changes)
    path.write_bytes(b"user:\n<user_query>\nother\n</user_query>\n")
    os.utime(path, ns=(2, 2))
    assert Op.REMOVED in {change.op for change in follower.poll()}
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

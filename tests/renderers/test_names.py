from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.names import export_name, shell_line
from schemas.session import Session

RESERVED = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)")
UUID = "3f2a9c1d-5b7e-4d2a-9c1d-3f2a9c1d5b7e"


def session(title: str, session_id: str = UUID, created: float | None = 1_780_000_000.0) -> Session:
    made = Session("claude", "Claude Code", Path("nowhere"), session_id)
    made.title, made.created = title, created
    return made


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Fix the flaky test!", "2026-05-28-fix-the-flaky-test-3f2a9c1d-"),
        ("../../etc/passwd", "2026-05-28-etc-passwd-3f2a9c1d-"),
        ("日本語のテスト", "2026-05-28-日本語のテスト-3f2a9c1d-"),
        ("", "2026-05-28-3f2a9c1d-"),
        ("CON", "2026-05-28-con-3f2a9c1d-"),
    ],
)
def test_examples(title: str, expected: str) -> None:
    name = export_name(session(title), ".md")
    assert name.startswith(expected)
    assert re.fullmatch(r"[0-9a-f]{4}\.md", name.removeprefix(expected))


def test_a_secret_in_the_title_stays_out_of_the_name() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    titled = session(f"use {token} for the upload")
    assert token.lower() not in export_name(titled, ".md")
    assert export_name(titled, ".md").startswith("2026-05-28-use-redacted-github-token-for-the-upload-3f2a9c1d-")
    assert token.lower() in export_name(titled, ".md", redact=False)


def test_same_title_two_sessions() -> None:
    names = {export_name(session("same", f"{i}f2a9c1d-5b7e-4d2a-9c1d-3f2a9c1d5b7e"), ".md") for i in range(9)}
    names |= {export_name(session("same", f"agent-{i}"), ".md") for i in range(9)}
    assert len(names) == 18


@given(st.text(max_size=300), st.text(max_size=40), st.none() | st.floats(allow_nan=True))
def test_names_are_legal_everywhere(title: str, session_id: str, created: float | None) -> None:
    name = export_name(session(title, session_id, created), ".md")
    assert not re.search(r'[/\\:*?"<>|\x00-\x1f\x7f\s]', name)
    assert not RESERVED.match(name)
    assert name[0] not in "-."
    assert name.endswith(".md")
    assert len(name.encode()) <= 200
    assert Path("/exports", name).parent == Path("/exports")


def test_shell_line() -> None:
    assert (
        shell_line(["claude", "--resume", UUID], "/home/dev/a b").line
        == f"cd -- '/home/dev/a b' && claude --resume {UUID}"
    )
    assert shell_line(["codex"], None).line == "codex"
    home = ("CODEX_HOME", "/home/dev/my homes/'x'")
    assert shell_line(["codex"], "/a", home).line == "cd -- /a && CODEX_HOME='/home/dev/my homes/'\"'\"'x'\"'\"'' codex"
    assert shell_line(["codex"], "/a", ("CODEX_HOME", "/\x1b[2J")).line is None
    assert shell_line(["x"], "-rf").line == "cd -- ./-rf && x"
    assert shell_line(["x"], "-").line == "cd -- ./- && x"


@pytest.mark.parametrize("bad", ["a\nb", "a\x1bb", "a\u202eb", "a\u2028b", "a\x9bb"])
def test_shell_line_refuses_control_characters(bad: str) -> None:
    for refused in (shell_line(["claude", bad], "/a"), shell_line(["claude"], f"/{bad}")):
        assert refused.line is None
        assert "control character" in refused.reason
    assert shell_line([], "/a").line is None


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=3), st.text(max_size=20))
def test_a_shell_reads_the_words_back(argv: list[str], cwd: str) -> None:
    line = shell_line(argv, cwd).line
    if line is not None:
        words = shlex.split(line)
        assert words[-len(argv) :] == argv
        if cwd:
            assert words[:2] == ["cd", "--"]
            assert words[2].removeprefix("./") == cwd.removeprefix("./")

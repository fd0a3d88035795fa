"""How Codex's commands are unwrapped (streams note 3)."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.providers.codex.stream import unwrapped

# -- Codex -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command_", "shown"),
    [
        ("/bin/bash -lc 'pytest -q'", "pytest -q"),
        ('/usr/bin/zsh -lc "echo \\"hi\\""', 'echo "hi"'),
        ("bash -lc ls", "ls"),
        ("bash -lc 'it''s'", "its"),
        ("bash -lc 'unbalanced", "bash -lc 'unbalanced"),
        ("python -c 'print(1)'", "python -c 'print(1)'"),
        (["bash", "-lc", "ls -la"], "ls -la"),
        ("git commit -m 'x'", "git commit -m 'x'"),
        (None, ""),
    ],
)
def test_codex_commands_are_unwrapped(command_: Any, shown: str) -> None:
    assert unwrapped(command_) == shown

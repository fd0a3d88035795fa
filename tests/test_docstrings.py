"""A docstring's first word names its subject or says what it does."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_WORDS = re.compile(
    "(what|whether|that|of|where|how|who|whose|which|when|those|it|as|if|is|in|by|to|this|there|nothing)[,:;.]?",
    re.IGNORECASE,
)
_OWNERS = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _broken(code: str) -> list[str]:
    """Return the first lines of the docstrings in some code that begin with one of the words."""
    found = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(code)) if isinstance(node, _OWNERS)]
    return [text.splitlines()[0] for text in found if text and _WORDS.fullmatch(text.split()[0])]


@pytest.mark.parametrize("layer", ["schemas", "renderers", "viewer"])
def test_docstrings_name_their_subject(layer: str) -> None:
    paths = sorted((ROOT / layer).rglob("*.py"))
    assert paths, "the sources are found"
    broken = [f"{path.relative_to(ROOT)}: {line}" for path in paths for line in _broken(path.read_text("utf-8"))]
    assert not broken, "begin with the subject, or with what it does:\n" + "\n".join(broken)


@pytest.mark.parametrize(
    "code", ['"""What it is."""', 'class A:\n    """Nothing: see B."""', 'def f():\n    """As g."""']
)
def test_the_check_sees_what_it_should(code: str) -> None:
    assert _broken(code)
    assert not _broken(code.replace('"""', '"""The rule. ', 1))

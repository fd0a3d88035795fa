"""The shared cases of broken exports, read by the real providers. Skipped where the cases are not at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from renderers import html, markdown, plain
from renderers.document import Document
from renderers.options import Include
from schemas.opening import read_session, read_subagent
from tests.renderers.hostile import codes, headings, live, tokens
from tests.renderers.test_html import Page

CASES = Path(__file__).parents[2] / "../shared/cases"
FOUND = sorted(CASES.glob("s*/input.jsonl"))
pytestmark = pytest.mark.skipif(not FOUND, reason="the shared cases are not here")


def exported(name: str) -> tuple[str, Page, str]:
    session = read_session(next(CASES.glob(f"{name}-*/input.jsonl")))
    pages = ("".join(r.render(Document(session, Include(), subagents=read_subagent))) for r in (markdown, html, plain))
    text, page, lines = pages
    return text, Page(page), lines


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.parent.name[:3])
def test_words_of_each_case_reach_each_export(path: Path) -> None:
    expect = json.loads((path.parent / "expect.json").read_text())
    text, page, lines = exported(path.parent.name.split("-")[0])
    read = "\n".join(t.content for t in tokens(text))
    for word in expect.get("must_contain", []):
        assert word in read or word in text
        assert word in page.text
        assert word in lines


def test_fences() -> None:
    text, _, _ = exported("s09")
    code = codes(text)
    assert "# Readme\n\n```bash\nmake install\n`````\nfive\n`````\n" in code
    prose = [t.content for t in tokens(text) if t.type == "inline"]
    for word in ("AFTER-TOOL", "AFTER-USER-FENCE", "AFTER-ALL-FENCES"):
        assert any(word in p for p in prose)
    for word in ("OUTER-STILL-CODE", "make install", "<b>LISTCODE</b>"):
        assert any(word in c for c in code)
    assert [level for level, _ in headings(text)] == [1, 2, 2, 2]


def test_details() -> None:
    text, page, _ = exported("s10")
    folds = [f.strip() for f in live(text)]
    assert folds.count("</details>") == 2
    assert all(f == "</details>" or f.startswith("<details><summary>") for f in folds)
    assert next(depth for depth, data in page.texts if "SECONDREPLY" in data) == 0
    assert "&amp; stays &lt;as typed&gt;" in page.text
    assert "script" not in page.tags
    assert "img" not in page.tags


def test_tabs() -> None:
    text, page, lines = exported("s13")
    assert "all:\n\tcc -o x x.c\n" in text
    assert "\tcc -o x x.c\n" in page.text
    assert "\tcc -o x x.c\n" in lines

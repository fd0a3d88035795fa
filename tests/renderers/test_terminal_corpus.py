"""Real session files, and files made of faults, drawn at every fold and at several widths."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from renderers.terminal.block import render_block
from renderers.terminal.code import Highlights
from renderers.terminal.folds import Fold
from renderers.terminal.layout import Look
from renderers.terminal.style_names import Palette
from schemas.clean import clean
from schemas.opening import OpenError, read_session

SHARED = Path(__file__).parents[2] / "../shared"
FILES = sorted(p for part in ("corpus/claude", "corpus/codex", "cases") for p in (SHARED / part).rglob("*.jsonl"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.name}"[-60:])
def test_every_message_is_drawn_within_its_width_and_without_a_control_character(path: Path) -> None:
    if path.stat().st_size > 1 << 20:
        pytest.skip("a large one shows nothing that the small ones do not")
    try:
        session = read_session(path)
    except OpenError:
        pytest.skip("no session")
    for width in (38, 78):
        look = Look(width, Palette(), Highlights())
        for index in range(len(session.messages)):
            for fold in (Fold.LINE, Fold.SHORT, Fold.FULL):
                for row in render_block(session, index, fold, look).rows:
                    text = row.text
                    assert cell_len(text) <= width, (index, fold, text)
                    assert "\n" not in text
                    assert "\t" not in text
                    assert clean(text) == text

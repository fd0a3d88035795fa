"""Every transcript of the shared corpus reads, and says what its manifest says."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.message import Flag, Kind
from schemas.opening import head_of, recognise
from schemas.providers.cursor import PROVIDER
from schemas.session import Lack
from tests.schemas.conformance import (
    assert_all_laws,
    assert_builds_clean,
    assert_same_in_pieces,
    assert_sums,
    described,
    whole,
)

SHARED = Path(__file__).parents[2] / ".." / "shared"
CORPUS = SHARED / "corpus" / "cursor"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here")
LINES = sorted(CORPUS.glob("*.jsonl")) if CORPUS.is_dir() else []


def of(name):
    return whole(PROVIDER, next(CORPUS.glob(f"{name}*")))


def tools(session):
    return [m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool]


@pytest.mark.parametrize("path", LINES, ids=lambda p: p.name)
def test_every_file_keeps_the_laws(path, tmp_path):
    assert recognise(head_of(path)) is PROVIDER
    session = assert_all_laws(PROVIDER, path)
    assert not session.unknown and not session.unreadable and Lack.TOKENS in session.lacks
    data = path.read_bytes()
    for cuts in ([len(data) * n // 7 for n in range(1, 7)], range(0, len(data), 97)):
        assert_same_in_pieces(PROVIDER, data, tmp_path, cuts, path.name)


def test_no_other_agents_file_is_taken_for_a_transcript():
    others = [p for p in (SHARED / "corpus").rglob("*") if "cursor" not in p.relative_to(SHARED).parts and p.is_file()]
    assert len(others) > 50
    for path in others:
        if path.stat().st_size and path.suffix != ".zst":
            head = head_of(path)
            assert not PROVIDER.detect(head), path


def test_the_files_about_cursor_that_are_no_transcripts():
    for path in (SHARED / "corpus" / "streams").glob("cursor*.jsonl"):
        assert not PROVIDER.detect(head_of(path)), path


def test_timed_turns_with_their_ends_in_the_content():
    session = of("relayhistory")
    assert [e.prompt for e in session.live_exchanges] == [
        "add a changelog entry for the cursor adapter",
        "now run the tests",
    ]
    assert session.title == session.exchanges[0].prompt
    assert [(t.name, t.type, str(t.status)) for t in tools(session)] == [
        ("Read", "read", "ok"),
        ("ApplyPatch", "write", "ok"),
        ("Shell", "shell", "ok"),
        ("StrReplace", "write", "ok"),
    ]
    patch, replaced = tools(session)[1].diffs[0], tools(session)[3].diffs[0]
    assert (patch.path, patch.added, patch.removed) == ("CHANGELOG.md", 2, 0)
    assert replaced.hunks[0].lines == ["-let x = 1;", "+let x = 2;"]
    assert (session.created, session.updated) == (1_789_587_420.0, 1_789_587_660.0)
    assert session.lacks == {Lack.TOKENS, Lack.RESULTS, Lack.THINKING}


def test_the_real_shapes():
    session = of("einsia")
    names = ["Glob", "Shell", "TodoWrite", "Grep", "Subagent", "ApplyPatch"]
    assert [t.name for t in tools(session)] == names
    assert [t.type for t in tools(session)] == ["search", "shell", "task", "search", "generic", "write"]
    assert session.created == 1_780_370_400.0 and len(session.live_exchanges) == 1
    assert session.exchanges[0].interrupted and session.hidden == {"turn_ended": 1}
    assert sum(kind == Kind.INTERRUPT for kind in session.messages.kind) == 2
    assert session.messages.has(5, Flag.SUBAGENT) and session.message(5).tool.input["subagent_type"] == "explore"


def test_redacted_blocks_and_results_without_uses():
    session = of("cchv")
    assert [Kind(k).name for k in session.messages.kind] == ["CONTEXT", "THINKING", "TEXT", "OUTPUT", "OUTPUT"]
    assert session.messages.has(1, Flag.WITHHELD) and "REDACTED" not in session.message(1).text
    assert session.message(4).text == "$ cargo build\nCompiling foo v0.1.0"
    assert Lack.RESULTS not in session.lacks


def test_plain_strings():
    assert described(of("authored_legacy_string")) == ["PROMPT plain prompt, no framing", "TEXT plain answer"]


def test_the_old_text():
    path = CORPUS / "authored_legacy.txt"
    assert recognise(head_of(path)) is PROVIDER
    session = whole(PROVIDER, path)
    assert_sums(session)
    assert_builds_clean(session)
    assert described(session) == [
        "PROMPT fix the bug in a.py",
        "THINKING I should read the file",
        "TOOL Read",
        "TOOL Shell",
        "TEXT Changed x to 2.",
    ]
    assert tools(session)[1].input == {"command": "pytest -q", "description": "Run tests"}
    assert session.lacks == {Lack.TOKENS, Lack.TIMES, Lack.RESULTS}

"""The stores of the shared corpus say what its MANIFEST and the format's note say of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from schemas.message import Flag, Kind
from schemas.opening import head_of, recognise
from schemas.provider import Environment, Problem
from schemas.providers.cursor import PROVIDER
from schemas.session import Lack, Session
from tests.schemas.conformance import assert_builds_clean, assert_sums, described, whole

CORPUS = Path(__file__).parents[2] / ".." / "shared" / "corpus" / "cursor" / "chats"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here")
MINIMAL, RICH, IN_LOG, MISSING = (f"{n * 8}-{n * 4}-4{n * 3}-8{n * 3}-{n * 12}" for n in "1234")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(CORPUS, home / ".cursor" / "chats", copy_function=shutil.copyfile)
    for path in home.rglob("*"):
        path.chmod(0o700)
    return home


def of(home: Path, identifier: str) -> Session:
    path = next(home.rglob(f"{identifier}/store.db"))
    assert recognise(head_of(path)) is PROVIDER
    session = whole(PROVIDER, path)
    assert session.id == identifier
    assert_sums(session)
    assert_builds_clean(session)
    return session


STORY = [
    "CONTEXT <user_info> OS Version: linux 6.8 Workspace Path: /home/u/pr",
    "PROMPT fix the bug in a.py",
    "THINKING I should read a.py first.",
    "THINKING Thinking withheld by the provider",
    "TEXT Let me look at the file.",
    "TOOL Read",
    "TOOL StrReplace",
    "TEXT Changed x to 2.",
    "PROMPT now run the tests",
    "TOOL Shell",
    "TEXT One test failed.",
]


@pytest.mark.parametrize("identifier", [MINIMAL, RICH, IN_LOG])
def test_the_story_is_told_in_the_roots_order(home: Path, identifier: str) -> None:
    session = of(home, identifier)
    assert described(session) == STORY
    assert session.title == "Fix bug in a.py" and session.workspace_root == "/home/u/proj"
    assert session.hidden == {"store": 1, "system prompt": 1} and not session.unknown
    tools = [m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool]
    assert [(t.name, t.type, str(t.status)) for t in tools] == [
        ("Read", "read", "ok"),
        ("StrReplace", "write", "ok"),
        ("Shell", "shell", "error"),
    ]
    assert [d.path for d in tools[1].diffs] == ["a.py"]


def test_of_2025_no_message_has_a_time(home: Path) -> None:
    session = of(home, MINIMAL)
    assert session.lacks == {Lack.TOKENS, Lack.TIMES}
    assert session.created == 1760000000.0 and session.updated is None
    assert session.models == ["", "claude-4.5-sonnet-thinking"]


@pytest.mark.parametrize("identifier", [RICH, IN_LOG, MISSING])
def test_of_2026_the_turns_tell_times_and_the_root_the_context(home: Path, identifier: str) -> None:
    session = of(home, identifier)
    assert session.lacks == {Lack.TOKENS} and session.usage() is None
    assert (session.context_used, session.context_window) == (1500, 200_000)
    assert (session.created, session.updated) == (1788818588.0, 1788818695.0)
    assert [e.started for e in session.live_exchanges] == [1788818588.927, 1788818688.927]
    assert session.models == ["", "claude-4.5-sonnet-thinking", "composer-2"]


def test_a_missing_blob_is_a_note(home: Path) -> None:
    session = of(home, MISSING)
    assert described(session) == [*STORY[:7], "NOTE A message is missing from the store", *STORY[7:]]
    assert session.messages.kind_of(5) is Kind.TOOL and session.messages.has(5, Flag.PENDING)


def test_all_are_found_and_nothing_beside_them_changes(home: Path) -> None:
    def tree() -> dict[str, tuple[int, bytes]]:
        paths = [home, *home.rglob("*")]
        return {str(p): (p.stat().st_mtime_ns, p.read_bytes() if p.is_file() else b"") for p in paths}

    before = tree()
    problems: list[Problem] = []
    locations = PROVIDER.locations(Environment({}, home, "linux"))
    files = [file for location in locations for file in PROVIDER.find(location, problems)]
    assert {file.id for file in files} == {MINIMAL, RICH, IN_LOG, MISSING} and not problems
    for file in files:
        assert os.path.basename(file.file) == "store.db"
        whole(PROVIDER, file.path)
    assert tree() == before

"""The shared streams of Claude Code and Cursor give the figures of their manifest, whole, in pieces and damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.message import Kind
from schemas.opening import head_of
from schemas.providers.streams import PROVIDER
from schemas.session import Session
from tests.schemas.conformance import assert_all_laws, family_of, whole
from tests.support import usage_with_subagents

CORPUS = Path(__file__).parents[2] / "../shared/corpus/streams"
pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="no shared files here")
Row = tuple[int, int, int, int, tuple[int, int, int, int] | None]
# Exchanges, tool uses (nested ones too), failed, open; input, cache read, cache write, output.
MANIFEST: dict[str, Row] = {
    "claude": (1, 4, 1, 0, (3375, 17000, 13300, 937)),
    "claude_partial": (1, 1, 0, 0, (11, 2100, 50, 78)),
    "claude_multi": (2, 0, 0, 0, (9, 400, 220, 55)),
    "cursor": (1, 4, 1, 0, (1500, 22000, 300, 420)),
    "cursor_partial": (1, 1, 1, 0, None),
}
TEXTS = {
    "claude": [
        "I will read the parser and run the tests.",
        "The test fails because quoted commas are split. I found one caller.",
    ],
    "claude_partial": ["Two files: a.txt and b.txt."],
    "claude_multi": ["Hi.", "Bye."],
    "cursor": ["I will read the file.", "Fixed quoted commas."],
    "cursor_partial": ["I will read it.", "It is missing."],
}
NAMES = sorted(MANIFEST)


def read(name: str) -> Session:
    return whole(PROVIDER, CORPUS / f"{name}.jsonl")


def texts(session: Session) -> list[str]:
    return [m.text for i in range(len(session.messages)) if (m := session.message(i)).kind is Kind.TEXT]


def figures(session: Session) -> tuple[int | None, ...] | None:
    usage = usage_with_subagents(session)
    return None if usage is None else (usage.input, usage.cache_read, usage.cache_write, usage.output)


@pytest.mark.parametrize("name", NAMES)
def test_the_manifests_figures(name: str) -> None:
    session = assert_all_laws(PROVIDER, CORPUS / f"{name}.jsonl")
    messages = [s.message(i) for s in family_of(session) for i in range(len(s.messages))]
    statuses = [m.tool.status for m in messages if m.tool is not None]
    failed, unanswered = statuses.count("error"), statuses.count("pending") + statuses.count("interrupted")
    found = (len(session.live_exchanges), len(statuses), failed, unanswered, figures(session))
    assert found == MANIFEST[name]
    assert texts(session) == TEXTS[name]
    assert session.provider == name.split("_")[0]


def test_what_the_manifest_says_beside() -> None:
    claude = read("claude")
    assert claude.metadata["costUsd"] == 0.0923 and read("claude_multi").metadata["costUsd"] == 0.0035
    assert len(claude.subagents) == 1 and list(claude.messages.kind).count(Kind.COMPACTION) == 1
    assert dict(claude.unknown) == {"system some_future_subtype": 1}
    assert list(read("claude_multi").messages.kind).count(Kind.NOTE) == 1


@pytest.mark.parametrize(("name", "total"), [("claude", 30_687), ("claude_partial", 2_239)])
def test_the_live_figure_before_the_result(name: str, total: int, tmp_path: Path) -> None:
    lines = (CORPUS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "live.jsonl"
    path.write_bytes(b"".join(lines[:-1]))
    usage = usage_with_subagents(whole(PROVIDER, path))
    assert usage is not None and usage.total == total


@pytest.mark.parametrize("name", NAMES)
def test_garbage_at_each_place(name: str, tmp_path: Path) -> None:
    lines = (CORPUS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    for place in range(len(lines) + 1):
        path = tmp_path / "garbage.jsonl"
        path.write_bytes(b"".join([*lines[:place], b"npm warn {deprecated\n", *lines[place:]]))
        assert PROVIDER.detect(head_of(path))
        session = whole(PROVIDER, path)
        assert figures(session) == MANIFEST[name][4] and len(session.live_exchanges) == MANIFEST[name][0]
        assert texts(session) == TEXTS[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_growing_stream_loses_nothing(name: str, tmp_path: Path) -> None:
    data = (CORPUS / f"{name}.jsonl").read_bytes()
    path = tmp_path / "grows.jsonl"
    exchanges, calls = 0, set[str]()
    for end in range(0, len(data), 37):
        path.write_bytes(data[:end])
        session = whole(PROVIDER, path)
        messages = [s.message(i) for s in family_of(session) for i in range(len(s.messages))]
        ids = {message.id for message in messages if message.tool is not None}
        assert len(session.exchanges) >= exchanges and calls <= ids
        exchanges, calls = len(session.exchanges), ids

"""The shared streams give the figures of their manifest, whole and in pieces (Codex, Gemini, OpenCode)."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from schemas.message import Kind
from schemas.opening import head_of
from schemas.providers.streams import PROVIDER
from schemas.session import Session
from tests.schemas.conformance import assert_all_laws, assert_same_in_pieces, whole
from tests.schemas.test_streams_claude_corpus import NAMES as CLAUDE

CORPUS = Path(__file__).parents[2] / "../shared/corpus/streams"
pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="no shared files here")
Row = tuple[int, int, int, int, tuple[int, int, int, int] | None]
# Exchanges, tool uses, failed, open; input, cache read, cache write, output.
MANIFEST: dict[str, Row] = {
    "codex": (1, 5, 1, 0, (4100, 1300, 400, 190)),
    "codex_failed": (1, 1, 0, 1, None),
    "codex_resumed": (2, 0, 0, 0, (1300, 1100, 0, 95)),
    "gemini": (1, 4, 1, 0, (7000, 4000, 0, 530)),
    "gemini_error": (1, 0, 0, 0, (0, 0, 0, 0)),
    "opencode": (1, 3, 2, 0, (170, 46550, 910, 235)),
    "opencode_truncated": (1, 0, 0, 0, None),
}
NAMES = sorted(MANIFEST)


def read(name: str) -> Session:
    return whole(PROVIDER, CORPUS / f"{name}.jsonl")


@pytest.mark.parametrize("name", NAMES)
def test_the_manifests_figures(name: str) -> None:
    session = assert_all_laws(PROVIDER, CORPUS / f"{name}.jsonl")
    tools = [m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool is not None]
    failed = sum(tool.status in ("error", "denied") for tool in tools)
    unanswered = sum(tool.status in ("interrupted", "pending") for tool in tools)
    usage = session.usage()
    figures = None if usage is None else (usage.input, usage.cache_read, usage.cache_write, usage.output)
    assert (len(session.live_exchanges), len(tools), failed, unanswered, figures) == MANIFEST[name]
    assert session.provider == name.split("_")[0]


def test_what_the_manifest_says_beside() -> None:
    codex, opencode = read("codex"), read("opencode")
    assert (codex.usage() or ()) and codex.usage().reasoning == 35 and len(codex.subagents) == 1  # type: ignore[union-attr]
    assert any(codex.message(i).label == "To-do list, 2 of 2 done" for i in range(len(codex.messages)))
    failed = read("codex_failed")
    assert sum(kind == Kind.ERROR for kind in failed.messages.kind) == 1
    assert opencode.metadata["costUsd"] == 0.027 and len(opencode.subagents) == 1
    usage = opencode.usage()
    assert usage is not None and usage.reasoning == 50 and usage.total == 47_865
    truncated = read("opencode_truncated")
    assert truncated.metadata["ended"] == "error"


@pytest.mark.parametrize("name", NAMES + CLAUDE)
def test_each_is_told_from_its_first_object(name: str) -> None:
    assert PROVIDER.detect(head_of(CORPUS / f"{name}.jsonl"))


@pytest.mark.parametrize("name", NAMES + CLAUDE)
def test_whole_bytewise_and_in_random_pieces(name: str, tmp_path: Path) -> None:
    data = (CORPUS / f"{name}.jsonl").read_bytes()
    chance = random.Random(name)
    for cuts in (range(len(data)), *[[chance.randrange(len(data)) for _ in range(n)] for n in (1, 5, 50)]):
        assert_same_in_pieces(PROVIDER, data, tmp_path, cuts, "stream.jsonl")


@pytest.mark.parametrize("name", NAMES)
def test_garbage_at_each_place(name: str, tmp_path: Path) -> None:
    lines = (CORPUS / f"{name}.jsonl").read_bytes().splitlines(keepends=True)
    usage = read(name).usage()
    for place in range(len(lines) + 1):
        path = tmp_path / "garbage.jsonl"
        path.write_bytes(b"".join([*lines[:place], b"npm warn {deprecated\n", *lines[place:]]))
        assert PROVIDER.detect(head_of(path))
        session = whole(PROVIDER, path)
        assert session.usage() == usage and len(session.live_exchanges) == MANIFEST[name][0]


@pytest.mark.parametrize("name", NAMES)
def test_a_growing_stream_loses_nothing(name: str, tmp_path: Path) -> None:
    data = (CORPUS / f"{name}.jsonl").read_bytes()
    path = tmp_path / "grows.jsonl"
    exchanges, calls = 0, set[str]()
    for end in range(0, len(data), 11):
        path.write_bytes(data[:end])
        session = whole(PROVIDER, path)
        ids = {m.id for i in range(len(session.messages)) if (m := session.message(i)).tool is not None}
        assert len(session.exchanges) >= exchanges and calls <= ids
        exchanges, calls = len(session.exchanges), ids

"""Every rollout of the shared corpus and cases reads, and says what its note says."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.message import Flag, Kind
from schemas.opening import head_of, recognise
from schemas.providers.codex import PROVIDER
from schemas.usage import TokenUsage
from tests.fixtures.codex.rollouts import prompts, read, shown, tools
from tests.schemas.conformance import assert_all_laws, assert_claims_none, assert_same_in_pieces

SHARED = Path(__file__).parents[2] / ".." / "shared"
CORPUS = SHARED / "corpus" / "codex"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here")
FILES = sorted(p for p in CORPUS.rglob("*") if ".json" in p.name) if CORPUS.is_dir() else []
MEANT_UNKNOWN = {"agent-sessions-schema-drift.jsonl": {"(no type)", "function_result"}}


LINES = [p for p in FILES if p.suffix == ".jsonl"]
CASES = sorted((SHARED / "cases").glob("*-codex-*/rollout-*.jsonl"))


@pytest.mark.parametrize("path", LINES + CASES, ids=lambda p: p.name[:60])
def test_every_file_keeps_the_laws(path, tmp_path):
    assert_all_laws(PROVIDER, path)
    data = path.read_bytes()
    cuts = [len(data) * n // 7 for n in range(1, 7)]
    assert_same_in_pieces(PROVIDER, data, tmp_path, cuts, path.name)


def test_no_other_agents_file_is_claimed():
    others = [p for p in (SHARED / "corpus").rglob("*.json*") if "codex" not in p.parts]
    assert others
    assert_claims_none(PROVIDER, others)


def of(name):
    return read(next(p for p in FILES if name in p.name))


def case(name):
    return read(next((SHARED / "cases").glob(f"{name}-*/rollout-*.jsonl")))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name[:60])
def test_every_file_is_recognised_and_reads_whole(path):
    assert recognise(head_of(path)).id == "codex"
    session = read(path)
    for index in range(len(session.messages)):
        message = session.message(index)
        assert message.parts or message.tool or message.label, message
    meant = MEANT_UNKNOWN.get(
        path.name, {"future_record_type"} if "01a10000" in path.name or ".zst" in path.name else set()
    )
    assert set(session.unknown) == meant


def test_the_largest_real_file_adds_up():
    session = of("toolpath-sample-codex-python")
    usage = session.usage()
    assert usage is not None
    assert (usage.input + usage.cache_read, usage.cache_read, usage.output) == (345_662, 329_856, 11_929)
    assert len(prompts(session)) == 1
    assert len(tools(session)) == 27
    patches = [m for m in tools(session) if m.tool.name == "apply_patch"]
    assert all(m.tool.diffs for m in patches) and patches[0].tool.diffs[0].hunks[0].new_start == 1
    assert sum(session.messages.has(i, Flag.WITHHELD) for i in range(len(session.messages))) == 15
    assert session.exchanges[-1].errors == 3
    assert (session.context_window, session.context_used) == (258_400, 35_503)


@pytest.mark.parametrize("name", ["01a10000", ".zst"])
def test_the_synthetic_file_counts_each_response_once(name):
    session = of(name)
    usage = session.usage()
    assert usage == TokenUsage(400, 150, 1800, 0, 40) and usage.total == 2350
    assert shown(session, Kind.STEER) == [(Kind.STEER, "also count them")]
    assert list(session.groups.ids) == ["resp_1", "resp_2"]
    assert len(session.unreadable) == 1 and session.unreadable[0].line == 21
    assert session.id == "01a10000-0000-7000-8000-00000000000a"


def test_the_file_with_a_reset():
    session = of("0199fe39")
    assert session.usage().total == 830
    first, second = session.exchanges[1:]
    assert (first.prompt, first.rewound, first.interrupted) == ("fix the bug", True, True)
    assert (second.prompt, second.rewound) == ("try again", False)
    patch, broken = tools(session)
    assert (patch.tool.type, [d.path for d in patch.tool.diffs]) == ("write", ["a.py"])
    assert broken.tool.input == {"arguments": "not json"}
    assert [p.type for p in session.message(session.exchanges[2].start).parts] == ["text", "image"]


@pytest.mark.parametrize(("name", "prompt"), [("2025-04-30", "hi"), ("2025-08-20", "run ls")])
def test_old_files_know_no_tokens(name, prompt):
    session = of(name)
    assert session.usage() is None and prompts(session) == [prompt]
    assert all(m.tool.status == "ok" for m in tools(session))


def test_s03():
    session = case("s03")
    figures = [
        u and (u.input + u.cache_read, u.cache_read, u.output, u.reasoning)
        for u in map(session.exchange_usage, range(3))
    ]
    assert figures == [(20400, 16000, 320, 120), (10900, 10400, 60, 0), None]
    assert session.usage().total == 31680 and len(session.unreadable) == 1


def test_s04():
    assert case("s04").usage() == TokenUsage(500, 900, 3000, 1500, 700)


def test_s18():
    session = case("s18")
    assert session.title == "Why is the build red?"
    assert prompts(session) == ["Why is the build red?", "Second, only response items"]
    texts = [text for _, text in shown(session)]
    assert sum("REPLY-ONCE" in t for t in texts) == 1
    assert sum("Looking at the log" in t for t in texts) == 1
    assert sum("ITEM-ONLY" in t for t in texts) == 1
    assert "make: *** [all] Error 1" in tools(session)[0].tool.text
    assert [session.exchange_usage(i).total for i in (1, 2)] == [3150, 3220]
    assert all("INJECTED-RULES" not in text for kind, text in shown(session) if kind != Kind.CONTEXT)

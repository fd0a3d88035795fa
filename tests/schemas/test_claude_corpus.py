"""Real and collected Claude Code files, read in place: what their MANIFEST and expect.md say of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.message import Flag, Kind
from schemas.providers.claude import PROVIDER
from schemas.session import Session
from schemas.usage import TokenUsage
from tests.schemas.conformance import (
    assert_all_laws,
    assert_claims_none,
    assert_same_in_pieces,
    described,
    whole,
)
from tests.support import usage_with_subagents

SHARED = Path(__file__).parents[2] / "../shared"
CORPUS = SHARED / "corpus/claude"
CASES = SHARED / "cases"
SYNTHETIC = CORPUS / "25_synthetic/claude-home/projects/-home-dev-demo-app"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not here")
SMALL = 200_000


def files() -> Iterator[Path]:
    yield from sorted(CORPUS.rglob("*.jsonl"))
    yield from sorted(p for p in CASES.glob("s*-claude-*/**/*.jsonl"))
    for name in ("s05", "s06", "s07", "s08", "s09", "s10", "s11", "s12", "s13", "s14", "s15", "s16", "s19", "s20"):
        yield from sorted(p for p in CASES.glob(f"{name}-*/**/*.jsonl") if p.is_file())


ALL = list(dict.fromkeys(files())) if CORPUS.is_dir() else []
NAMES = [f"{path.parent.name[-12:]}/{path.name[-36:]}" for path in ALL]


def corpus(number: str) -> Path:
    return next(CORPUS.glob(f"{number}_*.jsonl"))


def case(name: str) -> Path:
    return next(CASES.glob(f"{name}-*"))


def read(path: Path) -> Session:
    return whole(PROVIDER, path)


@pytest.mark.parametrize("path", ALL, ids=NAMES)
def test_every_file_keeps_the_laws(path: Path) -> None:
    session = assert_all_laws(PROVIDER, path)
    meant = {"...0001": {"some-future-type": 1}, "...0006": {"7": 1, "user block unknown_block": 1}}
    assert dict(session.unknown) == meant.get(f"...{path.stem[-4:]}" if path.parent == SYNTHETIC else "", {})


@pytest.mark.parametrize("path", [p for p in ALL if 0 < p.stat().st_size < SMALL], ids=lambda p: p.name[-20:])
@settings(max_examples=settings().max_examples // 8)
@given(st.data())
def test_any_cut_gives_the_same_session(
    path: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = path.read_bytes()
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=12))
    assert_same_in_pieces(PROVIDER, content, tmp_path_factory.mktemp("pieces"), cuts, path.name)


@pytest.mark.parametrize("path", [SYNTHETIC / f"5e550000-0000-4000-8000-00000000000{n}.jsonl" for n in (1, 2, 6)])
def test_a_cut_after_each_line_gives_the_same_session(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == 10]
    assert_same_in_pieces(PROVIDER, content, tmp_path, ends, path.name)


def test_no_other_agents_file_is_claimed() -> None:
    others = [p for p in (SHARED / "corpus").rglob("*") if CORPUS not in p.parents and p.suffix != ".md"]
    assert len(others) > 50
    assert_claims_none(PROVIDER, others, skip=lambda p: p.is_symlink())
    assert_claims_none(PROVIDER, [corpus("17"), SYNTHETIC / "5e550000-0000-4000-8000-000000000005.jsonl"])
    codex = [p for p in CASES.rglob("*.jsonl") if "codex" in (name := str(p.relative_to(CASES))) or "gemini" in name]
    assert_claims_none(PROVIDER, codex)


def test_every_session_of_ours_is_claimed() -> None:
    from schemas.opening import head_of

    for path in ALL:
        if path.name[:2] in ("17",) or path.name in ("journal.jsonl",) or path.stat().st_size < 150:
            continue
        assert PROVIDER.detect(head_of(path)), path


def test_04_two_records_on_one_line() -> None:
    session = read(corpus("04"))
    assert (session.duplicates, len(session.unreadable)) == (1, 0)
    # Its MANIFEST counts five: the fifth is `/exit`, which nobody answered, a row of the exchange it stands in.
    assert len(session.live_exchanges) == 4
    assert sum(kind == Kind.COMMAND for kind in session.messages.kind) == 1


def test_05_background_agents_report_back() -> None:
    session = read(corpus("05"))
    notes = [m for i in range(len(session.messages)) if (m := session.message(i)).kind is Kind.NOTE]
    assert len(notes) == 4
    assert notes[0].label == 'Agent "Review security aspects" completed'
    assert all(note.text for note in notes)
    tools = [m.tool for e in session.exchanges for m in session.exchange_messages(e.index) if m.tool]
    assert sum(tool.status == "background" for tool in tools) == 4


def test_06_an_image_alone_is_a_prompt() -> None:
    session = read(corpus("06"))
    prompts = [m for m in map(session.message, range(len(session.messages))) if m.kind is Kind.PROMPT]
    images = [m for m in prompts if m.parts[0].type == "image"]
    assert len(images) == 1
    assert images[0].parts[0].media_type == "image/png"
    assert 300_000 < (images[0].parts[0].size or 0) < 320_000
    assert "STEER let's not leave _all_ the tests to the very end..." in described(session)


def test_09_automatic_compaction() -> None:
    session = read(corpus("09"))
    marks = [m for i in range(len(session.messages)) if (m := session.message(i)).kind is Kind.COMPACTION]
    assert len(marks) == 1
    assert marks[0].label.startswith("Compacted (auto), ")
    assert marks[0].text.startswith("This session is being continued")


def test_12_text_taken_back_is_not_shown() -> None:
    assert not [line for line in described(read(corpus("12"))) if line.startswith("STEER")]


def test_18_inline_sidechains_are_subagents() -> None:
    session = read(corpus("18"))
    assert len(session.subagents) == 5
    for subagent in session.subagents:
        assert subagent.session is not None and subagent.tool_use is not None
        assert session.messages.flags[subagent.tool_use] & Flag.SUBAGENT
        assert session.message(subagent.tool_use).tool.subagent == subagent.id
        assert subagent.session.exchanges[-1].opener == Kind.PROMPT
    own, both = session.usage(), usage_with_subagents(session)
    assert own is not None and both is not None and both.output > own.output


def test_20_results_out_of_order_find_their_calls() -> None:
    session = read(corpus("20"))
    assert not any(flags & Flag.PENDING for flags in session.messages.flags)
    assert "STEER /mcp" not in described(session)


def test_21_the_newest_complete_chat() -> None:
    session = read(corpus("21"))
    assert session.title == "Exercise common coding tool categories"
    assert len(session.live_exchanges) == 1
    usage = session.usage()
    assert usage is not None
    assert (usage.input, usage.output, usage.cache_read, usage.cache_write) == (30, 5275, 590_265, 15_734)
    withheld = [i for i, flags in enumerate(session.messages.flags) if flags & Flag.WITHHELD]
    assert withheld and session.message(withheld[0]).label.startswith("Thinking withheld")


def test_24_subagent_files_are_linked_and_the_summariser_is_internal() -> None:
    path = next(CORPUS.glob("24_spotter_tree/*a0y/*.jsonl"))
    session = read(path)
    linked = {
        s.id: session.message(s.tool_use).tool.input["description"] for s in session.subagents if s.tool_use is not None
    }
    assert set(linked) == {"a93ccab", "aa84377"} and all(linked.values())
    assert [s.id for s in session.subagents if s.internal] == ["acompact-70d8e7"]


def test_25_the_whole_of_it() -> None:
    session = read(SYNTHETIC / "5e550000-0000-4000-8000-000000000001.jsonl")
    assert session.title == "flaky-fix"
    assert session.usage().output == 388
    assert [e.rewound for e in session.exchanges].count(True) == 1
    # Its MANIFEST counts five: `/model` and `!git status` were only printed to, and are rows here.
    assert [e.prompt for e in session.live_exchanges] == [
        "Fix the flaky test 😀 in t.py please",
        "run it 100 times",
        "/review PR 7",
    ]
    spilled = next(m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool and m.tool.spilled)
    assert len(spilled.text) == 40_000
    assert session.links == ["https://github.com/o/r/pull/7"]
    assert [(s.id, s.name, s.description, s.tool_use) for s in session.subagents] == [
        ("a1b2c3d4e5f60718", "general-purpose", "Count words", 11)
    ]
    steers = [line for line in described(session) if line.startswith("STEER")]
    assert steers == ["STEER also add a comment"]
    assert session.context_used == 8012


def test_25_a_fork_counts_only_what_is_its_own() -> None:
    session = read(SYNTHETIC / "5e550000-0000-4000-8000-000000000002.jsonl")
    assert session.lineage.forked_from == "5e550000-0000-4000-8000-000000000001"
    assert [e.prompt for e in session.live_exchanges] == ["a new question in the fork"]
    assert session.usage() is None


def test_25_every_kind_of_damage() -> None:
    session = read(SYNTHETIC / "5e550000-0000-4000-8000-000000000006.jsonl")
    # 21 records: one more than its MANIFEST, as an integer of 5,000 digits is read as infinity. Then 3 bad lines,
    # 4 values that are no objects, and the unfinished last line.
    assert len(session.unreadable) == 8
    assert [u.reason for u in session.unreadable if "not an object" in u.reason] == [
        f"a JSON {kind}, not an object" for kind in ("list", "null", "string", "number")
    ]
    assert session.unreadable[-1].reason == "the last line is unfinished"
    assert session.duplicates == 1


def test_s01_one_response_of_many_rows() -> None:
    session = read(case("s01") / "input.jsonl")
    assert [session.exchange_usage(e.index)[:4] for e in session.exchanges] == [
        (3, 365, 181_200, 1600),
        (3, 40, 91_655, 150),
    ]
    assert described(session)[:5] == [
        "PROMPT Why does the cart total go negative?",
        "THINKING Look at the discount rule first.",
        "TEXT I will read the discount code.",
        "TOOL Read",
        "TOOL Grep",
    ]
    assert len({session.messages.group[i] for i in range(1, 5)}) == 1


def test_s02_the_same_text_written_twice_shows_once() -> None:
    session = read(case("s02") / "input.jsonl")
    assert session.usage()[:2] == (1710, 80)
    assert described(session).count("TEXT Only 8631 on loopback.") == 1


def test_s05_spliced_lines() -> None:
    session = read(case("s05") / "input.jsonl")
    assert len(session.live_exchanges) == 3
    assert session.usage()[:2] == (60, 18)
    assert 3 in [u.line for u in session.unreadable]


def test_s06_a_half_line_and_the_rest_of_it(tmp_path: Path) -> None:
    folder = case("s06")
    path = tmp_path / "live.jsonl"
    path.write_bytes((folder / "input.jsonl").read_bytes())
    reading = PROVIDER.open(path)
    reading.step()
    assert (len(reading.session.exchanges), reading.session.usage()[:2]) == (2, (100, 10))
    for n in (1, 2, 3):
        with path.open("ab") as file:
            file.write((folder / f"append-{n}.bin").read_bytes())
        reading.step()
    reading.finish()
    text = "\n".join(described(reading.session))
    assert text.count("There are four chairs") == 1 and "�" not in text
    assert reading.session.usage()[:2] == (220, 24)


def test_s14_compaction_keeps_what_was_before() -> None:
    session = read(case("s14") / "input.jsonl")
    assert [e.prompt for e in session.live_exchanges] == ["Plan the shelf.", "Cut the boards.", "Now paint it."]
    mark = next(m for i in range(len(session.messages)) if (m := session.message(i)).kind is Kind.COMPACTION)
    assert mark.label == "Compacted (manual), 640 tokens before"
    assert "SUMMARYTEXT" in mark.text and mark.exchange == 1
    assert session.title == "Plan the shelf."


def test_s15_a_rewound_branch_stays_and_is_marked() -> None:
    session = read(case("s15") / "input.jsonl")
    assert [e.rewound for e in session.exchanges] == [False, True, False, False]
    assert [bool(f & Flag.REWOUND) for f in session.messages.flags] == [
        False,
        False,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert session.usage()[:2] == (100, 10)


def test_s16_totals_with_and_without_subagents() -> None:
    session = read(next(case("s16").glob("projects/*/*.jsonl")))
    assert session.usage() == TokenUsage(15, 45, 100, 150, None, session.usage().cache_write_1h)
    assert usage_with_subagents(session)[:4] == (55, 86, 300, 750)
    assert [(s.id, s.tool_use) for s in session.subagents] == [("a1f00001", 1), ("a1f00002", 2)]


def test_s20_only_plain_ids_can_be_resumed() -> None:
    for path in case("s20").glob("projects/*/*.jsonl"):
        assert PROVIDER.resume_command(read(path)) == ["claude", "--resume", path.stem]

"""What holds for every session that is written as Toolpath: the document is valid, and what the format has comes back:
who said what, thinking, tool uses with their results, in their order, and tokens.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from schemas.interchange.toolpath_check import validate_stream, validate_toolpath
from schemas.interchange.toolpath_read import TOOLPATH, read_path
from schemas.interchange.toolpath_write import to_toolpath, to_toolpath_stream
from schemas.interchange.verdicts import Verdict
from schemas.message import Flag, Kind
from schemas.opening import OpenError, family, read_session
from schemas.providers import providers
from schemas.session import Session, Subagent
from schemas.usage import TokenUsage, total_usage
from tests.schemas.conformance import assert_same_in_pieces
from tests.schemas.test_session_data_laws import sessions
from tests.schemas.toolpath_talk import assert_same_talk, facts, talk, usage
from tests.support import Hand

SHARED = Path(__file__).parents[2] / "../shared/corpus"
MARKS = (Kind.ERROR, Kind.COMPACTION, Kind.INTERRUPT, Kind.OUTPUT)
OWN_EVENTS = ("claude", "codex")
"""Agents whose marks are lines of their own, called as those are."""
_LARGEST = 100_000


def document(session: Session, **options: Any) -> bytes:
    return b"".join(to_toolpath(session, **options))


def stream(session: Session, **options: Any) -> bytes:
    return b"".join(to_toolpath_stream(session, **options))


def assert_survives(session: Session, folder: Path) -> None:
    """What the format has comes back, and what was read from it is written again as it was."""
    for write, check, name in ((document, validate, "a.path.json"), (stream, validate_stream, "a.path.jsonl")):
        lost: Counter[str] = Counter()
        written = write(session, lost=lost)
        assert check(written).errors == []
        path = folder / name
        path.write_bytes(written)
        back = read_session(path)
        assert_same_talk(session, back)
        if len(session.messages):  # the id stands in the address of what was said
            assert facts(back) == facts(session)
        if not lost["odd total"]:
            assert usage(back) == usage(session)
        fewer = Counter(session.messages.kind) - Counter(back.messages.kind)
        if session.provider not in OWN_EVENTS:
            assert [kind for kind in MARKS if fewer[kind]] == []
        assert write(back) == written
        back.close()


def validate(written: bytes) -> Verdict:
    return validate_toolpath(json.loads(written))


def stated_total(written: bytes) -> dict[str, int]:
    """The sum of `token_usage` over a document's steps."""
    sums: dict[str, int] = {}
    for step in json.loads(written)["paths"][0]["steps"]:
        for part in step["change"].values():
            for key, value in part.get("structural", {}).get("token_usage", {}).items():
                if isinstance(value, int):
                    sums[key] = sums.get(key, 0) + value
    return sums


# -- sessions made by hand ---------------------------------------------------------------------------------------------


@given(sessions())
def test_a_session_survives_being_written_and_read(tmp_path_factory, session):
    # An empty turn has nothing that could come back, and no agent writes one: hand-made ones differ in small ways.
    assume(all(one.tool or one.text for one in map(session.message, range(len(session.messages)))))
    assert_survives(session, tmp_path_factory.mktemp("laws"))


@given(sessions())
def test_the_sum_over_the_steps_is_the_sessions_total(session):
    total = session.usage()
    stated = stated_total(document(session))
    if total is None or total.total is None:
        assert stated == {}
        return
    inside = session.provider in ("codex", "gemini", "qwen")
    fresh = [total.input, *((total.cache_read, total.cache_write) if inside else ())]
    assert stated.get("input_tokens", 0) == sum(n or 0 for n in fresh)
    assert stated.get("output_tokens", 0) == (total.output or 0)
    assert stated.get("cache_read_tokens", 0) == (total.cache_read or 0)


@given(sessions(), st.data())
def test_a_stream_that_grows_is_the_session_that_it_is_at_once(tmp_path_factory, session, data):
    written = stream(session)
    cuts = data.draw(st.lists(st.integers(0, len(written)), max_size=5))
    assert_same_in_pieces(TOOLPATH, written, tmp_path_factory.mktemp("cut"), cuts, "a.path.jsonl")


def test_a_stream_and_a_document_are_the_same_path():
    hand = Hand()
    hand.prompt("go")
    hand.text("done")
    path = json.loads(document(hand.session))["paths"][0]
    lines = [json.loads(line) for line in stream(hand.session).splitlines()]
    assert [line["Step"] for line in lines if "Step" in line] == path["steps"]
    assert lines[0]["PathOpen"]["meta"] == {k: v for k, v in path["meta"].items() if k != "actors"}
    assert {body["actor"]: body["definition"] for line in lines for v, body in line.items() if v == "ActorDef"} == (
        path["meta"]["actors"]
    )
    assert {"Head": {"step_id": path["path"]["head"]}} in lines


# -- the samples of every provider -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[*sorted(providers()), "corpus"])
def read(request, tmp_path_factory) -> Iterator[list[Session]]:
    """The sessions in the samples of one provider, or in the shared corpus."""
    if request.param == "corpus":
        if not SHARED.is_dir():
            pytest.skip("the shared corpus is not here")
        files = [path for path in sorted(SHARED.rglob("*")) if path.is_file() and path.stat().st_size <= _LARGEST]
    else:
        fixtures = import_module(f"tests.fixtures.{request.param.replace('-', '_')}")
        files = [sample.path for sample in fixtures.samples(tmp_path_factory.mktemp("home"))]
    found = []
    for path in files:
        with suppress(OpenError):
            found.append(read_session(path))
    yield found
    for session in found:
        session.close()


def test_every_sample_survives_being_written_and_read(read, tmp_path):
    for session in read:
        assert_survives(session, tmp_path)


def test_subagents_survive_with_their_own_turns(read, tmp_path):
    for session in read:
        members = list(family(session))
        path = tmp_path / "with.path.json"
        path.write_bytes(document(session, subagents=True))
        assert validate(path.read_bytes()).errors == []
        back = read_session(path)
        before = [talk(member) for member in members if member is not session and len(member.messages)]
        after = [talk(member) for member in family(back) if member is not back]
        assert sorted(map(repr, after)) == sorted(map(repr, before))
        assert document(back) == path.read_bytes()
        back.close()


def test_a_samples_stream_may_be_cut_anywhere(read, tmp_path):
    for number, session in enumerate(read):
        written = stream(session)
        step = max(len(written) // 13, 1)
        cuts = range(step, len(written), step)
        assert_same_in_pieces(TOOLPATH, written, tmp_path, cuts, f"{number}.path.jsonl")


def hiding(secret: str) -> Callable[[Any], Any]:
    """An edit of JSON values, as redaction is one, of members' names too."""

    def edit(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(secret, "*****")
        if isinstance(value, dict):
            return {edit(key): edit(item) for key, item in value.items()}
        return [edit(item) for item in value] if isinstance(value, list) else value

    return edit


def test_every_string_of_a_sample_passes_the_editor(read):
    for session in read:
        words = {word for e in session.exchanges for word in e.prompt.split() if word.isalpha() and len(word) > 4}
        whole = document(session)
        words = {word for word in words - {session.provider} if f'"{word}":'.encode() not in whole}
        if not words:
            continue
        secret = max(words, key=lambda word: (len(word), word))
        for write, check in ((document, lambda w: validate_toolpath(json.loads(w))), (stream, validate_stream)):
            assert secret.encode() in write(session)
            written = write(session, edit=hiding(secret))
            assert secret.encode() not in written
            assert check(written).errors == []


def test_what_a_compaction_cost_is_said_behind_it():
    hand = Hand()
    hand.prompt("one")
    hand.note(Kind.COMPACTION, "Compacted", "so far", usage=TokenUsage(7, 5), model="m")
    path = json.loads(document(hand.session))["paths"][0]
    said = [part["structural"] for step in path["steps"] for part in step["change"].values()]
    assert [(one["type"], one.get("text"), one.get("token_usage")) for one in said[1:]] == [
        ("conversation.event", "so far", None),
        ("conversation.append", "", {"input_tokens": 7, "output_tokens": 5}),
    ]
    back = read_path(path, hand.session.path)
    assert (back.messages.kind_of(1), back.usage()) == (Kind.COMPACTION, TokenUsage(7, 5))


# -- what a turn is ----------------------------------------------------------------------------------------------------


def test_rewound_turns_are_dead_ends():
    hand = Hand()
    hand.prompt("one")
    hand.text("wrong", flags=Flag.REWOUND)
    hand.text("wrong again", flags=Flag.REWOUND)
    hand.text("right")
    steps = json.loads(document(hand.session))["paths"][0]["steps"]
    assert [step["step"].get("parents") for step in steps] == [None, ["m0"], ["m1"], ["m0"]]


def test_what_is_no_turn_hangs_beside_the_turn_before_it():
    hand = Hand()
    hand.prompt("one")
    hand.note(Kind.NOTE, "a note", "text")
    hand.text("two")
    path = json.loads(document(hand.session))["paths"][0]
    assert [step["step"].get("parents") for step in path["steps"]] == [None, ["m0"], ["m0"]]
    assert path["path"]["head"] == "m2"
    event = path["steps"][1]["change"]["claude-code://5e55-made-by-hand"]["structural"]
    assert (event["type"], event["entry_type"], event["text"]) == ("conversation.event", "note", "text")


@pytest.mark.parametrize(
    ("model", "actor"),
    [
        ("claude-opus-5", "agent:claude-opus-5"),
        ("llama3:8b", "agent:llama3-8b"),
        ("a/b/c", "agent:a/b-c"),
        ("", "agent:unknown"),
        ("<synthetic>", "tool:claude-code"),
    ],
)
def test_actors_are_made_to_fit(model, actor):
    hand = Hand()
    hand.prompt("go")
    hand.text("done", model=model)
    path = json.loads(document(hand.session))["paths"][0]
    assert path["steps"][1]["step"]["actor"] == actor
    if actor.startswith("agent:") and model:
        assert path["meta"]["actors"][actor]["model"] == model


def test_two_models_do_not_become_one_actor():
    hand = Hand()
    hand.prompt("go")
    hand.text("one", model="a:b")
    hand.text("two", model="a-b")
    steps = json.loads(document(hand.session))["paths"][0]["steps"]
    assert len({step["step"]["actor"] for step in steps}) == 3


def test_a_subagent_within_the_file_stands_with_its_delegation():
    hand, child = Hand(), Hand(session_id="child")
    hand.prompt("go")
    from schemas.message import Tool

    use = hand.tool(Tool("Task", "generic", "t1", {"prompt": "look"}, {"content": "seen", "is_error": False}, "seen"))
    child.prompt("look")
    child.text("seen")
    hand.session.subagents.append(Subagent("a1", "Explore", session=child.session, tool_use=use))
    path = json.loads(document(hand.session))["paths"][0]
    (row,) = path["steps"][1]["change"]["claude-code://5e55-made-by-hand"]["structural"]["delegations"]
    assert (row["agent_id"], row["prompt"], row["result"], len(row["turns"])) == ("t1", "look", "seen", 2)
    back = read_path(path, hand.session.path)
    assert back.subagents[0].session is not None
    assert_same_talk(child.session, back.subagents[0].session)


def test_a_call_of_which_nothing_is_left_still_counts():
    hand = Hand()
    hand.prompt("go")
    record = hand.store.add({"n": 1})
    hand.session.add_group("lost", TokenUsage(7, 5), record)
    written = document(hand.session)
    assert stated_total(written) == {"input_tokens": 7, "output_tokens": 5}
    back = read_path(json.loads(written)["paths"][0], hand.session.path)
    assert back.usage() == total_usage([TokenUsage(7, 5)])
    assert document(back) == written


def test_a_large_document_whose_lines_look_like_another_agents_is_recognised(tmp_path):
    line = {"uuid": "u1", "timestamp": "2026-01-01T00:00:00Z", "sessionId": "s", "cwd": "/w"}
    records = [
        line | {"type": "user", "message": {"role": "user", "content": "x" * 80_000}},
        *(line | {"type": "attachment", "uuid": f"a{n}", "attachment": {"type": "x"}} for n in range(20)),
    ]
    native = tmp_path / "native.jsonl"
    native.write_text("".join(json.dumps(record) + "\n" for record in records))
    session = read_session(native)
    path = tmp_path / "a.path.json"
    path.write_bytes(document(session))
    back = read_session(path)
    assert_same_talk(session, back)
    kept = json.loads(path.read_bytes())["paths"][0]["steps"][1:]
    raws = [part["structural"]["raw"] for step in kept for part in step["change"].values()]
    assert raws == records[1:]

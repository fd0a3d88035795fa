"""Groups of several model calls in other programs' Toolpath documents: each call counts and is priced by itself."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.costs.responses import responses
from schemas.interchange.session_data_write import to_session_data
from schemas.interchange.toolpath import KIND
from schemas.interchange.toolpath_check import validate_toolpath
from schemas.interchange.toolpath_read import read_path
from schemas.interchange.toolpath_write import to_toolpath
from schemas.opening import read_session
from schemas.session import Session
from schemas.usage import TokenUsage, total_usage


def step(name: str, role: str = "assistant", **said: Any) -> dict[str, Any]:
    actor = "human:user" if role == "user" else "agent:gpt-5.4"
    turn = {"type": "conversation.append", "role": role, "text": name} | said
    identity = {"id": name, "actor": actor, "timestamp": f"2026-01-01T00:00:{len(name):02}Z"}
    return {"step": identity, "change": {"codex://the-session": {"structural": turn}}}


def figures(fresh: int, output: int, cached: int | None = None) -> dict[str, Any]:
    """As Codex counts: input includes the cache."""
    data = {"input_tokens": fresh + (cached or 0), "output_tokens": output}
    return data | ({"cache_read_tokens": cached} if cached is not None else {})


def read(*steps: dict[str, Any]) -> Session:
    for before, one in pairwise(steps):
        one["step"]["parents"] = [before["step"]["id"]]
    path = {"path": {"id": "p", "head": steps[-1]["step"]["id"]}, "steps": list(steps)}
    return read_path(path | {"meta": {"kind": KIND, "source": "codex"}}, Path("nowhere/x.path.json"))


def charged(session: Session) -> list[TokenUsage]:
    return [one.usage for one in responses(session)]


def test_each_attributed_call_is_charged_and_what_is_left_once_more():
    session = read(
        step("u", "user"),
        step("a", group_id="r", attributed_token_usage=figures(100, 5, 200)),
        step("bb", group_id="r"),
        step("ccc", group_id="r", attributed_token_usage=figures(10, 6, 300)),
        step("dddd", group_id="r", token_usage=figures(150, 20, 500)),
    )
    assert charged(session) == [TokenUsage(100, 5, 200), TokenUsage(10, 6, 300), TokenUsage(40, 9, 0)]
    assert session.usage() == TokenUsage(150, 20, 500)
    assert [session.messages.group[index] for index in range(1, 5)] == [0, 1, 1, 2]
    assert [one.time for one in responses(session)] == [1767225601.0, 1767225603.0, 1767225604.0]


def test_what_is_attributed_to_all_of_it_leaves_nothing_over():
    thought = {"breakdowns": {"output": {"reasoning": 4}}}
    session = read(
        step("u", "user"),
        step("a", group_id="r", attributed_token_usage=figures(1, 2)),
        step("b", group_id="r", attributed_token_usage=figures(3, 4), token_usage=figures(4, 6) | thought),
    )
    assert charged(session) == [TokenUsage(1, 2), TokenUsage(3, 4, reasoning=4)]
    assert session.usage() == TokenUsage(4, 6, reasoning=4)


def test_more_attributed_than_there_is_stays_one_call():
    session = read(
        step("u", "user"),
        step("a", group_id="r", attributed_token_usage=figures(1, 20)),
        step("b", group_id="r", attributed_token_usage=figures(3, 4), token_usage=figures(4, 6)),
    )
    assert charged(session) == [TokenUsage(4, 6)]


def test_a_person_who_speaks_during_a_round_does_not_end_it():
    session = read(
        step("u", "user"),
        step("a", group_id="r", attributed_token_usage=figures(1, 2)),
        step("v", "user"),
        step("b", group_id="r", attributed_token_usage=figures(3, 4), token_usage=figures(4, 6)),
    )
    assert charged(session) == [TokenUsage(1, 2), TokenUsage(3, 4)]
    assert [session.exchange_usage(number) for number in range(2)] == [TokenUsage(1, 2), TokenUsage(3, 4)]


def test_a_group_that_comes_again_after_its_total_is_another_one():
    session = read(
        step("u", "user"),
        step("a", group_id="r", token_usage=figures(1, 2)),
        step("v", "user"),
        step("b", group_id="r", token_usage=figures(3, 4)),
    )
    assert charged(session) == [TokenUsage(1, 2), TokenUsage(3, 4)]
    assert session.groups.ids == ["r", "r#2"]


@st.composite
def rounds(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Steps of rounds that keep the format's rules."""
    count = st.integers(0, 50)
    steps = [step("u", "user")]
    for number in range(draw(st.integers(1, 3))):
        whole = [0, 0, 0]
        size = draw(st.integers(1, 4))
        for place in range(size):
            one = step(f"{number}-{place}", group_id=f"r{number}")
            (said,) = (part["structural"] for part in one["change"].values())
            if draw(st.booleans()):
                share = [draw(count) for _ in whole]
                said["attributed_token_usage"] = figures(share[0], share[1], share[2])
                whole = [a + b for a, b in zip(whole, share, strict=True)]
            if place == size - 1:
                whole = [n + draw(st.sampled_from((0, 0, 7))) for n in whole]
                said["token_usage"] = figures(whole[0], whole[1], whole[2])
            steps.append(one)
    return steps


def accounts(document: dict[str, Any]) -> list[Any]:
    """What the turns that say something of tokens say."""
    turns = [next(iter(one["change"].values()))["structural"] for one in document["paths"][0]["steps"]]
    keys = ("text", "group_id", "token_usage", "attributed_token_usage")
    return [[turn.get(key) for key in keys] for turn in turns if turn["type"] == "conversation.append"]


@given(rounds())
def test_the_calls_are_the_total_and_are_written_as_they_were(steps):
    document = {"paths": [{"steps": steps}]}
    said = [total for _, _, total, _ in accounts(document) if total is not None]
    session = read(*steps)
    whole = total_usage(
        TokenUsage(t["input_tokens"] - t["cache_read_tokens"], t["output_tokens"], t["cache_read_tokens"]) for t in said
    )
    assert total_usage(charged(session)) == session.usage() == whole
    written = json.loads(b"".join(to_toolpath(session)))
    assert validate_toolpath(written).errors == []
    assert [[*row[:3]] for row in accounts(written)] == [[*row[:3]] for row in accounts(document)]
    again = read_path(written["paths"][0], Path("nowhere/x.path.json"))
    assert charged(again) == charged(session)
    assert json.loads(b"".join(to_toolpath(again))) == written


def test_session_data_keeps_which_calls_are_of_one_group(tmp_path):
    session = read(
        step("u", "user"),
        step("a", group_id="r", attributed_token_usage=figures(1, 2)),
        step("b", group_id="r", attributed_token_usage=figures(3, 4), token_usage=figures(9, 9)),
    )
    file = tmp_path / "x.json"
    file.write_bytes(b"".join(to_session_data(session)))
    again = read_session(file)
    assert charged(again) == charged(session)
    written = json.loads(b"".join(to_toolpath(again)))
    assert validate_toolpath(written).errors == []
    assert [row[2] for row in accounts(written)] == [None, None, figures(9, 9)]

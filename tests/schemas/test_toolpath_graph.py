"""Documents of several paths, and delegations that no tool use started."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from schemas.interchange.toolpath import merges_in, others_in
from schemas.interchange.toolpath_check import validate_stream, validate_toolpath
from schemas.interchange.toolpath_write import to_toolpath, to_toolpath_stream
from schemas.message import Kind
from schemas.opening import family, read_session
from schemas.session import Session, Subagent
from tests.schemas.test_toolpath_read import path, read, step
from tests.support import Hand, usage_with_subagents

SPENT = {"input_tokens": 5, "output_tokens": 7}


def talk(name: str, **meta: Any) -> dict[str, Any]:
    """A session of two turns whose path is called `name`."""
    turns = [
        step(f"{name}-1", role="user", text=f"ask {name}"),
        step(f"{name}-2", f"{name}-1", text=f"say {name}", token_usage=SPENT),
    ]
    made = path(*turns, **meta)
    made["path"]["id"] = name
    return made


def opened(folder: Path, *paths: Any, **around: Any) -> Session:
    file = folder / "a.path.json"
    file.write_text(json.dumps({"graph": {"id": "g"}, "paths": list(paths)} | around))
    return read_session(file)


def document(session: Session) -> bytes:
    return b"".join(to_toolpath(session))


def reread(folder: Path, written: bytes, name: str = "b.path.json") -> Session:
    (folder / name).write_bytes(written)
    return read_session(folder / name)


def texts(session: Session) -> list[str]:
    return [session.message(index).text for index in range(len(session.messages)) if session.message(index).text]


# -- several paths -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damaged", [False, True], ids=["in place", "read whole"])
def test_each_session_is_read_and_counted(tmp_path, damaged):
    paths = [talk("one"), talk("two", title="Second"), talk("three")]
    if damaged:  # a step before its parent: the document cannot be read where it lies
        paths[1]["steps"].reverse()
    session = opened(tmp_path, *paths)
    assert [texts(member) for member in family(session)] == [[f"ask {n}", f"say {n}"] for n in ("one", "two", "three")]
    assert [child.description for child in session.subagents] == [
        "another session of the document: Second",
        "another session of the document: A title",
    ]
    assert others_in(session) == ["two", "three"]
    total = usage_with_subagents(session)
    assert session.usage().total == 12 and total is not None and total.total == 36


def test_all_sessions_are_written_again_and_stay_what_they_are(tmp_path):
    session = opened(tmp_path, talk("one"), {"$ref": "https://x/y.path.json"}, talk("two"))
    written = document(session)
    value = json.loads(written)
    assert validate_toolpath(value).errors == []
    assert [p["path"]["id"] for p in value["paths"][:2]] == ["one", "two"]
    assert [s["step"]["id"] for s in value["paths"][1]["steps"]] == ["two-1", "two-2"]
    again = reread(tmp_path, written)
    assert [texts(member) for member in family(again)] == [texts(member) for member in family(session)]
    assert others_in(again) == ["two"]
    assert document(again) == written


def test_a_stream_has_one_path_and_the_others_are_counted(tmp_path):
    session = opened(tmp_path, talk("one"), talk("two"))
    lost: Counter[str] = Counter()
    written = b"".join(to_toolpath_stream(session, lost=lost))
    assert validate_stream(written).errors == []
    assert lost["subagent session"] == 1
    again = reread(tmp_path, written, "b.path.jsonl")
    assert [texts(member) for member in family(again)] == [["ask one", "say one"]]
    assert b"".join(to_toolpath_stream(again)) == written


def test_paths_of_one_id_are_told_apart_when_written(tmp_path):
    written = document(opened(tmp_path, talk("one"), talk("one"), talk("one")))
    value = json.loads(written)
    assert [p["path"]["id"] for p in value["paths"]] == ["one", "one#2", "one#3"]
    assert validate_toolpath(value).errors == []
    assert document(reread(tmp_path, written)) == written


def test_a_subagent_that_nothing_started_is_a_path_of_its_own(tmp_path):
    hand, inner = Hand(), Hand(session_id="inner")
    hand.prompt("go")
    inner.prompt("dig")
    hand.session.subagents.append(Subagent("x", session=inner.session))
    written = document(hand.session)
    assert len(json.loads(written)["paths"]) == 2
    again = reread(tmp_path, written)
    assert texts(again.subagents[0].session) == ["dig"]
    assert document(again) == written


def test_a_graphs_title_is_that_of_a_path_without_one(tmp_path):
    bare = talk("one")
    del bare["meta"]["title"]
    assert opened(tmp_path, bare, meta={"title": "The graph"}).title == "The graph"
    assert opened(tmp_path, talk("one"), meta={"title": "The graph"}).title == "A title"


# -- delegations -------------------------------------------------------------------------------------------------------


def handed(**said: Any) -> dict[str, Any]:
    return {"agent_id": "x", "prompt": "dig"} | said


def delegations(written: bytes) -> list[dict[str, Any]]:
    steps = json.loads(written)["paths"][0]["steps"]
    said = [part["structural"] for s in steps for part in s["change"].values()]
    return [row for one in said for row in one.get("delegations", [])]


def test_a_delegation_without_a_tool_use_is_one_again(tmp_path):
    inner = {"role": "assistant", "text": "inner", "token_usage": SPENT}
    rows = [handed(result="found", turns=[inner]), handed(agent_id="", prompt="more")]
    session = opened(tmp_path, path(step("u", role="user", text="go"), step("a", "u", delegations=rows)))
    written = document(session)
    value = json.loads(written)
    assert validate_toolpath(value).errors == [] and len(value["paths"]) == 1
    found = delegations(written)
    assert [(row["agent_id"], row["prompt"], row.get("result")) for row in found] == [
        ("x", "dig", "found"),
        ("", "more", None),
    ]
    assert found[0]["turns"] == [inner]
    again = reread(tmp_path, written)
    assert [child.id for child in again.subagents] == [child.id for child in session.subagents]
    assert document(again) == written


def test_a_delegation_of_a_tool_use_stays_with_it(tmp_path):
    use = {"id": "t", "name": "Task", "input": {"prompt": "dig"}, "category": "delegation"}
    rows = [handed(turns=[{"role": "assistant", "text": "inner"}])]
    turn = step("a", "u", tool_uses=[use], delegations=rows)
    written = document(opened(tmp_path, path(step("u", role="user", text="go"), turn)))
    (row,) = delegations(written)
    assert row == rows[0]
    assert document(reread(tmp_path, written)) == written


# -- what only the format has ------------------------------------------------------------------------------------------


def test_merges_are_counted():
    turns = [
        step("u", role="user", text="go"),
        step("a", "u"),
        step("b", "u"),
        step("c", "a", "b"),
        step("d", "c", "c"),
    ]
    assert merges_in(read(*turns)) == 1
    assert merges_in(Hand().session) == 0


def test_what_has_no_time_is_of_its_exchange():
    hand = Hand()
    for ask in ("one", "two"):
        hand.prompt(ask)
        hand.text("!")
    session = hand.session
    session.created = 0.0
    for index in range(len(session.messages)):
        session.messages.time[index] = float("nan")
        session.message(index).timestamp = None
    times = [s["step"]["timestamp"] for s in json.loads(document(session))["paths"][0]["steps"]]
    starts = [session.exchanges[0].started, session.exchanges[1].started]
    assert starts[0] != starts[1]
    assert len({times[0], times[1]}) == 1 and len({times[2], times[3]}) == 1 and times[0] < times[2]
    assert [session.messages.kind[i] for i in (0, 2)] == [Kind.PROMPT, Kind.PROMPT]

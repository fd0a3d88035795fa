"""What turnlog makes of native sessions, against what the format's own producer made of them.

schemas/documents/toolpath.md argues for each difference that is allowed here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.interchange.toolpath import EVENT, TURN, WRITE, structural_type
from schemas.interchange.toolpath_check import validate_stream, validate_toolpath
from schemas.interchange.toolpath_write import to_toolpath, to_toolpath_stream
from schemas.opening import read_session

GOLDENS = Path(__file__).parents[2] / "../shared/goldens/toolpath"
NAMES = [
    ("claude-convo", "claude/convo"),
    ("claude-compacted_session", "claude/compacted_session"),
    ("codex-sample-codex-python", "codex/sample-codex-python"),
    ("codex-compacted_session", "codex/compacted_session"),
]
pytestmark = pytest.mark.skipif(not GOLDENS.is_dir(), reason="the goldens are not here")


def turns(document: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The identity and the payload of each turn."""
    return [
        (step["step"], part["structural"])
        for step in document["paths"][0]["steps"]
        for part in step["change"].values()
        if structural_type(part) == TURN
    ]


@pytest.fixture(params=NAMES, ids=lambda names: names[0])
def pair(request) -> tuple[list[Any], list[Any], dict[str, Any]]:
    golden, native = request.param
    session = read_session(GOLDENS / f"native/{native}.jsonl")
    ours = json.loads(b"".join(to_toolpath(session)))
    assert validate_toolpath(ours).errors == []
    assert validate_stream(b"".join(to_toolpath_stream(session))).errors == []
    session.close()
    return turns(json.loads((GOLDENS / f"golden/{golden}.path.json").read_text())), turns(ours), ours


def test_there_is_a_turn_for_each_turn(pair):
    golden, ours, _ = pair
    assert len(ours) == len(golden)
    assert [said["role"] for _, said in ours] == [said["role"] for _, said in golden]
    assert [step["id"] for step, _ in ours] == [step["id"] for step, _ in golden]


@pytest.mark.parametrize(
    "key",
    [
        "text",
        "thinking",
        "group_id",
        "token_usage",
        "attributed_token_usage",
        "stop_reason",
        "environment",
        "delegations",
    ],
)
def test_each_turn_says_the_same(pair, key):
    golden, ours, _ = pair
    assert [said.get(key) for _, said in ours] == [said.get(key) for _, said in golden]


def test_each_turn_follows_the_same_turn(pair):
    golden, ours, _ = pair
    assert [step.get("parents", []) for step, _ in ours] == [step.get("parents", []) for step, _ in golden]
    assert [step["timestamp"][:19] for step, _ in ours] == [step["timestamp"][:19] for step, _ in golden]


def test_tools_and_their_results_are_the_same(pair):
    golden, ours, _ = pair
    for (_, mine), (_, theirs) in zip(ours, golden, strict=True):
        for use, other in zip(mine.get("tool_uses", []), theirs.get("tool_uses", []), strict=True):
            assert {k: use[k] for k in ("id", "name", "category", "input")} == {
                k: other[k] for k in ("id", "name", "category", "input")
            }
            # A patch that could not be applied has failed; theirs only looks at exit codes.
            refused = "apply_patch verification failed" in use["result"]["content"]
            assert use["result"]["is_error"] == (refused or other["result"]["is_error"])
            # Theirs repeats what a command printed before the output item, which has it too.
            assert other["result"]["content"].endswith(use["result"]["content"])


def test_the_head_is_behind_all_turns(pair):
    _, ours, document = pair
    path = document["paths"][0]
    parents = {step["step"]["id"]: step["step"].get("parents", []) for step in path["steps"]}
    seen, waiting = set(), [path["path"]["head"]]
    while waiting:
        name = waiting.pop()
        seen.add(name)
        waiting += parents[name]
    assert {step["id"] for step, _ in ours} <= seen


@pytest.fixture(params=NAMES, ids=lambda names: names[0])
def paths(request) -> tuple[dict[str, Any], dict[str, Any]]:
    golden, name = request.param
    session = read_session(GOLDENS / f"native/{name}.jsonl")
    ours = json.loads(b"".join(to_toolpath(session)))
    session.close()
    return json.loads((GOLDENS / f"golden/{golden}.path.json").read_text())["paths"][0], ours["paths"][0]


def test_the_path_began_at_the_same_place(paths):
    golden, ours = paths
    assert ours["path"].get("base") == golden["path"].get("base")
    for key in ("kind", "source", "producer", "vcs_remote"):
        assert ours["meta"].get(key) == golden["meta"].get(key)


def changes(path: dict[str, Any], kind: str) -> list[tuple[str, str, dict[str, Any]]]:
    """The step's id, the artifact and the change, of all changes of a type."""
    return [
        (step["step"]["id"], key, part)
        for step in path["steps"]
        for key, part in step["change"].items()
        if structural_type(part) == kind
    ]


def test_there_is_an_event_for_each_event(paths):
    kinds = [sorted(part["structural"]["entry_type"] for _, _, part in changes(path, EVENT)) for path in paths]
    assert kinds[0] == kinds[1]


def test_files_that_changed_are_the_same(paths):
    golden, ours = paths
    failed = {
        use["id"]
        for _, _, part in changes(golden, TURN)
        for use in part["structural"].get("tool_uses", [])
        if use["result"]["is_error"]
    }
    theirs = [one for one in changes(golden, WRITE) if one[2]["structural"]["tool_id"] not in failed]
    mine = {(step, key): part for step, key, part in changes(ours, WRITE)}
    assert mine.keys() == {(step, key) for step, key, _ in theirs}
    for step, key, part in theirs:
        assert mine[step, key]["structural"] == part["structural"]
        assert hunks(mine[step, key]["raw"]) == hunks(part["raw"])


def hunks(raw: str) -> list[str]:
    """The lines of a diff that came and went."""
    return [line for line in raw.split("\n") if line[:1] in ("+", "-") and line[:3] not in ("---", "+++")]

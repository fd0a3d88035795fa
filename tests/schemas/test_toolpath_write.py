"""What a Toolpath document of a session says beyond its turns: where it began, its events, files and actors."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from schemas.clean import Run, Sgr
from schemas.diffs import FileDiff, added_file, from_strings, from_unified
from schemas.interchange.toolpath import EVENT, KIND, TURN, structural_type
from schemas.interchange.toolpath_check import validate_stream, validate_toolpath
from schemas.interchange.toolpath_read import read_path
from schemas.interchange.toolpath_tools import put_writes, read_writes
from schemas.interchange.toolpath_write import LOSSES, to_toolpath, to_toolpath_stream
from schemas.message import NO_FLAGS, Flag, Kind, Part, Tool, ToolStatus
from schemas.opening import read_session
from schemas.session import Inherited, Session, Subagent
from schemas.table import NONE
from schemas.usage import TokenUsage
from tests.support import Hand

HERE = Path("nowhere/x.path.json")


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}


def meta(**git: Any) -> dict[str, Any]:
    return codex("session_meta", id="019dabc6-8fef-7681-a054-b5bb75fcb97d", cwd="/w", cli_version="0.118.0", git=git)


def item(role: str, text: str) -> dict[str, Any]:
    part = "output_text" if role == "assistant" else "input_text"
    return codex("response_item", type="message", role=role, content=[{"type": part, "text": text}])


def native(folder: Path, *records: dict[str, Any]) -> Session:
    file = folder / "native.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return read_session(file)


def written(session: Session) -> dict[str, Any]:
    """The session's path; document and stream are valid."""
    document: dict[str, Any] = json.loads(b"".join(to_toolpath(session)))
    assert validate_toolpath(document) == ([], [])
    assert validate_stream(b"".join(to_toolpath_stream(session))) == ([], [])
    path: dict[str, Any] = document["paths"][0]
    return path


def events(path: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        part["structural"]
        for step in path["steps"]
        for part in step["change"].values()
        if structural_type(part) == EVENT
    ]


# -- where a session began ---------------------------------------------------------------------------------------------


def test_codex_knows_the_commit_and_the_repository(tmp_path):
    git = {"commit_hash": "298fa07b", "branch": "main", "repository_url": "git@example.org:a/b.git"}
    session = native(tmp_path, meta(**git), item("user", "go"))
    path = written(session)
    assert path["path"]["base"] == {"uri": "file:///w", "ref": "298fa07b", "branch": "main"}
    assert path["meta"]["vcs_remote"] == "git@example.org:a/b.git"
    again = written(read_path(path, HERE))
    assert (again["path"]["base"], again["meta"]["vcs_remote"]) == (path["path"]["base"], path["meta"]["vcs_remote"])


@pytest.mark.parametrize("git", [{}, {"commit_hash": None, "branch": 3, "repository_url": ""}])
def test_where_there_is_no_repository_none_is_said(tmp_path, git):
    path = written(native(tmp_path, meta(**git), item("user", "go")))
    assert path["path"]["base"] == {"uri": "file:///w"}
    assert "vcs_remote" not in path["meta"]


# -- events ------------------------------------------------------------------------------------------------------------


def test_each_of_codex_events_is_one_in_the_document(tmp_path):
    ended = codex("event_msg", type="exec_command_end", call_id="c", exit_code=0, aggregated_output="all of it\n" * 9)
    count = {"input_tokens": 3, "cached_input_tokens": 0, "output_tokens": 1, "total_tokens": 4}
    counted = codex(
        "event_msg",
        type="token_count",
        info={"total_token_usage": count, "last_token_usage": count},
        rate_limits={"a": 1},
    )
    records = [
        meta(),
        item("user", "go"),
        codex("event_msg", type="user_message", message="go"),
        codex("event_msg", type="agent_message", message="look", phase="commentary"),
        item("assistant", "look"),
        codex("response_item", type="function_call", call_id="c", name="exec_command", arguments='{"cmd": "ls"}'),
        ended,
        codex("response_item", type="function_call_output", call_id="c", output="all of it\n…"),
        counted,
    ]
    path = written(native(tmp_path, *records))
    told = [(said["entry_type"], said["raw"]["payload"]) for said in events(path)]
    assert told == [
        ("session_meta", records[0]["payload"]),
        ("user_message", records[2]["payload"]),
        ("agent_message", records[3]["payload"]),
        ("exec_command_end", ended["payload"]),
        ("token_count", counted["payload"]),
    ]


def test_an_event_that_no_item_tells_is_a_turn_and_an_event_with_its_record(tmp_path):
    typed = codex("event_msg", type="user_message", message="go")
    asked = {"server": "s", "tool": "t", "arguments": {}}
    ended = codex("event_msg", type="mcp_tool_call_end", call_id="c", invocation=asked, result={"Ok": {"content": []}})
    path = written(native(tmp_path, meta(), typed, ended))
    texts = [part["structural"].get("text") for step in path["steps"] for part in step["change"].values()]
    assert texts.count("go") == 1
    assert [said["raw"] for said in events(path)][1:] == [typed, ended]


def test_a_notice_is_not_said_twice(tmp_path):
    noticed = codex("event_msg", type="error", message="down")
    path = written(native(tmp_path, meta(), item("user", "go"), noticed))
    assert [said["raw"] for said in events(path)][1:] == [noticed]


def test_a_compaction_of_codex_is_an_event_with_its_record(tmp_path):
    compacted = codex("compacted", message="so far", replacement_history=[{"type": "message", "role": "user"}])
    path = written(native(tmp_path, meta(), item("user", "go"), item("assistant", "hi"), compacted))
    step, said = path["steps"][-1], events(path)[-1]
    assert step["step"]["id"] == said["event_source_id"] == "compacted-2026-01-01T00:00:00.000Z"
    assert (said["entry_type"], said["raw"]) == ("compacted", compacted)
    assert "so far" in said["text"]


def test_a_notice_of_claude_code_is_an_event_with_its_record(tmp_path):
    about = {
        "parentUuid": None,
        "sessionId": "s",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "cwd": "/w",
        "version": "2.1",
    }
    prompt = about | {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "go"}}
    notice = about | {
        "type": "system", "uuid": "n1", "subtype": "api_error", "level": "error", "content": "down", "retryAttempt": 3,
    }  # fmt: skip
    (said,) = events(written(native(tmp_path, prompt, notice)))
    assert (said["event_source_id"], said["entry_type"], said["raw"]) == ("n1", "system", notice)


# -- files -------------------------------------------------------------------------------------------------------------


def put(*diffs: FileDiff, name: str = "apply_patch", given: Any = "", use: str = "c") -> dict[str, Any]:
    change: dict[str, Any] = {}
    tool = Tool(name, "write", use, {}, diffs=list(diffs))
    put_writes(change, {"id": use, "name": name, "input": given, "category": None}, tool)
    return change


def test_a_patch_adds_deletes_and_renames():
    change = put(
        added_file("/w/new.py", "a\nb\n"),
        from_strings("/w/old.py", "gone\n", "", "delete"),
        from_unified("/w/from.py", "@@ -1,1 +1,1 @@\n-x\n+y\n", "move", "/w/to.py"),
    )
    known = {"type": "file.write", "tool_id": "c", "tool": "apply_patch"}
    assert {path: part["structural"] for path, part in change.items()} == {
        "/w/new.py": known | {"operation": "add", "after": "a\nb\n"},
        "/w/old.py": known | {"operation": "delete"},
        "/w/from.py": known | {"operation": "update", "rename_to": "/w/to.py"},
    }
    assert change["/w/from.py"]["raw"] == "--- a/w/from.py\n+++ b/w/to.py\n@@ -1,1 +1,1 @@\n-x\n+y\n"
    assert change["/w/old.py"]["raw"] == "--- a/w/old.py\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-gone\n"
    assert [(diff.path, diff.operation, diff.renamed_to) for diff in read_writes(change, "c")] == [
        ("/w/new.py", "add", None),
        ("/w/old.py", "delete", None),
        ("/w/from.py", "move", "/w/to.py"),
    ]


def test_a_file_that_is_made_and_changed_in_one_turn_is_a_new_one_with_both_diffs():
    change = put(added_file("a.py", "x\n"), name="Write", given={"content": "x\n"})
    tool = Tool("Edit", "write", "d", {}, diffs=[from_unified("a.py", "@@ -1,1 +1,1 @@\n-x\n+y\n")])
    put_writes(change, {"id": "d", "name": "Edit", "input": {}, "category": "file_write"}, tool)
    said = change["a.py"]["structural"]
    assert (said["operation"], said["tool_id"], said["tool"]) == ("add", "d", "Edit")
    assert "after" not in said  # what the first one wrote is not what the file is now
    assert change["a.py"]["raw"].count("+++ b/a.py") == 2


# -- actors ------------------------------------------------------------------------------------------------------------


def foreign(*steps: dict[str, Any], **about: Any) -> dict[str, Any]:
    return {
        "path": {"id": "p", "head": steps[-1]["step"]["id"]},
        "steps": list(steps),
        "meta": {"kind": KIND, "source": "codex"} | about,
    }


def turn(name: str, actor: str, *parents: str, role: str = "assistant", **said: Any) -> dict[str, Any]:
    identity: dict[str, Any] = {"id": name, "actor": actor, "timestamp": "2026-01-01T00:00:00.000Z"}
    identity |= {"parents": list(parents)} if parents else {}
    return {"step": identity, "change": {"codex://s": {"structural": {"type": TURN, "role": role, "text": ""} | said}}}


def test_actors_of_another_document_stay_who_they_are():
    alex = {
        "name": "Alex",
        "identities": [{"system": "email", "id": "a"}, {"system": "no id"}],
        "keys": [{"type": "gpg", "fingerprint": "F"}, {"type": "other", "fingerprint": "F"}],
        "unknown": 1,
    }
    path = written(
        read_path(
            foreign(
                turn("u", "human:alex", role="user", text="go"),
                turn("a", "agent:gpt-5", "u"),
                actors={"human:alex": alex, "nobody\n": {}, "agent:gpt-5": {"model": "gpt-5"}},
            ),
            HERE,
        )
    )
    assert [step["step"]["actor"] for step in path["steps"]] == ["human:alex", "agent:gpt-5"]
    assert path["meta"]["actors"]["human:alex"] == {
        "name": "Alex",
        "identities": [{"system": "email", "id": "a"}],
        "keys": [{"type": "gpg", "fingerprint": "F"}],
    }
    assert "nobody\n" not in path["meta"]["actors"]


def test_a_merge_keeps_its_parents_and_no_step_follows_itself():
    steps = [
        turn("u", "human:user", role="user", text="go"),
        turn("a", "agent:m", "u", text="one"),
        turn("b", "agent:m", "u", text="two"),
        turn("c", "agent:m", "a", "b", "c", text="both"),
    ]
    path = written(read_path(foreign(*steps), HERE))
    assert [step["step"].get("parents") for step in path["steps"]] == [None, ["u"], ["u"], ["a", "b"]]


def test_what_a_response_without_a_turn_spent_is_its_models():
    hand = Hand()
    hand.prompt("go")
    session = hand.session
    session.add_group("g", TokenUsage(3, 5), (0, 0, 0, {}), model=session.model_index("gpt-5"))
    spent = [
        step["step"]["actor"]
        for step in written(session)["steps"]
        for part in step["change"].values()
        if "token_usage" in part.get("structural", {})
    ]
    assert spent == ["agent:gpt-5"]


def test_what_a_steps_meta_may_hold_is_kept_and_nothing_else():
    revision = {"type": "git", "revision": "r", "more": 1}
    steps = [turn("u", "human:user", role="user", text="go"), turn("a", "agent:m", "u", text="x"), turn("e", "tool:x")]
    steps[2]["change"] = {"f.py": {"raw": "d"}}
    for step, source in zip(steps, (revision, "no revision", "no revision"), strict=True):
        step["meta"] = {"source": source, "tags": ["kept"]}
    said = [step["meta"] for step in written(read_path(foreign(*steps), HERE))["steps"]]
    assert [meta.get("source") for meta in said] == [revision, None, None]
    assert [meta["tags"] for meta in said] == [["kept"]] * 3


# -- what is lost ------------------------------------------------------------------------------------------------------


def test_what_has_no_place_in_the_format_is_counted():
    hand = Hand()
    hand.add(Kind.PROMPT, opener="look", parts=[Part("text", "look"), Part("image", "[image]")])
    hand.text("red and green", metadata={"requestId": "r", "cwd": "/w"}, usage=TokenUsage(1, 1, 0, 5, None, 5))
    hand.session.message(1).parts[0].runs = [Run(0, 3, Sgr(fg=1)), Run(8, 13, Sgr(fg=2))]
    tool = Tool("Bash", "shell", "t", {}, text="no", status=ToolStatus.DENIED, exit_code=1, seconds=2.0)
    hand.tool(tool)
    session = hand.session
    session.inherited = {"m": Inherited("m", TokenUsage(1, 2), "", None, 0, NONE)}
    session.links, session.context_used = ["https://x/1"], 9
    session.lineage.forked_from = "another"
    session.hidden["odd"] += 2
    session.subagents.append(Subagent("a", "Explore", path=Path("nowhere/a.jsonl")))
    lost: Counter[str] = Counter()
    document = b"".join(to_toolpath(session, lost=lost))
    assert {what: count for what, count in lost.items() if count} == {
        "image": 1,
        "coloured run": 2,
        "inherited response": 1,
        "one-hour cache write": 1,
        "tool fact": 3,
        "message fact": 1,
        "session fact": 4,
        "hidden record": 2,
        "subagent session": 1,
    }
    assert lost.keys() <= LOSSES.keys()
    assert b"turnlog" not in document and b'"runs"' not in document


@pytest.mark.parametrize(
    ("turns", "count"),
    [
        ("wrong! bad! right good", 2),  # the first prompt was taken back: nothing that stays goes before it
        ("first one wrong! bad! right good", 0),
        ("first one wrong! bad!", 2),
        ("wrong! bad! right good wrong! bad!", 4),
    ],
)
def test_a_rewind_that_is_no_branch_is_named(turns: str, count: int) -> None:
    hand = Hand()
    for number, text in enumerate(turns.split()):
        say = hand.text if number % 2 else hand.prompt
        say(text, flags=Flag.REWOUND if text.endswith("!") else NO_FLAGS)
    lost: Counter[str] = Counter()
    b"".join(to_toolpath(hand.session, lost=lost))
    assert lost["rewound turn"] == count

"""Toolpath documents that other programs wrote, as sessions."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.interchange.toolpath import KIND, KIND_1_0, payload_of
from schemas.interchange.toolpath_check import validate_stream, validate_toolpath
from schemas.interchange.toolpath_read import TOOLPATH, read_path
from schemas.interchange.toolpath_write import to_toolpath, to_toolpath_stream
from schemas.message import Flag, Kind, ToolStatus
from schemas.opening import OpenError, read_session
from schemas.session import Op, Session
from schemas.usage import TokenUsage
from tests.schemas.conformance import assert_same_in_pieces, whole

GOLDENS = Path(__file__).parents[2] / "../shared/goldens/toolpath"
TIME = "2026-01-01T00:00:0{}Z"


def step(name: str, *parents: str, role: str = "assistant", actor: str = "", **said: Any) -> dict[str, Any]:
    identity: dict[str, Any] = {"id": name, "timestamp": TIME.format(len(name) % 10)}
    identity["actor"] = actor or ("human:user" if role == "user" else "agent:claude-x")
    if parents:
        identity["parents"] = list(parents)
    turn = {"type": "conversation.append", "role": role, "text": ""} | said
    return {"step": identity, "change": {"claude-code://the-session": {"structural": turn}}}


def event(name: str, *parents: str, **said: Any) -> dict[str, Any]:
    made = step(name, *parents, actor="tool:claude-code")
    made["change"]["claude-code://the-session"]["structural"] = {"type": "conversation.event"} | said
    return made


def path(*steps: dict[str, Any], head: str | None = None, kind: str | None = KIND, **meta: Any) -> dict[str, Any]:
    about = {"source": "claude-code", "title": "A title"} | ({"kind": kind} if kind else {}) | meta
    return {
        "path": {
            "id": "path-1",
            "head": steps[-1]["step"]["id"] if head is None else head,
            "base": {"uri": "file:///w", "branch": "main"},
        },
        "steps": list(steps),
        "meta": about,
    }


def read(*steps: dict[str, Any], **options: Any) -> Session:
    return read_path(path(*steps, **options), Path("nowhere/x.path.json"))


def kinds(session: Session) -> list[Kind]:
    return [session.messages.kind_of(index) for index in range(len(session.messages))]


def open_document(folder: Path, value: Any) -> Session:
    file = folder / "a.path.json"
    file.write_text(json.dumps(value))
    return read_session(file)


USER = step("u", role="user", text="do it")


# -- what a turn becomes -----------------------------------------------------------------------------------------------


def test_the_path_is_the_session():
    session = read(USER, producer={"name": "claude-code", "version": "2.1"})
    assert (session.provider, session.provider_name, session.id) == ("claude", "Claude Code", "the-session")
    assert (session.title, session.workspace_root, session.branch) == ("A title", "/w", "main")
    assert session.version == "2.1"
    assert session.exchanges[0].prompt == "do it"


def test_a_continuation_names_what_it_continues():
    value = path(USER)
    value["path"]["parent"] = {"uri": "x.path.json", "path": "path-0", "step": "s"}
    session = read_path(value, Path("nowhere/x.path.json"))
    assert session.lineage.continues == "path-0"
    assert "parent" not in json.loads(b"".join(to_toolpath(session)))["paths"][0]["path"]


def test_thinking_text_and_tools_of_a_turn_in_this_order():
    use = {"id": "t1", "name": "Bash", "input": {"command": "ls"}, "category": "shell"}
    done = use | {"id": "t2", "result": {"content": "no", "is_error": True}}
    session = read(USER, step("a", "u", thinking="hm", text="so", tool_uses=[use, done], stop_reason="tool_use"))
    assert kinds(session) == [Kind.PROMPT, Kind.THINKING, Kind.TEXT, Kind.TOOL, Kind.TOOL]
    tools = [session.message(index).tool for index in (3, 4)]
    assert [(tool.type, tool.status, tool.text) for tool in tools if tool] == [
        ("shell", ToolStatus.PENDING, ""),
        ("shell", ToolStatus.ERROR, "no"),
    ]
    assert session.exchanges[0].errors == 1
    assert session.message(1).metadata["stopReason"] == "tool_use"
    assert session.message(2).id == "a#2"


@pytest.mark.parametrize(
    ("said", "actor", "kind"),
    [
        ({"role": "user", "text": "hi"}, "human:user", Kind.PROMPT),
        ({"role": "user", "text": "hi"}, "tool:claude-code", Kind.CONTEXT),
        ({"role": "user", "text": "<environment_context>x"}, "human:user", Kind.CONTEXT),
        ({"role": "user", "text": "[Request interrupted by user]"}, "human:user", Kind.INTERRUPT),
        ({"role": "system", "text": "be good"}, "tool:codex", Kind.CONTEXT),
        ({"role": "tool", "text": "out"}, "tool:codex", Kind.OUTPUT),
        ({"role": "assistant", "text": ""}, "agent:m", Kind.THINKING),
        ({"role": "assistant", "text": "API Error: 429"}, "tool:claude-code", Kind.NOTE),
        ({"role": "user", "text": "<bash-input>ls</bash-input>"}, "human:user", Kind.COMMAND),
    ],
)
def test_whose_turn_it_is(said, actor, kind):
    session = read(step("a", actor=actor, **said))
    assert kinds(session) == [kind]
    assert len(session.live_exchanges) == (kind in (Kind.PROMPT, Kind.COMMAND))


def test_the_model_is_the_actors_real_one():
    session = read(
        USER,
        step("a", "u", text="x", actor="agent:llama3-8b"),
        step("b", "a", text="y", actor="agent:unknown"),
        step("c", "b", text="z", actor="agent:m", model="m/1:2"),
        actors={"agent:llama3-8b": {"model": "llama3:8b"}},
    )
    assert [session.model_of(index) for index in (1, 2, 3)] == ["llama3:8b", None, "m/1:2"]


def test_files_that_a_tool_changed_are_its_diffs():
    turn = step("a", "u", tool_uses=[{"id": "t", "name": "Edit", "input": {}, "category": "file_write",
                                      "result": {"content": "ok", "is_error": False}}])  # fmt: skip
    turn["change"]["a.py"] = {
        "raw": "--- a/a.py\n+++ b/a.py\n@@ -1,1 +1,1 @@\n-x\n+y\n",
        "structural": {"type": "file.write", "tool_id": "t", "operation": "update"},
    }
    turn["change"]["b.py"] = {"structural": {"type": "file.write", "operation": "delete"}}
    session = read(USER, turn)
    tool = session.message(1).tool
    assert tool is not None
    assert [(diff.path, diff.added, diff.removed) for diff in tool.diffs] == [("a.py", 1, 1)]
    assert session.message(2).label == "delete b.py"


def test_events_are_notes_or_counted():
    session = read(
        USER,
        event("e1", "u", entry_type="attachment"),
        event("e2", "u", entry_type="something", data={"deep": 1}),
        event("e3", "u", entry_type="compact_boundary", entry_extra={"compactMetadata": {"trigger": "auto"}}),
        event("e4", "u", entry_type="api_error", message="overloaded"),
    )
    assert kinds(session)[1:] == [Kind.NOTE, Kind.COMPACTION, Kind.ERROR]
    assert '"deep": 1' in session.message(1).text
    assert session.message(2).label == "Compacted, auto"
    assert session.message(3).text == "overloaded"
    assert session.hidden == {"attachment": 1}


# -- versions ----------------------------------------------------------------------------------------------------------


def test_version_1_0_0_repeats_usage_and_it_counts_once():
    usage = {"input_tokens": 3, "output_tokens": 5, "cache_read_tokens": 7, "cache_write_tokens": 2}
    session = read(
        USER,
        step("a", "u", text="x", token_usage=usage),
        step("b", "a", text="y", token_usage=usage | {"output_tokens": 9}),
        step("c", "b", text="z", token_usage=usage | {"cache_read_tokens": 70}),
        kind=KIND_1_0,
    )
    assert session.usage() == TokenUsage(6, 14, 77, 4)
    assert [session.groups.last[group] for group in range(2)] == [2, 3]


def test_equal_usage_of_1_0_0_is_another_response_after_what_a_person_said():
    usage = {"input_tokens": 5, "output_tokens": 7}
    turns = [step(name, text=name, token_usage=usage) for name in "abc"]
    session = read(USER, turns[0], turns[1], step("v", role="user", text="more"), turns[2], kind=KIND_1_0)
    assert session.usage() == TokenUsage(10, 14)
    assert len(session.groups) == 2


def test_a_group_of_1_1_0_ends_with_its_total():
    session = read(
        USER,
        step("a", "u", text="x", group_id="m1"),
        step("b", "a", text="y", group_id="m1", token_usage={"input_tokens": 3, "output_tokens": 5}),
        step("c", "b", text="z", token_usage={"input_tokens": 1, "output_tokens": None}),
    )
    assert session.usage() == TokenUsage(4, 5)
    assert session.groups.ids == ["m1", "c"]
    assert [session.messages.group[index] for index in (1, 2, 3)] == [0, 0, 1]


def test_a_total_said_too_early_counts_once():
    usage = {"input_tokens": 3, "output_tokens": 5}
    session = read(
        USER,
        step("a", "u", text="x", group_id="m1", token_usage=usage),
        step("b", "a", text="y", group_id="m1", token_usage=usage),
    )
    assert session.usage() == TokenUsage(3, 5)


def test_codex_counts_the_cache_inside_its_input():
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 7, "breakdowns": {"output": {"reasoning": 2}}}
    session = read(USER, step("a", "u", text="x", token_usage=usage), source="codex")
    assert session.usage() == TokenUsage(3, 5, 7, None, 2)


def test_a_drafts_compaction_is_one():
    compact = event("k", "u")
    compact["change"]["claude-code://the-session"]["structural"] = {
        "type": "conversation.compact", "trigger": "manual", "summary": "so far", "pre_tokens": 1234
    }  # fmt: skip
    session = read(USER, compact, step("a", "k", text="x"), kind=KIND.replace("v1.1.0", "v1.2.0"))
    assert kinds(session) == [Kind.PROMPT, Kind.COMPACTION, Kind.TEXT]
    assert (session.message(1).label, session.message(1).text) == ("Compacted, manual, 1,234 tokens before", "so far")
    assert not session.messages.has(0, Flag.REWOUND)


@pytest.mark.parametrize("tag", [None, "Path", "Graph"])
def test_older_roots_are_read(tmp_path, tag):
    one = path(USER)
    value = {None: one, "Path": {"Path": one}, "Graph": {"Graph": {"graph": {"id": "g"}, "paths": [one]}}}[tag]
    assert open_document(tmp_path, value).exchanges[0].prompt == "do it"


def test_a_bare_step_that_is_a_turn_is_read(tmp_path):
    assert open_document(tmp_path, {"Step": USER}).exchanges[0].prompt == "do it"


# -- which path --------------------------------------------------------------------------------------------------------


def test_the_first_session_is_opened_and_the_others_stand_in_it(tmp_path):
    plain = {"path": {"id": "plain", "head": "s"}, "steps": []}
    graph = {"graph": {"id": "g"}, "paths": [plain, {"$ref": "https://x/y.path.json"}, path(USER), path(USER)]}
    graph["paths"][3]["path"]["id"] = "path-2"
    session = open_document(tmp_path, graph)
    assert kinds(session) == [Kind.NOTE, Kind.PROMPT]
    named = "path 3 of 4: path-1; also sessions: path-2; not opened: plain, https://x/y.path.json"
    assert session.message(0).label == named
    lost: Counter[str] = Counter()
    again = json.loads(b"".join(to_toolpath(session, lost=lost)))
    assert [path["path"]["id"] for path in again["paths"][:2]] == ["path-1", "path-2"]
    assert again["paths"][2:] == [{"$ref": "https://x/y.path.json"}]
    assert again["graph"] == {"id": "g"}
    assert lost["other path"] == 1


def test_paths_that_are_no_sessions_are_refused_in_words(tmp_path):
    plain = {"path": {"id": "pr-42", "head": "s"}, "steps": [{"step": {"id": "s"}, "change": {"a": {"raw": "x"}}}]}
    with pytest.raises(OpenError, match=r"no path is an agent's session \(paths: pr-42\)"):
        open_document(tmp_path, {"graph": {"id": "g"}, "paths": [plain]})
    file = tmp_path / "a.path.jsonl"
    file.write_text('{"PathOpen":{"version":"1","id":"p","meta":{"kind":"https://x/kinds/other/v1"}}}\n')
    with pytest.raises(OpenError, match="which is no agent's session"):
        read_session(file)


# -- order -------------------------------------------------------------------------------------------------------------


def rewound(session: Session) -> list[str]:
    rows = range(len(session.messages))
    return [session.message(index).id for index in rows if session.messages.has(index, Flag.REWOUND)]


def test_a_head_that_misses_turns_does_not_hide_them():
    turns = [USER, step("a", "u", text="x"), step("b", "a", text="y")]
    session = read(*turns, event("e", "u", entry_type="something"), head="e")
    assert rewound(session) == []
    assert kinds(session) == [Kind.PROMPT, Kind.TEXT, Kind.TEXT, Kind.NOTE]


def test_a_branch_that_led_nowhere_is_rewound():
    turns = [
        USER,
        step("a", "u", text="x"),
        step("b", "a", text="y"),
        step("c", "u", text="z"),
        step("d", "c", text="!"),
    ]
    assert rewound(read(*turns)) == ["a", "b"]
    assert rewound(read(*turns, head="b")) == ["c", "d"]


def test_turns_without_parents_are_all_shown():
    assert rewound(read(USER, step("a", text="x"), step("b", text="y"), head="u")) == []


def test_steps_that_stand_before_their_parents_are_put_behind_them():
    session = read(step("b", "a", text="y"), step("a", "u", text="x"), USER, head="b")
    assert [session.message(index).id for index in range(3)] == ["u", "a", "b"]


def test_steps_on_a_cycle_stay_where_they_stand():
    steps = [step("a", "c", role="user", text="x"), step("b", "a", text="y"), step("c", "b", text="z")]
    session = read(*steps)
    assert [session.message(index).id for index in range(3)] == ["a", "b", "c"]
    behind = [step("d", "e", text="!"), step("e", "c", text="?")]  # off the cycle, and in the wrong order
    session = read(*steps, *behind)
    assert [session.message(index).id for index in range(5)] == ["a", "b", "c", "e", "d"]


# -- subagents ---------------------------------------------------------------------------------------------------------


def test_what_a_delegation_calls_turns_and_is_none_can_be_read():
    row = {
        "agent_id": "t1",
        "prompt": "look",
        "turns": [{"role": "assistant", "text": "seen"}, "plain words", 17, None],
    }
    child = read(USER, step("a", "u", text="x", delegations=[row])).subagents[0].session
    assert child is not None
    texts = [child.message(index).text for index in range(len(child.messages))]
    assert texts[:2] == ["seen", "plain words"]
    assert '"value": 17' in texts[2] and '"value": null' in texts[3]


def test_a_delegation_is_a_subagent_with_its_turns():
    use = {"id": "t1", "name": "Task", "input": {"prompt": "look"}, "category": "delegation"}
    turns = [
        {"id": "x", "role": "User", "text": "look"},
        {"id": "y", "role": "Assistant", "text": "seen", "model": "m"},
    ]
    row = {"agent_id": "agent-7", "prompt": "look", "turns": turns, "result": "seen"}
    session = read(USER, step("a", "u", tool_uses=[use], delegations=[row]))
    (child,) = session.subagents
    assert (child.id, child.description, child.tool_use) == ("agent-7", "look", 1)
    assert child.session is not None
    assert kinds(child.session) == [Kind.PROMPT, Kind.TEXT]
    assert child.session.model_of(1) == "m"
    assert child.session.lineage.parent == "the-session"
    assert session.messages.has(1, Flag.SUBAGENT)
    assert session.message(1).tool.subagent == "agent-7"  # type: ignore[union-attr]


def nested(depth: int) -> dict[str, Any]:
    use = {"id": f"a{depth}", "name": "Task", "input": {}, "category": "delegation"}
    row: dict[str, Any] = {"agent_id": f"a{depth}", "prompt": "p"}
    if depth:
        row["turns"] = [nested(depth - 1) | {"role": "assistant"}]
    return {"text": f"x{depth}", "tool_uses": [use], "delegations": [row]}


@pytest.mark.parametrize(("depth", "read_until", "written_until"), [(5, 5, 5), (60, 60, 20), (120, 80, 20)])
def test_subagents_nest_as_deep_as_python_and_json_allow(depth, read_until, written_until):
    def levels(session: Session) -> int:
        count = 0
        while session.subagents and (child := session.subagents[0].session) is not None:
            session, count = child, count + 1
        return count

    session = read(USER, step("a", "u", **nested(depth)))
    lost: Counter[str] = Counter()
    written = json.loads(b"".join(to_toolpath(session, lost=lost)))
    assert levels(session) == read_until
    assert levels(read_path(written["paths"][0], session.path)) == written_until
    assert lost["subagent session"] == (depth > written_until)
    assert validate_toolpath(written).errors == []


# -- streams -----------------------------------------------------------------------------------------------------------


def as_stream(*steps: dict[str, Any], **options: Any) -> bytes:
    whole_path = path(*steps, **options)
    opening = {"version": "1", "id": "path-1", "base": whole_path["path"]["base"], "meta": whole_path["meta"]}
    lines = [{"PathOpen": opening}, *({"Step": s} for s in steps), {"Head": {"step_id": whole_path["path"]["head"]}}]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def test_a_half_written_line_is_held_back(tmp_path):
    data = as_stream(USER, step("a", "u", text="x"))
    cut = data.index(b'"a"')
    file = tmp_path / "a.path.jsonl"
    file.write_bytes(data[:cut])
    reading = TOOLPATH.open(file)
    assert [change.op for change in reading.step()] == [Op.APPENDED]
    assert not reading.session.unreadable
    file.write_bytes(data)
    assert [change.op for change in reading.step()] == [Op.APPENDED]
    assert len(reading.session.messages) == 2


def test_a_branch_in_a_stream_is_told_when_it_comes(tmp_path):
    data = as_stream(USER, step("a", "u", text="x"), step("c", "u", text="z"))
    cut = data.index(b'{"Step": {"step": {"id": "c"')
    file = tmp_path / "a.path.jsonl"
    file.write_bytes(data[:cut])
    reading = TOOLPATH.open(file)
    reading.step()
    assert rewound(reading.session) == []
    file.write_bytes(data)
    assert [(change.op, change.message) for change in reading.step()] == [(Op.UPDATED, 1), (Op.APPENDED, 2)]
    assert rewound(reading.session) == ["a"]


def test_what_a_stream_may_hold_beside_steps(tmp_path):
    file = tmp_path / "a.path.jsonl"
    more = {"Checkpoint": {}}, {"PathMeta": {"patch": {"title": "Later"}}}, {"a": 1, "b": 2}
    file.write_bytes(as_stream(USER) + b"".join(json.dumps(line).encode() + b"\n" for line in more) + b"not json\n")
    session = read_session(file)
    assert session.title == "Later"
    assert session.unknown == {"Checkpoint": 1, "line with several keys": 1}
    assert len(session.unreadable) == 1


@given(st.data())
def test_a_stream_that_grows_is_the_session_that_it_is_at_once(tmp_path_factory, data):
    names = [chr(97 + n) for n in range(data.draw(st.integers(1, 7)))]
    steps = []
    for number, name in enumerate(names):
        parents = data.draw(st.lists(st.sampled_from(names[:number] or ["z"]), max_size=2))
        said: dict[str, Any] = {"text": name, "role": data.draw(st.sampled_from(["user", "assistant", "assistant"]))}
        if data.draw(st.booleans()):
            said["group_id"] = data.draw(st.sampled_from("gh"))
        if data.draw(st.booleans()):
            said["token_usage"] = {"input_tokens": number, "output_tokens": 1}
        steps.append(step(name, *parents, **said))
    written = as_stream(*steps, head=data.draw(st.sampled_from(names)))
    cuts = data.draw(st.lists(st.integers(0, len(written)), max_size=4))
    assert_same_in_pieces(TOOLPATH, written, tmp_path_factory.mktemp("cut"), cuts, "a.path.jsonl")


# -- written again -----------------------------------------------------------------------------------------------------

WORDS = ["conversation.append", "conversation.event", "conversation.compact", "file.write", "user", "assistant", "s1",
         "s2", "human:a", "agent:m", TIME.format(1), "", "prompt", "text", "tool", "g"]  # fmt: skip
KEYS = [
    "id",
    "parents",
    "actor",
    "timestamp",
    "type",
    "role",
    "text",
    "thinking",
    "tool_uses",
    "name",
    "input",
    "result",
    "content",
    "is_error",
    "token_usage",
    "attributed_token_usage",
    "input_tokens",
    "output_tokens",
    "breakdowns",
    "group_id",
    "delegations",
    "agent_id",
    "prompt",
    "turns",
    "environment",
    "stop_reason",
    "turnlog",
    "messages",
    "exchange",
    "metadata",
    "kind",
    "tool",
    "use",
    "at",
    "raw",
    "structural",
    "meta",
    "record",
    "entry_type",
    "flags",
    "refs",
    "intent",
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)
payload = st.fixed_dictionaries({"type": st.sampled_from(WORDS[:4])}, optional=dict.fromkeys(KEYS[5:], anything))
change = st.dictionaries(
    st.sampled_from(["claude-code://x", "agent://y/z", "a.py"]),
    anything | st.fixed_dictionaries({"structural": payload}, optional={"raw": st.text(max_size=5)}),
    max_size=2,
)
identity = st.fixed_dictionaries(
    {"id": st.sampled_from(["s1", "s2", "s3"])},
    optional={"actor": anything, "timestamp": anything, "parents": st.lists(st.sampled_from(WORDS), max_size=2)},
)
ours = anything | st.fixed_dictionaries({"turnlog": anything | st.fixed_dictionaries({"messages": anything})})
any_step = st.fixed_dictionaries({"step": identity | anything, "change": change}, optional={"meta": ours})
any_meta = st.fixed_dictionaries(
    {"kind": st.sampled_from([KIND, KIND_1_0, KIND.replace("v1.1.0", "v1.2.0")])},
    optional={
        **dict.fromkeys(("title", "source", "actors", "producer", "refs", "intent", "files_changed"), anything),
        "turnlog": st.fixed_dictionaries({"document": anything, "session": anything}),
    },
)
any_path = st.fixed_dictionaries(
    {
        "path": st.fixed_dictionaries({"id": st.just("p")}, optional={"head": anything, "base": anything}),
        "steps": st.lists(any_step, max_size=4),
        "meta": any_meta,
    }
)


@given(any_path)
def test_whatever_a_path_holds_it_is_read_and_written_as_a_valid_one(value):
    session = read_path(value, Path("nowhere/x.json"))
    written = b"".join(to_toolpath(session))
    assert validate_toolpath(json.loads(written)).errors == []
    assert validate_stream(b"".join(to_toolpath_stream(session))).errors == []
    if "turnlog" not in value["meta"]:
        back = read_path(json.loads(written)["paths"][0], session.path)
        assert json.loads(b"".join(to_toolpath(back))) == json.loads(written)


@pytest.mark.skipif(not GOLDENS.is_dir(), reason="the goldens are not here")
@pytest.mark.parametrize("name", ["claude-convo", "claude-compacted_session", "codex-sample-codex-python",
                                  "codex-compacted_session"])  # fmt: skip
def test_a_golden_is_read_and_written_with_all_its_steps(name):
    golden = json.loads((GOLDENS / f"golden/{name}.path.json").read_text())
    session = whole(TOOLPATH, GOLDENS / f"golden/{name}.path.json")
    ours_ = json.loads(b"".join(to_toolpath(session)))
    theirs = {s["step"]["id"]: s for s in golden["paths"][0]["steps"]}
    mine = {s["step"]["id"]: s for s in ours_["paths"][0]["steps"]}
    assert theirs.keys() == mine.keys()
    assert {name: s["change"] for name, s in theirs.items()} == {name: s["change"] for name, s in mine.items()}
    stream = whole(TOOLPATH, GOLDENS / f"golden/{name}.path.jsonl")
    assert stream.usage() == session.usage()
    assert [stream.message(i).id for i in range(len(stream.messages))] == [
        session.message(i).id for i in range(len(session.messages))
    ]


def test_a_delegation_that_no_tool_use_tells_of_shows_what_it_says():
    use = {
        "id": "t",
        "name": "Task",
        "input": {},
        "category": "delegation",
        "result": {"content": "done", "is_error": False},
    }
    rows = [
        {"agent_id": "t", "prompt": "p", "result": "done"},
        {"agent_id": "lone", "prompt": "do this", "result": "it is so"},
    ]
    session = read(USER, step("a", "u", tool_uses=[use], delegations=rows))
    assert kinds(session) == [Kind.PROMPT, Kind.TOOL, Kind.NOTE]
    assert session.message(2).text == "do this\n\nit is so"
    assert session.message(2).label == "subagent lone"


def test_a_turn_counts_whatever_stands_beside_it():
    usage = {"input_tokens": 3, "output_tokens": 5}
    turn = step("a", "u", text="x", token_usage=usage)
    beside = event("e")["change"]["claude-code://the-session"]
    turn["change"] = {"a://first": beside} | turn["change"]
    second = step("b", "a", text="y", token_usage=usage)
    second["change"]["z://another"] = {"structural": {"type": "conversation.append", "role": "assistant", "text": "z"}}
    second["change"]["z://another"]["structural"]["token_usage"] = usage
    assert read(USER, turn, second).usage() == TokenUsage(9, 15)


def test_what_else_a_total_says_is_kept():
    usage = {"input_tokens": 9, "output_tokens": 5, "web_searches": 2}
    usage |= {"breakdowns": {"output": {"reasoning": 1}, "input": {"audio": 4}}}
    (_, message) = [read(USER, step("a", "u", text="x", token_usage=usage)).message(index) for index in range(2)]
    assert message.metadata["usageFields"] == {"web_searches": 2, "breakdowns": {"input": {"audio": 4}}}


def test_a_path_that_began_at_a_step_of_another_one_is_its_fork():
    made = path(USER)
    made["path"]["base"] = {"uri": "toolpath:path-0/step-7"}
    made["meta"]["signatures"] = [{}, {}]
    session = read_path(made, Path("nowhere/x.path.json"))
    assert session.lineage.forked_from == "path-0"
    assert session.hidden == {"Signature": 2}


def test_what_programs_put_before_a_prompt_does_not_hide_it(tmp_path):
    text = "<system-reminder>\nBe brief.\n</system-reminder>\n<ide_selection>a.py</ide_selection>\nCount the lamps."
    session = read(tmp_path, step("s1", role="user", text=text), step("s2", "s1", text="Three."))
    assert [exchange.prompt for exchange in session.exchanges if exchange.prompt] == ["Count the lamps."]
    kinds = [session.messages.kind_of(i) for i in range(len(session.messages))]
    assert kinds == [Kind.CONTEXT, Kind.PROMPT, Kind.TEXT]
    assert "Be brief." in session.message(0).text and "a.py" in session.message(0).text


def test_a_turn_that_says_it_is_a_summary_is_a_compaction(tmp_path):
    session = read(tmp_path, step("s1", role="system", text="Compacted (summary): Three lamps were counted."))
    assert session.messages.kind_of(0) == Kind.COMPACTION


@pytest.mark.parametrize("said", [["one", {"type": "text", "text": "two"}], {"text": "one\ntwo"}, "one\ntwo"])
def test_a_text_in_pieces_is_read(said):
    session = read(step("u", role="user", text=said), step("a", "u", text=said, thinking=said))
    texts = [session.message(n).text for n in range(len(session.messages))]
    assert texts == ["one\ntwo"] * 3


# -- what turnlog wrote before -----------------------------------------------------------------------------------------


def test_a_document_of_an_earlier_version_opens_as_any_other():
    kept = {"metadata": {"turnlog": {"kind": "text"}}, "content": [{"type": "text", "at": [0, 2]}]}
    group = event("turnlog-group-0", "a", entry_type="turnlog.group")
    line = event("l", "a", entry_type="custom-line", raw={"type": "custom-line", "data": {"n": 1}})
    notice = event("n", "a", entry_type="system", raw={"type": "system", "subtype": "x"}, label="Odd", text="a notice")
    turns = [step("x", role="user", text="look"), step("y", "x", text="seen")]
    row = {"agent_id": "t", "prompt": "look", "turns": turns, "turnlog": {"id": "child", "path": {"id": "p"}}}
    use = {"id": "t", "name": "Task", "input": {}, "category": "delegation"}
    steps = [USER, step("a", "u", text="so", tool_uses=[use], delegations=[row]), group, line, notice]
    facts = ({"exchange": {}}, {"messages": [kept]}, {"made": True}, {"record": {"line": 3}}, {"messages": []})
    steps = [one | {"meta": {"turnlog": fact}} for one, fact in zip(steps, facts, strict=True)]
    session = read(*steps, turnlog={"document": {"sessionId": "another"}, "session": {"title": "Another"}})
    assert (session.id, session.title) == ("the-session", "A title")
    assert kinds(session) == [Kind.PROMPT, Kind.TEXT, Kind.TOOL, Kind.NOTE]
    assert (session.message(3).label, session.message(3).text) == ("Odd", "a notice")
    assert session.hidden == {"turnlog.group": 1, "custom-line": 1}
    assert [child.tool_use for child in session.subagents] == [2]
    assert all("stepMeta" not in session.message(index).metadata for index in range(4))
    written = json.loads(b"".join(to_toolpath(session)))
    assert validate_toolpath(written).errors == []
    assert "turnlog" not in json.dumps(written).replace("turnlog-group", "").replace("turnlog.group", "")


def test_a_turn_is_written_again_with_all_that_it_says():
    said = {"text": "so", "mood": "calm", "stop_reason": "end", "environment": {"working_dir": "/w", "shell": "sh"}}
    use = {"id": "t", "name": "Bash", "input": "ls", "category": "odd", "result": {"content": ["a", "b"], "x": 1}}
    turn = step("a", "u", tool_uses=[use, "none"], delegations=[], **said)
    written = json.loads(b"".join(to_toolpath(read(USER, turn))))
    assert validate_toolpath(written).errors == []
    again = payload_of(written["paths"][0]["steps"][1])
    assert {key: again[key] for key in said} == said
    assert again["tool_uses"] == [
        use | {"category": None, "result": {"content": "a\nb", "x": 1, "is_error": False}},
    ]
    assert "delegations" not in again

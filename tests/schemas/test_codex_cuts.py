"""A rollout read in any pieces is the same session as read at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.providers.codex import PROVIDER
from schemas.session import Op
from tests.fixtures.codex.rollouts import Rollout, picture, read

CORPUS = Path(__file__).parents[2] / ".." / "shared" / "corpus" / "codex"


def in_pieces(path, data, cuts):
    """Read `data` as a file that grows by pieces."""
    path.write_bytes(b"")
    reading = PROVIDER.open(path)
    known = 0
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        with path.open("ab") as file:
            file.write(data[start:end])
        reading.done = False
        while not reading.done:
            for change in reading.step(1 << 20):
                if change.op == Op.APPENDED:
                    assert change.message == known
                    known += 1
                else:
                    assert 0 <= change.message < known
    reading.finish()
    reading.refresh()
    assert len(reading.session.messages) >= known
    return reading.session


def lively():
    """A rollout with everything that waits for a second half."""
    r = (
        Rollout()
        .start("t1", started_at=1_760_000_003)
        .user("<environment_context>x</environment_context>", "hi")
        .typed("hi")
    )
    r.event("agent_reasoning", text="One").item("reasoning", summary=[{"text": "One"}, {"text": "Two"}])
    r.event("agent_reasoning", text="Two").echo("Looking").says("Looking").call("c1", cmd="ls").call("c2", cmd="x")
    r.count((100, 0, 10)).exact("resp_1", "t1", 100, 0, 10).result("c2", "2").event(
        "exec_command_end", call_id="c1", exit_code=1
    )
    r.user("steer").typed("steer").line("compacted", {"message": "s"}).event("context_compacted").says("End").echo(
        "End"
    )
    r.event("turn_aborted", turn_id="t1", reason="interrupted").user("<turn_aborted>x</turn_aborted>")
    r.event("thread_rolled_back", num_turns=1).line("future", {"x": 1}).raw("{torn").user("again").count((150, 0, 20))
    return r


@given(cuts=st.lists(st.integers(0, 6000), max_size=6))
def test_any_cut(tmp_path, cuts):
    data = lively().bytes
    path = tmp_path / "a.jsonl"
    path.write_bytes(data)
    whole = picture(read(path))
    assert picture(in_pieces(path, data, sorted(min(c, len(data)) for c in cuts))) == whole


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the shared corpus is not here")
@pytest.mark.parametrize(
    "pattern", ["**/rollout-2025-10-20*", "**/rollout-2026-10-06*", "agent-sessions-small*", "xskill*"]
)
@settings(max_examples=settings().max_examples // 6)
@given(data=st.data())
def test_any_cut_of_the_corpus(tmp_path, pattern, data):
    content = next(CORPUS.glob(pattern)).read_bytes()
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    whole = picture(read(path))
    cuts = data.draw(st.lists(st.integers(0, len(content)), max_size=5).map(sorted))
    assert picture(in_pieces(path, content, cuts)) == whole


ODD = [None, 7, "x", [1, None], {"type": ["x"], "text": {}}]


def places(value):
    """Every name in a record, at any depth."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from places(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from places(inner)


def replaced(value, name, odd):
    """A record with `odd` under each `name`."""
    if isinstance(value, dict):
        return {k: odd if k == name else replaced(v, name, odd) for k, v in value.items()}
    return [replaced(v, name, odd) for v in value] if isinstance(value, list) else value


def samples():
    """A record of each sort that `lively` has none of."""
    r = Rollout(meta=False)
    r.event(
        "exec_command_end",
        call_id="q",
        command=["bash", "-lc", "ls"],
        duration={"secs": 1},
        stdout="o",
        status="failed",
    )
    changes = {"/a": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n", "move_path": None}}
    r.event("patch_apply_end", call_id="p", changes=changes, success=True, stdout="s")
    r.event(
        "mcp_tool_call_end", call_id="m", invocation={"server": "s", "tool": "t", "arguments": {}}, result={"Ok": {}}
    )
    r.event("collab_agent_spawn_end", call_id="a", new_thread_id="T", prompt="p", status={"completed": "x"})
    r.event("collab_waiting_end", call_id="w", agent_statuses=[{"thread_id": "T", "status": "running"}])
    r.event("web_search_end", call_id="s", query="q", action={"queries": ["q"]}, results=[{"title": "t"}])
    r.event("exited_review_mode", review_output={"findings": [{"title": "t", "code_location": {"line_range": {}}}]})
    r.event("thread_goal_updated", goal={"objective": "o"}).event("error", message="m", codex_error_info={"k": 1})
    r.event("thread_settings_applied", thread_settings={"model": "m2"}).event("guardian_assessment", target_item_id="q")
    r.event("user_message", message="m", images=["i"], local_images=["l"]).event("undo_completed", message="u")
    for item in ({"type": "UserMessage", "content": [{"type": "text", "text": "t"}]}, {"type": "Plan", "text": "p"}):
        r.completed(item)
    r.completed({"type": "FileChange", "id": "f", "changes": changes}).completed(
        {"type": "Reasoning", "raw_content": ["r"]}
    )
    r.completed({"type": "HookPrompt", "fragments": [{"text": "h"}]}).completed({"type": "Extension", "query": "q"})
    r.item("local_shell_call", call_id="l", action={"command": ["ls"]}).item("web_search_call", action={"query": "z"})
    r.item("custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="u").item(
        "agent_message", content="c"
    )
    r.item("image_generation_call", id="i", result="AA").item("tool_search_call", call_id="k", arguments={"query": "q"})
    r.item("function_call_output", call_id="k", output={"output": "o", "metadata": {"exit_code": 1}})
    r.item("message", role="user", content="<user_shell_command><command>x</command></user_shell_command>")
    r.line("retained_context", {"questions": [{"question": "q", "answer": "a"}], "call_id": "no"})
    r.line("inter_agent_communication", {"author": "a", "recipient": "b", "content": "c"})
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "P", "agent_role": "r"}}}
    r.meta(source=source, forked_from_id="F", git={"branch": "b"})
    r.raw({"type": "reasoning", "summary": [{"text": "s"}], "duration_ms": 5})
    r.raw({"id": "x", "timestamp": "2025-08-20T13:20:47Z"}).raw({"record_type": "state"})
    return map(json.loads, r.lines)


LIVELY = [json.loads(line) for line in lively().lines if not line.startswith("{torn")]
SAMPLES = list(samples())
NAMES = sorted({name for record in LIVELY + SAMPLES for name in places(record)})


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: json.dumps(odd)[:20])
def test_any_value_in_any_place(tmp_path, odd):
    """Fields of a wrong type are normal in rollouts of other programs: nothing crashes, no figure counts twice."""
    path = tmp_path / "a.jsonl"
    for name in NAMES:
        records = [replaced(record, name, odd) for record in LIVELY + [one for one in SAMPLES if name in places(one)]]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        session = read(path)
        picture(session)
        groups = [total for g in range(len(session.groups)) if (total := session.groups.usage[g].total) is not None]
        whole = session.usage()
        assert (whole.total if whole and whole.total is not None else 0) == sum(groups), name

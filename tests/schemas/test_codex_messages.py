"""What becomes of each kind of record (formats note 4, 5 and 6)."""

from __future__ import annotations

import json

import pytest

from schemas.message import Flag, Kind, ToolStatus
from tests.fixtures.codex.rollouts import Rollout, prompts, shown, tools

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x = 1\n+x = 2\n*** End Patch\n"


# -- what is written twice --------------------


@pytest.mark.parametrize("event_first", [True, False])
def test_a_text_written_twice_is_one_message(tmp_path, event_first):
    r = Rollout().start("t1").user("hi").typed("hi")
    for text in ("Done.", "Done."):
        _ = (r.echo(text).says(text)) if event_first else (r.says(text).echo(text))
    session = r.done("t1").read(tmp_path)
    assert shown(session) == [(Kind.PROMPT, "hi"), (Kind.TEXT, "Done."), (Kind.TEXT, "Done.")]


def test_events_are_shown_where_their_item_is_missing(tmp_path):
    r = Rollout().start("t1").typed("hi").echo("Only an event.").says("An item.").echo("An item.").done("t1")
    assert [text for _, text in shown(r.read(tmp_path), Kind.TEXT)] == ["Only an event.", "An item."]


def test_the_same_prompt_twice_is_two_prompts(tmp_path):
    r = Rollout().start("t1").user("again").typed("again").says("a").done("t1")
    assert prompts(r.start("t2").user("again").typed("again").read(tmp_path)) == ["again", "again"]


def test_a_citation_that_only_the_item_has(tmp_path):
    r = Rollout().user("hi").says("Yes.\n<oai-mem-citation>x</oai-mem-citation>").echo("Yes.")
    assert shown(r.read(tmp_path), Kind.TEXT) == [(Kind.TEXT, "Yes.")]


@pytest.mark.parametrize("order", ["events first", "item first"])
def test_reasoning_in_parts(tmp_path, order):
    item = {"summary": [{"type": "summary_text", "text": t} for t in ("One", "Two")], "encrypted_content": "gAAAAA"}
    r = Rollout().start("t1").user("hi")
    if order == "item first":
        r.item("reasoning", **item)
    for text in ("One", "Two"):
        r.event("agent_reasoning", text=text)
    if order == "events first":
        r.item("reasoning", **item)
    session = r.says("x").read(tmp_path)
    assert shown(session, Kind.THINKING) == [(Kind.THINKING, "One\n\nTwo")]
    assert not session.messages.has(1, Flag.WITHHELD)


@pytest.mark.parametrize("order", ["events first", "item first"])
def test_events_tell_what_a_withheld_item_does_not(tmp_path, order):
    r = Rollout().start("t1").user("hi")
    steps = [
        lambda: r.event("agent_reasoning", text="One"),
        lambda: r.item("reasoning", summary=[], encrypted_content="g"),
    ]
    for step in steps if order == "events first" else reversed(steps):
        step()
    session = r.says("x").read(tmp_path)
    assert shown(session, Kind.THINKING) == [(Kind.THINKING, "One")] and not session.messages.has(1, Flag.WITHHELD)


def test_withheld_thinking_is_said_to_be_withheld(tmp_path):
    session = Rollout().user("hi").item("reasoning", summary=[], content=None, encrypted_content="gA").read(tmp_path)
    message = session.message(1)
    assert Flag.WITHHELD in message.flags and "encrypted" in message.label and message.text == ""


def test_raw_reasoning_comes_before_its_summary(tmp_path):
    r = Rollout().user("hi").item("reasoning", summary=[{"text": "short"}], content=[{"type": "text", "text": "long"}])
    assert shown(r.read(tmp_path), Kind.THINKING) == [(Kind.THINKING, "long")]


# -- prompts and what is put around them --------------------


def test_parts_of_one_message(tmp_path):
    r = Rollout().user(
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nrules\n</INSTRUCTIONS>",
        "<environment_context>\n<cwd>/w</cwd>\n</environment_context>\nplease fix it",
    )
    session = r.read(tmp_path)
    assert [k for k, _ in shown(session)] == [Kind.CONTEXT, Kind.CONTEXT, Kind.PROMPT]
    assert prompts(session) == ["please fix it"] and session.title == "please fix it"
    assert [session.message(i).label for i in (0, 1)] == ["project instructions", "environment"]


def test_kinds_of_parts_are_believed(tmp_path):
    meta = {"content_item_kinds": ["context.something_new", "user.text", "unknown"]}
    r = Rollout().user(
        "injected",
        "typed",
        "<skills_instructions>s</skills_instructions>",
        internal_chat_message_metadata_passthrough=meta,
    )
    assert [k for k, _ in shown(r.read(tmp_path))] == [Kind.CONTEXT, Kind.PROMPT, Kind.CONTEXT]


def test_ide_context(tmp_path):
    text = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nfix the bug\n"
    session = Rollout().start("t").user(text).typed(text).read(tmp_path)
    assert shown(session) == [
        (Kind.CONTEXT, "# Context from my IDE setup:\n\n## Active file: a.py"),
        (Kind.PROMPT, "fix the bug"),
    ]


def test_steering_stays_in_the_exchange(tmp_path):
    r = Rollout().start("t1").user("one").typed("one").says("a").user("two").typed("two").says("b").done("t1")
    session = r.start("t2").user("three").read(tmp_path)
    assert [e.prompt for e in session.exchanges] == ["one", "three"]
    assert shown(session, Kind.STEER) == [(Kind.STEER, "two")]


def test_a_turn_without_prompt_belongs_to_the_running_exchange(tmp_path):
    r = Rollout().start("t1").user("one").says("a").done("t1", duration_ms=2000)
    session = r.start("t2").says("by itself").done("t2", duration_ms=3000).read(tmp_path)
    assert len(session.exchanges) == 1 and session.exchanges[0].duration == 5


def test_paginated_prompts(tmp_path):
    r = Rollout(history_mode="paginated").start("t1").user("<environment_context>x</environment_context>")
    r.user("hello").completed({"type": "UserMessage", "id": "u", "content": [{"type": "text", "text": "hello"}]})
    r.completed({"type": "AgentMessage", "id": "m", "content": [{"type": "Text", "text": "hi"}]}).says("hi").done("t1")
    assert shown(r.read(tmp_path), Kind.PROMPT, Kind.TEXT) == [(Kind.PROMPT, "hello"), (Kind.TEXT, "hi")]


def test_paginated_prompt_without_any_item(tmp_path):
    r = Rollout().start("t1").completed({"type": "userMessage", "content": [{"type": "text", "text": "hello"}]})
    assert prompts(r.read(tmp_path)) == ["hello"]


def test_images(tmp_path):
    r = (
        Rollout()
        .start("t")
        .user('<image name="a.png">', {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}, "</image>")
    )
    session = r.event("user_message", message="", local_images=["/p/a.png"]).read(tmp_path)
    message = session.message(0)
    assert [(p.type, p.media_type, p.size) for p in message.parts] == [("image", "image/png", 3)]
    assert session.exchanges[0].prompt == "(image)" and "AAAA" not in message.text


@pytest.mark.parametrize("event_first", [True, False])
def test_an_interrupt(tmp_path, event_first):
    r = Rollout().start("t1").user("go").call("c1", cmd="sleep 9")
    if not event_first:
        r.user("<turn_aborted>\nstopped by hand\n</turn_aborted>")
    r.event("turn_aborted", turn_id="t1", reason="interrupted", duration_ms=1500)
    if event_first:
        r.user("<turn_aborted>\nstopped by hand\n</turn_aborted>")
    session = r.read(tmp_path)
    assert shown(session, Kind.INTERRUPT) == [(Kind.INTERRUPT, "stopped by hand")]
    exchange = session.exchanges[0]
    assert exchange.interrupted and exchange.duration == 1.5 and len(session.exchanges) == 1
    assert tools(session)[0].tool.status is ToolStatus.INTERRUPTED


def test_rollback(tmp_path):
    r = Rollout()
    for turn in ("a", "b", "c"):
        r.start(turn).user(turn).says(turn).count((100 * ord(turn), 0, 0), (100, 0, 0)).done(turn)
    session = r.event("thread_rolled_back", num_turns=2).start("d").user("d").read(tmp_path)
    assert [e.rewound for e in session.exchanges] == [False, True, True, False]
    assert [e.prompt for e in session.live_exchanges] == ["a", "d"]
    assert session.exchange_usage(1).total == 100
    assert session.messages.has(session.exchanges[1].start, Flag.REWOUND)


def test_user_shell_commands(tmp_path):
    text = "<command>\nls\n</command>\n<result>\nExit code: 0\na.txt\n</result>"
    text = f"<user_shell_command>\n{text}\n</user_shell_command>"
    r = Rollout().user("hi").says("a").user(text)
    r.event(
        "exec_command_end", call_id="x", source="user_shell", command=["bash", "-lc", "pwd"], stdout="/w\n", exit_code=0
    )
    session = r.read(tmp_path)
    assert shown(session, Kind.COMMAND, Kind.OUTPUT) == [
        (Kind.COMMAND, "ls"),
        (Kind.OUTPUT, "Exit code: 0\na.txt"),
        (Kind.COMMAND, "pwd"),
        (Kind.OUTPUT, "/w\n"),
    ]
    assert len(session.exchanges) == 1


def test_notes(tmp_path):
    finding = {
        "title": "Off by one",
        "body": "Here.",
        "code_location": {"absolute_file_path": "/w/a.py", "line_range": {"start": 3, "end": 4}},
    }
    r = Rollout().user("hi").says("a")
    r.user('<subagent_notification>\n{"agent_id":"x","status":{"completed":"found it"}}\n</subagent_notification>')
    r.event("entered_review_mode", target={"type": "uncommittedChanges"}, user_facing_hint="current changes")
    r.event("exited_review_mode", review_output={"findings": [finding], "overall_explanation": "Mostly good."})
    r.event("thread_goal_updated", goal={"objective": "ship", "status": "active", "tokensUsed": 1})
    r.event("thread_goal_updated", goal={"objective": "ship", "status": "active", "tokensUsed": 2})
    r.event("undo_completed", success=True, message="restored").event(
        "error", message="limit", codex_error_info="usage"
    )
    r.line("inter_agent_communication", {"author": "/root/x", "recipient": "/root", "content": "mail text"})
    r.item(
        "agent_message",
        author="/root",
        recipient="/root/x",
        content=[{"type": "encrypted_content", "encrypted_content": "gAAAAAsecret"}],
    )
    session = r.read(tmp_path)
    notes = [(m.label, m.text) for i in range(len(session.messages)) if (m := session.message(i)).kind == Kind.NOTE]
    assert ("subagent x completed", "found it") in notes and ("Review: current changes", "") in notes
    assert any("Off by one" in text and "/w/a.py:3-4" in text and "Mostly good." in text for _, text in notes)
    assert [n for n in notes if n[0].startswith("Goal")] == [("Goal (active)", "ship")]
    assert ("Mail /root/x → /root", "mail text") in notes and ("Mail /root → /root/x", "[encrypted]") in notes
    assert shown(session, Kind.ERROR) == [(Kind.ERROR, "limit")] and session.exchanges[0].errors == 1


def test_compaction_is_one_line_whatever_says_so(tmp_path):
    copy = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "COPIED"}]}]
    r = Rollout().start("t").user("hi").says("a").event("context_compacted")
    r.line("compacted", {"message": "the summary", "replacement_history": copy})
    r.completed({"type": "ContextCompaction"}).says("b").line(
        "compacted", {"message": "", "replacement_history": [{"type": "compaction", "encrypted_content": "g"}]}
    )
    session = r.read(tmp_path)
    assert shown(session, Kind.COMPACTION) == [(Kind.COMPACTION, "the summary"), (Kind.COMPACTION, "")]
    assert "encrypted" in session.message(len(session.messages) - 1).label
    assert all("COPIED" not in text for _, text in shown(session))


def test_a_proposed_plan_is_not_shown_again(tmp_path):
    r = Rollout().start("t").user("hi").says("Plan:\n<proposed_plan>\n- do it\n</proposed_plan>")
    session = r.completed({"type": "Plan", "id": "p", "text": "- do it"}).read(tmp_path)
    assert sum("do it" in text for _, text in shown(session)) == 1
    assert "<proposed_plan>" not in shown(session)[1][1]


def test_what_nobody_described(tmp_path):
    r = Rollout().line("brand_new", {"x": "KEPT"}).item("odd_item", y=1).event("odd_event", z=2)
    r.completed({"type": "OddThing"}).raw({"foo": "bar"}).line(None, {"q": 1}).raw({"type": ["list"], "payload": {}})
    session = r.event("exec_command_begin", call_id="x").read(tmp_path)
    assert dict(session.unknown) == {
        "brand_new": 1,
        "response_item odd_item": 1,
        "event_msg odd_event": 1,
        "item_completed OddThing": 1,
        "(no type)": 3,
    }
    assert any("KEPT" in text for kind, text in shown(session) if kind == Kind.UNKNOWN)
    assert session.hidden["exec_command_begin"] == 1


# -- tools --------------------


def test_results_out_of_order_and_without_use(tmp_path):
    r = Rollout().user("hi").call("c1", cmd="one").call("c2", cmd="two").result("c2", "2").result("c1", "1")
    session = r.result("gone", "orphan").result(None, "nameless").read(tmp_path)
    assert [(m.tool.input.get("cmd"), m.tool.text) for m in tools(session)] == [("one", "1"), ("two", "2")]
    assert shown(session, Kind.OUTPUT) == [(Kind.OUTPUT, "orphan"), (Kind.OUTPUT, "nameless")]


def test_an_id_used_twice(tmp_path):
    r = Rollout().user("hi").call("c", cmd="one").call("c", cmd="two").result("c", "of two").result("c", "of one")
    assert [m.tool.text for m in tools(r.read(tmp_path))] == ["of one", "of two"]


HEADED = "Chunk ID: a1\nWall time: 0.5 seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nbody\n"


@pytest.mark.parametrize(
    ("output", "text", "code", "seconds", "status"),
    [
        (HEADED, "body\n", 3, 0.5, "error"),
        ("Command: bash -lc 'x\nOutput:\ny'\n" + HEADED, "body\n", 3, 0.5, "error"),
        ("Exit code: 0\nWall time: 1 seconds\nTotal output lines: 9\nOutput:\nbody", "body", 0, 1.0, "ok"),
        (
            json.dumps({"output": "body", "metadata": {"exit_code": 1, "duration_seconds": 0.25}}),
            "body",
            1,
            0.25,
            "error",
        ),
        ([{"type": "input_text", "text": HEADED}], "body\n", 3, 0.5, "error"),
        ({"content": "body", "success": False}, "body", None, None, "error"),
        ({"content": "body", "success": True}, "body", None, None, "ok"),
        ({"type": "input_text", "text": "body"}, "body", None, None, "ok"),
        ("aborted by user after 1.2s", "aborted by user after 1.2s", None, None, "interrupted"),
        (
            "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\nso far",
            "so far",
            None,
            1.0,
            "background",
        ),
        ('{"output": "not closed', '{"output": "not closed', None, None, "ok"),
        (None, "", None, None, "ok"),
        ("failed to parse function arguments: x", "failed to parse function arguments: x", None, None, "error"),
    ],
)
def test_outputs(tmp_path, output, text, code, seconds, status):
    session = Rollout().user("hi").call("c", cmd="x").result("c", output).read(tmp_path)
    message = tools(session)[0]
    tool = message.tool
    assert (tool.text, tool.exit_code, tool.seconds, tool.status) == (text, code, seconds, status)
    assert (Flag.ERROR in message.flags) == (status == "error")
    assert session.exchanges[0].errors == (status == "error")
    assert session.messages.chars[message.index] == len(text)


def test_images_in_output(tmp_path):
    output = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]
    tool = tools(Rollout().user("x").call("c", "view_image", path="a.png").result("c", output).read(tmp_path))[0].tool
    assert (tool.type, tool.text, tool.images[0].size) == ("read", "see", 3)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("custom_tool_call", {"name": "apply_patch", "input": PATCH}),
        ("function_call", {"name": "apply_patch", "arguments": json.dumps({"input": PATCH})}),
        ("function_call", {"name": "shell", "arguments": json.dumps({"command": ["apply_patch", PATCH]})}),
        (
            "function_call",
            {
                "name": "shell",
                "arguments": json.dumps({"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF"]}),
            },
        ),
        (
            "function_call",
            {"name": "exec_command", "arguments": json.dumps({"cmd": f"cd x && apply_patch <<'EOF'\n{PATCH}EOF"})},
        ),
    ],
)
def test_patches_in_any_dress(tmp_path, kind, fields):
    session = Rollout().user("x").item(kind, call_id="c", **fields).read(tmp_path)
    message = tools(session)[0]
    assert message.tool.type == "write" and message.path_hints[0] == "src/a.py"
    assert [h.lines for h in message.tool.diffs[0].hunks] == [["-x = 1", "+x = 2"]]


def test_a_command_that_only_speaks_of_patches(tmp_path):
    session = Rollout().user("x").call("c", cmd="rg 'apply_patch|\\*\\*\\* Begin Patch\\n'").read(tmp_path)
    assert tools(session)[0].tool.diffs == []


def test_the_event_knows_line_numbers(tmp_path):
    diff = "@@ -7 +7 @@\n-x = 1\n+x = 2\n"
    changes = {
        "/w/app/src/a.py": {"type": "update", "unified_diff": diff, "move_path": "/w/app/b.py"},
        "/w/app/new": {"type": "add", "content": "one\n"},
        "/w/app/old": {"type": "delete", "content": "gone\n"},
    }
    r = Rollout().user("x").item("custom_tool_call", name="apply_patch", call_id="c", input=PATCH)
    r.event("patch_apply_end", call_id="c", success=False, stdout="", stderr="no", changes=changes)
    message = tools(r.result("c", "patch failed").read(tmp_path))[0]
    assert [(d.operation, d.added, d.removed) for d in message.tool.diffs] == [
        ("move", 1, 1),
        ("add", 1, 0),
        ("delete", 0, 1),
    ]
    assert message.tool.diffs[0].hunks[0].new_start == 7
    assert message.tool.status is ToolStatus.ERROR
    assert set(message.path_hints) == {"src/a.py", "b.py", "new", "old"}


def test_events_about_uses(tmp_path):
    r = Rollout().user("x").call("c", "docs__find", q=1)
    invocation = {"server": "docs", "tool": "find", "arguments": {"q": 1}}
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    r.event(
        "mcp_tool_call_end",
        call_id="c",
        invocation=invocation,
        duration={"secs": 2, "nanos": 500000000},
        result={"Ok": {"content": [{"type": "text", "text": "hit"}, image]}},
    )
    r.event("mcp_tool_call_end", call_id="lost", invocation=invocation, result={"Err": "down"})
    r.call("d", cmd="rm x").event("guardian_assessment", id="g", target_item_id="d", status="denied", rationale="risky")
    r.call("e", cmd="ls").event(
        "exec_command_end", call_id="e", exit_code=2, aggregated_output="no\n", duration={"secs": 1}
    )
    session = r.read(tmp_path)
    found, lost, denied, event_only = (m.tool for m in tools(session))
    assert (found.text, found.seconds, found.images[0].media_type, found.status) == ("hit", 2.5, "image/png", "ok")
    assert (lost.name, lost.type, lost.text, lost.status) == ("mcp__docs__find", "generic", "down", "error")
    assert (denied.status, session.exchanges[0].errors) == ("denied", 2)
    assert (event_only.text, event_only.exit_code, event_only.seconds, event_only.status) == ("no\n", 2, 1.0, "error")


def script(r, call_id, source, *inside, how="completed", output=""):
    """A script of code mode with what it ran, which has ids of its own."""
    r.item("custom_tool_call", name="exec", call_id=call_id, input=source)
    for item in inside:
        r.completed({"id": f"exec-{len(r.lines)}", **item})
    texts = (f"Script {how}\nWall time 0.1 seconds\nOutput:\n", output)
    content = [{"type": "input_text", "text": text} for text in texts]
    return r.item("custom_tool_call_output", call_id=call_id, output=content)


def test_a_script_is_one_use_with_the_commands_in_it(tmp_path):
    """lab/faults/codex-1: it fails where a command in it does, where it throws, and where a patch is refused."""
    ran = {"type": "CommandExecution", "command": ["bash", "-lc", "cat a"], "cwd": "file:///w/app", "exit_code": 0}
    bad = {**ran, "command": ["bash", "-lc", "exit 3"], "exit_code": 3, "status": "failed"}
    diff = {"/w/app/a": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-a\n+b\n"}}
    r = script(Rollout().user("x"), "c1", "await both()", ran, bad, output="a\n")
    script(r, "c2", "throw 1", how="failed", output="Script error")
    script(r, "c3", "await patch()", {"type": "FileChange", "changes": diff, "status": "completed"})
    session = r.read(tmp_path)
    both, thrown, patched = tools(session)
    assert (both.tool.input["commands"], both.tool.text) == (["cat a", "exit 3"], "a\n")
    assert (both.tool.status, both.tool.exit_code, both.metadata["cwd"]) == ("error", 3, "/w/app")
    assert (thrown.tool.status, thrown.tool.text) == ("error", "Script error")
    assert (patched.tool.status, patched.tool.type, [d.added for d in patched.tool.diffs]) == ("ok", "write", [1])
    assert (session.exchanges[0].tools, session.exchanges[0].errors) == (3, 2)


def test_a_patch_within_a_script(tmp_path):
    source = f"text(await tools.apply_patch({json.dumps(PATCH)}));"
    r = Rollout().user("x").item("custom_tool_call", name="exec", call_id="c", input=source)
    (message,) = tools(r.read(tmp_path))
    assert [(d.path, d.added, d.removed) for d in message.tool.diffs] == [("src/a.py", 1, 1)]


def test_what_only_the_provider_can_read_is_called_so(tmp_path):
    r = Rollout().user("x").call("c", "spawn_agent", message="gAAAAABm" + "A" * 80, task_name="x")
    assert tools(r.read(tmp_path))[0].tool.input == {"message": "[encrypted]", "task_name": "x"}


def test_a_typed_command_is_told_twice_and_shown_once(tmp_path):
    """lab/faults/codex-5."""
    r = Rollout().user("hi").says("a")
    r.completed({
        "type": "CommandExecution", "id": "u", "command": ["/bin/bash", "-lc", "echo hi"], "source": "user_shell",
        "aggregated_output": "hi\n", "exit_code": 0,
    })  # fmt: skip
    result = "Exit code: 0\nDuration: 0.0145 seconds\nOutput:\nhi\n\n"
    r.user(f"<user_shell_command>\n<command>\necho hi\n</command>\n<result>\n{result}</result>\n</user_shell_command>")
    session = r.read(tmp_path)
    assert shown(session, Kind.COMMAND, Kind.OUTPUT) == [(Kind.COMMAND, "echo hi"), (Kind.OUTPUT, "hi\n")]
    assert session.message(3).label == "exit 0"


def test_what_the_program_tells_the_model_is_one_line(tmp_path):
    """lab/faults/codex-2: a text may quote the tag that closes it."""
    quoting = "<collaboration_mode>\nuntil `</collaboration_mode>` comes\nanother\n</collaboration_mode>"
    r = Rollout()
    for text in ("<skills_instructions>s</skills_instructions>", quoting, "<multi_agent_mode>m</multi_agent_mode>"):
        r.item("message", role="developer", content=[{"type": "input_text", "text": text}])
    session = r.user("hi").read(tmp_path)
    assert [kind for kind, _ in shown(session)] == [Kind.CONTEXT, Kind.PROMPT]
    assert (
        session.message(0).label == "skills, collaboration mode, multi agent mode" and quoting in shown(session)[0][1]
    )


def test_mail_without_its_envelope(tmp_path):
    """lab/faults/codex-3."""
    envelope = "Message Type: NEW_TASK\nTask name: /root/scout\nSender: /root\nPayload:\n"
    content = [{"type": "input_text", "text": envelope}, {"type": "encrypted_content", "encrypted_content": "look"}]
    r = Rollout(agent_path="/root/scout", thread_source="subagent").start("t")
    session = r.item("agent_message", author="/root", recipient="/root/scout", content=content).read(tmp_path)
    assert prompts(session) == ["look"] and session.title == "look"


@pytest.mark.parametrize("event_first", [True, False])
def test_a_search_without_ids(tmp_path, event_first):
    action = {"type": "search", "query": "cats"}
    r = Rollout().start("t").user("x")
    steps = [
        lambda: r.event(
            "web_search_end", call_id="ws_1", query="cats", action=action, results=[{"title": "Cats", "url": "u"}]
        ),
        lambda: r.item("web_search_call", status="completed", action=action),
    ]
    for step in steps if event_first else reversed(steps):
        step()
    (search,) = tools(r.read(tmp_path))
    assert (search.tool.name, search.tool.type, search.tool.text, search.tool.status) == (
        "web_search",
        "search",
        "Cats · u",
        "ok",
    )
    assert search.tool.input["query"] == "cats"


def test_a_running_command_and_its_input(tmp_path):
    running = "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 7\nOutput:\nso far"
    r = (
        Rollout()
        .user("x")
        .call("c", cmd="make watch")
        .result("c", running)
        .call("d", "write_stdin", session_id=7, chars="q")
    )
    (_, stdin) = tools(r.read(tmp_path))
    assert stdin.tool.type == "shell" and stdin.metadata["command"] == "make watch"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("update_plan", "task"),
        ("spawn_agent", "task"),
        ("mcp__a__b", "generic"),
        ("write_stdin", "shell"),
        ("who_knows", "unknown"),
    ],
)
def test_types(tmp_path, name, kind):
    assert tools(Rollout().user("x").call("c", name).read(tmp_path))[0].tool.type == kind


def test_arguments_of_every_sort(tmp_path):
    r = Rollout().user("x")
    for number, arguments in enumerate(["not json", "[1]", None, {"a": 1}, '{"b": 2}', 7]):
        r.item("function_call", name="f", namespace="mcp__s", arguments=arguments, call_id=f"c{number}")
    r.item("custom_tool_call", name="exec", input="await x()", call_id="j")
    found = tools(r.read(tmp_path))
    assert [m.tool.input for m in found] == [
        {"arguments": "not json"},
        {"arguments": "[1]"},
        {},
        {"a": 1},
        {"b": 2},
        {"arguments": 7},
        {"input": "await x()"},
    ]
    assert found[0].tool.name == "mcp__s__f"


def test_pictures_made(tmp_path):
    r = (
        Rollout()
        .user("x")
        .item("image_generation_call", id="ig", status="completed", revised_prompt="a cat", result="AAAA" * 100)
    )
    r.event("image_generation_end", call_id="ig", status="completed", result="AAAA" * 100, saved_path="/p/cat.png")
    (made,) = tools(r.read(tmp_path))
    assert made.tool.input == {"prompt": "a cat"} and made.tool.images[0].size == 300 and "AAAA" not in made.tool.text


def test_hostile_text_is_clean_everywhere(tmp_path):
    evil = "a\x1b]0;title\x07b\u202ec\x00"
    r = Rollout(cwd="/w\x1b[2J", originator=evil).start("t").user(evil).says(evil)
    r.item("function_call", name=evil, arguments=json.dumps({evil: evil}), call_id=evil).result(evil, evil)
    r.event("error", message=evil, codex_error_info=evil).line(evil, {"x": evil}).event(
        "thread_name_updated", thread_name=evil
    )
    r.line("inter_agent_communication", {"author": evil, "recipient": evil, "content": evil})
    r.event("exec_command_end", call_id="z", command=["bash", "-lc", evil], aggregated_output=evil)
    session = r.read(tmp_path)
    messages = [session.message(i) for i in range(len(session.messages))]
    said = repr([m for m in messages if m.kind is not Kind.UNKNOWN])  # that shows the escapes of the file
    everything = said + repr(
        (session.title, session.workspace_root, session.metadata, list(session.unknown), session.exchanges)
    )
    for bad in ("\\x1b", "\\u202e", "\\x00", "\\x07"):
        assert bad not in everything

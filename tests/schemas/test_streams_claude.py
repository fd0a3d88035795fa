"""Streams of `claude -p`: who says what, turns, subagents, side events (`streams` note 2)."""

from __future__ import annotations

import pytest

from schemas.message import Flag, Kind, ToolStatus
from schemas.opening import usage_with_subagents
from tests.fixtures.streams import NOT_TOLD
from tests.fixtures.streams.claude_cursor import (
    HAIKU,
    back,
    claude_lines,
    init,
    line,
    read,
    result,
    says,
    spent,
    system,
    text,
    thinking,
    told,
    usage,
    use,
)
from tests.schemas.conformance import described, family_of


def prompts(session):
    return [exchange.prompt for exchange in session.live_exchanges]


def tool(session, index=-1):
    rows = [i for i in range(len(session.messages)) if session.messages.kind[i] == Kind.TOOL]
    return session.message(rows[index]).tool


def last(session):
    return session.message(len(session.messages) - 1)


# -- lines of the agent ------------------------------------------------------------------------------------------------


def test_the_blocks_of_a_response_come_on_lines_of_their_own(tmp_path):
    first = says("msg_1", thinking("Hm."), used=usage(1))
    rest = [says("msg_1", block, used=usage(1)) for block in (text("Yes."), use("t1", "Read"))]
    session = read(tmp_path, [init(), first, *rest, result("Yes.")])
    assert described(session) == [f"PROMPT {NOT_TOLD}", "THINKING Hm.", "TEXT Yes.", "TOOL Read"]
    assert {session.messages.group[i] for i in (1, 2, 3)} == {0}
    assert session.message(1).id == first["uuid"], "as in the session's file, so that the two can be merged"


def test_a_line_printed_again_is_a_duplicate(tmp_path):
    again = says("msg_1", text("Yes."), used=usage(1, output=5))
    session = read(tmp_path, [init(), again, again, says("msg_1", text("Yes.")), result()])
    assert described(session)[1:] == ["TEXT Yes."]
    assert session.duplicates == 2


@pytest.mark.parametrize("message", [None, 7, {"content": None}, {"content": 5}, {"id": "m", "content": []}])
def test_broken_messages_are_passed_over(tmp_path, message):
    session = read(
        tmp_path, [init(), line("assistant", message=message), line("user", message=message), result("End.")]
    )
    assert described(session) == [f"PROMPT {NOT_TOLD}", "TEXT End."]


def test_an_error_in_the_models_place_is_drawn_once(tmp_path):
    words = "API Error: 500 overloaded"
    error = says("m", text(words), model="<synthetic>", used=usage(0)) | {"error": "server_error"}
    session = read(tmp_path, [init(), error, result(words, is_error=True, api_error_status=500)])
    assert described(session) == [f"PROMPT {NOT_TOLD}", f"ERROR {words}"]
    assert last(session).label == "API error (server error)"
    assert session.usage() is None or session.usage().total == 0
    assert session.metadata["ended"] == "failed"


def test_withheld_thinking_and_server_tools(tmp_path):
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "lamps"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [
        {"type": "web_search_result", "title": "Lamps", "url": "https://lamps.example"}]}  # fmt: skip
    hidden = {"type": "redacted_thinking", "data": "eA=="}
    session = read(tmp_path, [init(), says("m", hidden), says("m", search), says("m", found), result()])
    assert session.messages.has(1, Flag.WITHHELD)
    assert tool(session).status is ToolStatus.OK and "https://lamps.example" in tool(session).text


# -- lines to the agent ------------------------------------------------------------------------------------------------


def test_user_lines_are_told_apart(tmp_path):
    session = read(
        tmp_path,
        [
            init(),
            told("Sort the lamps"),
            told("Look at the time", isSynthetic=True),
            told("<task-notification><summary>Built</summary></task-notification>"),
            told("go on", origin={"kind": "auto-continuation"}),
            told("[Request interrupted by user]"),
            told([text("<command-name>/cost</command-name>")]),
            told("<local-command-stdout>$1</local-command-stdout>"),
            told("From a person", origin={"kind": "human"}),
        ],
    )
    assert [d.split()[0] for d in described(session)[:-1]] == (
        ["PROMPT", "CONTEXT", "NOTE", "CONTEXT", "INTERRUPT", "COMMAND", "OUTPUT", "PROMPT"]
    )
    assert prompts(session) == ["Sort the lamps", "From a person"], "nobody answers /cost"
    assert session.exchanges[0].interrupted


def test_turns_without_prompts_are_exchanges_unless_a_task_woke_the_agent(tmp_path):
    turn = [init(), says("m1", text("One.")), result("One.")]
    end = system("task_notification", task_id="b", status="completed", summary="built")
    woken = [end, init(), says("m2", text("Two.")), result("Two.")]
    assert len(prompts(read(tmp_path, [*turn, *woken]))) == 1
    assert len(prompts(read(tmp_path, [*turn, *woken[1:]]))) == 2


def test_times_where_lines_have_some(tmp_path):
    session = read(tmp_path, [init(), told("Hi", timestamp="2026-11-20T10:00:00.000Z")])
    assert session.created == session.messages.when(0) == 1795168800.0
    assert not session.lacks


# -- results -----------------------------------------------------------------------------------------------------------


def test_results_find_their_use_wherever_it_stands(tmp_path):
    uses = says("m", use("a", "Read", file_path="/x"), use("b", "Bash", command="ls"))
    session = read(tmp_path, [init(), uses, back("b", "two"), back("a", "one"), back("a", "again"), back("?", "lost")])
    assert [session.message(i).tool.text for i in (1, 2)] == ["one", "two"]
    orphan = session.message(3)
    assert (orphan.kind, orphan.text, orphan.metadata["toolUseId"]) == (Kind.OUTPUT, "lost", "?")


def test_the_structured_copy_draws_the_difference(tmp_path):
    patch = [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}]
    edit = use("e", "Edit", file_path="/home/dev/lamp-shop/a.py", old_string="a", new_string="b")
    extra = {"filePath": "/home/dev/lamp-shop/a.py", "structuredPatch": patch}
    session = read(tmp_path, [init(), says("m", edit), back("e", "done", tool_use_result=extra)])
    assert tool(session).diffs[0].hunks[0].lines == ["-a", "+b"]
    assert session.message(1).path_hints == ["a.py"]


@pytest.mark.parametrize("where", ["before", "after", "result"])
def test_a_refused_use_says_so(tmp_path, where):
    event = system("permission_denied", tool_name="Bash", tool_use_id="a", message="no")
    refusal = back("a", "Permission denied", failed=True)
    lines = {"before": [event, refusal], "after": [refusal, event], "result": [refusal]}[where]
    end = result("ok", permission_denials=[{"tool_name": "Bash", "tool_use_id": "a", "tool_input": {}}])
    session = read(tmp_path, [init(), says("m", use("a", "Bash", command="rm")), *lines, end])
    assert tool(session).status is ToolStatus.DENIED
    assert session.exchanges[-1].errors == 0 and session.messages.has(1, Flag.INTERRUPTED)


def test_open_uses_are_interrupted_only_if_an_end_marker_came(tmp_path):
    lines = [init(), says("m", use("a", "Bash", command="sleep 9"))]
    cut = read(tmp_path, lines)
    assert tool(cut).status is ToolStatus.PENDING and described(cut)[-1].startswith("NOTE the stream ended")
    ended = read(tmp_path, [*lines, result(subtype="error_during_execution", is_error=True, errors=["boom"])])
    assert tool(ended).status is ToolStatus.INTERRUPTED
    assert (last(ended).label, last(ended).text) == ("Stopped by an error", "boom")


def test_a_second_turn_that_begins_with_its_answer_says_it_once(tmp_path):
    session = read(tmp_path, [init(), says("a", text("One.")), result("One."), init(), says("b", text("Two.")),
                              result("Two.")])  # fmt: skip
    assert described(session) == [f"PROMPT {NOT_TOLD}", "TEXT One.", f"PROMPT {NOT_TOLD}", "TEXT Two."]


def test_a_turn_after_the_end_marker_needs_its_own(tmp_path):
    turn = [init(), told("Hi"), says("m", text("One.")), result("One.")]
    assert read(tmp_path, turn).metadata["ended"] == "finished"
    assert read(tmp_path, [*turn, init(), told("More")]).metadata["ended"] == "no end marker"


def test_is_error_decides_and_not_the_subtype(tmp_path):
    session = read(tmp_path, [init(), result("Credit balance is too low", is_error=True)])
    assert described(session)[-1] == "ERROR Credit balance is too low"
    assert session.exchanges[-1].errors == 1


def test_what_only_the_end_says_is_shown(tmp_path):
    assert described(read(tmp_path, [init(), result("Only here.")]))[-1] == "TEXT Only here."
    stopped = result("", stop_reason="tool_use", deferred_tool_use={"id": "d", "name": "Ask", "input": {}})
    assert tool(read(tmp_path, [init(), says("m", use("d", "Ask")), stopped])).status is ToolStatus.PENDING
    shaped = result("x", structured_output={"lamps": 2})
    assert '"lamps": 2' in last(read(tmp_path, [init(), says("m", text("x")), shaped])).text


def test_numbers_and_halves_of_characters_that_json_hardly_knows(tmp_path):
    shaped = last(read(tmp_path, [init(), result("x", structured_output={"n": 2**70, "text": "\ud800"})])).text
    assert str(2**70) in shaped and "\ufffd" in shaped


# -- subagents and tasks -----------------------------------------------------------------------------------------------


def test_subagents_are_sessions_within_at_any_depth(tmp_path):
    session = read(tmp_path, claude_lines())
    (outer,) = session.subagents
    (inner,) = outer.session.subagents
    assert (outer.name, outer.description, session.message(outer.tool_use).tool.subagent) == (
        "Explore",
        "Find lamps",
        "toolu_2",
    )
    assert described(outer.session) == ["PROMPT Find them", "TOOL Task", "TEXT Found."]
    assert described(inner.session) == ["PROMPT Deeper", "TEXT Deep down."]
    assert inner.tool_use == 1 and outer.session.message(1).tool.subagent == "toolu_3"
    assert not any("Deep" in words for words in described(session))
    assert (outer.session.usage().total, inner.session.usage().total) == (60, 68)
    assert usage_with_subagents(session).total == session.usage().total + 60 + 68


def test_an_orphan_is_linked_when_its_use_appears(tmp_path):
    lines = [init(), told([text("Find")], "t9"), says("s", text("Found."), parent="t9")]
    orphan = read(tmp_path, lines).subagents[0]
    assert orphan.tool_use is None and described(orphan.session) == ["PROMPT Find", "TEXT Found."]
    session = read(tmp_path, [*lines, says("m", use("t9", "Task", prompt="Find"))])
    assert [s.tool_use for s in session.subagents] == [1]


def test_a_subagent_that_claims_to_have_started_itself_stays_an_orphan(tmp_path):
    session = read(tmp_path, [init(), says("s", use("x", "Task"), parent="x"), says("s", use("y", "Task"), parent="x"),
                              says("z", use("x", "Task"), parent="y")])  # fmt: skip
    assert len(family_of(session)) == 3, "both are there, and neither is above itself"


def test_a_background_use_ends_with_its_task(tmp_path):
    lines = [
        init(),
        says("m", use("b", "Bash", command="make")),
        back("b", "running in background", tool_use_result={"backgroundTaskId": "t"}),
        system("task_started", task_id="t", tool_use_id="b", description="make"),
        system("task_progress", task_id="t", description="make", usage={"total_tokens": 5}),
        result("started"),
    ]
    assert tool(read(tmp_path, lines)).status is ToolStatus.BACKGROUND
    done = system("task_notification", task_id="t", status="completed", summary="All built", output_file="/t/b")
    session = read(tmp_path, [*lines, done])
    assert tool(session).status is ToolStatus.OK and tool(session).text == "All built"
    killed = system("task_updated", task_id="t", patch={"status": "killed"})
    assert tool(read(tmp_path, [*lines, killed])).status is ToolStatus.INTERRUPTED


def test_tasks_of_no_known_use_are_a_note_that_is_kept_up(tmp_path):
    begun = system("task_started", task_id="t", description="Index")
    ended = system("task_notification", task_id="t", status="completed", summary="Indexed")
    session = read(tmp_path, [init(), told("x"), begun, ended])
    assert described(session)[1] == "NOTE Indexed"
    assert session.message(1).label == "Background task: Indexed, completed"
    ambient = [{**begun, "ambient": True}, {**ended, "uuid": "e"}]
    assert described(read(tmp_path, [init(), told("x"), *ambient]))[1:2] != ["NOTE Indexed"]


# -- side events -------------------------------------------------------------------------------------------------------


def test_side_events(tmp_path):
    hook = {"hook_id": "h", "hook_name": "Stop", "hook_event": "Stop"}
    uses = says("m", use("a", "Bash", command="ls"))
    quiet = [
        system("status", status="requesting"),
        system("hook_response", **hook, outcome="success", exit_code=0, output="fine"),
        system("files_persisted"),
        line("rate_limit_event", rate_limit_info={"status": "allowed"}),
        line("keep_alive"),
        line("prompt_suggestion"),
    ]
    loud = [
        system("hook_response", **hook, outcome="cancelled"),
        system("informational", content="Update available", level="info"),
        system("local_command_output", content="\x1b[31mred\x1b[0m"),
        line("rate_limit_event", rate_limit_info={"status": "rejected", "rateLimitType": "five_hour"}),
        system("status", status=None, compact_error="too long"),
        system("later_subtype", detail=1),
        line("later_type", detail=1),
    ]
    session = read(tmp_path, [init(), told("x"), uses, *quiet, *loud])
    assert described(session)[2:7] == [
        "NOTE Hook Stop cancelled",
        "NOTE Update available",
        "OUTPUT red",
        "NOTE Rate limit: rejected (five hour)",
        "ERROR too long",
    ]
    assert list(session.messages.kind[7:]) == [Kind.UNKNOWN, Kind.UNKNOWN, Kind.NOTE]
    assert dict(session.unknown) == {"system later_subtype": 1, "later_type": 1}
    assert sum(session.hidden.values()) == 1 + len(quiet)


def test_retracted_lines_are_greyed_out(tmp_path):
    gone = says("m", text("I cannot."))
    fallback = {"original_model": "claude-opus-5", "fallback_model": HAIKU, "retracted_message_uuids": [gone["uuid"]]}
    session = read(tmp_path, [init(), gone, system("model_refusal_fallback", **fallback, content="Retrying.")])
    assert session.messages.has(1, Flag.REWOUND)
    assert session.message(2).label == f"Model switched after a refusal: claude-opus-5 → {HAIKU}"


def test_an_error_beside_an_answer_is_shown(tmp_path):
    failed = says("m", text("I begin")) | {"error": "max_output_tokens"}
    assert described(read(tmp_path, [init(), failed]))[-3:-1] == ["TEXT I begin", "ERROR max_output_tokens"]


def test_qwen_code_is_called_by_its_name(tmp_path):
    session = read(tmp_path, [init(qwen_code_version="0.9.1", claude_code_version=None), result("Hi.")])
    assert (session.provider, session.provider_name, session.version) == ("qwen", "Qwen Code", "0.9.1")


def test_a_notice_of_qwen_code_is_no_prompt(tmp_path):
    notice = {"type": "user", "session_id": init()["session_id"], "message": {"role": "user", "content": [
        {"type": "text", "text": 'Background agent "general-purpose: Count lines" completed.'}
    ]}}  # fmt: skip
    session = read(tmp_path, [init(qwen_code_version="0.24.4"), says("m", "Two."), notice, says("n", "Done.")])
    assert [session.message(i).kind for i in range(4)] == [Kind.PROMPT, Kind.TEXT, Kind.NOTE, Kind.TEXT]
    assert len(session.exchanges) == 1


@pytest.mark.parametrize(
    ("content", "output", "code"),
    [
        ("Command: ls\nDirectory: (root)\nOutput: none\nError: (none)\nExit Code: 3\nSignal: (none)\n"
         "Process Group PGID: (none)", "none", 3),
        ("Exit Code: 3", "Exit Code: 3", None),
    ],
)  # fmt: skip
def test_the_result_of_qwens_shell_is_what_the_program_wrote(content, output, code, tmp_path):
    call = use("t1", "run_shell_command", command="ls")
    lines = [init(qwen_code_version="0.24.4"), says("m", call), back("t1", content, failed=True), result("Hi.")]
    ran = tool(read(tmp_path, lines))
    assert (ran.output["content"], ran.exit_code, ran.status) == (output, code, ToolStatus.ERROR)


def test_the_blocks_of_a_response_of_qwen_code_have_lines_of_their_own_ids(tmp_path):
    begun = {"type": "message_start", "message": {"id": "a", "role": "assistant", "content": []}}
    kinds = (("thinking", "thinking", "Hm."), ("text", "text", "Yes."))
    lines = [init(qwen_code_version="0.24.4"), line("stream_event", event=begun)]
    for response, (kind, key, said) in zip("ab", kinds, strict=True):
        start = {"type": "content_block_start", "index": 0, "content_block": {"type": kind, key: ""}}
        delta = {"type": "content_block_delta", "index": 0, "delta": {"type": f"{kind}_delta", key: said}}
        stop = {"type": "content_block_stop", "index": 0}
        lines += [line("stream_event", event=event) for event in (start, delta, stop)]
        lines.append(says(response, {"type": kind, key: said}))
    lines += [line("stream_event", event={"type": "message_stop"}), result("Yes.")]
    assert described(read(tmp_path, lines)) == [f"PROMPT {NOT_TOLD}", "THINKING Hm.", "TEXT Yes."]


def test_another_conversation_is_another_run(tmp_path):
    other = {**says("m9", text("Anew.")), "session_id": "other"}
    reset = line("conversation_reset", new_conversation_id="other")
    session = read(tmp_path, [init(), says("m", text("Old.")), result("Old."), reset, other])
    assert len(prompts(session)) == 2 and "TEXT Anew." in described(session)


def test_facts_of_the_run(tmp_path):
    end = result("ok", models={"claude-opus-5": spent(1, 0, 0, 5)}, total_cost_usd=0.25)
    session = read(tmp_path, [init(), says("m", text("ok"), used=usage(1, 0, 0, 2)), end])
    assert (session.workspace_root, session.version) == ("/home/dev/lamp-shop", "2.1.281")
    assert (session.metadata["costUsd"], session.context_window) == (0.25, 200_000)
    assert session.exchanges[0].seconds == 2.5

"""What the scan makes of Claude Code's lines, one rule of the formats note at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas.message import Flag, Kind
from schemas.providers.claude import PROVIDER
from schemas.providers.claude.classify import UserLine, classify, command_label, fold_reminders
from schemas.providers.kit.rows import key_of
from schemas.usage import TokenUsage
from schemas.values import when
from tests.schemas.claude_lines import SESSION, Lines, usage
from tests.schemas.conformance import described


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("fix it", {}, UserLine.PROMPT),
        ("Stop hook says no, why?", {}, UserLine.PROMPT),
        ("I saw <command-name> in the log", {}, UserLine.PROMPT),
        ("x", {"isCompactSummary": True}, UserLine.SUMMARY),
        ("This session is being continued from a previous conversation that ran out", {}, UserLine.SUMMARY),
        ("Base directory for this skill: /x", {"isMeta": True}, UserLine.META),
        ("<local-command-caveat>Caveat: …</local-command-caveat>", {"isMeta": True}, UserLine.CAVEAT),
        ("[Request interrupted by user for tool use]", {}, UserLine.INTERRUPT),
        ("<task-notification>\n</task-notification>", {}, UserLine.NOTIFICATION),
        ("done", {"origin": {"kind": "task-notification"}}, UserLine.NOTIFICATION),
        ("done", {"promptSource": "system"}, UserLine.NOTIFICATION),
        ('<teammate-message teammate_id="a">hi</teammate-message>', {}, UserLine.TEAMMATE),
        ("hello", {"origin": {"kind": "peer"}}, UserLine.TEAMMATE),
        ("<command-message>x</command-message>\n<command-name>/x</command-name>", {}, UserLine.COMMAND),
        ("<bash-input>ls</bash-input>", {}, UserLine.COMMAND),
        ("<bash-stdout>a</bash-stdout>", {}, UserLine.OUTPUT),
        ("<local-command-stdout></local-command-stdout>", {}, UserLine.OUTPUT),
        ("Stop hook feedback:\nlint fails", {}, UserLine.META),
        ("<user-prompt-submit-hook>x</user-prompt-submit-hook>", {}, UserLine.META),
        ("\ufeff <ide_selection>x</ide_selection>\n<system-reminder>y</system-reminder>\nfix", {}, UserLine.PROMPT),
        ("<system-reminder>only this</system-reminder>", {}, UserLine.META),
        ("  ", {}, UserLine.EMPTY),
        ("", {}, UserLine.EMPTY),
    ],
)
def test_classes_of_user_lines(text: str, fields: dict[str, Any], expected: UserLine) -> None:
    assert classify(fields, text)[0] is expected


def test_small_words() -> None:
    assert command_label("<command-message>review</command-message>\n<command-args> 7 </command-args>") == "/review 7"
    assert command_label("<bash-input>git status</bash-input>") == "! git status"
    assert fold_reminders("a\n\n<system-reminder>b</system-reminder>\n") == ("a", ["b"])
    assert fold_reminders("x" + " \n" * 20_000)[1] == []


def test_times_are_read_as_datetime_reads_them() -> None:
    assert when("2026-11-02T09:00:01.250Z") == 1793610001.25
    assert when("2026-11-02T09:00:59.999Z") == 1793610059.999
    assert when("2026-11-02T09:00:59Z") == 1793610059.0
    assert when("2026-11-02T11:00:59+02:00") == 1793610059.0
    assert not any(map(when, ("2026-11-02T09:00:99.000Z", "", None, "soon", "2026-11-02T09:00:+1.0Z")))


def test_keys_are_the_same_in_every_process() -> None:
    assert key_of("00000000-0000-4000-8000-000000000007") == hash(0x40008000000000000007)
    assert key_of("toolu_1") == key_of("toolu_1") != key_of("toolu_2")


def test_a_prompt_opens_and_a_local_command_does_not(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("<command-name>/model</command-name>")
    lines.user("<local-command-stdout>Set</local-command-stdout>")
    lines.user("first")
    lines.say("one")
    lines.user("<bash-input>ls</bash-input>")
    lines.user("<bash-stdout>a.py</bash-stdout><bash-stderr></bash-stderr>")
    lines.user("<command-name>/review</command-name><command-args>7</command-args>")
    lines.user("Base directory for this skill: /s", isMeta=True)
    lines.say("two", response="msg_2", usage=usage(5, 6))
    session = lines.read(tmp_path)
    assert [(e.opener, e.prompt) for e in session.exchanges] == [
        (None, ""),
        (Kind.PROMPT, "first"),
        (Kind.COMMAND, "/review 7"),
    ]
    assert session.exchange_usage(2) == TokenUsage(5, 6, 0, 0)
    assert described(session)[-3:] == ["COMMAND /review 7", "CONTEXT Base directory for this skill: /s", "TEXT two"]


def test_a_command_that_begins_the_file_has_no_empty_exchange_before_it(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("<command-name>/review</command-name>")
    lines.say("ok")
    session = lines.read(tmp_path)
    assert [(e.opener, e.start) for e in session.exchanges] == [(Kind.COMMAND, 0)]
    assert session.title == "/review"


def test_usage_is_the_largest_figure_and_ends_with_its_last_line(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("a")
    lines.say("x", usage=usage(3, 1, 10, 4, cache_creation={"ephemeral_1h_input_tokens": 4}))
    lines.use("Bash", usage=usage(3, 9, 10, 4, iterations=[usage(99, 99)]))
    lines.user("b")
    lines.result("done")
    lines.say("y", usage=usage(3, 30, 10, 4, output_tokens_details={"thinking_tokens": 7}))
    lines.agent({"type": "text", "text": "No response requested."}, response="z", message={"model": "<synthetic>"})
    session = lines.read(tmp_path)
    assert session.usage() == TokenUsage(3, 30, 10, 4, 7, 4)
    assert session.exchange_usage(0) is None
    assert session.exchange_usage(1) == session.usage()
    assert len(session.group_spans(0)) == 3
    assert session.message(session.groups.last[0]).text == "y"
    assert described(session)[-1] == "NOTE No response requested."


@pytest.mark.parametrize("fields", [{"requestId": "req_1"}, {}])
def test_without_a_message_id_the_request_or_the_record_is_the_group(tmp_path: Path, fields: dict[str, Any]) -> None:
    lines = Lines()
    lines.user("a")
    for text in ("x", "y"):
        lines.say(text, response="", usage=usage(10, 1), **fields)
    assert lines.read(tmp_path).usage().input == (10 if fields else 20)


def test_repeated_blocks_show_once(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("a")
    think = {"type": "thinking", "thinking": "hm", "signature": "s"}
    lines.agent(think, {"type": "text", "text": "Let me look"})
    lines.say("Let me look")
    lines.use("Bash")
    lines.use("Bash")
    lines.agent({"type": "thinking", "thinking": "", "signature": "a"})
    lines.agent({"type": "thinking", "thinking": "", "signature": "b"})
    session = lines.read(tmp_path)
    assert [line.split()[0] for line in described(session)] == [
        "PROMPT",
        "THINKING",
        "TEXT",
        "TOOL",
        "THINKING",
        "THINKING",
    ]
    assert session.message(2).text == "Let me look" and session.messages.chars[2] == 11
    assert session.messages.flags[4] & Flag.WITHHELD


def test_a_rewind_abandons_all_that_stands_under_the_old_prompt(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("start")
    fork = lines.say("ok", response="m1")
    lines.user("old way", parent=fork)
    lines.say("old answer", response="m2", usage=usage(7, 7))
    lines.user("old follow-up")
    hidden = lines.attach("hook_success")
    lines.say("old again", response="m3", parent=hidden)
    lines.user("new way", parent=fork)
    lines.say("new answer", response="m4")
    session = lines.read(tmp_path)
    assert [(e.prompt, e.rewound) for e in session.exchanges] == [
        ("start", False),
        ("old way", True),
        ("old follow-up", True),
        ("new way", False),
    ]
    flagged = [bool(flags & Flag.REWOUND) for flags in session.messages.flags]
    assert flagged == [False, False, True, True, True, True, False, False]
    assert session.usage() == TokenUsage(7, 7, 0, 0)


def test_a_session_repeated_at_the_same_times_rewinds_nothing(tmp_path: Path) -> None:
    lines = Lines()
    for copy in ("a", "b"):
        lines.user("start", parent=None, uuid=copy * 36, timestamp="2026-11-02T09:00:00.000Z")
        lines.say("ok", response=copy, timestamp="2026-11-02T09:00:01.000Z")
    assert [e.rewound for e in lines.read(tmp_path).exchanges] == [False, False]
    lines.user("start over", parent=None, timestamp="2026-11-02T09:00:00.001Z")
    assert [e.rewound for e in lines.read(tmp_path).exchanges] == [False, True, False]


def test_the_first_prompt_can_be_rewound_but_files_without_parents_are_left_alone(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("first wording")
    lines.say("no")
    lines.user("second wording", parent=None)
    assert [e.rewound for e in lines.read(tmp_path).exchanges] == [True, False]
    loose = Lines()
    for text in ("a", "b"):
        loose.user(text, parent=None)
        loose.say(text, parent=None, response=text)
    assert [e.rewound for e in loose.read(tmp_path).exchanges] == [False, False]


def test_duplicates_and_replays_are_left_out(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("one", uuid="u1")
    lines.say("two")
    lines.user("three", uuid="u3", timestamp="2026-11-02T10:00:00.000Z", parent="u1")
    lines.rows += [lines.rows[0], lines.rows[1]]
    lines.user("three", uuid="u4", timestamp="2026-11-02T10:00:00.000Z", parent="u1")
    session = lines.read(tmp_path)
    assert described(session) == ["PROMPT one", "TEXT two", "PROMPT three"]
    assert session.duplicates == 3


def test_an_empty_uuid_is_none(tmp_path: Path) -> None:
    lines = Lines()
    for text in ("one", "two"):
        uuid = lines.user(text)
        lines.rows[-1] = lines.rows[-1].replace(uuid.encode(), b"")
    session = lines.read(tmp_path)
    assert described(session) == ["PROMPT one", "PROMPT two"]
    assert len({session.message(i).id for i in range(2)} | {""}) == 3
    assert len(set(session.messages.key)) == 2


def test_text_typed_while_the_agent_works(tmp_path: Path) -> None:
    lines = Lines()
    lines.fact("queue-operation", operation="enqueue", content="the prompt")
    lines.fact("queue-operation", operation="dequeue")
    lines.user("the prompt")
    lines.say("working", response="m1")
    lines.fact("queue-operation", operation="enqueue", content="old: no text in remove")
    lines.fact("queue-operation", operation="remove")
    lines.fact("queue-operation", operation="enqueue", content="/mcp")
    lines.fact("queue-operation", operation="remove", content="/mcp")
    lines.fact("queue-operation", operation="remove", content="also X")
    lines.attach("queued_command", prompt="also X", commandMode="prompt")
    lines.attach("queued_command", prompt=[{"type": "image", "source": {}}, {"type": "text", "text": "see"}])
    lines.attach("queued_command", prompt="<task-notification><summary>built</summary></task-notification>")
    lines.fact("queue-operation", operation="enqueue", content="taken back")
    lines.fact("queue-operation", operation="popAll", content="taken back")
    lines.say("done", response="m2")
    lines.fact("queue-operation", operation="remove", content="next")
    lines.user("next")
    lines.say("yes", response="m3")
    session = lines.read(tmp_path)
    assert described(session) == [
        "PROMPT the prompt",
        "TEXT working",
        "STEER old: no text in remove",
        "STEER also X",
        "STEER see [image of unknown type]",
        "NOTE built",
        "NOTE Typed while the agent worked, and taken back",
        "TEXT done",
        "PROMPT next",
        "TEXT yes",
    ]
    assert [e.prompt for e in session.exchanges] == ["the prompt", "next"]


def test_a_prompt_that_comes_out_of_the_queue_is_its_own_record_only(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("one")
    lines.say("yes", response="m1")
    lines.fact("queue-operation", operation="enqueue", content="two", timestamp="2026-11-02T08:00:00.000Z")
    lines.fact("queue-operation", operation="dequeue")
    uuid = lines.user("two")
    session = lines.read(tmp_path)
    prompt = session.message(2)
    assert (prompt.kind, prompt.id, len(session.message_spans(2))) == (Kind.PROMPT, uuid, 1)
    assert prompt.timestamp is not None and prompt.timestamp > (session.message(1).timestamp or 0)


@pytest.mark.parametrize(
    ("stop", "shown"), [("end_turn", []), ("tool_use", ["STEER two"]), (["end_turn"], ["STEER two"])]
)
def test_what_is_queued_after_the_end_of_an_answer_waits_for_its_own_record(
    tmp_path: Path, stop: object, shown: list[str]
) -> None:
    # `claude -p --resume` writes its prompt into the queue some milliseconds before the prompt itself.
    lines = Lines()
    lines.user("one")
    lines.say("yes", response="m1", message={"stop_reason": stop})
    lines.fact("queue-operation", operation="enqueue", content="two")
    assert described(lines.read(tmp_path)) == ["PROMPT one", "TEXT yes", *shown]


def test_a_folder_is_called_what_it_is_called(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("one", cwd="/home/dev/a\nb")
    assert lines.read(tmp_path).workspace_root == "/home/dev/a\nb"


def test_compaction_joins_its_summary_wherever_that_stands(tmp_path: Path) -> None:
    summary = "This session is being continued from a previous conversation. S"
    late = Lines()
    late.user("a")
    mark = late.system(
        "compact_boundary", parent=None, compactMetadata={"trigger": "auto", "preTokens": 170000, "postTokens": 8000}
    )
    late.attach("file", displayPath="a.py", content="x")
    late.user(summary, parent=mark, isCompactSummary=True)
    early = Lines()
    early.user("a")
    early.user(summary, parent="mark", isCompactSummary=True)
    early.system(
        "compact_boundary",
        uuid="mark",
        parent=None,
        compactMetadata={"trigger": "auto", "preTokens": 170000, "postTokens": 8000},
    )
    for lines in (late, early):
        session = lines.read(tmp_path)
        marks = [m for i in range(len(session.messages)) if (m := session.message(i)).kind is Kind.COMPACTION]
        assert [(m.label, m.text) for m in marks] == [("Compacted (auto), 170,000 tokens before, 8,000 after", summary)]
        assert session.title == "a"


def test_errors_interrupts_and_notices(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("go")
    lines.use("Bash", given={"command": "sleep"})
    lines.result("The user doesn't want to proceed", extra="User rejected tool use", error=True)
    lines.user([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    lines.system("api_error", error={"error": {"error": {"message": "overloaded"}}}, retryAttempt=2, maxRetries=10)
    lines.agent(
        {"type": "text", "text": "API Error: 500"},
        message={"model": "<synthetic>"},
        isApiErrorMessage=True,
        error="server_error",
    )
    lines.attach("hook_blocking_error", hookName="PreToolUse:Bash", blockingError={"blockingError": "no rm"})
    lines.system("stop_hook_summary", hookErrors=["lint"], preventedContinuation=False)
    lines.system("stop_hook_summary", hookErrors=[], preventedContinuation=False)
    lines.system("turn_duration", durationMs=1500)
    lines.fact("permission-mode", permissionMode="default")
    lines.fact("permission-mode", permissionMode="plan")
    lines.system("brand_new", content="?")
    session = lines.read(tmp_path)
    labels = [session.message(i).label for i in range(2, len(session.messages))]
    assert labels == [
        "Interrupted during a tool use",
        "API error, retrying (2 of 10): overloaded",
        "API error (server error)",
        "Blocked by hook PreToolUse:Bash",
        "A stop hook failed",
        "Unknown record system brand_new",
    ]
    exchange = session.exchanges[0]
    assert (exchange.interrupted, exchange.errors, exchange.seconds) == (True, 3, 1.5)
    assert session.messages.flags[1] & Flag.INTERRUPTED and not session.messages.flags[1] & Flag.ERROR
    assert session.message(1).tool.status == "denied"
    assert dict(session.unknown) == {"system brand_new": 1}


def test_titles_in_their_order(tmp_path: Path) -> None:
    lines = Lines()
    assert lines.read(tmp_path).title == SESSION
    lines.fact("last-prompt", lastPrompt="typed last")
    assert lines.read(tmp_path).title == "typed last"
    first = lines.user("the\n  first")
    assert lines.read(tmp_path).title == "the first"
    lines.fact("summary", summary="of another file", leafUuid="elsewhere")
    lines.fact("summary", summary="of this one", leafUuid=first)
    assert lines.read(tmp_path).title == "of this one"
    lines.fact("ai-title", aiTitle="made")
    assert lines.read(tmp_path).title == "made"
    lines.system("local_command", content="<local-command-stdout>Session renamed to: mine</local-command-stdout>")
    assert lines.read(tmp_path).title == "mine"
    lines.fact("custom-title", customTitle="given\x1b]0;x\x07")
    assert lines.read(tmp_path).title == "given"


def test_a_summary_in_another_file_of_the_project_names_the_session(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("hello")
    leaf = lines.say("hi")
    other = Lines("99999999-2222-4333-8444-555555555555")
    other.fact("summary", summary="Greetings", leafUuid=leaf)
    other.write(tmp_path)
    assert lines.read(tmp_path).title == "Greetings"


def test_forks_and_resumed_copies(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("old", forkedFrom={"sessionId": "parent", "messageUuid": "x"})
    lines.say("old answer", usage=usage(5, 5), forkedFrom={"sessionId": "parent"})
    lines.user("new")
    lines.say("new answer", response="m2", usage=usage(1, 2))
    session = lines.read(tmp_path)
    assert session.lineage.forked_from == "parent"
    assert session.usage() == TokenUsage(1, 2, 0, 0)
    assert [e.inherited for e in session.exchanges] == [True, False]
    assert [bool(f & Flag.INHERITED) for f in session.messages.flags] == [True, True, False, False]
    lines = Lines()
    copied = {"forkedFrom": {"sessionId": "parent"}}
    lines.user("old", **copied)
    for output in (1, 9, 5):
        lines.say(f"part {output}", usage=usage(5, output), **copied)
    session = lines.read(tmp_path)
    (one,) = session.inherited.values()
    assert [span.line for span in session.spans.chain(one.span)] == [2, 3, 4]
    assert (one.usage, session.usage()) == (TokenUsage(5, 9, 0, 0), None)
    resumed = Lines()
    resumed.user("old", sessionId="99999999-2222-4333-8444-555555555555")
    resumed.user("new")
    session = resumed.read(tmp_path)
    assert session.lineage.continues == "99999999-2222-4333-8444-555555555555"
    assert len(session.live_exchanges) == 2


def test_resume_only_for_a_plain_id(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("x")
    assert PROVIDER.resume_command(lines.read(tmp_path)) == ["claude", "--resume", SESSION]
    from tests.schemas.conformance import whole

    for name in ("x; touch y.jsonl", "-rf.jsonl", "agent-1.jsonl"):
        assert PROVIDER.resume_command(whole(PROVIDER, lines.write(tmp_path, name))) is None


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("api-request-shape", {"shapeHash": "5f", "shape": {"system": [{"text": "You are"}], "tools": []}}),
        ("api-request-blob", {"hash": "5f", "message": {"role": "user", "content": "go"}}),
        ("api-request", {"id": "r1", "querySource": "repl_main_thread", "params": {}, "tail": ["5f"]}),
        ("tools-used", {"tools": ["Bash"]}),
        ("continued-in", {}),
        ("host-row", {}),
        ("repl-mode", {"mode": "normal"}),
    ],
)
def test_bookkeeping_is_counted_and_makes_neither_message_nor_exchange(
    kind: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    """Claude Code 2.1.332 writes four such records around every response, the first before any prompt."""
    lines = Lines()
    lines.fact(kind, **fields)
    lines.user("go")
    lines.say("done")
    lines.fact(kind, **fields)
    session = lines.read(tmp_path)
    assert [e.prompt for e in session.exchanges] == ["go"]
    assert [m.kind for m in session.exchange_messages(0)] == [Kind.PROMPT, Kind.TEXT]
    assert session.hidden[kind] == 2 and not session.unknown

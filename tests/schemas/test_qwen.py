"""What each kind of Qwen Code's records becomes (formats/gemini-qwen-cursor.md 2.2, 2.4)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag, Kind, ToolStatus
from schemas.providers.qwen import PROVIDER, read_usage
from schemas.usage import TokenUsage
from tests.fixtures.qwen import START, Chat, call, stamp, thought, tokens
from tests.schemas.conformance import assert_all_laws, assert_same_in_pieces, described, whole


def messages(session, kind=None):
    found = [session.message(i) for i in range(len(session.messages))]
    return found if kind is None else [m for m in found if m.kind is kind]


def tool_of(session, n=0):
    return messages(session, Kind.TOOL)[n].tool


# -- prompts -----------------------------------------------------------------------------------------------------------


def test_what_was_typed_is_shown_and_what_was_sent_is_a_fact(tmp_path):
    chat = Chat()
    chat.user("look at @a\nBODY OF A", systemPayload={"displayText": "look at @a", "hookContext": ""})
    session = chat.read(tmp_path)
    assert described(session) == ["PROMPT look at @a"]
    assert messages(session)[0].metadata["sentToModel"] == "look at @a\nBODY OF A"


@pytest.mark.parametrize("apart", [True, False])
def test_a_hooks_context_is_no_prompt(tmp_path, apart):
    hook = "<hook_context>\nbe brief\n</hook_context>"
    chat = Chat()
    chat.user(*(["hi", hook] if apart else ["hi\n" + hook]))
    session = chat.read(tmp_path)
    assert described(session) == ["PROMPT hi", "CONTEXT be brief"]
    assert messages(session)[1].label == "Context from a hook"
    assert session.exchanges[0].prompt == "hi"


def test_a_hook_tag_within_a_prompt_is_the_persons_own(tmp_path):
    chat = Chat()
    chat.user("what is <hook_context>x</hook_context> for?")
    assert described(chat.read(tmp_path)) == ["PROMPT what is <hook_context>x</hook_context> for?"]


def test_context_alone_opens_no_exchange(tmp_path):
    chat = Chat()
    chat.user("<hook_context>only a hook</hook_context>")
    chat.user("<session_context>\nToday is Monday.\n</session_context>")
    chat.user("")
    session = chat.read(tmp_path)
    assert [m.kind for m in messages(session)] == [Kind.CONTEXT] * 2
    assert session.live_exchanges == [] and session.hidden == {"user (empty)": 1}


def test_an_image_is_part_of_the_prompt(tmp_path):
    chat = Chat()
    chat.user("what is this?", {"inlineData": {"mimeType": "image/png", "data": "aaaa"}})
    parts = messages(chat.read(tmp_path))[0].parts
    assert [(p.type, p.text) for p in parts] == [("text", "what is this?"), ("image", "[image image/png, 3 bytes]")]


def test_the_files_of_an_at_command_are_context(tmp_path):
    chat = Chat()
    chat.system("at_command", {"filesRead": ["a.py", "b/"], "status": "success", "userText": "compare @a.py @b/"})
    chat.user("compare a.py b/")
    chat.agent("They differ.")
    session = chat.read(tmp_path)
    assert described(session) == [
        "CONTEXT a.py b/",
        "PROMPT compare a.py b/",
        "TEXT They differ.",
    ]
    assert messages(session)[0].label == "Read 2 files"


def test_an_at_command_that_failed_says_so(tmp_path):
    chat = Chat()
    chat.system("at_command", {"filesRead": ["a"], "status": "error", "message": "no such file", "userText": "see @a"})
    chat.user("next")
    session = chat.read(tmp_path)
    assert described(session) == ["NOTE no such file", "PROMPT next"]
    assert messages(session)[0].flags & Flag.ERROR


# -- not typed ---------------------------------------------------------------------------------------------------------


def test_what_the_program_sends_is_a_note_in_the_running_exchange(tmp_path):
    chat = Chat()
    chat.user("go")
    for subtype in ("notification", "cron", "goal_runtime"):
        chat.user(f"<{subtype}/>", subtype=subtype, systemPayload={"displayText": f"{subtype} done"})
    chat.user("wake up", subtype="cron")
    session = chat.read(tmp_path)
    assert [m.label for m in messages(session, Kind.NOTE)] == [
        "notification done", "cron done", "goal_runtime done", "Scheduled task",
    ]  # fmt: skip
    assert messages(session)[-1].text == "wake up"
    assert len(session.exchanges) == 1


def test_typed_while_tools_ran_and_spoken_are_steers(tmp_path):
    chat = Chat()
    chat.user("go")
    chat.user("faster", subtype="mid_turn_user_message", systemPayload={"displayText": "faster!"})
    chat.user("hello there", subtype="realtime_message")
    chat.agent("Hello.", subtype="realtime_message", model=...)
    session = chat.read(tmp_path)
    assert described(session) == ["PROMPT go", "STEER faster!", "STEER hello there", "TEXT Hello."]
    assert len(session.live_exchanges) == 1


def test_a_command_and_what_it_printed(tmp_path):
    chat = Chat()
    chat.user("go")
    chat.system("slash_command", {"phase": "invocation", "rawCommand": "/about"})
    items = [{"type": "about", "cliVersion": "0.24"}, {"type": "info", "text": "\x1b[1mfine"}]
    chat.system("slash_command", {"phase": "result", "rawCommand": "/about", "outputHistoryItems": items})
    chat.system("slash_command", {"phase": "invocation", "rawCommand": "/q", "hiddenInvocation": True})
    chat.system(
        "slash_command",
        {"phase": "result", "rawCommand": "/q", "outputHistoryItems": [{"type": "error", "text": "no"}]},
    )
    session = chat.read(tmp_path)
    assert described(session) == ["PROMPT go", "COMMAND /about", "OUTPUT about cliVersion: 0.24 fine", "OUTPUT no"]
    assert messages(session)[-1].flags & Flag.ERROR
    assert session.hidden == {"slash_command (not shown)": 1}


def test_compaction_keeps_what_was_before(tmp_path):
    chat = Chat()
    chat.user("one")
    summary = {"role": "user", "parts": [{"text": "<state_snapshot>\nall of it\n</state_snapshot>"}]}
    info = {"originalTokenCount": 90_000, "newTokenCount": 800}
    chat.system("chat_compression", {"info": info, "compressedHistory": [summary]})
    chat.user("two")
    session = chat.read(tmp_path)
    mark = messages(session, Kind.COMPACTION)[0]
    assert (mark.label, mark.text) == ("Compacted, 90,000 tokens before, 800 after", "all of it")
    assert [e.prompt for e in session.live_exchanges] == ["one", "two"]


@pytest.mark.parametrize(
    "subtype",
    ["ui_telemetry", "session_approval_mode", "goal_state", "goal_turn_end", "agent_bootstrap", "omni_recall"],
)
def test_facts_for_the_program_are_hidden(tmp_path, subtype):
    chat = Chat()
    chat.user("one")
    chat.system(subtype, {"x": 1})
    session = chat.read(tmp_path)
    assert session.hidden == {subtype: 1} and len(session.messages) == 1


def test_what_nobody_described_is_shown_as_it_is(tmp_path):
    chat = Chat()
    chat.system("from_the_future", {"words": "keep me"})
    chat.user("x", subtype="odd")
    chat.line("holiday", words="me too")
    chat.raw(b'{"a": 1}')
    session = chat.read(tmp_path)
    assert session.unknown == {"system from_the_future": 1, "user odd": 1, "holiday": 1, "(no type)": 1}
    assert [m.kind for m in messages(session)] == [Kind.UNKNOWN] * 4
    assert "keep me" in messages(session)[0].text


# -- facts -------------------------------------------------------------------------------------------------------------


def test_facts_of_the_session(tmp_path):
    chat = Chat()
    chat.user("one")
    chat.agent("1", model="qwen-a", contextWindowSize=1000, usage=tokens(50, 1))
    chat.agent("2", model="qwen-b", usage=tokens(70, 1, 60))
    session = chat.read(tmp_path)
    assert (session.workspace_root, session.version, session.branch) == ("/home/dev/lamp", "0.24.4", "main")
    assert (session.models, session.context_window, session.context_used) == (["", "qwen-a", "qwen-b"], 1000, 70)
    assert (session.created, session.updated) == (START, START + 2)


def test_the_last_title_wins(tmp_path):
    chat = Chat()
    chat.user("one")
    assert chat.read(tmp_path).title == "one"
    chat.system("custom_title", {"customTitle": "First", "titleSource": "auto"})
    chat.system("custom_title", {"customTitle": "Second"})
    chat.system("custom_title", {"customTitle": ""})
    assert chat.read(tmp_path).title == "Second"


def test_a_branch_counts_nothing_of_what_it_copied(tmp_path):
    chat = Chat()
    chat.user("old", forkedFrom={"sessionId": "source", "messageUuid": "u"})
    chat.agent("1", usage=tokens(900, 9), forkedFrom={"sessionId": "source", "messageUuid": "a"})
    chat.user("new")
    chat.agent("2", usage=tokens(100, 1))
    session = chat.read(tmp_path)
    assert session.lineage.forked_from == "source"
    (copied,) = session.inherited.values()
    assert (copied.group_id, copied.usage, copied.exchange) == ("a", TokenUsage(900, 9, 0, None, 0), 0)
    assert [e.prompt for e in session.live_exchanges] == ["new"]
    assert session.usage() == TokenUsage(100, 1, 0, None, 0)


# -- tools -------------------------------------------------------------------------------------------------------------


def test_an_edit_with_its_diff(tmp_path):
    chat = Chat()
    chat.user("edit")
    chat.agent(call("c", "edit", file_path="/home/dev/lamp/a.py", old_string="x", new_string="y"))
    shown = {"fileDiff": "--- a.py\n+++ a.py\n@@ -4 +4 @@\n-x\n+y\n", "fileName": "a.py", "newContent": "y"}
    chat.result("c", "edit", {"output": "done"}, status="success", resultDisplay=shown | {"originalContent": "x"})
    tool = tool_of(chat.read(tmp_path))
    assert (tool.type, tool.status, tool.text) == ("write", ToolStatus.OK, "done")
    assert tool.diffs[0].hunks[0].new_start == 4


def test_a_made_up_diff_is_not_shown(tmp_path):
    chat = Chat()
    chat.user("edit")
    chat.agent(call("c", "edit", file_path="a.py", old_string="x", new_string="y"))
    shown = {
        "fileDiff": "@@ -1 +1 @@\n-Full diff omitted\n+Saved preview\n",
        "fileName": "a.py",
        "fileDiffTruncated": True,
    }
    chat.result("c", "edit", {"output": "done"}, status="success", resultDisplay=shown)
    assert tool_of(chat.read(tmp_path)).diffs[0].hunks[0].lines == ["-x", "+y"]


def test_a_real_diff_beside_cut_contents_is_shown(tmp_path):
    chat = Chat()
    chat.user("edit")
    chat.agent(call("c", "write_file", file_path="a.py", content="z"))
    shown = {
        "fileDiff": "@@ -7 +7 @@\n-x\n+y\n",
        "fileName": "a.py",
        "truncatedForSession": True,
        "fileDiffTruncated": False,
    }
    chat.result("c", "write_file", {"output": "done"}, status="success", resultDisplay=shown)
    assert tool_of(chat.read(tmp_path)).diffs[0].hunks[0].new_start == 7


def test_failed_cancelled_and_unfinished_uses(tmp_path):
    chat = Chat()
    chat.user("go")
    chat.agent(*(call(f"c{n}", "run_shell_command", command="make") for n in range(3)))
    chat.result("c0", "run_shell_command", {"error": "boom"}, status="error", resultDisplay="exit status 2")
    chat.result("c1", "run_shell_command", {"error": "[Operation Cancelled]"}, status="cancelled")
    session = chat.read(tmp_path)
    assert [m.tool.status for m in messages(session)[1:]] == [
        ToolStatus.ERROR, ToolStatus.INTERRUPTED, ToolStatus.PENDING,
    ]  # fmt: skip
    assert tool_of(session).text == "boom\nexit status 2"
    assert session.exchanges[0].errors == 1
    flags = [session.messages.flags[i] for i in (1, 2, 3)]
    assert flags == [Flag.ERROR, Flag.INTERRUPTED, Flag.PENDING]


def test_several_results_in_one_record_each_find_their_use(tmp_path):
    chat = Chat()
    chat.user("go")
    chat.agent(call("a", "read_file", path="a"), call("b", "read_file", path="b"))
    answers = [{"functionResponse": {"id": i, "name": "read_file", "response": {"output": i * 2}}} for i in "ba"]
    chat.line("user", message={"role": "user", "parts": answers})
    session = chat.read(tmp_path)
    assert [m.tool.text for m in messages(session, Kind.TOOL)] == ["aa", "bb"]
    assert len(session.exchanges) == 1


def test_a_result_without_its_use_is_not_lost(tmp_path):
    chat = Chat()
    chat.user("go")
    chat.result("gone", "glob", {"output": "a.py"}, status="success")
    found = messages(chat.read(tmp_path))[-1]
    assert (found.kind, found.text, found.metadata["toolUseId"]) == (Kind.OUTPUT, "a.py", "gone")


def test_an_image_behind_a_response_is_the_tools(tmp_path):
    chat = Chat()
    chat.user("go")
    chat.agent(call("c", "read_file", path="a.png"))
    answer = {"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "an image"}}}
    image = {"inlineData": {"mimeType": "image/png", "data": "aaaa"}}
    chat.line("tool_result", message={"role": "user", "parts": [answer, image]})
    assert [i.media_type for i in tool_of(chat.read(tmp_path)).images] == ["image/png"]


def test_an_id_that_is_used_again_is_the_latest_use(tmp_path):
    chat = Chat()
    for n in (1, 2):
        chat.user(f"go {n}")
        chat.agent(call("call_0", "glob", n=n))
        chat.result("call_0", "glob", {"output": f"found {n}"})
    assert [m.tool.text for m in messages(chat.read(tmp_path), Kind.TOOL)] == ["found 1", "found 2"]


# -- one uuid, several records -----------------------------------------------------------------------------------------


def test_records_with_one_uuid_are_one_answer(tmp_path):
    chat = Chat()
    first = chat.user("go")
    one = chat.agent("Hello", usage=tokens(10, 1))
    chat.agent(" again", uuid=one, parent=first, usage=tokens(10, 4))
    session = chat.read(tmp_path)
    assert described(session) == ["PROMPT go", "TEXT Hello", "TEXT again"]
    assert len({m.id for m in messages(session)}) == 3
    assert session.usage() == TokenUsage(10, 4, 0, None, 0) and len(session.groups) == 1


def test_a_line_that_was_written_twice_counts_once(tmp_path):
    chat = Chat()
    first = chat.user("go")
    one = chat.agent("Hello", usage=tokens(10, 1))
    chat.agent("Hello", uuid=one, parent=first, usage=tokens(10, 1))
    session = chat.read(tmp_path)
    assert described(session) == ["PROMPT go", "TEXT Hello"] and session.duplicates == 1


# -- tokens ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ((18009, 47, 36, 18056, 12, None), TokenUsage(17997, 47, 12, None, 36)),
        ((100, 10, 30, 140, 0, None), TokenUsage(100, 40, 0, None, 30)),
        ((100, 10, 30, 145, 0, 5), TokenUsage(105, 40, 0, None, 30)),
        ((100, 40, 30, None, 0, None), TokenUsage(100, 40, 0, None, 30)),
        ((100, 40, 30, 999, 0, None), TokenUsage(100, 40, 0, None, 30)),
        ((12, 34, None, None, 5, None), TokenUsage(7, 34, 5)),
        ((None, None, None, 5, None, None), None),
        (("x", -1, [], None, {}, True), None),
    ],
)
def test_where_thinking_is_counted_is_decided_by_the_total(figures, expected):
    prompt, written, thoughts, total, cached, tool = figures
    assert read_usage((prompt, written, cached, thoughts, tool, total)) == expected


@given(*[st.one_of(st.none(), st.integers(0, 10**6))] * 6)
def test_pieces_never_overlap(prompt, written, thoughts, total, cached, tool):
    usage = read_usage((prompt, written, cached, thoughts, tool, total))
    if usage is None:
        return
    assert (usage.output or 0) >= (usage.reasoning or 0) or usage.output is None
    if prompt is not None and written is not None and total == prompt + written + (thoughts or 0):
        assert usage.total == total + (tool or 0) * (total != prompt + written)


def test_each_answer_is_one_call_and_telemetry_is_none(tmp_path):
    chat = Chat()
    chat.user("go")
    chat.agent(thought("hm"), call("c", "glob"), usage=tokens(10, 2))
    chat.system("ui_telemetry", {"uiEvent": {"input_token_count": 10, "output_token_count": 2}})
    chat.agent(call("d", "glob"), usage=tokens(20, 3))
    chat.agent(usage=tokens(5, 0))
    session = chat.read(tmp_path)
    assert session.usage() == TokenUsage(35, 5, 0, None, 0) and len(session.groups) == 3
    assert [m.group for m in messages(session)] == [
        None,
        session.groups.ids[0],
        session.groups.ids[0],
        session.groups.ids[1],
    ]


def test_without_figures_the_total_is_unknown(tmp_path):
    chat = Chat()
    chat.user("go")
    chat.agent("1")
    session = chat.read(tmp_path)
    assert session.usage() is None and session.context_used is None


# -- hostile -----------------------------------------------------------------------------------------------------------

JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 2**40), st.text(max_size=6), st.just("\x1b]0;x\x07\ud800")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=5,
)
PARTS = st.one_of(
    JUNK,
    st.fixed_dictionaries({}, optional={"text": JUNK, "thought": JUNK, "functionCall": JUNK, "inlineData": JUNK}),
    st.fixed_dictionaries({"functionResponse": st.one_of(JUNK, st.fixed_dictionaries({"id": JUNK, "response": JUNK}))}),
)
FIELDS = [
    "displayText", "hookContext", "phase", "rawCommand", "outputHistoryItems", "filesRead", "userText", "status",
    "info", "compressedHistory", "customTitle", "truncatedCount", "state", "error", "startedAt", "endedAt",
]  # fmt: skip
PAYLOADS = st.one_of(JUNK, st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, JUNK)))
SUBTYPES = ["slash_command", "at_command", "rewind", "turn_result", "custom_title", "chat_compression", "notification"]
ABOUT = st.fixed_dictionaries({"callId": JUNK, "resultDisplay": JUNK, "status": JUNK})
RECORDS = st.fixed_dictionaries(
    {"type": st.one_of(st.sampled_from(["user", "assistant", "tool_result", "system"]), JUNK)},
    optional={
        "uuid": st.one_of(st.sampled_from("abcde"), JUNK),
        "parentUuid": st.one_of(st.sampled_from("abcdef"), JUNK),
        "sessionId": JUNK,
        "timestamp": st.one_of(st.just(stamp(START)), JUNK),
        "subtype": st.one_of(
            st.sampled_from(["slash_command", "at_command", "rewind", "turn_result", "custom_title", "notification"]),
            JUNK,
        ),
        "message": st.one_of(JUNK, st.fixed_dictionaries({"parts": st.one_of(JUNK, st.lists(PARTS, max_size=4))})),
        "systemPayload": PAYLOADS,
        "toolCallResult": st.one_of(
            JUNK, st.fixed_dictionaries({"callId": JUNK, "resultDisplay": JUNK, "status": JUNK})
        ),
        "usageMetadata": JUNK,
        "isSidechain": st.booleans(),
        "agentId": JUNK,
        "forkedFrom": JUNK,
        "cwd": JUNK,
        "model": JUNK,
    },
)


@given(st.lists(RECORDS, max_size=8), st.lists(st.integers(0, 3000), max_size=3))
def test_any_record_is_read_and_nothing_is_lost(tmp_path_factory, records, cuts):
    folder = tmp_path_factory.mktemp("qwen")
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    assert_same_in_pieces(PROVIDER, data, folder, cuts, "x.jsonl")
    assert_all_laws(PROVIDER, folder / "x.jsonl")


def test_a_torn_tail_is_said(tmp_path):
    chat = Chat()
    chat.user("one")
    path = chat.write(tmp_path)
    path.write_bytes(chat.data() + b'{"uuid":"torn","par')
    session = whole(PROVIDER, path)
    assert [u.line for u in session.unreadable] == [2] and len(session.messages) == 1

"""What each record of Gemini CLI is to a reader, by the rules of the formats note (1.3 to 1.7)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Flag, Kind, SpanRole, ToolStatus
from schemas.opening import open_reading, read_session, usage_with_subagents
from schemas.providers.gemini import PROVIDER, summary_title
from schemas.session import Lack, Session
from schemas.usage import TokenUsage
from tests.fixtures import gemini as g
from tests.schemas.conformance import assert_all_laws, described, whole

Data = dict[str, Any]


@pytest.fixture
def log(tmp_path: Path) -> Any:
    """Reads a log of the given records, under a header, after checking the laws."""

    def read(*records: Data, header: bool = True) -> Session:
        path = g.write_lines(tmp_path / "any.jsonl", [*([g.header()] if header else []), *records])
        return assert_all_laws(PROVIDER, path)

    return read


def live(session: Session) -> list[str]:
    """What stands after all rewinds, as `described` says it."""
    texts = described(session)
    return [text for i, text in enumerate(texts) if not session.messages.has(i, Flag.REWOUND)]


# -- upserts -----------------------------------------------------------------------------------------------------------


def test_the_last_writing_of_a_message_holds_and_counts_once(log: Any) -> None:
    first = g.answer("a", 3, "", tokens=g.tokens(1000, 10, thoughts=5))
    last = g.answer("a", 3, "A lamp.", tokens=g.tokens(1000, 40, thoughts=5), toolCalls=[g.call("t", "glob", {}, "x")])
    session = log(g.user("u", 1, "What?"), first, last)
    assert described(session) == ["PROMPT What?", "TEXT A lamp.", "TOOL glob"]
    assert session.usage() == TokenUsage(1000, 45, 0, None, 5)
    assert len(session.groups) == 1


def test_an_answer_says_each_thing_once_however_often_it_is_written(log: Any) -> None:
    versions = [
        g.answer("a", 2, "Go", toolCalls=[g.call(f"t{n}", "glob", {}, "x") for n in range(k)]) for k in range(7)
    ]
    session = log(g.user("u", 1, "What?"), *versions)
    tools = [message.tool for message in map(session.message, range(2, len(session.messages)))]
    assert [tool and (tool.use_id, tool.text) for tool in tools] == [(f"t{n}", "x") for n in range(6)]


def test_a_message_belongs_to_the_call_whose_figures_come_later(log: Any) -> None:
    counted = g.answer("a", 3, "A lamp.", tokens=g.tokens(1000, 40))
    session = log(g.user("u", 1, "What?"), g.answer("a", 3, "A lamp."), counted)
    assert session.message(1).group == "a" and session.groups.last[0] == 1


def test_the_prompt_of_an_exchange_is_what_its_message_says_now(log: Any) -> None:
    session = log(g.user("u", 1, "see @a and what it holds"), g.user("u", 1, "see @a"), g.answer("a", 3, "Seen"))
    assert [e.prompt for e in session.exchanges] == ["see @a"] and session.title == "see @a"


# -- rewinds -----------------------------------------------------------------------------------------------------------


def test_a_rewind_keeps_what_it_drops_as_rewound(log: Any) -> None:
    session = log(
        g.user("u1", 1, "One"),
        g.answer("a1", 2, "1", tokens=g.tokens(10, 1)),
        g.user("u2", 3, "Two"),
        g.answer("a2", 4, "2", tokens=g.tokens(20, 2)),
        {"$rewindTo": "u2"},
        g.user("u3", 5, "Three"),
    )
    assert [(e.prompt, e.rewound) for e in session.exchanges] == [("One", False), ("Two", True), ("Three", False)]
    assert live(session) == ["PROMPT One", "TEXT 1", "PROMPT Three"]
    assert session.usage() == TokenUsage(30, 3, 0, None, 0)


def test_a_rewind_to_what_is_not_there_drops_everything(log: Any) -> None:
    session = log(g.user("u1", 1, "One"), g.answer("a1", 2, "1"), {"$rewindTo": "gone"}, g.user("u2", 3, "Two"))
    assert live(session) == ["PROMPT Two"]
    assert [e.prompt for e in session.live_exchanges] == ["Two"]


def test_a_rewind_into_an_exchange_leaves_it_live(log: Any) -> None:
    session = log(g.user("u1", 1, "One"), g.answer("a1", 2, "1"), {"$rewindTo": "a1"}, g.answer("a2", 3, "2"))
    assert [e.rewound for e in session.exchanges] == [False]
    assert live(session) == ["PROMPT One", "TEXT 2"]


def test_what_follows_a_rewind_without_a_prompt_is_no_part_of_what_was_rewound(log: Any) -> None:
    session = log(g.user("u1", 1, "One"), {"$rewindTo": "u1"}, g.answer("a", 2, "Rewound"))
    assert [(e.opener, e.rewound) for e in session.exchanges] == [(Kind.PROMPT, True), (None, False)]
    assert live(session) == ["TEXT Rewound"]


def test_a_rewound_answer_written_again_is_one_call(log: Any) -> None:
    answer = g.answer("a", 2, "1", tokens=g.tokens(10, 1))
    session = log(g.user("u", 1, "One"), answer, {"$rewindTo": "a"}, answer)
    assert live(session) == ["PROMPT One", "TEXT 1"] and session.usage() == TokenUsage(10, 1, 0, None, 0)


def test_a_rewind_takes_back_what_a_checkpoint_left_out(log: Any) -> None:
    """The CLI rewrites its list after a rewind, without what it cancelled; a later rewind may lead before that."""
    one, two = g.user("u1", 1, "One"), g.user("u2", 2, "Two")
    for kept in ([], [one], [one, two]):
        session = log(
            one, two, g.notice("info", "i", 3, "Request cancelled."), {"$set": {"messages": kept}},
            g.user("u3", 4, "Three"), {"$rewindTo": "u2"}, g.user("u4", 5, "Four"),
        )  # fmt: skip
        assert [(e.prompt, e.rewound) for e in session.exchanges] == [
            ("One", False), ("Two", True), ("Three", True), ("Four", False),
        ]  # fmt: skip


# -- checkpoints -------------------------------------------------------------------------------------------------------


def test_a_compression_keeps_history_and_marks_the_place(log: Any) -> None:
    session = log(*g.boat_log()[1:])
    assert [e.prompt for e in session.live_exchanges] == ["Build a boat", "Does it float?", "Sail it"]
    assert described(session)[4] == "COMPACTION A boat was built."
    assert not any(flags & Flag.REWOUND for flags in session.messages.flags)
    message = session.message(4)
    assert message.label == "Compacted" and "$set" in session.record(session.message_spans(4)[0])


def test_what_a_checkpoint_leaves_out_was_not_taken_back(log: Any) -> None:
    """So the CLI drops cancelled turns, and a prompt whose request failed."""
    kept = g.answer("a2", 4, "2")
    session = log(
        g.user("u1", 1, "One"), g.answer("a1", 2, "1"), g.user("u2", 3, "Two"), kept,
        {"$set": {"messages": [g.user("u2", 3, "Two"), kept, g.user("u3", 5, "Three")]}},
    )  # fmt: skip
    assert described(session) == ["PROMPT One", "TEXT 1", "PROMPT Two", "TEXT 2", "PROMPT Three"]
    assert not any(exchange.rewound for exchange in session.exchanges)


def test_a_checkpoint_says_of_what_is_known_only_what_is_new(log: Any) -> None:
    prompt, answer = g.user("u1", 1, "One"), g.answer("a1", 2, "1", tokens=g.tokens(10, 1))
    changed = g.answer("a1", 2, [{"text": "1"}, {"functionCall": {"id": "t", "name": "glob", "args": {"p": "*"}}}])
    session = log(prompt, answer, {"$set": {"messages": [prompt, changed]}})
    assert described(session) == ["PROMPT One", "TEXT 1", "TOOL glob"]
    assert [session.message_spans(i)[0].line for i in range(3)] == [2, 3, 4]
    assert session.usage() == TokenUsage(10, 1, 0, None, 0), "the figures that it leaves out were spent"


def test_what_a_compression_keeps_under_new_ids_is_no_message_of_its_own(log: Any) -> None:
    """found-claude-codex-gemini-qwen.md, G3: also what the program lets the model say to the summary."""
    call = g.call("t", "glob", {"p": "*"}, "x")
    parts = [{"text": "Two"}, {"functionCall": {"name": "glob", "args": {"p": "*"}}}]
    session = log(
        g.user("u1", 1, "One"), g.answer("a1", 2, "1"), g.user("u2", 3, "Again"),
        g.answer("a2", 4, "Two", toolCalls=[call]),
        {"$set": {"messages": [
            g.user("s", 5, "<state_snapshot>x</state_snapshot>"),
            g.answer("k", 5, [{"text": "Got it. Thanks for the additional context!"}]),
            g.user("n2", 5, "Again"), g.answer("m2", 5, parts),
        ]}},
        g.user("u3", 6, "Again"), {"$rewindTo": "n2"}, g.user("u4", 7, "Last"),
    )  # fmt: skip
    assert described(session) == [
        "PROMPT One", "TEXT 1", "PROMPT Again", "TEXT Two", "TOOL glob", "COMPACTION x",
        "CONTEXT Got it. Thanks for the additional context!", "PROMPT Again", "PROMPT Last",
    ]  # fmt: skip
    assert [e.rewound for e in session.exchanges] == [False, True, True, False]


def test_a_cancelled_prompt_that_is_written_again_behind_the_context_is_the_same(log: Any) -> None:
    context = "<session_context>\nx</session_context>"
    session = log(
        g.user("u1", 1, "One"), g.notice("info", "i", 2, "Request cancelled."), g.user("m", 3, context, "One"),
        g.user("u2", 4, context, "Two"),
    )  # fmt: skip
    assert [e.prompt for e in session.exchanges] == ["One", "Two"]


def test_a_masked_result_is_shown_as_it_was(log: Any) -> None:
    full = g.answer("a", 2, "", toolCalls=[g.call("t", "read_file", {"file_path": "x"}, "all of it")])
    masked = g.answer("a", 2, "", toolCalls=[g.call("t", "read_file", {"file_path": "x"}, "<tool_output_masked>..")])
    session = log(full, {"$set": {"messages": [masked]}})
    tool = session.message(0).tool
    assert tool is not None and (tool.text, tool.spilled) == ("all of it", False)
    assert [span.role for span in session.message_spans(0)] == [SpanRole.BODY, SpanRole.RESULT]
    alone = log(masked)
    tool = alone.message(0).tool
    assert tool is not None and tool.spilled


def test_a_header_may_hold_messages(log: Any) -> None:
    session = log({**g.header(), "messages": [g.user("u", 1, "Hi")]}, g.answer("a", 2, "Ho"), header=False)
    assert described(session) == ["PROMPT Hi", "TEXT Ho"]


# -- parts -------------------------------------------------------------------------------------------------------------


def test_parts_of_a_checkpointed_answer_repeat_nothing(log: Any) -> None:
    call = g.call("t1", "glob", {}, "x")
    parts = [
        {"text": "thought", "thought": True},
        {"text": "said"},
        {"functionCall": {"id": "t1", "name": "glob", "args": {}}},
        {"functionCall": {"id": "t2", "name": "grep_search", "args": {}}},
    ]
    with_own = log(g.answer("a", 2, parts, thoughts=["own"], toolCalls=[call]))
    assert described(with_own) == ["THINKING **Plan** own", "TEXT said", "TOOL glob", "TOOL grep_search"]
    assert described(log(g.answer("a", 2, parts)))[0] == "THINKING thought"


def test_a_result_in_a_record_of_its_own_reaches_the_tool_that_has_none(log: Any) -> None:
    calls = [{"functionCall": {"name": "glob", "args": {"n": n}}} for n in (1, 2)]
    answers = [{"functionResponse": {"name": "glob", "response": {"output": f"found {n}"}}} for n in (1, 2)]
    session = log(g.answer("a", 2, calls), {"id": "r", "type": "user", "content": answers})
    tools = [session.message(i).tool for i in range(len(session.messages))]
    assert [tool.text for tool in tools if tool] == ["found 1", "found 2"]
    assert all(tool and tool.status is ToolStatus.OK for tool in tools) and not session.live_exchanges


@pytest.mark.parametrize("beside", [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"text": "--- a.txt"}])
def test_what_stands_behind_a_result_is_no_prompt(log: Any, beside: Data) -> None:
    """found-claude-codex-gemini-qwen.md, G2."""
    answer = {"functionResponse": {"id": "t", "name": "read_file", "response": {"output": "done"}}}
    record = {"id": "r", "type": "user", "content": [answer, beside]}
    told = log(g.user("u", 1, "Go"), g.answer("a", 2, "", toolCalls=[g.call("t", "read_file", {}, "done")]), record)
    assert described(told) == ["PROMPT Go", "TOOL read_file"]
    call = {"functionCall": {"id": "t", "name": "read_file", "args": {}}}
    session = log(g.user("u", 1, "Go"), g.answer("a", 2, [call]), record)
    tool = session.message(1).tool
    assert len(session.messages) == 2 and tool and (tool.images or tool.text == "done\n--- a.txt")


def test_what_the_cli_calls_a_tool_is_its_summary_where_nothing_else_is_known_of_it(log: Any) -> None:
    calls = [{"id": n, "name": n, "args": {}, "description": f"about {n}"} for n in ("glob", "frobnicate")]
    session = log({"id": "a", "type": "gemini", "content": "", "toolCalls": calls})
    known, unknown = (session.message(i) for i in range(len(session.messages)))
    assert known.tool and unknown.tool
    assert (known.tool.summary, known.metadata["description"]) == (None, "about glob")
    assert (unknown.tool.summary, unknown.metadata.get("description")) == ("about frobnicate", None)


def test_what_was_typed_is_shown_and_what_was_sent_is_kept(log: Any) -> None:
    session = log(g.user("u", 1, "see @a", "\ncontent of a", displayContent="see @a"))
    message = session.message(0)
    assert (message.text, message.metadata["sentToModel"]) == ("see @a", "see @a\ncontent of a")
    assert session.title == "see @a"


def test_injected_context_is_no_prompt(log: Any) -> None:
    session = log(
        g.user("c", 1, "<session_context>\nx</session_context>"),
        g.user("u", 2, "Go", "<hook_context>rules</hook_context>"),
        g.user("h", 3, "<hook_context>more</hook_context>"),
        g.user("r", 4, "You have exceeded the time limit. You have one final chance to complete the task with a …"),
    )
    kinds = [session.messages.kind_of(i) for i in range(len(session.messages))]
    assert kinds == [Kind.CONTEXT, Kind.PROMPT, Kind.CONTEXT, Kind.CONTEXT, Kind.CONTEXT]
    assert [e.prompt for e in session.live_exchanges] == ["Go"]
    assert session.message(1).text == "Go"


@pytest.mark.parametrize("text", ["<state_snapshot>x</state_snapshot>", "\n<state_snapshot>x"])
def test_a_summary_is_no_prompt(log: Any, text: str) -> None:
    session = log(g.user("u", 1, "Go"), g.user("s", 2, text))
    assert session.messages.kind_of(1) == Kind.COMPACTION and len(session.live_exchanges) == 1


def test_a_command_opens_an_exchange_only_if_the_agent_answers_it(log: Any) -> None:
    session = log(g.user("c1", 1, "/stats"), g.user("c2", 2, "?"), g.notice("info", "i", 3, "Help"))
    assert not session.live_exchanges and session.title == ""
    session = log(g.user("c1", 1, "/plan it"), g.notice("info", "i", 2, "…"), g.answer("a", 3, "Planned"))
    assert [(e.opener, e.prompt) for e in session.live_exchanges] == [(Kind.COMMAND, "/plan it")]
    assert session.title == ""


def test_images_and_files_are_placeholders(log: Any) -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA" * 100}}
    file = {"fileData": {"fileUri": "gs://b/plan.pdf", "mimeType": "application/pdf"}}
    session = log(g.user("u", 1, "Look") | {"content": [{"text": "Look"}, picture, file]})
    assert [part.text for part in session.message(0).parts] == [
        "Look", "[image image/png, 300 bytes]", "[file gs://b/plan.pdf]",
    ]  # fmt: skip


def test_notices(log: Any) -> None:
    session = log(
        g.user("u", 1, "Go"),
        g.notice("info", "i", 2, "Request cancelled."),
        g.notice("error", "e", 3, "[API Error]"),
        g.notice("warning", "w", 4, "Careful\nnow"),
        {"id": "n", "type": "novelty", "content": "?"},
    )
    kinds = [session.messages.kind_of(i) for i in range(1, 5)]
    assert kinds == [Kind.INTERRUPT, Kind.ERROR, Kind.NOTE, Kind.UNKNOWN]
    assert session.exchanges[0].interrupted and session.exchanges[0].errors == 1
    assert session.unknown == {"novelty": 1}
    assert (session.message(3).label, session.message(3).text) == ("Warning", "Careful\nnow")


def test_lines_of_no_known_form_are_kept(log: Any) -> None:
    session = log({"what": "ever"}, g.user("u", 1, "Hi"))
    assert session.messages.kind_of(0) == Kind.UNKNOWN and '"what": "ever"' in session.message(0).text


# -- tokens ------------------------------------------------------------------------------------------------------------


def test_tokens_sum_to_googles_total(log: Any) -> None:
    session = log(g.answer("a", 1, "x", tokens=g.tokens(1000, 40, 600, 10, 5)))
    usage = session.usage()
    assert usage == TokenUsage(405, 50, 600, None, 10) and usage.total == 1000 + 40 + 10 + 5


@pytest.mark.parametrize("tokens", [None, {}, {"input": None}, [], "9", {"input": -1, "output": "x"}])
def test_tokens_that_are_not_told_are_unknown(log: Any, tokens: Any) -> None:
    session = log(g.answer("a", 1, "x") | {"tokens": tokens})
    assert session.usage() is None and session.context_used is None


def test_more_cached_than_there_was_to_read_is_cut(log: Any) -> None:
    session = log(g.answer("a", 1, "x", tokens=g.tokens(1200, 340, 5000, 50, 10)))
    assert session.usage() == TokenUsage(10, 390, 1200, None, 50)


def test_a_call_that_said_nothing_counts(log: Any) -> None:
    session = log(g.user("u", 1, "Go"), g.answer("a", 2, "", tokens=g.tokens(10, 1)))
    assert len(session.messages) == 1 and session.exchange_usage(0) == TokenUsage(10, 1, 0, None, 0)


# -- the session -------------------------------------------------------------------------------------------------------


def test_title_times_and_folders(log: Any) -> None:
    session = log(
        g.user("u", 5, "Hi"),
        {"$set": {"summary": "First"}},
        {"$set": {"summary": "Second", "directories": ["/x", 3], "lastUpdated": g.at(60)}},
    )
    assert (session.title, session.created, session.updated) == ("Second", g.START, g.START + 60)
    assert session.metadata["directories"] == ["/x"] and session.id == g.SESSION


def test_without_a_header_the_messages_say_when(log: Any) -> None:
    session = log(g.user("u", 5, "Hi"), g.answer("a", 9, "Ho"), header=False)
    assert (session.title, session.created, session.updated) == ("Hi", g.START + 5, g.START + 9)


@pytest.mark.parametrize(
    ("summary", "title"),
    [
        ("Plain", "Plain"),
        ('{"a": {"b": "Found it"}}', "Found it"),
        ("{broken", "{broken"),
        ("{}", ""),
        (None, ""),
        (3, ""),
    ],
)
def test_summaries(summary: object, title: str) -> None:
    assert summary_title(summary) == title


# -- subagents ---------------------------------------------------------------------------------------------------------


def test_subagents_are_linked_by_the_tool_use_and_found_beside_the_chats(tmp_path: Path) -> None:
    lamp, *_ = g.samples(tmp_path)
    g.write_lines(lamp.path.parent / g.SESSION / "stray.jsonl", g.sub_log())
    session = read_session(lamp.path)
    stray, linked = session.subagents
    assert (linked.id, linked.name, linked.description) == ("sub-1", "codebase_investigator", "codebase_investigator")
    assert linked.path == lamp.path.parent / g.SESSION / "sub-1.jsonl" and stray.tool_use is None
    assert linked.tool_use is not None
    message = session.message(linked.tool_use)
    assert message.tool and message.tool.subagent == "sub-1" and message.flags & Flag.SUBAGENT
    both = usage_with_subagents(session)
    own = session.usage()
    assert both and own and both.total == (own.total or 0) + 2 * 105


def test_a_subagent_knows_its_parent_and_its_own(tmp_path: Path) -> None:
    path = g.write_lines(tmp_path / "chats" / g.SESSION / "sub-1.jsonl", g.sub_log())
    nested = g.write_lines(tmp_path / "chats" / "sub-1" / "deeper.jsonl", g.sub_log())
    session = read_session(path)
    assert (session.lineage.parent, session.lineage.agent_id) == (g.SESSION, "sub-1")
    assert [subagent.path for subagent in session.subagents] == [nested]
    assert PROVIDER.resume_command(session) is None
    assert session.workspace_root == g.ROOT, "its directories are the workspace"


def test_an_id_cannot_lead_out_of_the_chats(tmp_path: Path) -> None:
    g.write_lines(tmp_path / "outside" / "x.jsonl", g.sub_log())
    path = g.write_lines(tmp_path / "chats" / "session-a.jsonl", [g.header("../outside"), g.user("u", 1, "Hi")])
    assert read_session(path).subagents == []


# -- documents ---------------------------------------------------------------------------------------------------------


def test_the_document_of_before_the_log(tmp_path: Path) -> None:
    path = g.write_json(tmp_path / "session.json", g.old_document())
    session = read_session(path)
    assert described(session) == [
        "PROMPT Fix the login", "THINKING It is a typo", "TEXT Fixed.", "INTERRUPT Request cancelled.",
    ]  # fmt: skip
    assert session.id.endswith("03") and session.usage() == TokenUsage(200, 30, 100, None, 0)


def test_a_document_in_one_line_reads_like_one_in_many(tmp_path: Path) -> None:
    many = read_session(g.write_json(tmp_path / "many.json", g.old_document()))
    for name in ("one.json", "one.jsonl", "one"):
        (tmp_path / name).write_text(json.dumps(g.old_document()))
        assert described(read_session(tmp_path / name)) == described(many), name


@pytest.mark.parametrize(
    "wrap", [lambda c: {"history": c, "authType": "x"}, lambda c: c, lambda c: {"clientHistory": c}]
)
def test_a_saved_chat(tmp_path: Path, wrap: Any) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "This is the Gemini CLI. We are setting up the context."}]},
        {"role": "model", "parts": [{"text": "Got it."}]},
        {"role": "user", "parts": [{"text": "hi"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "glob", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "glob", "response": {"output": "a.py"}}}]},
        {"role": "model", "parts": [{"text": "hello"}]},
    ]
    session = read_session(g.write_json(tmp_path / "checkpoint-my%20tag.json", wrap(contents)))
    kinds = [session.messages.kind_of(i).name for i in range(len(session.messages))]
    assert kinds == ["CONTEXT", "TEXT", "PROMPT", "TOOL", "TEXT"]
    tool = session.message(3).tool
    assert tool and tool.text == "a.py"
    assert session.lacks == {Lack.TIMES, Lack.TOKENS}
    assert (session.title, session.metadata["tag"]) == ("hi", "my tag")


def test_the_prompt_log(tmp_path: Path) -> None:
    base = {"type": "user", "timestamp": g.at(1)}
    rows = [{"sessionId": s, "messageId": 0, "message": m, **base} for s, m in (("s1", "Hi"), ("s2", "/quit"))]
    session = read_session(g.write_json(tmp_path / "logs.json", rows))
    assert described(session) == ["PROMPT Hi", "COMMAND /quit"]
    assert [session.message(i).metadata["sessionId"] for i in range(2)] == ["s1", "s2"]
    assert session.lacks == {Lack.TOKENS, Lack.THINKING, Lack.RESULTS}


def test_the_end_of_a_big_file_knows_whose_it_is(tmp_path: Path) -> None:
    path = g.write_lines(tmp_path / "s.jsonl", [g.header(), *(g.user(f"u{n}", n / 100, f"P{n}") for n in range(200))])
    reading = open_reading(path, start=path.stat().st_size - 1000)
    while not reading.done:
        reading.step()
    assert reading.session.id == g.SESSION and 0 < len(reading.session.messages) < 10
    assert reading.session.exchanges[-1].prompt == "P199"


def test_a_log_is_read_the_same_with_everything_around_it_gone(tmp_path: Path) -> None:
    lamp, *_ = g.samples(tmp_path / "home")
    other = tmp_path / "x.txt"
    other.write_bytes(lamp.path.read_bytes())
    assert described(whole(PROVIDER, other)) == described(whole(PROVIDER, lamp.path))

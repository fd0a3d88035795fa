from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from schemas.diffs import from_strings
from schemas.documents import load_schema
from schemas.interchange.agent_response import (
    AGENT_RESPONSE,
    LOSSES,
    NO_ANSWER,
    soft_warnings,
    to_agent_response,
    tool_uses,
    validate_agent_response,
)
from schemas.interchange.session_data_write import to_session_data
from schemas.message import USER_KINDS, Flag, Kind, Part, Tool, ToolStatus
from schemas.opening import head_of, read_session, recognise
from schemas.session import Session
from schemas.usage import TokenUsage
from tests.schemas.test_session_data_laws import sessions
from tests.support import Hand, replacing

SHARED = Path(__file__).parents[2] / "../shared"
GOLDENS = SHARED / "goldens/agent_response"


def response(*messages: Any, final: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"final_response": final, **({"messages": list(messages)} if messages else {}), **more}


def opened(folder: Path, document: Any) -> Session:
    path = folder / "run.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    assert recognise(head_of(path)) is AGENT_RESPONSE
    return read_session(path)


def kinds(session: Session) -> list[str]:
    return [session.messages.kind_of(i).name for i in range(len(session.messages))]


# -- the check -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not GOLDENS.is_dir(), reason="the shared goldens are not here")
def test_the_goldens_verdicts():
    for name, expected in json.loads((GOLDENS / "expected.json").read_text()).items():
        path = next(GOLDENS.glob(f"*/{name}.json"))
        verdict = validate_agent_response(json.loads(path.read_text()))
        assert verdict.valid == expected["schema_valid"], name
        if verdict.valid and expected["soft_warnings"]:
            assert verdict.warnings, name


CALL = {"id": "c", "name": "look"}


@pytest.mark.parametrize(
    ("document", "where", "words"),
    [
        ([], "", "must be an object"),
        ({}, "", "`final_response` is missing"),
        (response(final=None), "/final_response", "must be a string, not null"),
        (response(messages={}), "/messages", "must be an array or null"),
        (response(metadata=[]), "/metadata", "must be an object or null"),
        (response({"content": "x"}), "/messages/0", "`role` is missing"),
        (response({"role": "developer"}), "/messages/0/role", "must be one of system, user, assistant, tool"),
        (response({"role": "user", "content": 5}), "/messages/0/content", "must be a string, an array or null"),
        (response({"role": "assistant", "tool_calls": None}), "/messages/0/tool_calls", "must be an array, not null"),
        (response({"role": "assistant", "thinking": None}), "/messages/0/thinking", "must be an array, not null"),
        (response({"role": "assistant", "thinking": ["x"]}), "/messages/0/thinking/0", "must be an object"),
        (response({"role": "tool", "tool_call_id": 5}), "/messages/0/tool_call_id", "must be a string"),
        (response({"role": "assistant", "tool_calls": ["x"]}), "/messages/0/tool_calls/0", "must be an object"),
        (response({"role": "assistant", "tool_calls": [{"id": "c"}]}), "/messages/0/tool_calls/0", "needs `name`"),
        (
            response({"role": "assistant", "tool_calls": [{"name": None}]}),
            "/messages/0/tool_calls/0/name", "`name` must be a string, not null",
        ),
        (
            response({"role": "assistant", "tool_calls": [CALL | {"function": {"name": "look"}}]}),
            "/messages/0/tool_calls/0", "not both",
        ),
        (
            response({"role": "assistant", "tool_calls": [{"type": "custom", "function": {"name": "look"}}]}),
            "/messages/0/tool_calls/0/type", 'must be "function"',
        ),
        (
            response({"role": "assistant", "tool_calls": [CALL | {"id": 5}]}),
            "/messages/0/tool_calls/0/id", "`id` must be a string, not an integer",
        ),
    ],
)  # fmt: skip
def test_an_error_says_where_and_what(document, where, words):
    verdict = validate_agent_response(document)
    assert [error.path for error in verdict.errors] == [where]
    assert words in verdict.errors[0].message


@pytest.mark.parametrize(
    ("document", "where"),
    [
        (response(final="x" * 50_001), "/final_response"),
        (response(final=" "), "/final_response"),
        (response(metadata={"total_input_tokens": "7"}), "/metadata/total_input_tokens"),
        (response(metadata={"model": 5}), "/metadata/model"),
        (response({"role": "assistant", "thinking": [{"summary": "s"}]}), "/messages/0/thinking/0"),
        (response({"role": "tool", "content": "x"}), "/messages/0"),
        (response({"role": "tool", "tool_call_id": "c", "content": "x"}), "/messages/0/tool_call_id"),
    ],
)
def test_a_soft_warning_leaves_it_valid(document, where):
    verdict = validate_agent_response(document)
    assert verdict.valid and [w.path for w in verdict.warnings if w.path != "/messages"] == [where]


def test_what_a_strict_run_asks_for():
    tool = {"role": "tool", "content": "x"}
    for messages, warned in (
        ([{"role": "user", "content": "hi"}], True),
        ([{"role": "assistant", "content": [{"type": "text", "text": " "}]}, tool], True),
        ([{"role": "assistant", "content": "yes"}], False),
        ([], False),
    ):
        verdict = validate_agent_response({"final_response": "x", "messages": messages})
        assert ("/messages" in [warning.path for warning in verdict.warnings]) == warned, messages


def test_one_fault_is_said_once():
    document = response({"content": 5}, {"role": "tool", "tool_calls": None}, 5, final=None)
    del document["final_response"]
    verdict = validate_agent_response(document | {"metadata": []})
    assert sorted(finding.path for finding in (*verdict.errors, *verdict.warnings)) == [
        "", "/messages", "/messages/0", "/messages/0/content", "/messages/1", "/messages/1/tool_calls", "/messages/2",
        "/metadata",
    ]  # fmt: skip


def test_fifty_thousand_characters_and_extra_keys_draw_no_warning():
    assert validate_agent_response(response(final="é" * 50_000, more=1)) == ([], [])


# -- reading ---------------------------------------------------------------------------------------------------------


def test_both_shapes_of_calls_are_one(tmp_path):
    calls = [
        {"id": "1", "name": "flat", "arguments": {"a": 1}},
        {"id": "2", "type": "function", "function": {"name": "nested", "arguments": '{"b": 2}'}},
        {"name": "text", "arguments": "not json"},
        {"name": "both", "function": {"name": "other", "arguments": {"z": 1}}, "arguments": None},
        {"arguments": {}},
        "nonsense",
    ]
    uses = tool_uses({"tool_calls": calls})
    assert [(use.id, use.name, use.input) for use in uses] == [
        ("1", "flat", {"a": 1}), ("2", "nested", {"b": 2}), ("", "text", {"input": "not json"}), ("", "both", {"z": 1}),
    ]  # fmt: skip
    assert uses[3].more == {"function": {"name": "other"}}
    session = opened(tmp_path, response({"role": "assistant", "content": None, "tool_calls": calls}))
    assert kinds(session)[:4] == ["TOOL"] * 4
    assert session.message(1).tool.name == "nested"
    notes = session.message(len(session.messages) - 1)
    assert notes.label == "soft warnings: 3" and "drop" in notes.text


def test_a_rich_transcript(tmp_path):
    session = opened(
        tmp_path,
        response(
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Look!"},
            {
                "role": "assistant",
                "content": "I look.",
                "thinking": [{"text": "Hm."}, {"note": 1}],
                "tool_calls": [CALL],
            },
            {"role": "tool", "tool_call_id": "c", "content": '{"n": 1}'},
            {"role": "user", "content": "And?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Done."}]},
            final="Done.",
            metadata={"model": "gpt-5", "total_input_tokens": 7, "total_output_tokens": 3, "region": "eu"},
        ),
    )
    assert kinds(session) == [
        "CONTEXT",
        "PROMPT",
        "THINKING",
        "THINKING",
        "TEXT",
        "TOOL",
        "PROMPT",
        "TEXT",
        "NOTE",
        "NOTE",
    ]
    assert [exchange.prompt for exchange in session.live_exchanges] == ["Look!", "And?"]
    tool = session.message(5).tool
    assert tool is not None and (tool.text, tool.status) == ('{"n": 1}', ToolStatus.OK)
    assert not session.messages.has(5, Flag.PENDING)
    assert session.usage() == TokenUsage(7, 3)
    assert session.model_of(4) == "gpt-5" and session.model_of(1) is None
    assert session.message(8).text == "model: gpt-5\ntotal_input_tokens: 7\ntotal_output_tokens: 3\nregion: eu"


def test_results_find_their_calls_in_any_order_and_without_ids(tmp_path):
    calls = [{"id": "a", "name": "one"}, {"id": "b", "name": "two"}, {"name": "three"}]
    session = opened(
        tmp_path,
        response(
            {"role": "assistant", "tool_calls": calls},
            {"role": "tool", "tool_call_id": "b", "content": "B"},
            {"role": "tool", "content": "A"},
            {"role": "tool", "tool_call_id": "x", "content": "lost"},
        ),
    )
    assert [session.message(i).tool.text for i in range(3)] == ["A", "B", ""]
    assert session.message(2).tool.status == ToolStatus.PENDING
    assert kinds(session)[3] == "OUTPUT" and session.message(3).text == "lost"


def test_the_runtime_is_the_exchanges(tmp_path):
    session = opened(tmp_path, response({"role": "user", "content": "x"}, metadata={"agent_runtime_ms": 5321}))
    assert session.live_exchanges[0].seconds == 5.321


def test_a_long_final_response_is_whole_and_said_to_be_cut(tmp_path):
    session = opened(tmp_path, response(final="x" * 50_001))
    assert session.message(0).text == "x" * 50_001
    assert session.message(1).label == "the platform cuts the final response at about 50,000 of its 50,001 characters"


@pytest.mark.parametrize("messages", [None, {}, 5, "x", []])
def test_a_thin_view(messages, tmp_path):
    session = opened(tmp_path, response(messages=messages))
    assert kinds(session)[0] == "TEXT" and session.message(0).text == "ok"
    assert session.exchanges[0].prompt == "Response"


@pytest.mark.parametrize(
    "message", [None, 5, [], "x", {"role": 5}, {"role": "function", "content": {"a": 1}}, {"role": "assistant"}]
)
def test_odd_messages_are_shown_and_warned_of(message, tmp_path):
    document = response(message)
    session = opened(tmp_path, document)
    assert len(session.messages) >= 2
    assert list(soft_warnings(document)) or message == {"role": "assistant"}


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers(-5, 1 << 70) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "tool_calls",
                    "thinking",
                    "tool_call_id",
                    "name",
                    "function",
                    "arguments",
                    "id",
                    "text",
                    "type",
                    "turnlog",
                    "metadata",
                    "messages",
                    "model",
                    "kind",
                    "flags",
                    "usage",
                    "group",
                    "time",
                    "total_input_tokens",
                    "agent_runtime_ms",
                ]
            ),
            inner
            | st.sampled_from(["user", "assistant", "tool", "system", "tool", "prompt", "text", "thinking", "steer"]),
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(final=JSON, messages=st.lists(JSON, max_size=6), metadata=JSON)
def test_anything_is_read_checked_and_written_again(final, messages, metadata, tmp_path_factory):
    document = {"final_response": final, "messages": messages, "metadata": metadata}
    validate_agent_response(document)
    folder = tmp_path_factory.mktemp("ar")
    session = opened(folder, document)
    for index in range(len(session.messages)):
        session.message(index)
    again = b"".join(to_agent_response(session))
    assert validate_agent_response(json.loads(again)).errors == []
    opened(folder, again)


@given(
    document=JSON | st.builds(lambda m, d: {"final_response": "x", "messages": m, "metadata": d}, st.lists(JSON), JSON)
)
def test_our_schema_says_what_the_published_one_says(document):
    published = SHARED / "schemas/agent-response.schema.json"
    if not published.exists():
        pytest.skip("the published schema is not here")
    theirs, ours = json.loads(published.read_text()), load_schema("agent-response")
    assert Draft202012Validator(ours).is_valid(document) == Draft202012Validator(theirs).is_valid(document)


def test_deep_nesting_is_no_matter(tmp_path):
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    session = opened(
        tmp_path, response({"role": "assistant", "content": deep, "tool_calls": deep}, metadata={"d": deep})
    )
    assert [session.message(i) for i in range(len(session.messages))]
    assert b"".join(to_agent_response(session))


def test_hostile_text_is_clean(tmp_path):
    bad = "\x1b]0;x\x07a\u202e"
    session = opened(
        tmp_path,
        response(
            {"role": "user", "content": bad},
            {"role": bad, "content": [bad, {"type": "image_url", "image_url": {"url": bad}}]},
            {"role": "assistant", "tool_calls": [{"id": bad, "name": bad, "arguments": {bad: bad}}], bad: bad},
            final=bad,
            metadata={bad: bad, "model": bad},
        ),
    )
    shown = " ".join(map(str, [session.message(i) for i in range(len(session.messages))]))
    assert "\x1b" not in shown and "\u202e" not in shown and "\x1b" not in f"{session.exchanges}{session.models}"


# -- writing ---------------------------------------------------------------------------------------------------------


def whole() -> Session:
    hand = Hand()
    hand.note(Kind.CONTEXT, "project instructions", "Be kind.")
    hand.prompt("Fix it")
    hand.thinking("Where?", usage=None)
    hand.tool(
        Tool(
            "Edit", "write", "t1", {"path": "a.py"}, {"content": "done", "is_error": False}, "done",
            seconds=1.5, diffs=[from_strings("a.py", "x\n", "y\n")],
        ),
        path_hints=["a.py"],
    )  # fmt: skip
    hand.tool(Tool("Bash", "shell", "t2", {"command": "x"}, None, "boom", status=ToolStatus.ERROR, exit_code=2))
    hand.tool(Tool("Bash", "shell", "", {"command": "y"}, status=ToolStatus.PENDING), flags=Flag.PENDING)
    hand.add(Kind.STEER, parts=[Part("text", "faster")])
    hand.text("Half", usage=TokenUsage(1, 2, 3, 4, 1, 2), metadata={"stopReason": "end_turn"})
    hand.note(Kind.COMPACTION, "Compacted", "A summary.")
    hand.add(Kind.COMMAND, opener="/cost", parts=[Part("text", "/cost")])
    hand.add(Kind.OUTPUT, label="output", parts=[Part("text", "$1")])
    hand.prompt("Again")
    hand.add(Kind.TEXT, model="gpt-5", parts=[Part("text", "One."), Part("text", "Two.")], usage=TokenUsage(5, 6))
    return hand.session


def told(session: Session) -> list[Any]:
    """What the format has of a session: who said what, tools with their inputs and results, in their order."""
    rows: list[Any] = []
    for index, flags in enumerate(session.messages.flags):
        message = session.message(index)
        if message.kind == Kind.NOTE or flags & Flag.REWOUND:
            continue
        if message.tool is not None:
            result = "\n\n".join(filter(None, [message.tool.text, *(image.text for image in message.tool.images)]))
            rows.append(("tool", message.tool.name or "unknown", message.tool.input, result))
        elif message.kind in USER_KINDS:
            rows.append(("user", message.text))
        elif message.kind == Kind.THINKING:
            rows += [("thinking", part.text) for part in message.parts if message.text]
        elif message.text or (message.label and message.kind != Kind.TEXT):
            rows.append(("agent" if message.kind == Kind.TEXT else "system", message.text or message.label))
    return rows


def test_what_the_format_has_is_written_and_read(tmp_path):
    session = whole()
    data = b"".join(to_agent_response(session))
    document = json.loads(data)
    assert validate_agent_response(document) == ([], [])
    assert document["final_response"] == "One.\n\nTwo."
    took = sum(exchange.duration or 0 for exchange in session.live_exchanges)
    assert document["metadata"] == {
        "model": "gpt-5", "total_input_tokens": 1 + 3 + 4 + 5, "total_output_tokens": 8,
        "agent_runtime_ms": took * 1000,
    }  # fmt: skip
    again = opened(tmp_path, data)
    assert told(again) == told(session)
    assert again.usage() == TokenUsage(13, 8) and again.model_of(len(again.messages) - 2) == "gpt-5"
    assert [e.prompt for e in again.live_exchanges] == ["Fix it", "faster", "/cost", "Again"]
    assert json.loads(b"".join(to_agent_response(again))) == document


def test_nothing_but_the_formats_own_keys_is_written():
    allowed = {"role", "content", "tool_calls", "tool_call_id", "thinking"}
    document = json.loads(b"".join(to_agent_response(whole())))
    assert document.keys() == {"final_response", "metadata", "messages"}
    assert all(message.keys() <= allowed for message in document["messages"])
    assert {key for message in document["messages"] for call in message.get("tool_calls", ()) for key in call} == {
        "id", "name", "arguments",
    }  # fmt: skip


def test_what_has_no_place_is_counted():
    session, lost = whole(), Counter[str]()
    b"".join(to_agent_response(session, lost=lost))
    assert {what: count for what, count in lost.items() if count and what != "fact"} == {"diff": 1, "token figure": 2}
    assert lost["fact"] > len(session.messages), "each message has at least its time"
    assert lost.keys() <= LOSSES.keys()


@given(session=sessions())
def test_any_session_is_written_as_a_valid_document(session, tmp_path_factory):
    lost = Counter[str]()
    data = b"".join(to_agent_response(session, lost=lost))
    assert validate_agent_response(json.loads(data)).errors == []
    assert lost.keys() <= LOSSES.keys()
    again = opened(tmp_path_factory.mktemp("ar"), data)
    said = (session.message(i) for i, flags in enumerate(session.messages.flags) if not flags & Flag.REWOUND)
    prompts = [message.text for message in said if message.kind in USER_KINDS]
    assert [again.message(e.start).text for e in again.live_exchanges] == prompts


@given(names=st.lists(st.sampled_from(["prompt", "text", "thinking", "tool", "note", "steer"]), max_size=12))
def test_any_order_of_messages_survives(names, tmp_path_factory):
    hand = Hand()
    for number, name in enumerate(names):
        text = f"{name} {number}"
        if name == "tool":
            hand.tool(Tool("Bash", "shell", f"t{number}", {"command": text}, None, text))
        elif name == "note":
            hand.note(Kind.NOTE, text, text)
        elif name == "steer":
            hand.add(Kind.STEER, parts=[Part("text", text)])
        else:
            getattr(hand, name)(text)
    data = b"".join(to_agent_response(hand.session))
    assert validate_agent_response(json.loads(data)).errors == []
    again = told(opened(tmp_path_factory.mktemp("ar"), data))
    if "text" not in names:
        assert again.pop() == ("agent", NO_ANSWER)
    elif again[-1] == next(row for row in reversed(told(hand.session)) if row[0] == "agent"):
        again = again[: len(told(hand.session))]  # the answer once more, since something follows it
    assert again == told(hand.session)


OLD = {
    "final_response": "Done.",
    "messages": [
        {"role": "user", "content": "Fix it", "turnlog": {"kind": "prompt", "id": "m0", "flags": ["opener"]}},
        {
            "role": "assistant",
            "tool_calls": [{"id": "t", "name": "Edit", "arguments": {"path": "a"}}],
            "turnlog": {"kind": "tool", "id": "m1", "group": "g", "tool": {"status": "error", "exitCode": 2}},
        },
        {"role": "tool", "tool_call_id": "t", "content": "no such file"},
        {"role": "assistant", "content": "Done.", "turnlog": {"kind": "text", "usage": {"inputTokens": 5}}},
    ],
    "metadata": {"model": "gpt-5", "total_input_tokens": 5, "turnlog": {"sessionId": "abc", "title": "A title"}},
}  # fmt: skip


def test_what_earlier_versions_wrote_opens_as_any_other(tmp_path):
    session = opened(tmp_path, OLD)
    assert kinds(session) == ["PROMPT", "TOOL", "TEXT", "NOTE"]
    assert session.usage() == TokenUsage(5)
    tool = session.message(1).tool
    assert tool is not None and (tool.text, tool.status, tool.exit_code) == ("no such file", ToolStatus.OK, None)
    assert (session.provider, session.title) == ("agent-response", "")


def test_titles_and_what_stands_for_an_image(tmp_path):
    assert opened(tmp_path, response(final="Done.\nYes.")).title == "Done. Yes."
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    asked = opened(tmp_path, response({"role": "user", "content": [image, {"type": "text", "text": "What is it?"}]}))
    assert asked.exchanges[0].prompt == "What is it?"


def test_totals_belong_to_a_message_that_is_written(tmp_path):
    document = response({"role": "assistant", "content": "ok"}, metadata={"total_input_tokens": 7, "model": "m"})
    session = opened(tmp_path, document)
    assert [session.groups.last[0], session.message(session.groups.last[0]).text] == [0, "ok"]


def test_results_without_ids_go_to_the_calls_in_their_order(tmp_path):
    calls = [{"role": "assistant", "tool_calls": [{"name": "n", "id": str(i)}]} for i in range(3000)]
    session = opened(tmp_path, response(*calls, *({"role": "tool", "content": str(i)} for i in range(3000))))
    assert [session.message(i).tool.text for i in (0, 1, 2999)] == ["0", "1", "2999"]


def test_a_foreign_document_keeps_its_own_keys(tmp_path):
    document = response(
        {"role": "assistant", "content": "ok", "bar": 2}, foo=1, metadata={"region": "eu", "system_prompt_id": "sp"}
    )
    session = opened(tmp_path, document)
    assert session.message(0).metadata == {"bar": 2}
    lost = Counter[str]()
    again = json.loads(b"".join(to_agent_response(session, lost=lost)))
    assert again["metadata"] == {"foo": 1, "region": "eu", "system_prompt_id": "sp"}
    assert again["messages"] == [{"role": "assistant", "content": "ok"}]  # the notes are no part of it
    assert lost["fact"] == 3  # the key of the message; the session's title and id


def test_a_result_without_its_call_stays_one(tmp_path):
    orphans = [
        {"role": "tool", "tool_call_id": "gone", "content": "lost", "name": "look"},
        {"role": "tool", "content": "nobody's"},
        {"role": "function", "content": "old"},
    ]
    document = response({"role": "assistant", "tool_calls": [{"id": "a", "name": "one"}]}, *orphans, orphans[0])
    document["messages"].insert(2, {"role": "tool", "tool_call_id": "a", "content": "A"})
    document["messages"].append({"role": "tool", "tool_call_id": "a", "content": "A again"})
    session = opened(tmp_path, document)
    assert kinds(session)[:6] == ["TOOL", "OUTPUT", "OUTPUT", "OUTPUT", "OUTPUT", "OUTPUT"]
    assert session.message(1).metadata == {"role": "tool", "tool_call_id": "gone", "name": "look"}
    assert json.loads(b"".join(to_session_data(session)))["exchanges"][0]["messages"][1]["metadata"][
        "tool_call_id"
    ] == "gone"  # fmt: skip
    data = b"".join(to_agent_response(session))
    written = [message for message in json.loads(data)["messages"] if message["role"] != "assistant"]
    assert [(m["role"], m.get("tool_call_id"), m["content"]) for m in written] == [
        ("tool", "a", "A"), ("tool", "gone", "lost"), ("tool", None, "nobody's"), ("system", None, "old"),
        ("tool", "gone", "lost"), ("tool", "a", "A again"),
    ]  # fmt: skip
    again = opened(tmp_path, data)
    assert [again.message(i).text for i in range(6)] == [session.message(i).text for i in range(6)]
    assert b"".join(to_agent_response(again)) == data
    assert [(w.path, w.message.partition(":")[0]) for w in validate_agent_response(document).warnings[:4]] == [
        ("/messages/1/tool_call_id", "no call before it has this id"),
        ("/messages/3", "a tool's message without `tool_call_id`"),
        ("/messages/5/tool_call_id", "no call before it has this id"),
        ("/messages/6/tool_call_id", "the call with this id has its answer already"),
    ]


def test_what_is_not_shown_of_a_message_is_kept_beside_it(tmp_path):
    thinking = [{"text": "", "type": "thinking"}, {"foo": 1}, {"text": "signed", "signature": "s"}]
    part = {"type": "chart", "text": "a chart", "data": [1]}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    nested = {"id": "b", "type": "function", "function": {"name": "two", "arguments": "{}", "strict": True}, "index": 0}
    document = response(
        {"role": "assistant", "thinking": thinking, "content": [part, image], "tool_calls": [nested]},
        {"role": "tool", "tool_call_id": "b", "content": "B", "is_error": False, "name": "two"},
        {"role": "assistant", "content": "x", "tool_calls": [{"id": "nameless"}]},
    )
    session = opened(tmp_path, document)
    expected = [
        {},
        {"thinking": [{"foo": 1}]},
        {"thinking": [thinking[2]]},
        {"content": [part]},
        {"toolCall": {"index": 0, "function": {"strict": True}}, "toolMessage": {"is_error": False, "name": "two"}},
        {"tool_calls": [{"id": "nameless"}]},
    ]
    assert [session.message(i).metadata for i in range(6)] == expected
    assert [session.message(i).text for i in range(4)] == [
        "",
        '{\n  "foo": 1\n}',
        "signed",
        "a chart\n\n[image image/png, 3 bytes]",
    ]
    assert b"signature" not in b"".join(to_agent_response(session))


@pytest.mark.parametrize("output", [None, {"content": "", "is_error": False}])
def test_a_result_that_nobody_told_is_not_an_empty_one(tmp_path, output):
    hand = Hand()
    hand.prompt("Look")
    hand.tool(Tool("Bash", "shell", "t", {"command": "x"}, output))
    data = b"".join(to_agent_response(hand.session))
    assert [m["role"] for m in json.loads(data)["messages"]] == ["user", "assistant", *["tool"] * (output is not None)]
    tool = opened(tmp_path, data).message(1).tool
    assert tool is not None and (tool.output, tool.text) == (output, "")


RELAYED = Path(__file__).parents[2] / "../shared/corpus/cursor/relayhistory_observed-3.13.25.jsonl"


@pytest.mark.skipif(not RELAYED.is_file(), reason="the shared corpus is not here")
def test_what_cursor_does_not_tell_stays_unknown(tmp_path):
    session = read_session(RELAYED)
    again = opened(tmp_path, b"".join(to_agent_response(session)))
    tools = [[m.tool for i in range(len(s.messages)) if (m := s.message(i)).tool] for s in (session, again)]
    assert tools[0] and [tool.output for tool in tools[1]] == [tool.output for tool in tools[0]]


def test_without_an_answer_something_stands_in(tmp_path):
    hand = Hand()
    hand.prompt("hi")
    data = b"".join(to_agent_response(hand.session))
    assert json.loads(data)["final_response"] == NO_ANSWER
    assert kinds(opened(tmp_path, data)) == ["PROMPT", "TEXT", "NOTE"]


def test_what_was_rewound_is_left_out_and_said():
    hand = Hand()
    hand.prompt("hi")
    hand.text("yes")
    hand.text("no", flags=Flag.REWOUND)
    lost = Counter[str]()
    document = json.loads(b"".join(to_agent_response(hand.session, lost=lost)))
    assert document["final_response"] == "yes" and len(document["messages"]) == 2
    assert lost["rewound message"] == 1


def test_every_string_is_edited():
    document = b"".join(to_agent_response(whole(), edit=replacing("Fix it", "EDITED")))
    assert b"Fix it" not in document and b"EDITED" in document


def test_text_of_another_shape_than_the_schema_wants_is_shown(tmp_path):
    part = {"type": "text", "text": "alone"}
    call = {"id": "c", "name": "look"}
    session = opened(
        tmp_path,
        response(
            {"role": "user", "content": part},
            {"role": "assistant", "content": ["one", part], "thinking": "hm"},
            {"role": "assistant", "thinking": {"text": "so"}, "tool_calls": call},
            {"role": "assistant", "content": "x", "tool_calls": "look"},
            final=[part, "more"],
        ),
    )
    messages = [session.message(n) for n in range(len(session.messages))]
    assert [message.text for message in messages[:4]] == ["alone", "hm", "one\n\nalone", "so"]
    assert messages[4].tool is not None and messages[4].tool.name == "look"
    assert messages[5].metadata["tool_calls"] == "look"
    assert messages[6].text == "alone\n\nmore"


@pytest.mark.parametrize(("messages", "text"), [({"role": "user"}, '"role": "user"'), ("all of it", "all of it")])
def test_messages_that_are_no_list_are_shown_at_the_end(tmp_path, messages, text):
    session = opened(tmp_path, {"final_response": "ok", "messages": messages})
    notes = [session.message(n) for n in range(len(session.messages))]
    assert text in next(note.text for note in notes if note.label == "messages")


@pytest.mark.parametrize("odd", [{"x": "lamp"}, "lamp", 7])
def test_messages_that_are_no_list_are_kept(tmp_path, odd):
    first = json.loads(b"".join(to_agent_response(opened(tmp_path, {"final_response": "done", "messages": odd}))))
    assert first["metadata"] == {"messages": odd}
    assert json.loads(b"".join(to_agent_response(opened(tmp_path, first)))) == first

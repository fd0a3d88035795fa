from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.clean import Run, Sgr, clean
from schemas.diffs import FileDiff, Hunk
from schemas.interchange.session_data_check import validate_session_data
from schemas.interchange.session_data_read import read_document, read_time
from schemas.interchange.session_data_write import iso_time, to_session_data
from schemas.message import USER_KINDS, Flag, Kind, Message, Part, Tool, ToolStatus
from schemas.opening import OpenError, read_session
from schemas.records import Unreadable
from schemas.session import Lack, Session, Subagent
from schemas.usage import TokenUsage
from tests.support import Hand

SHARED = Path(__file__).parents[2] / "../shared"


def written(session: Session, **options: Any) -> dict[str, Any]:
    return orjson.loads(b"".join(to_session_data(session, **options)))


def again(session: Session) -> Session:
    return read_document(written(session), session.path)


def messages(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for exchange in document["exchanges"] for message in exchange["messages"]]


def small() -> Hand:
    hand = Hand()
    hand.prompt("fix the test")
    hand.thinking("where is it?")
    tool = Tool(
        "Bash", "shell", "toolu_1", {"command": "pytest"}, {"content": "1 failed", "is_error": True}, "1 failed"
    )
    tool.status, tool.exit_code, tool.seconds = ToolStatus.ERROR, 1, 41.5
    hand.tool(tool, flags=Flag.ERROR)
    hand.text("Done.", usage=TokenUsage(3, 5, 7, 11, 2, 1))
    return hand


# -- writing -----------------------------------------------------------------------------------------------------------


def test_the_document_has_what_1_0_asks_for():
    document = written(small().session)
    assert document["schemaVersion"] == "1.0"
    assert document["provider"] == {"id": "claude", "name": "Claude Code", "version": "2.1.40"}
    assert document["workspaceRoot"] == "/home/dev/lamp-shop"
    assert [m["role"] for m in messages(document)] == ["user", "agent", "agent", "agent"]
    assert messages(document)[0]["content"] == [{"type": "text", "text": "fix the test"}]
    assert messages(document)[1]["content"] == [{"type": "thinking", "text": "where is it?"}]
    assert messages(document)[2]["tool"]["output"] == {"content": "1 failed", "is_error": True}
    assert validate_session_data(document) == ([], [])


def test_usage_stands_once_on_the_last_message_of_its_group():
    hand = Hand()
    hand.prompt("go")
    first = hand.text("one")
    hand.text("two", usage=TokenUsage(3, 5, 7, 11))
    hand.session.messages.group[first] = 0
    found = messages(written(hand.session))
    assert [m["metadata"]["turnlog"].get("group") for m in found] == [None, "g2", "g2"]
    assert [m.get("usage") for m in found] == [
        None,
        None,
        {"inputTokens": 3, "outputTokens": 5, "cacheReadInputTokens": 7, "cacheCreationInputTokens": 11},
    ]


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        (
            "codex",
            {"inputTokens": 10, "cachedInputTokens": 7, "outputTokens": 5, "reasoningOutputTokens": 2},
        ),
        ("gemini", {"inputTokens": 10, "cachedTokens": 7, "outputTokens": 3, "thoughtTokens": 2}),
    ],
)
def test_usage_is_also_given_in_the_counting_of_the_provider(provider, expected):
    hand = Hand(provider)
    hand.prompt("go")
    hand.text("one", usage=TokenUsage(3, 5, 7, None, 2))
    assert messages(written(hand.session))[1]["usage"] == expected


def test_what_is_not_known_is_said_to_be_unknown_and_read_back_as_unknown():
    session = Session("claude", "Claude Code", Path("/x/y.jsonl"), "id")
    document = written(session)
    assert document == {
        "schemaVersion": "1.0",
        "provider": {"id": "claude", "name": "Claude Code", "version": "unknown"},
        "sessionId": "id",
        "createdAt": "1970-01-01T00:00:00Z",
        "workspaceRoot": "unknown",
        "exchanges": [],
    }
    assert validate_session_data(document).valid
    back = again(session)
    assert (back.workspace_root, back.version, back.created) == (None, None, None)


def test_a_message_without_text_gets_a_placeholder_that_goes_again():
    hand = Hand()
    hand.prompt("go")
    hand.note(Kind.COMPACTION, "Compacted, auto")
    document = written(hand.session)
    assert messages(document)[1]["content"] == [{"type": "text", "text": "Compacted, auto"}]
    message = again(hand.session).message(1)
    assert (message.kind, message.label, message.parts) == (Kind.COMPACTION, "Compacted, auto", [])


def test_an_image_becomes_text_and_an_image_again():
    hand = Hand()
    hand.add(
        Kind.PROMPT, opener="look", parts=[Part("text", "look"), Part("image", "[image/png, 3 KB]", "image/png", 3072)]
    )
    content = messages(written(hand.session))[0]["content"]
    assert content[1] == {"type": "text", "text": "[image/png, 3 KB]"}
    assert again(hand.session).message(0).parts == hand.session.message(0).parts


def test_ids_that_repeat_are_told_apart():
    hand = Hand()
    hand.prompt("go")
    hand.text("a", id="same")
    hand.text("b", id="same")
    for exchange in hand.session.exchanges:
        exchange.id = "x"
    hand.prompt("go on")
    hand.session.exchanges[-1].id = "x"
    document = written(hand.session)
    assert [m["id"] for m in messages(document)] == ["m0", "same", "same#2", "m3"]
    assert [e["exchangeId"] for e in document["exchanges"]] == ["x", "x#2"]


def test_numbers_that_json_cannot_hold_do_not_stop_it():
    hand = Hand()
    hand.prompt("go")
    tool = Tool("X", "generic", "", {"big": 1 << 70, "inf": math.inf, "nan": math.nan, "huge": 10**400})
    hand.tool(tool)
    assert messages(written(hand.session))[1]["tool"]["input"] == {
        "big": float(1 << 70),
        "inf": None,
        "nan": None,
        "huge": None,
    }


def test_it_is_written_a_message_at_a_time():
    hand = Hand()
    hand.prompt("go")
    for _ in range(50):
        hand.text("x" * 10_000)
    assert max(map(len, to_session_data(hand.session))) < 12_000


def test_every_string_passes_the_editor():
    hand = small()
    hand.session.title = "secret title"
    hand.text("a secret", metadata={"note": "secret"})
    hand.tool(Tool("X", "generic", "", {"deep": [{"er": "secret"}]}, text="secret"))
    raw = b"".join(to_session_data(hand.session, edit=lambda text: text.replace("secret", "***")))
    assert b"secret" not in raw
    assert raw.count(b"***") == 5


def test_the_session_survives_where_1_0_has_no_place_for_it():
    hand = small()
    session = hand.session
    session.branch, session.context_window, session.context_used = "main", 200_000, 1234
    session.lineage.forked_from, session.lineage.agent_id = "other", "a1"
    session.links, session.duplicates = ["https://example.com/pr/1"], 3
    session.unreadable.append(Unreadable(7, "not JSON", 100, 5))
    session.unknown["mystery"], session.hidden["snapshot"] = 2, 9
    session.metadata["mood"] = {"a": [1, None]}
    session.lacks = frozenset({Lack.TIMES, Lack.RESULTS})
    back = again(session)
    for name in (
        "provider", "provider_name", "id", "title", "workspace_root", "branch", "version", "created", "updated",
        "context_window", "context_used", "models", "unreadable", "unknown", "hidden", "lineage", "links", "duplicates",
        "lacks",
    ):  # fmt: skip
        assert getattr(back, name) == getattr(session, name), name
    assert back.metadata["mood"] == {"a": [1, None]}


def test_a_subagent_in_the_session_itself_is_written_with_it():
    hand, child = small(), small()
    child.session.title = "the child"
    hand.session.subagents.append(Subagent("a1", "Explore", "look around", session=child.session, tool_use=2))
    back = again(hand.session)
    assert (back.subagents[0].id, back.subagents[0].name, back.subagents[0].tool_use) == ("a1", "Explore", 2)
    inner = back.subagents[0].session
    assert inner is not None
    assert inner.title == "the child"
    assert inner.usage() == child.session.usage()
    assert written(back) == written(hand.session)


def test_a_path_in_a_document_is_not_followed_out_of_its_directory(tmp_path):
    (tmp_path / "in").mkdir()
    for name in ("in/sub.jsonl", "out.jsonl"):
        (tmp_path / name).write_text("{}")
    hand = small()
    hand.session.path = tmp_path / "in/session.json"
    hand.session.subagents = [Subagent(name, path=tmp_path / name) for name in ("in/sub.jsonl", "out.jsonl")]
    back = again(hand.session)
    assert [s.path for s in back.subagents] == [tmp_path / "in/sub.jsonl", None]
    assert written(back) == written(hand.session)


# -- the law: nothing is lost ------------------------------------------------------------------------------------------

text = st.text(max_size=30).map(clean)
word = st.text("abcäß-_.:/ 0", min_size=1, max_size=12).map(lambda s: s.strip() or "w")
count = st.none() | st.integers(0, 1 << 40)
value = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 60), 1 << 60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(
    word.filter(lambda key: key not in ("turnlog", "records", "messageFields")), value, max_size=3
)
colours = st.none() | st.integers(0, 255) | st.tuples(*[st.integers(0, 255)] * 3)


@st.composite
def runs(draw, of: str) -> list[Run]:
    ends = sorted(draw(st.sets(st.integers(0, len(of)), max_size=4)))
    return [
        Run(a, b, Sgr(draw(colours), draw(colours), draw(st.booleans())))
        for a, b in zip(ends[::2], ends[1::2], strict=False)
    ]


@st.composite
def parts(draw, types: tuple[str, ...] = ("text", "image")) -> Part:
    content = draw(text)
    part = Part(draw(st.sampled_from(types)), content, runs=draw(runs(content)))
    if part.type == "image":
        part.media_type, part.size = draw(st.none() | word), draw(count)
    return part


@st.composite
def diffs(draw) -> FileDiff:
    lines = st.tuples(st.sampled_from(" +-"), st.text("ab ", max_size=5)).map("".join)
    places = st.none() | st.integers(0, 999)
    hunks = [
        Hunk(draw(st.lists(lines, max_size=3)), draw(places), draw(places)) for _ in range(draw(st.integers(0, 2)))
    ]
    return FileDiff(
        draw(word), draw(st.sampled_from(["add", "update", "delete", "move"])), hunks, draw(st.none() | word)
    )


@st.composite
def tools(draw) -> Tool:
    said = draw(text)
    output = draw(st.none() | objects | st.just({"content": said, "is_error": False}))
    return Tool(
        name=draw(word),
        type=draw(st.sampled_from(["write", "read", "search", "shell", "task", "generic", "unknown"])),
        use_id=draw(st.just("") | word),
        input=draw(objects),
        output=output,
        text=said,
        runs=draw(runs(said)),
        status=draw(st.sampled_from(ToolStatus)),
        exit_code=draw(st.none() | st.integers(-1, 255)),
        seconds=draw(st.none() | st.floats(0, 1e6)),
        diffs=draw(st.lists(diffs(), max_size=2)),
        images=draw(st.lists(parts(("image",)), max_size=2)),
        subagent=draw(st.none() | word),
        spilled=draw(st.booleans()),
        summary=draw(st.none() | word),
    )


usages = st.builds(TokenUsage, count, count, count, count, count, count)


@st.composite
def sessions(draw) -> Session:
    hand = Hand(draw(st.sampled_from(["claude", "codex", "gemini", "qwen"])))
    hand.session.title = draw(word)
    for number in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(list(Kind)))
        opens = kind in (Kind.PROMPT, Kind.COMMAND) and draw(st.booleans())
        fields: dict[str, Any] = {"label": draw(st.just("") | word), "metadata": draw(objects)}
        if kind == Kind.TOOL:
            fields["tool"] = draw(tools())
        elif kind == Kind.THINKING:
            fields["parts"] = draw(st.lists(parts(("thinking",)), max_size=2))
        else:
            fields["parts"] = draw(st.lists(parts(), max_size=3))
        if kind not in USER_KINDS:
            fields["path_hints"] = draw(st.lists(word, max_size=2))
        fields["model"] = draw(st.none() | st.sampled_from(["claude-opus-5", "gpt-5"]))
        if kind not in USER_KINDS:
            fields["usage"] = draw(st.none() | usages)
        flags = draw(st.sampled_from([Flag(0), Flag.ERROR, Flag.REWOUND | Flag.PENDING, Flag.SUBAGENT]))
        hand.add(kind, opener=draw(word) if opens else None, flags=flags, id=f"id{number}", **fields)
        exchange = hand.session.exchanges[-1]
        exchange.seconds = draw(st.none() | st.floats(0, 1e6))
        exchange.errors, exchange.rewound = draw(st.integers(0, 3)), draw(st.booleans())
        exchange.interrupted, exchange.inherited = draw(st.booleans()), draw(st.booleans())
    return hand.session


def seen(session: Session) -> list[Any]:
    """All that a reader can see, without what only says where it was read."""

    def plain(message: Message) -> dict[str, Any]:
        data = {name: getattr(message, name) for name in Message.__slots__}
        data["metadata"] = {key: item for key, item in message.metadata.items() if key != "records"}
        data["tool"] = message.tool and {name: getattr(message.tool, name) for name in Tool.__slots__}
        if message.tool and message.tool.output is None:
            data["tool"]["output"] = "whatever a result object must say"
        return data

    groups = session.groups
    return [
        [plain(session.message(i)) for i in range(len(session.messages))],
        [
            (e.start, e.opener, e.id, e.prompt, e.started, e.ended, e.seconds, e.tools, e.errors, e.rewound, e.groups)
            for e in session.exchanges
        ],
        [(e.interrupted, e.inherited, session.models[e.model]) for e in session.exchanges],
        [(name, groups.usage[i], groups.exchange[i], groups.last[i]) for i, name in enumerate(groups.ids)],
    ]


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sessions())
def test_a_session_survives_being_written_and_read(session):
    document = written(session)
    assert validate_session_data(document).errors == []
    back = read_document(document, session.path)
    before, after = seen(session), seen(back)
    for one, other in zip(before[0], after[0], strict=True):
        if one["tool"] and one["tool"]["output"] == "whatever a result object must say":
            other["tool"]["output"] = one["tool"]["output"]
    assert after == before
    assert written(back) == document


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["exchanges", "messages", "content", "tool", "metadata", "turnlog", "kind", "role", "text", "type",
                 "usage", "parts", "runs", "groups", "group", "session", "subagents", "flags", "input", "output",
                 "opener", "timestamp", "name", "id", "diffs", "hunks", "lines", "exitCode", "seconds",
                 "inputTokens", "model"]
            ),
            inner,
            max_size=6,
        ),
        max_leaves=40,
    )
)  # fmt: skip
def test_whatever_a_document_holds_it_is_read(value):
    document = {"schemaVersion": "1.0", "exchanges": value if isinstance(value, list) else [value]}
    session = read_document(document, Path("/nowhere/x.json"))
    first = written(session)
    assert validate_session_data(first).errors == []
    assert written(read_document(first, session.path)) == first


# -- reading what others write -----------------------------------------------------------------------------------------


def document(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "schemaVersion": "1.0",
        "provider": {"id": "claude-code", "name": "Claude Code", "version": "unknown"},
        "sessionId": "s",
        "createdAt": "2026-01-01T00:00:00Z",
        "workspaceRoot": "/w",
        "exchanges": [{"exchangeId": "s:0", "messages": list(messages)}],
    } | fields


def read(*messages: dict[str, Any], **fields: Any) -> Session:
    return read_document(document(*messages, **fields), Path("/nowhere/x.json"))


USER = {"role": "user", "content": [{"type": "text", "text": "do it"}]}


def test_the_first_user_message_opens_and_later_ones_steer():
    session = read(USER, {"role": "agent", "content": [{"type": "text", "text": "ok"}]}, USER)
    assert session.provider == "claude"
    assert session.exchanges[0].opener == Kind.PROMPT
    assert session.exchanges[0].prompt == "do it"
    assert list(session.messages.kind) == [Kind.PROMPT, Kind.TEXT, Kind.STEER]


def test_a_message_with_everything_becomes_a_block_each():
    session = read(
        USER,
        {
            "id": "a",
            "role": "agent",
            "content": [
                {"type": "thinking", "text": "hm"},
                {"type": "text", "text": "one"},
                {"type": "text", "text": "two"},
            ],
            "tool": {"name": "Read", "type": "read", "output": {"content": "x"}},
            "usage": {"inputTokens": 1, "outputTokens": 2},
        },
    )
    assert [session.message(i).id for i in range(1, 4)] == ["a", "a#2", "a#3"]
    assert list(session.messages.kind)[1:] == [Kind.THINKING, Kind.TEXT, Kind.TOOL]
    assert session.message(2).text == "one\n\ntwo"
    assert session.groups.last[0] == 3


def test_usage_that_claude_repeats_counts_once():
    usage = {"inputTokens": 6, "outputTokens": 5, "cacheReadInputTokens": 100, "cacheCreationInputTokens": 7}
    reply = {"role": "agent", "model": "m", "content": [{"type": "text", "text": "x"}]}
    session = read(
        USER,
        reply | {"usage": usage},
        reply | {"usage": usage | {"outputTokens": 9}},
        reply | {"usage": usage | {"cacheReadInputTokens": 200}},
    )
    assert len(session.groups) == 2
    assert session.usage() == TokenUsage(12, 14, 300, 14)


def test_each_agents_counting_is_understood():
    def one(usage: dict[str, Any]) -> TokenUsage | None:
        return read(USER, {"role": "agent", "content": [{"type": "text", "text": "x"}], "usage": usage}).usage()

    codex = {"inputTokens": 10, "cachedInputTokens": 7, "outputTokens": 5, "reasoningOutputTokens": 2}
    assert one(codex) == TokenUsage(3, 5, 7, None, 2)
    gemini = {"inputTokens": 10, "cachedTokens": 7, "outputTokens": 3, "thoughtTokens": 2, "toolTokens": 4}
    assert one(gemini) == TokenUsage(7, 5, 7, None, 2)
    assert one({"inputTokens": "many"}) is None
    assert one({}) is None


def test_strings_where_objects_belong_are_kept():
    session = read(
        USER, {"role": "agent", "tool": {"name": "p", "type": "mcp", "input": "*** Begin", "output": "done"}}
    )
    tool = session.message(1).tool
    assert tool is not None
    assert (tool.type, tool.input, tool.output, tool.text) == (
        "unknown", {"input": "*** Begin"}, {"content": "done"}, "done",
    )  # fmt: skip


def test_what_the_tool_says_of_its_end_is_understood():
    failed = {"name": "Bash", "type": "shell", "output": {"stdout": "a\n", "stderr": "b", "exit_code": 2}}
    session = read(USER, {"role": "agent", "tool": failed}, {"role": "agent", "tool": {"name": "x", "type": "read"}})
    tool = session.message(1).tool
    assert tool is not None
    assert (tool.text, tool.exit_code, tool.status) == ("a\nb", 2, ToolStatus.ERROR)
    assert session.messages.has(1, Flag.ERROR)
    assert session.messages.has(2, Flag.PENDING)
    assert session.exchanges[0].errors == 1


def test_fields_of_others_come_out_again():
    theirs = document(
        USER,
        {
            "role": "agent",
            "extra": 1,
            "metadata": {"isSidechain": True, "turnlog": "not ours"},
            "tool": {"name": "x", "type": "read", "summary": "S", "formattedMarkdown": "**x**", "odd": [1]},
        },
        slug="fix-it",
        strange={"a": 1},
    )
    theirs["exchanges"][0]["metadata"] = {"k": "v"}
    out = written(read_document(theirs, Path("/nowhere/x.json")))
    message = messages(out)[1]
    assert out["slug"] == "fix-it"
    assert message["extra"] == 1
    assert message["metadata"]["isSidechain"] is True
    assert message["metadata"]["turnlog"]["foreign"] == "not ours"
    assert {k: message["tool"][k] for k in ("summary", "formattedMarkdown", "odd")} == {
        "summary": "S", "formattedMarkdown": "**x**", "odd": [1],
    }  # fmt: skip
    assert out["exchanges"][0]["metadata"]["k"] == "v"
    assert out["exchanges"][0]["metadata"]["turnlog"]["session"]["fields"] == {"strange": {"a": 1}}


def test_a_field_of_a_wrong_type_is_kept_where_it_is_valid():
    tool = {"name": "x", "type": "read", "formattedMarkdown": [None], "summary": 5}
    session = read(USER, {"role": "agent", "tool": tool, "timestamp": 7})
    out = written(session)
    assert validate_session_data(out).errors == []
    message = messages(out)[1]
    assert message["metadata"]["malformed"] == {"formattedMarkdown": [None], "summary": 5, "timestamp": 7}
    assert "formattedMarkdown" not in message["tool"] and "summary" not in message["tool"]
    assert written(read_document(out, session.path)) == out


def test_repeated_message_ids_lose_no_usage():
    reply = {"id": "a", "role": "agent", "content": [{"type": "text", "text": "x"}], "usage": {"inputTokens": 5}}
    session = read(USER, reply, reply)
    assert session.usage() == TokenUsage(10)
    assert read_document(written(session), session.path).usage() == TokenUsage(10)


def test_what_is_no_message_is_shown_all_the_same():
    session = read({"role": "agent", "content": [{"type": "video", "url": "u"}, "bare"]}, 42)  # type: ignore[arg-type]
    assert '"url": "u"' in session.message(0).text
    assert "bare" in session.message(0).text
    assert session.message(1).kind == Kind.UNKNOWN
    assert session.message(1).text == "42"


def test_escapes_do_not_get_through():
    session = read({"role": "user", "content": [{"type": "text", "text": "\x1b[2Ja\x07"}]}, workspaceRoot="/a\x1b[0m")
    assert session.message(0).text == "a"
    assert session.workspace_root == "/a"


def test_no_exchanges_are_none():
    assert read_document(document() | {"exchanges": None}, Path("x")).exchanges == []


def test_a_newer_version_is_refused_with_its_name(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document(USER, schemaVersion="2.0")))
    with pytest.raises(OpenError, match=r"version 2\.0"):
        read_session(path)


def test_exchanges_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document() | {"exchanges": {}}))
    with pytest.raises(OpenError, match="no list"):
        read_session(path)


def test_a_document_over_many_lines_is_recognised(tmp_path):
    path = tmp_path / "x.json"
    hand = small()
    path.write_bytes(orjson.dumps(written(hand.session), option=orjson.OPT_INDENT_2))
    assert len(read_session(path).messages) == 4


def test_lone_surrogates_and_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(document(USER, sessionId="\ud83e")).encode())
    assert read_session(path).id == "�"


# -- times -------------------------------------------------------------------------------------------------------------


@given(st.floats(-2e9, 8e9))
def test_a_time_is_the_same_after_it_was_written(seconds):
    said = iso_time(seconds)
    assert said is not None
    assert said.endswith("Z")
    assert iso_time(read_time(said)) == said
    assert read_time(said) == pytest.approx(seconds, abs=2e-5)


@pytest.mark.parametrize("seconds", [None, math.nan, math.inf, 1e18, -1e18])
def test_a_time_that_cannot_be_written_is_left_out(seconds):
    assert iso_time(seconds) is None


def test_times_of_any_form_are_read():
    assert (
        read_time("2026-01-01T01:00:00+01:00") == read_time("2026-01-01T00:00:00") == read_time("2026-01-01T00:00:00Z")
    )
    assert read_time("yesterday") is None
    assert read_time(5) is None


# -- real documents ----------------------------------------------------------------------------------------------------

GOLDEN = sorted((SHARED / "goldens/specstory/golden").glob("*.session.json"))


@pytest.mark.skipif(not GOLDEN, reason="the shared goldens are not here")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_the_producers_documents_survive(path):
    session = read_session(path)
    document = written(session)
    assert validate_session_data(document).errors == []
    assert written(read_document(document, path)) == document


@pytest.mark.skipif(not GOLDEN, reason="the shared goldens are not here")
def test_the_repeated_usage_of_the_producer_adds_up_to_the_truth():
    session = read_session(SHARED / "goldens/specstory/golden/claude-convo.session.json")
    assert session.usage() == TokenUsage(30, 5275, 590_265, 15_734)

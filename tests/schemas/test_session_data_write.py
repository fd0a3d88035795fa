from __future__ import annotations

import math
from pathlib import Path

import pytest

from schemas.interchange.session_data_check import validate_session_data
from schemas.interchange.session_data_write import Names, to_session_data
from schemas.message import Kind, Part, Tool
from schemas.records import Unreadable
from schemas.session import Lack, Session, Subagent
from schemas.usage import TokenUsage
from tests.schemas.session_documents import again, messages, small, written
from tests.support import Hand, replacing


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


def test_many_of_one_id_take_no_longer_than_their_number():
    class Counting(dict[str, int]):
        asked = 0

        def setdefault(self, key: str, default: int) -> int:  # type: ignore[override]
            self.asked += 1
            return super().setdefault(key, default)

    names = Names()
    names._taken = taken = Counting()
    assert [names.unique("x", n) for n in range(1000)] == ["x", *(f"x#{n}" for n in range(2, 1001))]
    assert taken.asked < 3000
    assert names.unique("x", 500) == "x#501"
    assert names.unique("x#7", 2000) == "x#7#2"


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
    raw = b"".join(to_session_data(hand.session, edit=replacing("secret", "***")))
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


@pytest.mark.parametrize(
    ("updated", "group", "usage"),
    [
        (0.0, "g", TokenUsage(1, 2)),  # the first second of 1970 is a time
        (5.0, "", TokenUsage(1, 2)),  # a group without an id counts all the same
        (5.0, "g", TokenUsage(1, 2, cache_read=1 << 63, cache_write=(1 << 64) - 1)),  # as Normalized Events may say
    ],
)
def test_what_is_empty_or_huge_is_written_again_as_it_was(updated, group, usage):
    hand = Hand()
    hand.prompt("go")
    hand.text("gone", usage=usage)
    hand.session.updated, hand.session.groups.ids[0] = updated, group
    hand.session.lineage.agent_id = ""
    back = again(hand.session)
    assert (back.updated, back.groups.ids[0], back.usage()) == (updated, group, usage)
    assert written(back) == written(hand.session)


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

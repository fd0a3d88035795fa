"""Cursor's stores: what a message, a turn and the root become (formats/gemini-qwen-cursor.md 3.2 and 3.5)."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Flag, Kind, Message, ToolStatus
from schemas.providers.cursor import PROVIDER
from schemas.session import Lack, Session
from tests.fixtures.cursor.stores import (
    INFO,
    NINE,
    Builder,
    agent,
    answer,
    calls,
    harbour,
    put,
    query,
    says,
    text,
    thinks,
    use,
    user,
)
from tests.schemas.conformance import assert_builds_clean, assert_sums, described, whole

GUESS = "The store's root cannot be read: {} messages were found, their order is a guess"


def read(built: Builder, home: Path, **beside: Any) -> Session:
    """What is read of a store; the laws are checked on the way."""
    session = whole(PROVIDER, built.save(home, **beside))
    assert_builds_clean(session)
    assert_sums(session)
    return session


def messages(session: Session) -> list[Message]:
    return [session.message(i) for i in range(len(session.messages))]


def one(session: Session, kind: Kind) -> Message:
    """The only message of a kind."""
    (found,) = [m for m in messages(session) if m.kind is kind]
    return found


# -- messages ----------------------------------------------------------------------------------------------------------


def test_a_session_of_today(tmp_path: Path) -> None:
    session = read(harbour(), tmp_path)
    assert described(session) == [
        "CONTEXT <user_info> OS Version: linux 6.8 Workspace Path: /srv/harbo",
        "PROMPT Light the harbour",
        "THINKING The lamp first.",
        "THINKING Thinking withheld by the provider",
        "TEXT I look at the lamp.",
        "TOOL Read",
        "TOOL StrReplace",
        "TEXT The lamp is lit.",
        "PROMPT And the buoy?",
        "TOOL Shell",
        "TEXT There is none.",
    ]
    assert session.hidden == {"store": 1, "system prompt": 1}
    assert session.messages.has(3, Flag.WITHHELD)
    assert session.messages.has(9, Flag.ERROR) and session.exchanges[2].errors == 1
    assert [e.tools for e in session.exchanges] == [0, 2, 1]
    assert (session.context_used, session.context_window) == (1500, 200_000)
    assert session.usage() is None and len(session.groups) == 0
    assert session.workspace_root == "/srv/harbour"


def test_the_key_for_encryption_is_shown_nowhere(tmp_path: Path) -> None:
    session = read(harbour(), tmp_path)
    shown = [session.raw(span) for i in range(len(session.messages)) for span in session.message_spans(i)]
    everything = repr(vars(session)) + repr(shown) + repr(messages(session)) + repr(vars(session.stores[0]))
    assert "SECRET-KEY" not in everything and b"SECRET-KEY".hex() not in everything


def test_order_is_the_roots_and_old_roots_and_orphans_do_not_show(tmp_path: Path) -> None:
    built = Builder()
    built.message(user("First"), agent("Second"))
    built.blob(built.root)  # an older root
    built.blob(json.dumps(agent("ORPHAN")).encode())
    built.message(user("Third"))
    built.root = b"".join(reversed([built.root[i : i + 34] for i in range(0, len(built.root), 34)]))
    assert described(read(built, tmp_path)) == ["PROMPT Third", "TEXT Second", "PROMPT First"]


def test_inline_messages_one_of_them_as_long_as_an_id(tmp_path: Path) -> None:
    short = json.dumps({"role": "user", "content": "abc"}, separators=(",", ":")).encode()
    short = short + b" " * (32 - len(short)) if len(short) < 32 else short
    just = b'{"role":"user","content":"1234"}'
    assert len(just) == 32
    built = Builder().field(put(1, json.dumps(user("Inline")).encode())).field(put(1, just)).field(put(1, short))
    assert described(read(built, tmp_path)) == ["PROMPT Inline", "PROMPT 1234", "PROMPT abc"]


def test_a_missing_message_is_said_to_be_missing(tmp_path: Path) -> None:
    built = harbour().drop(6)
    session = read(built, tmp_path)
    assert "NOTE A message is missing from the store" in described(session)
    assert "TEXT The lamp is lit." not in described(session)


def test_a_use_whose_result_is_missing_waits_for_it(tmp_path: Path) -> None:
    session = read(harbour().drop(4), tmp_path)
    tool = messages(session)[5].tool
    assert tool is not None and tool.status is ToolStatus.PENDING and session.messages.has(5, Flag.PENDING)


@pytest.mark.parametrize(
    ("result", "shown", "status"),
    [
        ({"result": "plain"}, "plain", "ok"),
        ({"result": "no", "isError": True}, "no", "error"),
        ({"result": None, "output": {"type": "text", "value": "newer"}}, "newer", "ok"),
        ({"output": {"type": "error-text", "value": "broken"}}, "broken", "error"),
        ({"experimental_content": [text("only here")]}, "only here", "ok"),
        ({"result": "", "experimental_content": [text("there")]}, "there", "ok"),
        ({}, "", "ok"),
    ],
)
def test_forms_of_results(tmp_path: Path, result: dict[str, Any], shown: str, status: str) -> None:
    part = {"type": "tool-result", "toolCallId": "c", "toolName": "Read", **result}
    built = Builder().message(user("x"), agent(use("c", "Read", {"path": "a"})), {"role": "tool", "content": [part]})
    tool = one(read(built, tmp_path), Kind.TOOL).tool
    assert tool is not None and (tool.text, tool.status) == (shown, status)


def test_input_is_args_or_input_or_a_text(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch"
    newer = {"type": "tool-call", "toolCallId": "n", "toolName": "functions.Read", "input": {"path": "b"}}
    session = read(Builder().message(user("x"), agent(use("p", "ApplyPatch", patch), newer)), tmp_path)
    first, second = (m.tool for m in messages(session) if m.tool)
    assert (first.input, [d.path for d in first.diffs]) == ({"input": patch}, ["a.txt"])
    assert (second.name, second.input, second.type) == ("Read", {"path": "b"}, "read")


def test_images_are_placeholders_wherever_they_stand(tmp_path: Path) -> None:
    image = {"type": "image", "image": "aGVsbG8h", "mediaType": "image/png"}
    url = {"type": "file", "data": "data:image/gif;base64,aGVsbG8h", "mimeType": "image/gif"}
    odd = {"type": "image", "image": {"data": 7}}
    given = answer("c", "Read", "a picture", experimental_content=[text("a picture"), image])
    built = Builder().message(user("Look", image, odd), user(url), agent(use("c", "Read", {}), image), given)
    session = read(built, tmp_path)
    prompts = [m for m in messages(session) if m.kind is Kind.PROMPT]
    assert [p.type for p in prompts[0].parts] == ["text", "image", "image"]
    assert [(p.media_type, p.size) for p in prompts[1].parts] == [("image/gif", 6)]
    tool = one(session, Kind.TOOL).tool
    assert tool is not None and tool.text == "a picture" and [i.media_type for i in tool.images] == ["image/png"]
    assert b"aGVsbG8h" not in repr(messages(session)).encode()


def test_results_are_paired_by_id_whatever_their_order(tmp_path: Path) -> None:
    both = {"role": "tool", "content": [*answer("b", "Read", "B")["content"], *answer("a", "Read", "A")["content"]]}
    stray = answer("nobody", "Grep", "stray")
    built = Builder().message(user("x"), agent(use("a", "Read", {}), use("b", "Read", {})), both, stray)
    session = read(built, tmp_path)
    assert used(session) == [("Read", "a", "A"), ("Read", "b", "B")]
    assert one(session, Kind.OUTPUT).text == "stray"


def used(session: Session) -> list[tuple[str, str, str]]:
    """The tool uses: name, id, result."""
    return [(m.tool.name, m.tool.use_id, m.tool.text) for m in messages(session) if m.tool]


def test_an_id_that_is_used_again_is_another_use(tmp_path: Path) -> None:
    """Some models number the calls of each response from 0."""
    first, again = agent(use("0", "Read", {"path": "a"})), agent(use("0", "Grep", {"pattern": "b"}))
    two = agent(use("0", "Read", {"path": "a"}), use("0", "Read", {"path": "b"}))
    replies = answer("0", "Read", "A"), answer("0", "Read", "B"), answer("0", "Read", "B again")
    built = Builder().message(user("x"), first, replies[0], again, answer("0", "Grep", "B"))
    assert used(read(built, tmp_path / "a")) == [("Read", "0", "A"), ("Grep", "0", "B")]
    built = Builder().message(user("x"), two, *replies)
    assert used(read(built, tmp_path / "b")) == [("Read", "0", "A"), ("Read", "0", "B again")]


def test_ids_that_repeat_and_content_that_repeats(tmp_path: Path) -> None:
    built = Builder().message(user("go on"), agent("yes", id="1"), user("go on"), agent("yes", id="1"), agent("no"))
    session = read(built, tmp_path)
    ids = [m.id for m in messages(session)]
    assert len(set(ids)) == len(set(session.messages.key)) == 5
    assert ids[1] == "1" and ids[3] == "1#3"


def test_models_are_the_parts_own_or_the_last_used(tmp_path: Path) -> None:
    session = read(harbour(), tmp_path)
    found = {m.id: m.model for m in messages(session)}
    assert found["m1"] == found["m1:4"] == "claude-4.5-opus"
    assert found["m2"] == "composer-2"
    assert one(read(Builder(lastUsedModel=None).message(agent("x")), tmp_path / "b"), Kind.TEXT).model is None


def test_prompts_and_context(tmp_path: Path) -> None:
    built = Builder().message(
        user(text(f"{INFO}\n{query('In one text')}")),
        user(text("<rules>be kind</rules>"), "In another part"),
        user(text("no tags at all")),
        user(text("<system_reminder>mind the gap</system_reminder>")),
        user(text("   ")),
    )
    session = read(built, tmp_path)
    assert [e.prompt for e in session.live_exchanges] == ["In one text", "In another part", "no tags at all"]
    assert [m.kind.name for m in messages(session)] == ["PROMPT", "CONTEXT", "PROMPT", "CONTEXT", "PROMPT", "CONTEXT"]
    assert session.hidden == {"store": 1, "user without content": 1}


def test_a_summary_is_a_compaction_and_older_turns_still_show(tmp_path: Path) -> None:
    summary = {"role": "user", "content": "What came before.", "providerOptions": {"cursor": {"isSummary": True}}}
    built = Builder().message(summary, user("Now"), agent("Done."))
    built.turn("Long ago", NINE, says("Old answer.", NINE + 5000)).turn("Now", NINE + 90_000)
    session = read(built, tmp_path)
    assert described(session) == [
        "PROMPT Long ago",
        "TEXT Old answer.",
        "COMPACTION What came before.",
        "PROMPT Now",
        "TEXT Done.",
    ]
    assert session.title == "Long ago"


@pytest.mark.parametrize(
    "value",
    [
        [1, 2],
        {"role": "developer", "content": "x"},
        {"content": "no role"},
        {"role": 7},
        {"role": "assistant", "content": [{"type": "hologram", "data": 1}]},
        {"role": "assistant", "content": [None, 3, {"type": "text", "text": 5}]},
    ],
)
def test_what_nobody_described_is_shown_as_it_is(tmp_path: Path, value: Any) -> None:
    session = read(Builder().message(user("x"), value), tmp_path)
    unknown = [m for m in messages(session) if m.kind is Kind.UNKNOWN]
    assert unknown and sum(session.unknown.values()) == len(unknown)
    assert all(m.text for m in unknown)


def test_a_blob_that_is_no_json(tmp_path: Path) -> None:
    built = Builder().message(user("x"))
    built.field(put(1, built.blob(b"\x00\x01\xff binary")))
    assert one(read(built, tmp_path), Kind.UNKNOWN).text == "\ufffd binary"


def test_hostile_text(tmp_path: Path) -> None:
    nasty = "\x1b]0;title\x07\x1b[31mred\u202eexe\x00\ud800"
    built = Builder(name=nasty, mode=nasty, lastUsedModel=nasty).message(
        user(nasty), agent(nasty, use(nasty, nasty, {nasty: nasty}), id=nasty), answer(nasty, nasty, nasty)
    )
    session = read(built, tmp_path, title=nasty, cwd=nasty)
    assert len(session.messages) == 3


# -- turns -------------------------------------------------------------------------------------------------------------


def test_times_come_from_the_turns(tmp_path: Path) -> None:
    session = read(harbour(), tmp_path)
    start = NINE / 1000
    times = {m.text or m.label: m.timestamp for m in messages(session) if m.kind is not Kind.TOOL}
    assert times["Light the harbour"] == start
    assert times["The lamp first."] == start + 2
    assert times["I look at the lamp."] == start + 3
    assert times["The lamp is lit."] == start + 9
    assert times["And the buoy?"] == start + 60
    assert [m.timestamp for m in messages(session) if m.tool] == [None, None, None]
    assert (session.created, session.updated) == (start - 1, start + 65)
    assert session.lacks == {Lack.TOKENS}


def test_times_of_other_ages_are_none(tmp_path: Path) -> None:
    built = Builder(createdAt=5).message(user("x"), agent("y")).turn("x", 10**14, says("y", 10**12 - 1))
    session = read(built, tmp_path)
    assert session.lacks == {Lack.TOKENS, Lack.TIMES} and session.created is None


def test_without_turns_only_the_session_has_a_time(tmp_path: Path) -> None:
    session = read(Builder(createdAt=str(NINE)).message(user("x")), tmp_path)
    assert session.created == NINE / 1000 and session.updated is None
    assert Lack.TIMES in session.lacks


def test_turns_alone(tmp_path: Path) -> None:
    built = Builder().turn(
        "Count",
        NINE,
        thinks("Gulls?", NINE + 1000),
        calls("s1", 1, put(1, "ls") + put(2, "/srv"), put(1, put(1, "two files"))),
        calls("r1", 8, put(1, "a.txt")),
        says("Twelve.", NINE + 2000),
        user_id="u-1",
    )
    built.turn("Again", NINE + 9000)
    session = read(built, tmp_path)
    assert described(session) == [
        "PROMPT Count",
        "THINKING Gulls?",
        "TOOL Shell",
        "TOOL Read",
        "TEXT Twelve.",
        "PROMPT Again",
    ]
    first = messages(session)[0]
    assert (first.id, first.timestamp) == ("u-1", NINE / 1000)
    shell = messages(session)[2].tool
    assert shell is not None and (shell.input, shell.status) == ({}, "ok")


def test_the_same_prompt_twice_has_two_times(tmp_path: Path) -> None:
    built = Builder().message(user("go on"), agent("a"), user("go on"), agent("b"))
    built.turn("go on", NINE).turn("go on", NINE + 5000)
    session = read(built, tmp_path)
    assert [e.started for e in session.live_exchanges] == [NINE / 1000, NINE / 1000 + 5]


def test_a_prompt_that_no_turn_says_has_no_time(tmp_path: Path) -> None:
    built = Builder().message(user("one!"), user("two")).turn("one", NINE).turn("two", NINE + 5000)
    session = read(built, tmp_path)
    assert [e.started for e in session.live_exchanges] == [None, NINE / 1000 + 5]
    assert len(session.messages) == 2


# -- the store itself --------------------------------------------------------------------------------------------------


def test_a_root_that_cannot_be_read(tmp_path: Path) -> None:
    built = harbour()
    built.blob(built.root)  # the root of before, which still names everything
    built.root = b"\xff\xff\xff"
    session = read(built, tmp_path)
    assert note_of(session) == GUESS.format(11)
    assert [e.prompt for e in session.live_exchanges] == ["Light the harbour", "And the buoy?"]


def test_a_missing_root(tmp_path: Path) -> None:
    built = Builder(latestRootBlobId="00" * 32).message(user("a"), agent("b"))
    assert described(read(built, tmp_path))[1:] == ["PROMPT a", "TEXT b"]


def test_a_damaged_root_shows_what_it_still_names(tmp_path: Path) -> None:
    built = Builder().message(user("a"), agent("b")).field(b"\x0a\x20 cut off")
    assert described(read(built, tmp_path)) == [
        "NOTE The store's root is damaged: messages may be missing",
        "PROMPT a",
        "TEXT b",
    ]


def test_a_chat_without_a_word(tmp_path: Path) -> None:
    session = read(Builder(), tmp_path / "a")
    assert len(session.messages) == 0 and session.title == ""
    path = Builder(latestRootBlobId="").save(tmp_path / "b")
    change(path, "DELETE FROM blobs")
    assert len(whole(PROVIDER, path).messages) == 0


def note_of(session: Session) -> str:
    """The remark that a session begins with."""
    message = session.message(0)
    assert message.kind is Kind.NOTE
    return message.label


def change(path: Path, statement: str, *values: object) -> None:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute(statement, values)
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM meta",
        "UPDATE meta SET value = 'zz'",
        "UPDATE meta SET value = '{\"agentId\": 1}'",
        'UPDATE meta SET value = \'{"latestRootBlobId": "ab"}\'',
        "UPDATE blobs SET data = x'' WHERE substr(data, 1, 1) != x'7b'",
        "UPDATE blobs SET data = x'ff' WHERE substr(data, 1, 1) != x'7b'",
    ],
)
def test_without_its_root_a_store_shows_what_could_be_read(tmp_path: Path, statement: str) -> None:
    path = Builder().message(user("a"), agent("b")).save(tmp_path)
    change(path, statement)
    session = whole(PROVIDER, path)
    assert note_of(session) == GUESS.format(2) and described(session)[1:] == ["PROMPT a", "TEXT b"]


def test_blobs_that_were_stored_as_text(tmp_path: Path) -> None:
    path = Builder().message(user("a \U0001f6a2"), agent("b")).turn("a \U0001f6a2", NINE).save(tmp_path)
    change(path, "UPDATE blobs SET data = CAST(data AS TEXT)")
    assert described(whole(PROVIDER, path)) == ["PROMPT a \U0001f6a2", "TEXT b"]


def test_a_message_with_a_key_like_that_of_our_remarks(tmp_path: Path) -> None:
    session = read(Builder().message({"turnlog": "x", **user("Said")}), tmp_path)
    assert described(session) == ["PROMPT Said"]


def test_gaps_in_a_row_are_one_remark(tmp_path: Path) -> None:
    session = read(harbour().drop(3).drop(3).drop(3), tmp_path)
    assert described(session).count("NOTE 3 messages are missing from the store") == 1
    built = Builder().message(user("a"), agent("b"), user("c")).drop(0).drop(1)
    assert described(read(built, tmp_path / "b")) == [
        "NOTE A message is missing from the store",
        "TEXT b",
        "NOTE A message is missing from the store",
    ]


def test_meta_in_plain_text_and_meta_that_is_none(tmp_path: Path) -> None:
    plain = whole(PROVIDER, Builder(name="Plain").message(user("a")).save(tmp_path, plain=True))
    assert (plain.title, described(plain)) == ("Plain", ["PROMPT a"])
    path = Builder().message(user("a")).save(tmp_path / "b")
    for value in ("zz", "", "7b", None, b"\xff\xfe", json.dumps([1])):
        database = sqlite3.connect(path, isolation_level=None)
        database.execute("UPDATE meta SET value = ?", (value,))
        database.close()
        assert "PROMPT a" in described(whole(PROVIDER, path)), value


def test_ids_in_capitals(tmp_path: Path) -> None:
    built = Builder().message(user("a"))
    root = built.blob(built.root).hex()
    built.meta["latestRootBlobId"] = root.upper()
    assert described(read(built, tmp_path)) == ["PROMPT a"]


@pytest.mark.parametrize(
    ("name", "title", "expected"),
    [
        ("Named", "Given", "Given"),
        ("Named", None, "Named"),
        ("Named", "New Agent", "Named"),
        ("New Agent", None, "The prompt"),
        ("Untitled", 5, "The prompt"),
        (None, "", "The prompt"),
    ],
)
def test_titles(tmp_path: Path, name: Any, title: Any, expected: str) -> None:
    beside = {} if title is None else {"title": title}
    assert read(Builder(name=name).message(user("The prompt")), tmp_path, **beside).title == expected


def test_resume(tmp_path: Path) -> None:
    session = read(harbour(), tmp_path)
    assert PROVIDER.resume_command(session) == ["cursor-agent", "--resume", session.id]
    session.id = "x; rm -rf /"
    assert PROVIDER.resume_command(session) is None

"""Cursor's transcripts of JSON lines: the rules of formats note 3.3 and 3.5, one by one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.message import Flag, Kind, SpanRole
from schemas.opening import head_of
from schemas.provider import Head, read_head
from schemas.providers.cursor import PROVIDER
from schemas.session import Lack, Op, Session
from tests.fixtures.cursor.transcripts import agent, asked, child, ended, lines, odd, today, use, user
from tests.schemas.conformance import assert_builds_clean, assert_nothing_lost, assert_sums, described, facts, whole
from viewer.follow.follower import Follower

UUID = "6a1f0c1e-0000-4000-8000-00000000000a"


def read(path: Path) -> Session:
    return whole(PROVIDER, path, beside=False)


@pytest.fixture
def session_of(tmp_path: Path) -> Any:
    def made(*records: dict[str, Any]) -> Session:
        path = tmp_path / f"{UUID}.jsonl"
        path.write_bytes(lines(*records))
        session = read(path)
        assert_nothing_lost(session, path.read_bytes())
        assert_sums(session)
        assert_builds_clean(session)
        return session

    return made


def tools(session: Session) -> list[Any]:
    return [m.tool for i in range(len(session.messages)) if (m := session.message(i)).tool]


def statuses(session: Session) -> list[str]:
    return [str(tool.status) for tool in tools(session)]


# -- what a session says -----------------------------------------------------------------------------------------------


def test_a_session_of_today(session_of):
    session = session_of(*today())
    assert described(session) == [
        "CONTEXT <user_info> OS Version: linux 6.8 Workspace Path: /srv/lamp",
        "PROMPT Mend the lamp in lamp.py",
        "TEXT I look at it first.",
        "THINKING Thinking withheld by the provider",
        "TOOL Read",
        "TOOL Subagent",
        "TOOL ApplyPatch",
        "TEXT The lamp is **on**.",
        "PROMPT Now test it",
        "TOOL Shell",
        "INTERRUPT User aborted/interrupted manually.",
    ]
    assert (session.title, session.workspace_root) == ("Mend the lamp in lamp.py", "/srv/lamp")
    assert session.lacks == {Lack.TOKENS, Lack.RESULTS, Lack.THINKING}
    assert [e.interrupted for e in session.exchanges] == [False, False, True]
    assert session.usage() is None and session.hidden == {"turn_ended": 1}


def test_ids_are_made_of_the_offset(session_of):
    session = session_of(user("hi"), agent("one", "two"))
    first = len(lines(user("hi")))
    assert [session.message(i).id for i in range(3)] == ["@0:1", f"@{first}:1", f"@{first}:2"]
    assert session.messages.key[1] != session.messages.key[2]


def test_the_agents_lines_inherit_the_prompts_time(session_of):
    session = session_of(
        agent("before"),
        asked("one", "Wednesday, Sep 16, 2026, 3:37 PM (UTC-4)"),
        agent("a"),
        asked("two"),
        agent("b"),
    )
    time = 1_789_587_420.0
    assert [session.messages.when(i) for i in range(5)] == [None, time, time, None, None]
    assert (session.created, session.updated) == (time, time)
    assert session.exchanges[1].started == time and session.exchanges[1].duration is None
    assert Lack.TIMES not in session.lacks


def test_tokens_are_never_told_and_the_rest_as_observed(session_of):
    assert session_of(user("hi"), agent("yes")).lacks == set(Lack)
    assert session_of(*odd()).lacks == {Lack.TOKENS, Lack.TIMES}


def test_content_may_be_a_text_or_hold_texts(session_of):
    records = [{"role": role, "message": {"content": content}} for role, content in (("user", "a"), ("assistant", "b"))]
    records.append({"role": "assistant", "message": {"content": ["c", {"text": "d"}]}})
    assert described(session_of(*records)) == ["PROMPT a", "TEXT b", "TEXT c", "TEXT d"]


def test_redacted_text_is_withheld_thinking(session_of):
    session = session_of(user("q"), agent("[REDACTED]", "answer\n\n[REDACTED]\n", "not [REDACTED] here"))
    assert [Kind(k).name for k in session.messages.kind] == ["PROMPT", "THINKING", "TEXT", "THINKING", "TEXT"]
    assert [session.messages.has(i, Flag.WITHHELD) for i in range(5)] == [False, True, False, True, False]
    assert session.message(2).text == "answer" and session.message(4).text == "not [REDACTED] here"


def test_what_is_redacted_for_the_user_is_no_prompt(session_of):
    session = session_of(
        {"role": "user", "message": {"content": [{"type": "redacted", "data": "[REDACTED]"}]}}, user("[REDACTED]")
    )
    assert [Kind(k) for k in session.messages.kind] == [Kind.CONTEXT, Kind.CONTEXT]
    assert session.live_exchanges == []


def test_images_are_placeholders_of_the_prompt(session_of):
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    record = user("<image_files>\n1. /tmp/a.png\n</image_files>\n<user_query>look</user_query>")
    record["message"]["content"].append(image)
    message = session_of(record).message(0)
    assert [(part.type, part.text) for part in message.parts] == [
        ("text", "look"),
        ("image", "[image /tmp/a.png]"),
        ("image", "[image image/png, 3 bytes]"),
    ]


def test_a_prompt_may_be_an_image_alone(session_of):
    session = session_of({"role": "user", "message": {"content": [{"type": "image", "data": "AAAA"}]}})
    assert session.exchanges[0].opener is Kind.PROMPT and session.message(0).parts[0].type == "image"


def test_unknown_blocks_and_records_are_shown_and_counted(session_of):
    session = session_of(
        user("q"), agent({"type": "hologram", "x": 1}), {"type": "future"}, {"role": "user", "message": 3}, {"x": 1}
    )
    assert session.unknown == {"content hologram": 1, "future": 1, "user": 1, "(no type)": 1}
    assert '"hologram"' in session.message(1).text


def test_what_holds_nothing_is_counted(session_of):
    session = session_of(
        {"role": "user", "message": {}}, {"role": "assistant", "message": {"content": []}}, ended(), agent("")
    )
    assert session.hidden == {"user without content": 1, "assistant without content": 2, "turn_ended": 1}


# -- how turns end -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        ("success", None, None),
        ("aborted", "User aborted/interrupted manually.", Kind.INTERRUPT),
        ("aborted", None, Kind.INTERRUPT),
        ("error", "User aborted request", Kind.INTERRUPT),
        ("error", "Connection lost", Kind.ERROR),
        ("error", {"code": 5}, Kind.ERROR),
        ("exploded", None, Kind.ERROR),
        (None, None, None),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_the_end_of_a_turn_marks_its_exchange(session_of, status, error, kind, inside):
    end = {"type": "turn_ended", "status": status, "error": error}
    session = session_of(user("q"), agent("a", end)) if inside else session_of(user("q"), agent("a"), end)
    exchange = session.exchanges[0]
    assert [Kind(k) for k in session.messages.kind][2:] == ([] if kind is None else [kind])
    assert (exchange.interrupted, exchange.errors) == (kind is Kind.INTERRUPT, int(kind is Kind.ERROR))


def test_a_use_is_pending_until_something_follows(session_of):
    records = [user("q"), agent(use("Read", {"path": "a"}), use("Read", {"path": "b"}))]
    assert statuses(session_of(*records)) == ["pending", "pending"]
    assert statuses(session_of(*records, agent("done"))) == ["ok", "ok"]
    assert statuses(session_of(*records, ended())) == ["ok", "ok"]
    assert statuses(session_of(*records, ended("aborted"))) == ["interrupted", "interrupted"]
    assert statuses(session_of(*records, agent("x"), ended("aborted"))) == ["ok", "ok"]


# -- results -----------------------------------------------------------------------------------------------------------


def test_results_join_their_uses_in_order(session_of):
    session = session_of(
        user("q"),
        agent(use("Read", {"path": "a"}), use("Shell", {"command": "ls"})),
        agent({"type": "tool_result", "content": [{"type": "text", "text": "A"}]}),
        agent(
            {
                "type": "command_output",
                "output": "Exit code: 2\n\nCommand output:\n\n```\nB\n```\n\nCommand completed in 9 ms.",
            }
        ),
        agent(use("Read", {"path": "c"})),
        agent(use("Read", {"path": "d"}), {"type": "tool_result", "output": "C", "is_error": True}),
    )
    assert [(t.text, t.exit_code, str(t.status)) for t in tools(session)] == [
        ("A", None, "ok"),
        ("B", 2, "error"),
        ("C", None, "error"),
        ("", None, "pending"),
    ]
    assert [s.role for s in session.message_spans(1)] == [SpanRole.BODY, SpanRole.RESULT]
    assert session.exchanges[0].errors == 2 and session.messages.has(2, Flag.ERROR)
    assert session.messages.chars[1] == 1


def test_ids_pair_where_a_version_has_them(session_of):
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"result {n}"} for n in (2, 1, 9)]
    session = session_of(
        user("q"),
        agent(use("Read", {"path": "a"}, id="t1"), use("Read", {"path": "b"}, id="t2")),
        {"role": "user", "message": {"content": results}},
    )
    assert [(t.use_id, t.text) for t in tools(session)] == [("t1", "result 1"), ("t2", "result 2")]
    assert described(session)[-1] == "OUTPUT result 9"
    assert len(session.exchanges) == 1


def test_results_without_a_use_are_shown(session_of):
    session = session_of(agent({"type": "tool_result", "content": "x"}, {"type": "command_output", "output": "$ y"}))
    assert described(session) == ["OUTPUT x", "OUTPUT $ y"]
    assert Lack.RESULTS not in session.lacks


def test_a_prompt_ends_the_waiting_for_results(session_of):
    session = session_of(user("a"), agent(use("Read", {})), user("b"), agent({"type": "tool_result", "content": "x"}))
    assert described(session) == ["PROMPT a", "TOOL Read", "PROMPT b", "OUTPUT x"]


# -- recognised --------------------------------------------------------------------------------------------------------


def _head(*records: Any) -> Head:
    return read_head(Path("x"), b"".join(json.dumps(r).encode() + b"\n" for r in records), whole=True)


@pytest.mark.parametrize(
    "first",
    [
        user("hi"),
        agent(use("Read", {})),
        {"role": "assistant", "message": {"content": "text"}},
        ended(),
        ended("error", error="x"),
    ],
)
def test_any_line_of_a_transcript_tells_it(first):
    assert PROVIDER.detect(_head(first)) and PROVIDER.detect(_head(first, agent("x")))


def test_a_line_that_tells_nothing_may_stand_first():
    assert PROVIDER.detect(_head({"role": "system", "message": {"content": "x"}}, user("hi")))
    assert PROVIDER.detect(_head({"role": "user", "message": {}}, user("hi")))


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user", "content": "an API's line"},
        {"type": "user", "message": {"role": "user", "content": "Claude"}},
        {"type": "message", "role": "user", "message": {"content": "x"}},
        {"role": "user", "id": "1", "message": {"content": "x"}},
        {"role": "assistant", "message": {"id": "msg_1", "content": []}},
        {"role": "assistant", "message": {"role": "assistant", "content": []}},
        {"role": "user", "message": {"content": "x"}, "timestamp": "2026-01-01T00:00:00Z"},
        {"role": "user", "message": "x"},
        {"role": "user", "message": {"content": 5}},
        {"type": "turn_ended", "status": "success", "session_id": "x"},
        {"type": "turn_ended"},
        {},
    ],
)
def test_lines_of_others_are_not_claimed(record):
    assert not PROVIDER.detect(_head(record, record))


# -- hostile -----------------------------------------------------------------------------------------------------------


def test_a_line_with_very_many_blocks(session_of):
    session = session_of(user("q"), agent(*["x"] * 50_000))
    assert len(session.messages) == 50_001


def test_two_lines_glued_together_and_half_a_line(tmp_path):
    path = tmp_path / "x.jsonl"
    whole = lines(user("one"))
    path.write_bytes(lines(user("zero")) + whole[:20] + whole[:-1] + lines(agent("two")) + whole[:30])
    session = read(path)
    assert described(session) == ["PROMPT zero", "PROMPT one", "TEXT two"]
    assert [u.line for u in session.unreadable] == [2, 3]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("[REDACTED]"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["type", "text", "name", "input", "content", "output", "status", "error", "thinking", "id", "call", "path"]
    ), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
_TYPES = st.sampled_from(
    ["text", "tool_use", "tool_result", "command_output", "thinking", "turn_ended", "image", "file"]
)
_BLOCK = st.builds(lambda kind, rest: {**rest, "type": kind} if isinstance(rest, dict) else rest, _TYPES, _JSON)
_RECORD = st.builds(
    lambda role, content: {"role": role, "message": {"content": content}},
    st.sampled_from(["user", "assistant", "tool", "system"]),
    st.lists(_BLOCK, max_size=4) | _JSON,
)


@given(records=st.lists(_RECORD | _JSON.filter(lambda v: isinstance(v, dict)), min_size=1, max_size=8), data=st.data())
def test_anything_is_read_whole_as_in_pieces(tmp_path, records, data):
    path = tmp_path / f"{UUID}.jsonl"
    raw = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    path.write_bytes(raw)
    whole = read(path)
    assert_nothing_lost(whole, raw)
    assert_sums(whole)
    assert_builds_clean(whole)
    cut = data.draw(st.integers(0, len(raw)))
    path.write_bytes(raw[:cut])
    reading = PROVIDER.open(path)
    reading.step()
    with path.open("ab") as file:
        file.write(raw[cut:])
    reading.step()
    reading.finish()
    assert facts(reading.session) == facts(whole)
    assert reading.session.lacks == whole.lacks


# -- live --------------------------------------------------------------------------------------------------------------


def _follow(path: Path) -> Follower:
    follower = Follower(path)
    while not follower.loaded:
        follower.step()
    return follower


def test_appended_lines_are_told(tmp_path):
    path = tmp_path / f"{UUID}.jsonl"
    path.write_bytes(lines(user("q"), agent(use("Shell", {"command": "ls"}))))
    follower = _follow(path)
    session = follower.session
    assert session.messages.has(1, Flag.PENDING)
    with path.open("ab") as file:
        file.write(lines(agent("done")))
    assert [(c.op, c.message) for c in follower.poll()] == [(Op.UPDATED, 1), (Op.APPENDED, 2)]
    assert follower.session is session and not session.messages.has(1, Flag.PENDING)
    follower.close()


def test_a_file_rewritten_smaller_is_read_anew(tmp_path):
    path = tmp_path / f"{UUID}.jsonl"
    path.write_bytes(lines(*today()))
    follower = _follow(path)
    path.write_bytes(lines(user("afresh")))
    changes = follower.poll()
    while not follower.loaded:
        changes += follower.step()
    assert Op.RESTARTED in {change.op for change in changes}
    assert described(follower.session) == ["PROMPT afresh"]
    follower.close()


# -- beside it ---------------------------------------------------------------------------------------------------------


def _project(tmp_path: Path) -> Path:
    folder = tmp_path / ".cursor" / "projects" / "srv-lamp" / "agent-transcripts" / UUID
    folder.mkdir(parents=True)
    path = folder / f"{UUID}.jsonl"
    path.write_bytes(lines(*today()))
    return path


def test_subagents_are_linked_by_their_prompt(tmp_path):
    path = _project(tmp_path)
    follower = _follow(path)
    assert follower.session.subagents == []
    (path.parent / "subagents").mkdir()
    run = path.parent / "subagents" / "6a1f0c1e-0000-4000-8000-00000000000b.jsonl"
    run.write_bytes(b"")
    assert follower.reading.refresh() == []
    run.write_bytes(lines(*child()))
    changes = follower.reading.refresh()
    subagent = follower.session.subagents[0]
    assert [(c.op, c.message) for c in changes] == [(Op.UPDATED, 5)]
    assert (subagent.tool_use, subagent.name, subagent.description) == (5, "explore", "Find bulbs")
    assert follower.session.message(5).tool.subagent == subagent.id == run.stem
    assert follower.reading.refresh() == []
    follower.close()
    assert read(run).lineage.parent == UUID


def test_a_subagent_nobody_asked_for_is_listed(tmp_path):
    path = _project(tmp_path)
    (path.parent / "subagents").mkdir()
    (path.parent / "subagents" / "b.jsonl").write_bytes(lines(user("Something else")))
    reading = PROVIDER.open(path)
    reading.step()
    reading.refresh()
    assert [(s.id, s.tool_use, s.description) for s in reading.session.subagents] == [("b", None, "Something else")]


def test_the_other_transcript_of_the_same_id_is_named(tmp_path):
    path = _project(tmp_path)
    other = path.parents[3] / "srv-other" / "agent-transcripts" / f"{UUID}.jsonl"
    other.parent.mkdir(parents=True)
    other.write_bytes(lines(user("other")))
    reading = PROVIDER.open(path)
    reading.step()
    reading.refresh()
    assert reading.session.metadata == {"otherTranscripts": [str(other)]}


def test_a_pipe_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        PROVIDER.open(tmp_path / "pipe")


def test_the_head_of_a_file_tells_it(tmp_path):
    path = tmp_path / "session.bin"
    path.write_bytes(lines(user("x" * 200_000), agent("y")))
    assert PROVIDER.detect(head_of(path))

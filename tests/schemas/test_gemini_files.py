"""Where Gemini CLI's sessions lie, whose they are, and how they are followed (formats note 1.1, 1.2, 1.8)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from schemas.opening import OpenError, head_of, recognise
from schemas.provider import Location, Problem, SessionFile
from schemas.providers.gemini import PROVIDER
from schemas.session import Change, Op, Session
from tests.fixtures import gemini as g
from tests.schemas.conformance import described, facts, whole
from tests.support import catch_up
from viewer.follow.follower import Follower

NAME = "session-2026-05-28T20-26-5e551011"


def found(home: Path) -> list[SessionFile]:
    problems: list[Problem] = []
    files = list(PROVIDER.find(Location(home / ".gemini" / "tmp", "test"), problems))
    assert not problems
    return files


def put(home: Path, project: str, name: str, records: list[dict[str, Any]] | None = None) -> Path:
    return g.write_lines(home / ".gemini" / "tmp" / project / "chats" / name, records or [g.header()])


# -- discovery ---------------------------------------------------------------------------------------------------------


def test_a_copied_session_is_one_and_the_slugs_is_it(tmp_path: Path) -> None:
    old = put(tmp_path, "ab" * 32, f"{NAME}.jsonl")
    new = put(tmp_path, "lamp-shop", f"{NAME}.jsonl")
    os.utime(old, (2e9, 2e9))
    os.utime(new, (1e9, 1e9))
    assert [(file.path, file.id) for file in found(tmp_path)] == [(new, "5e551011")]


def test_the_log_beats_the_document_wherever_it_lies(tmp_path: Path) -> None:
    put(tmp_path, "lamp-shop", f"{NAME}.json")
    log = put(tmp_path, "ab" * 32, f"{NAME}.jsonl")
    assert [file.path for file in found(tmp_path)] == [log]


def test_what_a_resume_leaves_beside_a_session_is_not_another(tmp_path: Path) -> None:
    """found-claude-codex-gemini-qwen.md, G4: a header and context, under the id of the session that goes on."""
    context = {"$set": {"messages": [g.user("c", 1, "<session_context>\nThe project.\n</session_context>")]}}
    path = put(tmp_path, "lamp-shop", f"{NAME}.jsonl", g.lamp_log())
    put(tmp_path, "lamp-shop", "session-2026-05-28T20-27-5e551011.jsonl", [g.header(), context])
    talks = put(tmp_path, "lamp-shop", "session-2026-05-28T20-28-5e551011.jsonl", [g.header(), g.user("u", 1, "Hi")])
    copy = put(tmp_path, "copied", "session-2026-05-28T20-29-5e551011.jsonl", [g.header(), g.user("u", 1, "Hi")])
    assert {file.path for file in found(tmp_path)} == {path, talks, copy}


def test_only_sessions_are_listed(tmp_path: Path) -> None:
    put(tmp_path, "lamp-shop", f"{NAME}.jsonl.unreadable-1780000000000")
    put(tmp_path, "lamp-shop", f"{NAME}.jsonl.tmp-77")
    put(tmp_path, "lamp-shop", "notes.jsonl")
    put(tmp_path, "lamp-shop", f"{g.SESSION}/sub-1.jsonl")
    put(tmp_path, "lamp-shop", "session-odd.jsonl")
    (tmp_path / ".gemini" / "tmp" / "bin").write_text("a file among the folders")
    assert [file.id for file in found(tmp_path)] == ["session-odd"]
    assert found(tmp_path / "nowhere") == []


def test_a_folder_that_cannot_be_read_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "lamp-shop", f"{NAME}.jsonl")
    scandir = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("chats"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    problems: list[Problem] = []
    assert list(PROVIDER.find(Location(tmp_path / ".gemini" / "tmp", "test"), problems)) == []
    assert [problem.reason for problem in problems] == ["permission denied"]


# -- what the agent does with them -------------------------------------------------------------------------------------


def test_resuming(tmp_path: Path) -> None:
    session = Session("gemini", "Gemini CLI", tmp_path, g.SESSION)
    assert PROVIDER.resume_command(session) == ["gemini", "--resume", g.SESSION]
    assert PROVIDER.resume_command(Session("gemini", "Gemini CLI", tmp_path, "-x; rm")) is None


# -- recognised by content ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"sessionId":"s","projectHash":"h"}\n',
        '{"id":"a","type":"gemini","content":"x"}\n',
        '{"broken\n{"$set":{"lastUpdated":"x"}}\n',
        '{"$rewindTo":"a"}\n',
        '[{"role":"user","parts":[]}]',
    ],
)
def test_what_is_recognised(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    assert recognise(head_of(tmp_path / "x")) is PROVIDER


@pytest.mark.parametrize(
    "text",
    [
        '{"id":"a","type":"user","content":"x"}\n',
        '{"sessionId":"s","messages":[]}',
        '{"sessionId":"s","messages":[{"type":"other"}]}',
        '[{"role":"user","text":"x"}]',
        '{"history":[]}',
        '{"projects":{"/x":"x"}}',
    ],
)
def test_what_is_not(tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    with pytest.raises(OpenError):
        recognise(head_of(tmp_path / "x"))


# -- following ---------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document that took long to read is left alone for a while; on a busy machine any may."""
    monkeypatch.setattr("viewer.follow.follower._QUICK_READ", float("inf"))


def loaded(path: Path) -> Follower:
    follower = Follower(path)
    while not follower.loaded:
        follower.step()
    return follower


def changes_of(follower: Follower) -> list[tuple[str, int]]:
    return [(str(op), index) for op, index in catch_up(follower)]


def test_a_growing_log_is_followed_by_message(tmp_path: Path) -> None:
    path = g.write_lines(tmp_path / "s.jsonl", [g.header(), g.user("u", 1, "Go"), g.answer("a", 2, "On it")])
    follower = loaded(path)
    session = follower.session

    def write(*records: dict[str, Any]) -> list[tuple[str, int]]:
        with path.open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        return changes_of(follower)

    last = g.answer("a", 2, "On it", toolCalls=[g.call("t", "glob", {}, "x")], tokens=g.tokens(5, 5))
    assert write(last) == [("updated", 0), ("updated", 1), ("appended", 2)], "the figures are the exchange's too"
    assert write(g.user("u2", 3, "Stop"), g.answer("a2", 4, "Why")) == [("appended", 3), ("appended", 4)]
    assert write({"$rewindTo": "u2"}) == [("updated", 3), ("updated", 4)]
    assert write({"$set": {"summary": "Going"}}) == []
    assert follower.session.title == "Going", "no message changed, and the title is there"
    assert write({"$set": {"lastUpdated": g.at(9)}}) == []
    assert write({"$set": {"messages": [g.user("s", 5, "<state_snapshot>x</state_snapshot>"), last]}}) == [
        ("appended", 5)
    ]
    assert follower.session is session, "history only grew"
    assert write(g.answer("a", 2, "On it", thoughts=["Late"], toolCalls=last["toolCalls"])) == [("appended", 6)]
    assert follower.session is session
    assert facts(follower.session) == facts(whole(PROVIDER, path, beside=False))
    follower.close()


def test_a_half_written_line_waits(tmp_path: Path) -> None:
    path = g.write_lines(tmp_path / "s.jsonl", [g.header()])
    follower = loaded(path)
    line = json.dumps(g.user("u", 1, "Lüster"), ensure_ascii=False).encode() + b"\n"
    half = line.index(b"\xc3") + 1
    with path.open("ab") as file:
        file.write(line[:half])
    assert changes_of(follower) == []
    with path.open("ab") as file:
        file.write(line[half:])
    assert changes_of(follower) == [("appended", 0)]
    follower.close()


def test_a_log_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    path = g.write_lines(tmp_path / "s.jsonl", [g.header(), g.user("u", 1, "Go"), g.answer("a", 2, "On it")])
    follower = loaded(path)
    g.write_lines(tmp_path / "s.jsonl.tmp-1", [g.header(), g.user("u", 1, "Go")]).replace(path)
    assert changes_of(follower) == [("restarted", -1)]
    assert described(follower.session) == ["PROMPT Go"]
    follower.close()


def test_a_document_is_followed_by_what_is_different(tmp_path: Path) -> None:
    document = g.old_document()
    messages = document["messages"]
    path = g.write_json(tmp_path / "s.json", {**document, "messages": messages[:1]})
    follower = loaded(path)
    session = follower.session
    g.write_json(path, document)
    assert changes_of(follower) == [("appended", 1), ("appended", 2), ("appended", 3)]
    path.write_text(json.dumps(document)[:200])
    assert changes_of(follower) == [] and follower.trouble and len(follower.session.messages) == 4
    assert follower.session is session
    g.write_json(path, {**document, "messages": [messages[0], messages[2]]})
    assert changes_of(follower) == [(str(Op.REMOVED), 1), (str(Op.REMOVED), 2)]
    assert described(follower.session) == ["PROMPT Fix the login", "INTERRUPT Request cancelled."]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_that_breaks_off_is_waited_for(
    tmp_path: Path, indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("viewer.follow.follower._RETRY", 1e-9)
    document = g.old_document()
    path = tmp_path / "s.json"
    path.write_text(json.dumps(document, indent=indent))
    follower = loaded(path)
    session = follower.session
    document["messages"][1]["content"] += " Truly."
    document["messages"].append(g.user("o4", 9, "Thanks"))
    text = json.dumps(document, indent=indent)
    for cut in range(0, len(text), 9):
        path.write_text(text[:cut])
        assert [changes_of(follower) for _ in range(3)] == [[], [], []], text[:cut][-40:]
        assert follower.session is session and len(session.messages) == 4
        if cut:
            with pytest.raises(OpenError, match=f"a JSON object that breaks off at byte {cut:,}; not a session"):
                head = head_of(path)
                recognise(head)
    path.write_text(text[:300] + "\0" * 40 + text[340:])
    assert [changes_of(follower) for _ in range(3)] == [[], [], []]
    path.write_text(text)
    assert changes_of(follower) == [("updated", 1), ("updated", 2), ("appended", 4)]
    assert not follower.trouble


def test_a_log_in_a_documents_place_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewer.follow.follower._RETRY", 1e-9)
    path = g.write_json(tmp_path / "s.json", g.old_document())
    follower = loaded(path)
    g.write_lines(path, g.lamp_log())
    assert [change for _ in range(3) for change in changes_of(follower)] == [("restarted", -1)]
    follower.close()


def test_a_title_alone_changes_no_message_of_a_document(tmp_path: Path) -> None:
    path = g.write_json(tmp_path / "s.json", g.old_document())
    follower = loaded(path)
    g.write_json(path, {**g.old_document(), "summary": "Login"})
    assert changes_of(follower) == [] and follower.session.title == "Login"


def test_a_documents_subagents_keep_their_files_when_it_is_read_again(tmp_path: Path) -> None:
    header, *messages = g.lamp_log()
    messages = [message for message in messages if "id" in message]
    path = g.write_json(tmp_path / "chats" / "s.json", {**header, "messages": messages})
    first = g.write_lines(path.parent / g.SESSION / "sub-1.jsonl", g.sub_log())
    follower = loaded(path)
    assert [subagent.path for subagent in follower.session.subagents] == [first]
    messages.append(g.user("new", 50, "Go on"))
    g.write_json(path, {**header, "messages": messages})
    assert [op for op, _ in changes_of(follower)] == ["appended"]
    assert [subagent.path for subagent in follower.session.subagents] == [first]
    second = g.write_lines(path.parent / g.SESSION / "sub-2.jsonl", g.sub_log())
    g.write_json(path, {**header, "messages": messages[:-1]})
    assert [op for op, _ in changes_of(follower)] == ["removed"]
    assert [subagent.path for subagent in follower.session.subagents] == [first, second]


def test_a_subagents_file_is_found_while_following(tmp_path: Path) -> None:
    path = g.write_lines(tmp_path / "chats" / "s.jsonl", g.lamp_log())
    reading = PROVIDER.open(path)
    while not reading.done:
        reading.step()
    assert reading.refresh() == [] and not reading.session.subagents
    sub = g.write_lines(path.parent / g.SESSION / "sub-1.jsonl", g.sub_log())
    changes = reading.refresh()
    use = reading.session.subagents[0].tool_use
    assert use is not None and changes == [Change(Op.UPDATED, use)]
    assert reading.session.subagents[0].path == sub and reading.refresh() == []

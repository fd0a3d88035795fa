"""What goes wrong with one file stays with that file, and is said."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from renderers.document import Document
from renderers.html import render as html
from renderers.markdown import render as markdown
from renderers.options import Include
from renderers.plain import render as plain
from schemas.interchange.registry import readers
from schemas.interchange.session_data_write import to_session_data
from schemas.interchange.toolpath_write import to_toolpath
from schemas.message import Kind
from schemas.opening import OpenError, head_of, read_session, recognise
from schemas.provider import Environment, Head, Location, Problem, SessionFile, read_head
from schemas.providers import each_provider, providers
from schemas.providers.kit.reader import Reader
from schemas.session import Session
from schemas.troubles import Failure, bug, guarded
from tests.schemas.claude_lines import SESSION, Lines
from viewer.sessions.discover import discover

ODD: list[Any] = [
    {"type": [], "payload": {}},
    {"type": {}, "message": {}, "uuid": [], "sessionId": {}, "parentUuid": 1},
    {"type": "message", "role": [], "content": [[]]},
    {"type": 1e308, "role": "user", "message": [], "timestamp": 10**400},
    {"PathOpen": {"path": [], "meta": []}, "type": None},
    {"role": {}, "message": {"content": [{"type": []}]}},
    {"provider": [], "session_id": {}, "usage": [], "type": True},
    {"id": [], "timestamp": {}, "instructions": [], "record_type": {}},
    {"sessionId": [], "projectHash": {}, "$set": [], "messages": {"a": 1}},
]


@pytest.mark.parametrize("value", ODD, ids=lambda value: str(next(iter(value.items()))))
def test_no_detector_fails_on_a_field_of_another_type(value: Any) -> None:
    """faults f02: of what is in a file nobody promised anything."""
    import json

    data = json.dumps(value).encode()
    for text in (data, data + b"\n", b"[" + data + b"]", data + b"\n" + data + b"\n"):
        head = read_head(Path("x"), text, whole=True)
        for provider in chain(each_provider(), readers()):
            assert provider.detect(head) in (True, False)


class Broken:
    """A provider that fails on everything."""

    id, name, formats, counting = "broken", "Broken", (), ""

    def locations(self, env: Environment) -> list[Location]:
        return [Location(env.home, "default")]

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        yield SessionFile(self.id, str(location.path / "first"), "first", 1, 1)
        raise TypeError("unhashable type: 'list'")

    def detect(self, head: Head) -> bool:
        raise KeyError("type")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    lines = Lines()
    lines.user("Fix the lamp")
    lines.use("Bash", given={"command": "make"})
    lines.result("made")
    lines.say("It shines")
    return lines.write(tmp_path / ".claude" / "projects" / "-x")


def test_a_detector_that_fails_does_not_keep_the_others_from_being_asked(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("schemas.opening.likely", lambda head: iter([Broken(), *each_provider()]))
    assert recognise(head_of(session)).id == "claude"
    other = tmp_path / "x"
    other.write_bytes(b"hello\n")
    with pytest.raises(OpenError, match=r"not a session turnlog knows.*; Broken: turnlog failed on it, a bug: KeyErr"):
        recognise(head_of(other))


def test_an_agent_that_fails_takes_no_other_agents_sessions_away(session: Path, tmp_path: Path) -> None:
    env = Environment({}, tmp_path, "linux")
    found = discover(env, [Broken(), providers()["claude"]])  # type: ignore[list-item]
    assert {file.id for file in found.files} == {"first", SESSION}
    (problem,) = found.problems
    assert problem == Problem(tmp_path, "turnlog failed on it, a bug: TypeError: unhashable type: 'list'")
    monkey = type("Lost", (Broken,), {"locations": lambda self, env: {}["home"]})
    found = discover(env, [monkey(), providers()["claude"]])
    assert [file.id for file in found.files] == [SESSION]
    assert found.problems == [Problem(tmp_path, "Broken: turnlog failed on it, a bug: KeyError: 'home'")]


@pytest.mark.parametrize(
    "error", [KeyError("x"), MemoryError(), OverflowError("too large"), AssertionError()], ids=repr
)
@pytest.mark.parametrize("where", ["feed", "refresh"])
def test_what_a_parser_fails_on_is_the_trouble_of_the_file(
    session: Path, monkeypatch: pytest.MonkeyPatch, where: str, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Reader, where, fail)
    with pytest.raises(OpenError) as caught:
        read_session(session)
    assert caught.value.reason == bug(error) and type(error).__name__ in caught.value.reason
    assert isinstance(caught.value.__cause__, Failure)


def test_what_is_no_bug_passes() -> None:
    for error in (OSError(28, "No space left"), OpenError("x", "gone"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught, guarded():
            raise error
        assert caught.value is error


@pytest.mark.parametrize("number", range(3))
def test_a_message_that_cannot_be_made_is_shown_as_it_was_written(session: Path, number: int) -> None:
    read = read_session(session)
    build = read.build

    def fail(of: Session, index: int) -> Any:
        return {}["secret"] if index == number else build(of, index)

    read.build = fail
    message = read.message(number)
    assert message.kind is Kind.UNKNOWN and '"sessionId"' in message.text and "KeyError" in message.label
    assert [read.message(i).kind for i in range(3) if i != number] == [
        read.messages.kind_of(i) for i in range(3) if i != number
    ]
    texts = ["".join(write(Document(read, Include()))) for write in (markdown, html, plain)] + [
        b"".join(write(read)).decode() for write in (to_session_data, to_toolpath)
    ]
    for text in texts[:3]:
        assert "Could not be shown: turnlog failed on it, a bug: KeyError" in text
    for text in texts:
        assert all(word in text for word in ("Fix the lamp", "make", "It shines"))


@pytest.mark.parametrize(
    "line",
    [
        '{"sessionId":"s","projectHash":"h"}\n{"id":"u","type":"user","content":[{"text":"\\u001b\\u0000"}]}',  # f06
        '{"type":"stream_event","session_id":"7b1f","uuid":"0",'
        '"event":{"type":"content_block_delta","delta":{"":"input_js"}}}',  # f09
    ],
    ids=["a prompt of control characters", "a delta without a type"],
)
def test_odd_records_are_read(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(line + "\n")
    session = read_session(path)
    assert len(session.messages) and all(session.message(i).id for i in range(len(session.messages)))

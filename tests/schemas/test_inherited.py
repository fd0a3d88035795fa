"""What a fork has copies of goes with it into a document and comes back, as it counts where its parent is gone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from renderers.options import Include
from schemas.costs.responses import Response, inherited_responses, responses
from schemas.opening import read_session
from schemas.session import Inherited, Session
from schemas.table import NONE
from schemas.usage import TokenUsage
from tests.support import Hand
from viewer.commands.export import FORMATS, document

FORMS = ("json",)


def line(name: str, kind: str, text: str, *, copied: bool = False, **usage: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": kind, "content": [{"type": "text", "text": text}]}
    if usage:
        message |= {"id": f"msg_{name}", "model": "claude-x", "type": "message", "usage": usage}
    fork = {"forkedFrom": {"sessionId": "aaaa", "messageUuid": name}} if copied else {}
    time = "2026-03-01T23:59:59.999Z" if copied else "2026-03-03T10:00:00.000Z"
    record = {"type": kind, "uuid": name, "parentUuid": None, "timestamp": time, "sessionId": "bbbb", "version": "2.1"}
    return record | fork | {"cwd": "/w", "isSidechain": False, "message": message}


@pytest.fixture
def fork(tmp_path: Path) -> Session:
    file = tmp_path / "bbbb.jsonl"
    records = [
        line("u1", "user", "begin", copied=True),
        line("a1", "assistant", "begun", copied=True, input_tokens=100, output_tokens=10, cache_read_input_tokens=7),
        line("u2", "user", "go on"),
        line("a2", "assistant", "done", input_tokens=300, output_tokens=30),
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return read_session(file)


def again(session: Session, form: str, folder: Path) -> Session:
    file = folder / f"again{FORMATS[form]}"
    file.write_bytes(b"".join(document(session, form, Include(redact=False), None)))
    return read_session(file)


def copied(session: Session) -> list[Response]:
    return list(inherited_responses(session))


def bare(one: Inherited) -> Inherited:
    return one._replace(span=0)


@pytest.mark.parametrize("form", FORMS)
def test_a_fork_keeps_what_it_inherited(fork: Session, form: str, tmp_path: Path) -> None:
    (own,) = copied(fork)
    assert own.usage.total == 117
    back = again(fork, form, tmp_path)
    assert [replace(one, session=own.session, span=own.span) for one in copied(back)] == [own]
    assert [one.usage for one in responses(back)] == [one.usage for one in responses(fork)]
    assert back.usage() == fork.usage()
    for one in back.inherited.values():
        places = list(back.spans.chain(one.span))
        assert all(back.raw(place) for place in places)
        assert len(places) == 1


@pytest.mark.parametrize("form", ["toolpath", "toolpath-jsonl"])
def test_what_it_inherited_is_named_where_a_format_cannot_hold_it(
    fork: Session, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    back = again(fork, form, tmp_path)
    assert copied(back) == [] and back.usage() == fork.usage()
    assert f"{form}: 1 inherited response left out" in capsys.readouterr().err


@pytest.mark.parametrize("form", FORMS)
def test_every_fact_of_an_inherited_response_is_kept(form: str, tmp_path: Path) -> None:
    hand = Hand()
    hand.prompt("one")
    hand.text("1")
    hand.prompt("two")
    hand.text("2", usage=TokenUsage(1, 2))
    whole = Inherited("m1", TokenUsage(1, 2, 3, 4, 1, 2), "a-model", 1_700_000_000.125, 1, NONE)
    little = Inherited("m2", TokenUsage(None, 5), "", None, 0, NONE)
    hand.session.inherited = {"m1": whole, "m2": little}
    back = again(hand.session, form, tmp_path)
    assert {name: bare(one) for name, one in back.inherited.items()} == {"m1": bare(whole), "m2": bare(little)}


def test_what_cannot_be_an_inherited_response_harms_nothing(fork: Session, tmp_path: Path) -> None:
    said = json.loads(b"".join(document(fork, "json", Include(redact=False), None)))
    odd = [7, {"id": 7, "usage": 7}, {"id": "far", "exchange": 99, "time": "never", "usage": {"inputTokens": 3}}]
    for rows in (odd, "none"):
        said["exchanges"][0]["metadata"]["turnlog"]["session"]["inherited"] = rows
        file = tmp_path / "odd.json"
        file.write_text(json.dumps(said))
        back = read_session(file)
        assert [one.usage.total for one in copied(back)] == ([3] if rows is odd else [])
        assert all(one.exchange < len(back.exchanges) for one in back.inherited.values())


def test_a_format_that_has_no_place_for_them_says_so(fork: Session, tmp_path: Path, capsys: Any) -> None:
    assert again(fork, "agent-response", tmp_path).inherited == {}
    assert "agent-response: 1 inherited response left out, with its tokens\n" in capsys.readouterr().err

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.charges import charges, counted_groups
from schemas.interchange.events import EVENTS
from schemas.interchange.events_check import validate_events
from schemas.interchange.events_read import COUNTERS, EventError, event_of, read_events
from schemas.interchange.events_write import event_line
from schemas.message import Kind
from schemas.opening import head_of, read_session, recognise
from schemas.session import Session
from schemas.usage import TokenUsage
from tests.schemas.conformance import assert_same_in_pieces
from tests.support import Hand

SHARED = Path(__file__).parents[2] / "../shared"
GOLDENS = SHARED / "goldens/tokenledger"


def event(**changes: Any) -> dict[str, Any]:
    usage = dict.fromkeys(COUNTERS, 0) | {"input_tokens": 10, "output_tokens": 2}
    base = {
        "provider": "codex",
        "model": "gpt-5",
        "session_id": "s",
        "timestamp": "2026-02-20T00:00:00Z",
        "usage": usage,
    }
    return {key: value for key, value in (base | changes).items() if value is not ...}


def with_usage(**changes: Any) -> dict[str, Any]:
    usage = event()["usage"] | changes
    return event(usage={key: value for key, value in usage.items() if value is not ...})


def lines(*events: Any) -> bytes:
    return b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in events)


# -- the check -------------------------------------------------------------------------------------------------------


def test_a_good_file_has_no_findings():
    assert validate_events(lines(event(), b"", b"  ", event(extra=1), with_usage(reasoning_tokens=9))) == ([], [])


ERRORS = [
    (b"{", "line 2", "not JSON: "),
    ([], "line 2", "must be an object"),
    (event(provider=...), "line 2", "`provider` is missing"),
    (event(model=5), "line 2: /model", "`model` must be a string, not an integer"),
    (event(session_id=None), "line 2: /session_id", "`session_id` must be a string, not null"),
    (event(timestamp=...), "line 2", "`timestamp` is missing"),
    (event(timestamp="2026-02-20"), "line 2: /timestamp", "RFC 3339"),
    (event(timestamp="2026-02-20T00:00:00"), "line 2: /timestamp", "RFC 3339"),
    (event(timestamp="2026-02-20 00:00:00Z"), "line 2: /timestamp", "RFC 3339"),
    (event(timestamp=1708387200), "line 2: /timestamp", "must be a string"),
    (event(usage=...), "line 2", "`usage` is missing"),
    (event(usage=[]), "line 2: /usage", "must be an object, not an array"),
    (with_usage(cache_read_tokens=...), "line 2: /usage", "`cache_read_tokens` is missing"),
    (with_usage(input_tokens=-1), "line 2: /usage/input_tokens", "at least 0"),
    (with_usage(input_tokens=1.5), "line 2: /usage/input_tokens", "must be an integer"),
    (with_usage(input_tokens=5.0), "line 2: /usage/input_tokens", "must be an integer"),
    (with_usage(input_tokens="5"), "line 2: /usage/input_tokens", "must be an integer, not a string"),
    (with_usage(input_tokens=True), "line 2: /usage/input_tokens", "must be an integer, not a boolean"),
    (with_usage(input_tokens=None), "line 2: /usage/input_tokens", "must be an integer, not null"),
    (with_usage(input_tokens=1 << 64), "line 2: /usage/input_tokens", "a count of more than 64 bits"),
]


@pytest.mark.parametrize(("bad", "path", "words"), ERRORS)
def test_an_error_names_its_line(bad, path, words):
    verdict = validate_events(lines(event(), bad))
    assert not verdict.valid
    assert verdict.errors[0].path == path
    assert words in verdict.errors[0].message


def test_an_empty_name_is_a_warning_and_no_event_at_all_an_error():
    verdict = validate_events(lines(event(session_id="")))
    assert verdict.valid and verdict.warnings == [("line 1: /session_id", "`session_id` is empty")]
    assert not validate_events(b"\n\n").valid


def test_names_in_findings_are_clean():
    verdict = validate_events(lines(event(model={"\x1b[2J": "\x1b]0;x\x07"})))
    assert "\x1b" not in str(verdict)


# -- reading ---------------------------------------------------------------------------------------------------------


def test_events_are_read_and_counters_may_be_missing():
    (one, two) = read_events(lines(event(timestamp="2026-03-01T00:30:00+02:00"), b"", event(usage={"input_tokens": 3})))
    assert one.time.isoformat() == "2026-02-28T22:30:00+00:00"
    assert (one.input, one.output, one.total) == (10, 2, 12)
    assert (two.input, two.output, two.total) == (3, 0, 3)


@pytest.mark.parametrize("bad", [bad for bad, *_ in ERRORS if bad != with_usage(cache_read_tokens=...)][:-1])
def test_a_line_that_is_none_is_named(bad):
    if isinstance(bad, dict) and bad.get("timestamp") == "2026-02-20 00:00:00Z":
        pytest.skip("only the check minds the blank")
    with pytest.raises(EventError, match=r"^line 2: ") as error:
        list(read_events(lines(event(), bad)))
    assert error.value.line == 2


KEYS = st.sampled_from(["provider", "model", "session_id", "timestamp", "usage", *COUNTERS])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=8),
)


@given(JSON)
def test_anything_is_an_event_or_says_why_not(value):
    try:
        assert event_of(value).total >= 0
    except EventError as error:
        assert error.reason


def test_whatever_is_valid_is_read():
    for path in sorted(GOLDENS.glob("*/*.jsonl")) if GOLDENS.is_dir() else []:
        data = path.read_bytes()
        if validate_events(data).valid:
            assert all(list(read_events(data)))


# -- as a session ----------------------------------------------------------------------------------------------------


def opened(tmp_path: Path, data: bytes) -> Session:
    path = tmp_path / "usage.events.jsonl"
    path.write_bytes(data)
    assert recognise(head_of(path)) is EVENTS
    return read_session(path)


def test_a_file_opens_as_a_view_of_what_was_used(tmp_path):
    session = opened(
        tmp_path,
        lines(event(), with_usage(tool_input_tokens=5, cache_write_tokens=7), event(session_id="t", model="o5")),
    )
    assert [exchange.prompt for exchange in session.exchanges] == ["codex · s", "codex · t"]
    assert session.models == ["", "gpt-5", "o5"]
    assert session.usage() == TokenUsage(35, 6, 0, 7)
    assert session.exchange_usage(1) == TokenUsage(10, 2, 0, 0)
    assert [session.message(i).label for i in (0, 3)] == ["codex · s", "codex · t"]
    message = session.message(2)
    assert message.kind == Kind.NOTE and message.label == "gpt-5: 24 tokens"
    assert "tool input 5" in message.text
    assert [span.line for span in session.group_spans(2)] == [3]


def test_what_is_no_event_is_shown_and_counted(tmp_path):
    session = opened(tmp_path, lines(event(), event(timestamp="yesterday"), b"garbage", b'{"type":"other"}'))
    assert sum(session.unknown.values()) == 2
    assert [bad.line for bad in session.unreadable] == [3]
    assert session.message(2).kind == Kind.UNKNOWN and "yesterday" in session.message(2).text
    assert session.usage() == TokenUsage(10, 2, 0, 0)


def test_a_file_of_one_event_and_hostile_names(tmp_path):
    session = opened(tmp_path, lines(event(session_id="\x1b]0;x\x07id", model="m\x1b[2J", provider="p\u202e")))
    shown = f"{session.exchanges[0].prompt}{session.models}{session.message(0)}{session.message(1)}"
    assert "\x1b" not in shown and "\u202e" not in shown


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, 2000), max_size=4))
def test_reading_while_it_grows_gives_the_same(cuts, tmp_path_factory):
    data = lines(event(), event(session_id="t"), b'{"no":"event"}', with_usage(cache_read_tokens=4))
    assert_same_in_pieces(EVENTS, data, tmp_path_factory.mktemp("events"), cuts, "x.jsonl")


def test_a_file_opens_in_the_middle(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(event(), event(session_id="t")))
    reading = EVENTS.open(path, start=5)
    reading.step()
    assert [exchange.prompt for exchange in reading.session.exchanges] == ["codex · t"]


# -- writing ---------------------------------------------------------------------------------------------------------

COUNT = st.none() | st.integers(0, 10**9)
USAGES = st.builds(TokenUsage, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT).filter(lambda usage: usage.total)


def written(session: Session) -> bytes:
    return b"".join(filter(None, (event_line(session, charge) for charge in charges(session))))


@settings(deadline=None)
@given(usages=st.lists(USAGES, min_size=1, max_size=5), model=st.sampled_from([None, "claude-opus-5", "gpt-5"]))
def test_a_session_written_and_read_has_the_same_responses(usages, model, tmp_path_factory):
    hand = Hand()
    hand.prompt("go")
    for usage in usages:
        hand.text("done", usage=usage, model=model)
    data = written(hand.session)
    assert validate_events(data) == ([], [])
    again = opened(tmp_path_factory.mktemp("events"), data)
    assert [again.groups.usage[g] for g in range(len(again.groups))] == usages
    assert again.groups.ids == hand.session.groups.ids
    assert again.usage() == hand.session.usage()
    assert list(again.messages.time)[1:] == list(hand.session.messages.time)[1:]
    ours, theirs = ([(c.provider, c.model or "unknown", c.session_id, c.time) for c in charges(s)]
                    for s in (hand.session, again))  # fmt: skip
    assert ours == theirs
    assert written(again) == data


def test_input_is_without_cache_and_times_are_utc():
    hand = Hand("codex")
    hand.prompt("go")
    hand.text("done", usage=TokenUsage(3, 4, 100, None, 2), model="gpt-5")
    value = json.loads(written(hand.session))
    assert value["timestamp"].endswith("Z")
    assert value["usage"] == dict.fromkeys(COUNTERS, 0) | {
        "input_tokens": 3,
        "output_tokens": 4,
        "cache_read_tokens": 100,
    }
    assert value["turnlog"] == {"group": "g1", "reasoning_tokens": 2, "unknown": ["cache_write_tokens"]}


def test_what_a_parser_took_back_is_no_charge():
    hand = Hand()
    hand.prompt("go")
    hand.text("copied", usage=TokenUsage(1, 2))
    hand.text("own", usage=TokenUsage(3, 4))
    hand.session.exchanges[0].groups.remove(0)
    assert counted_groups(hand.session) == [1]
    assert [charge.group for charge in charges(hand.session)] == [1]


def test_without_any_time_there_is_no_event():
    hand = Hand()
    hand.prompt("go")
    hand.text("done", usage=TokenUsage(1, 2))
    session = hand.session
    session.messages.time[1] = float("nan")
    session.exchanges[0].ended = session.updated = None
    assert [event_line(session, charge) for charge in charges(session)] == [None]

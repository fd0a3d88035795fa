from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import html, markdown, plain
from renderers.document import Document
from renderers.options import Include
from schemas.costs.responses import counted_groups, responses
from schemas.interchange.events import (
    COUNTERS,
    EVENTS,
    EventError,
    event_line,
    event_of,
    is_event,
    read_events,
    validate_events,
)
from schemas.message import Kind
from schemas.opening import head_of, read_session, recognise
from schemas.session import Change, Op, Session
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
    (
        with_usage(input_tokens=1 << 64),
        "line 2: /usage/input_tokens",
        "must be at most 18446744073709551615, not 18446744073709551616",
    ),
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


def table(session: Session) -> dict[str, list[str]]:
    """The rows of the sums, by their first cell."""
    rows = [line.strip("| ").split(" | ") for line in session.message(1).text.split("\n") if line.startswith("| ")]
    return {cells[0].strip(" *"): [cell.strip(" *") for cell in cells[1:]] for cells in rows}


def test_a_file_opens_as_a_view_of_what_was_used(tmp_path):
    session = opened(
        tmp_path,
        lines(
            event(),
            with_usage(tool_input_tokens=5, cache_write_tokens=7),
            event(session_id="t", model="o5", provider="x", timestamp="2026-02-21T01:00:00+02:00"),
        ),
    )
    assert [exchange.prompt for exchange in session.exchanges] == ["Usage", "Events"]
    assert session.models == ["", "gpt-5", "o5"]
    assert session.usage() == TokenUsage(35, 6, 0, 7)
    assert session.exchange_usage(0) is None and session.exchange_usage(1) == session.usage()
    assert [session.message(i).label for i in (0, 2)] == ["Usage", "Events"]
    rows = table(session)
    assert rows["by model"] == ["calls", "input", "cache read", "cache write", "output", "total", "cost"]
    assert rows["gpt-5"][:6] == ["2", "25", "0", "7", "4", "36"]
    assert rows["s"] == rows["codex"] == rows["gpt-5"]
    assert rows["t"] == rows["x"] == rows["o5"] == ["1", "10", "0", "0", "2", "12", "-"]
    assert rows["total"][:6] == ["3", "35", "0", "7", "6", "48"]
    assert rows["total"][6] == rows["gpt-5"][6] + "+"  # one call of them has no price
    assert "by day (UTC)" not in rows  # one o'clock two hours east of it is the day before
    assert session.message(1).text.endswith("1 call has no price and is not in the cost: o5 (1).")
    message = session.message(5)
    assert message.kind == Kind.NOTE and message.label == "2026-02-20 00:00 gpt-5      s       "
    assert message.figures.split()[:5] == ["15", "0", "7", "2", "24"]
    assert "tool input 5" in message.text and "codex · gpt-5 · s · 2026-02-20T00:00:00" in message.text
    assert len(message.figures) == len(session.message(3).figures)
    assert [span.line for span in session.group_spans(1)] == [2]


def test_days_and_what_is_beyond_the_tenth_row(tmp_path):
    events = [event(session_id=f"s{n:02}", timestamp=f"2026-02-{n + 1:02}T00:00:00Z") for n in range(15)]
    text = opened(tmp_path, lines(*events)).message(1).text
    assert "| 5 more | 5 |" in text and "| 5 earlier | 5 |" in text
    days = [line.split(" ")[1] for line in text.split("\n") if line.startswith("| 2026")]
    assert days == [f"2026-02-{n:02}" for n in range(6, 16)]


def test_the_cost_is_that_of_the_calls(tmp_path):
    usage = {"input_tokens": 1_000_000, "output_tokens": 0, "cache_write_tokens": 1_000_000, "cache_read_tokens": 0}
    data = event(model="claude-opus-4-5", usage=usage, turnlog={"cache_write_1h_tokens": 400_000})
    session = opened(tmp_path, lines(data, event(model="claude-opus-4-5", usage={})))
    # $5 input, 600,000 kept for five minutes at $6.25, 400,000 for an hour at $10; nothing used costs nothing
    assert table(session)["opus-4.5"][-1] == "$12.75"
    assert session.message(4).figures.split()[-1] == "$12.75" and session.message(5).figures.split()[-1] == "$0.00"
    assert "no price" not in session.message(1).text


def test_counts_are_exact_however_large(tmp_path):
    largest = (1 << 64) - 1
    session = opened(tmp_path, lines(event(), with_usage(input_tokens=largest), event()))
    assert session.usage() == TokenUsage(largest + 20, 6, 0, 0)
    assert f"input {largest:,}" in session.message(5).text
    assert validate_events(lines(with_usage(input_tokens=largest))) == ([], [])


def test_names_that_would_be_the_same_when_cut_are_whole(tmp_path):
    names = ["claude-opus-4-5", "claude-opus-4-5-20251101", "a" * 20 + "1", "a" * 20 + "2"]
    rows = table(opened(tmp_path, lines(*(event(model=name) for name in names))))
    assert rows.keys() >= set(names)


def test_the_sums_change_as_the_file_grows(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(event()))
    reading = EVENTS.open(path)
    reading.step()
    assert table(reading.session)["gpt-5"][0] == "1"
    with path.open("ab") as file:
        file.write(lines(event(), b'{"no": "event"}'))
    changes = reading.step()
    assert changes == [Change(Op.UPDATED, 1), Change(Op.APPENDED, 5), Change(Op.APPENDED, 6)]
    assert table(reading.session)["gpt-5"][0] == "2"
    with path.open("ab") as file:
        file.write(b'{"no": "event"}\n')
    assert reading.step() == [Change(Op.APPENDED, 7)]


def test_prices_wait_until_the_sums_are_looked_at(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(event()))
    code = (
        "import sys, pathlib; from schemas.opening import read_session\n"
        f"session = read_session(pathlib.Path({str(path)!r}))\n"
        "assert 'genai_prices' not in sys.modules\n"
        "session.message(1); assert 'genai_prices' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize("key", ["provider", "model", "session_id", "timestamp", "usage"])
def test_one_without_a_required_key_is_known_all_the_same(tmp_path, key):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(event(**{key: ...})))
    assert recognise(head_of(path)) is EVENTS
    assert validate_events(path.read_bytes()).errors == [("line 1", f"`{key}` is missing")]
    path.write_bytes(lines(event(usage=[])))
    assert recognise(head_of(path)) is EVENTS


@pytest.mark.parametrize(
    "record",
    [
        {"type": "assistant", "model": "m", "session_id": "s", "timestamp": "t", "usage": {}},
        {"role": "assistant", "model": "m", "provider": "p", "timestamp": "t", "usage": {}},
        {"model": "m", "session_id": "s", "usage": {}},
        {"model": "m", "provider": "p", "timestamp": "t", "usage": {"input": 1, "output": 2, "cacheRead": 0}},
        {"model": "m", "provider": "p", "timestamp": "t", "usage": {"input_tokens": 1, "output_tokens": 2}},
    ],
)
def test_a_record_of_another_kind_is_no_event(record):
    assert not is_event(record)


def test_a_mark_at_the_start_is_skipped(tmp_path):
    data = b"\xef\xbb\xbf" + lines(event(), event())
    assert len(list(read_events(data))) == 2
    assert opened(tmp_path, data).usage() == TokenUsage(20, 4, 0, 0)


def test_exports_hold_the_sums_and_a_row_an_event(tmp_path):
    session = opened(tmp_path, lines(event(), event(session_id="t"), b'{"no": "event"}', event()))
    for render in (plain.render, markdown.render, html.render):
        text = "".join(render(Document(session, Include())))
        assert text.count("02-20 00:00 gpt-5") == 3 and "cache write" in text
    lined = "".join(plain.render(Document(session, Include()))).split("\n")
    assert "● by model   │ calls │ input │ cache │ cache │ output │ total │    cost" in lined
    assert max(map(len, lined)) <= 80
    assert not any("before the first prompt" in line.lower() for line in lined)


def test_what_is_no_event_is_shown_and_counted(tmp_path):
    session = opened(tmp_path, lines(event(), event(timestamp="yesterday"), b"garbage", b'{"type":"other"}'))
    assert [bad.line for bad in session.unreadable] == [2, 3, 4]
    assert [bad.reason.startswith("not an event: ") for bad in session.unreadable] == [True, False, True]
    assert session.message(5).kind == Kind.UNKNOWN and "yesterday" in session.message(5).text
    assert session.usage() == TokenUsage(10, 2, 0, 0)


def test_a_file_of_one_event_and_hostile_names(tmp_path):
    session = opened(
        tmp_path, lines(event(session_id="\x1b]0;x\x07id", model="m\x1b[2J|`x`", provider="p\u202e"), event())
    )
    shown = f"{session.exchanges[0].prompt}{session.models}{[session.message(i) for i in range(6)]}"
    assert "\x1b" not in shown and "\u202e" not in shown
    assert "m\\|\\`x\\`" in session.message(1).text


@pytest.mark.parametrize("key", ["provider", "model", "session_id"])
def test_half_a_character_in_a_name_can_be_written_again(key, tmp_path):
    session = opened(tmp_path, lines(event(**{key: "\udfff\ud800"})))
    (again,) = (json.loads(event_line(one)) for one in responses(session))
    assert again[key] == "\ufffd\ufffd"


@given(cuts=st.lists(st.integers(0, 2000), max_size=4))
def test_reading_while_it_grows_gives_the_same(cuts, tmp_path_factory):
    data = lines(event(), event(session_id="t"), b'{"no":"event"}', with_usage(cache_read_tokens=4))
    assert_same_in_pieces(EVENTS, data, tmp_path_factory.mktemp("events"), cuts, "x.jsonl")


def test_a_file_is_read_from_its_start_for_sums_are_of_all_of_it(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(event(), event(session_id="t")))
    reading = EVENTS.open(path, start=5)
    reading.step()
    assert reading.session.usage() == TokenUsage(20, 4, 0, 0)


# -- writing ---------------------------------------------------------------------------------------------------------

COUNT = st.none() | st.integers(0, 10**9)
USAGES = st.builds(TokenUsage, COUNT, COUNT, COUNT, COUNT, COUNT, COUNT).filter(lambda usage: usage.total)


def written(session: Session) -> bytes:
    return b"".join(filter(None, (event_line(one) for one in responses(session))))


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
    assert list(again.messages.time)[4:] == list(hand.session.messages.time)[1:]
    ours, theirs = ([(c.provider, c.model or "unknown", c.session.id, c.time) for c in responses(s)]
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
    assert [one.group for one in responses(hand.session)] == [hand.session.groups.ids[1]]


def test_without_any_time_there_is_no_event():
    hand = Hand()
    hand.prompt("go")
    hand.text("done", usage=TokenUsage(1, 2))
    session = hand.session
    session.messages.time[1] = float("nan")
    session.exchanges[0].ended = session.updated = None
    assert [event_line(one) for one in responses(session)] == [None]

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.document import Document
from renderers.options import Include
from renderers.plain import render
from schemas.costs.price_book import load_book, read_book
from schemas.interchange import snapshot
from schemas.interchange.events import Event, read_events
from schemas.interchange.snapshot import (
    NO_TIP,
    SNAPSHOT,
    TOP,
    Filters,
    NoEvents,
    Pricing,
    TooManyTokens,
    make_snapshot,
    rounded,
    validate_snapshot,
)
from schemas.opening import OpenError, head_of, open_reading, read_session, recognise
from tests.schemas.mutations import changed_in

SHARED = Path(__file__).parents[2] / "../shared"
GOLDENS = SHARED / "goldens/tokenledger"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RATE = {"input_usd_per_mtok": 10, "output_usd_per_mtok": 20}
PRICES = Pricing(
    read_book(
        {
            "provider_aliases": {"anthropic": "claude"},
            "providers": {
                "claude": {
                    "subscription_usd_month": 30,
                    "model_aliases": {"o": "opus"},
                    "models": {"opus": RATE, "both": RATE},
                },
                "codex": {"model_aliases": {"o": "o5"}, "models": {"o5": RATE, "both": RATE}},
                **{f"p{n}": {"models": {f"m{n}": RATE}} for n in range(9)},
            },
        }
    )
)


def event(provider: str = "claude", model: str = "opus", day: int = 1, **counts: int) -> Event:
    return Event(provider, model, "s", datetime(2026, 2, day, tzinfo=UTC), **({"input": 100} | counts))


def made(*events: Event, mode: str = "extended", **filters: Any) -> dict[str, Any]:
    return make_snapshot(events, PRICES, mode, NOW, Filters(**filters)).document  # type: ignore[arg-type]


def test_the_document_is_valid_and_has_no_pointer_to_a_reconciliation():
    snapshot = make_snapshot([event()], PRICES, "compact", NOW)
    assert validate_snapshot(snapshot.document) == ([], [])
    assert "reconcile_latest_summary_path" not in snapshot.document
    assert snapshot.document["generated_at"] == "2026-03-01T12:00:00.000000Z"
    data = snapshot.to_bytes()
    assert data.endswith(b"}\n") and b'\n  "month": "2026-02"' in data
    assert json.loads(data) == snapshot.document


def test_aliases_merge_and_a_model_of_two_providers_is_one_row():
    document = made(
        event("anthropic", "o"), event(), event("codex", "o"), event("claude", "both"), event("codex", "both")
    )
    assert [(row["name"], row["tokens"]) for row in document["top_providers"]] == [("claude", 300), ("codex", 200)]
    assert [(row["name"], row["tokens"]) for row in document["top_models"]] == [
        ("both", 200),
        ("opus", 200),
        ("o5", 100),
    ]
    assert document["top_models"][0]["session_count"] == 2  # one id with two providers is two sessions
    assert document["totals"]["session_count"] == 2


def test_filters_take_aliases():
    events = [event("anthropic", "o"), event("codex", "o"), event(day=2)]
    assert made(*events, providers=["anthropic"])["totals"]["tokens"] == 200
    assert made(*events, providers=["claude", "codex"])["totals"]["tokens"] == 300
    assert made(*events, models=["o"])["totals"]["tokens"] == 300
    assert made(*events, models=["o5"])["totals"]["tokens"] == 100
    assert made(*events, providers=["codex"], models=["o"])["totals"]["tokens"] == 100


def test_the_month_is_that_of_the_first_event_left():
    late = event()._replace(time=datetime(2026, 3, 1, tzinfo=UTC))
    assert made(late, event())["month"] == "2026-03"
    assert made(late, event(), month="2026-02")["month"] == "2026-02"
    assert made(late, event(), month="2026-02")["totals"]["tokens"] == 100


@pytest.mark.parametrize("filters", [{"month": "2025-01"}, {"providers": ["nobody"]}, {"models": ["nothing"]}])
def test_nothing_left_is_an_error(filters):
    with pytest.raises(NoEvents, match="left after the filters"):
        made(event(), **filters)
    with pytest.raises(NoEvents, match=r"^no events$"):
        made()


def test_what_has_no_price_is_counted_and_in_nothing_else():
    snapshot = make_snapshot([event(), event("codex", "x"), event("codex", "x"), event("who")], PRICES, "extended", NOW)
    totals = snapshot.document["totals"]
    assert (totals["tokens"], totals["session_count"], totals["skipped_unpriced_count"]) == (100, 1, 3)
    assert snapshot.unpriced == {("codex", "x"): 2, ("who", "opus"): 1}
    assert [row["name"] for row in snapshot.document["top_models"]] == ["opus"]
    nothing = made(event("who"))
    assert nothing["totals"] == {
        "cost_usd": 0, "tokens": 0, "blended_usd_per_mtok": 0, "session_count": 0, "skipped_unpriced_count": 1,
    }  # fmt: skip
    assert (nothing["top_providers"], nothing["top_models"], nothing["suggestions"]) == ([], [], [NO_TIP])


def test_a_months_fee_is_there_for_one_event_and_shared_by_tokens():
    one = made(event())
    assert one["totals"]["cost_usd"] == 30.0
    two = made(event(model="opus", input=300), event(model="both", input=100))
    assert [row["total_cost_usd"] for row in two["top_models"]] == [22.5, 7.5]
    assert made(event(input=0))["totals"]["cost_usd"] == 0  # no tokens to share it by


def test_compact_has_five_rows():
    events = [event(f"p{n}", f"m{n}", input=n + 1) for n in range(9)]
    assert [row["name"] for row in made(*events, mode="compact")["top_models"]] == ["m8", "m7", "m6", "m5", "m4"]
    assert len(made(*events)["top_models"]) == 9
    assert made(*events, mode="compact")["totals"] == made(*events)["totals"]


def test_suggestions_in_their_order():
    tips = made(event("codex", "o5", input=0, output=50, tool_input=50))["suggestions"]
    assert [tip[:10] for tip in tips] == ["Tool-token", "Cache-read", "Blended va"]
    tips = made(event(input=0, tool_output=10), event(input=5))["suggestions"]
    assert [tip[:10] for tip in tips] == ["Tool-token", "Cache-read", "Blended va", "Subscripti"]
    assert made(event("codex", "o5", input=0, cache_read=100))["suggestions"] == [NO_TIP]


@given(st.integers(0, 10**12), st.sampled_from([2, 4]))
def test_a_half_is_rounded_away_from_zero(eighths, digits):
    number = eighths / 8  # halves of hundredths are exact only in eighths
    exact = Fraction(eighths, 8) * 10**digits
    assert rounded(number, digits) == float((exact + Fraction(1, 2)).__floor__()) / 10**digits


def test_rounding():
    assert (rounded(0.125, 2), rounded(0.375, 2), rounded(2.5, 0)) == (0.13, 0.38, 3.0)
    assert rounded(0.49999999999999994, 0) == 0
    assert rounded(0.005, 2) == 0.01


COUNTS = st.integers(0, 10**7)
EVENTS = st.builds(
    Event,
    st.sampled_from(["claude", "anthropic", "codex", "p1", "who"]),
    st.sampled_from(["opus", "o", "both", "m1", "x"]),
    st.sampled_from("abc"),
    st.datetimes(datetime(2026, 1, 1), datetime(2026, 4, 1), timezones=st.just(UTC)),
    *[COUNTS] * 6,
)


@given(st.lists(EVENTS, min_size=1, max_size=12))
def test_laws_of_any_snapshot(events):
    document = make_snapshot(events, PRICES, "extended", NOW).document
    verdict = validate_snapshot(document)
    assert verdict == ([], [])
    totals = document["totals"]
    for table in (document["top_providers"], document["top_models"]):
        assert sum(row["tokens"] for row in table) == totals["tokens"]
        assert sum(row["total_cost_usd"] for row in table) == pytest.approx(
            totals["cost_usd"], abs=0.005 * (len(table) + 1)
        )
    assert totals["skipped_unpriced_count"] <= len(events)
    assert validate_snapshot(make_snapshot(events, PRICES, "compact", NOW).document) == ([], [])


def test_without_a_book_prices_are_those_of_the_tables():
    snapshot = make_snapshot([event(model="claude-opus-4-5", input=1_000_000)], Pricing(), "compact", NOW)
    assert snapshot.document["totals"]["cost_usd"] == 5


@pytest.mark.skipif(not GOLDENS.is_dir(), reason="the shared goldens are not here")
def test_the_producers_own_figures_come_out():
    events = list(read_events((GOLDENS / "upstream/examples.events.jsonl").read_bytes()))
    prices = Pricing(load_book(GOLDENS / "upstream/pricing.example.json"))
    ours = make_snapshot(events, prices, "extended", NOW).document
    theirs = json.loads((GOLDENS / "upstream/orch-test-ui.json").read_text())
    for key in ("month", "mode", "totals", "top_providers", "top_models", "suggestions"):
        assert ours[key] == theirs[key]


# -- the check -------------------------------------------------------------------------------------------------------

GOOD = made(event(), event("codex", "o5", input=50))


changed = partial(changed_in, GOOD)


@pytest.mark.parametrize(
    ("path", "value", "where", "words"),
    [
        ("schema_version", 2, "/schema_version", "`schema_version` 2 is not supported, only 1"),
        ("schema_version", "1", "/schema_version", '`schema_version` "1" is not supported, only 1'),
        ("schema_version", True, "/schema_version", "`schema_version` true is not supported"),
        ("schema_version", 1.0, "/schema_version", "`schema_version` 1.0 is not supported"),
        ("schema_version", None, "/schema_version", "`schema_version` null is not supported"),
        ("schema_version", ..., "", "`schema_version` is missing"),
        ("generated_at", "2026-02-21", "/generated_at", "RFC 3339"),
        ("generated_at", 5, "/generated_at", "must be a string"),
        ("month", "2026-2", "/month", "YYYY-MM"),
        ("month", "2026-13", "/month", "YYYY-MM"),
        ("month", "2026-02\n", "/month", "YYYY-MM"),
        ("mode", "full", "/mode", "must be one of compact, extended"),
        ("totals/skipped_unpriced_count", ..., "/totals", "`skipped_unpriced_count` is missing"),
        ("totals/tokens", 1.5, "/totals/tokens", "must be an integer"),
        ("totals/tokens", 150.0, "/totals/tokens", "must be an integer"),
        ("totals/tokens", 1 << 64, "/totals/tokens", "must be at most 18446744073709551615, not 18446744073709551616"),
        ("totals/session_count", -1, "/totals/session_count", "at least 0"),
        ("totals/cost_usd", "5", "/totals/cost_usd", "must be a number"),
        ("top_providers", {}, "/top_providers", "must be an array"),
        ("top_models/1/name", None, "/top_models/1/name", "must be a string, not null"),
        ("top_models/0/tokens", 5, "/top_models/1", "rows stand by tokens, most first: 50 after 5"),
        ("suggestions/0", 5, "/suggestions/0", "must be a string"),
        ("reconcile_latest_summary_path", None, "/reconcile_latest_summary_path", "must be a string, not null"),
    ],
)
def test_an_error_says_where_and_what(path, value, where, words):
    verdict = validate_snapshot(changed(path, value))
    assert [error.path for error in verdict.errors] == [where]
    assert words in verdict.errors[0].message


def test_more_than_five_rows_are_not_compact():
    rows = [GOOD["top_models"][0] | {"name": str(n)} for n in range(TOP + 1)]
    assert validate_snapshot(GOOD | {"top_models": rows, "mode": "compact"}).errors[0].path == "/top_models"


@pytest.mark.parametrize(("count", "said"), [(TOP, []), (TOP - 1, ["/top_models"])])
def test_compact_may_leave_rows_out_only_where_it_has_all_it_can_have(count, said):
    rows = [GOOD["top_models"][0] | {"name": str(n), "tokens": 1} for n in range(count)]
    verdict = validate_snapshot(GOOD | {"top_models": rows, "mode": "compact"})
    assert verdict.valid and [warning.path for warning in verdict.warnings] == said


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("top_models/1/name", "opus", "/top_models"),
        ("top_providers/0/tokens", 1000, "/top_providers"),
        ("generated_at", "2026-02-21T00:00:00+02:00", "/generated_at"),
    ],
)
def test_a_warning_leaves_it_valid(path, value, where):
    verdict = validate_snapshot(changed(path, value))
    assert verdict.valid and [warning.path for warning in verdict.warnings] == [where]


def test_rows_of_as_many_tokens_stand_by_name():
    rows = [GOOD["top_models"][0] | {"name": name, "tokens": 75} for name in "ba"]
    verdict = validate_snapshot(GOOD | {"top_models": rows})
    assert verdict == ([], [("/top_models/1", "rows of as many tokens should stand by name")])
    assert validate_snapshot(GOOD | {"top_models": rows[::-1]}) == ([], [])


@pytest.mark.parametrize("value", [None, [], 5, "x"])
def test_what_is_no_object_is_one_error(value):
    assert len(validate_snapshot(value).errors) == 1


# -- reading ---------------------------------------------------------------------------------------------------------


def file_of(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "usage.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document, indent=2).encode())
    return path


@pytest.mark.parametrize("value", [b"Infinity", b"NaN", b"[" * 990 + b"]" * 990])
@pytest.mark.parametrize("key", ["cost_usd", "tokens"])
def test_what_no_total_can_be_does_not_keep_it_from_opening(key, value, tmp_path):
    data = json.dumps(GOOD | {"totals": GOOD["totals"] | {key: "HERE"}}).encode().replace(b'"HERE"', value)
    session = read_session(file_of(tmp_path, data))
    assert [session.message(index).text for index in range(len(session.messages))]


def test_a_snapshot_opens_as_its_tables(tmp_path):
    path = file_of(tmp_path, GOOD | {"reconcile_latest_summary_path": "a/b.json"})
    assert recognise(head_of(path)) is SNAPSHOT
    session = read_session(path)
    assert [exchange.prompt for exchange in session.exchanges] == [
        "Overall", "Providers", "Models", "Suggestions", "Reconciliation",
    ]  # fmt: skip
    assert "| claude | 100 | $30.00 |" in session.message(3).text
    assert session.title == "Usage snapshot 2026-02 (extended)"
    assert session.updated == NOW.timestamp()
    assert session.own_total == "150 tokens · $30.00"


def test_names_are_shown_and_are_no_markup(tmp_path):
    row = GOOD["top_models"][0] | {"name": "a|b`*\x1b[2J<x>"}
    session = read_session(
        file_of(tmp_path, GOOD | {"top_models": [row], "month": 5, "suggestions": "x", "totals": []})
    )
    assert "| a\\|b\\`\\*\\<x> |" in session.message(5).text


def test_another_version_is_refused_by_name(tmp_path):
    with pytest.raises(OpenError, match="UI Snapshot of version 2; only version 1 can be read"):
        read_session(file_of(tmp_path, {"schema_version": 2, "totals": "new"}))


def test_a_half_written_file_is_an_error_and_then_what_it_says(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "WAIT", 0)
    whole = json.dumps(GOOD, indent=2).encode()
    path = file_of(tmp_path, whole[:150])
    with pytest.raises(OpenError, match=r"usage.json: not a whole document \(being written\?\)"):
        read_session(path)
    reading = open_reading(path)
    path.write_bytes(whole)
    assert reading.reread()  # type: ignore[attr-defined]
    assert reading.session.exchanges[0].prompt == "Overall"
    before = reading.session.message(1).text
    path.write_bytes(whole[:100])
    with pytest.raises(OSError, match="being written"):
        reading.reread()  # type: ignore[attr-defined]
    assert reading.session.message(1).text == before  # what was there stays


def test_a_file_that_is_whole_a_moment_later_is_read_then(tmp_path, monkeypatch):
    whole = json.dumps(GOOD, indent=2).encode()
    path = file_of(tmp_path, whole[:150])
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            path.write_bytes(whole)

    monkeypatch.setattr(snapshot.time, "sleep", sleep)
    assert read_session(path).exchanges[0].prompt == "Overall"
    assert waits == [snapshot.WAIT] * 2


@pytest.mark.parametrize("version", [2, "1", True, 1.0, None])
def test_what_turns_into_another_version_is_refused_and_what_was_there_stays(tmp_path, monkeypatch, version):
    monkeypatch.setattr(snapshot, "WAIT", 0)
    path = file_of(tmp_path, GOOD)
    reading = open_reading(path)
    reading.step()
    before = [reading.session.message(i).text for i in range(len(reading.session.messages))]
    shown = json.dumps(version)
    for document in (GOOD | {"schema_version": version}, {"schema_version": version, "cells": ["secret"]}):
        path.write_text(json.dumps(document))
        with pytest.raises(OSError, match=f"a UI Snapshot of version {shown}; only version 1 can be read"):
            reading.reread()  # type: ignore[attr-defined]
    assert [reading.session.message(i).text for i in range(len(reading.session.messages))] == before


@pytest.mark.parametrize("key", sorted(GOOD))
def test_one_without_a_required_key_is_known_all_the_same(tmp_path, key):
    path = file_of(tmp_path, {name: value for name, value in GOOD.items() if name != key})
    assert recognise(head_of(path)) is SNAPSHOT
    if key == "schema_version":
        with pytest.raises(OpenError, match="without `schema_version`"):
            read_session(path)
    else:
        assert read_session(path).exchanges


def test_a_mark_at_the_start_is_skipped(tmp_path):
    path = file_of(tmp_path, b"\xef\xbb\xbf" + json.dumps(GOOD).encode())
    assert read_session(path).exchanges[0].prompt == "Overall"


def test_integers_stay_what_they_are(tmp_path):
    count = (1 << 64) + 1
    document = copy.deepcopy(GOOD)
    document["totals"]["tokens"] = document["top_models"][0]["tokens"] = count
    session = read_session(file_of(tmp_path, document))
    text = "".join(session.message(i).text for i in range(len(session.messages)))
    assert text.count(f"{count:,} |") == 2


def test_a_sum_beyond_64_bits_is_an_error_in_words():
    largest = (1 << 64) - 1
    with pytest.raises(TooManyTokens, match=r"more than 2\^64-1"):
        made(event(input=largest), event(input=1))
    document = made(event(input=largest))
    assert document["totals"]["tokens"] == largest
    assert validate_snapshot(document) == ([], [])


def test_in_plain_text_the_tables_are_columns(tmp_path):
    text = "".join(render(Document(read_session(file_of(tmp_path, GOOD)), Include())))
    lines = text.split("\n")
    assert "  provider │ tokens │   cost │ $ / M tokens │ sessions" in [line.replace("●", " ") for line in lines]
    assert "  claude   │    100 │ $30.00 │ 300,010.0000 │        1" in lines
    assert "|" not in text and "\\" not in text
    assert "this session: 150 tokens · $30.00" in text

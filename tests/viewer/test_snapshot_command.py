from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.viewer.machine import Machine

EVENT = {
    "provider": "codex",
    "model": "gpt-5",
    "session_id": "s",
    "timestamp": "2026-02-20T00:00:00Z",
    "usage": {"input_tokens": 1_000_000, "output_tokens": 0, "cache_read_tokens": 500_000},
}
BOOK = {
    "provider_aliases": {"openai": "codex"},
    "providers": {
        "codex": {
            "model_aliases": {"five": "gpt-5"},
            "models": {"gpt-5": {"input_usd_per_mtok": 100, "output_usd_per_mtok": 1}},
        }
    },
}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    write(machine, EVENT, EVENT | {"provider": "who"}, EVENT | {"timestamp": "2026-03-01T00:00:00+02:00"})
    (machine.home / "book.json").write_text(json.dumps(BOOK))
    return machine


def write(machine: Machine, *events: object) -> None:
    (machine.home / "e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))


def test_a_book_and_nothing_else(machine: Machine) -> None:
    result = machine.run("snapshot", "e.jsonl", "--pricing", "book.json")
    assert result.code == 0
    assert result.json["totals"] == {
        "cost_usd": 210.0, "tokens": 3_000_000, "blended_usd_per_mtok": 70.0, "session_count": 1,
        "skipped_unpriced_count": 1,
    }  # fmt: skip
    assert result.err == "turnlog: 1 event without a price left out: who/gpt-5 (1)\n"


def test_what_has_no_price_may_be_an_error(machine: Machine) -> None:
    options = ("--pricing", "book.json", "--on-unpriced", "error")
    result = machine.run("snapshot", "e.jsonl", *options, "-o", "s.json")
    assert (result.code, result.out) == (1, "") and not (machine.home / "s.json").exists()
    assert result.err == "turnlog: 1 event without a price, so no snapshot is made: who/gpt-5 (1)\n"
    assert machine.run("snapshot", "e.jsonl", *options, "--provider", "codex").code == 0


def test_without_a_book_the_tables(machine: Machine) -> None:
    document = machine.run("snapshot", "e.jsonl", "--mode", "extended").json
    assert document["mode"] == "extended"
    assert document["totals"]["cost_usd"] == round(3 * (1.25 + 0.0625), 2)
    assert document["totals"]["skipped_unpriced_count"] == 0


def test_filters(machine: Machine) -> None:
    def tokens(*options: str) -> int:
        return machine.run("snapshot", "e.jsonl", "--pricing", "book.json", *options).json["totals"]["tokens"]

    assert tokens("--month", "2026-02") == 3_000_000  # the first of March at two hours east is still February
    assert tokens("--provider", "openai", "--model", "five") == 3_000_000
    result = machine.run("snapshot", "e.jsonl", "--month", "2026-03")
    assert (result.code, result.out, result.err) == (
        1,
        "",
        "turnlog: no events left after the filters: the events have the month 2026-02\n",
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--month", "2026-2"], "not of the form YYYY-MM"),
        (["--month", "2026-02-01"], "not of the form YYYY-MM"),
        (["--mode", "full"], "is not one of"),
        (["--pricing", "nowhere.json"], "nowhere.json: no such file"),
        (["--pricing", "e.jsonl"], "e.jsonl: no price book: not JSON"),
    ],
)
def test_wrong_calls(machine: Machine, options: list[str], words: str) -> None:
    result = machine.run("snapshot", "e.jsonl", *options)
    assert (result.code, result.out) == (2, "") and words in result.err


def test_a_bad_line_is_named(machine: Machine) -> None:
    write(machine, EVENT, EVENT | {"usage": {"input_tokens": -1}})
    result = machine.run("snapshot", "e.jsonl")
    assert (result.code, result.out) == (2, "")
    assert result.err == "turnlog: e.jsonl: line 2: `usage.input_tokens` is no count of tokens\n"
    write(machine, EVENT | {"usage": 5})
    assert "line 1: `usage` is not an object" in machine.run("snapshot", "e.jsonl").err


def test_a_file_is_written_whole_and_valid(machine: Machine) -> None:
    result = machine.run("snapshot", "e.jsonl", "-o", "s.json")
    assert (result.code, result.out) == (0, "")
    assert machine.run("validate", "s.json").out.endswith("valid snapshot\n")
    assert machine.run("snapshot", "e.jsonl", "-o", "s.json").code == 2
    assert machine.run("snapshot", "e.jsonl", "-o", "s.json", "--force").code == 0
    assert "  codex" in machine.run("s.json").out


def test_sessions_are_events_too(machine: Machine) -> None:
    path = machine.session(
        "aaaaaaaa-0000-4000-8000-000000000001", ["a", "b"], usage={"input_tokens": 9, "output_tokens": 1}
    )
    document = machine.run("snapshot", path, "e.jsonl", "--provider", "claude").json
    assert document["totals"]["tokens"] == 10
    assert document["top_models"][0]["name"] == "claude-opus-4-5-20251101"


def test_standard_input(machine: Machine) -> None:
    data = (json.dumps(EVENT) + "\n").encode()
    assert machine.run("snapshot", "-", stdin=data).json["totals"]["tokens"] == 1_500_000


def test_a_file_that_is_read_is_never_written_to(machine: Machine) -> None:
    session = machine.session(
        "aaaaaaaa-0000-4000-8000-000000000001", ["a", "b"], usage={"input_tokens": 9, "output_tokens": 1}
    )
    for own in (machine.home / "e.jsonl", machine.home / "book.json", session):
        before = own.read_bytes()
        result = machine.run("snapshot", "e.jsonl", session, "--pricing", "book.json", "-o", own, "--force")
        assert result.code == 2 and "never written to" in result.err
        assert own.read_bytes() == before
    for target in ("new/s.json", "new/"):
        assert machine.run("snapshot", "e.jsonl", "-o", target).code == 2
    assert not (machine.home / "new").exists()


def test_more_tokens_than_a_snapshot_holds_are_an_error_in_words(machine: Machine) -> None:
    usage = EVENT["usage"] | {"input_tokens": (1 << 64) - 1}  # type: ignore[operator]
    write(machine, EVENT | {"usage": usage}, EVENT)
    result = machine.run("snapshot", "e.jsonl")
    assert (result.code, result.out) == (2, "") and "more than 2^64-1" in result.err


def test_a_half_written_or_newer_one_is_an_error_that_names_it(machine: Machine) -> None:
    whole = machine.run("snapshot", "e.jsonl").out
    for text, words in (
        (whole[:150], "s.json: not a whole document (being written?)"),
        (whole.replace('"schema_version": 1', '"schema_version": 2'), "version 2; only version 1 can be read"),
        (whole.replace('"schema_version": 1', '"schema_version": "1"'), 'version "1"; only version 1 can be read'),
    ):
        (machine.home / "s.json").write_text(text)
        for command in (["s.json"], ["show", "s.json"], ["export", "s.json"]):
            result = machine.run(*command)
            assert (result.code, result.out) == (2, "") and words in result.err


def test_what_is_misspelled_in_a_book_is_said(machine: Machine) -> None:
    rates = {"input_usd_per_mtok": 1, "output_usd_per_mtok": 1, "cache_read_usd_per_mtoks": 5}
    book = {"providers": {"codex": {"models": {"gpt-5": rates}}}}
    (machine.home / "book.json").write_text(json.dumps(book))
    result = machine.run("snapshot", "e.jsonl", "--pricing", "book.json")
    assert result.code == 0 and "cache_read_usd_per_mtoks: no key of a price book" in result.err


def test_what_the_month_does_not_say_is_said(machine: Machine) -> None:
    write(machine, EVENT, EVENT | {"timestamp": "2026-03-02T00:00:00Z"})
    result = machine.run("snapshot", "e.jsonl", "-o", "s.json")
    assert "2026-02 (1), 2026-03 (1): it says 2026-02" in result.err and "--month" in result.err
    assert "a UI Snapshot already" in machine.run("snapshot", "s.json").err
    assert "a snapshot holds sums and no responses" in machine.run("usage", "s.json").out

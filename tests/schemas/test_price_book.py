from __future__ import annotations

import copy
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schemas.costs.price_book import BookError, Rates, load_book, read_book
from tests.schemas.mutations import changed_in

BOOK: dict[str, Any] = {
    "meta": {"source": "a test", "updated_at": "2026-02-01"},
    "provider_aliases": {"anthropic": "claude"},
    "providers": {
        "claude": {
            "subscription_usd_month": 30,
            "model_aliases": {"sonnet": "sonnet-4"},
            "models": {
                "sonnet-4": {"input_usd_per_mtok": 3, "output_usd_per_mtok": 15, "cache_read_usd_per_mtok": 0.25},
                "full": {
                    "input_usd_per_mtok": 1,
                    "output_usd_per_mtok": 2,
                    "cache_write_usd_per_mtok": 3,
                    "cache_read_usd_per_mtok": 4,
                    "tool_input_usd_per_mtok": 5,
                    "tool_output_usd_per_mtok": 6,
                },
            },
        },
        "codex": {"models": {}},
    },
}


def test_what_is_not_said_follows_from_input_and_output():
    book = read_book(BOOK)
    assert book.rates("claude", "sonnet-4") == Rates(3, 15, 3, 0.25, 3, 15)
    assert book.rates("claude", "full") == Rates(1, 2, 3, 4, 5, 6)
    bare = copy.deepcopy(BOOK)
    del bare["providers"]["claude"]["models"]["sonnet-4"]["cache_read_usd_per_mtok"]
    assert read_book(bare).rates("claude", "sonnet-4") == Rates(3, 15, 3, 3 * 0.1, 3, 15)


def test_names_are_looked_up_after_one_alias():
    book = read_book(BOOK)
    assert book.rates("anthropic", "sonnet") == book.rates("claude", "sonnet-4")
    assert book.provider("anthropic") == "claude" and book.provider("nobody") == "nobody"
    assert book.subscriptions == {"claude": 30, "codex": 0}
    assert book.rates("claude", "Sonnet") is None
    assert book.rates("nobody", "sonnet-4") is None
    assert (book.source, book.updated_at) == ("a test", "2026-02-01")


changed = partial(changed_in, BOOK)


@pytest.mark.parametrize(
    ("book", "words"),
    [
        ([], "the book: the document must be an object, not an array"),
        ({}, "`providers` is missing"),
        (changed("providers", 1), "/providers: `providers` must be an object, not an integer"),
        (changed("meta", 1), "/meta: `meta` must be an object or null, not an integer"),
        (changed("provider_aliases/x", "nobody"), "/provider_aliases/x: there is no provider nobody"),
        (changed("provider_aliases/x", 5), "/provider_aliases/x: `x` must be a string, not an integer"),
        (changed("providers/claude/model_aliases/y", "z"), "/providers/claude/model_aliases/y: there is no model z"),
        (changed("providers/claude", None), "/providers/claude: `claude` must be an object, not null"),
        (
            changed("providers/claude/models/full", 5),
            "/providers/claude/models/full: `full` must be an object, not an integer",
        ),
        (
            changed("providers/claude/models/full/output_usd_per_mtok", ...),
            "/providers/claude/models/full: `output_usd_per_mtok` is missing",
        ),
        (
            changed("providers/claude/models/full/input_usd_per_mtok", -1),
            "/input_usd_per_mtok: `input_usd_per_mtok` must be at least 0, not -1",
        ),
        (
            changed("providers/claude/models/full/input_usd_per_mtok", "1"),
            "`input_usd_per_mtok` must be a number, not a string",
        ),
        (
            changed("providers/claude/models/full/input_usd_per_mtok", True),
            "`input_usd_per_mtok` must be a number, not a boolean",
        ),
        (
            changed("providers/claude/models/full/input_usd_per_mtok", 1e10),
            "/input_usd_per_mtok: `input_usd_per_mtok` must be at most 1000000000, not 1",
        ),
        (
            changed("providers/claude/subscription_usd_month", None),
            "`subscription_usd_month` must be a number, not null",
        ),
    ],
)
def test_each_error_is_named(book, words):
    with pytest.raises(BookError) as error:
        read_book(book)
    assert words in error.value.errors[0]
    assert error.value.errors[0] in str(error.value)


def test_many_errors_are_counted():
    aliases = {f"a{n}": "nobody" for n in range(9)}
    with pytest.raises(BookError, match="and 4 more") as error:
        read_book(BOOK | {"provider_aliases": aliases})
    assert len(error.value.errors) == 9


def test_names_in_errors_are_clean():
    with pytest.raises(BookError) as error:
        read_book(BOOK | {"provider_aliases": {"\x1b[2J": "\x1b]0;x\x07"}})
    assert "\x1b" not in str(error.value)


def test_a_file(tmp_path: Path):
    path = tmp_path / "book.json"
    path.write_text(json.dumps(BOOK))
    assert load_book(path) == read_book(BOOK)
    path.write_text('{"providers":')
    with pytest.raises(BookError, match=r"not JSON: .* at line 1"):
        load_book(path)
    with pytest.raises(OSError):
        load_book(tmp_path / "nowhere.json")


def test_a_misspelled_key_is_named_and_a_note_is_not():
    book = copy.deepcopy(BOOK)
    book["comment"] = "ours"
    book["provider_alias"] = {}
    claude = book["providers"]["claude"]
    claude["subscription_usd_monthly"] = 20
    claude["models"]["full"] |= {"cache_reads_usd_per_mtok": 1, "seen": 3, "thinking_usd": 2}
    assert read_book(book).warnings == [
        "/provider_alias: no key of a price book (`provider_aliases`?), passed over",
        "/providers/claude/subscription_usd_monthly: no key of a price book (`subscription_usd_month`?), passed over",
        "/providers/claude/models/full/cache_reads_usd_per_mtok: no key of a price book (`cache_read_usd_per_mtok`?), "
        "passed over",
        "/providers/claude/models/full/thinking_usd: no key of a price book, passed over",
    ]
    assert read_book(BOOK).warnings == []


def test_a_misspelled_required_rate_is_an_error_that_names_it():
    full = {"input_usd_per_mtoks": 1, "output_usd_per_mtok": 2}
    with pytest.raises(BookError, match=r"`input_usd_per_mtok` is missing; .*/input_usd_per_mtoks: no key"):
        read_book(changed("providers/claude/models/full", full))


def test_a_mark_at_the_start_is_skipped_and_a_repeated_key_said(tmp_path: Path):
    path = tmp_path / "book.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(BOOK).encode())
    assert load_book(path) == read_book(BOOK)
    path.write_text(json.dumps(BOOK)[:-1] + ', "meta": {}}')
    assert "`meta` stands more than once" in load_book(path).warnings[0]
    path.write_text('{"providers": {"claude": {"models": {"m": {"input_usd_per_mtok": NaN}}}}}')
    with pytest.raises(BookError, match="NaN is no JSON value at line 1"):
        load_book(path)

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.interchange.price_book import BookError, Rates, load_book, read_book

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
    assert book.subscription("anthropic") == 30 and book.subscription("codex") == book.subscription("x") == 0
    assert book.rates("claude", "Sonnet") is None
    assert book.rates("nobody", "sonnet-4") is None
    assert (book.source, book.updated_at) == ("a test", "2026-02-01")


def changed(path: str, value: Any) -> dict[str, Any]:
    book = copy.deepcopy(BOOK)
    *steps, last = path.split("/")
    place: Any = book
    for step in steps:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return book


@pytest.mark.parametrize(
    ("book", "words"),
    [
        ([], "the book: not an object"),
        ({}, "`providers` is missing"),
        (changed("providers", 1), "/providers: not an object"),
        (changed("meta", 1), "/meta: not an object"),
        (changed("provider_aliases/x", "nobody"), "/provider_aliases/x: there is no provider nobody"),
        (changed("provider_aliases/x", 5), "/provider_aliases/x: not a name"),
        (changed("providers/claude/model_aliases/y", "z"), "/providers/claude/model_aliases/y: there is no model z"),
        (changed("providers/claude", None), "/providers/claude: not an object"),
        (changed("providers/claude/models/full", 5), "/providers/claude/models/full: not an object"),
        (
            changed("providers/claude/models/full/output_usd_per_mtok", ...),
            "/providers/claude/models/full: `output_usd_per_mtok` is missing",
        ),
        (changed("providers/claude/models/full/input_usd_per_mtok", -1), "input_usd_per_mtok: not a number of dollars"),
        (changed("providers/claude/models/full/input_usd_per_mtok", "1"), "not a number of dollars"),
        (changed("providers/claude/models/full/input_usd_per_mtok", True), "not a number of dollars"),
        (changed("providers/claude/models/full/input_usd_per_mtok", 1e300), "not a number of dollars"),
        (changed("providers/claude/subscription_usd_month", None), "subscription_usd_month: not a number of dollars"),
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

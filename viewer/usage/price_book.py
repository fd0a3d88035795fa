"""Prices for the commands: a person's price book from a file, and what a session's responses cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.costs.price_book import BookError, load_book
from viewer.output import CallError, path_text, warn
from viewer.sessions.targets import given_path

if TYPE_CHECKING:
    from schemas.costs.price_book import PriceBook


def load(given: str) -> PriceBook:
    """The price book in a file. Raises CallError that names the file and what is wrong in it."""
    path = given_path(given)
    try:
        book = load_book(path)
    except BookError as error:
        raise CallError(f"{path_text(path)}: no price book: {error}") from None
    except OSError as error:
        raise CallError(f"{path_text(path)}: {(error.strerror or str(error)).lower()}") from None
    for warning in book.warnings:
        warn(f"{path_text(path)}: {warning}")
    return book

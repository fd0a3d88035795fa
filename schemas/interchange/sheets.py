"""Sheets, of which the views of events and of snapshots are made: sections with a heading, and tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schemas.clean import one_line
from schemas.message import Kind
from schemas.records import Record
from schemas.session import Exchange, Session

_MARKUP = re.compile(
    r"[|`*\[\]]"  # a cell's end, code, emphasis, links
    r"|\\(?=[!-/:-@\[-`{-~]|$)"
    r"|(?<![^\W_])_|_(?![^\W_])"  # within a word it means nothing
    r"|~(?=~)|<(?=[A-Za-z/!?])|&(?=#?\w+;)"
    r"|^[#>+=-]|(?<=^\d)[.)]|(?<=^\d\d)[.)]"
)


def escaped(text: str, limit: int = 500) -> str:
    """Text on one line as Markdown that shows it. Nothing is escaped without need: people read the source, too."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text, limit))


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of cells that are Markdown already. The first column is text, the others are figures."""
    rule = ["---", *["---:"] * (len(heading) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (heading, rule, *rows))


def open_section(session: Session, title: str, key: int, record: Record) -> Exchange:
    """Begin a part of a view, with a heading that folds it. Nobody typed anything, so it is no numbered exchange."""
    exchange = session.open_exchange(Kind.NOTE, title)
    exchange.opener = None
    session.mark_opener(session.add_message(Kind.NOTE, key, record))
    return exchange

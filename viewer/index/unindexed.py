"""Looking through sessions themselves, for what the full-text index does not hold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

from schemas.provider import Problem
from schemas.troubles import OpenError, bug
from viewer.index.fulltext import MESSAGE, row_of
from viewer.index.query import Facts, Query
from viewer.index.texts import PROMPTS, SessionText, text_of_session
from viewer.sessions.freshness import file_state

TITLE = 3
"""The lane of a session's title; its row has the message `MESSAGE`."""


def look_through(path: str, query: Query, problems: list[Problem]) -> Iterator[tuple[SessionText, list[int]]]:
    """The rows that a query means of a session and of each of its subagents, as the index would give them."""
    from schemas.costs.responses import members_of
    from schemas.opening import read_session

    try:
        session = read_session(Path(path))
        try:
            for member in members_of(session, problems):
                if member is session or member.path != session.path:
                    text = text_of_session(member, file_state(member.path), "" if member is session else path)
                    if rows := rows_in(text, query):
                        yield text, rows
        finally:
            session.close()
    except OpenError as error:
        problems.append(Problem(Path(path), error.reason))
    except OSError as error:
        problems.append(Problem(Path(path), (error.strerror or str(error)).lower()))
    except Exception as error:  # noqa: BLE001
        # A bug that one file brings to light must not end the search through all the others.
        problems.append(Problem(Path(path), bug(error)))


def rows_in(text: SessionText, query: Query) -> list[int]:
    """The rows of a session that a query means, by looking at its text."""
    if not query.session(Facts(text.facts["provider"], text.facts["root"], text.facts["branch"])):
        return []
    found = [row for row in text.rows if query.finds(row.words, row.marks)]
    if query.of_files:
        touched = {touch.message for touch in text.touches if query.file(text.facts["root"], touch.path)}
        if query.of_exchanges:
            starts = [exchange.start for exchange in text.exchanges]
            exchanges = {bisect_right(starts, message) for message in touched}
            touched = {row.message for row in found if bisect_right(starts, row.message) in exchanges}
        found = [row for row in found if row.message in touched]
    rows = [row_of(row.lane, 0, row.message) for row in found]
    titled = query.of_sessions and query.titled(text.facts["title"]) and query.when(text.facts["created"])
    if titled and not any(row.lane == PROMPTS for row in found):
        rows.append(row_of(TITLE, 0, MESSAGE))
    return rows

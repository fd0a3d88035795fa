"""The responses of sessions, each once: from the index of this machine, or from files that are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from renderers.facts import exchange_numbers, plural
from schemas.costs.price_book import BookError, PriceBook, load_book
from schemas.costs.responses import Holder, Ledger, Response, Tally, family, source_of_session
from schemas.provider import Problem
from schemas.session import Session
from viewer.output import CallError, path_text, warn, warn_of
from viewer.sessions.selection import begun_in, each_session, exchanges_at, is_begun
from viewer.sessions.targets import Target, given_path
from viewer.usage.sums import EVERYTHING, Filters

if TYPE_CHECKING:
    from schemas.costs.prices import Prices
    from viewer.index.library import Library
    from viewer.usage.explain import Explanation


class Taken(NamedTuple):
    """The responses of a session and its subagents."""

    rows: list[Response]
    """All of it, copies too, without what they inherited."""
    counted: list[Response]
    """What counts of it, and is asked for."""
    subagents: int
    unmetered: bool
    """Whether one of them has no figures."""


class Spending:
    """The responses that are asked for and count, priced, and their totals."""

    def __init__(
        self, prices: Prices | None, filters: Filters = EVERYTHING, explanation: Explanation | None = None
    ) -> None:
        """Without `prices` nothing is priced."""
        self.copies = 0
        """How many were asked for and are copies."""
        self.sessions = self.subagents = 0
        """How many were asked for and read."""
        self.projects: set[str | None] = set()
        """The workspaces of all sessions."""
        self._label = "session"
        """What one session's own total is called: a part of it by its place."""
        self._own, self._subagents, self._inherited = Tally(), Tally(), Tally()
        self.ledger = Ledger()
        """Knows the copies; to be set before sessions are taken."""
        self._parts: dict[str, tuple[range, set[int]]] = {}
        """By the paths of sessions that were named with a place the exchanges that are asked for, and the numbers of
        the session and of the subagents that were started there.
        """
        self._prices, self._filters, self._explanation = prices, filters, explanation

    def from_index(self, library: Library) -> Iterator[Response]:
        """The responses of every session of this machine, subagents included: no file is read.

        A session comes behind those that it was copied from, so that a response counts where it was given; what none
        of them gave counts for the first fork that has a copy.
        """
        indexed = library.responses()
        self.ledger.compare([table for _, table in indexed])
        for summary, table in indexed:
            self.projects.add(summary.workspace_root)
            yield from self._counted(self.ledger.settle(self._asked(table.rows(summary.source, summary.when))))
        yield from self._counted(self.ledger.settle_inherited())

    def from_files(
        self, targets: list[Target], ledger: Ledger, progress: Callable[[int, int], None], *, strict: bool
    ) -> Iterator[Response]:
        """The responses of sessions that are read in that order, subagents included; `ledger` knows the copies."""
        self.ledger = ledger
        for target, session in each_session(targets, progress, strict=strict):
            yield from self.take(target, session).counted
        yield from self.end()

    def take(
        self,
        target: Target,
        session: Session,
        look: Callable[[Session, list[Response]], object] = lambda member, rows: None,
    ) -> Taken:
        """Count a session and its subagents. `look` is called with each and its responses while it is open. Raises
        CallError for a place that is none, or a message.
        """
        part = exchanges_at(session, target.place)
        self.projects.add(session.workspace_root)
        self._label = target.place or "session"
        wanted = self._filters.fit_session(session.provider, session.workspace_root)
        source = source_of_session(session, target.shown_path, _exchanges(session))
        failed: list[Problem] = []
        rows: list[Response] = []
        members, unmetered = 0, False
        asked, begun = {0}, set[Path | int]()
        if part is not None:
            self._parts[source.path] = part.exchanges, asked
            begun = begun_in(session.subagents, part.messages(session))
        for member, found in family(session, failed, source):
            if members and (part is None or is_begun(member, begun)):
                asked.add(members)
            if self._explanation is not None:
                # What no figure holds is told of whole sessions.
                whole = wanted and not target.place
                self._explanation.look(member, members, found, target.shown_path, wanted=whole)
            look(member, found)
            members, unmetered = members + 1, unmetered or member.is_unmetered
            rows += found
        counted = list(self._counted(self.ledger.settle(self._asked(rows))))
        for row in counted:
            (self._subagents if row.member else self._own).add(row)
        if self._explanation is not None:
            self._explanation.end_session()
        warn_of(failed)
        self.sessions += wanted
        self.subagents += wanted * (len(asked) - 1)
        return Taken([row for row in rows if not row.inherited], counted, members - 1, unmetered)

    def end(self) -> Iterator[Response]:
        """Yield what forks inherited from sessions that are not among those that were taken."""
        for row in self._counted(self.ledger.settle_inherited()):
            self._inherited.add(row)
            yield row

    @property
    def total(self) -> Tally:
        """The sum of all that was taken."""
        return self._own + self._subagents + self._inherited

    def foot(self) -> list[tuple[str, Tally]]:
        """The totals of the sessions by what they are called: of one its own, of several those of all their subagents
        too; then with what only adds to it.
        """
        both = self._own + self._subagents
        if self.sessions == 1:
            totals = [(self._label, self._own)]
            if self.subagents:
                totals.append((f"with {plural(self.subagents, 'subagent')}", both))
        else:
            more = f", {plural(self.subagents, 'subagent')}" if self.subagents else ""
            totals = [(f"{plural(self.sessions, 'session')}{more}", both)]
        if self._inherited.responses:
            totals.append(("with inherited", both + self._inherited))
        return totals

    def _asked(self, rows: Iterable[Response]) -> Iterable[Response]:
        """The rows without what is inherited by sessions that are not asked for: that counts for one that is. The rest
        of these sessions is settled too, as others may have copies of it.
        """
        fits = self._filters.fit_session
        return (row for row in rows if not row.inherited or fits(row.session.provider, row.session.project))

    def _counted(self, settled: Iterable[tuple[Response, Holder | None]]) -> Iterator[Response]:
        """Yield of what the ledger settled that which counts and is asked for."""
        for row, holder in settled:
            asked = self._filters.fit(row) and self._is_there(row)
            if holder is not None:
                self.copies += asked
                if self._explanation is not None:
                    self._explanation.copied(row, holder, asked=asked)
            elif asked:
                if self._explanation is not None:
                    self._explanation.counted(row)
                yield row if self._prices is None else row.price(self._prices)

    def _is_there(self, row: Response) -> bool:
        """Tell whether a response is of the place that was named, where one was."""
        exchanges, members = self._parts.get(row.session.path, (None, None))
        if exchanges is None or members is None:
            return True
        return row.member in members and (bool(row.member) or row.exchange in exchanges)


def _exchanges(session: Session) -> list[tuple[str, str]]:
    """The id of each exchange, and its number and prompt."""
    prompts = (f"{number}. {prompt}" if number else prompt for number, prompt in numbered_prompts(session))
    return [(exchange.id, prompt) for exchange, prompt in zip(session.exchanges, prompts, strict=True)]


def numbered_prompts(session: Session) -> list[tuple[str, str]]:
    """Each exchange's number, empty where it has none, and its prompt with what else it is."""
    found = []
    for exchange, number in zip(session.exchanges, exchange_numbers(session), strict=True):
        prompt = exchange.prompt or ("(before the first prompt)" if exchange.opener is None else "(empty prompt)")
        mark = "(rewound) " if exchange.rewound else "(inherited) " if exchange.inherited else ""
        found.append((str(number or ""), mark + prompt))
    return found


def price_book(given: str) -> PriceBook:
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

"""The quiet lines around a transcript, and what they say of its session."""

from __future__ import annotations

from typing import Any

from textual.content import Content
from textual.events import Click

from renderers.facts import cost_fact, exchange_numbers, format_count, lack_names, lacks_line, plural
from schemas.clean import one_line
from schemas.costs.responses import Tally
from schemas.message import Kind
from schemas.paths import path_text
from schemas.session import Lack, Session
from viewer.transcript.view import TranscriptView
from viewer.usage.family import FamilyUsage
from viewer.widgets.chrome import TitleBar

_WORK = frozenset({Kind.PROMPT, Kind.STEER, Kind.THINKING, Kind.TOOL})
_BESIDE = frozenset({Kind.NOTE, Kind.CONTEXT, Kind.UNKNOWN})
_LINES = 4
"""Line numbers that are named; the rest stands under `w`."""


def running_exchange(session: Session, live: bool) -> int:
    """The exchange that the agent is at work on: the last one, if the session is being written and nothing says that
    the turn is over, neither an answer nor a recorded duration; else -1.
    """
    if not live or not session.exchanges:
        return -1
    exchange = session.exchanges[-1]
    if exchange.seconds is not None or exchange.opener is None:
        return -1
    kinds = session.messages.kind
    for i in reversed(session.message_range(exchange.index)):
        if kinds[i] not in _BESIDE:
            return exchange.index if kinds[i] in _WORK or i == exchange.start else -1
    return -1


def name_line(session: Session) -> str:
    """Name a session: its title, or else its first prompt; while it is being read, its file."""
    return (
        session.title
        or next((e.prompt for e in session.exchanges if e.prompt), "")
        or session.id
        or path_text(session.path.name)
    )


def origin_facts(session: Session) -> str:
    """`Claude Code · lamp-shop · fix/migrate`."""
    facts = [session.provider_name]
    if session.workspace_root:
        facts.append(one_line(session.workspace_root.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1], 40))
    if session.branch:
        facts.append(one_line(session.branch, 40))
    return " · ".join(facts)


def state_line(
    session: Session, problem: str, news: str, ended: bool | None, following: bool, live: bool = True
) -> Content:
    """Say where the session is from and how it stands: `problem` in reading it, else `news` of the one that takes its
    place, else whether it is live. `ended`: whether standard input has ended; None for what comes from files.
    Following what nobody writes is waiting.
    """
    if problem:
        # Alone: of a line that is too long all of this end is left out.
        return Content.styled(one_line(problem, 48), "$error")
    said = ""
    if news:
        said = f"{news[0].lower()}{news[1:]} · f opens it"
    elif not ended:
        kept = "following" if live else "waiting for more"
        kept = kept if session.provider else "waiting for the first record"
        said = " · ".join([*(["live"] if ended is False else []), *([kept] if following else [])])
    origin = (origin_facts(session), "$text-muted")
    if not news and ended:
        return Content.assemble(origin, ("  stream ended", "$text-muted"))
    return Content.assemble(origin, (f"  {said}" if said else "", "$accent"))


def totals_line(
    session: Session,
    family: FamilyUsage,
    cut: int | None = None,
    cost: Tally | None = None,
    doing: tuple[str, str] = ("", ""),
) -> Content:
    """Say what could not be read, which must not be missed, what it does now (`doing`: words and their colour) and the
    totals. `cut`: an unfinished last line. `cost`: of the session without its subagents, once it is known.
    """
    faults = _faults(session, cut)
    parts: list[tuple[str, str]] = [(" · ".join(faults), "$warning")] if faults else []
    if doing[0]:
        parts += [(" · " if parts else "", "$text-muted"), doing]
    pieces: list[str] = []
    usage = session.usage()
    if usage is not None and usage.total is not None:
        rewound = any(exchange.rewound for exchange in session.exchanges)
        pieces.append(f"{format_count(usage.total)} tokens{' with rewound' if rewound else ''}")
        if usage.total and cost is not None and (said := cost_fact(cost)):
            pieces.append(said)
    elif session.own_total:
        pieces.append(session.own_total)
    elif session.exchanges and Lack.TOKENS not in session.lacks:
        pieces.append("tokens unknown")
    # A stream's own total holds what its subagents used: saying it twice would tell nothing.
    together = family.total(session) if family.subagents else None
    if together is not None and together.total not in (None, usage and usage.total):
        some = f"{family.subagents:,} of {family.subagents + family.unread:,} " if family.unread else ""
        least = "+" if session.is_unmetered or family.unmetered else ""
        pieces.append(f"{format_count(together.total)}{least} with {some}subagents")
        if cost is not None and family.cost is not None and (said := cost_fact(cost + family.cost)):
            pieces.append(said)
    elif family.unread:
        pieces.append("subagents not included")
    if session.context_used and session.context_window:
        pieces.append(context_fact(session.context_used, session.context_window))
    if lacks := lacks_line(lack_names(session.lacks)):
        pieces.append(lacks)
    if pieces:
        parts.append(((" · " if parts else "") + " · ".join(pieces), "$text-muted"))
    return Content.assemble(*parts)


def context_fact(part: int, whole: int) -> str:
    """`context 61 %`: how far the context is filled; what is not nothing is never 0, and what is not all never 100."""
    percent = 100 * part / whole
    return f"context {'<1' if percent < 1 else 99 if 99 <= percent < 100 else round(percent)} %"


def _faults(session: Session, cut: int | None) -> list[str]:
    faults: list[str] = []
    places = session.unreadable_lines()
    numbers = list(dict.fromkeys([*places.pop("", []), *([] if cut is None else [cut])]))
    if numbers:
        some = ", ".join(f"{n:,}" for n in numbers[:_LINES]) + (", …" if len(numbers) > _LINES else "")
        faults.append(f"unreadable: line{'' if len(numbers) == 1 else 's'} {some}")
    faults += [f"unreadable: {one_line(file, 80)}" for file in list(places)[:_LINES]]
    if unknown := sum(session.unknown.values()):
        faults.append(plural(unknown, "unknown record"))
    return faults


class PromptLine(TitleBar):
    """The number and the prompt of the exchange at the top of a view, once its own line has scrolled out; a click goes
    there. It has its line all the time, so that nothing moves when it is filled.
    """

    def __init__(self, view: TranscriptView, **options: Any) -> None:
        super().__init__(**options)
        self._view = view

    def show(self) -> None:
        """Show what is above the screen now."""
        exchange = self._view.exchange_above
        if exchange is None:
            self.left = Content("")
            return
        name = exchange_numbers(self._view.session)[exchange.index] or ("rewound" if exchange.rewound else "inherited")
        prompt = exchange.prompt or "(empty prompt)"
        self.left = Content.assemble((f" ↑ {name}  ", "$accent"), (prompt, "$text-muted"))

    def on_click(self, event: Click) -> None:
        event.stop()
        if (exchange := self._view.exchange_above) is not None:
            self._view.go_to(exchange.start)

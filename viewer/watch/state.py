"""The state of a session that runs: what it does, or for what it waits, and how that is known.

A verdict depends on the session's records, on what its agent says and on its processes, and on nothing else. The order
of evidence is that of formats/found-live.md: what the agent says itself, an open question or plan by its tool's name,
an open tool use with or without a process, stillness on the terminal. That a file is quiet says nothing: no agent
writes while it streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from math import inf
from operator import itemgetter
from typing import NamedTuple

from renderers.facts import plural
from renderers.headline import headline
from schemas.agents import Agent
from schemas.clean import one_line
from schemas.message import WORK_KINDS, Flag, Kind, Tool, ToolStatus, ToolType
from schemas.running import Stated, Status, Wait
from schemas.session import Session
from schemas.troubles import OpenError, guarded
from schemas.values import dict_of, list_of, text_of
from viewer.watch.processes import Process

_EARLY = 0.5
"""Seconds by which a tool's process may be older than its record says, whose time may be that of its writing."""
_SOON = 2.0
"""Seconds in which a tool use may end, or be let through by a rule, before it is taken for one that waits."""
_LATE = 0.5
"""Seconds by which a record may be written later than the agent says that it waits."""
_LONGEST = 2000
"""Characters of a plan, a text or a question that are kept."""


class Does(StrEnum):
    """A session's state in a word, the one that needs a person most first."""

    WAITS = "waits"
    STOPPED = "stopped"
    WORKS = "works"
    DONE = "done"
    """The turn is over: it is the person's."""
    ENDED = "ended"
    """No process works on it any more."""


_RANKS = {does: number for number, does in enumerate(Does, 1)}


class Ask(NamedTuple):
    """A question to the person, with the answers to choose from, if there are any."""

    question: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """A verdict on a session."""

    does: Does
    what: str = ""
    """What it does (`$ pytest -q`, `thinking`), for what it waits (a `Wait`), or how it came to its end."""
    since: float | None = None
    """When that began, in seconds since 1970."""
    source: str = ""
    """By what it is known, in words."""
    certain: bool = True
    """Whether it is sure; else it is likely."""
    asks: tuple[Ask, ...] = ()

    @property
    def need(self) -> int:
        """The urgency of its need for a person, 0 most: what surely waits stands before what perhaps does."""
        return 0 if self.does is Does.WAITS and self.certain else _RANKS[self.does]


class Call(NamedTuple):
    """An open tool use: one that has no result."""

    name: str
    title: str
    since: float | None
    """When it was called, or let through, where the records tell that."""
    type: ToolType
    """What kind of tool it is; `task` where it started a subagent."""
    wait: Wait | None
    """What it asks for by its name: a question, a plan."""
    told: Wait | float | None
    """What the records say of it, as `Agent.waits` has it."""
    asks: tuple[Ask, ...]


class Turn(NamedTuple):
    """A session's turn, by its records."""

    calls: tuple[Call, ...] = ()
    over: bool = False
    how: str = ""
    """How a turn that is over ended: `answered`, `interrupted`, `failed`."""
    writing: bool = False
    since: float | None = None
    """The time of the last record."""
    wait: Wait | None = None
    """What it may wait for although it is over."""
    last: str = ""
    """The last text of the agent."""

    @property
    def phase(self) -> object:
        """The mark of what the session does: another one when it does something else. With open tool uses it waits for
        those, whatever records come meanwhile.
        """
        return self.over, [(call.title, call.since) for call in self.calls] or self.since


@dataclass(slots=True)
class Evidence:
    """The process that works on a session, as far as it is known."""

    alive: bool | None = None
    """None where nobody can tell."""
    workers: list[Process] = field(default_factory=list, compare=False)
    """The processes whose children run its tools."""
    screens: list[Process] = field(default_factory=list, compare=False)
    """Those that draw on its terminal."""
    stopped: bool = False
    silent: bool = False
    """Whether it asks nobody for permission."""
    late: bool = False
    """Whether a tool use is written when it is over."""
    runs: tuple[tuple[str, float], ...] = ()
    """The commands of its tools' processes, and when they began."""
    still: bool | None = None
    """Whether its terminal is still (True) or drawn on (False); None where that is not known."""
    draws: bool = False
    """Whether its terminal is never still while the model is at work."""
    during: object = None
    """The turn's phase in which that was measured."""
    stated: Stated | None = None
    """What the agent says of the session."""
    foreign: bool = False
    """Whether the agent names a process in another container or on another machine, which nobody here can look for."""
    begun: float | None = None
    """When it began."""
    gone: float | None = None
    """When it was found gone, where it was seen before."""

    @property
    def is_registered(self) -> bool:
        """Tell whether the agent names its process."""
        return self.stated is not None and bool(self.stated.pid)


def turn_of(session: Session, agent: Agent) -> Turn:
    """Return the session's turn as its records have it."""
    kinds, flags = session.messages.kind, session.messages.flags
    left_out = Flag.REWOUND | Flag.INHERITED
    count = len(kinds)
    done = next((i for i in range(count - 1, -1, -1) if kinds[i] in WORK_KINDS and not flags[i] & left_out), 0)
    # Prompts that wait for their turn stand behind what is being done for the one before.
    first = session.exchanges[session.messages.exchange[done]].start if count else 0
    open_ = [i for i in range(first, count) if flags[i] & Flag.PENDING and not flags[i] & left_out]
    end = next((i for i in range(count - 1, -1, -1) if kinds[i] in _TELLING and not flags[i] & left_out), -1)
    kind = kinds[end] if end >= 0 else Kind.TEXT
    said = session.turn_end > end  # nothing came behind what the source says is an end
    over = said or (end >= 0 and kind in _ENDS and not (agent.running.ends and kind == Kind.TEXT))
    if kind == Kind.TOOL and flags[end] & Flag.INTERRUPTED:
        tool = session.message(end).tool
        # Some agents write no more of it than the use's result; after one that was refused the agent goes on.
        if tool is not None and tool.status is ToolStatus.INTERRUPTED:
            over, kind = True, Kind.INTERRUPT
    writing = end >= 0 and kind == Kind.TEXT and bool(flags[end] & Flag.GROWING)
    wait = _told(session, agent, end, "") if over and end >= 0 else None
    return Turn(
        tuple(_call(session, agent, index) for index in open_) if not said else (),
        over and not writing,
        _ENDS.get(Kind(kind), "answered") if count else "",
        writing,
        session.updated,
        wait if isinstance(wait, Wait) else None,
        session.last_text(Flag.REWOUND)[-_LONGEST:],
    )


_ENDS = {Kind.TEXT: "answered", Kind.INTERRUPT: "interrupted", Kind.ERROR: "failed"}
_TELLING = frozenset({Kind.PROMPT, Kind.STEER, Kind.TEXT, Kind.THINKING, Kind.TOOL, Kind.INTERRUPT, Kind.ERROR})
"""Kinds of messages that tell whose turn it is."""


def _call(session: Session, agent: Agent, index: int) -> Call:
    message = session.message(index)
    tool = message.tool or Tool(message.label, "unknown", "", {})
    running = agent.running
    wait = Wait.QUESTION if tool.name in running.questions else Wait.PLAN if tool.name in running.plans else None
    title, told = headline(tool, session.workspace_root).title, _told(session, agent, index, tool.use_id)
    since = message.timestamp
    return Call(
        tool.name,
        title,
        max(since or 0.0, told) if isinstance(told, float) and told else since,
        "task" if message.flags & Flag.SUBAGENT else tool.type,
        wait,
        told,
        _asked(tool, title, wait),
    )


def _told(session: Session, agent: Agent, index: int, use: str) -> Wait | float | None:
    """Return what the records say of a message (`Agent.waits`); where its agent's code fails on them they do not tell,
    and the transcript says so.
    """
    try:
        with guarded():
            return agent.waits(session, index, use)
    except (OSError, OpenError):
        return None


def _asked(tool: Tool, title: str, wait: Wait | None) -> tuple[Ask, ...]:
    """The questions of a tool to the person, by the names that most agents give; a plan, or the use in one line."""
    given = tool.input
    if wait is Wait.PLAN:
        return (Ask(text_of(given.get("plan"))[:_LONGEST] or title),)
    found = []
    for one in map(dict_of, list_of(given.get("questions")) or [given]) if wait is Wait.QUESTION else ():
        choices = list_of(one.get("options")) or list_of(one.get("choices"))
        for asked in dict_of(dict_of(one.get("requestedSchema")).get("properties")).values():
            choices = choices or list_of(dict_of(asked).get("enum"))
        names = (text_of(choice) or text_of(dict_of(choice).get("label")) for choice in choices)
        if question := text_of(one.get("question")) or text_of(one.get("message")):
            found.append(Ask(one_line(question, _LONGEST), tuple(one_line(name) for name in names if name)))
    return tuple(found) or (Ask(title),)


def judge(agent: str, turns: Sequence[Turn], link: Evidence, *, now: float, live: bool) -> State:
    """The state of a session. `agent` is the agent's name, `turns` the session's turn and those of its subagents that
    run, `live` whether a file of it was written within the last minute.
    """
    # A tool use from before the session's process was left open by another one.
    oldest = -inf if link.begun is None else link.begun - _EARLY
    turns = [
        each._replace(calls=tuple(call for call in each.calls if call.since is None or call.since >= oldest))
        for each in turns
    ]
    turn, calls = turns[0], [call for each in turns for call in each.calls]
    stated = _as_stated(turn, calls, link.stated, now)
    status = stated.status if stated is not None else Status.UNTOLD
    if link.alive is False:
        return _left(turn, stated, link.gone)
    if link.stopped:
        return State(Does.STOPPED, "ctrl+z", turn.since, "its process is stopped")
    if (waiting := _sure_wait(agent, calls, link, stated)) is not None:
        return waiting if link.alive or (live and not link.foreign) else replace(waiting, certain=False)
    if status is Status.DONE and stated is not None and turn.wait is None:
        how = ", ".join(filter(None, (turn.how if turn.over else "", stated.note)))
        return State(Does.DONE, how, stated.since or turn.since, f"{agent} says so")
    if calls:
        return _working(agent, turns, link, now=now, live=live)
    if len(turns) > 1:
        return State(Does.WORKS, plural(len(turns) - 1, "subagent"), turns[1].since, "its subagents' records")
    if turn.over and status not in (Status.WORKS, Status.GOES_ON):
        return _over(agent, turn, link)
    if status in (Status.WORKS, Status.GOES_ON):
        what = _command(turn, link) or ("writing" if turn.writing else "thinking")
        return State(Does.WORKS, what, turn.since, f"{agent} says so")
    if link.alive is None and not live:
        return State(Does.ENDED, "in the middle", turn.since, "nothing was written for a minute", certain=False)
    if link.still and link.draws:
        return State(Does.DONE, "no answer", turn.since, "its records; its terminal is still", certain=False)
    known = "its records" if link.alive else "its records; no process of it is known"
    return State(Does.WORKS, "writing" if turn.writing else "thinking", turn.since, known, bool(link.alive))


def _as_stated(turn: Turn, calls: Sequence[Call], stated: Stated | None, now: float) -> Stated | None:
    """Return what the agent says, without a status that is older than what its records say meanwhile, or younger than
    those that say what it waits for.
    """
    if stated is None or turn.since is None:
        return stated
    if stated.since is None:  # what tells no time may be said again in a moment
        early = stated.status is Status.DONE and not turn.over and now - turn.since < _SOON
        return stated._replace(status=Status.UNTOLD) if early else stated
    answered = stated.status is Status.WAITS and not calls and (turn.since > stated.since or now - stated.since < _LATE)
    begun = stated.status is Status.DONE and not turn.over and turn.since > stated.since
    ended = stated.status is Status.GOES_ON and turn.over and turn.since >= stated.since
    return stated._replace(status=Status.UNTOLD) if answered or begun or ended else stated


def _left(turn: Turn, stated: Stated | None, gone: float | None) -> State:
    """The state of a session whose process is gone, since then or, where nobody saw it go, since its last record."""
    answered, since = turn.over and not turn.calls, gone or turn.since
    if stated is not None and stated.pid:
        what = "killed, answered" if answered and stated.status in (Status.DONE, Status.UNTOLD) else "killed"
        return State(Does.ENDED, what, since, "registered by its agent, but its process is gone")
    how = turn.how if answered else "in the middle"
    return State(Does.ENDED, how, since, "no process of it is there", certain=False)


def _sure_wait(agent: str, calls: Sequence[Call], link: Evidence, stated: Stated | None) -> State | None:
    """A wait for the person that is sure: the agent says so, or asks in so many words."""
    asking = next((call for call in calls if call.wait is not None), None)
    if stated is not None and stated.status is Status.WAITS:
        wait = (asking.wait if asking else None) or stated.wait or Wait.PERMISSION
        # The questions of that kind are meant, else those of what may need permission.
        meant = [call for call in calls if call.wait is wait] or _gated(calls, link)
        asked = tuple(ask for call in meant for ask in call.asks)
        since = stated.since or max((call.since for call in calls if call.since is not None), default=None)
        return State(Does.WAITS, wait, since, f"{agent} says so", asks=asked)
    if asking is not None and asking.wait is not None and not link.silent:
        return State(Does.WAITS, asking.wait, asking.since, f"an open {asking.wait}", asks=asking.asks)
    told = next((call for call in calls if isinstance(call.told, Wait)), None)
    if told is not None and isinstance(told.told, Wait):
        return State(Does.WAITS, told.told, told.since, f"{agent}'s records say so", asks=told.asks)
    return None


def _gated(calls: Iterable[Call], link: Evidence) -> list[Call]:
    """Return the calls that may wait for permission: those without a process, those that only read last."""
    free = [call for call in calls if call.type != "task" and call.wait is None and _process(call, link) is None]
    return [call for call in free if call.type not in ("read", "search")] or free


def _process(call: Call, link: Evidence) -> float | None:
    """The time at which a process began that did with a tool use or after it."""
    began = (call.since or 0.0) - _EARLY
    return next((at for _, at in link.runs if at >= began), None)


def _command(turn: Turn, link: Evidence) -> str:
    """The command of the newest process that began after the last record: within a shell, what that runs."""
    began = (turn.since or 0.0) - _EARLY
    run = max((run for run in link.runs if run[1] >= began), key=itemgetter(1), default=None)
    return f"$ {one_line(run[0])}" if run is not None else ""


def _working(agent: str, turns: Sequence[Turn], link: Evidence, *, now: float, live: bool) -> State:
    """The state of a session with open tool uses that do not surely wait."""
    own, *below = ([call for call in each.calls if call.type != "task"] for each in turns)
    calls = [*own, *chain.from_iterable(below)]
    started = next(each.calls[-1] for each in turns if each.calls)
    what, since = (own[-1].title, own[-1].since) if own else (started.title, started.since)
    if not own and below:
        what = plural(len(below), "subagent")
    for ran in (one for one in calls if one.type == "shell"):
        if (begun := _process(ran, link)) is not None:
            begun = max(begun, ran.since or 0.0)
            return State(Does.WORKS, ran.title if ran in own else what, begun, "a process of it runs")
    if any(isinstance(one.told, float) for one in calls):
        return State(Does.WORKS, what, since, f"{agent}'s records say so")
    if link.stated is not None and link.stated.status is Status.WORKS:
        since = max(filter(None, (since, link.stated.since)), default=None)  # it waited until then
        return State(Does.WORKS, what, since, f"{agent} says so")
    if not calls:
        return State(Does.WORKS, what, since, "an open tool use, a subagent", bool(link.alive))
    if link.silent:
        return State(Does.WORKS, what, since, "an open tool use; it asks nobody")
    if link.still and now - (since or 0) >= _SOON and (gated := _gated(calls, link)):
        waits = tuple(ask for one in gated for ask in one.asks)
        reason = "an open tool use, no process of it, a still terminal"
        return State(Does.WAITS, Wait.PERMISSION, since, reason, certain=False, asks=waits)
    if link.alive is None and not live:
        return State(Does.ENDED, "in the middle", turns[0].since, "nothing was written for a minute", certain=False)
    return State(Does.WORKS, what, since, "an open tool use", link.still is False)


def _over(agent: str, turn: Turn, link: Evidence) -> State:
    """The state of a session whose turn is over, by its records."""
    if turn.wait is not None:
        said = (Ask(turn.last.strip()),) if turn.last else ()
        return State(Does.WAITS, turn.wait, turn.since, f"a {turn.wait} is the last thing said", False, said)
    if not link.late or turn.how != "answered":
        return State(Does.DONE, turn.how, turn.since, "its records")
    if command := _command(turn, link):
        return State(Does.WORKS, command, turn.since, "a process of it runs")
    if link.still is False:
        return State(Does.WORKS, "a tool", turn.since, "its terminal is drawn on", certain=False)
    return State(Does.DONE, turn.how, turn.since, f"its records, in which {agent} does not say that it asks", False)

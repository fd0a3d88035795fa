"""Which messages are one turn, and which turn says how many tokens (formats note 1.5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from schemas.interchange.session_data_write import KEEP
from schemas.interchange.toolpath_origin import CodexOrigin, Origin, ToolpathOrigin
from schemas.message import Kind
from schemas.session import Session
from schemas.table import NONE
from schemas.usage import TokenUsage, as_count, total_usage

_TEXT, _THINKING, _TOOL = int(Kind.TEXT), int(Kind.THINKING), int(Kind.TOOL)
_SAID = (_TEXT, _THINKING, _TOOL)
_INCLUSIVE = frozenset({"codex", "gemini", "qwen"})
"""Agents whose input counts what was read from the cache; the format keeps figures as the source has them."""


@dataclass(slots=True)
class Account:
    """What a turn says of tokens."""

    group: str | None = None
    total: dict[str, Any] | None = None
    attributed: dict[str, Any] | None = None
    alone: str | None = None
    """The group's own id where no other turn is of it: a turn that is called so needs to name no group."""


@dataclass(slots=True)
class Plan:
    """The turns of a session as ranges of its messages, each with its account."""

    turns: list[range]
    rounds: bool
    """Whether groups are parts of the format's: their share is attributed, the total is the round's."""
    accounts: dict[int, Account] = field(default_factory=dict)
    homeless: dict[int, list[int]] = field(default_factory=dict)
    """Token groups that no message is of, by the exchange in which they end."""


def plan_of(session: Session, origin: Origin) -> Plan:
    """The whole session's turns."""
    of_rounds = _has_rounds(origin)
    native = isinstance(origin, CodexOrigin)
    plan = Plan(_codex_turns(session) if native else _record_turns(session, split=not of_rounds), of_rounds)
    whole = list(range(len(session.groups))) if of_rounds else _wholes(session)
    last = _last_turns(session, plan.turns, whole)
    for group, usage in enumerate(map(session.groups.usage.__getitem__, range(len(session.groups)))):
        if whole[group] not in last and usage != TokenUsage():
            plan.homeless.setdefault(session.groups.exchange[group], []).append(group)
    if of_rounds:
        _count_rounds(session, origin, plan, last)
    else:
        _count_groups(session, origin, plan, last, whole)
    if "toolpath" in session.metadata and origin.attributes:
        _take_noted(session, plan)
    return plan


def _has_rounds(origin: Origin) -> bool:
    """Whether token groups are parts of larger units: Codex counts each response, the format's group is a round."""
    if isinstance(origin, ToolpathOrigin):  # in another program's document the groups are rounds already
        return origin.rounds
    return isinstance(origin, CodexOrigin)


# -- turns -------------------------------------------------------------------------------------------------------------


def _places(session: Session) -> list[tuple[int, int, int]]:
    """For each message its exchange, and the store and offset of its first record."""
    table, spans = session.messages, session.spans
    places: list[tuple[int, int, int]] = []
    for index in range(len(table)):
        span = next(spans.chain(table.span[index]))
        places.append((table.exchange[index], span.store, span.offset))
    return places


def _record_turns(session: Session, *, split: bool) -> list[range]:
    """Neighbours that were read from one record; `split`: and are not of different token groups."""
    groups, turns, start = session.messages.group, [], 0
    places = _places(session)
    group = NONE
    for index, place in enumerate(places):
        mine = groups[index]
        other = split and mine != NONE and group not in (NONE, mine)
        if index > start and (place != places[start] or other):
            turns.append(range(start, index))
            start, group = index, NONE
        group = mine if mine != NONE else group
    if places:
        turns.append(range(start, len(places)))
    return turns


class _State(Enum):
    """What the turn that is being gathered consists of."""

    RECORD = 0
    THOUGHTS = 1
    ASSISTANT = 2


def _codex_turns(session: Session) -> list[range]:
    """An assistant's text with the tool uses behind it, and the thinking before it; others by their records.

    Thinking behind a tool use belongs to that turn, unless a text follows, which then begins a turn with it.
    """
    places = _places(session)
    turns: list[range] = []
    start, state = 0, _State.RECORD
    thinking: int | None = None
    for index, kind in enumerate(session.messages.kind):
        open_turn = index > start and places[index][0] == places[start][0] and state != _State.RECORD
        cut: int | None = index
        if kind == _THINKING:
            if open_turn:
                cut = None
                thinking = index if state == _State.ASSISTANT and thinking is None else thinking
            else:
                state = _State.THOUGHTS
        elif kind in (_TEXT, _TOOL):
            if open_turn and (kind == _TOOL or state == _State.THOUGHTS or places[index] == places[index - 1]):
                cut = None
            elif open_turn and thinking is not None:
                cut = thinking
            state, thinking = _State.ASSISTANT, None
        elif state == _State.RECORD and index > start and places[index] == places[start]:
            cut = None
        else:
            state, thinking = _State.RECORD, None
        if cut is not None and cut > start:
            turns.append(range(start, cut))
            start = cut
    if places:
        turns.append(range(start, len(places)))
    return turns


def _wholes(session: Session) -> list[int]:
    """For each token group the first one of the document's group that it is a call of, mostly itself; what calls are
    of one group toolpath_calls.py noted when it took them apart.
    """
    kept = session.metadata.get(KEEP)
    rounds = kept.get("rounds") if isinstance(kept, dict) else None
    first: dict[str, int] = {}
    return [
        first.setdefault(name, group) if rounds and (name := rounds.get(str(group))) else group
        for group in range(len(session.groups))
    ]


def _last_turns(session: Session, turns: list[range], whole: list[int]) -> dict[int, int]:
    """For each token group that has messages, the last turn with one of them."""
    last: dict[int, int] = {}
    for number, turn in enumerate(turns):
        for index in turn:
            if (group := session.messages.group[index]) != NONE:
                last[whole[group]] = number
    return last


# -- tokens ------------------------------------------------------------------------------------------------------------


def counted(provider: str, usage: TokenUsage | None) -> dict[str, Any] | None:
    """Usage as the format has it, in the agent's own counting; None where nothing is known."""
    if usage is None or usage.total is None:
        return None
    fresh = usage.input
    if provider in _INCLUSIVE:
        known = [n for n in (usage.input, usage.cache_read, usage.cache_write) if n is not None]
        fresh = sum(known) if known else None
    data: dict[str, Any] = {"input_tokens": fresh, "output_tokens": usage.output}
    if usage.cache_read is not None:
        data["cache_read_tokens"] = usage.cache_read
    if usage.cache_write is not None:
        data["cache_write_tokens"] = usage.cache_write
    if usage.reasoning and usage.output is not None:
        data["breakdowns"] = {"output": {"reasoning": min(usage.reasoning, usage.output)}}
    return data


def read_counted(provider: str, data: dict[str, Any]) -> TokenUsage:
    """What `counted` wrote. Of an agent that is not known input is taken to be without cache."""
    fresh, output, read, write = (
        as_count(data.get(f"{name}_tokens")) for name in ("input", "output", "cache_read", "cache_write")
    )
    if provider in _INCLUSIVE and fresh is not None:
        fresh = max(fresh - (read or 0) - (write or 0), 0)
    inside = data.get("breakdowns")
    inside = inside.get("output") if isinstance(inside, dict) else None
    reasoning = as_count(inside.get("reasoning")) if isinstance(inside, dict) else None
    return TokenUsage(fresh, output, read, write, reasoning)


def _count_groups(session: Session, origin: Origin, plan: Plan, last: dict[int, int], whole: list[int]) -> None:
    """A group's total stands on the last turn of the group, as the source has it."""
    table, groups = session.messages, session.groups
    names = _names(session)
    first: dict[int, int] = {}
    calls: dict[int, list[TokenUsage]] = {}
    for call, group in enumerate(whole):
        calls.setdefault(group, []).append(groups.usage[call])
    for number, turn in enumerate(plan.turns):
        group = next((whole[table.group[index]] for index in turn if table.group[index] != NONE), NONE)
        if group == NONE:
            continue
        first.setdefault(group, number)
        account = plan.accounts[number] = Account(names[group])
        if last[group] == number:
            account.total = origin.total(group) or counted(session.provider, total_usage(calls[group]))
            if first[group] == number:
                account.alone = groups.ids[group]


def _take_noted(session: Session, plan: Plan) -> None:
    """What another program's document attributes to its turns, for each group in which it is no more than the total."""
    noted: dict[int, TokenUsage] = {}
    for number, turn in enumerate(plan.turns):
        said = session.message(turn[0]).metadata.get("attributed")
        if isinstance(said, dict) and (account := plan.accounts.get(number)) is not None and account.group is not None:
            noted[number] = read_counted(session.provider, said)
    by_group: dict[str | None, list[int]] = {}
    for number, account in plan.accounts.items():
        by_group.setdefault(account.group, []).append(number)
    for numbers in by_group.values():
        total = next((t for number in numbers if (t := plan.accounts[number].total) is not None), {})
        parts = [data for n in numbers if n in noted and (data := counted(session.provider, noted[n])) is not None]
        sums = {key: sum(part.get(key) or 0 for part in parts) for key in total if key != "breakdowns"}
        if any(isinstance(total[key], int) and value > total[key] for key, value in sums.items()):
            continue
        for number in numbers:
            if number in noted:
                plan.accounts[number].attributed = counted(session.provider, noted[number])


def _names(session: Session) -> list[str]:
    """A name for each group that no other group has: neighbours of one name would count as one."""
    taken: set[str] = set()
    repeats: dict[str, int] = {}
    names = []
    for group, said in enumerate(session.groups.ids):
        name = said or f"group-{group + 1}"
        number, free = repeats.get(name, 1), name
        while free in taken:
            number += 1
            free = f"{name}#{number}"
        taken.add(free)
        repeats[name] = number
        names.append(free)
    return names


def _count_rounds(session: Session, origin: Origin, plan: Plan, last: dict[int, int]) -> None:
    """What each response cost is attributed to its turn; the sum over a round stands on the round's last turn."""
    spent: dict[int, list[TokenUsage]] = {}
    for group, number in last.items():
        spent.setdefault(number, []).append(session.groups.usage[group])
    running: str | None = None
    sums: list[TokenUsage] = []
    latest = -1
    for number, turn in enumerate(plan.turns):
        if not any(session.messages.kind[index] in _SAID for index in turn):
            continue
        name = origin.round(turn[0])
        if latest >= 0 and (name is None or name != running):
            plan.accounts[latest].total = counted(session.provider, total_usage(sums))
            sums = []
        own = total_usage(spent.pop(number, []))
        attributed = counted(session.provider, own)
        plan.accounts[number] = Account(name, None, attributed if name is not None else None)
        sums += [own] if own is not None else []
        running, latest = name, number
    if latest >= 0:
        plan.accounts[latest].total = counted(session.provider, total_usage(sums))
    for number, usages in spent.items():  # of a turn that is not the assistant's
        plan.accounts[number] = Account(None, counted(session.provider, total_usage(usages)))

"""Laying a store's turns beside its messages: for times, and for what the messages no longer tell (note 3.2)."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import pairwise

from schemas.message import Kind
from schemas.providers.cursor.entries import Block, Entry, date, mark_of, of_turn
from schemas.providers.cursor.gaps import fill_place
from schemas.providers.cursor.turns import Turn

_OPENING = frozenset({Kind.PROMPT, Kind.CONTEXT, Kind.COMPACTION})


def align(entries: list[Entry], turns: list[Turn]) -> list[Entry]:
    """The entries, dated by the turns that say the same, with those turns added that no message tells of.

    A summary takes the place of older messages, while the turns stay: turns before the first that has a message, and
    shell commands, which never are messages, become entries of their own. All turns do where there are no messages.
    """
    places = [(n, block) for n, item in enumerate(entries) for block in item.blocks if _opens(block)]
    matched = _match([block.mark for _, block in places], turns)
    if not matched:
        matched = _by_number(places, turns)
    if not matched and any(block.kind is Kind.PROMPT for _, block in places):
        return entries  # nothing says which turn is which
    for turn, place in matched.items():
        position, block = places[place]
        following = next((n for n, b in places[place + 1 :] if b.kind is Kind.PROMPT and n > position), len(entries))
        date(entries[position], turns[turn], block.number)
        _date_steps(entries[position + 1 : following], turns[turn])
    return _with_untold(entries, turns, places, matched)


def _opens(block: Block) -> bool:
    return block.kind in _OPENING


def _match(marks: list[int], turns: list[Turn]) -> dict[int, int]:
    """For turns whose text is a message's: the message's place."""
    said = [mark_of(Kind.PROMPT, turn.text) if turn.shell is None else None for turn in turns]
    matcher = SequenceMatcher(None, said, marks, autojunk=False)
    return {a + i: b + i for a, b, size in matcher.get_matching_blocks() for i in range(size)}


def _by_number(places: list[tuple[int, Block]], turns: list[Turn]) -> dict[int, int]:
    """Where no text is the same, but there are as many prompts as turns: the first is the first."""
    prompts = [place for place, (_, block) in enumerate(places) if block.kind is Kind.PROMPT]
    typed = [n for n, turn in enumerate(turns) if turn.shell is None and not turn.simulated]
    return dict(zip(typed, prompts, strict=True)) if len(prompts) == len(typed) else {}


def _date_steps(entries: list[Entry], turn: Turn) -> None:
    """Give the agent's texts and thoughts the times of the steps that say the same, in order."""
    blocks = [(item, block) for item in entries for block in item.blocks if block.kind in (Kind.TEXT, Kind.THINKING)]
    position = 0
    for step in turn.steps:
        if step.time is None:
            continue
        mark = mark_of(step.kind, step.text)
        for place in range(position, len(blocks)):
            item, block = blocks[place]
            if block.mark == mark:
                item.times.setdefault(block.number, step.time)
                position = place + 1
                break


def _with_untold(
    entries: list[Entry], turns: list[Turn], places: list[tuple[int, Block]], matched: dict[int, int]
) -> list[Entry]:
    """The entries with the turns between them that no message tells of."""
    added: dict[int, list[Entry]] = {}
    bounds = [(-1, -1), *sorted(matched.items()), (len(turns), len(places))]
    for (turn, place), (next_turn, next_place) in pairwise(bounds):
        untold = range(turn + 1, next_turn)
        if not untold:
            continue
        start = places[place][0] + 1 if place >= 0 else _start(entries)
        end = places[next_place][0] if next_place < len(places) else len(entries)
        prompts = sum(block.kind is Kind.PROMPT for _, block in places[place + 1 : next_place])
        gap = fill_place(entries, start, end)
        # Where there are prompts too, they are most likely these turns' in other words.
        lost = sum(turns[n].shell is None for n in untold) > prompts
        for number in untold:
            told = _first_told(entries, range(start, end), turns[number])
            if turns[number].shell is not None:
                added.setdefault(end, []).extend(of_turn(turns[number]))
            elif lost and told is not None:
                added.setdefault(told, []).append(of_turn(turns[number])[0])
                _date_steps(entries[told:end], turns[number])
            elif lost and (place < 0 or next_place == len(places)):
                first = gap if gap is not None and entries[start].gap else start
                added.setdefault(first if place < 0 else end, []).extend(of_turn(turns[number]))
            elif lost and gap is not None:
                added.setdefault(gap, []).extend(of_turn(turns[number]))
    if not added:
        return entries
    return [
        item
        for position in range(len(entries) + 1)
        for item in (*added.get(position, []), *entries[position : position + 1])
    ]


def _first_told(entries: list[Entry], region: range, turn: Turn) -> int | None:
    """The first entry that is a step of the turn: then only the turn's prompt is missing."""
    marks = {mark_of(step.kind, step.text) for step in turn.steps if step.text.strip()}
    uses = {step.use_id for step in turn.steps if step.use_id}
    for n in region:
        if any(block.mark in marks or block.use_id in uses for block in entries[n].blocks):
            return n
    return None


def _start(entries: list[Entry]) -> int:
    """Where the conversation begins, behind what was put before it."""
    kinds = (Kind.PROMPT, Kind.TEXT, Kind.THINKING, Kind.TOOL, Kind.COMPACTION)
    begun = (n for n, item in enumerate(entries) if item.gap or any(b.kind in kinds for b in item.blocks))
    return next(begun, len(entries))

"""Two records of one session: the store wins, and the transcript fills what the store has not (formats note 3).

A transcript has neither ids nor results nor thinking, so the two are laid side by side by what was said and asked.
"""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, NamedTuple

from schemas.message import Flag, Kind
from schemas.providers.cursor.entries import TRANSCRIPT, Block, Entry, sketch
from schemas.providers.cursor.gaps import fill_place
from schemas.providers.cursor.messages import as_text
from schemas.records import read_record

_SAID = frozenset({Kind.PROMPT, Kind.TEXT, Kind.TOOL})
_ENDED = frozenset({Kind.ERROR, Kind.INTERRUPT})
_BEGUN = frozenset({*_SAID, Kind.THINKING, Kind.COMPACTION})


class _Unit(NamedTuple):
    place: int
    """Index of the entry."""
    block: Block


def from_transcript(records: list[dict[str, Any]], session_id: str) -> list[Entry]:
    """A transcript's records as entries."""
    found: list[Entry] = []
    for number, record in enumerate(records):
        raw = as_text(record).encode()
        kept = sketch(read_record(raw), raw)
        # What follows says that a use is over, even where nobody tells its result (note 3.3).
        blocks = tuple(b._replace(flags=b.flags & ~Flag.PENDING) for b in kept.blocks)
        found.append(Entry(f"{session_id}:t{number}", raw, blocks, kept.hidden))
    return found


def merge(entries: list[Entry], told: list[Entry]) -> list[Entry]:
    """The store's entries with those of the transcript in between that the store lacks."""
    ours, theirs = _units(entries), _units(told)
    if not theirs:
        return entries
    if not ours:
        # What the store kept comes first, context mostly, then all that the transcript tells.
        return entries + [replace(item, taken=TRANSCRIPT) for item in told]
    matcher = SequenceMatcher(None, [u.block.mark for u in ours], [u.block.mark for u in theirs], autojunk=False)
    pairs = [(a + i, b + i) for a, b, size in matcher.get_matching_blocks() for i in range(size)]
    if not pairs:
        return entries  # not the same conversation, as far as anybody can tell
    added: dict[int, list[Entry]] = {}
    for left, right in pairwise([(-1, -1), *pairs, (len(ours), len(theirs))]):
        missing = theirs[left[1] + 1 : right[1]]
        if not missing or left[0] + 1 < right[0]:
            continue  # what the store has there are the same things in other words
        start = ours[left[0]].place + 1 if left[0] >= 0 else _begin(entries)
        end = ours[right[0]].place if right[0] < len(ours) else len(entries)
        place = fill_place(entries, start, end)
        if place is None:
            place = end if left[0] >= 0 and right[0] == len(ours) else start
        added.setdefault(place, []).extend(_alone(told[unit.place], unit.block) for unit in missing)
    _add_ends(entries, told, ours, theirs, pairs, added)
    return [item for n in range(len(entries) + 1) for item in (*added.get(n, []), *entries[n : n + 1])]


def _units(entries: list[Entry]) -> list[_Unit]:
    """What was said and asked, in order."""
    return [
        _Unit(place, block)
        for place, item in enumerate(entries)
        for block in item.blocks
        if block.kind in _SAID and not block.result
    ]


def _begin(entries: list[Entry]) -> int:
    """The first entry that is part of the conversation."""
    begun = (n for n, item in enumerate(entries) if item.gap or any(b.kind in _BEGUN for b in item.blocks))
    return next(begun, len(entries))


def _alone(item: Entry, block: Block) -> Entry:
    """One block of a transcript's record as an entry of its own."""
    return Entry(item.id, item.raw, (block,), taken=TRANSCRIPT)


def _add_ends(
    entries: list[Entry],
    told: list[Entry],
    ours: list[_Unit],
    theirs: list[_Unit],
    pairs: list[tuple[int, int]],
    added: dict[int, list[Entry]],
) -> None:
    """How turns ended badly is told by the transcript alone: it goes to the end of the exchange."""
    place_of = {theirs[b].place: ours[a].place for a, b in pairs}
    prompts = [unit.place for unit in ours if unit.block.kind is Kind.PROMPT]
    last = None
    for number, item in enumerate(told):
        last = place_of.get(number, last)
        if last is not None and any(block.kind in _ENDED for block in item.blocks):
            place = next((prompt for prompt in prompts if prompt > last), len(entries))
            added.setdefault(place, []).append(item)

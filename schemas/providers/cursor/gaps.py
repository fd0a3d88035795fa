"""Saying where messages are missing from a store, and what was put in their place."""

from __future__ import annotations

from schemas.providers.cursor.entries import Entry, note


def fill_place(entries: list[Entry], start: int, end: int) -> int | None:
    """Where in a region belongs what the store has not: behind the first gaps in a row; None without a gap."""
    first = next((n for n in range(start, end) if entries[n].gap), None)
    return None if first is None else next((n for n in range(first, end) if not entries[n].gap), end)


def tell_gaps(entries: list[Entry]) -> list[Entry]:
    """The entries with one remark in place of all gaps in a row, before what was put there from elsewhere."""
    told: list[Entry] = []
    position = 0
    while position < len(entries):
        if not entries[position].gap:
            told.append(entries[position])
            position += 1
            continue
        end = _end(entries, position)
        row = entries[position:end]
        missing = [item.id for item in row if item.gap]
        others = [item for item in row if not item.gap]
        told += [note(missing[0], _sentence(missing, others), missing), *others]
        position = end
    return told


def _end(entries: list[Entry], start: int) -> int:
    """Where gaps in a row end, with what fills them, and what is not seen where it stands."""
    end = start
    for position in range(start, len(entries)):
        item = entries[position]
        if item.gap or item.taken:
            end = position + 1
        elif not all(block.result for block in item.blocks):
            break
    return end


def _sentence(missing: list[str], others: list[Entry]) -> str:
    count = len(missing)
    said = f"{count:,} messages are missing" if count > 1 else "A message is missing"
    sources = " and ".join(dict.fromkeys(item.taken for item in others if item.taken))
    if not sources:
        return f"{said} from the store"
    # A transcript has no results and no thinking, and turns leave things out too.
    if len({item.id for item in others if item.taken}) < count:
        return f"{said} from the store; what follows is what {sources} {_have(sources)} of them"
    return f"{said} from the store; taken from {sources}"


def _have(sources: str) -> str:
    return "has" if sources == "the transcript" else "have"

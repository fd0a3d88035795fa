"""Places in a session, as people write them down: `#3` is its third exchange, `#3.2` the second message in it, `#3-5`
the third to the fifth exchange.

Exchanges count as on the screen, messages from the exchange's prompt, which is the first. What stands before the first
prompt is `#0`; an exchange that is rewound or inherited has no number of its own: `#3~1` is the first of those behind
exchange 3.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from renderers.facts import exchange_numbers, plural
from schemas.session import Session

_PLACE = re.compile(r"#?(\d{1,9}(?:~\d{1,9})?)(?:\.(\d{1,9})|-(\d{1,9}(?:~\d{1,9})?))?")


class Part(NamedTuple):
    """The part of a session that a place names: neighbouring exchanges, or one message."""

    exchanges: range
    """Their indices."""
    message: int | None = None

    def messages(self, session: Session) -> range:
        """The indices of its messages."""
        if self.message is not None:
            return range(self.message, self.message + 1)
        first, last = self.exchanges[0], self.exchanges[-1]
        return range(session.message_range(first).start, session.message_range(last).stop)


def exchange_names(session: Session) -> list[str]:
    """Name each exchange as a place does: `3`, `0`, `3~1`."""
    names: list[str] = []
    last, beside = 0, 0
    for exchange, number in zip(session.exchanges, exchange_numbers(session), strict=True):
        if number is not None:
            last, beside = number, 0
            names.append(str(number))
        elif exchange.index == 0 and exchange.opener is None:
            names.append("0")
        else:
            beside += 1
            names.append(f"{last}~{beside}")
    return names


def place_of(session: Session, index: int, names: list[str] | None = None) -> str:
    """The place of a message; of a message that opens an exchange that of the exchange. `names`: `exchange_names`,
    where they are at hand.
    """
    exchange = session.exchanges[session.messages.exchange[index]]
    name = (names or exchange_names(session))[exchange.index]
    return (
        f"#{name}"
        if index == exchange.start and exchange.opener is not None
        else f"#{name}.{index - exchange.start + 1}"
    )


def split_place(text: str) -> tuple[str, str]:
    """Split what was typed into a target and the place behind it: `4f2a#3.2` is `4f2a` and `#3.2`; no place is ``."""
    target, mark, place = text.rpartition("#")
    return (target, f"#{place}") if mark and target and _PLACE.fullmatch(place) else (text, "")


def find_part(session: Session, place: str) -> Part | None:
    """The part of the session that a place names; None where there is none."""
    match = _PLACE.fullmatch(place)
    if match is None:
        return None
    names, last = exchange_names(session), match[3] or match[1]
    if match[1] not in names or last not in names:
        return None
    exchanges = range(names.index(match[1]), names.index(last) + 1)
    if not exchanges or not match[2]:
        return Part(exchanges) if exchanges else None
    messages, number = session.message_range(exchanges[0]), int(match[2]) - 1
    return Part(exchanges, messages[number]) if 0 <= number < len(messages) else None


def find_place(session: Session, place: str) -> tuple[int, int] | None:
    """The exchange and the message at which a place begins, as indices; None where there is none."""
    part = find_part(session, place)
    if part is None or not (messages := session.message_range(part.exchanges[0])):
        return None
    return part.exchanges[0], messages[0] if part.message is None else part.message


def no_such_place(session: Session, place: str) -> str:
    """Say what places there are where one is not."""
    match, names = _PLACE.fullmatch(place), exchange_names(session)
    ends = [] if match is None else [name for name in (match[1], match[3]) if name]
    if match is None or (missing := [name for name in ends if name not in names]):
        there = f"there are #{names[0]} to #{names[-1]}" if len(names) > 1 else f"there is #{''.join(names)}"
        return f"no exchange {f'#{missing[0]}' if match else place}; {there if names else 'there is none'}"
    if len(ends) > 1:
        return f"no exchanges {place}: the last stands before the first"
    count = len(session.message_range(names.index(match[1])))
    return f"no message {place}; exchange #{match[1]} has {plural(count, 'message')}"

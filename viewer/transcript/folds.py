"""The folds of a transcript: a level for all, toggles for a kind, and what was opened or folded one by one."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Any

from renderers.terminal.folds import Fold
from schemas.message import Flag, Kind
from schemas.session import Session
from schemas.values import dict_of, whole


class Sort(IntEnum):
    """Messages that fold alike."""

    OPENER = 0
    OLD_OPENER = 1
    """Opens an exchange that was rewound or copied from another session."""
    OLD = 2
    """Stands in one."""
    STEER = 3
    TEXT = 4
    THINKING = 5
    WITHHELD = 6
    TOOL = 7
    CONTEXT = 8
    MARK = 9
    """A compaction."""
    ERROR = 10
    OUTPUT = 11
    NOTE = 12
    STRAY = 13
    """Was rewound, though its exchange was not."""
    MORE_CONTEXT = 14
    """Stands right behind other context, with which it is one line."""
    REPEATED = 15
    """Is withheld as thinking before it in the exchange."""


SORTS = len(Sort)
_BY_KIND = {
    Kind.PROMPT: Sort.STEER,
    Kind.STEER: Sort.STEER,
    Kind.COMMAND: Sort.STEER,
    Kind.TEXT: Sort.TEXT,
    Kind.THINKING: Sort.THINKING,
    Kind.TOOL: Sort.TOOL,
    Kind.COMPACTION: Sort.MARK,
    Kind.INTERRUPT: Sort.ERROR,
    Kind.ERROR: Sort.ERROR,
    Kind.OUTPUT: Sort.OUTPUT,
    Kind.CONTEXT: Sort.CONTEXT,
    Kind.NOTE: Sort.NOTE,
    Kind.UNKNOWN: Sort.NOTE,
}
_SORT_OF_KIND = [int({int(kind): sort for kind, sort in _BY_KIND.items()}.get(k, Sort.NOTE)) for k in range(256)]
# Plain numbers: an operation on an enum's members takes ten times as long, and this is asked for every message.
_OPENER = int(Flag.OPENER)
_OLD = int(Flag.REWOUND | Flag.INHERITED)
_OLD_SORT, _CONTEXT, _WITHHELD = int(Sort.OLD), int(Sort.CONTEXT), int(Sort.WITHHELD)
_SPECIAL = int(_OLD | Flag.OPENER | Flag.WITHHELD)


def sort_of(kind: int, flags: int) -> int:
    """The sort of a message, from its columns."""
    if not flags & _SPECIAL:
        return _SORT_OF_KIND[kind]
    if flags & _OPENER:
        return Sort.OLD_OPENER if flags & _OLD else Sort.OPENER
    if flags & _OLD:
        return Sort.OLD
    return Sort.WITHHELD if kind == Kind.THINKING else _SORT_OF_KIND[kind]


H, L, S, F = Fold.HIDDEN, Fold.LINE, Fold.SHORT, Fold.FULL
LEVELS: tuple[tuple[str, tuple[Fold, ...]], ...] = (
    # opener, old opener, old; steer, text, thinking, withheld, tool, context, mark, error, output, note, stray,
    # more context, repeated
    ("prompts", (L, L, H, L, H, H, H, H, H, H, H, H, H, H, H, H)),
    ("answers", (S, L, H, S, S, H, H, H, H, L, L, H, H, H, H, H)),
    ("one-liners", (S, L, H, S, S, L, L, L, L, L, S, S, L, L, H, H)),
    ("everything", (F, F, F, F, F, F, L, F, F, F, F, F, F, F, F, H)),
)
"""Names of the fold levels, and how far each sort is open in them."""
DEFAULT_LEVEL = 2


@lru_cache(maxsize=64)
def _sorts(level: int, thinking: bool | None, output: bool | None, opened: bool | None) -> tuple[Fold, ...]:
    if opened is False:
        return (L, L, *(H,) * (SORTS - 2))
    # An exchange opened at a level that shows prompts only is opened as far as one is by default.
    base = list(LEVELS[level if opened is None else max(level, DEFAULT_LEVEL)][1])
    if thinking is not None:
        base[Sort.THINKING] = F if thinking else min(base[Sort.THINKING], L)
    if output is not None:
        for sort in (Sort.TOOL, Sort.OUTPUT):
            base[sort] = max(base[sort], S) if output else min(base[sort], L)
    return tuple(base)


class Folds:
    """Answers how far a message is open. Changing it is the caller's business to tell the layout."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.table = session.messages
        self.level = DEFAULT_LEVEL
        self.chosen = False
        """Whether a person chose the level."""
        self.thinking: bool | None = None
        """All thinking open (True) or folded (False), whatever the level says."""
        self.output: bool | None = None
        """The same for tool use and output."""
        self.blocks: dict[int, Fold] = {}
        """Messages that were opened or folded one by one."""
        self.exchanges: dict[int, bool] = {}
        """Exchanges that were opened (True) or folded (False) one by one."""

    def moved(self, session: Session) -> Folds:
        """The same for the session that took this one's place."""
        folds = Folds(session)
        folds.restore(self.kept())
        return folds

    def kept(self) -> dict[str, Any]:
        """The folds as JSON that `restore` takes; messages are named by their keys."""
        key, exchanges = self.table.key, self._session.exchanges
        return {
            "level": self.level if self.chosen else None,
            "thinking": self.thinking,
            "output": self.output,
            "blocks": {str(key[i]): int(fold) for i, fold in self.blocks.items()},
            "exchanges": {str(key[exchanges[n].start]): state for n, state in self.exchanges.items()},
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Fold as it was, as far as the messages are read. What cannot be meant is passed over."""
        level, thinking, output = whole(kept.get("level")), kept.get("thinking"), kept.get("output")
        if level is not None and 0 <= level < len(LEVELS):
            self.level, self.chosen = level, True
        self.thinking = thinking if isinstance(thinking, bool) else None
        self.output = output if isinstance(output, bool) else None
        blocks, exchanges = dict_of(kept.get("blocks")), dict_of(kept.get("exchanges"))
        if not blocks and not exchanges:
            return
        places = {str(key): place for place, key in enumerate(self.table.key)}
        for key, fold in blocks.items():
            if key in places and whole(fold) in tuple(Fold):
                self.blocks[places[key]] = Fold(fold)
        for key, state in exchanges.items():
            if key in places and isinstance(state, bool):
                self.exchanges[self.table.exchange[places[key]]] = state

    def sorts(self, opened: bool | None = None) -> tuple[Fold, ...]:
        """Return how far each sort is open; in an exchange that was opened (True) or folded (False) by itself."""
        return _sorts(self.level, self.thinking, self.output, opened)

    def is_open(self, exchange: int, old: bool) -> bool:
        """Tell whether an exchange shows more than its first line."""
        state = self.exchanges.get(exchange)
        if state is not None:
            return state
        return LEVELS[self.level][1][Sort.OLD_OPENER if old else Sort.OPENER] > L

    def fold(self, index: int) -> Fold:
        """Return how far a message is open."""
        table = self.table
        flags = table.flags[index]
        opened = self.exchanges.get(table.exchange[index]) if self.exchanges else None
        if opened and flags & _OLD:
            flags &= ~_OLD
        if (own := self.blocks.get(index)) is not None and opened is not False:
            return own
        return self.sorts(opened)[self.sort(index, table.kind[index], flags, table.exchange[index])]

    def sort(self, index: int, kind: int, flags: int, exchange: int) -> int:
        """The sort of a message, from its columns."""
        sort = sort_of(kind, flags)
        if sort == _OLD_SORT and not self.table.flags[self._session.exchanges[exchange].start] & _OLD:
            return Sort.STRAY
        if sort == _CONTEXT and self.table.joins(index):
            return Sort.MORE_CONTEXT
        if sort == _WITHHELD and self.table.repeats(index):
            return Sort.REPEATED
        return sort

    def set_level(self, level: int) -> None:
        """The same for all; what was opened one by one is forgotten."""
        self.level, self.chosen = level, True
        self.thinking = self.output = None
        self.blocks.clear()
        self.exchanges.clear()

    def shift_level(self, step: int) -> None:
        """Go to the next level (or the one before); there are none beyond the last and the first."""
        self.set_level(max(0, min(self.level + step, len(LEVELS) - 1)))

    def toggle_thinking(self) -> None:
        """Open or fold all thinking."""
        self.thinking = self.sorts()[Sort.THINKING] < S
        self._forget(Sort.THINKING)

    def toggle_output(self) -> None:
        """Open or fold all tool output."""
        self.output = self.sorts()[Sort.TOOL] < S
        self._forget(Sort.TOOL, Sort.OUTPUT)

    def _forget(self, *sorts: Sort) -> None:
        table = self.table
        for index in [i for i in self.blocks if sort_of(table.kind[i], table.flags[i]) in sorts]:
            del self.blocks[index]

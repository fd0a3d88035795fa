"""Exchanges: which message opens one, which exchange a message belongs to, what was taken back or copied."""

from __future__ import annotations

from collections.abc import Callable

from schemas.clean import one_line, set_number
from schemas.message import Flag, Kind
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.messages import DETAIL, Rows
from schemas.providers.kit.words import NOT_TOLD, Also, Dropped, Piece, Say, Turn
from schemas.records import Record
from schemas.session import Exchange

_REWOUND, _ERROR, _GROWING, _WITHHELD = (int(f) for f in (Flag.REWOUND, Flag.ERROR, Flag.GROWING, Flag.WITHHELD))
# Plain numbers: an enum's operators run as Python, and would take a quarter of the scan.
_PROMPT, _COMMAND, _TEXT, _TOOL, _INTERRUPT, _WRONG, _OUTPUT = (
    int(k) for k in (Kind.PROMPT, Kind.COMMAND, Kind.TEXT, Kind.TOOL, Kind.INTERRUPT, Kind.ERROR, Kind.OUTPUT)
)
_UNKNOWN = Kind.UNKNOWN


class Talk:
    """The exchanges of one session."""

    def __init__(self, rows: Rows, own: Callable[[int, int], None], agent: Agent) -> None:
        self.rows, self._own, self._agent, self.session = rows, own, agent, rows.session
        self.model = ""
        """The model that answers, where messages do not name theirs."""
        self.turn = not agent.prompted
        """Whether what the agent says next opens an exchange: its prompt is not told."""
        self.untold: Callable[[], str] = str
        """The text of a prompt that is not told, where something else has it."""
        self.command = -1
        """The command typed last, while the agent may still answer it; else -1."""
        self._command_text = ""
        self.branched = False
        """Whether a branch began, and nothing was said on it yet."""
        self.ended = ""
        """How the last turn ended, where the source says so; empty while it goes on."""
        self.before: Callable[[Record], None] | None = None
        """Called before a message is appended."""
        self._once: set[int] = set()
        """What stands for the messages of which the source may have more than one."""
        self._unopened: list[Exchange] = []
        """Exchanges that no message opened when they began."""

    def say(self, record: Record, number: int, say: Say) -> bool:
        """A message: appended, or what its id names replaced; False for one that was said before."""
        if say.once is not None:
            count = len(self._once)
            self._once.add(hash(say.once))
            if len(self._once) == count:
                return False
        if say.kind is _UNKNOWN:
            say.label = say.label or self._agent.type(record[3])
            self.session.unknown[one_line(say.label, 80)] += 1
        row = self.rows.named.get(say.id, -1)
        if row >= 0 and self._may_become(row, say.kind):
            self.again(row, record, number, say)
        else:
            self.add(record, number, say)
        return True

    def _may_become(self, row: int, kind: Kind) -> bool:
        """Return whether a message can be said again as one of that kind; else what has its id is one of its own."""
        # Only a text that waited in a queue becomes something else, and no prompt before the last exchange.
        messages, before = self.session.messages, self.session.messages.kind[row]
        late = kind is Kind.PROMPT and messages.exchange[row] < len(self.session.exchanges) - 1
        return before == kind or (before == Kind.STEER and kind is not Kind.TOOL and not late)

    def _row(self, say: Say) -> int:
        return say.row if say.row >= 0 or not say.id else self.rows.named.get(say.id, -1)

    def add(self, record: Record, number: int, say: Say) -> int:
        """Append a message to the exchange in which it stands; returns its row."""
        session, rows, kind = self.session, self.rows, int(say.kind)
        if self.before is not None:
            self.before(record)
        spoken = _TEXT <= kind <= _TOOL or kind == _WRONG  # the agent's: it answers whoever asked last
        if spoken:
            if self.command >= 0:
                row, self.command = self.command, -1  # which opens an exchange of its own
                self._open_at(row, Kind.COMMAND, self._command_text)
            if self.turn:
                self.open_untold(record)
            # The session's own work is no part of what was taken back or copied.
            if self.branched or (not rows.copied and session.exchanges and session.exchanges[-1].inherited):
                self.branched = False
                self._open_bare()
        elif kind == _PROMPT:
            self.command, self.turn, self.branched, self.ended = -1, False, False, ""
            session.open_exchange(Kind.PROMPT, say.text or say.label or "(image)")
        elif kind == _OUTPUT and not say.asks:
            self.command = -1
        if not session.exchanges:
            self._open_bare()
        exchange = session.exchanges[-1]
        row = rows.add(record, number, say, kind, exchange)
        if spoken:
            if name := say.model or self.model:
                session.messages.model[row] = model = rows.model(name)
                if exchange.model != model and not exchange.groups:
                    exchange.model = model
            if kind == _TOOL:
                set_number(exchange, "tools", exchange.tools + 1)
            elif kind == _WRONG:
                session.messages.flags[row] |= _ERROR
                exchange.errors += 1
        elif kind == _PROMPT:
            session.mark_opener(row)
            exchange.inherited = rows.copied
        elif kind == _COMMAND:
            self.command, self._command_text = row, say.text
        elif kind == _INTERRUPT:
            exchange.interrupted = True
        self._own(row, kind)
        return row

    def again(self, row: int, record: Record, number: int, say: Say) -> None:
        """A message is said anew, and may be another kind of message now."""
        before, opens = self.session.messages.kind[row], self.session.messages.has(row, Flag.OPENER)
        self.rows.replace(row, record, number, say)
        if say.model:
            self.session.messages.model[row] = self.rows.model(say.model)
        if opens:
            exchange = self.session.exchanges[self.session.messages.exchange[row]]
            exchange.opener, exchange.prompt = say.kind, one_line(say.text or say.label or "(image)", 300)
        elif before != say.kind and say.kind is Kind.PROMPT:
            self.command = -1
            self._open_at(row, Kind.PROMPT, say.text or "(image)")
        if before != say.kind:
            self._own(row, int(say.kind))

    def piece(self, record: Record, number: int, piece: Piece) -> bool:
        """Text that is added to a message, or begins it."""
        row, rows, messages = self._row(piece), self.rows, self.session.messages
        if row < 0:
            row = self.add(record, number, piece)
            if not piece.apart:
                rows.growing[row] = [piece.text]
                messages.flags[row] |= _GROWING * (_TEXT <= piece.kind <= _TOOL)
            return True
        rows.extend(row, record, number, DETAIL)
        if piece.apart:
            if messages.chars[row]:
                rows.grow(row, "\n\n")
            rows.grow(row, piece.text)
            messages.flags[row] &= ~_WITHHELD
            return True
        if row in rows.growing or piece.kind is Kind.TOOL:
            rows.growing.setdefault(row, []).append(piece.text)
        if piece.kind is not Kind.TOOL:
            rows.grow(row, piece.text)
        return True

    def also(self, record: Record, number: int, say: Also) -> bool:
        """A message is told by another record as well."""
        row, messages = self._row(say), self.session.messages
        if row < 0:
            self.add(record, number, say)
            return True
        self.rows.extend(row, record, number, DETAIL)
        if say.text and not messages.chars[row]:
            messages.resize(row, say.text)
            messages.flags[row] &= ~_WITHHELD
        return True

    def open_untold(self, record: Record) -> None:
        """Open an exchange for what answers a prompt that is not told."""
        self.turn = False
        text = self.untold()
        row = self.add(record, -1, Say(Kind.PROMPT, text, "" if text else NOT_TOLD, id=f"prompt@{record[0]}"))
        self.rows.first += self.rows.first == row  # it is no part of the response that the record belongs to

    def _open_bare(self) -> None:
        """Begin an exchange that no message opens: the preamble, or what follows a rewind without a prompt."""
        session, number = self.session, len(self.session.exchanges)
        session.exchanges.append(Exchange(number, len(session.messages), None, f"{session.id}:{number}"))
        self._unopened.append(session.exchanges[-1])

    def _open_at(self, row: int, opener: Kind, prompt: str) -> None:
        session = self.session
        exchange = session.exchanges[-1]
        if exchange.start == row and exchange.opener is None:  # the preamble becomes its exchange
            exchange.opener, exchange.prompt = opener, one_line(prompt, 300)
            session.mark_opener(row)
        else:
            exchange = session.split_exchange(row, opener, prompt)
        exchange.inherited = session.messages.has(row, Flag.INHERITED)
        exchange.rewound = session.messages.has(row, Flag.REWOUND)
        self.rows.changed.update(range(row, len(session.messages)))

    def begin_turn(self, turn: Turn) -> None:
        """The agent's turn begins, or ends."""
        self.turn, self.ended = turn.begins, turn.how
        if turn.begins:
            return
        self.stop_growing()
        self.session.turn_end = len(self.session.messages)
        exchange = self.session.exchanges[-1] if self.session.exchanges else None
        if exchange is not None and turn.seconds is not None:
            exchange.seconds = (exchange.seconds or 0.0) + turn.seconds
            self.rows.changed.add(exchange.start)
        if exchange is not None and not turn.failed:
            self.session.touch(exchange, self.rows.time)

    def stop_growing(self) -> None:
        """No message that is being written goes on."""
        messages, growing = self.session.messages, self.rows.growing
        for row in list(growing):
            if messages.flags[row] & _GROWING:
                messages.flags[row] &= ~_GROWING
                self.rows.changed.add(row)
            if messages.kind[row] != _TOOL:  # the input of a tool use is read as far as it goes
                del growing[row]

    def drop(self, dropped: Dropped) -> None:
        """Flag what was taken back; it stays, and its tokens were spent."""
        session = self.session
        live = [e for e in session.exchanges if e.opener is not None and not e.rewound]
        first = self.rows.named.get(dropped.since, len(session.messages))
        if dropped.turns > 0 and live:
            first = live[-min(dropped.turns, len(live))].start
        for row in range(first, len(session.messages)):
            self.mark(row, live=False)

    def mark(self, row: int, *, live: bool) -> None:
        """Flag a message as taken back, or as live again, and with its opener the exchange."""
        messages = self.session.messages
        if live != bool(messages.flags[row] & _REWOUND):
            return
        messages.flags[row] ^= _REWOUND
        self.rows.changed.add(row)
        exchange = self.session.exchanges[messages.exchange[row]]
        if messages.flags[row] & Flag.OPENER:
            exchange.rewound = not live

    def settle(self) -> None:
        """Say which of the exchanges that no message opens were taken back: those of which nothing is left."""
        flags = self.session.messages.flags
        for exchange in self._unopened:
            if exchange.opener is None:
                rows = self.session.message_range(exchange.index)
                exchange.rewound = bool(rows) and all(flags[row] & _REWOUND for row in rows)

"""The messages of Gemini CLI's log, which writes each whenever it knows more of it (formats note 1.3).

The CLI forgets what was rewound, compressed away, cancelled or written again; a reader of the log should not. Rules of
our own, where the format leaves room:

- A message written again is the same message and keeps its place. Only `$rewindTo` takes messages back.
- A checkpoint (`$set.messages`, or messages in a header) is what the model gets from then on, cut down: tool results
  masked, figures left out, kept messages under new ids. Of what was read before, it only says that it is still there.
- The first result of a tool use counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.message import Kind
from schemas.providers._google import read_result
from schemas.providers.gemini.files import meta_of
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Answer, Count, Say, Use
from schemas.usage import TokenUsage

if TYPE_CHECKING:
    from schemas.records import Record
    from schemas.session import Session


@dataclass(slots=True)
class Said(Say):
    """What a message says; its id begins with the message's."""

    again: tuple[str, ...] = ()
    """Texts that may be earlier prompts: the CLI writes a cancelled one again, behind the session's context."""


@dataclass(slots=True)
class Call(Use):
    """A tool use of a message, which may be written again."""

    call: dict[str, Any] | None = None


class Reply(Answer):
    """A result in a record of its own, for a tool use that has none; `details[0]` is what it holds."""


class Spent(Count):
    """Tokens of the model call that made a message."""


class Listed(NamedTuple):
    """The messages that the CLI has from here on."""

    messages: list[str]


class Entry(NamedTuple):
    """What follows is said of that message, one of those that are listed."""

    message: str


@dataclass(slots=True)
class _Message:
    """A message of the log, however often it was written; it may be listed under further ids."""

    place: int
    rows: list[int] = field(default_factory=list)
    usage: TokenUsage | None = None
    rewound: bool = False


class Log(History):
    """The messages of a log by their ids, what a rewind took back, and which tool use a result is for."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._all: list[_Message] = []
        """In the order of first writing."""
        self._named: dict[str, _Message] = {}
        self._list: dict[str, _Message] = {}
        """The CLI's own list, in its order."""
        self._at: _Message | None = None
        """The message of the item being read."""
        self._name = ""
        """What the record calls it."""
        self._is_listed = self._has_news = False
        """Whether a checkpoint lists it; whether anything was new in what was read of it."""
        self._before = 0
        """How many messages there were before the checkpoint."""
        self._said: dict[int, int] = {}
        """The texts of each part of each message, as hashes."""
        self._known: dict[int, _Message] = {}
        """The messages by their words, as hashes: a checkpoint may list them under other ids."""
        self._settled: dict[int, bool] = {}
        self._calls: dict[int, bool] = {}
        """Whether each tool use, by the hash of its message and its id, has a result."""
        self._waiting: dict[str, tuple[int, str]] = {}
        """The hashes and the tools of uses without a result, by their ids."""

    def enter(self, record: Record, time: float | None) -> bool:
        """Note whose the record is, and take messages back."""
        value = record[3]
        self.branched = self._is_listed = self._has_news = False
        self._at = None
        if isinstance(target := value.get("$rewindTo"), str):
            self._rewind(target)
        elif isinstance(name := value.get("id"), str):
            self._name = name
            self._at = self._list[name] = self._message(name)
        elif meta_of(value) is None:
            self._name = f"@{record[0]}"
            self._at = self._message(self._name)
        return True

    def _message(self, name: str) -> _Message:
        """The message of that id, which is there now, whatever was taken back before."""
        message = self._named.get(name)
        if message is None:
            message = self._named[name] = _Message(len(self._all))
            self._all.append(message)
        elif message.rewound:
            message.rewound = False
            self._settled.update(dict.fromkeys(message.rows, True))
        return message

    def _rewind(self, target: str) -> None:
        """Take back a message and all after it; all there are, if it is not there (note 1.3, 1).

        What only a checkpoint left out is there for whoever reads. What comes later in the log, but before it in the
        CLI's list, stays: a summary that took the place of what was before.
        """
        message = self._named.get(target)
        start = message.place if message is not None and not message.rewound else 0
        gone = []
        if target not in self._list:
            self._list.clear()
        while target in self._list:
            gone.append(self._list.popitem()[1])
        kept = {message.place for message in self._list.values()}
        gone += [message for message in self._all[start:] if message.place not in kept]
        for message in gone:
            if not message.rewound:
                message.rewound = True
                self._settled.update(dict.fromkeys(message.rows, False))
        if self.session.exchanges:
            opener = self.session.exchanges[-1].start
            self.branched = any(opener in message.rows for message in gone)

    def own(self, row: int, kind: int) -> None:
        if self._at is not None and row not in self._at.rows:
            self._at.rows.append(row)

    def settle(self) -> Iterator[tuple[int, bool]]:
        settled, self._settled = self._settled, {}
        return iter(settled.items())

    # -- items -----------------------------------------------------------------------------------------------------

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        match item:
            case Said():
                if self._is_new(item):
                    self._has_news = True
                    yield record, number, item
            case Call():
                if (news := self._call(item)) is not None:
                    self._has_news = True
                    yield record, number, news
            case Spent():
                at, is_listed = self._at, self._is_listed
                if at is not None and (at.usage is None if is_listed else self._has_news or at.usage != item.usage):
                    at.usage = item.usage
                    yield record, number, item
            case Reply():
                use_id = item.use_id or next(iter(self._waiting), "")
                if (waits := self._waiting.pop(use_id, None)) is not None:
                    self._calls[waits[0]] = True
                    yield record, number, _read(as_word(item, Answer, use_id=use_id), waits[1])
            case Entry():
                self._at = self._message(item.message) if item.message else None
                self._name, self._is_listed, self._has_news = item.message, True, False
            case Listed():
                self._before = len(self._all)
                self._list = {name: self._message(name) for name in item.messages}

    def _is_new(self, item: Said) -> bool:
        """Whether something is said that was not said before."""
        at = self._at
        if at is None:
            return True
        part, text = hash((at.place, item.id.removeprefix(self._name))), hash(item.text)
        if not self._is_listed:
            # What is written again goes with the figures that come with it; after that it is nothing new.
            if self._said.get(part) == text and at.usage is not None and not item.images:
                return False
            if item.again and all(self._find(_mark(Kind.PROMPT, text)) for text in item.again):
                self._is_now(self._known[_mark(Kind.PROMPT, item.again[-1])])
                return False
        elif part in self._said:
            return False
        elif at.place < self._before:
            item.time = None  # what only a checkpoint tells of a message stands where that does
        elif not at.rows and (known := self._find(_mark(item.kind, item.text))) is not None:
            self._is_now(known)
            return False
        self._said[part] = text
        self._known[_mark(item.kind, item.text)] = at
        return True

    def _find(self, mark: int) -> _Message | None:
        """The message that said the same before this record, and was not taken back."""
        message = self._known.get(mark)
        if message is None or message.rewound or (self._is_listed and message.place >= self._before):
            return None
        return message

    def _is_now(self, known: _Message) -> None:
        """Let the message of the record be one that is known under another id."""
        self._at = self._named[self._name] = self._list[self._name] = known

    def _call(self, item: Call) -> Call | Answer | None:
        """What is new of a tool use: itself, its result, or nothing."""
        at = self._at
        if self._is_listed and at is not None:
            known = self._find(hash(item.use_id))
            if known is not None and not at.rows:
                self._is_now(known)
            elif at.rows and not (item.call or {}).get("id"):
                return None  # one of those that are known, but nothing tells which
            elif at.place < self._before:
                item.time = None
            at = self._at
        key, answer = hash((self._name if at is None else at.place, item.use_id)), item.answer
        has_result = self._calls.get(key)
        if has_result or (has_result is not None and answer is None):
            return None
        self._calls[key] = answer is not None
        if answer is None:
            self._waiting[item.use_id] = key, item.name
        else:
            self._waiting.pop(item.use_id, None)
            _read(answer, item.name)
        if has_result is not None:
            return answer
        if at is not None:
            self._known[hash(item.use_id)] = at
        return item


def _read(answer: Answer, tool: str) -> Answer:
    """A result with what it says, which is not looked at before it is known to be new."""
    answer.text, answer.status, answer.exit_code = read_result(tool, *answer.details)
    return answer


def _mark(kind: Kind, text: str) -> int:
    """What is said as a number. A checkpoint joins the parts of a thought with other white space."""
    return hash((int(kind), " ".join(text[:1000].split()) if kind is Kind.THINKING else text))

"""Codex' items as the steps of a Toolpath document."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from operator import itemgetter

from schemas.clean import clean
from schemas.interchange.session_data_facts import as_text
from schemas.interchange.toolpath_turns import SAID, Data, Source, is_text, joined_texts, records_in
from schemas.message import USER_KINDS, Kind, Message, SpanRole
from schemas.session import Session
from schemas.values import dict_of


class CodexSource(Source):
    """Codex: a turn is a message item with the tool uses behind it, a round is what `turn_id` names."""

    in_rounds = True
    event = Source.event_with_record

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._begun: list[tuple[int, str | None]] = []
        """Where rounds begin; None where one ends."""
        self._events: set[int] = set()
        """Where the lines are that tell of what the items say too: a command's end, a count, a text."""
        for offset, _, _, record in records_in(session):  # formats note 1.5
            payload, kind = dict_of(record.get("payload")), record.get("type")
            if kind == "event_msg":
                kind = payload.get("type")
                self._events.add(offset)
            turn = as_text(payload.get("turn_id"))
            if kind == "task_complete" or (kind in ("turn_context", "task_started") and turn):
                self._begun.append((offset, None if kind == "task_complete" else turn))

    def round(self, index: int) -> str | None:
        """The turn id that held where the message's record lies."""
        span = next(self.session.spans.chain(self.session.messages.span[index]))
        place = bisect_right(self._begun, span.offset, key=itemgetter(0)) if span.store == 0 else 0
        return self._begun[place - 1][1] if place else None

    def group(self, messages: list[Message]) -> str | None:
        """The round of what the agent said and did."""
        said = next((message for message in messages if message.kind in SAID), None)
        return self.round(said.index) if said is not None else None

    def turns(self) -> list[range]:
        """An assistant's text with the tool uses behind it, and the thinking before it; others by their records.

        Thinking behind a tool use belongs to that turn, unless a text follows, which then begins a turn with it.
        """
        table, spans, kinds = self.session.messages, self.session.spans, self.session.messages.kind
        firsts = [next(spans.chain(head)) for head in table.span]
        places = [(exchange, one.store, one.offset) for exchange, one in zip(table.exchange, firsts, strict=True)]
        starts, has_words, thinking = list[int](), False, 0
        for index, kind in enumerate(kinds):
            follows, is_said = index > 0 and kinds[index - 1] in SAID, kind in SAID
            if is_said and follows and places[index][0] == places[index - 1][0]:
                if kind == Kind.TEXT and has_words and places[index] != places[index - 1]:
                    starts.append(thinking)
            elif not index or is_said or follows or places[index] != places[index - 1]:
                starts.append(index)
                has_words = False
            if kind != Kind.THINKING:
                has_words, thinking = True, index + 1  # where thinking begins that comes now
        return [range(start, end) for start, end in pairwise([*starts, len(places)])]

    def _payload(self, message: Message) -> Data:
        return dict_of(self.record(message).get("payload"))

    def role(self, messages: list[Message]) -> str | None:
        """The item's role; the developer's is the system's. Thinking of which nothing can be read is no turn."""
        if all(message.kind == Kind.THINKING and not message.text for message in messages):
            return None
        payload = self._payload(messages[0])
        if payload.get("type") == "message" and (role := as_text(payload.get("role"))):
            return "system" if role == "developer" else role
        role = super().role(messages) or ""
        return None if role in ("", "system") else role

    def text(self, messages: list[Message]) -> str | None:
        """The texts of the item's content, where it was typed or injected."""
        payload = {} if messages[0].kind in SAID else self._payload(messages[0])
        return joined_texts(payload.get("content"), "\n") if payload.get("type") == "message" else None

    def result(self, message: Message) -> str | None:
        """The output item's text, envelope included."""
        output = dict_of(self.record(message, SpanRole.RESULT).get("payload")).get("output")
        return clean(output) if isinstance(output, str) else None

    def id_of(self, messages: list[Message], number: int) -> str:
        """Items have no ids that could be relied on, so turns are numbered as the format's own producer does."""
        return f"codex-turn-{number:04}"

    def takes_text(self, message: Message) -> bool:
        """Return whether the item is one of a custom tool."""
        plain = message.tool is not None and is_text(message.tool.input)
        return plain and self._payload(message).get("type") == "custom_tool_call"

    def environment(self, message: Message) -> Data:
        """The directory of the turn, else the one that the session names."""
        root = self.session.workspace_root
        return ({"working_dir": root} if root else {}) | super().environment(message)

    def owned(self) -> set[int]:
        # Items are the turns. What an event tells of an item too (a text again, how a command ended, a count) is an
        # event all the same, also where no item tells it; only a notice's own step is one that holds the line.
        noted: set[int] = set()
        table = self.session.messages
        for head, kind in zip(table.span, table.kind, strict=True):
            span = next(self.session.spans.chain(head))
            if span.store == 0 and kind not in SAID and kind not in USER_KINDS:
                noted.add(span.offset)
        return super().owned() - (self._events - noted)

"""Lines of type `user`: what people typed, and all that is dressed like it (formats note 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from schemas.clean import one_line
from schemas.message import Flag, Kind, SpanRole
from schemas.providers.claude.branches import NOBODY
from schemas.providers.claude.classify import (
    UserLine,
    classify,
    command_label,
    command_output,
    has_media,
    typed_text,
)
from schemas.providers.claude.results import position
from schemas.records import Record
from schemas.values import text_of

if TYPE_CHECKING:
    from schemas.providers.claude.parse import ClaudeParser

Value = dict[str, Any]
_KNOWN_BLOCKS = ("text", "image", "document", "tool_result", "tool_reference")
_OPENER, _REWOUND = int(Flag.OPENER), int(Flag.REWOUND)


class UserLines:
    """Handles the user lines of one parser: exchanges, commands, rewinds."""

    def __init__(self, parser: ClaudeParser) -> None:
        self._parser = parser
        self._session = parser.session
        self._replays: set[int] = set()

    def user(self, record: Record, value: Value) -> None:
        """A line of type `user`: results, or one of the classes of formats note 5.1."""
        message = value.get("message")
        content = message.get("content") if type(message) is dict else None
        if type(content) is list:
            results = [b for b in content if type(b) is dict and b.get("type") == "tool_result"]
            if results and value.get("isCompactSummary") is not True:
                for block in results:
                    self._parser.results.take(record, value, block, alone=len(results) == 1)
                if len(results) < len(content):
                    self._beside_results(
                        record, value, [b for b in content if type(b) is not dict or b.get("type") != "tool_result"]
                    )
                return
        line, text = classify(value, content)
        if line is not UserLine.SUMMARY and self._is_replay(value):
            self._session.duplicates += 1
        elif line is UserLine.PROMPT or (line is UserLine.TEAMMATE and self._parser.agent):
            self._prompt(record, value, text, content)
        elif line in (UserLine.COMMAND, UserLine.BASH):
            self.command(record, text)
        else:
            self._injected(record, value, line, text, content)
        if type(content) is list:
            self._odd_blocks(record, content)

    def _is_replay(self, value: Value) -> bool:
        """Compaction writes kept messages again under new uuids, with the old parent and time (formats note 9).

        Results and what the agent said are told by their own ids, so only a person's lines need this.
        """
        parent, stamp = value.get("parentUuid"), value.get("timestamp")
        if type(parent) is not str or type(stamp) is not str:
            return False
        identity = hash((parent, stamp))
        if identity in self._replays:
            return True
        self._replays.add(identity)
        return False

    def _prompt(self, record: Record, value: Value, text: str, content: object) -> None:
        """A person's prompt opens an exchange, and may replace an earlier one (a rewind)."""
        self._parser.command_row = -1
        session, branches = self._session, self._parser.branches
        shown = text or ("(image)" if has_media(content) else "")
        row = self._parser.queue.delivered(text, session)
        if row >= 0:
            exchange = session.split_exchange(row, Kind.PROMPT, shown)
            session.messages.kind[row] = Kind.PROMPT
            self._parser.result_span(row, record, SpanRole.BODY)
            self._parser.changed.update(range(row, len(session.messages)))
        else:
            exchange = session.open_exchange(Kind.PROMPT, shown)
            self._parser.owner = NOBODY
            row = self._parser.text_row(Kind.PROMPT, record, text)
            session.mark_opener(row)
        exchange.inherited = self._parser.inherited
        number = self._parser.owner = branches.add_prompt(self._parser.node, self._parser.parent, row)
        if branches.prompts[number].abandoned:
            self._flag_rewound(number)
        rival = branches.rival(number, self._parser.parent)
        if "parentUuid" in value and value["parentUuid"] is None:
            rival = branches.root_rival(number, hash(text_of(value.get("sessionId"))))
            # Files exist in which a session is repeated under new ids at the same times: nothing was taken back there.
            if rival != NOBODY and not self._is_later(rival):
                rival = NOBODY
        if rival != NOBODY:
            self._rewind(rival)

    def _is_later(self, number: int) -> bool:
        """Whether the record being read is later than prompt `number`; not if one of the times is unknown."""
        older = self._session.messages.when(self._parser.branches.prompts[number].row)
        return older is not None and self._parser.time is not None and self._parser.time > older

    def _rewind(self, number: int) -> None:
        for prompt in self._parser.branches.abandon(number):
            self._flag_rewound(self._parser.branches.owner[prompt.node])

    def _flag_rewound(self, number: int) -> None:
        messages, prompt = self._session.messages, self._parser.branches.prompts[number]
        if messages.flags[prompt.row] & _OPENER:
            self._session.exchanges[messages.exchange[prompt.row]].rewound = True
        for row in (prompt.row, *prompt.rows):
            messages.flags[row] |= _REWOUND
            self._parser.changed.add(row)

    def command(self, record: Record, text: str) -> None:
        """A slash command or a `!` command: a row, which opens an exchange if the agent answers it."""
        label = command_label(text)
        self._parser.titles.add_command(label)
        self._parser.owner = NOBODY
        row = self._parser.row(Kind.COMMAND, record, chars=len(label), lines=1)
        self._parser.command_row = row
        self._parser.owner = self._parser.branches.add_prompt(self._parser.node, self._parser.parent, row)
        if self._parser.branches.prompts[self._parser.owner].abandoned:
            self._flag_rewound(self._parser.owner)

    def output(self, record: Record, text: str) -> None:
        """What a local command printed; so the agent was not asked."""
        self._parser.command_row = -1
        self._parser.text_row(Kind.OUTPUT, record, command_output(text))

    def promote(self) -> None:
        """The agent answers the command typed last: it opens an exchange of its own."""
        row, self._parser.command_row = self._parser.command_row, -1
        if row < 0:
            return
        session = self._session
        record = session.record(session.message_spans(row)[0])
        message = record.get("message")
        content = message.get("content") if isinstance(message, Mapping) else record.get("content")
        label = command_label(typed_text(content)[0])
        exchange = session.exchanges[-1]
        if exchange.start == row:  # nothing stands before it, so the preamble becomes its exchange
            exchange.opener, exchange.prompt = Kind.COMMAND, one_line(label, 300)
            session.mark_opener(row)
        else:
            exchange = session.split_exchange(row, Kind.COMMAND, label)
        exchange.inherited = session.messages.has(row, Flag.INHERITED)
        exchange.rewound = session.messages.has(row, Flag.REWOUND)
        self._parser.changed.update(range(row, len(session.messages)))

    def _injected(self, record: Record, value: Value, line: UserLine, text: str, content: object) -> None:
        """User lines that nobody typed."""
        if line is UserLine.CAVEAT:
            self._parser.hide("user caveat")
        elif line is UserLine.EMPTY:
            if not (type(content) is list and any(_is_odd(block) for block in content)):
                self._parser.hide("user empty")
        elif line is UserLine.SUMMARY:
            self._parser.notices.summary(record, value, text)
        elif line is UserLine.INTERRUPT:
            self._parser.text_row(Kind.INTERRUPT, record, text)
            self._session.exchanges[-1].interrupted = True
        elif line is UserLine.OUTPUT:
            self.output(record, text)
        elif line is UserLine.NOTIFICATION:
            self._parser.links.notification(text)
            self._parser.text_row(Kind.NOTE, record, text)
        elif line is UserLine.TEAMMATE:
            self._parser.text_row(Kind.NOTE, record, text)
        else:
            self._parser.text_row(Kind.CONTEXT, record, text)

    def _odd_blocks(self, record: Record, content: list[Any]) -> None:
        """Blocks of a type that nobody described are shown beside what is known."""
        for number, block in enumerate(content):
            if _is_odd(block):
                self._parser.unknown(record, f"user block {block.get('type')}", block=number)

    def _beside_results(self, record: Record, value: Value, blocks: list[Any]) -> None:
        """Text beside tool results: what a person typed when refusing a tool, an interrupt, a reminder."""
        first = position(record, blocks[0])
        line, text = classify({k: v for k, v in value.items() if k != "isMeta"}, blocks)
        if line is UserLine.PROMPT:
            self._parser.text_row(Kind.STEER, record, text, block=first)
        elif line is UserLine.INTERRUPT:
            self._parser.text_row(Kind.INTERRUPT, record, text, block=first)
            self._session.exchanges[-1].interrupted = True
        elif text:
            self._parser.text_row(Kind.CONTEXT, record, text, block=first)


def _is_odd(block: object) -> bool:
    return type(block) is dict and block.get("type") not in _KNOWN_BLOCKS

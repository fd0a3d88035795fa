"""User records: prompts, what was typed while the agent worked, what nobody typed, and results of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.message import Flag, Kind, SpanRole
from schemas.providers.kit.tree import NOBODY
from schemas.providers.qwen import blocks
from schemas.providers.qwen.notes import NOTES, note_texts
from schemas.providers.qwen.prompts import Prompt, payload_of, read_prompt
from schemas.providers.qwen.results import answers_in
from schemas.records import Record
from schemas.values import size_of, text_of

if TYPE_CHECKING:
    from schemas.providers.qwen.parse import QwenParser

STEERS = ("mid_turn_user_message", "realtime_message")
"""Said by a person without opening an exchange: while tools ran, or in a voice conversation."""


class UserLines:
    """Turns user and tool_result records into messages."""

    def __init__(self, parser: QwenParser) -> None:
        self._parser = parser
        self._session = parser.session
        self._rows: dict[int, int] = {}
        """The prompts, by their nodes."""
        self.at: tuple[int, int, str] | None = None
        """The prompt that an `at_command` opened, its node and its text, while the `user` record for it is awaited."""

    def tool_result(self, record: Record) -> None:
        """Results of tools."""
        if not self._answers(record):
            self._parser.hide("tool_result (empty)")

    def _answers(self, record: Record) -> bool:
        answers = list(answers_in(record[3]))
        for answer in answers:
            self._parser.results.take(record, answer)
        return bool(answers)

    def user(self, record: Record) -> None:
        """A user record of any subtype."""
        parser, value = self._parser, record[3]
        subtype = value.get("subtype")
        at, self.at = self.at, None
        if subtype is None or subtype == "":
            answered = self._answers(record)
            if not self._prompt(record, at) and not answered:
                parser.hide("user (empty)")
        elif subtype in STEERS:
            self._steer(record)
        elif isinstance(subtype, str) and subtype in NOTES:
            parser.text_row(Kind.NOTE, record, note_texts(value)[1])
        else:
            parser.unknown(record, f"user {subtype}")

    def _steer(self, record: Record) -> None:
        prompt = read_prompt(record[3])
        if prompt.typed.strip() or prompt.media:
            self._parser.text_row(Kind.STEER, record, prompt.typed)
            self._around(record, prompt)
        elif not self._around(record, prompt):
            self._parser.hide(record[3].get("subtype"))

    def _prompt(self, record: Record, at: tuple[int, int, str] | None) -> bool:
        """A prompt with what was sent around it; False if there is nothing to read."""
        parser = self._parser
        prompt = read_prompt(record[3], at[2] if at is not None else None)
        if prompt.label:
            parser.text_row(Kind.CONTEXT, record, prompt.typed)
        elif at is not None:
            self._join(record, at)
        elif not prompt.typed.strip() and not prompt.media:
            return self._around(record, prompt)
        elif parser.again and parser.node in self._rows:
            self._go_on(record, prompt)
        else:
            row = parser.open(Kind.PROMPT, record, prompt.typed, *_size(prompt))
            self._rows[parser.node] = row
        self._around(record, prompt)
        return True

    def _around(self, record: Record, prompt: Prompt) -> bool:
        """What the model got besides: files that an @ named, a hook's context."""
        if prompt.sent:
            self._parser.text_row(Kind.CONTEXT, record, prompt.sent, blocks.SENT)
        if prompt.hook:
            self._parser.text_row(Kind.CONTEXT, record, prompt.hook, blocks.HOOK)
        return bool(prompt.sent or prompt.hook)

    def _join(self, record: Record, at: tuple[int, int, str]) -> None:
        """What the model got for a prompt with @. A rewind takes it back from here, so here the prompt belongs."""
        row, node, _ = at
        self._parser.add_span(row, record, SpanRole.DETAIL)
        self._rows[self._parser.node] = row
        if NOBODY != node != self._parser.node:
            self._parser.tree.hand_over(node, self._parser.node)

    def _go_on(self, record: Record, prompt: Prompt) -> None:
        """A further record with a prompt's uuid: old files hold one prompt in several."""
        messages, row = self._session.messages, self._rows[self._parser.node]
        self._parser.add_span(row, record, SpanRole.BODY)
        chars, lines = _size(prompt)
        messages.flags[row] |= Flag.MORE
        messages.chars[row] += chars
        messages.lines[row] += lines

    def at_command(self, record: Record) -> None:
        """Files named with @: with what was typed it opens the exchange, else it is context of the prompt to come."""
        parser, payload = self._parser, payload_of(record[3])
        typed = text_of(payload.get("userText"))
        row = -1
        if typed.strip():
            row = parser.open(Kind.PROMPT, record, typed, *size_of(typed))
            self._rows[parser.node] = row
        failed = payload.get("status") == "error"
        files = parser.row(Kind.NOTE if failed else Kind.CONTEXT, record, blocks.FILES, 0, 1)
        if failed:
            self._session.messages.flags[files] |= Flag.ERROR
        elif row >= 0:
            self.at = (row, parser.node, typed)


def _size(prompt: Prompt) -> tuple[int, int]:
    chars, lines = size_of(prompt.typed)
    return chars, lines + len(prompt.media)

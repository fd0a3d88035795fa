"""Results of tools, as a record holds them: which call each answers, and what it says.

A record of type `tool_result` has one or several `functionResponse` parts, with images behind them, and what the
screen showed in `toolCallResult`. Older files have the same parts in a `user` record (note 2.2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from schemas.clean import one_line
from schemas.message import Flag, Kind, SpanRole, ToolStatus
from schemas.providers._google import Data
from schemas.providers._google_tools import Result, read_result
from schemas.providers.qwen.blocks import MOST_PARTS, ORPHAN
from schemas.providers.qwen.prompts import parts_in
from schemas.records import Record
from schemas.values import dict_of, list_of, size_of, text_of

if TYPE_CHECKING:
    from schemas.providers.qwen.parse import QwenParser

AGENT_TOOLS = frozenset({"agent", "task"})
"""Tools that start a subagent: `task`, since 2026 `agent`."""
_PENDING = int(Flag.PENDING)
_FLAGS = {
    ToolStatus.ERROR: int(Flag.ERROR),
    ToolStatus.INTERRUPTED: int(Flag.INTERRUPTED),
    ToolStatus.DENIED: int(Flag.INTERRUPTED),
}


class Task(NamedTuple):
    """A call that starts a subagent."""

    kind: str
    description: str
    prompt: int


class Answer(NamedTuple):
    """One result: `part` is its place among the record's parts, `content` what belongs to it."""

    part: int
    call: str
    name: str
    content: list[Data]
    display: object
    status: object


def answers_in(record: Data) -> Iterator[Answer]:
    """The results in a record, in order."""
    parts = parts_in(record)
    places = [i for i, part in enumerate(parts) if isinstance(part.get("functionResponse"), dict)]
    about = dict_of(record.get("toolCallResult"))
    of = text_of(about.get("callId"))
    ends = record.get("type") == "tool_result"
    if not places and (ends or about):
        content = list_of(about.get("responseParts")) or parts
        yield Answer(0, of, "", content, _display(about), about.get("status") or "success")
    for number, place in enumerate(places):
        response = parts[place]["functionResponse"]
        call = text_of(response.get("id")) or (of if len(places) == 1 else "")
        # In a user's record the texts between results are the user's.
        start = place if number else 0
        end = places[number + 1] if number + 1 < len(places) else len(parts)
        content = parts[start:end] if ends else [parts[place]]
        mine = about if len(places) == 1 or call == of else {}
        yield Answer(place, call, text_of(response.get("name")), content, _display(mine), mine.get("status"))


def _display(about: Data) -> object:
    shown = about.get("resultDisplay")
    if shown is None:
        error = about.get("error")
        shown = error if isinstance(error, str) else dict_of(error).get("message")
    return shown


def read_answer(name: str, answer: Answer) -> Result:
    """How the tool use ended and what it said. Of a failure the screen often told more than the model got."""
    result = read_result(name or answer.name, answer.content, answer.display, answer.status)
    shown = answer.display
    if result.status is ToolStatus.ERROR and isinstance(shown, str) and shown.strip() and shown not in result.text:
        return result._replace(text=f"{result.text}\n{shown}" if result.text else shown)
    return result


class Results:
    """Pairs results with calls, as far as the scan looks at them: which call they end, how, and their size."""

    def __init__(self, parser: QwenParser) -> None:
        self._parser = parser
        self._session = parser.session
        self.calls: dict[str, int] = {}
        """The message of each call, by its id; services exist that use an id again, so the last one counts."""
        self._unnamed: dict[str, list[int]] = {}
        """Calls without an id, by the tool's name."""
        self.tasks: dict[int, Task] = {}
        """Calls that start a subagent, by their messages."""

    def call(self, row: int, call: str, name: str, args: Data) -> None:
        """A tool use."""
        if call:
            self.calls[call] = row
        else:
            self._unnamed.setdefault(name, []).append(row)
        if name in AGENT_TOOLS:
            kind, about, prompt = (text_of(args.get(key)) for key in ("subagent_type", "description", "prompt"))
            self.tasks[row] = Task(one_line(kind, 80), one_line(about, 200), prompt_hash(prompt))

    def task(self, call: str, prompt: str) -> int | None:
        """The message whose tool started a subagent: by the id of the call, or by equal prompts."""
        if (row := self.calls.get(call, -1)) in self.tasks:
            return row
        if not prompt.strip():
            return None
        wanted, taken = prompt_hash(prompt), {s.tool_use for s in self._session.subagents}
        return next((row for row, task in self.tasks.items() if task.prompt == wanted and row not in taken), None)

    def take(self, record: Record, answer: Answer) -> None:
        """Give a tool use its result; a result without a use is a message of its own."""
        session, messages = self._session, self._session.messages
        row = self.calls.get(answer.call, -1)
        if not answer.call and (waiting := self._unnamed.get(answer.name)):
            row = waiting.pop(0)
        result = read_answer("", answer)
        chars, lines = size_of(result.text)
        if row < 0 or not messages.flags[row] & _PENDING:
            if row >= 0 and messages.chars[row] == chars:
                session.duplicates += 1
            else:
                self._parser.row(Kind.OUTPUT, record, ORPHAN + min(answer.part, MOST_PARTS), chars, lines)
            return
        exchange = session.exchanges[messages.exchange[row]]
        if result.status is not ToolStatus.PENDING:
            messages.flags[row] = messages.flags[row] & ~_PENDING | _FLAGS.get(result.status, 0)
        exchange.errors += result.status is ToolStatus.ERROR
        messages.chars[row], messages.lines[row] = chars, lines
        session.touch(exchange, self._parser.time)
        self._parser.add_span(row, record, SpanRole.RESULT)


def prompt_hash(text: str) -> int:
    """A number for a prompt, white space apart."""
    return hash(" ".join(text.split()))

"""Parts of Kimi Code's records, and which of those that repeat each other counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from schemas.message import Kind, ToolStatus
from schemas.providers.kit.bases import Data
from schemas.providers.kit.blocks import texts_in
from schemas.providers.kit.history import History, Placed
from schemas.providers.kit.words import Answer, Count, Item, Say, Skip, Turn
from schemas.records import Record
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, number, text_of, whole

if TYPE_CHECKING:
    from schemas.session import Session

_EXIT = re.compile(r"\n?Command failed with exit code: (-?\d{1,6})\.\s*\Z")


class Typed(Say):
    """A prompt, as the turn has it or as the model's context repeats it."""


class Spent(Count):
    """Tokens of the step that goes on, or as its end repeats them."""


class Steps(History):
    """The policy that keeps the step that goes on and the text typed last."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._step, self._typed = "", ""

    def enter(self, record: Record, time: float | None) -> bool:
        event = dict_of(record[3].get("event"))
        if event.get("type") == "step.begin":
            self._step, self._typed = text_of(event.get("uuid")), ""
        return True

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """A prompt once; tokens with the step whose they are, for which the largest figures count."""
        match item:
            case Typed():
                if item.text != self._typed:
                    self._typed = item.text
                    yield record, number, Say(item.kind, item.text, label=item.label)
            case Spent():
                name = item.id or self._step
                yield record, number, Count(item.usage, "" if item.beside else name, item.model, item.beside)


def typed(content: object, origin: Data, kind: str) -> Iterator[Item]:
    """Read a text that a person typed or that started a subagent; a text of the program itself is context."""
    text = texts_in(content)
    if not text:
        yield Skip(kind)  # the context has it (protocol 1.4)
    elif origin.get("kind") in ("user", None) or origin.get("name") == "subagent":
        yield Typed(Kind.STEER if kind == "turn.steer" else Kind.PROMPT, text)
    else:
        yield Typed(Kind.CONTEXT, text, label=text_of(origin.get("name")).replace("_", " ") or "Added")


def result(use_id: str, output: object, result: Data) -> Answer:
    """The result of a tool use; a shell's exit code stands in its last line."""
    text = texts_in(output)
    spent = number(result.get("durationMs"))
    code = _EXIT.search(text[-100:])
    text = text[: len(text) - len(code[0])] if code else text
    status = ToolStatus.ERROR if result.get("isError") is True or code else ToolStatus.OK
    if text.endswith(("Interrupted by user", "Session closed")):
        status = ToolStatus.INTERRUPTED
    seconds = None if spent is None else spent / 1000
    return Answer(use_id, text or text_of(result.get("message")), status, int(code[1]) if code else None, seconds)


def spent(given: object, step: str, *, beside: bool) -> Iterator[Item]:
    """The figures of a step; all zero is what a stream that was cut off leaves."""
    names = ("inputOther", "output", "inputCacheRead", "inputCacheCreation")
    usage = TokenUsage(*(as_count(dict_of(given).get(name)) for name in names))
    if any(usage):
        yield Spent(usage, step, beside=beside)


def ended(record: Data) -> Iterator[Item]:
    error, spent = dict_of(record.get("error")), number(record.get("durationMs"))
    code = whole(dict_of(error.get("details")).get("statusCode"))
    if record.get("reason") == "cancelled":
        yield Say(Kind.INTERRUPT, label="Interrupted")
    elif error or record.get("reason") == "failed":
        yield Say(Kind.ERROR, text_of(error.get("message")), label=f"Error {code}" if code is not None else "Error")
    cut = record.get("reason") in ("cancelled", "failed")
    yield Turn(begins=False, seconds=None if spent is None else spent / 1000, failed=cut)
    yield Skip("turn.ended")


def retry(record: Data, now: str, most: str, text: str) -> Say:
    count = f"{whole(record.get(now)) or '?'} of {whole(record.get(most)) or '?'}"
    return Say(Kind.NOTE, text_of(record.get(text)), label=f"API error, retrying ({count})")

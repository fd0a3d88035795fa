"""What a record of Cursor's holds: a message of a store, or a line of a transcript, which differ in names only.

A transcript has neither ids of tool uses nor, mostly, their results (formats note 3.3): a use is over when something
follows it, or when the turn ends.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from schemas.clean import as_json, one_line
from schemas.message import Flag, Kind, Lack
from schemas.providers.cursor.prompts import split
from schemas.providers.cursor.store import OURS, Data, is_summary, options, parts_of, words_of
from schemas.providers.cursor.tools import Call, answer_of, call_of, is_error, is_image, picture
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Answer, Fact, Item, Say, Skip, Title, Turn, Use
from schemas.records import Record
from schemas.values import dict_of, list_of, number, text_of

if TYPE_CHECKING:
    from schemas.session import Session

_REDACTED = "[REDACTED]"
_UNTITLED = frozenset({"", "new agent", "untitled", "new chat"})
_STOPPED = re.compile(r"abort|interrupt|cancel", re.IGNORECASE)
_THOUGHTS = frozenset({"reasoning", "thinking"})
_SEALED = frozenset({"redacted-reasoning", "redacted"})
_RESULTS = frozenset({"tool-result", "tool_result", "command_output"})
_USES = frozenset({"tool-call", "tool_use"})
_SAYING = {"message", "content"}
_IDS = ("toolCallId", "tool_use_id", "id")


# -- words of its own --------------------------------------------------------------------------------------------------


class Reply(Answer):
    """The result of the first use with that id, or without one, that has none."""


class Over(Say):
    """Something follows the uses of the line before: they are over, whether or not their results are told."""


class Pairs(History):
    """Which result belongs to which use, and the time of the prompt, which a transcript's lines have from there on."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._names: set[str] = set()
        self._waiting: dict[str, deque[str]] = defaultdict(deque)
        """The names of uses without a result, by the ids that the source gives them."""
        self._answered: dict[str, str] = {}
        self._running: list[str] = []
        self._told = False
        self._time: float | None = None
        self._line = False

    def enter(self, record: Record, time: float | None) -> bool:
        self._line = OURS not in record[3]
        return True

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """The agent's own words in those of the kit."""
        match item:
            case Call():
                name = item.use_id
                if not name or name in self._names:
                    name = f"{item.use_id}@{record[0]}:{number}"
                self._names.add(name)
                if item.answer is None:
                    self._waiting[item.use_id].append(name)
                    self._running.append(name)
                else:
                    self.session.lacks -= {Lack.RESULTS}
                yield record, number, as_word(item, Use, use_id=name)
            case Reply():
                self._told = True
                yield record, number, as_word(item, Answer, use_id=self._use_of(item.use_id))
            case Over():
                running, self._running = self._running, []
                for name in [] if self._told else running:
                    yield record, number, Answer(name, None)

    def _use_of(self, use_id: str) -> str:
        if waiting := self._waiting.get(use_id):
            self._answered[use_id] = waiting.popleft()
            return self._answered[use_id]
        return self._answered.get(use_id, use_id) if use_id else ""

    def own(self, row: int, kind: int) -> None:
        messages = self.session.messages
        if kind == Kind.PROMPT:
            self._waiting.pop("", None)
            self._time = messages.when(row) if self._line else None
        if self._line and self._time is not None:
            # Exact to the minute, and the same for all of an exchange: that says nothing of how long it took.
            messages.time[row] = self._time
            self.session.exchanges[-1].ended = None


# -- records -----------------------------------------------------------------------------------------------------------


def read(record: Data) -> Iterator[Item]:
    """What a record holds."""
    ours, message, role = record.get(OURS), record.get("message", record), record.get("role")
    if isinstance(ours, dict) and "role" not in record:
        yield from _remark(record, ours)
    elif record.get("type") == "turn_ended" and "role" not in record:
        ends = list(_end(record))
        yield from ends if len(ends) > 1 else [*ends, Skip("turn_ended")]
    elif role == "system" and ours:
        yield Skip("system prompt")
    elif role not in ("user", "assistant", "tool") or not isinstance(message, dict) or not record.keys() & _SAYING:
        yield Say(Kind.UNKNOWN, label=text_of(role) or text_of(record.get("type")) or "(no type)")
    else:
        facts, parts = dict_of(ours), parts_of(message.get("content"))
        if not isinstance(ours, dict) and any(
            dict_of(part).get("type") not in (*_RESULTS, "turn_ended") for part in parts
        ):
            yield Over(Kind.NOTE)
        if role == "user":
            yield from _user(record, parts, number(facts.get("time")))
            return
        times = dict_of(facts.get("times"))
        model = next(filter(None, (text_of(options(dict_of(one)).get("modelName")) for one in parts)), "")
        for at, part in enumerate(parts):
            yield from _part(record, part, model, number(times.get(str(at))))


def _remark(record: Data, ours: Data) -> Iterator[Item]:
    """What `read_store` says of a store, or of what is no message."""
    if isinstance(meta := ours.get("store"), dict):
        beside = dict_of(ours.get("beside"))
        yield Fact(
            created=_seconds(meta.get("createdAt")) or _seconds(beside.get("createdAtMs")),
            updated=_seconds(beside.get("updatedAtMs")), model=text_of(meta.get("lastUsedModel")),
            mode=text_of(meta.get("mode")), context_used=ours.get("used"), context_window=ours.get("window"),
        )  # fmt: skip
        for rank, title in ((2, text_of(meta.get("name"))), (3, text_of(beside.get("title")))):
            if one_line(title).lower() not in _UNTITLED:
                yield Title(title, rank)
        yield Skip("store")
    elif "remark" in ours:
        yield Say(Kind.NOTE, label=text_of(ours["remark"]))
    else:
        text = text_of(ours.get("text")) or as_json({key: record[key] for key in record if key != OURS})
        yield Say(Kind.UNKNOWN, text, "no role" if len(record) > 1 else "no JSON object")


def _seconds(value: object) -> float | None:
    """Milliseconds since 1970, which some versions write as text, as seconds."""
    found = number(int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value)
    return found / 1000 if found is not None and 10**12 <= found < 10**14 else None


def _user(record: Data, parts: list[Any], time: float | None) -> Iterator[Item]:
    """A prompt (at most one), and what was put into the message around it."""
    words = [words_of(part) for part in parts]
    if is_summary(record):
        yield Say(Kind.COMPACTION, "\n\n".join(filter(None, words)), "Compacted")
        return
    found = split(text for text in words if text is not None and text.strip() != _REDACTED)
    images = [*found.images, *map(picture, filter(is_image, parts))]
    extra = {"requestId": request} if (request := text_of(options(record).get("requestId"))) else None
    if images or found.prompt is not None:
        yield Say(Kind.PROMPT, found.prompt or "", time=time or found.time, images=images, extra=extra)
    for around, label in found.context:
        yield Say(Kind.CONTEXT, around, label)
    for part, text in zip(parts, words, strict=True):
        if text_of(dict_of(part).get("type")) in _SEALED or (text or "").strip() == _REDACTED:
            # What is kept back here was no thinking, and whether a person wrote it nobody knows.
            yield Say(Kind.CONTEXT, label="Withheld by Cursor")
        elif text is None and not is_image(part):
            yield from _part(record, part, "", None)


def _part(record: Data, part: Any, model: str, time: float | None) -> Iterator[Item]:
    """A content part of an agent's or a tool's message."""
    given, text = dict_of(part), words_of(part)
    model, kind = text_of(options(given).get("modelName")) or model, text_of(given.get("type"))
    if kind in _THOUGHTS or kind in _SEALED:
        thought = text_of(given.get("text")) or text_of(given.get("thinking"))
        text = thought if kind in _THOUGHTS and thought.strip() else _REDACTED
    if text is not None:
        bare = text.rstrip()
        while bare.endswith(_REDACTED):
            bare = bare.removesuffix(_REDACTED).rstrip()
        said = Kind.THINKING if kind in _THOUGHTS else Kind.TEXT
        hidden = len(bare) < len(text.rstrip())
        if bare.strip():
            yield Say(said, bare if hidden else text, model=model, time=time)
        if hidden:
            yield Say(Kind.THINKING, model=model, time=time, flags=Flag.WITHHELD)
    elif kind in _USES:
        asked = next((given[key] for key in ("args", "input") if given.get(key) is not None), None)
        answer = answer_of(given["result"]) if "result" in given else None
        yield call_of(given.get("toolName", given.get("name")), _id_of(given), asked, answer, model)
    elif kind in _RESULTS:
        yield _reply(given, options(record).get("highLevelToolCallResult"))
    elif kind == "turn_ended":
        yield from _end(given)
    elif is_image(given):
        yield Say(Kind.TEXT, images=[picture(given)], model=model)
    else:
        yield Say(Kind.UNKNOWN, as_json(part), f"content {kind}".rstrip())


def _id_of(part: Data) -> str:
    return next((name for key in _IDS if (name := text_of(part.get(key)))), "")


def _reply(part: Data, beside: object) -> Item:
    """A result: `result`, or the newer `output`; images lie beside it as content parts."""
    said: Any = next((part[key] for key in ("result", "output", "content") if part.get(key) is not None), "")
    answer = answer_of(said, beside, use_id=_id_of(part), failed=is_error(part))
    more = answer_of(list_of(part.get("experimental_content")))
    answer.text, answer.images = answer.text or more.text, [*answer.images, *more.images]
    return as_word(answer, Reply)


def _end(end: Data) -> Iterator[Item]:
    """The end of a turn: nothing to see when all went well, else an interruption or an error."""
    status, error = (
        value if isinstance(value, str) else "" if value is None else as_json(value)
        for value in (end.get("status"), end.get("error"))
    )
    if _STOPPED.search(status) or _STOPPED.search(error):
        yield Turn(begins=False, failed=True)
        yield Say(Kind.INTERRUPT, error, "Interrupted")
        return
    yield Over(Kind.NOTE)
    if status not in ("success", "") or error:
        said = "" if status == "error" else f": {one_line(status, 60)}"
        yield Say(Kind.ERROR, error, f"The turn ended with an error{said}")

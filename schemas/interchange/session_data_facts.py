"""turnlog's own facts in SessionData, each declared once: its key, how a session tells it, how it is taken again.

They stand under `metadata.turnlog` of a message and of an exchange, those of the whole session in its first exchange.
What they mean is in schemas/documents/session-data.md, which tests/schemas/test_session_data_page.py holds to have
every key of these tables. All of them have a place in a Session: nothing else goes from the reader to the writer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from schemas.clean import Run, Sgr, clean, one_line
from schemas.diffs import diff_from_json, diff_to_json
from schemas.message import Flag, Kind, Part, Tool, ToolStatus
from schemas.paths import path_text
from schemas.records import Unreadable
from schemas.session import Inherited, Lack, Session
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, given, list_of, texts_of, whole

_START = datetime(1970, 1, 1, tzinfo=UTC)


class Fact(NamedTuple):
    """A fact of a message's tool, a part, an exchange, a session or one of its subagents."""

    key: str
    tell: Callable[[Any], Any]
    """Its value as JSON; None where there is nothing to be said."""
    take: Callable[[Any, Any], None]
    """Puts a value out of a document, whatever that is, where the thing has it."""


Facts = tuple[Fact, ...]


def tell(facts: Facts, of: object) -> dict[str, Any]:
    """Return the facts of a thing that have a value, by key, as JSON."""
    return {fact.key: value for fact in facts if (value := fact.tell(of)) is not None}


def take(facts: Facts, of: object, said: dict[str, Any]) -> None:
    """Give a thing what a document says of it."""
    for fact in facts:
        fact.take(of, said.get(fact.key))


# -- values ------------------------------------------------------------------------------------------------------------


def as_text(value: object) -> str:
    """The value cleaned if it is a string, else an empty one."""
    return clean(value) if isinstance(value, str) else ""


def as_line(value: object) -> str:
    """The same on one line."""
    return as_text(value).replace("\n", " ")


def iso_time(seconds: float | None) -> str | None:
    """Seconds since 1970 as ISO 8601 in UTC, with milliseconds or, where they say more, microseconds."""
    if seconds is None or not math.isfinite(seconds):
        return None
    try:
        time = _START + timedelta(microseconds=round(seconds * 1e6))
    except OverflowError:
        return None
    text = time.isoformat(timespec="microseconds")[:26]
    return (text[:23] if text.endswith("000") else text) + "Z"


def read_time(value: object) -> float | None:
    """ISO 8601 as seconds since 1970; without an offset it counts as UTC. None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def tell_usage(usage: TokenUsage) -> dict[str, int | None]:
    """The USAGE object, with the part of the cache that is kept for an hour where that is known."""
    return usage.to_json() | given(cacheWrite1hTokens=usage.cache_write_1h)


_KINDS: dict[str, Callable[[Any], Any]] = {
    "text": as_text,
    "line": as_line,
    "title": lambda value: one_line(as_text(value), 300),
    "word": lambda value: as_text(value) or None,
    "texts": lambda value: list(map(clean, texts_of(value))),
    "yes": lambda value: value is True,
    "count": lambda value: as_count(value) or 0,
    "number": as_count,
    "code": whole,
    "seconds": lambda value: float(value) if isinstance(value, int | float) and value == value else None,
    "status": lambda value: next((status for status in ToolStatus if status == value), ToolStatus.OK),
}
"""How a value out of a document is read, whatever it is."""
_TOLD_AT_ZERO = ("number", "code", "seconds")


def _fact(key: str, name: str, kind: str) -> Fact:
    """A fact that is a field of the thing, of one of `_KINDS`."""
    read, zero = _KINDS[kind], kind in _TOLD_AT_ZERO

    def tell_field(of: object) -> object:
        value = getattr(of, name)
        return value if zero else value or None

    return Fact(key, tell_field, lambda of, value: setattr(of, name, read(value)))


# -- texts and tools ---------------------------------------------------------------------------------------------------


def _tell_sgr(sgr: Sgr) -> dict[str, Any]:
    return {key: value for key, value in sgr._asdict().items() if value is not None and value is not False}


def _read_runs(value: object, length: int) -> list[Run]:
    """Coloured runs, in order and within the text."""
    runs: list[Run] = []
    for row in list_of(value):
        if not isinstance(row, list) or len(row) != 3:
            continue
        start, end = as_count(row[0]), as_count(row[1])
        if start is not None and end is not None and (runs[-1].end if runs else 0) <= start < end <= length:
            runs.append(Run(start, end, _read_sgr(dict_of(row[2]))))
    return runs


def _read_sgr(style: dict[str, Any]) -> Sgr:
    marks = {key: True for key in Sgr._fields[2:] if style.get(key) is True}
    return Sgr(_colour(style.get("fg")), _colour(style.get("bg")), **marks)


def _colour(value: object) -> int | tuple[int, int, int] | None:
    if isinstance(value, list):
        red, green, blue = ([as_count(v) for v in value] + [None] * 3)[:3]
        if red is None or green is None or blue is None:
            return None
        return min(red, 255), min(green, 255), min(blue, 255)
    index = as_count(value)
    return min(index, 255) if index is not None else None


_RUNS = Fact(
    "runs",
    lambda of: [[run.start, run.end, _tell_sgr(run.sgr)] for run in of.runs] or None,
    lambda of, value: setattr(of, "runs", _read_runs(value, len(of.text))),
)
"""The colours of a printed text."""
IMAGE: Facts = (_fact("mediaType", "media_type", "word"), _fact("size", "size", "number"), _RUNS)
PART: Facts = (
    Fact(
        "type",
        lambda part: "image" if part.type == "image" else None,
        lambda part, value: setattr(part, "type", "image" if value == "image" else part.type),
    ),
    *IMAGE,
)
"""What 1.0 cannot say of a part."""


def result_of(tool: Tool) -> dict[str, Any] | None:
    """1.0's result object: the source's own, or one made of what is known of the result."""
    if tool.output is None and (tool.text or tool.status not in (ToolStatus.PENDING, ToolStatus.OK)):
        return {"content": tool.text, "is_error": tool.status == ToolStatus.ERROR}
    return tool.output


def _tell_text(tool: Tool) -> str | None:
    said = (result_of(tool) or {}).get("content")
    return None if tool.text == (said if isinstance(said, str) else "") else tool.text


def text_of_result(ours: dict[str, Any], output: object) -> str:
    """A result as a person reads it: as turnlog says it, where the result object does not have it."""
    if "text" in ours:
        return as_text(ours["text"])
    return as_text(output if isinstance(output, str) else dict_of(output).get("content"))


def _take_images(tool: Tool, value: object) -> None:
    for image in map(dict_of, list_of(value)):
        part = Part("image", as_text(image.get("text")))
        take(IMAGE, part, image)
        tool.images.append(part)


def _nothing(_of: object, _value: object) -> None:
    """Taken elsewhere."""


TOOL: Facts = (
    _fact("status", "status", "status"),
    _fact("exitCode", "exit_code", "code"),
    _fact("seconds", "seconds", "seconds"),
    Fact("text", _tell_text, _nothing),  # by `text_of_result`, before the others
    _RUNS,
    Fact(
        "diffs",
        lambda tool: [diff_to_json(diff) for diff in tool.diffs] or None,
        lambda tool, value: setattr(tool, "diffs", list(filter(None, map(diff_from_json, list_of(value))))),
    ),
    Fact(
        "images",
        lambda tool: [{"text": part.text} | tell(IMAGE, part) for part in tool.images] or None,
        _take_images,
    ),
    _fact("subagent", "subagent", "word"),
    _fact("spilled", "spilled", "yes"),
    _fact("denier", "denier", "line"),
)
"""What is known of a tool use and has no place in 1.0."""

_FLAG_NAMES = [(flag.value, name.lower()) for name, flag in Flag.__members__.items()]
_FLAGS = {name: flag for flag, name in _FLAG_NAMES}


def tell_flags(flags: Flag) -> list[str] | None:
    """The names of a message's flags; None for none."""
    said = flags.value
    return [name for flag, name in _FLAG_NAMES if said & flag] if said else None


def read_flags(value: object) -> int:
    """The flags of these names, as a number: an enum's own arithmetic takes a quarter of a message's time."""
    flags = 0
    for name in list_of(value):
        flags |= _FLAGS.get(name, 0) if isinstance(name, str) else 0
    return flags


def read_kind(value: object) -> Kind | None:
    """The kind of message, or of what opens an exchange, of this name."""
    return Kind.__members__.get(value.upper()) if isinstance(value, str) else None


# -- exchanges and token groups ----------------------------------------------------------------------------------------

EXCHANGE: Facts = (
    _fact("prompt", "prompt", "title"),
    _fact("seconds", "seconds", "seconds"),
    _fact("errors", "errors", "count"),
    _fact("rewound", "rewound", "yes"),
    _fact("interrupted", "interrupted", "yes"),
    _fact("inherited", "inherited", "yes"),
)


# -- the session -------------------------------------------------------------------------------------------------------


def _take_models(session: Session, value: object) -> None:
    for model in list_of(value):
        session.model_index(as_text(model))


_LINEAGE: Facts = (
    _fact("forkedFrom", "forked_from", "word"),
    _fact("continues", "continues", "word"),
    _fact("parent", "parent", "word"),
    _fact("agentId", "agent_id", "word"),
)


def _take_lineage(session: Session, value: object) -> None:
    take(_LINEAGE, session.lineage, dict_of(value))


def _tell_unreadable(session: Session) -> list[dict[str, Any]] | None:
    # Where a document breaks off that was exported itself is no place in the file that `source` names.
    known = session.exported_unreadable if session.exported_from else None
    return [given(**one._asdict() | {"file": one.file or None}) for one in session.unreadable[:known]] or None


def _take_unreadable(session: Session, value: object) -> None:
    for row in map(dict_of, list_of(value)):
        line, offset, length = (as_count(row.get(key)) or 0 for key in ("line", "offset", "length"))
        file = as_text(row.get("file"))
        session.unreadable.append(Unreadable(line, as_text(row.get("reason")), offset, length, file))
    session.exported_unreadable = len(session.unreadable)


def _tell_inherited(session: Session) -> list[dict[str, Any]] | None:
    rows = []
    for one in session.inherited.values():
        said = given(model=one.model or None, time=iso_time(one.time), exchange=one.exchange or None)
        rows.append({"id": one.group_id, **said, "usage": tell_usage(one.usage)})
    return rows or None


def take_inherited(session: Session, value: object, span: int) -> None:
    """The responses that a fork has copies of, once the exchanges are known, as each stands in one. `span`: the record
    that says it.
    """
    for row in map(dict_of, list_of(value) if session.exchanges else ()):
        name, usage = as_text(row.get("id")), TokenUsage.from_json(dict_of(row.get("usage")))
        model, time = one_line(as_text(row.get("model")), 100), read_time(row.get("time"))
        exchange = min(as_count(row.get("exchange")) or 0, len(session.exchanges) - 1)
        session.inherited[name] = Inherited(name, usage, model, time, exchange, span)


def _counter(key: str, name: str) -> Fact:
    def take_counts(session: Session, value: object) -> None:
        counter = getattr(session, name)
        for one, count in dict_of(value).items():
            counter[clean(one)] += as_count(count) or 0

    return Fact(key, lambda session: dict(getattr(session, name)) or None, take_counts)


SESSION: Facts = (
    _fact("title", "title", "line"),
    _fact("branch", "branch", "word"),
    Fact(
        "source",
        lambda session: session.exported_from or path_text(session.path),
        lambda session, value: setattr(session, "exported_from", one_line(as_text(value), 4000)),
    ),
    _fact("contextWindow", "context_window", "number"),
    _fact("contextUsed", "context_used", "number"),
    Fact("models", lambda session: session.models[1:] or None, _take_models),
    Fact("lineage", lambda session: tell(_LINEAGE, session.lineage) or None, _take_lineage),
    _fact("links", "links", "texts"),
    Fact("inherited", _tell_inherited, _nothing),  # by `take_inherited`, behind the others
    _fact("duplicates", "duplicates", "count"),
    _fact("ownTotal", "own_total", "line"),
    Fact(
        "lacks",
        lambda session: sorted(session.lacks) or None,
        lambda session, value: setattr(session, "lacks", frozenset(one for one in Lack if one.value in list_of(value))),
    ),
    Fact("unreadable", _tell_unreadable, _take_unreadable),
    _counter("unknownRecords", "unknown"),
    _counter("hiddenRecords", "hidden"),
)
"""What is true of the whole session and has no place in 1.0, but for its subagents and what else it notes of itself."""
SUBAGENT: Facts = (
    _fact("name", "name", "text"),
    _fact("description", "description", "text"),
    _fact("internal", "internal", "yes"),
)
"""What is said of a subagent beside its id, its file, the tool use that started it and its session."""

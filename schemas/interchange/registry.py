"""The published formats: how each is told, read and checked. A new one is a row in here.

Modules are named, not imported: a command that needs one format does not wait for the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.provider import Provider

if TYPE_CHECKING:
    from schemas.interchange.verdicts import Verdict

_HERE = "schemas.interchange"


class Published(NamedTuple):
    """A format. What is written `module:name` is found in schemas.interchange."""

    name: str
    """As the command line calls it."""
    reader: str
    """The object that opens files of it as sessions."""
    own: str
    """Keys of its document, or of its lines, that no other format has."""
    telling: str
    """Keys that few others have."""
    others: str
    """Its other keys."""
    check: str
    """Its validator: of a JSON value, or of the file's bytes where it is `lines`."""
    lines: bool = False
    against: str = ""
    """Keys of what else has many of its keys."""


FORMATS = (
    Published("session-data", "session_data_read:SESSION_DATA", "",
              "schemaVersion workspaceRoot exchanges", "provider sessionId createdAt updatedAt slug",
              "session_data_check:validate_session_data"),
    Published("toolpath", "toolpath_read:TOOLPATH", "",
              "graph paths Graph Path Step path steps step change", "meta",
              "toolpath_check:validate_toolpath"),
    Published("toolpath-jsonl", "toolpath_read:TOOLPATH", "PathOpen",
              "Step ActorDef Signature PathMeta Head PathClose", "",
              "toolpath_check:validate_stream", lines=True),
    Published("events", "events:EVENTS", "",
              "provider session_id usage", "model timestamp",
              "events:validate_events", lines=True, against="type role message payload event"),
    Published("snapshot", "snapshot:SNAPSHOT", "top_providers top_models",
              "schema_version generated_at", "month mode totals suggestions reconcile_latest_summary_path",
              "snapshot:validate_snapshot"),
    Published("agent-response", "agent_response:AGENT_RESPONSE", "final_response",
              "messages", "metadata",
              "agent_response:validate_agent_response"),
)  # fmt: skip
NAMES = tuple(one.name for one in FORMATS)


def readers() -> Iterator[Provider]:
    """Yield the reader of each format's files, each once; imported when it is asked for."""
    for name in dict.fromkeys(one.reader for one in FORMATS):
        reader: Provider = _named(name)
        yield reader


class Guess(NamedTuple):
    """The format that a file's keys speak for."""

    name: str
    sure: bool
    """Whether an agent's own files can hardly have such keys."""


def guess(data: bytes) -> Guess | None:
    """The format of a document, by the keys of its beginning: also one of which a required key is missing, which breaks
    off, or which is no proper JSON. None where they speak for none.
    """
    head = data[:_LOOKED_AT].lstrip(b"\xef\xbb\xbf \t\r\n")
    seen = [_keys(head)]
    rows = [line for line in head.split(b"\n", _ROWS)[:_ROWS] if line.startswith(b"{")]
    lines = len(rows) > 1
    if lines:
        # A line that breaks off hides those behind it, unless each is looked at by itself. Lines within a document, as
        # turnlog writes it, look the same and are no rows: so both count, and the better one tells.
        seen.append(seen[0].union(*map(_keys, rows)))
    scores = {one: max(_score(one, keys) for keys in seen) for one in FORMATS}
    best = max(FORMATS, key=lambda one: (scores[one], one.lines and lines))
    score = scores[best]
    return Guess(best.name, score >= _SURE) if score >= _ENOUGH else None


_LOOKED_AT = 1 << 20
_ROWS = 20
_OWN, _TELLING, _ENOUGH, _SURE, _AGAINST = 20, 3, 3, 5, 7
_TOKEN = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(\s*:)?|[{}\[\]]', re.DOTALL)


def _keys(data: bytes) -> frozenset[str]:
    """The keys of the outermost object, or of each where there are several."""
    depth, keys = 0, set()
    for token in _TOKEN.finditer(data):
        match token[0][:1]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth = max(depth - 1, 0)
            case _ if depth == 1 and token[2]:
                keys.add(token[1].decode("utf-8", "replace"))
    return frozenset(keys)


def _score(one: Published, keys: frozenset[str]) -> int:
    """Score the keys for a format: one that it does not have speaks against it."""
    own, telling, others = (keys.intersection(names.split()) for names in (one.own, one.telling, one.others))
    foreign = len(keys) - len(own) - len(telling) - len(others)
    against = _AGAINST * len(keys.intersection(one.against.split()))
    return _OWN * len(own) + _TELLING * len(telling) + len(others) - foreign - against


def check(name: str, data: bytes) -> Verdict:
    """Check whether the bytes are a document of the format NAME (one of NAMES)."""
    from schemas.interchange.json_text import BOM, line_warnings, read_json
    from schemas.interchange.verdicts import Finding, Verdict
    from schemas.json_faults import say_depth

    one = next(one for one in FORMATS if one.name == name)
    validate: Callable[[Any], Verdict] = _named(one.check)
    marked = data.startswith(BOM)
    warnings = [Finding("", "begins with a byte order mark, which JSON does not have")] if marked else []
    data = data.removeprefix(BOM)
    try:
        if one.lines:
            verdict = validate(data)
            warnings += line_warnings(data)
        else:
            text = read_json(data)
            if text.fault:
                return Verdict([Finding("", text.fault)], warnings)
            warnings += text.warnings
            verdict = validate(text.value)
    except RecursionError:
        return Verdict([Finding("", f"nested too deeply to be checked{say_depth(data)}")], warnings)
    return Verdict(verdict.errors, warnings + verdict.warnings)


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return attrgetter(attribute)(import_module(f"{_HERE}.{module}"))

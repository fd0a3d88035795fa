"""The published formats: how each is told, read and checked. A new one is a row in here.

Modules are named, not imported: a command that needs one format does not wait for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.provider import Head, Provider

if TYPE_CHECKING:
    from schemas.interchange.session_data_check import Verdict

_HERE = "schemas.interchange"


class Published(NamedTuple):
    """A format. What is written `module:name` is found in schemas.interchange."""

    name: str
    """As the command line calls it."""
    reader: str
    """The object that opens files of it as sessions."""
    tells: str
    """A function that says whether a file's `Head` is one."""
    check: str
    """Its validator: of a JSON value, or of the file's bytes where it is `lines`."""
    lines: bool = False


FORMATS = (
    Published("session-data", "session_data:SESSION_DATA", "session_data:SESSION_DATA.detect",
              "session_data_check:validate_session_data"),
    Published("toolpath-jsonl", "toolpath:TOOLPATH", "toolpath:is_stream",
              "toolpath_check:validate_stream", lines=True),
    Published("toolpath", "toolpath:TOOLPATH", "toolpath:TOOLPATH.detect", "toolpath_check:validate_toolpath"),
    Published("events", "events:EVENTS", "events:EVENTS.detect", "events_check:validate_events", lines=True),
    Published("snapshot", "snapshot:SNAPSHOT", "snapshot:SNAPSHOT.detect", "snapshot_check:validate_snapshot"),
    Published("agent-response", "agent_response:AGENT_RESPONSE", "agent_response:AGENT_RESPONSE.detect",
              "agent_response_check:validate_agent_response"),
)  # fmt: skip
NAMES = tuple(one.name for one in FORMATS)


def readers() -> Iterator[Provider]:
    """What opens each format's files, each once; imported when it is asked for."""
    for name in dict.fromkeys(one.reader for one in FORMATS):
        reader: Provider = _named(name)
        yield reader


def guess(head: Head) -> str | None:
    """The format of a file, by its content; None where it is of none."""
    for one in FORMATS:
        tells: Callable[[Head], bool] = _named(one.tells)
        if tells(head):
            return one.name
    return None


def check(name: str, data: bytes) -> Verdict:
    """Whether the bytes are a document of the format NAME (one of NAMES)."""
    from schemas.interchange.session_data_check import Finding, Verdict

    one = next(one for one in FORMATS if one.name == name)
    validate: Callable[[Any], Verdict] = _named(one.check)
    if one.lines:
        return validate(data)
    value, reason = _parsed(data)
    return Verdict([Finding("", reason)], []) if reason else validate(value)


def _parsed(data: bytes) -> tuple[Any, str]:
    """The JSON value, or why there is none."""
    import orjson

    try:
        return orjson.loads(data), ""
    except orjson.JSONDecodeError as error:
        return None, f"not JSON: {error.msg.lower()} at line {error.lineno}, column {error.colno}"


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return attrgetter(attribute)(import_module(f"{_HERE}.{module}"))

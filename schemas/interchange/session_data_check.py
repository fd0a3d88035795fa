"""The check of a SessionData 1.0 document.

There are three validators for 1.0 that disagree (formats note 2.2). An error here is what the producer's own check or
its JSON Schema rejects; a warning is what only the published document forbids, and what the producer itself writes
against its own rules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any

from schemas.clean import one_line
from schemas.documents import keys_of, load_schema
from schemas.interchange.rfc3339 import parse_time
from schemas.interchange.session_data_usage import USAGE_KEYS
from schemas.interchange.verdicts import (
    Finding,
    Judged,
    Verdict,
    explain,
    kind_of,
    pointer,
    schema_findings,
    shown,
    verdict_of,
)
from schemas.usage import as_count
from schemas.values import list_of

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

PROVIDER_IDS = tuple(load_schema("session-data")["properties"]["provider"]["properties"]["id"]["examples"])
"""Those that the published document names; another agent's is kept, with a warning."""
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]|^\.*$|[. ]$')
"""What no file is called on Linux, macOS or Windows."""


def validate_session_data(document: object) -> Verdict:
    """Errors and warnings, in the document's order."""
    rejected = ((finding, True) for finding in schema_findings("session-data", document, _words))
    return verdict_of(chain(rejected, _beyond_the_schema(document) if isinstance(document, dict) else ()))


def _words(error: ValidationError) -> Iterable[Finding]:
    if error.validator != "not":
        return explain(error)
    path = pointer(error.absolute_path)
    return [
        Finding(f"{path}/{key}", f"a user message cannot have `{key}`")
        for key in ("tool", "model")
        if isinstance(error.instance, dict) and key in error.instance
    ]


# -- what a JSON Schema cannot say, or says too strictly ---------------------------------------------------------------


def _beyond_the_schema(document: dict[str, Any]) -> Judged:
    """Findings, each with whether it is an error."""
    provider = document.get("provider")
    if isinstance(provider, dict):
        name = provider.get("id")
        if isinstance(name, str) and name and name not in PROVIDER_IDS:
            yield Finding("/provider/id", f"{shown(name)} is none of {', '.join(PROVIDER_IDS)}"), False
        yield from _keys("/provider", provider, "provider")
    yield from _keys("", document, "")
    slug = document.get("slug")
    if isinstance(slug, str) and (_UNSAFE.search(slug) or len(slug.encode("utf-8", "replace")) > 200):
        yield Finding("/slug", f"{shown(slug)} is not safe as a file's name"), False
    ids: dict[str, str] = {}
    message_ids: dict[str, str] = {}
    for number, exchange in enumerate(list_of(document.get("exchanges"))):
        if isinstance(exchange, dict):
            yield from _exchange(f"/exchanges/{number}", exchange, ids, message_ids)


def _exchange(path: str, exchange: dict[str, Any], ids: dict[str, str], message_ids: dict[str, str]) -> Judged:
    yield from _keys(path, exchange, "exchange")
    yield from _repeated(f"{path}/exchangeId", exchange.get("exchangeId"), ids)
    for number, message in enumerate(list_of(exchange.get("messages"))):
        if isinstance(message, dict):
            yield from _message(f"{path}/messages/{number}", message, message_ids)


def _message(path: str, message: dict[str, Any], ids: dict[str, str]) -> Judged:
    yield from _repeated(f"{path}/id", message.get("id"), ids)
    yield from _time(f"{path}/timestamp", message.get("timestamp"))
    tool = message.get("tool")
    if message.get("role") == "agent" and not (message.get("content") or "tool" in message or message.get("pathHints")):
        # The producer writes such messages for thinking that was withheld; those have a model or usage.
        withheld = "model" in message or "usage" in message
        yield Finding(path, "an agent message needs `content`, `tool` or `pathHints`"), not withheld
    elif message.get("role") == "agent" and "tool" not in message and _only_empty_thinking(message.get("content")):
        yield Finding(f"{path}/content", "thinking without its text: there is nothing to read in this message"), False
    for key in ("input", "output"):
        if isinstance(tool, dict) and key in tool and not isinstance(tool[key], dict):
            yield Finding(f"{path}/tool/{key}", f"`{key}` should be an object, not {kind_of(tool[key])}"), False
    if "usage" in message:
        yield from ((finding, False) for finding in _usage(f"{path}/usage", message["usage"]))


def _usage(path: str, usage: object) -> Iterator[Finding]:
    """Neither document says anything of `usage`, but the producer writes counts there and its readers add them up."""
    if not isinstance(usage, dict):
        yield Finding(path, f"`usage` should be an object, not {kind_of(usage)}")
        return
    for key, count in usage.items():
        if key not in USAGE_KEYS:
            yield Finding(path, f"`{one_line(key, 60)}` is no figure that the producer counts")
        elif type(count) is not int or count < 0:
            yield Finding(f"{path}/{key}", f"`{key}` should be a count, not {shown(count)}")
        elif as_count(count) is None:
            yield Finding(f"{path}/{key}", f"`{key}` is larger than any count of tokens: read as unknown")


def _only_empty_thinking(content: object) -> bool:
    """Return whether a message is nothing but thinking that was withheld, as the producer writes it too."""
    return bool(list_of(content)) and all(part == {"type": "thinking", "text": ""} for part in list_of(content))


def _keys(path: str, value: dict[str, Any], of: str) -> Judged:
    """Find the keys of an object that 1.0 does not have there, and its times that are none."""
    known = keys_of("session-data", of)
    for key in value:
        if key not in known:
            yield Finding(path, f"`{one_line(str(key), 60)}` is no key of SessionData 1.0"), False
        elif known[key] == "time":
            yield from _time(f"{path}/{key}", value[key])


def _repeated(path: str, name: object, seen: dict[str, str]) -> Judged:
    if isinstance(name, str) and name and seen.setdefault(name, path) != path:
        yield Finding(path, f"{shown(name)} is already the id at {seen[name]}"), False


def _time(path: str, value: object) -> Judged:
    if not isinstance(value, str) or parse_time(value) is not None:
        return
    if not value:
        # An empty `createdAt` is an error by the schema.
        if path != "/createdAt":
            yield Finding(path, "an empty time: leave the key out"), False
        return
    try:
        zone = datetime.fromisoformat(value).tzinfo
    except ValueError:
        yield Finding(path, f"{shown(value)} is no ISO 8601 time"), False
        return
    said = "has no time zone" if zone is None else "is not of the usual form, such as 2026-01-31T09:00:00Z"
    yield Finding(path, f"{shown(value)} {said}"), False

"""Whether a value is a SessionData 1.0 document.

There are three validators for 1.0 that disagree (formats note 2.2). An error here is what the producer's own check or
its JSON Schema rejects; a warning is what only the published document forbids, and what the producer itself writes
against its own rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.clean import clean, one_line

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_IDS = ("claude", "cursor", "codex", "gemini")
_DOCUMENT = {"schemaVersion", "provider", "sessionId", "createdAt", "updatedAt", "slug", "workspaceRoot", "exchanges"}
_PROVIDER = {"id", "name", "version"}
_EXCHANGE = {"exchangeId", "startTime", "endTime", "messages", "metadata"}


class Finding(NamedTuple):
    """Something wrong: where (a JSON pointer, empty for the document itself), and what, as a sentence."""

    path: str
    message: str


class Verdict(NamedTuple):
    """What a validator found. Warnings do not make a document invalid."""

    errors: list[Finding]
    warnings: list[Finding]

    @property
    def valid(self) -> bool:
        """Whether there is no error."""
        return not self.errors


def validate_session_data(document: object) -> Verdict:
    """Errors and warnings, in the document's order."""
    from jsonschema import Draft202012Validator

    from schemas.documents import load_schema

    validator = Draft202012Validator(load_schema("session-data"))
    found = sorted(validator.iter_errors(document), key=lambda e: [(isinstance(p, str), p) for p in e.absolute_path])
    errors = [finding for error in found for finding in explain(error)]
    warnings: list[Finding] = []
    if isinstance(document, dict):
        for finding, fatal in _beyond_the_schema(document):
            (errors if fatal else warnings).append(finding)
    return Verdict(errors, warnings)


# -- sentences for what a JSON Schema says -----------------------------------------------------------------------------


def pointer(path: Iterable[str | int]) -> str:
    """A JSON pointer."""
    return "".join("/" + clean(str(step)).replace("~", "~0").replace("/", "~1") for step in path)


def explain(error: ValidationError) -> Iterator[Finding]:
    """An error of the jsonschema package in plain words."""
    path, rule, value = pointer(error.absolute_path), error.validator, error.validator_value
    name = error.absolute_path[-1] if error.absolute_path else "the document"
    name = name if isinstance(name, str) else f"item {name}"
    if rule == "required":
        missing = [key for key in _list(value) if isinstance(error.instance, dict) and key not in error.instance]
        # One error a missing key; the one that this error is about is the one that its message begins with.
        key = next((k for k in missing if error.message.startswith(repr(k))), missing[0] if missing else "?")
        yield Finding(path, f"`{key}` is missing")
    elif rule == "additionalProperties":
        known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
        for key in error.instance if isinstance(error.instance, dict) else ():
            if key not in known:
                yield Finding(path, f"`{one_line(str(key), 60)}` does not belong here")
    elif rule == "not":
        for key in ("tool", "model"):
            if isinstance(error.instance, dict) and key in error.instance:
                yield Finding(f"{path}/{key}", f"a user message cannot have `{key}`")
    else:
        yield Finding(path, _sentence(str(name), str(rule), value, error.instance))


def _sentence(name: str, rule: str, value: Any, instance: object) -> str:
    if rule == "type":
        return f"`{name}` must be {' or '.join(_article(kind) for kind in _list(value))}, not {_kind(instance)}"
    if rule == "const":
        return f"`{name}` must be {_show(value)}, not {_show(instance)}"
    if rule == "enum":
        return f"`{name}` must be one of {', '.join(map(str, _list(value)))}, not {_show(instance)}"
    if rule in ("minLength", "minItems"):
        return f"`{name}` is empty"
    if rule == "minimum":
        return f"`{name}` must be at least {value}, not {_show(instance)}"
    return f"`{name}` breaks the rule {rule}: {_show(value)}"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _article(kind: str) -> str:
    return {"null": "null"}.get(kind, f"an {kind}" if kind[0] in "aio" else f"a {kind}")


def _kind(value: object) -> str:
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (str, "string"), (int, "integer"), (float, "number"), (dict, "object")):
        if isinstance(value, kind):
            return _article(name)
    return "an array"


def _show(value: object) -> str:
    return f'"{one_line(value, 60)}"' if isinstance(value, str) else one_line(str(value), 60)


# -- what a JSON Schema cannot say, or says too strictly ---------------------------------------------------------------


def _beyond_the_schema(document: dict[str, Any]) -> Iterator[tuple[Finding, bool]]:
    """Findings, each with whether it is an error."""
    provider = document.get("provider")
    if isinstance(provider, dict):
        name = provider.get("id")
        if isinstance(name, str) and name and name not in _IDS:
            yield Finding("/provider/id", f"{_show(name)} is none of {', '.join(_IDS)}"), False
        yield from _unknown_keys("/provider", provider, _PROVIDER)
    yield from _unknown_keys("", document, _DOCUMENT)
    for key in ("createdAt", "updatedAt"):
        yield from _time(f"/{key}", document.get(key))
    if document.get("exchanges", ()) is None:
        yield Finding("/exchanges", "null where an empty list belongs"), False
    ids: dict[str, str] = {}
    message_ids: dict[str, str] = {}
    for number, exchange in enumerate(_items(document.get("exchanges"))):
        if isinstance(exchange, dict):
            yield from _exchange(f"/exchanges/{number}", exchange, ids, message_ids)


def _exchange(
    path: str, exchange: dict[str, Any], ids: dict[str, str], message_ids: dict[str, str]
) -> Iterator[tuple[Finding, bool]]:
    yield from _unknown_keys(path, exchange, _EXCHANGE)
    yield from _repeated(f"{path}/exchangeId", exchange.get("exchangeId"), ids)
    for key in ("startTime", "endTime"):
        yield from _time(f"{path}/{key}", exchange.get(key))
    for number, message in enumerate(_items(exchange.get("messages"))):
        if isinstance(message, dict):
            yield from _message(f"{path}/messages/{number}", message, message_ids)


def _message(path: str, message: dict[str, Any], ids: dict[str, str]) -> Iterator[tuple[Finding, bool]]:
    yield from _repeated(f"{path}/id", message.get("id"), ids)
    yield from _time(f"{path}/timestamp", message.get("timestamp"))
    tool = message.get("tool")
    if message.get("role") == "agent" and not (message.get("content") or tool or message.get("pathHints")):
        # The producer writes such messages for thinking that was withheld; those have a model or usage.
        withheld = "model" in message or "usage" in message
        yield Finding(path, "an agent message needs `content`, `tool` or `pathHints`"), not withheld
    for key in ("input", "output"):
        if isinstance(tool, dict) and key in tool and not isinstance(tool[key], dict):
            yield Finding(f"{path}/tool/{key}", f"`{key}` should be an object, not {_kind(tool[key])}"), False


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _unknown_keys(path: str, value: dict[str, Any], known: set[str]) -> Iterator[tuple[Finding, bool]]:
    for key in value:
        if key not in known:
            yield Finding(path, f"`{one_line(str(key), 60)}` is no key of SessionData 1.0"), False


def _repeated(path: str, name: object, seen: dict[str, str]) -> Iterator[tuple[Finding, bool]]:
    if isinstance(name, str) and name and seen.setdefault(name, path) != path:
        yield Finding(path, f"{_show(name)} is already the id at {seen[name]}"), False


def _time(path: str, value: object) -> Iterator[tuple[Finding, bool]]:
    if not isinstance(value, str) or not value:
        return
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        yield Finding(path, f"{_show(value)} is no ISO 8601 time"), False
        return
    if time.tzinfo is None:
        yield Finding(path, f"{_show(value)} has no time zone"), False

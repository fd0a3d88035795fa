"""Whether a document is an Agent Response v1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from schemas.interchange.agent_response import content_parts, soft_warnings, tool_name
from schemas.interchange.verdicts import Finding, Verdict, explain, kind_of, pointer, schema_findings, shown

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


def validate_agent_response(document: object) -> Verdict:
    """Errors by the JSON Schema; warnings for what the platform takes, but shows otherwise than it was meant."""
    told: set[str] = set()

    def words(error: ValidationError) -> Iterable[Finding]:
        found = list(_call(error) if error.validator == "oneOf" else explain(error))
        place = pointer(error.absolute_path)
        told.add(place)
        if error.validator == "required":
            told.update(f"{place}/{key}" for key in cast(list[str], error.validator_value))
        return found

    errors = schema_findings("agent-response", document, words)
    if not isinstance(document, dict):
        return Verdict(errors, [])
    warnings = [Finding(*one) for one in soft_warnings(document) if one[0] not in told]
    messages = document.get("messages")
    if isinstance(messages, list) and messages and not any(map(_can_be_graded, messages)):
        said = "no assistant message says anything: a run that is registered as strict fails with it"
        warnings.append(Finding("/messages", said))
    return Verdict(errors, warnings)


def _can_be_graded(message: object) -> bool:
    """Whether it is an assistant's and has words, which the strict mode of the platform asks of one message."""
    return (
        isinstance(message, dict)
        and message.get("role") == "assistant"
        and any(part.type == "text" and part.text.strip() for part in content_parts(message.get("content")))
    )


def _call(error: ValidationError) -> Iterator[Finding]:
    """What is wrong with a tool call that is of neither form, or of both."""
    place, entry = pointer(error.absolute_path), error.instance
    if not isinstance(entry, dict):
        yield Finding(place, f"a tool call must be an object, not {kind_of(entry)}")
        return
    if not isinstance(entry.get("id", ""), str):
        yield _no_string(f"{place}/id", entry["id"])
    function = entry.get("function")
    if "name" in entry and "function" in entry and tool_name(entry):
        yield Finding(place, "a tool call has `name` or `function`, not both")
    elif "name" in entry:
        if not isinstance(entry["name"], str):
            yield _no_string(f"{place}/name", entry["name"])
    elif not isinstance(function, dict):
        said = "needs `name`, or `function` with `name`" if function is None else "has a `function` that is no object"
        yield Finding(place, f"a tool call {said}")
    elif "name" not in function:
        yield Finding(f"{place}/function", "`name` is missing")
    elif not isinstance(function["name"], str):
        yield _no_string(f"{place}/function/name", function["name"])
    elif entry.get("type", "function") != "function":
        yield Finding(f"{place}/type", f'`type` of a nested tool call must be "function", not {shown(entry["type"])}')


def _no_string(place: str, value: Any) -> Finding:
    return Finding(place, f"`{place.rpartition('/')[2]}` must be a string, not {kind_of(value)}")

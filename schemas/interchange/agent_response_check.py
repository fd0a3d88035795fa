"""Whether a document is an Agent Response v1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemas.interchange.agent_response_parts import as_object, soft_warnings, tool_name
from schemas.interchange.session_data_check import Finding, Verdict, explain, pointer

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


def validate_agent_response(document: object) -> Verdict:
    """Errors by the JSON Schema; warnings for what the platform takes, but shows otherwise than it was meant."""
    from jsonschema import Draft202012Validator

    from schemas.documents import load_schema

    validator = Draft202012Validator(load_schema("agent-response"))
    found = sorted(validator.iter_errors(document), key=lambda e: [(isinstance(p, str), p) for p in e.absolute_path])
    errors = [finding for error in found for finding in _words(error)]
    places = {error.path for error in errors}
    warnings = soft_warnings(document) if isinstance(document, dict) else ()
    return Verdict(errors, [Finding(*one) for one in warnings if one[0] not in places])


def _words(error: ValidationError) -> Iterator[Finding]:
    if error.validator != "oneOf":
        yield from explain(error)
        return
    place, entry = pointer(error.absolute_path), as_object(error.instance)
    if not isinstance(error.instance, dict):
        yield Finding(place, "a tool call must be an object")
    elif not tool_name(entry):
        yield Finding(place, "a tool call needs `name`, or `function` with `name`")
    elif "name" in entry and "function" in entry:
        yield Finding(place, "a tool call has `name` or `function`, not both")
    elif "name" not in entry and entry.get("type", "function") != "function":
        yield Finding(f"{place}/type", '`type` of a nested tool call must be "function"')
    else:
        yield Finding(place, "`id` and `name` of a tool call must be strings")

"""Verdicts of the validators: findings, each with its place and a sentence, made of what a JSON Schema rejects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from schemas.clean import clean, one_line
from schemas.documents import load_schema

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

_SHOWN = 60
"""Characters of a value that a sentence quotes."""


class Finding(NamedTuple):
    """Something wrong: where, and what, as a sentence.

    The place is a JSON pointer, empty for the document itself; in a format of lines it is `line 5` or `line 5: /usage`.
    """

    path: str
    message: str


class Verdict(NamedTuple):
    """The findings of a validator. Warnings do not make a document invalid."""

    errors: list[Finding]
    warnings: list[Finding]

    @property
    def valid(self) -> bool:
        """Return whether there is no error."""
        return not self.errors


Judged = Iterable[tuple[Finding, bool]]
"""Findings, each with whether it is an error."""


def verdict_of(found: Judged) -> Verdict:
    """Each finding once, and none as a warning that is an error: several rules may reject the same thing."""
    errors: dict[Finding, None] = {}
    warnings: dict[Finding, None] = {}
    for finding, fatal in found:
        (errors if fatal else warnings)[finding] = None
    return Verdict(list(errors), [finding for finding in warnings if finding not in errors])


def pointed(path: str, value: dict[str, Any], keys: Iterable[str]) -> Judged:
    """Find integers that are written as 5.0: a JSON Schema takes them, a reader with typed fields does not."""
    for key in keys:
        if isinstance(count := value.get(key), float) and count.is_integer():
            yield Finding(f"{path}/{key}", f"`{key}` must be an integer, not a number with a point"), True


Test = Callable[[Any], bool]
Words = Callable[["ValidationError"], Iterable[Finding]]
"""Says an error of the jsonschema package in plain words."""


def schema_findings(name: str, value: object, words: Words | None = None) -> list[Finding]:
    """Return what the schema NAME (schemas/documents) rejects, by place; what a quick test takes is not looked into."""
    if _test(name)(value):
        return []
    found = sorted(
        _validator(name).iter_errors(cast(Any, value)), key=lambda e: [(isinstance(p, str), p) for p in e.absolute_path]
    )
    return [finding for error in found for finding in (words or explain)(error)]


@cache
def _test(name: str) -> Test:
    """The quick test of a schema."""
    schema = load_schema(name)
    return _quick(schema, schema)


@cache
def _validator(name: str) -> Validator:
    """The validator of a schema, which passes over the items that the quick test takes.

    jsonschema takes about a millisecond for a message, minutes for a big document; what is valid, which is nearly all
    of it, need not be gone through in order to be explained.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    schema = load_schema(name)
    tests: dict[int, tuple[Any, Test]] = {}

    def items(validator: Any, of: Any, value: Any, _schema: Any) -> Iterator[ValidationError]:
        if not isinstance(value, list):
            return
        # By identity, and the schema is kept beside, so that no other one can get its number.
        test = tests.setdefault(id(of), (of, _quick(of, schema)))[1]
        for index, item in enumerate(value):
            if not test(item):
                yield from validator.descend(item, of, path=index)

    return extend(Draft202012Validator, {"items": items})(schema)  # type: ignore[no-untyped-call,no-any-return]


def _quick(schema: object, root: dict[str, Any]) -> Test:
    """A schema, or a part of `root`, as a function that says yes or no.

    It is read as draft 7, which means the same for the rules that our documents use, as long as nothing stands beside a
    `$ref` (held by tests/schemas/test_verdicts.py).
    """
    from fastjsonschema import JsonSchemaValueException
    from fastjsonschema import compile as made

    part = {"$schema": "http://json-schema.org/draft-07/schema#", "$defs": root.get("$defs", {}), "allOf": [schema]}
    validate = made(part, use_default=False, use_formats=False)

    def test(value: Any) -> bool:
        try:
            validate(value)
        except JsonSchemaValueException:
            return False
        return True

    return test


# -- words -------------------------------------------------------------------------------------------------------------


def pointer(path: Iterable[str | int]) -> str:
    """A JSON pointer."""
    return "".join("/" + _step(str(step)).replace("~", "~0").replace("/", "~1") for step in path)


def _step(name: str) -> str:
    return clean(name) if len(name) <= 200 else one_line(name, 200)


def explain(error: ValidationError) -> Iterator[Finding]:
    """An error of the jsonschema package in plain words."""
    path, rule, value = pointer(error.absolute_path), error.validator, error.validator_value
    if rule == "required":
        missing = [key for key in _list(value) if isinstance(error.instance, dict) and key not in error.instance]
        # One error a missing key; the one that this error is about is the one that its message begins with.
        key = next((k for k in missing if error.message.startswith(repr(k))), missing[0] if missing else "?")
        yield Finding(path, f"`{key}` is missing")
    elif rule == "additionalProperties" and value is False:
        known = error.schema.get("properties", {}) if isinstance(error.schema, dict) else {}
        for key in error.instance if isinstance(error.instance, dict) else ():
            if key not in known:
                yield Finding(path, f"`{one_line(str(key), _SHOWN)}` does not belong here")
    else:
        yield Finding(path, f"{_name(list(error.absolute_path))} {_sentence(str(rule), value, error.instance)}")


def _name(path: list[str | int]) -> str:
    """Name a value: by its key, or as an item of the list that has one."""
    if not path:
        return "the document"
    if isinstance(path[-1], str):
        return f"`{one_line(path[-1], _SHOWN)}`"
    owner = next((step for step in reversed(path) if isinstance(step, str)), "")
    return f"an item of `{one_line(owner, _SHOWN)}`" if owner else "an item"


_LIMITS = {"const": "", "minimum": "at least ", "maximum": "at most "}


def _sentence(rule: str, value: Any, instance: object) -> str:
    if rule == "type":
        return f"must be {_either([article(kind) for kind in _list(value)])}, not {kind_of(instance)}"
    if rule in _LIMITS:
        return f"must be {_LIMITS[rule]}{shown(value)}, not {shown(instance)}"
    if rule == "enum":
        words = [one if isinstance(one, str) else shown(one) for one in _list(value)]
        return f"must be one of {', '.join(words)}, not {shown(instance)}"
    if rule in ("minLength", "minItems"):
        return "is empty"
    return f"breaks the rule {rule}: {shown(value)}"


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def article(kind: str) -> str:
    """A JSON type's name with its article."""
    return kind if kind == "null" else f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def kind_of(value: object) -> str:
    """Name the kind of a JSON value, in words."""
    if value is None:
        return "null"
    for kind, name in ((bool, "boolean"), (str, "string"), (int, "integer"), (float, "number"), (dict, "object")):
        if isinstance(value, kind):
            return article(name)
    return "an array"


def shown(value: object) -> str:
    """A value as JSON on one line, clean and cut; of a list or an object only that it is one."""
    if isinstance(value, str):
        said = clean(value)  # a newline is shown as JSON has it: it may be what is wrong
        return json.dumps(said if len(said) <= _SHOWN else one_line(said, _SHOWN), ensure_ascii=False)
    if isinstance(value, dict | list):
        return "an empty " + kind_of(value).partition(" ")[2] if not value else kind_of(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= 1e60:
        return "a number of more than 60 digits"
    return json.dumps(value)

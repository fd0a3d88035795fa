"""JSON Schemas as functions that say yes or no.

The jsonschema package takes about a millisecond for a message, minutes for a big document; what is valid, which is
nearly all of it, need not be gone through in order to be explained. `quick` turns a schema into nested functions, about
thirty times as fast, for the rules that our own documents use; schemas/interchange/verdicts.py explains what fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Test = Callable[[Any], bool]
_ANNOTATIONS = frozenset({"$schema", "$id", "$defs", "title", "description", "format", "default", "examples"})


def quick(schema: Any, root: dict[str, Any], made: dict[str, Test]) -> Test:
    """The function that says whether a value is valid; `root` is what `$ref` points into, `made` its functions.

    Raises KeyError for a rule that is none of those here: a schema that needs one must not pass without it.
    """
    if isinstance(schema, bool):
        return lambda value: schema
    makers = dict.fromkeys(make for rule, make in _RULES.items() if rule in schema)  # in that order: the cheapest first
    tests = [make(schema, root, made) for make in makers]
    if unknown := schema.keys() - _RULES.keys() - _ANNOTATIONS - _PARTS:
        raise KeyError(f"no quick test for {', '.join(sorted(unknown))}")
    if len(tests) == 1:
        return tests[0]

    return lambda value: all(test(value) for test in tests)


def _type(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    said = schema["type"]
    kinds = tuple({kind: _KINDS[kind] for kind in ([said] if isinstance(said, str) else said)}.values())
    return kinds[0] if len(kinds) == 1 else lambda value: any(kind(value) for kind in kinds)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    return type(value) is int or (isinstance(value, float) and value.is_integer())


_KINDS: dict[str, Test] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": _is_integer,
}


def _ref(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    name = schema["$ref"].removeprefix("#/$defs/")
    if name not in made:
        made[name] = lambda value: made[name](value)  # noqa: PLW0108  # looked up late: a definition may hold itself
        made[name] = quick(root["$defs"][name], root, made)
    test = made[name]
    return test


def _object(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    """`properties` and `additionalProperties`, which belong together."""
    known = {key: quick(part, root, made) for key, part in schema.get("properties", {}).items()}
    others = schema.get("additionalProperties", True)
    rest = None if others is True else quick(others, root, made)

    def test(value: Any) -> bool:
        if not isinstance(value, dict):
            return True
        for key, item in value.items():  # noqa: SIM110  # a loop: this runs for every object there is
            if (check := known.get(key, rest)) is not None and not check(item):
                return False
        return True

    return test


def _required(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    keys = frozenset(schema["required"])
    return lambda value: not isinstance(value, dict) or value.keys() >= keys


def _items(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    test = quick(schema["items"], root, made)
    return lambda value: not isinstance(value, list) or all(map(test, value))


def _equals(one: Any, other: Any) -> bool:
    """As JSON has it: 1 is 1.0, but not true."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def _enum(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    allowed = schema["enum"]
    return lambda value: any(_equals(one, value) for one in allowed)


def _const(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    only = schema["const"]
    return lambda value: _equals(only, value)


def _length(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    least = schema["minLength"]
    return lambda value: not isinstance(value, str) or len(value) >= least


def _count(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    least, most = schema.get("minItems", 0), schema.get("maxItems", float("inf"))
    return lambda value: not isinstance(value, list) or least <= len(value) <= most


def _keys(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    least = schema["minProperties"]
    return lambda value: not isinstance(value, dict) or len(value) >= least


def _range(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    least, most = schema.get("minimum", float("-inf")), schema.get("maximum", float("inf"))
    return lambda value: not _is_number(value) or least <= value <= most


def _pattern(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    search = re.compile(schema["pattern"]).search
    return lambda value: not isinstance(value, str) or search(value) is not None


def _names(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    test = quick(schema["propertyNames"], root, made)
    return lambda value: not isinstance(value, dict) or all(map(test, value))


def _not(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    test = quick(schema["not"], root, made)
    return lambda value: not test(value)


def _some(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    tests = [quick(part, root, made) for part in schema["anyOf"]]
    return lambda value: any(test(value) for test in tests)


def _every(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    tests = [quick(part, root, made) for part in schema["allOf"]]
    return lambda value: all(test(value) for test in tests)


def _one(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    tests = [quick(part, root, made) for part in schema["oneOf"]]
    return lambda value: sum(test(value) for test in tests) == 1


def _if(schema: dict[str, Any], root: dict[str, Any], made: dict[str, Test]) -> Test:
    condition = quick(schema["if"], root, made)
    then, otherwise = quick(schema.get("then", True), root, made), quick(schema.get("else", True), root, made)
    return lambda value: then(value) if condition(value) else otherwise(value)


_RULES: dict[str, Callable[[dict[str, Any], dict[str, Any], dict[str, Test]], Test]] = {
    "type": _type, "const": _const, "enum": _enum, "minLength": _length, "minimum": _range, "maximum": _range,
    "pattern": _pattern, "minItems": _count, "maxItems": _count, "minProperties": _keys, "required": _required,
    "$ref": _ref, "properties": _object, "additionalProperties": _object, "items": _items, "propertyNames": _names,
    "not": _not, "anyOf": _some, "allOf": _every, "oneOf": _one, "if": _if,
}  # fmt: skip
_PARTS = frozenset({"then", "else"})
"""Rules that others take with them."""

"""Steps of a Toolpath document that are written again: only what the schemas allow at their place."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from schemas.clean import clean_value
from schemas.documents import load_schema
from schemas.interchange.toolpath_format import EVENT, TURN, WRITE, payloads_of, structural_type
from schemas.interchange.toolpath_steps import delegations_of, words_of
from schemas.values import dict_of, list_of, text_of

Data = dict[str, Any]
_KIND = "agent-coding-session-v1.1.0"
_PAYLOADS = {TURN: "turn", EVENT: "event", WRITE: "fileWrite"}
_OURS = "turnlog"
"""The key under which earlier versions wrote their own view of a session."""
_MADE = frozenset({"actors", "signatures"})
_TOKENS = ("group_id", "token_usage", "attributed_token_usage")
"""Keys of a turn's payload that are the account's."""
_FILLED = ("tool_uses", "delegations", "environment")
"""Keys of a turn's payload under which there is something, or they are left out."""
_NOTHING = object()
"""Stands for a value that cannot stand at its place."""
_EMPTY = {"string": "", "boolean": False}

schema_of = cache(load_schema)


def sound_meta(value: object, of: str = "pathAbout") -> Data:
    """The meta object of a graph or a path (or of a step: `stepAbout`), without actors and signatures."""
    meta = {key: item for key, item in dict_of(clean_value(value)).items() if key not in _MADE}
    return dict_of(_fit(meta, of))


def sound_actor(value: object) -> Data:
    """The definition of an actor, without what the schema does not allow."""
    return dict_of(_fit(clean_value(value), "actorDefinition"))


def is_actor(name: str) -> bool:
    """Return whether an actor may have that name."""
    return re.match(schema_of("toolpath")["$defs"]["actor"]["pattern"], name) is not None


def sound_base(value: object) -> Data:
    """The base at which a path starts; empty if the path does not say."""
    base = dict_of(_fit(value, "base"))
    return base if base.get("uri") else {}


def sound_step(value: object) -> Data:
    """A clean step as the base schema and its kind's want it, its turns without tokens; parents are the writer's."""
    step = dict_of(value)
    change = {key: part for key, part in dict_of(step.get("change")).items() if _is_named(part)}
    sound = dict_of(_fit({"step": dict_of(step.get("step")), "change": change, "meta": {}}, "step"))
    sound["step"].pop("parents", None)
    sound["step"]["actor"] = sound["step"]["actor"] or "tool:unknown"
    for part in sound["change"].values():
        payload = part.get("structural")
        if (kind := structural_type(part)) in _PAYLOADS:
            said = {key: item for key, item in payload.items() if kind != TURN or key not in _TOKENS}
            made = _fit(said, _PAYLOADS[kind], _KIND)
            part["structural"] = {key: item for key, item in made.items() if item or key not in _FILLED}
    del sound["meta"]
    meta = sound_meta(step.get("meta"), "stepAbout")
    return sound | ({"meta": meta} if meta else {})


def _is_named(part: object) -> bool:
    """Return whether an artifact's change says what it is, if it is no diff alone."""
    return "structural" not in dict_of(part) or structural_type(part) is not None


def _fit(value: object, of: str, name: str = "toolpath") -> Any:
    return fit(value, {"$ref": f"/{of}"}, schema_of(name)["$defs"])


def fit(value: Any, rule: Any, named: Data) -> Any:
    """A value as a rule of a JSON Schema wants it: what cannot stand where it does goes, what must be there is empty.

    `named` are the schema's `$defs`. It knows the rules that decide over a step: types, keys, patterns, choices.
    """
    rule = _resolved(rule, named)
    for other in rule.get("allOf", ()):
        value = fit(value, other, named)
    kind, choice = rule.get("type"), rule.get("enum")
    if choice is not None:
        return value if value in choice else None if None in choice else _NOTHING
    if kind == "string":  # texts in parts are a text
        text = value if isinstance(value, str) else words_of(value)
        return text if re.match(rule.get("pattern", ""), text) and (text or value == "") else _NOTHING
    if kind == "boolean":
        return value if isinstance(value, bool) else _NOTHING
    if kind == "array":
        return _as_list(value, _resolved(rule.get("items"), named), named)
    return _as_object(value, rule, named) if kind == "object" or "properties" in rule else value


def _resolved(rule: Any, named: Data) -> Data:
    """A rule, or what it refers to; one that takes everything is empty."""
    said = dict_of(rule)
    return named[said["$ref"].rpartition("/")[2]] if "$ref" in said else said


def _as_list(value: object, rule: Data, named: Data) -> object:
    """Fit each item of a list; where the rule allows no other keys, items that lack a required one are left out."""
    if not isinstance(value, list):
        return _NOTHING
    least = rule.get("required", ()) if rule.get("additionalProperties") is False else ()
    rows = [fit(item, rule, named) for item in value if not least or dict_of(item).keys() >= set(least)]
    return [row for row in rows if row is not _NOTHING]


def _as_object(value: object, rule: Data, named: Data) -> object:
    if not isinstance(value, dict):
        return _NOTHING
    known, others = rule.get("properties", {}), rule.get("additionalProperties", {})
    made = {
        key: one
        for key, item in value.items()
        if key != _OURS
        and (key in known or others is not False)
        and (one := fit(item, known.get(key, others), named)) is not _NOTHING
    }
    for key in rule.get("required", ()):
        made.setdefault(key, _EMPTY.get(text_of(_resolved(known[key], named).get("type"))))
        if None not in _resolved(known[key], named).get("enum", [None]) and made[key] is None:
            return _NOTHING
    either = rule.get("anyOf")
    return made if either is None or any(made.keys() >= set(one["required"]) for one in either) else _NOTHING


def cut_deep(step: Data, levels: int) -> int:
    """Take out of a step the turns of subagents that nest deeper, as JSON readers have limits; returns how many have
    lost theirs.
    """
    cut, waiting = 0, [(said, levels) for said in payloads_of(step, TURN)]
    while waiting:
        said, left = waiting.pop()
        for row in delegations_of(said):
            if (turns := list_of(row.get("turns"))) and left <= 0:
                del row["turns"]
                cut += 1
                continue
            for turn in map(dict_of, turns):
                waiting += [(inner, left - 1) for inner in (payloads_of(turn, TURN) if "step" in turn else (turn,))]
    return cut

"""Steps of a Toolpath document that are written again: only what the schemas allow at their place."""

from __future__ import annotations

import re
from typing import Any

from schemas.clean import clean_value
from schemas.interchange.session_data_facts import as_text
from schemas.interchange.toolpath_format import EVENT, TURN, WRITE, structural_type
from schemas.interchange.toolpath_steps import words_of
from schemas.interchange.toolpath_tools import CATEGORIES
from schemas.json_output import json_bytes
from schemas.values import dict_of

Data = dict[str, Any]
ACTOR = re.compile(r"(human|agent|tool|ci):[a-zA-Z0-9_.-]+(/[a-zA-Z0-9_.-]+)?")
_MADE = frozenset({"actors", "signatures", "turnlog"})
_WRITE_WORDS = ("tool_id", "tool", "operation", "before", "after", "rename_to")
_PLACES = ("working_dir", "vcs_branch", "vcs_revision")
_TOKENS = ("group_id", "token_usage", "attributed_token_usage")
"""Keys of a turn's payload that are the account's."""
_WORDS = ("thinking", "stop_reason")


def sound_meta(value: object) -> Data:
    """The meta object of a graph or a path, without actors and signatures."""
    meta = {key: item for key, item in dict_of(clean_value(value)).items() if key not in _MADE}
    for key in ("title", "intent", "kind", "vcs_remote"):
        if not isinstance(meta.get(key, ""), str):
            del meta[key]
    if "refs" in meta and not _are_links(meta["refs"]):
        del meta["refs"]
    return meta


def _sound_step_meta(value: object) -> Data:
    """The meta object of a step, whose `source` is a revision."""
    meta = sound_meta(value)
    source = dict_of(meta.get("source"))
    words = [source.get(key) for key in ("type", "revision")] + [source.get("change_id", "")]
    if not all(isinstance(word, str) for word in words):
        meta.pop("source", None)
    return meta


def _are_links(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and item.keys() == {"rel", "href"} and all(isinstance(v, str) for v in item.values())
        for item in value
    )


_LISTED = {
    "identities": ({"system", "id"}, {"system", "id"}),
    "keys": ({"type", "fingerprint"}, {"type", "fingerprint", "href"}),
}
"""What an entry of an actor's lists must have, and may have."""
_KEY_TYPES = ("gpg", "ssh", "sigstore")


def sound_actor(value: object) -> Data:
    """Who an actor is."""
    said = dict_of(clean_value(value))
    sound = {key: said[key] for key in ("name", "provider", "model") if isinstance(said.get(key), str)}
    for key, (least, most) in _LISTED.items():
        rows = said[key] if isinstance(said.get(key), list) else []
        if kept := [row for row in map(dict_of, rows) if least <= row.keys() <= most and _is_listed(row)]:
            sound[key] = kept
    return sound


def _is_listed(row: Data) -> bool:
    return all(isinstance(item, str) for item in row.values()) and row.get("type", "gpg") in _KEY_TYPES


def sound_base(value: object) -> Data:
    """Where a path starts; empty if it does not say."""
    base = {key: dict_of(value).get(key) for key in ("uri", "ref", "branch")}
    words = {key: item for key, item in base.items() if isinstance(item, str)}
    return words if "uri" in words else {}


def sound_step(value: object) -> Data:
    """A clean step as the base schema and its kind's want it, its turns without tokens; parents are the writer's."""
    step = dict_of(value)
    identity = dict_of(step.get("step"))
    actor, time = identity.get("actor"), identity.get("timestamp")
    sound: Data = {
        "step": {
            "id": identity["id"] if isinstance(identity.get("id"), str) else "",
            "actor": actor if isinstance(actor, str) and ACTOR.fullmatch(actor) else "tool:unknown",
            "timestamp": time if isinstance(time, str) else "",
        },
        "change": {key: _sound_part(part) for key, part in dict_of(step.get("change")).items() if _is_part(part)},
    }
    if meta := _sound_step_meta(step.get("meta")):
        sound["meta"] = meta
    return sound


def _is_part(part: object) -> bool:
    """Whether an artifact's change is one that the schemas know."""
    if not isinstance(part, dict) or not part or not part.keys() <= {"raw", "structural"}:
        return False
    kind, said = structural_type(part), dict_of(part.get("structural"))
    if ("structural" in part and kind is None) or not isinstance(part.get("raw", ""), str):
        return False
    if kind == EVENT:
        return isinstance(said.get("entry_type"), str) and isinstance(said.get("event_source_id", ""), str)
    return kind != WRITE or all(isinstance(said.get(word, ""), str) for word in _WRITE_WORDS)


def _sound_part(part: Data) -> Data:
    return part | {"structural": _sound_turn(part["structural"])} if structural_type(part) == TURN else part


def _sound_turn(said: Data) -> Data:
    turn = {key: item for key, item in said.items() if key not in _TOKENS}
    turn |= {"role": said["role"] if isinstance(said.get("role"), str) else "user", "text": words_of(said.get("text"))}
    for key in _WORDS:
        if key in turn:
            turn[key] = words_of(turn[key])
    for key, sound in (("tool_uses", _sound_use), ("delegations", _sound_delegation)):
        rows = turn.get(key)
        if key in turn:
            turn[key] = [sound(row) for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict)]
    if "environment" in turn:
        places = dict_of(turn["environment"])
        turn["environment"] = {k: item for k, item in places.items() if k not in _PLACES or isinstance(item, str)}
    return {key: item for key, item in turn.items() if item or key not in ("tool_uses", "delegations", "environment")}


def _sound_use(use: Data) -> Data:
    category, result = use.get("category"), use.get("result")
    sound = use | {
        "id": as_text(use.get("id")),
        "name": as_text(use.get("name")) or "unknown",
        "input": use.get("input"),
        "category": category if isinstance(category, str) and category in CATEGORIES else None,
    }
    if "result" not in use:
        return sound
    if result is None:
        del sound["result"]
        return sound
    said = result if isinstance(result, dict) else {"content": result}
    content = said.get("content")
    if not isinstance(content, str):
        content = words_of(content) or ("" if content is None else json_bytes(content).decode())
    return sound | {"result": said | {"content": content, "is_error": said.get("is_error") is True}}


def _sound_delegation(row: Data) -> Data:
    kinds = {"turns": list, "result": str}
    sound = {key: item for key, item in row.items() if isinstance(item, kinds.get(key, object)) and key != "turnlog"}
    return sound | {"agent_id": as_text(row.get("agent_id")), "prompt": as_text(row.get("prompt"))}


def cut_deep(step: Data, levels: int) -> tuple[Data, int]:
    """A step in which subagents' turns nest no deeper, and how many have lost theirs: JSON readers have limits."""
    change = dict_of(step.get("change"))
    cut, parts = 0, {}
    for key, part in change.items():
        if structural_type(part) == TURN:
            payload, lost = _cut(part["structural"], levels)
            cut, part = cut + lost, part | {"structural": payload}
        parts[key] = part
    return (step | {"change": parts} if cut else step), cut


def _cut(said: Data, levels: int) -> tuple[Data, int]:
    """The same of a turn's payload."""
    rows = said.get("delegations")
    cut, kept = 0, []
    for row in rows if isinstance(rows, list) else []:
        turns = row.get("turns") if isinstance(row, dict) else None
        if isinstance(turns, list) and turns:
            if levels <= 0:
                kept.append({key: item for key, item in row.items() if key != "turns"})
                cut += 1
                continue
            inner = [_cut_turn(turn, levels - 1) for turn in turns]
            row = row | {"turns": [turn for turn, _ in inner]}
            cut += sum(lost for _, lost in inner)
        kept.append(row)
    return (said | {"delegations": kept} if cut else said), cut


def _cut_turn(turn: object, levels: int) -> tuple[object, int]:
    if not isinstance(turn, dict):
        return turn, 0
    return cut_deep(turn, levels) if "step" in turn else _cut(turn, levels)

"""Parts of another program's document that are written again: only what the schemas allow at their place."""

from __future__ import annotations

import re
from typing import Any

from schemas.clean import clean_value
from schemas.interchange.session_data_parts import as_object
from schemas.interchange.toolpath import COMPACT, EVENT, TURN, WRITE, structural_type

Data = dict[str, Any]
ACTOR = re.compile(r"(human|agent|tool|ci):[a-zA-Z0-9_.-]+(/[a-zA-Z0-9_.-]+)?")
_WRITE_WORDS = ("tool_id", "tool", "operation", "before", "after", "rename_to")
_MADE = frozenset({"actors", "signatures", "turnlog"})


def sound_meta(value: object) -> Data:
    """The meta object of a graph or a path, without actors and signatures."""
    meta = {key: item for key, item in as_object(clean_value(value)).items() if key not in _MADE}
    for key in ("title", "intent", "kind", "vcs_remote"):
        if not isinstance(meta.get(key, ""), str):
            del meta[key]
    if "refs" in meta and not _are_links(meta["refs"]):
        del meta["refs"]
    return meta


def sound_step_meta(value: object) -> Data:
    """The meta object of a step, whose `source` is a revision."""
    meta = sound_meta(value)
    source = as_object(meta.get("source"))
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
    said = as_object(clean_value(value))
    sound = {key: said[key] for key in ("name", "provider", "model") if isinstance(said.get(key), str)}
    for key, (least, most) in _LISTED.items():
        rows = said[key] if isinstance(said.get(key), list) else []
        if kept := [row for row in map(as_object, rows) if least <= row.keys() <= most and _is_listed(row)]:
            sound[key] = kept
    return sound


def _is_listed(row: Data) -> bool:
    return all(isinstance(item, str) for item in row.values()) and row.get("type", "gpg") in _KEY_TYPES


def sound_base(value: object) -> Data:
    """Where a path starts; empty if it does not say."""
    base = {key: as_object(value).get(key) for key in ("uri", "ref", "branch")}
    words = {key: item for key, item in base.items() if isinstance(item, str)}
    return words if "uri" in words else {}


def sound_change(value: object) -> Data:
    """The artifacts of a step beside its turn; those that no schema knows are left out."""
    beside = {key: part for key, part in as_object(value).items() if structural_type(part) not in (TURN, COMPACT)}
    return {key: part for key, part in as_object(clean_value(beside)).items() if _is_change(part)}


def _is_change(part: object) -> bool:
    if not isinstance(part, dict) or not part or not part.keys() <= {"raw", "structural"}:
        return False
    kind, said = structural_type(part), as_object(part.get("structural"))
    if ("structural" in part and kind is None) or not isinstance(part.get("raw", ""), str):
        return False
    if kind == EVENT:
        return is_event(said)
    return kind != WRITE or all(isinstance(said.get(word, ""), str) for word in _WRITE_WORDS)


def is_event(said: Data) -> bool:
    """Whether a payload is an event as the kind's schema wants it."""
    return isinstance(said.get("entry_type"), str) and isinstance(said.get("event_source_id", ""), str)


def _plain_turns(value: object) -> Data:
    """Turns that only have a text."""
    return {
        key: part
        for key, part in as_object(clean_value(value)).items()
        if structural_type(part) == TURN
        and part.keys() == {"structural"}
        and part["structural"].keys() <= {"type", "role", "text", "group_id"}
        and all(isinstance(part["structural"].get(word), str) for word in ("role", "text"))
        and isinstance(part["structural"].get("group_id", ""), str)
    }


def sound_step(step: Data) -> Data:
    """A step that holds no turn, as the base schema wants it; its id and parents are the writer's to see to."""
    identity = as_object(step.get("step"))
    actor, time = identity.get("actor"), identity.get("timestamp")
    sound: Data = {
        "step": {
            "id": identity.get("id") if isinstance(identity.get("id"), str) else "",
            "actor": actor if isinstance(actor, str) and ACTOR.fullmatch(actor) else "tool:unknown",
            "timestamp": time if isinstance(time, str) else "",
        },
        "change": sound_change(step.get("change")),
    }
    meta = sound_step_meta(step.get("meta"))
    ours = as_object(as_object(step.get("meta")).get("turnlog"))
    if ours.keys() == {"record"}:  # turnlog's step of a record that no message was made from
        meta["turnlog"] = clean_value(ours)
        sound["change"] |= _plain_turns(step.get("change"))
    return sound | ({"meta": meta} if meta else {})

"""Toolpath: how its documents are recognised, and its words, kinds, types, steps and figures, for who reads
(toolpath_read.py), writes (toolpath_write.py) or checks it (toolpath_check.py).

toolpath_document.py takes a document apart, toolpath_steps.py makes messages of steps and toolpath_turns.py the
reverse. schemas/documents/toolpath.md says what maps to what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemas.agents import published_of
from schemas.provider import Head
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, given, list_of, texts_of

if TYPE_CHECKING:
    from schemas.session import Session


KIND = "https://toolpath.net/kinds/agent-coding-session/v1.1.0"
"""What turnlog writes."""
KIND_1_0 = "https://toolpath.net/kinds/agent-coding-session/v1.0.0"
SESSION_KIND = re.compile(r"https://toolpath\.net/kinds/agent-coding-session/v1\.\d+\.\d+/?")
"""Any version of the kind that can be read: what is new in one is additive (formats note 1.9)."""
TURN, EVENT, WRITE, COMPACT = "conversation.append", "conversation.event", "file.write", "conversation.compact"
"""The structural types of the kind; `conversation.compact` is a draft's."""
LEGACY_TAGS = ("Graph", "Path", "Step")
"""Keys around the root of older documents."""
FIGURES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
ENVIRONMENT = {"working_dir": "cwd", "vcs_branch": "gitBranch", "vcs_revision": "gitRevision"}
"""Where the agent worked, and the keys under which a message's metadata has it."""
_BEGINNING = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"graph"\s*:\s*\{[^{}]*\}\s*,\s*"paths"\s*:\s*\[')
_SESSION_TYPES = (TURN, EVENT, COMPACT)


def source_name(provider: str) -> str:
    """Return the format's name of the agent with an id."""
    return published_of(provider).source or provider


def as_graph(document: object) -> dict[str, Any] | None:
    """The graph that a document is or stands for; None if it is no Toolpath document.

    Documents until about 0.1.5 were tagged from outside, `{"Path": …}`; they, and a bare path or step, are no valid
    roots any more (formats note 1.1) but can be read.
    """
    if not isinstance(document, dict):
        return None
    if len(document) == 1 and (tag := next(iter(document))) in LEGACY_TAGS:
        document = document[tag]
        if not isinstance(document, dict):
            return None
    if isinstance(document.get("graph"), dict) and isinstance(document.get("paths"), list):
        return document
    identity = document.get("path")
    if isinstance(identity, dict) and isinstance(document.get("steps"), list):
        return {"graph": {"id": identity.get("id")}, "paths": [document]}
    identity = document.get("step")
    if isinstance(identity, dict) and isinstance(document.get("change"), dict):
        name = identity.get("id")
        return {"graph": {"id": name}, "paths": [{"path": {"id": name, "head": name}, "steps": [document]}]}
    return None


def is_session_path(path: object) -> bool:
    """Return whether a path is an agent's session: by its kind, or, where it names none, by what its steps are."""
    if not isinstance(path, dict):
        return False
    kind = dict_of(path.get("meta")).get("kind")
    if isinstance(kind, str):
        return SESSION_KIND.fullmatch(kind) is not None
    return any(map(is_session_step, list_of(path.get("steps"))))


def is_session_step(step: object) -> bool:
    """Return whether a step holds a turn or an event of a session."""
    return any(structural_type(part) in _SESSION_TYPES for part in dict_of(dict_of(step).get("change")).values())


def structural_type(part: object) -> str | None:
    """The type of an artifact's change, where it says one."""
    name = dict_of(dict_of(part).get("structural")).get("type")
    return name if isinstance(name, str) else None


def payloads_of(step: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    """The payloads of a step that are of a type."""
    for part in dict_of(step.get("change")).values():
        if structural_type(part) == kind:
            yield part["structural"]


def payload_of(step: dict[str, Any]) -> dict[str, Any]:
    """The payload of a session's step: a turn, or else an event; empty if it is neither."""
    found = next((said for kind in _SESSION_TYPES for said in payloads_of(step, kind)), None)
    return {} if found is None else found


def identity_of(item: object, key: str) -> dict[str, Any]:
    """The object that names a path or a step: its id, and what leads to it."""
    return dict_of(dict_of(item).get(key))


def id_of(item: object, key: str) -> str | None:
    """The id of a path or a step."""
    name = identity_of(item, key).get("id")
    return name if isinstance(name, str) else None


def parents_of(step: object) -> list[str]:
    """The ids of the steps that a step follows."""
    return texts_of(identity_of(step, "step").get("parents"))


def begins_document(data: bytes) -> bool:
    """Return whether bytes begin as every producer begins a graph: big ones need not be read whole to be recognised."""
    return _BEGINNING.match(data) is not None


def is_stream(head: Head) -> bool:
    """Return whether a file is the stream form: its first record is a `PathOpen`."""
    return bool(head.records) and isinstance(head.records[0].get("PathOpen"), dict)


@dataclass(slots=True)
class Told:
    """The facts of a Toolpath document that a session has no place for; they stand with what builds the messages."""

    steps: list[tuple[int, int]] = field(default_factory=list)
    """The offset and the length of each of its steps in the session's first store."""
    merges: int = 0
    """Steps that follow several, which no other format can say."""
    others: list[str] = field(default_factory=list)
    """The ids of the document's other paths that are sessions too."""
    actors: dict[str, Any] = field(default_factory=dict)
    """Who its actors are."""
    head: str = ""
    """The step that it says is the latest."""


def told_of(session: Session) -> Told | None:
    """Return the facts of the Toolpath document that a session was read from; None for every other session."""
    told = getattr(session.build, "told", None)
    return told if isinstance(told, Told) else None


def counted(provider: str, usage: TokenUsage | None) -> dict[str, Any] | None:
    """Usage as the format has it, in the agent's own counting; None where nothing is known."""
    if usage is None or usage.total is None:
        return None
    fresh = usage.input
    if published_of(provider).inclusive:
        known = [n for n in (usage.input, usage.cache_read, usage.cache_write) if n is not None]
        fresh = sum(known) if known else None
    thought = min(usage.reasoning or 0, usage.output or 0)
    return {"input_tokens": fresh, "output_tokens": usage.output} | given(
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        breakdowns={"output": {"reasoning": thought}} if thought else None,
    )


def read_counted(provider: str, data: dict[str, Any]) -> TokenUsage:
    """Read what `counted` wrote. Of an agent that is not known input is taken to be without cache."""
    fresh, output, read, write = (
        as_count(data.get(f"{name}_tokens")) for name in ("input", "output", "cache_read", "cache_write")
    )
    if published_of(provider).inclusive and fresh is not None:
        fresh = max(fresh - (read or 0) - (write or 0), 0)
    reasoning = as_count(dict_of(dict_of(data.get("breakdowns")).get("output")).get("reasoning"))
    return TokenUsage(fresh, output, read, write, reasoning)


def merges_in(session: Session) -> int:
    """Count the steps that follow several, in a session read from a Toolpath document and in those within it."""
    told = told_of(session)
    inside = sum(merges_in(child.session) for child in session.subagents if child.session is not None)
    return inside + (told.merges if told is not None else 0)


def others_in(session: Session) -> list[str]:
    """The ids of the paths that are sessions too, in the document that a session was read from."""
    told = told_of(session)
    return told.others if told is not None else []

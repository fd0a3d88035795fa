"""Whether a value is a Toolpath document, and whether its sessions keep the rules of their kind.

An error is what the base schema, the schema of the kind that a path names by its exact address, or a rule in prose
rejects (formats note 1.3, 1.5, 1.7). A warning is what can be read all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from schemas.clean import clean
from schemas.interchange.toolpath import KIND, KIND_1_0, SESSION_KIND, as_graph
from schemas.interchange.toolpath_rules import Judged, accounting, lineage, repeated
from schemas.interchange.toolpath_stream import assemble
from schemas.interchange.verdicts import Finding, Verdict, explain, pointer, schema_findings, shown

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_KINDS = {KIND_1_0: "agent-coding-session-v1.0.0", KIND: "agent-coding-session-v1.1.0"}
"""The kinds that there is a schema for, by the address that a path must name exactly."""


def validate_toolpath(document: object) -> Verdict:
    """Errors and warnings of a document, in its order."""
    root = _root(document)
    if root is not None:
        return Verdict([root], [])
    return _verdict(_check(document))


def validate_stream(data: bytes) -> Verdict:
    """Errors and warnings of a stream: those of the lines, then those of the path that they amount to."""
    found = assemble(data)
    if found.path is None:
        return Verdict(found.errors, found.warnings)
    at = _Lines(found.places)
    document = {"graph": {"id": ""}, "paths": [found.path]}
    verdict = _verdict((finding._replace(path=at(finding.path)), fatal) for finding, fatal in _check(document, at))
    return Verdict(found.errors + verdict.errors, found.warnings + verdict.warnings)


class _Lines:
    """Places in the only path of a document as places in the stream that it was read from."""

    def __init__(self, places: dict[str, str]) -> None:
        self._places = places

    def __call__(self, path: str) -> str:
        inside = path.removeprefix("/paths/0")
        parts = inside.split("/")
        for end in range(len(parts), 1, -1):
            if (place := self._places.get("/".join(parts[:end]))) is not None:
                return place + "".join(f"/{part}" for part in parts[end:])
        return ""


def _verdict(found: Judged) -> Verdict:
    """Each finding once, and none as a warning that is an error: both schemas may reject the same thing."""
    errors: dict[Finding, None] = {}
    warnings: dict[Finding, None] = {}
    for finding, fatal in found:
        (errors if fatal else warnings)[finding] = None
    return Verdict(list(errors), [finding for finding in warnings if finding not in errors])


def _root(document: object) -> Finding | None:
    """What is wrong with the root, where it was a root once or is a part of a document."""
    if not isinstance(document, dict) or "graph" in document or as_graph(document) is None:
        return None
    if len(document) == 1:
        return Finding("", f'the older form, tagged "{next(iter(document))}"; the root is a graph since 0.1.6')
    return Finding("", f"a bare {'path' if 'steps' in document else 'step'}; the root of a document is a graph")


def _check(document: object, at: Callable[[str], str] = str) -> Judged:
    """Everything about a document; `at` names a place where a sentence mentions one."""
    yield from _schema_findings("toolpath", document, "")
    entries = document.get("paths") if isinstance(document, dict) else None
    paths = entries if isinstance(entries, list) else []
    yield from repeated(paths, "", "paths", "path", at)
    for number, path in enumerate(paths):
        place = f"/paths/{number}"
        if isinstance(path, dict) and "$ref" not in path:
            yield from _check_path(path, place, at)
        elif isinstance(path, dict) and isinstance(path["$ref"], str) and path["$ref"].endswith(".path.jsonl"):
            # A stream may still be growing; the format wants a reference to lead to something complete.
            yield Finding(f"{place}/$ref", "leads to a stream; it must lead to a document (.path.json)"), True


def _check_path(path: dict[str, Any], place: str, at: Callable[[str], str]) -> Judged:
    entries = path.get("steps")
    steps = entries if isinstance(entries, list) else []
    yield from repeated(steps, place, "steps", "step", at)
    yield from lineage(path, place)
    yield from _times_and_addresses(steps, place)
    meta = path.get("meta")
    kind = meta.get("kind") if isinstance(meta, dict) else None
    if not isinstance(kind, str):
        return
    name = _KINDS.get(kind)
    if name is not None:
        yield from _schema_findings(name, path, place)
        yield from accounting(path, place, grouped=kind == KIND)
        return
    said = json.dumps(clean(kind[:100]), ensure_ascii=False)
    if SESSION_KIND.fullmatch(kind):
        hint = "the trailing slash makes it another one" if kind.endswith("/") else "its rules are not settled"
        yield Finding(f"{place}/meta/kind", f"{said}: checked as plain Toolpath, {hint}"), False
        yield from ((finding, False) for finding, _ in accounting(path, place, grouped=True))
    else:
        yield Finding(f"{place}/meta/kind", f"{said} is no kind known here; checked as plain Toolpath"), False


# -- the schemas -------------------------------------------------------------------------------------------------------


def _schema_findings(name: str, value: object, place: str) -> Judged:
    """What a schema rejects, in the document's order. `place` is where `value` is."""
    for finding in schema_findings(name, value, _explain):
        yield finding._replace(path=place + finding.path), True


def _explain(error: ValidationError) -> Iterator[Finding]:
    path = pointer(error.absolute_path)
    if "propertyNames" in error.absolute_schema_path:
        path += pointer([str(error.instance)])
    if error.validator == "anyOf":
        yield Finding(path, "a change needs `raw`, `structural` or both")
    elif error.validator == "pattern":
        words = "is no actor: human, agent, tool or ci, a colon, a name of letters, digits and _.-"
        yield Finding(path, f"{shown(error.instance)} {words}")
    else:
        for finding in explain(error):
            later = finding.path.endswith("/path") and finding.message.startswith("`parent`")
            yield finding._replace(message=f"{finding.message} (it came after August 2026)") if later else finding


def _times_and_addresses(steps: list[Any], place: str) -> Judged:
    for number, step in enumerate(steps):
        change = step.get("change") if isinstance(step, dict) else None
        if isinstance(change, dict) and "" in change:
            yield Finding(f"{place}/steps/{number}/change/", "an artifact without an address"), False
        identity = step.get("step") if isinstance(step, dict) else None
        time = identity.get("timestamp") if isinstance(identity, dict) else None
        if isinstance(time, str) and not _is_time(time):
            words = f"{shown(time)} is no ISO 8601 time with an offset"
            yield Finding(f"{place}/steps/{number}/step/timestamp", words), False


def _is_time(text: str) -> bool:
    """Whether it is a moment: ISO 8601 with an offset."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None and "T" in text.upper()
    except ValueError:
        return False

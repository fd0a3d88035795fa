"""Whether a value is a Toolpath document, and whether its sessions keep the rules of their kind.

An error is what the base schema, the schema of the kind that a path names by its exact address, or a rule in prose
rejects (formats note 1.3, 1.5, 1.7). A warning is what can be read all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from schemas.clean import one_line
from schemas.interchange.session_data_check import Finding, Verdict, explain, pointer
from schemas.interchange.toolpath import KIND, KIND_1_0, SESSION_KIND, as_graph
from schemas.interchange.toolpath_rules import accounting, lineage, repeated
from schemas.interchange.toolpath_stream import assemble

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

_KINDS = {KIND_1_0: "agent-coding-session-v1.0.0", KIND: "agent-coding-session-v1.1.0"}
"""The kinds that there is a schema for, by the address that a path must name exactly."""
_LATER = {"parent": "/path/parent"}
"""Of a path's identity: what came after August 2026 (formats note 1.2)."""


def validate_toolpath(document: object) -> Verdict:
    """Errors and warnings of a document, in its order."""
    errors: list[Finding] = []
    warnings: list[Finding] = []
    root = _root(document)
    if root is not None:
        return Verdict([root], [])
    errors.extend(_schema_findings("toolpath", document, ""))
    if isinstance(document, dict):
        entries = document.get("paths")
        paths = entries if isinstance(entries, list) else []
        errors.extend(repeated(paths, "", "paths", "path"))
        for number, path in enumerate(paths):
            if isinstance(path, dict) and "$ref" not in path:
                _check_path(path, f"/paths/{number}", errors, warnings)
    return Verdict(errors, warnings)


def validate_stream(data: bytes) -> Verdict:
    """Errors and warnings of a stream: those of the lines, then those of the path that they amount to."""
    found = assemble(data)
    if found.path is None:
        return Verdict(found.errors, found.warnings)
    errors: list[Finding] = []
    warnings: list[Finding] = []
    errors.extend(_schema_findings("toolpath", {"graph": {"id": ""}, "paths": [found.path]}, "/paths/0", strip=True))
    _check_path(found.path, "", errors, warnings)
    lines = found.steps
    return Verdict([_at_line(f, lines) for f in errors], found.warnings + [_at_line(f, lines) for f in warnings])


def _at_line(finding: Finding, lines: list[int]) -> Finding:
    """A place in the path as a place among the lines; what is no step's came from the first line, or several."""
    parts = finding.path.split("/")
    if len(parts) > 2 and parts[1] == "steps" and parts[2].isdigit() and int(parts[2]) < len(lines):
        return finding._replace(path="/".join(["", str(lines[int(parts[2])]), "Step", *parts[3:]]))
    if parts[1:3] == ["path", "head"]:
        return finding._replace(path="")
    if len(parts) > 1 and parts[1] in ("path", "meta"):
        rest = parts[2:] if parts[1] == "path" else parts[1:]
        return finding._replace(path="/".join(["", "0", "PathOpen", *rest]))
    return finding


def _root(document: object) -> Finding | None:
    """What is wrong with the root, where it was a root once or is a part of a document."""
    if not isinstance(document, dict) or "graph" in document or as_graph(document) is None:
        return None
    if len(document) == 1:
        return Finding("", f'the older form, tagged "{next(iter(document))}"; the root is a graph since 0.1.6')
    return Finding("", f"a bare {'path' if 'steps' in document else 'step'}; the root of a document is a graph")


def _check_path(path: dict[str, Any], place: str, errors: list[Finding], warnings: list[Finding]) -> None:
    entries = path.get("steps")
    steps = entries if isinstance(entries, list) else []
    errors.extend(repeated(steps, place, "steps", "step"))
    errors.extend(lineage(path, place))
    warnings.extend(_times(steps, place))
    meta = path.get("meta")
    kind = meta.get("kind") if isinstance(meta, dict) else None
    if not isinstance(kind, str):
        return
    name = _KINDS.get(kind)
    if name is not None:
        errors.extend(_schema_findings(name, path, place))
        for finding, fatal in accounting(path, place, grouped=kind == KIND):
            (errors if fatal else warnings).append(finding)
        return
    said = one_line(kind, 100)
    if SESSION_KIND.fullmatch(kind):
        hint = "the trailing slash makes it another one" if kind.endswith("/") else "its rules are not settled"
        warnings.append(Finding(f"{place}/meta/kind", f"`{said}`: checked as plain Toolpath, {hint}"))
        warnings.extend(finding for finding, _ in accounting(path, place, grouped=True))
    else:
        warnings.append(Finding(f"{place}/meta/kind", f"`{said}` is no kind known here; checked as plain Toolpath"))


# -- the schemas -------------------------------------------------------------------------------------------------------


@cache
def _validator(name: str) -> Draft202012Validator:
    from jsonschema import Draft202012Validator

    from schemas.documents import load_schema

    return Draft202012Validator(load_schema(name))


def _schema_findings(name: str, value: object, place: str, *, strip: bool = False) -> Iterator[Finding]:
    """What a schema rejects, in the document's order. `place` is where `value` is, or with `strip` what to cut off."""
    found = sorted(
        _validator(name).iter_errors(value), key=lambda e: [(isinstance(p, str), p) for p in e.absolute_path]
    )
    for error in found:
        for finding in _explain(error):
            path = finding.path.removeprefix(place) if strip else place + finding.path
            yield finding._replace(path=path)


def _explain(error: ValidationError) -> Iterator[Finding]:
    path = pointer(error.absolute_path)
    if error.validator == "anyOf":
        yield Finding(path, "a change needs `raw`, `structural` or both")
    elif error.validator == "pattern":
        said = one_line(str(error.instance), 60)
        yield Finding(
            path, f'"{said}" is no actor: human, agent, tool or ci, a colon, a name of letters, digits and _.-'
        )
    else:
        for finding in explain(error):
            later = finding.path.endswith("/path") and finding.message.startswith("`parent`")
            yield finding._replace(message=f"{finding.message} (it came after August 2026)") if later else finding


def _times(steps: list[Any], place: str) -> Iterator[Finding]:
    for number, step in enumerate(steps):
        identity = step.get("step") if isinstance(step, dict) else None
        time = identity.get("timestamp") if isinstance(identity, dict) else None
        if not isinstance(time, str):
            continue
        try:
            known = datetime.fromisoformat(time).tzinfo is not None
        except ValueError:
            known = False
        if not known:
            said = f'"{one_line(time, 40)}"'
            yield Finding(f"{place}/steps/{number}/step/timestamp", f"{said} is no ISO 8601 time with an offset")

"""The stream form of Toolpath (`.path.jsonl`): one path as lines `{"Variant": body}` (formats note 1.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.clean import one_line
from schemas.interchange.json_text import read_line
from schemas.interchange.verdicts import Finding, pointer, shown

VARIANTS = ("PathOpen", "Step", "ActorDef", "Signature", "PathMeta", "Head", "PathClose")
_BODIES: dict[str, dict[str, type]] = {
    "PathOpen": {"version": str, "id": str},
    "Step": {"step": dict, "change": dict},
    "ActorDef": {"actor": str, "definition": dict},
    "Signature": {"target": str, "signature": dict},
    "PathMeta": {"patch": dict},
    "Head": {"step_id": str},
    "PathClose": {},
}
"""What a body must hold to be read at all."""
_OPTIONAL = {"PathOpen": ("base", "graph_ref", "meta")}
"""What it may hold besides. What else it holds is passed over, since the format wants newer streams to stay readable;
a step is the exception, it is the schema's own step."""
_OWN_LINES = ("actors", "signatures")
"""Parts of a path's meta that have lines of their own."""
_WORDS: dict[type, str] = {str: "a string", dict: "an object"}


class Assembled(NamedTuple):
    """What a stream amounts to."""

    path: dict[str, Any] | None
    """The path, None where a line of it could not be read."""
    places: dict[str, str]
    """Where parts of the path stand in the stream, by their JSON pointers in the path."""
    errors: list[Finding]
    warnings: list[Finding]


class _Fatal(Exception):
    """A rule whose breach ends the reading by the format's own reader. Here what follows is looked at all the same."""

    def __init__(self, place: str, message: str, *, spare: bool = False, ends: bool = False) -> None:
        super().__init__(message)
        self.finding = Finding(place, message)
        self.spare = spare
        """Whether the path is whole without the line, so that it can be checked."""
        self.ends = ends
        """Whether every later line would break the same rule."""


def assemble(data: bytes) -> Assembled:
    """The path in a whole stream, with every rule that is fatal to the format's own reader.

    Places are `line 3` (from 1) or `line 3: /Step/step/id`, with a JSON pointer into the line.
    """
    assembly, errors, whole = _Assembly(), [], True
    lines = data.split(b"\n")
    for number, raw in enumerate(lines, 1):
        if not raw.rstrip(b"\r"):
            if number < len(lines):
                assembly.warnings.append(Finding(f"line {number}", "an empty line; the format wants none"))
            continue
        try:
            assembly.take(f"line {number}", _line(f"line {number}", raw))
        except _Fatal as fatal:
            errors.append(fatal.finding)
            whole = whole and fatal.spare
            if fatal.ends:
                break
    if assembly.opened is None and not errors:
        errors, whole = [Finding("", "an empty stream: it begins with PathOpen")], False
    if not whole or assembly.opened is None:
        return Assembled(None, assembly.places, errors, assembly.warnings)
    path, missing = assembly.path(assembly.opened)
    return Assembled(path, assembly.places, errors + missing, assembly.warnings)


def _line(place: str, raw: bytes) -> dict[str, Any]:
    value, fault, _ = read_line(raw)
    if fault:
        raise _Fatal(place, fault)
    if not isinstance(value, dict):
        raise _Fatal(place, "not an object")
    if len(value) != 1:
        raise _Fatal(place, f"{len(value)} keys where exactly one belongs")
    return value


class _Assembly:
    """A path being put together."""

    def __init__(self) -> None:
        self.opened: dict[str, Any] | None = None
        self.closed = False
        self.meta: dict[str, Any] = {}
        self.actors: dict[str, Any] = {}
        self.signatures: list[Any] = []
        self.steps: list[dict[str, Any]] = []
        self.by_id: dict[str, int] = {}
        self.head: str | None = None
        self.last = ""
        self.places: dict[str, str] = {}
        self.warnings: list[Finding] = []

    def take(self, place: str, line: dict[str, Any]) -> None:
        """One line that is an object with one key."""
        ((variant, body),) = line.items()
        self.last = place
        if self.closed:
            raise _Fatal(place, "a line after PathClose", spare=True, ends=True)
        if self.opened is None and variant != "PathOpen":
            raise _Fatal(place, f"a stream begins with PathOpen, not with `{one_line(variant, 40)}`", ends=True)
        if variant not in VARIANTS:
            self.warnings.append(
                Finding(place, f"`{one_line(variant, 40)}` is no kind of line known here; passed over")
            )
            return
        inside = f"{place}: /{variant}"
        self._check_body(inside, variant, body)
        getattr(self, f"_take_{variant.lower()}")(inside, body)

    def _check_body(self, place: str, variant: str, body: object) -> None:
        if not isinstance(body, dict):
            raise _Fatal(place, f"the body of `{variant}` is no object")
        for key, kind in _BODIES[variant].items():
            if not isinstance(body.get(key), kind):
                there = "is missing" if key not in body else f"must be {_WORDS[kind]}"
                raise _Fatal(f"{place}/{key}" if key in body else place, f"`{key}` {there}")
        for key in body if variant != "Step" else ():
            if key not in _BODIES[variant] and key not in _OPTIONAL.get(variant, ()):
                when = "came after August 2026" if (variant, key) == ("PathOpen", "parent") else "does not belong here"
                self.warnings.append(Finding(place + pointer([key]), f"`{one_line(key, 60)}` {when}; passed over"))
        for key in _OPTIONAL.get(variant, ()):
            if key in body and body[key] is None:
                self.warnings.append(Finding(f"{place}/{key}", f"`{key}` is null; it should be left out"))

    def _take_pathopen(self, place: str, body: dict[str, Any]) -> None:
        if self.opened is not None:
            raise _Fatal(place, "a stream has one PathOpen, this is another", spare=True)
        self.opened = body
        self.places |= {"/path": place, "/meta": f"{place}/meta"}
        if body["version"] != "1":
            self.warnings.append(Finding(f"{place}/version", f'version {shown(body["version"])} is not "1"'))
        meta = body.get("meta")
        if meta is not None and not isinstance(meta, dict):
            raise _Fatal(f"{place}/meta", "`meta` must be an object")
        self.meta = dict(meta or {})
        self._take_own(f"{place}/meta", self.meta)

    def _take_own(self, place: str, meta: dict[str, Any]) -> None:
        """What stands in a meta object though it has lines of its own."""
        for key in _OWN_LINES:
            if key in meta:
                self.places[f"/meta/{key}"] = f"{place}/{key}"
                self.warnings.append(Finding(f"{place}/{key}", f"`{key}` belongs into lines of its own"))
        if isinstance(meta.get("actors"), dict):
            self.actors = dict(meta.pop("actors"))
        if isinstance(meta.get("signatures"), list):
            self.signatures = list(meta.pop("signatures"))

    def _take_step(self, place: str, body: dict[str, Any]) -> None:
        identity = body["step"]
        for key in ("id", "actor", "timestamp"):
            if not isinstance(identity.get(key), str):
                there = "is missing" if key not in identity else "must be a string"
                raise _Fatal(f"{place}/step/{key}" if key in identity else f"{place}/step", f"`{key}` {there}")
        number = len(self.steps)
        self.places[f"/steps/{number}"] = place
        self.steps.append(body)
        self.by_id[identity["id"]] = number

    def _take_actordef(self, place: str, body: dict[str, Any]) -> None:
        self.places["/meta/actors" + pointer([body["actor"]])] = f"{place}/definition"
        self.actors[body["actor"]] = body["definition"]

    def _take_signature(self, place: str, body: dict[str, Any]) -> None:
        target: str = body["target"]
        if target == "path":
            self.places[f"/meta/signatures/{len(self.signatures)}"] = f"{place}/signature"
            self.signatures.append(body["signature"])
            return
        number = self.by_id.get(target.removeprefix("step:")) if target.startswith("step:") else None
        if number is None:
            raise _Fatal(f"{place}/target", f"{shown(target)} names no step before this line", spare=True)
        meta = self.steps[number].setdefault("meta", {})
        if isinstance(meta, dict) and isinstance(known := meta.setdefault("signatures", []), list):
            self.places[f"/steps/{number}/meta/signatures/{len(known)}"] = f"{place}/signature"
            known.append(body["signature"])

    def _take_pathmeta(self, place: str, body: dict[str, Any]) -> None:
        patch = dict(body["patch"])
        self._take_own(f"{place}/patch", patch)
        self.places |= {"/meta" + pointer([key]): f"{place}/patch" + pointer([key]) for key in patch}
        self.meta |= patch

    def _take_head(self, place: str, body: dict[str, Any]) -> None:
        self.places["/path/head"] = f"{place}/step_id"
        self.head = body["step_id"]

    def _take_pathclose(self, place: str, body: dict[str, Any]) -> None:
        self.closed = True

    def path(self, opened: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
        """The whole path, and what is wrong with its end."""
        errors: list[Finding] = []
        if self.head is None:
            tips = self._tips()
            if len(tips) != 1:
                what = f"{len(tips)} steps that none follows" if self.steps else "no step"
                errors.append(Finding(self.last, f"the stream ends without a Head, and has {what}"))
            self.head = (tips or list(self.by_id) or [""])[-1]
        identity = {"id": opened["id"], "head": self.head}
        identity |= {key: opened[key] for key in ("base", "graph_ref") if opened.get(key) is not None}
        meta = self.meta
        if self.actors:
            meta["actors"] = self.actors
        if self.signatures:
            meta["signatures"] = self.signatures
        return {"path": identity, "steps": self.steps} | ({"meta": meta} if meta else {}), errors

    def _tips(self) -> list[str]:
        """The steps that none follows: where there is one, it is the head that nobody named."""
        parents = {parent for step in self.steps for parent in parents_of(step)}
        return [name for name in self.by_id if name not in parents]


def parents_of(step: dict[str, Any]) -> Iterator[str]:
    """The ids of the steps that a step follows."""
    identity = step.get("step")
    parents = identity.get("parents") if isinstance(identity, dict) else None
    for parent in parents if isinstance(parents, list) else ():
        if isinstance(parent, str):
            yield parent

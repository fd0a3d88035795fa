"""The stream form of Toolpath (`.path.jsonl`): one path as lines `{"Variant": body}` (formats note 1.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from schemas.clean import one_line
from schemas.interchange.session_data_check import Finding

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
_WORDS: dict[type, str] = {str: "a string", dict: "an object"}
_OPEN = ("base", "graph_ref", "parent")


class Assembled(NamedTuple):
    """What a stream amounts to."""

    path: dict[str, Any] | None
    """The path, None where an error stopped the reading."""
    steps: list[int]
    """The line (from 0) of each step of the path."""
    errors: list[Finding]
    warnings: list[Finding]


class _Fatal(Exception):
    """A rule whose breach ends the reading."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(message)
        self.finding = Finding(pointer, message)


def assemble(data: bytes) -> Assembled:
    """The path in a whole stream, with every rule that is fatal to the format's own reader.

    Places are JSON pointers into the file as if it were an array of its lines, the first being `/0`.
    """
    assembly = _Assembly()
    try:
        for number, raw in enumerate(data.split(b"\n")):
            if raw.strip():
                assembly.take(number, _line(number, raw))
            elif number < data.count(b"\n"):
                assembly.warnings.append(Finding(f"/{number}", f"line {number + 1} is empty"))
        path = assembly.path()
    except _Fatal as fatal:
        return Assembled(None, assembly.lines, [fatal.finding], assembly.warnings)
    return Assembled(path, assembly.lines, [], assembly.warnings)


def _line(number: int, raw: bytes) -> dict[str, Any]:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise _Fatal(f"/{number}", f"line {number + 1} is not JSON: {error.msg.lower()}") from None
    if not isinstance(value, dict):
        raise _Fatal(f"/{number}", f"line {number + 1} is not an object")
    if len(value) != 1:
        raise _Fatal(f"/{number}", f"line {number + 1} has {len(value)} keys where exactly one belongs")
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
        self.lines: list[int] = []
        self.by_id: dict[str, dict[str, Any]] = {}
        self.head: str | None = None
        self.last = 0
        self.warnings: list[Finding] = []

    def take(self, number: int, line: dict[str, Any]) -> None:
        """One line that is an object with one key."""
        ((variant, body),) = line.items()
        self.last = number
        place = f"/{number}"
        if self.closed:
            raise _Fatal(place, f"line {number + 1} comes after PathClose")
        if self.opened is None and variant != "PathOpen":
            raise _Fatal(place, f"line {number + 1} is {one_line(variant, 40)}, but a stream begins with PathOpen")
        if variant not in VARIANTS:
            self.warnings.append(
                Finding(place, f"`{one_line(variant, 40)}` is no kind of line known here; passed over")
            )
            return
        self._check_body(f"{place}/{variant}", variant, body)
        getattr(self, f"_take_{variant.lower()}")(f"{place}/{variant}", body, number)

    def _check_body(self, place: str, variant: str, body: object) -> None:
        if not isinstance(body, dict):
            raise _Fatal(place, f"the body of `{variant}` is no object")
        for key, kind in _BODIES[variant].items():
            if not isinstance(body.get(key), kind):
                there = "is missing" if key not in body else f"must be {_WORDS[kind]}"
                raise _Fatal(f"{place}/{key}" if key in body else place, f"`{key}` {there}")

    def _take_pathopen(self, place: str, body: dict[str, Any], number: int) -> None:
        if self.opened is not None:
            raise _Fatal(place, "a stream has one PathOpen, this is another")
        self.opened = body
        if body["version"] != "1":
            self.warnings.append(Finding(f"{place}/version", f'version {one_line(body["version"], 20)} is not "1"'))
        meta = body.get("meta")
        self.meta = dict(meta) if isinstance(meta, dict) else {}
        for key in ("actors", "signatures"):
            if key in self.meta:
                self.warnings.append(Finding(f"{place}/meta/{key}", f"`{key}` belongs into lines of its own"))
        actors, signatures = self.meta.pop("actors", None), self.meta.pop("signatures", None)
        self.actors = dict(actors) if isinstance(actors, dict) else {}
        self.signatures = list(signatures) if isinstance(signatures, list) else []

    def _take_step(self, place: str, body: dict[str, Any], number: int) -> None:
        identity = body["step"]
        for key in ("id", "actor", "timestamp"):
            if not isinstance(identity.get(key), str):
                raise _Fatal(f"{place}/step", f"`{key}` is missing" if key not in identity else f"`{key}` is no string")
        self.steps.append(body)
        self.lines.append(number)
        self.by_id[identity["id"]] = body

    def _take_actordef(self, place: str, body: dict[str, Any], number: int) -> None:
        self.actors[body["actor"]] = body["definition"]

    def _take_signature(self, place: str, body: dict[str, Any], number: int) -> None:
        target: str = body["target"]
        if target == "path":
            self.signatures.append(body["signature"])
            return
        step = self.by_id.get(target.removeprefix("step:")) if target.startswith("step:") else None
        if step is None:
            raise _Fatal(f"{place}/target", f"`{one_line(target, 60)}` names no step before this line")
        meta = step.setdefault("meta", {})
        if isinstance(meta, dict) and isinstance(meta.setdefault("signatures", []), list):
            meta["signatures"].append(body["signature"])

    def _take_pathmeta(self, place: str, body: dict[str, Any], number: int) -> None:
        self.meta |= body["patch"]

    def _take_head(self, place: str, body: dict[str, Any], number: int) -> None:
        self.head = body["step_id"]

    def _take_pathclose(self, place: str, body: dict[str, Any], number: int) -> None:
        self.closed = True

    def path(self) -> dict[str, Any]:
        """The whole path."""
        if self.opened is None:
            raise _Fatal("", "an empty stream: it begins with PathOpen")
        if self.head is None:
            self.head = self._only_tip()
        identity = {"id": self.opened["id"], "head": self.head}
        identity |= {key: self.opened[key] for key in _OPEN if key in self.opened}
        meta = self.meta
        if self.actors:
            meta["actors"] = self.actors
        if self.signatures:
            meta["signatures"] = self.signatures
        return {"path": identity, "steps": self.steps} | ({"meta": meta} if meta else {})

    def _only_tip(self) -> str:
        parents = {parent for step in self.steps for parent in parents_of(step)}
        tips = [name for name in self.by_id if name not in parents]
        if len(tips) != 1:
            what = "no step" if not self.steps else f"{len(tips)} steps that none follows"
            raise _Fatal(f"/{self.last}", f"the stream ends without a Head, and has {what}")
        return tips[0]


def parents_of(step: dict[str, Any]) -> Iterator[str]:
    """The ids of the steps that a step follows."""
    identity = step.get("step")
    parents = identity.get("parents") if isinstance(identity, dict) else None
    for parent in parents if isinstance(parents, list) else ():
        if isinstance(parent, str):
            yield parent

"""The check of a Toolpath document, or of a file that is a stream of one, and of its sessions by the rules of their
kind.

An error is what the base schema, the schema of the kind that a path names by its exact address, or a rule in prose
rejects (formats note 1.3, 1.5, 1.7). A warning is what can be read all the same. A stream (`.path.jsonl`) is one path
as lines `{"Variant": body}` (formats note 1.6); it is put together, then checked like any path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from schemas.clean import clean, one_line
from schemas.documents import keys_of
from schemas.interchange.json_text import read_line
from schemas.interchange.toolpath import (
    FIGURES,
    KIND,
    KIND_1_0,
    SESSION_KIND,
    TURN,
    as_graph,
    id_of,
    identity_of,
    parents_of,
    structural_type,
)
from schemas.interchange.toolpath_document import in_a_cycle
from schemas.interchange.verdicts import Finding, Judged, Verdict, explain, pointer, schema_findings, shown, verdict_of
from schemas.values import dict_of, list_of
from schemas.values import whole as whole_of

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_KINDS = {KIND_1_0: "agent-coding-session-v1.0.0", KIND: "agent-coding-session-v1.1.0"}
"""The kinds that there is a schema for, by the address that a path must name exactly."""
_USAGES = ("token_usage", "attributed_token_usage")


def validate_toolpath(document: object) -> Verdict:
    """Errors and warnings of a document, in its order."""
    root = _root(document)
    if root is not None:
        return Verdict([root], [])
    return verdict_of(_check(document))


def validate_stream(data: bytes) -> Verdict:
    """Errors and warnings of a stream: those of the lines, then those of the path that they amount to."""
    stream = _Stream(data)
    if not stream.whole:
        return Verdict(stream.errors, stream.warnings)
    path = {"path": stream.identity, "steps": stream.steps} | ({"meta": stream.meta} if stream.meta else {})
    found = _check({"graph": {"id": ""}, "paths": [path]}, stream.place_of)
    verdict = verdict_of((finding._replace(path=stream.place_of(finding.path)), fatal) for finding, fatal in found)
    return Verdict(stream.errors + verdict.errors, stream.warnings + verdict.warnings)


def _root(document: object) -> Finding | None:
    """Return the fault of a root that was one in earlier versions or is a part of a document; None for others."""
    if not isinstance(document, dict) or "graph" in document or as_graph(document) is None:
        return None
    if len(document) == 1:
        return Finding("", f'the older form, tagged "{next(iter(document))}"; the root is a graph since 0.1.6')
    return Finding("", f"a bare {'path' if 'steps' in document else 'step'}; the root of a document is a graph")


def _check(document: object, at: Callable[[str], str] = str) -> Judged:
    """Everything about a document; `at` names a place where a sentence mentions one."""
    yield from _schema_findings("toolpath", document, "")
    paths = list_of(dict_of(document).get("paths"))
    yield from _repeated(paths, "", "paths", "path", at)
    for number, path in enumerate(paths):
        place = f"/paths/{number}"
        if isinstance(path, dict) and "$ref" not in path:
            yield from _check_path(path, place, at)
        elif isinstance(path, dict) and isinstance(path["$ref"], str) and path["$ref"].endswith(".path.jsonl"):
            # A stream may still be growing; the format wants a reference to lead to something complete.
            yield Finding(f"{place}/$ref", "leads to a stream; it must lead to a document (.path.json)"), True


def _check_path(path: dict[str, Any], place: str, at: Callable[[str], str]) -> Judged:
    steps = list_of(path.get("steps"))
    yield from _repeated(steps, place, "steps", "step", at)
    yield from _lineage(path, place)
    yield from _times_and_addresses(steps, place)
    kind = dict_of(path.get("meta")).get("kind")
    if not isinstance(kind, str):
        return
    name = _KINDS.get(kind)
    if name is not None:
        yield from _schema_findings(name, path, place)
        yield from _accounting(path, place, grouped=kind == KIND)
        return
    said = json.dumps(clean(kind[:100]), ensure_ascii=False)
    if SESSION_KIND.fullmatch(kind):
        hint = "the trailing slash makes it another one" if kind.endswith("/") else "its rules are not settled"
        yield Finding(f"{place}/meta/kind", f"{said}: checked as plain Toolpath, {hint}"), False
        yield from ((finding, False) for finding, _ in _accounting(path, place, grouped=True))
    else:
        yield Finding(f"{place}/meta/kind", f"{said} is no kind known here; checked as plain Toolpath"), False


# -- the schemas -------------------------------------------------------------------------------------------------------


def _schema_findings(name: str, value: object, place: str) -> Judged:
    """Yield what a schema rejects, in the document's order. `place` is where `value` is."""
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
        if "" in dict_of(dict_of(step).get("change")):
            yield Finding(f"{place}/steps/{number}/change/", "an artifact without an address"), False
        time = identity_of(step, "step").get("timestamp")
        if isinstance(time, str) and not _is_time(time):
            words = f"{shown(time)} is no ISO 8601 time with an offset"
            yield Finding(f"{place}/steps/{number}/step/timestamp", words), False


def _is_time(text: str) -> bool:
    """Return whether a value is a moment: ISO 8601 with an offset."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None and "T" in text.upper()
    except ValueError:
        return False


# -- ids and lineage --------------------------------------------------------------------------------------------------


def _repeated(items: list[Any], place: str, name: str, key: str, at: Callable[[str], str]) -> Judged:
    """Ids that stand twice among the paths of a graph or the steps of a path; `at` says where the first one is."""
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        said = id_of(item, key)
        if said is not None and seen.setdefault(said, number) != number:
            first = at(f"{place}/{name}/{seen[said]}/{key}/id")
            yield Finding(f"{place}/{name}/{number}/{key}/id", f"{shown(said)} is already the id at {first}"), True


def _lineage(path: dict[str, Any], place: str) -> Judged:
    """Head and parents must be steps of the same path, and no step may come before itself."""
    steps = list_of(path.get("steps"))
    ids: dict[str, int] = {}
    for number, step in enumerate(steps):
        if (name := id_of(step, "step")) is not None:
            ids.setdefault(name, number)
    head = identity_of(path, "path").get("head")
    if isinstance(head, str) and head not in ids and (head or steps):
        yield Finding(f"{place}/path/head", f"{shown(head)} is no step of this path"), True
    for number, step in enumerate(steps):
        for index, parent in enumerate(list_of(identity_of(step, "step").get("parents"))):
            if isinstance(parent, str) and parent not in ids:
                at = f"{place}/steps/{number}/step/parents/{index}"
                yield Finding(at, f"{shown(parent)} is no step of this path"), True
    # A step that bears another one's id is a fault by itself, and its parents are none of the other's.
    named = [(id_of(step, "step"), number) for number, step in enumerate(steps)]
    distinct = [steps[number] for name, number in named if name is not None and ids[name] == number]
    if cycle := in_a_cycle(distinct):
        words = f"steps that come before themselves: {', '.join(map(shown, cycle[:5]))}{', …' * (len(cycle) > 5)}"
        yield Finding(f"{place}/steps/{ids[cycle[0]]}/step/parents", words), True


# -- tokens ------------------------------------------------------------------------------------------------------------


class _Turn(NamedTuple):
    """A step that is a turn: where its payload is, and the payload."""

    at: str
    said: dict[str, Any]

    def usage(self, key: str) -> dict[str, Any] | None:
        value = self.said.get(key)
        return value if isinstance(value, dict) else None


def _accounting(path: dict[str, Any], place: str, *, grouped: bool) -> Judged:
    """Check how the tokens of a session path are accounted for.

    `grouped`: version 1.1.0 and later, where a group's total stands on its last step. A group is a run of neighbouring
    turns with one `group_id` (formats note 1.5); events between them do not end it.
    """
    run: list[_Turn] = []
    steps = list_of(path.get("steps"))
    rows = [list(_turns(step, f"{place}/steps/{number}/change")) for number, step in enumerate(steps)]
    said = [turn.said.get("group_id") for turns in rows for turn in turns if "token_usage" in turn.said]
    totalled = {group for group in said if isinstance(group, str)}
    for number, turns in enumerate(rows):
        if len(turns) > 1:
            yield Finding(f"{place}/steps/{number}/change", "two turns in one step"), False
        for turn in turns:
            for key in _USAGES:
                if (usage := turn.usage(key)) is not None:
                    yield from _figures(f"{turn.at}/{key}", usage)
            group = turn.said.get("group_id")
            if run and (not isinstance(group, str) or run[-1].said.get("group_id") != group):
                yield from _group(run, totalled)
                run = []
            if grouped:
                run.append(turn)
    if run:
        yield from _group(run, totalled)


def _turns(step: object, place: str) -> Iterator[_Turn]:
    for key, part in dict_of(dict_of(step).get("change")).items():
        if structural_type(part) == TURN:
            yield _Turn(place + pointer([key, "structural"]), part["structural"])


def _group(run: list[_Turn], totalled: set[str]) -> Judged:
    """One group: its total on its last step alone, and no less than what is attributed to its steps.

    `totalled` are the ids that stand with a total anywhere: a person's turn may interrupt a round, whose sum then comes
    with its last part.
    """
    name = run[-1].said.get("group_id")
    of = f"group {shown(name)}" if isinstance(name, str) else "this step"
    for turn in run[:-1]:
        if turn.usage("token_usage") is not None:
            yield Finding(f"{turn.at}/token_usage", f"only the last step of {of} may carry its total"), True
    shares = [share for turn in run if (share := turn.usage("attributed_token_usage")) is not None]
    total = run[-1].usage("token_usage")
    if total is None:
        elsewhere = "token_usage" in run[-1].said or (isinstance(name, str) and name in totalled)
        if any(whole_of(share.get(figure)) for share in shares for figure in FIGURES) and not elsewhere:
            at = next(turn.at for turn in reversed(run) if turn.usage("attributed_token_usage") is not None)
            yield Finding(f"{at}/attributed_token_usage", f"tokens attributed, but {of} has no total"), False
        return
    for figure in FIGURES:
        spent = sum(whole_of(share.get(figure)) or 0 for share in shares)
        whole = whole_of(total.get(figure))
        if whole is not None and spent > max(whole, 0):
            words = f"`{figure}`: {spent} attributed to {_steps_of(run, of)}, more than the total of {whole}"
            yield Finding(f"{run[-1].at}/token_usage/{figure}", words), True
        elif spent > 0 and total.get(figure) is None and not _is_required(figure, total):
            words = f"`{figure}`: {spent} attributed to {_steps_of(run, of)}, whose total does not say"
            yield Finding(f"{run[-1].at}/token_usage", words), False


def _steps_of(run: list[_Turn], of: str) -> str:
    return f"the steps of {of}" if len(run) > 1 else of


def _is_required(figure: str, total: dict[str, Any]) -> bool:
    """Return whether the schema rejects a total that is without the figure, so that no more needs to be said."""
    return figure in ("input_tokens", "output_tokens") and figure not in total


def _figures(at: str, usage: dict[str, Any]) -> Judged:
    """Figures are whole numbers, and the parts of one are no more than the whole."""
    for figure in FIGURES:
        yield from _whole(f"{at}/{figure}", figure, usage.get(figure))
    for parent, parts in dict_of(usage.get("breakdowns")).items():
        if not isinstance(parts, dict):
            continue
        inside = f"{at}/breakdowns{pointer([parent])}"
        for name, value in parts.items():
            yield from _whole(f"{inside}{pointer([name])}", name, value)
        yield from _parts(inside, parent, parts, usage)


def _parts(at: str, parent: str, parts: dict[str, Any], usage: dict[str, Any]) -> Judged:
    figure = parent if parent in FIGURES else f"{parent}_tokens"
    total = sum(whole_of(parts.get(name)) or 0 for name in parts)
    if figure not in FIGURES:
        yield Finding(at, f"`{one_line(parent, 40)}` is none of the figures that could be broken down"), False
        return
    whole = whole_of(usage.get(figure))
    if whole is not None and total > max(whole, 0):
        yield Finding(at, f"the parts of `{figure}` add up to {total}, more than the {whole} there are"), True
    elif total > 0 and usage.get(figure) is None and not _is_required(figure, usage):
        yield Finding(at, f"parts of `{figure}`, which is not said itself"), False


def _whole(at: str, name: str, value: object) -> Judged:
    if isinstance(value, float) and value.is_integer():  # a JSON Schema takes 2.0 for an integer
        yield Finding(at, f"`{one_line(name, 40)}` must be written as an integer, not {value}"), True
    elif isinstance(value, int) and not isinstance(value, bool) and value < 0:
        yield Finding(at, f"`{one_line(name, 40)}` is {value}; nobody spends less than nothing"), False


# -- streams ---------------------------------------------------------------------------------------------------------

_OWN_LINES = ("actors", "signatures")
"""Parts of a path's meta that have lines of their own."""
_VARIANTS = keys_of("toolpath-line")
_Own = TypeVar("_Own", dict[str, Any], list[Any])


class _Fatal(Exception):
    """A rule whose breach ends the reading by the format's own reader. Here what follows is looked at all the same."""

    def __init__(self, place: str, message: str, *, spare: bool = False, ends: bool = False) -> None:
        super().__init__(message)
        self.finding = Finding(place, message)
        self.spare = spare
        """Whether the path is whole without the line, so that it can be checked."""
        self.ends = ends
        """Whether every later line would break the same rule."""


class _Stream:
    """The path that a stream amounts to, by every rule that is fatal to the format's own reader.

    Places are `line 3` (from 1) or `line 3: /Step/step/id`, with a JSON pointer into the line.
    """

    def __init__(self, data: bytes) -> None:
        self.identity: dict[str, Any] = {}
        self.meta: dict[str, Any] = {}
        self.steps: list[dict[str, Any]] = []
        self.errors: list[Finding] = []
        self.warnings: list[Finding] = []
        self.whole = True
        """Whether each line could be read that the path needs, so that the path can be checked."""
        self._opened = self._closed = False
        self._by_id: dict[str, int] = {}
        self._places: dict[str, str] = {}
        """Where parts of the path stand in the stream, by their JSON pointers in the path."""
        self._read(data)

    def place_of(self, path: str) -> str:
        """A place in the only path of a document as the place in the stream that it was read from."""
        parts = path.removeprefix("/paths/0").split("/")
        for end in range(len(parts), 1, -1):
            if (place := self._places.get("/".join(parts[:end]))) is not None:
                return place + "".join(f"/{part}" for part in parts[end:])
        return ""

    def _read(self, data: bytes) -> None:
        lines, place = data.split(b"\n"), ""
        for number, raw in enumerate(lines, 1):
            if not raw.rstrip(b"\r"):
                if number < len(lines):
                    self._warn(f"line {number}", "an empty line; the format wants none")
                continue
            place = f"line {number}"
            try:
                self._take(place, raw)
            except _Fatal as fatal:
                self.errors.append(fatal.finding)
                self.whole = self.whole and fatal.spare
                if fatal.ends:
                    break
        if not self._opened:
            self.whole = False
            self.errors = self.errors or [Finding("", "an empty stream: it begins with PathOpen")]
        elif self.whole and "head" not in self.identity:
            # The step that none follows: where there is one, it is the head that nobody named.
            parents = {parent for step in self.steps for parent in parents_of(step)}
            tips = [name for name in self._by_id if name not in parents]
            if len(tips) != 1:
                what = f"{len(tips)} steps that none follows" if self.steps else "no step"
                self.errors.append(Finding(place, f"the stream ends without a Head, and has {what}"))
            self.identity["head"] = (tips or list(self._by_id) or [""])[-1]

    def _warn(self, place: str, message: str) -> None:
        self.warnings.append(Finding(place, message))

    def _take(self, place: str, raw: bytes) -> None:
        """Take one line."""
        line, fault, _ = read_line(raw)
        if fault:
            raise _Fatal(place, fault)
        if not isinstance(line, dict):
            raise _Fatal(place, "not an object")
        if len(line) != 1:
            raise _Fatal(place, f"{len(line)} keys where exactly one belongs")
        ((variant, body),) = line.items()
        if self._closed:
            raise _Fatal(place, "a line after PathClose", spare=True, ends=True)
        if not self._opened and variant != "PathOpen":
            raise _Fatal(place, f"a stream begins with PathOpen, not with `{one_line(variant, 40)}`", ends=True)
        if variant not in _VARIANTS:
            self._warn(place, f"`{one_line(variant, 40)}` is no kind of line known here; passed over")
            return
        if variant == "PathOpen" and self._opened:
            raise _Fatal(f"{place}: /{variant}", "a stream has one PathOpen, this is another", spare=True)
        self._opened = True  # also by one that is not as it should be
        for finding in schema_findings("toolpath-line", line):
            raise _Fatal(f"{place}: {finding.path}", finding.message)
        place = f"{place}: /{variant}"
        # A step is the schema's own step; others may hold what is passed over, so that newer streams stay readable.
        for key in body if variant != "Step" else ():
            if key not in keys_of("toolpath-line", variant):
                when = "came after August 2026" if (variant, key) == ("PathOpen", "parent") else "does not belong here"
                self._warn(place + pointer([key]), f"`{one_line(key, 60)}` {when}; passed over")
            elif body[key] is None:
                self._warn(f"{place}/{key}", f"`{key}` is null; it should be left out")
        match variant:
            case "PathOpen":
                self._open(place, body)
            case "Step":
                self._take_step(place, body)
            case "ActorDef":
                self._places["/meta/actors" + pointer([body["actor"]])] = f"{place}/definition"
                self._own("actors", {})[body["actor"]] = body["definition"]
            case "Signature":
                self._take_signature(place, body)
            case "PathMeta":
                self._take_meta(f"{place}/patch", body["patch"])
            case "Head":
                self._places["/path/head"] = f"{place}/step_id"
                self.identity["head"] = body["step_id"]
            case _:
                self._closed = True

    def _open(self, place: str, body: dict[str, Any]) -> None:
        self._places |= {"/path": place, "/meta": f"{place}/meta"}
        if body["version"] != "1":
            self._warn(f"{place}/version", f'version {shown(body["version"])} is not "1"')
        self.identity = {key: body[key] for key in ("id", "base", "graph_ref") if body.get(key) is not None}
        self._take_meta(f"{place}/meta", body.get("meta") or {})

    def _take_meta(self, place: str, patch: dict[str, Any]) -> None:
        """Take what a line says about the path; it may say what has lines of its own."""
        for key in filter(patch.__contains__, _OWN_LINES):
            self._warn(f"{place}/{key}", f"`{key}` belongs into lines of its own")
        self._places |= {"/meta" + pointer([key]): place + pointer([key]) for key in patch}
        odd = [
            key
            for key in _OWN_LINES
            if key in patch and not isinstance(patch[key], type(self.meta.get(key, patch[key])))
        ]
        self.meta |= {key: value for key, value in patch.items() if key not in odd}

    def _own(self, key: str, empty: _Own) -> _Own:
        """The part of the path's meta that has lines of its own; one of a wrong type is made anew."""
        known = self.meta.get(key)
        if not isinstance(known, type(empty)):
            known = self.meta[key] = empty
        return known

    def _take_step(self, place: str, body: dict[str, Any]) -> None:
        self._by_id[body["step"]["id"]] = len(self.steps)
        self._places[f"/steps/{len(self.steps)}"] = place
        self.steps.append(body)

    def _take_signature(self, place: str, body: dict[str, Any]) -> None:
        target: str = body["target"]
        if target == "path":
            self._sign("", self._own("signatures", []), place, body)
            return
        number = self._by_id.get(target.removeprefix("step:")) if target.startswith("step:") else None
        if number is None:
            raise _Fatal(f"{place}/target", f"{shown(target)} names no step before this line", spare=True)
        meta = self.steps[number].setdefault("meta", {})
        if isinstance(meta, dict) and isinstance(known := meta.setdefault("signatures", []), list):
            self._sign(f"/steps/{number}", known, place, body)

    def _sign(self, of: str, known: list[Any], place: str, body: dict[str, Any]) -> None:
        self._places[f"{of}/meta/signatures/{len(known)}"] = f"{place}/signature"
        known.append(body["signature"])

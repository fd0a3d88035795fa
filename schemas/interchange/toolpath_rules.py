"""The rules of Toolpath that a JSON Schema cannot say: ids, lineage, and how a session's tokens are accounted for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.clean import one_line
from schemas.interchange.session_data_check import Finding, pointer
from schemas.interchange.toolpath import TURN, structural_type
from schemas.interchange.toolpath_stream import parents_of

_FIGURES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def identity_of(item: object, key: str) -> str | None:
    """The id of a path or a step."""
    identity = item.get(key) if isinstance(item, dict) else None
    name = identity.get("id") if isinstance(identity, dict) else None
    return name if isinstance(name, str) else None


def repeated(items: list[Any], place: str, name: str, key: str) -> Iterator[Finding]:
    """Ids that stand twice among the paths of a graph or the steps of a path."""
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        said = identity_of(item, key)
        if said is not None and seen.setdefault(said, number) != number:
            at = f"{place}/{name}/{number}/{key}/id"
            yield Finding(at, f'"{one_line(said, 60)}" is already the id of {place}/{name}/{seen[said]}')


def lineage(path: dict[str, Any], place: str) -> Iterator[Finding]:
    """Head and parents must be steps of the same path, and no step may come before itself."""
    entries = path.get("steps")
    steps = [step for step in entries if isinstance(step, dict)] if isinstance(entries, list) else []
    ids = {name for step in steps if (name := identity_of(step, "step")) is not None}
    identity = path.get("path")
    head = identity.get("head") if isinstance(identity, dict) else None
    if isinstance(head, str) and head not in ids and (head or steps):
        yield Finding(f"{place}/path/head", f'"{one_line(head, 60)}" is no step of this path')
    for number, step in enumerate(entries if isinstance(entries, list) else []):
        if not isinstance(step, dict):
            continue
        for index, parent in enumerate(parents_of(step)):
            if parent not in ids:
                at = f"{place}/steps/{number}/step/parents/{index}"
                yield Finding(at, f'"{one_line(parent, 60)}" is no step of this path')
    if cycle := _in_a_cycle(steps):
        shown = ", ".join(f'"{one_line(name, 40)}"' for name in cycle[:5])
        yield Finding(f"{place}/steps", f"steps that come before themselves: {shown}{', …' if len(cycle) > 5 else ''}")


def _in_a_cycle(steps: list[dict[str, Any]]) -> list[str]:
    """The steps that are on a cycle, or between two."""
    parents: dict[str, set[str]] = {}
    for step in steps:
        if (name := identity_of(step, "step")) is not None:
            parents.setdefault(name, set()).update(parents_of(step))
    children: dict[str, list[str]] = {}
    for name, above in parents.items():
        for parent in above:
            children.setdefault(parent, []).append(name)
    core = _peel_up(_peel(parents, children), parents)
    return [name for name in parents if name in core]


def _peel(parents: dict[str, set[str]], children: dict[str, list[str]]) -> set[str]:
    """What remains when everything that has no parent (left) is taken away again and again."""
    waiting = {name: len(above & parents.keys()) for name, above in parents.items()}
    ready = [name for name, count in waiting.items() if count == 0]
    left = set(parents)
    while ready:
        name = ready.pop()
        left.discard(name)
        for child in children.get(name, ()):
            if child in waiting:
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
    return left


def _peel_up(left: set[str], parents: dict[str, set[str]]) -> set[str]:
    """What remains of `left` when everything that nothing (left) follows is taken away again and again."""
    followers = dict.fromkeys(left, 0)
    for name in left:
        for parent in parents[name] & left:
            followers[parent] += 1
    ready = [name for name, count in followers.items() if count == 0]
    core = set(left)
    while ready:
        name = ready.pop()
        core.discard(name)
        for parent in parents[name] & core:
            followers[parent] -= 1
            if followers[parent] == 0:
                ready.append(parent)
    return core


# -- tokens ------------------------------------------------------------------------------------------------------------


class _Turn(NamedTuple):
    """A step that is a turn: where its payload is, and the payload."""

    at: str
    said: dict[str, Any]

    def usage(self, key: str) -> dict[str, Any] | None:
        value = self.said.get(key)
        return value if isinstance(value, dict) else None


def accounting(path: dict[str, Any], place: str, *, grouped: bool) -> Iterator[tuple[Finding, bool]]:
    """How the tokens of a session path are accounted for; with each finding, whether it is an error.

    `grouped`: version 1.1.0 and later, where a group's total stands on its last step. A group is a run of neighbouring
    turns with one `group_id` (formats note 1.5); events between them do not end it.
    """
    run: list[_Turn] = []
    entries = path.get("steps")
    for number, step in enumerate(entries if isinstance(entries, list) else []):
        turns = list(_turns(step, f"{place}/steps/{number}/change"))
        if len(turns) > 1:
            yield Finding(f"{place}/steps/{number}/change", "two turns in one step"), False
        for turn in turns:
            yield from _figures(turn)
            group = turn.said.get("group_id")
            if run and (not isinstance(group, str) or run[-1].said.get("group_id") != group):
                yield from _group(run)
                run = []
            if grouped:
                run.append(turn)
    if run:
        yield from _group(run)


def _turns(step: object, place: str) -> Iterator[_Turn]:
    change = step.get("change") if isinstance(step, dict) else None
    for key, part in change.items() if isinstance(change, dict) else ():
        if structural_type(part) == TURN:
            yield _Turn(place + pointer([key, "structural"]), part["structural"])


def _group(run: list[_Turn]) -> Iterator[tuple[Finding, bool]]:
    """One group: its total on its last step alone, and no less than what is attributed to its steps."""
    name = run[-1].said.get("group_id")
    of = f'group "{one_line(name, 60)}"' if isinstance(name, str) else "the step"
    for turn in run[:-1]:
        if turn.usage("token_usage") is not None:
            yield Finding(f"{turn.at}/token_usage", f"only the last step of {of} may carry its total"), True
    total = run[-1].usage("token_usage")
    if total is None:
        return
    for figure in _FIGURES:
        spent = sum(_number(turn.usage("attributed_token_usage"), figure) or 0 for turn in run)
        whole = _number(total, figure)
        if whole is not None and spent > whole:
            words = f"{spent} attributed to the steps of {of}, more than its total of {whole}"
            yield Finding(f"{run[-1].at}/token_usage/{figure}", words), True
        elif whole is None and spent:
            words = f"{spent} attributed to the steps of {of}, whose total does not say"
            yield Finding(f"{run[-1].at}/token_usage", f"`{figure}`: {words}"), False


def _number(usage: dict[str, Any] | None, key: str) -> int | None:
    value = usage.get(key) if usage is not None else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _figures(turn: _Turn) -> Iterator[tuple[Finding, bool]]:
    """Figures are whole numbers, and the parts of one are no more than the whole."""
    for key in ("token_usage", "attributed_token_usage"):
        usage = turn.usage(key)
        if usage is None:
            continue
        at = f"{turn.at}/{key}"
        for figure in _FIGURES:
            yield from _whole(f"{at}/{figure}", figure, usage.get(figure))
        breakdowns = usage.get("breakdowns")
        for parent, parts in breakdowns.items() if isinstance(breakdowns, dict) else ():
            if not isinstance(parts, dict):
                continue
            inside = f"{at}/breakdowns{pointer([parent])}"
            for name, value in parts.items():
                yield from _whole(f"{inside}{pointer([name])}", name, value)
            yield from _parts(inside, parent, parts, usage)


def _parts(at: str, parent: str, parts: dict[str, Any], usage: dict[str, Any]) -> Iterator[tuple[Finding, bool]]:
    figure = parent if parent in _FIGURES else f"{parent}_tokens"
    total = sum(_number(parts, name) or 0 for name in parts)
    if figure not in _FIGURES:
        yield Finding(at, f"`{one_line(parent, 40)}` is none of the figures that could be broken down"), False
    elif (whole := _number(usage, figure)) is not None and total > whole:
        yield Finding(at, f"the parts of `{figure}` add up to {total}, more than the {whole} there are"), True


def _whole(at: str, name: str, value: object) -> Iterator[tuple[Finding, bool]]:
    if isinstance(value, float) and value.is_integer():  # a JSON Schema takes 2.0 for an integer
        yield Finding(at, f"`{one_line(name, 40)}` must be written as an integer, not {value}"), True
    elif isinstance(value, int) and not isinstance(value, bool) and value < 0:
        yield Finding(at, f"`{one_line(name, 40)}` is negative"), False

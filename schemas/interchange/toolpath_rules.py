"""The rules of Toolpath that a JSON Schema cannot say: ids, lineage, and how a session's tokens are accounted for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from schemas.clean import one_line
from schemas.interchange.toolpath import TURN, structural_type
from schemas.interchange.toolpath_stream import parents_of
from schemas.interchange.verdicts import Finding, pointer, shown

Judged = Iterator[tuple[Finding, bool]]
"""Findings, each with whether it is an error."""
_USAGES = ("token_usage", "attributed_token_usage")
_FIGURES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def identity_of(item: object, key: str) -> str | None:
    """The id of a path or a step."""
    identity = item.get(key) if isinstance(item, dict) else None
    name = identity.get("id") if isinstance(identity, dict) else None
    return name if isinstance(name, str) else None


def repeated(items: list[Any], place: str, name: str, key: str, at: Callable[[str], str]) -> Judged:
    """Ids that stand twice among the paths of a graph or the steps of a path; `at` says where the first one is."""
    seen: dict[str, int] = {}
    for number, item in enumerate(items):
        said = identity_of(item, key)
        if said is not None and seen.setdefault(said, number) != number:
            first = at(f"{place}/{name}/{seen[said]}/{key}/id")
            yield Finding(f"{place}/{name}/{number}/{key}/id", f"{shown(said)} is already the id at {first}"), True


def lineage(path: dict[str, Any], place: str) -> Judged:
    """Head and parents must be steps of the same path, and no step may come before itself."""
    entries = path.get("steps")
    steps = entries if isinstance(entries, list) else []
    ids: dict[str, int] = {}
    for number, step in enumerate(steps):
        if (name := identity_of(step, "step")) is not None:
            ids.setdefault(name, number)
    identity = path.get("path")
    head = identity.get("head") if isinstance(identity, dict) else None
    if isinstance(head, str) and head not in ids and (head or steps):
        yield Finding(f"{place}/path/head", f"{shown(head)} is no step of this path"), True
    for number, step in enumerate(steps):
        said = step.get("step") if isinstance(step, dict) else None
        parents = said.get("parents") if isinstance(said, dict) else None
        for index, parent in enumerate(parents if isinstance(parents, list) else []):
            if isinstance(parent, str) and parent not in ids:
                at = f"{place}/steps/{number}/step/parents/{index}"
                yield Finding(at, f"{shown(parent)} is no step of this path"), True
    # A step that bears another one's id is a fault by itself, and its parents are none of the other's.
    named = [(identity_of(step, "step"), number) for number, step in enumerate(steps)]
    distinct = [steps[number] for name, number in named if name is not None and ids[name] == number]
    if cycle := in_a_cycle(distinct):
        words = f"steps that come before themselves: {', '.join(map(shown, cycle[:5]))}{', …' * (len(cycle) > 5)}"
        yield Finding(f"{place}/steps/{ids[cycle[0]]}/step/parents", words), True


def in_a_cycle(steps: list[dict[str, Any]]) -> list[str]:
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


def accounting(path: dict[str, Any], place: str, *, grouped: bool) -> Judged:
    """How the tokens of a session path are accounted for.

    `grouped`: version 1.1.0 and later, where a group's total stands on its last step. A group is a run of neighbouring
    turns with one `group_id` (formats note 1.5); events between them do not end it.
    """
    run: list[_Turn] = []
    entries = path.get("steps")
    steps = entries if isinstance(entries, list) else []
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
    change = step.get("change") if isinstance(step, dict) else None
    for key, part in change.items() if isinstance(change, dict) else ():
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
        if any(_number(share, figure) for share in shares for figure in _FIGURES) and not elsewhere:
            at = next(turn.at for turn in reversed(run) if turn.usage("attributed_token_usage") is not None)
            yield Finding(f"{at}/attributed_token_usage", f"tokens attributed, but {of} has no total"), False
        return
    for figure in _FIGURES:
        spent = sum(_number(share, figure) or 0 for share in shares)
        whole = _number(total, figure)
        if whole is not None and spent > max(whole, 0):
            words = f"`{figure}`: {spent} attributed to {_steps_of(run, of)}, more than the total of {whole}"
            yield Finding(f"{run[-1].at}/token_usage/{figure}", words), True
        elif spent > 0 and total.get(figure) is None and not _is_required(figure, total):
            words = f"`{figure}`: {spent} attributed to {_steps_of(run, of)}, whose total does not say"
            yield Finding(f"{run[-1].at}/token_usage", words), False


def _steps_of(run: list[_Turn], of: str) -> str:
    return f"the steps of {of}" if len(run) > 1 else of


def _is_required(figure: str, total: dict[str, Any]) -> bool:
    """Whether the schema rejects a total that is without the figure, so that no more needs to be said."""
    return figure in ("input_tokens", "output_tokens") and figure not in total


def _number(usage: dict[str, Any], key: str) -> int | None:
    value = usage.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _figures(at: str, usage: dict[str, Any]) -> Judged:
    """Figures are whole numbers, and the parts of one are no more than the whole."""
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


def _parts(at: str, parent: str, parts: dict[str, Any], usage: dict[str, Any]) -> Judged:
    figure = parent if parent in _FIGURES else f"{parent}_tokens"
    total = sum(_number(parts, name) or 0 for name in parts)
    if figure not in _FIGURES:
        yield Finding(at, f"`{one_line(parent, 40)}` is none of the figures that could be broken down"), False
        return
    whole = _number(usage, figure)
    if whole is not None and total > max(whole, 0):
        yield Finding(at, f"the parts of `{figure}` add up to {total}, more than the {whole} there are"), True
    elif total > 0 and usage.get(figure) is None and not _is_required(figure, usage):
        yield Finding(at, f"parts of `{figure}`, which is not said itself"), False


def _whole(at: str, name: str, value: object) -> Judged:
    if isinstance(value, float) and value.is_integer():  # a JSON Schema takes 2.0 for an integer
        yield Finding(at, f"`{one_line(name, 40)}` must be written as an integer, not {value}"), True
    elif isinstance(value, int) and not isinstance(value, bool) and value < 0:
        yield Finding(at, f"`{one_line(name, 40)}` is {value}; nobody spends less than nothing"), False

"""Valid JSON documents with something wrong in them: for laws about whatever a document may hold."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

ODD = st.sampled_from(
    [
        None, True, False, 0, -1, 1.5, 1e300, float("inf"), float("nan"), 1 << 53, 1 << 63, 1 << 64, 10**60, "", " ",
        "x", "\x1b[2J", "\ud83e", "a\nb", "a\n", [], {}, [None], [[]], [{}], ["x"], {"text": None}, {"turnlog": {}},
        {"turnlog": None}, {"kind": "tool"}, {"id": 5}, "2026-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "unknown",
        "user", "agent", "assistant", "tool", "system", "prompt", "text", "thinking", "error", ["opener"],
        [["x", 1, {}]], [[0, 1, {"fg": [1, 2]}]],
    ]
)  # fmt: skip
"""Values of every kind, with those that are near a border."""


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The paths of everything inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


@st.composite
def mutated(draw: st.DrawFn, document: dict[str, Any], keep: tuple[str, ...] = ()) -> dict[str, Any]:
    """The document after one to four changes: a value replaced or removed, a key or an item added. The outermost keys
    in `keep` stay, so that the document is still told to be one.
    """
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 4))):
        found = [path for path in places(changed) if not (len(path) == 1 and path[0] in keep)]
        if not found:
            break
        *steps, last = draw(st.sampled_from(found))
        place: Any = changed
        for step in steps:
            place = place[step]
        match draw(st.sampled_from(["replace", "remove", "add", "copy"])):
            case "replace":
                place[last] = copy.deepcopy(draw(ODD))
            case "remove":
                del place[last]
            case "add":
                _put(
                    place,
                    draw(st.sampled_from(["extra", "tool", "usage", "metadata", "turnlog", "id"])),
                    copy.deepcopy(draw(ODD)),
                )
            case _:
                _put(place, str(last), copy.deepcopy(place[last]))
    return changed


def _put(place: Any, key: str, value: Any) -> None:
    if isinstance(place, dict):
        place[key] = value
    else:
        place.append(value)


def changed_in(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A document with something put, or with `...` removed, at a path such as `exchanges/0/messages/1/tool`."""
    document = copy.deepcopy(document)
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    place: Any = document
    for step in steps:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return document

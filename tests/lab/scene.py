"""The scene that every agent plays, and what must be found of it in what was written."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from tests.lab.server import Act, Served, Step

GREETING = 'import sys\n\n\ndef greet(name):\n    return "Hi " + name\n\n\nprint(greet(sys.argv[1]))\n'
_HI, _MORNING = '    return "Hi " + name', '    return "Good morning, " + name'
_LONG = (
    "The greeting is friendlier now: it says good morning where it only said hi. The change that I tried after it was "
    "not needed, since the words it looked for are not in the file. Nothing else in the project uses the function."
)
LONGEST = (_LONG, f"Good morning, World: that is what it says. {_LONG}")
"""The last text of each command, which comes slowly."""


def scene(file: str) -> list[tuple[str, list[Step]]]:
    """The prompts, each with the answers to it."""
    good, bad = Act("run", ("echo one two three",)), Act("run", ("ls nowhere; exit 3",), ok=False, exit_code=3)
    first = [  # the first two come slowly, so that what follows them has begun when they are over
        Step("First I look at the file.", "I read how it greets.", (Act("read", (file,)),), seconds=4),
        Step(text="Two commands at once, and one of them fails.", acts=(good, bad), seconds=4),
        Step(error=503),
        Step(thinking="The change is small.", acts=(Act("edit", (file, _HI, _MORNING)),)),
        Step(text="This one finds nothing.", acts=(Act("edit", (file, "no such words", "x"), ok=False),)),
        Step("That one was not needed.", LONGEST[0], seconds=6),
    ]
    second = [
        Step(text="I run it.", acts=(Act("run", ("python3 greet.py World",)),)),
        Step("It works.", LONGEST[1], seconds=6),
    ]
    return [("Make the greeting friendlier, please.", first), ("Now run it once more.", second)]


@dataclass(frozen=True)
class Item:
    """A message that must be there."""

    kind: str
    text: str = ""
    status: str = ""
    exit_code: int | None = None
    answer: int = 0
    """The number of the answer that it is in; of a prompt, of the answer to it."""


def items(prompts: list[str], served: list[Served]) -> list[Item]:
    """The messages that these answers make."""
    made: list[Item] = []
    for number, answer in enumerate(served):
        if number == 0 or served[number - 1].prompt != answer.prompt:
            made.append(Item("prompt", prompts[answer.prompt - 1], answer=number))
        for kind in ("thinking", "text"):
            if text := getattr(answer.step, kind):
                made.append(Item(kind, text, answer=number))
        for act in answer.step.acts:
            made.append(Item("tool", status="ok" if act.ok else "error", exit_code=act.exit_code, answer=number))
    return made


def found(messages: list[dict[str, Any]]) -> list[tuple[Item, str]]:
    """The messages that a scene can have, each with its id."""
    made: list[tuple[Item, str]] = []
    for message in messages:
        note = message["metadata"]["turnlog"]
        kind, text = note["kind"], "".join(part.get("text", "") for part in message.get("content") or [])
        if kind in ("prompt", "thinking", "text") and "placeholder" not in note:
            made.append((Item(kind, text), message["id"]))
        elif kind == "tool":
            status, code = note["tool"]["status"], note["tool"].get("exitCode") or None
            made.append((Item(kind, status=status, exit_code=code), message["id"]))
    return made


def in_order(some: list[Item]) -> list[str]:
    """The messages, whatever their tool uses came to."""
    return [f"{item.kind} {item.text}" for item in some]


def endings(some: list[Item]) -> list[str]:
    """What the tool uses came to."""
    return [f"{item.status} {item.exit_code or ''}" for item in some if item.kind == "tool"]


_KEYS = {
    "input": "inputTokens",
    "cache_read": "cacheReadTokens",
    "cache_write": "cacheWriteTokens",
    "output": "outputTokens",
    "thinking": "reasoningTokens",
}


def counted(usage: dict[str, Any] | None) -> dict[str, int]:
    """What turnlog counted; what is not known counts as nothing."""
    return {key: (usage or {}).get(name) or 0 for key, name in _KEYS.items()}


def total(served: list[Served], *, thinking: bool = True) -> dict[str, int]:
    """What was served, in sum."""
    some = [asdict(answer.usage if thinking else replace(answer.usage, thinking=0)) for answer in served]
    return {key: sum(usage[key] for usage in some) for key in _KEYS}


def differs(got: list[Any], right: list[Any]) -> str:
    """Where two lists part, in a sentence; empty where they do not."""
    pairs = enumerate(zip([*got, "the end"], [*right, "the end"], strict=False), 1)
    number, (one, other) = next(((n, pair) for n, pair in pairs if pair[0] != pair[1]), (0, ("", "")))
    place = [str(number)]
    while isinstance(one, dict) and isinstance(other, dict):
        place.append(next(key for key in [*one, *other] if one.get(key) != other.get(key)))
        one, other = one.get(place[-1]), other.get(place[-1])
    return f"number {' '.join(place)} is {one}; right is {other}" if number else ""

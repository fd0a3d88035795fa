"""Turns: the same conversation once more, with times, and what a summary left of it (formats note 3.2, field 8).

Field numbers beyond the note's are those of the program's own descriptors, as several clients of its protocol list
them: a turn's shell command and output, a message that was typed while the agent worked, one that nobody typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from schemas.message import Kind
from schemas.providers.cursor.proto import Fields, decode

if TYPE_CHECKING:
    from schemas.providers.cursor.state import Item

Resolve = Callable[[bytes], "Item"]
_TOOLS = {
    1: "Shell", 3: "Delete", 4: "Glob", 5: "Grep", 8: "Read", 9: "TodoWrite", 12: "Edit", 13: "LS", 14: "ReadLints",
    15: "CallMcpTool", 16: "SemanticSearch", 17: "CreatePlan", 18: "WebSearch", 19: "Task", 23: "AskQuestion",
    24: "WebFetch", 25: "SwitchMode",
}  # fmt: skip
_USE_ID = 57
_SHELL = {1: "command", 2: "working_directory", 15: "description"}
_DEEPEST = 8


class Step(NamedTuple):
    """Something the agent did in a turn: TEXT, THINKING or TOOL."""

    kind: Kind
    id: str
    text: str = ""
    time: float | None = None
    name: str = ""
    use_id: str = ""
    given: Any = None
    result: Any = None


class Shell(NamedTuple):
    """A command that the person ran in the agent's shell."""

    command: str
    stdout: str
    stderr: str
    exit_code: int | None


class Turn(NamedTuple):
    """A prompt and what the agent did about it, or a shell command."""

    id: str
    text: str = ""
    started: float | None = None
    ended: float | None = None
    steer: bool = False
    """Whether it was typed while the agent worked on another."""
    simulated: bool = False
    """Whether the program wrote it, and no person."""
    model: str = ""
    steps: tuple[Step, ...] = ()
    shell: Shell | None = None


def read_turn(item: Item, resolve: Resolve) -> Turn | None:
    """A turn; None for a missing blob and for bytes that are none."""
    if item.raw is None:
        return None
    fields = decode(item.raw)
    if (agent := fields.message(1)) is not None:
        return _agent_turn(item.id, agent, resolve)
    if (shell := fields.message(2)) is not None:
        return _shell_turn(item.id, shell, resolve)
    return None


def _agent_turn(identifier: str, agent: Fields, resolve: Resolve) -> Turn:
    user = _resolved(agent.blob(1), resolve)
    text = user.text(1)
    if not text and (kept := user.blob(18)) is not None:
        text = (resolve(kept).raw or b"").decode("utf-8", "replace")
    started, ended = user.time(25), user.time(26)
    steps = [step for value in agent.blobs(2) if (step := _step(resolve(value))) is not None]
    return Turn(
        user.text(2) or identifier,
        text,
        started or ended,
        ended,
        bool(user.number(24)),
        bool(user.number(5)),
        agent.text(7),
        tuple(steps),
    )


def _resolved(value: bytes | None, resolve: Resolve) -> Fields:
    return Fields({}, False) if value is None else decode(resolve(value).raw or b"")


def _shell_turn(identifier: str, shell: Fields, resolve: Resolve) -> Turn:
    command, output = _resolved(shell.blob(1), resolve), _resolved(shell.blob(2), resolve)
    code = output.number(3)
    code = code - (1 << 64) if code is not None and code >= 1 << 63 else code
    run = Shell(command.text(1), output.text(1), output.text(2), code if output.values else None)
    return Turn(identifier, shell=run)


def _step(item: Item) -> Step | None:
    if item.raw is None:
        return None
    fields = decode(item.raw)
    if (said := fields.message(1)) is not None:
        return Step(Kind.TEXT, item.id, said.text(1), said.time(2))
    if (thought := fields.message(3)) is not None:
        return Step(Kind.THINKING, item.id, thought.text(1), thought.time(4) or thought.time(3))
    call = fields.message(2)
    if call is None:
        return None
    number = next((n for n in call.values if n != _USE_ID and call.blobs(n)), 0)
    body = call.message(number) or Fields({}, False)
    asked, answer = body.message(1), body.message(2)
    given = None if asked is None else _shell_input(asked) if number == 1 else readable(asked)
    result = None if answer is None else readable(answer)
    name = _TOOLS.get(number, f"tool {number}")
    return Step(Kind.TOOL, item.id, name=name, use_id=call.text(_USE_ID), given=given, result=result)


def _shell_input(asked: Fields) -> dict[str, str]:
    return {name: text for number, name in _SHELL.items() if (text := asked.text(number))}


def readable(fields: Fields, depth: int = 0) -> dict[str, Any]:
    """The fields of a message that nobody described, by their numbers: texts, numbers, messages."""
    found: dict[str, Any] = {}
    for number, values in fields.values.items():
        shown = [value if isinstance(value, int) else _shown(value, depth) for value in values]
        found[str(number)] = shown[0] if len(shown) == 1 else shown
    return found


def _shown(value: bytes, depth: int) -> Any:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if all(c >= " " or c in "\t\n\r\x1b" for c in text):
        return text
    inner = decode(value)
    if inner.whole and depth < _DEEPEST:
        return readable(inner, depth + 1)
    return f"({len(value):,} bytes)"

"""The states of running sessions in words, the same on the watch screen and in a transcript that is followed."""

from __future__ import annotations

from renderers.facts import format_age
from renderers.terminal.rows import crop
from schemas.running import Wait
from viewer.watch.state import Does, State

ASKS = {Wait.PERMISSION: "may it", Wait.QUESTION: "asks", Wait.PLAN: "plan"}
"""What is said before that for which a session waits."""
COLOURS = {"!": "$error", "?": "$warning", "*": "$success", "-": "$text-muted"}
"""The colours of marks."""


def mark(state: State) -> str:
    """The sign of a state: `!` needs a person, `?` perhaps does, `*` works, `-` is over."""
    if state.does in (Does.WAITS, Does.STOPPED):
        return "!" if state.certain else "?"
    return "*" if state.does is Does.WORKS else "-"


def state_words(state: State, now: float | None = None, room: int = 1 << 30) -> str:
    """Say what a session does, or for what it waits, and by `now` for how long: `$ pytest -q · 41 s`, `waits for you: a
    question · 2 m`, `perhaps ended 3 m ago · in the middle`. In `room` cells: the time is what remains of it longest.
    """
    perhaps = "" if state.certain else "perhaps "
    age = "" if state.since is None or now is None else format_age(now - state.since)
    what = state.what
    if state.does in (Does.DONE, Does.ENDED):
        over = f"{perhaps}{state.does}"
        return crop(_joined(f"{over} {age} ago" if age else over, what), room)
    if state.does is Does.WAITS:
        words = f"{perhaps}waits for you: a {what}"
    elif state.does is Does.STOPPED:
        words = f"stopped by {what}" if what else "stopped"
    else:
        words = f"{perhaps}{what or 'works'}"
    return _joined(crop(words, room - len(age) - 3), age)


def source_words(state: State) -> str:
    """Say by what a state is known: `(Claude Code says so)`."""
    return f"({state.source})" if state.source else ""


def ask_words(state: State) -> list[str]:
    """Say for what a session waits, a line a question: `asks: Which database? [postgres] [sqlite]`."""
    lead = next((words for wait, words in ASKS.items() if wait == state.what), "asks")
    return [
        " ".join((f"{lead}:", question, *(f"[{option}]" for option in options))) for question, options in state.asks
    ]


def _joined(*words: str) -> str:
    return " · ".join(filter(None, words))

"""The states of running sessions in words, the same on the watch screen and in a transcript that is followed."""

from __future__ import annotations

from renderers.facts import format_age
from schemas.running import Wait
from viewer.watch.state import Does, State

ASKS = {Wait.PERMISSION: "may it", Wait.QUESTION: "asks", Wait.PLAN: "plan"}
"""What is said before that for which a session waits."""


def mark(state: State) -> str:
    """The sign of a state: `!` needs a person, `?` perhaps does, `*` works, `-` is over."""
    if state.does in (Does.WAITS, Does.STOPPED):
        return "!" if state.certain else "?"
    return "*" if state.does is Does.WORKS else "-"


def state_words(state: State, now: float) -> str:
    """Say what a session does, or for what it waits, and for how long: `$ pytest -q · 41 s`, `waits for you · 2 m`."""
    perhaps = "" if state.certain else "perhaps "
    age = "" if state.since is None else format_age(now - state.since)
    what = state.what
    if state.does is Does.WAITS:
        return _joined(f"{perhaps}waits for you", age)
    if state.does is Does.STOPPED:
        return _joined(f"stopped by {what}" if what else "stopped", age)
    if state.does is Does.WORKS:
        return _joined(f"{perhaps}{what or 'works'}", age)
    over = f"{perhaps}{'done' if state.does is Does.DONE else 'ended'}"
    return _joined(f"{over} {age} ago" if age else over, what)


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

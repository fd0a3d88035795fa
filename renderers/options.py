"""Options of an export. The words are those of the screen's folds."""

from __future__ import annotations

from dataclasses import dataclass, fields

MAX_COMMENT = 65_536
"""Characters that GitHub takes in a comment."""


@dataclass(frozen=True, slots=True)
class Include:
    """The parts of a session in an export. Prompts, answers, errors, interrupts and compaction marks always are."""

    thinking: bool = True
    """What the agent thought."""
    tools: bool = True
    """Tool uses: what was done, with its input and diff."""
    output: bool = True
    """What tools and commands printed."""
    subagents: bool = True
    """The exchanges of subagents, under the call that started them."""
    context: bool = True
    """What the program put into the conversation: reminders, project instructions, notes."""
    prompts: bool = False
    """Only what the person typed."""
    redact: bool = True
    """Whether secrets are replaced."""

    @property
    def left_out(self) -> tuple[str, ...]:
        """The words of what is not included."""
        if self.prompts:
            return ("everything but what the person typed",)
        return tuple(f.name for f in fields(self) if f.name not in ("redact", "prompts") and not getattr(self, f.name))

"""Sessions made by hand, for tests of what comes after parsing, and what tests ask of sessions that were read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas.changes import Seen
from schemas.message import NO_FLAGS, Flag, Kind, Message, Part, SpanRole, Tool
from schemas.opening import family
from schemas.records import MemoryStore
from schemas.session import Change, Session
from schemas.usage import TokenUsage, total_usage
from viewer.follow.follower import Follower, Within

START = 1_780_000_000.0


class Hand:
    """Builds a session a message at a time: `hand.prompt("hi"); hand.text("hello", usage=TokenUsage(1, 2))`."""

    def __init__(
        self, provider: str = "claude", name: str = "Claude Code", session_id: str = "5e55-made-by-hand"
    ) -> None:
        self.session = Session(provider, name, Path(f"nowhere/{session_id}.jsonl"), session_id)
        self.session.workspace_root = "/home/dev/lamp-shop"
        self.session.title = "Fix the flaky test"
        self.session.version = "2.1.40"
        self.store = MemoryStore(self.session.path)
        self.session.stores.append(self.store)
        self.session.build = lambda session, index: self._made[index]
        self._made: list[Message] = []
        self.now = START

    def add(
        self,
        kind: Kind,
        *,
        opener: str | None = None,
        usage: TokenUsage | None = None,
        flags: Flag = NO_FLAGS,
        **fields: Any,
    ) -> int:
        """Any message; `fields` are Message's."""
        self.now += 5
        number = len(self._made)
        record = self.store.add({"n": number, "kind": kind.name})
        if opener is not None:
            self.session.open_exchange(kind, opener)
        fields.setdefault("id", f"m{number}")
        parts, tool = fields.get("parts", []), fields.get("tool")
        body = tool.text if tool else "\n\n".join(part.text for part in parts)
        index = self.session.add_message(
            kind, hash(fields["id"]), record, time=self.now, chars=len(body), lines=body.count("\n") + bool(body)
        )
        if opener is not None:
            self.session.mark_opener(index)
        self.session.messages.flags[index] |= flags
        model = fields.get("model")
        self.session.messages.model[index] = self.session.model_index(model)
        group = None
        if usage is not None:
            group = self.session.add_group(f"g{number}", usage, record, model=self.session.model_index(model))
            self.session.join_group(index, group)
        self._made.append(
            Message(
                index=index,
                kind=kind,
                exchange=self.session.messages.exchange[index],
                timestamp=self.now,
                group=f"g{number}" if group is not None else None,
                flags=Flag(self.session.messages.flags[index]),
                **fields,
            )
        )
        return index

    def prompt(self, text: str, **fields: Any) -> int:
        """A prompt, which opens an exchange."""
        return self.add(Kind.PROMPT, opener=text, parts=[Part("text", text)], **fields)

    def text(self, text: str, **fields: Any) -> int:
        """What the agent said."""
        return self.add(Kind.TEXT, parts=[Part("text", text)], **({"model": "claude-opus-5"} | fields))

    def thinking(self, text: str, **fields: Any) -> int:
        """What the agent thought."""
        return self.add(Kind.THINKING, parts=[Part("thinking", text)], **({"model": "claude-opus-5"} | fields))

    def tool(self, tool: Tool, **fields: Any) -> int:
        """A tool use with its result."""
        return self.add(Kind.TOOL, tool=tool, **({"model": "claude-opus-5"} | fields))

    def note(self, kind: Kind, label: str, text: str = "", **fields: Any) -> int:
        """Compaction, interrupt, error, context, note."""
        return self.add(kind, label=label, parts=[Part("text", text)] if text else [], **fields)

    def result_span(self, index: int) -> None:
        """Add a second record to a message, as a tool's result is one."""
        record = self.store.add({"result_of": index})
        self.session.spans.extend(self.session.messages.span[index], self.session.add_span(record, SpanRole.RESULT))


def replacing(old: str, new: str) -> Callable[[Any], Any]:
    """An edit of JSON values, as redaction is one: `new` for `old` in every string."""

    def edit(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(old, new)
        if isinstance(value, dict):
            return {key: edit(item) for key, item in value.items()}
        return [edit(item) for item in value] if isinstance(value, list | tuple) else value

    return edit


def usage_with_subagents(session: Session) -> TokenUsage | None:
    """The session's own total and those of all its subagents."""
    return total_usage(member.usage() for member in family(session))


def changes_by(look: Callable[[], object]) -> list[Change]:
    """What is another one in a session after a method of its follower was called."""
    follower: Follower | Within = look.__self__  # type: ignore[attr-defined]
    seen = Seen(follower.session)
    look()
    return seen.changes(follower.session)


def catch_up(follower: Follower) -> list[Change]:
    """Look, read all that there is, and tell what is another one then."""
    seen = Seen(follower.session)
    follower.poll()
    while not follower.loaded:
        follower.step()
    return seen.changes(follower.session)

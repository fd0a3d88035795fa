"""Blocks of a response while they are being written (`--include-partial-messages`, formats note 2.5).

Each block of a response comes twice: as deltas, and as an `assistant` line when it is complete. The row is made for
the first of its deltas and given to the line: a tool use by its id, anything else to the oldest block of its type in
the same response that has no line yet. Never by its index, which begins at 0 again on each line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from schemas.message import Flag, Kind
from schemas.providers.claude.agent import TOOL_USES
from schemas.records import Record

if TYPE_CHECKING:
    from schemas.providers.streams.claude_lines import Lines

Value = dict[str, Any]
DELTAS = {"text_delta": ("text", "text"), "thinking_delta": ("thinking", "thinking")}
"""Type of a delta: the type of block it belongs to, and the key of its text (which is also the block's)."""
INPUT_DELTA = "input_json_delta"
_TOOL = "tool_use"
_KEYS = {what: key for what, (_, key) in DELTAS.items()} | {INPUT_DELTA: "partial_json"}
_KINDS = {"text": Kind.TEXT, "thinking": Kind.THINKING, "redacted_thinking": Kind.THINKING, _TOOL: Kind.TOOL}


def piece_of(event: Value) -> str:
    """What an event adds to its block: the words or the input with which it starts, or that its delta brings."""
    if event.get("type") == "content_block_start":
        start = event.get("content_block")
        texts = (start.get(key) for key in ("text", "thinking")) if isinstance(start, dict) else ()
        return "".join(text for text in texts if isinstance(text, str))
    delta = event.get("delta")
    text = delta.get(_KEYS.get(str(delta.get("type")), "")) if isinstance(delta, dict) else None
    return text if isinstance(text, str) else ""


@dataclass(slots=True)
class Draft:
    """A block of which deltas came."""

    row: int
    type: str
    use: str | None
    """Of a tool use, its id."""
    claimed: bool = False


class Drafts:
    """The drafts of one speaker: the main agent, or one subagent."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._message = ""
        """Id of the response that is being written; only its first event names it."""
        self._model: str | None = None
        self._by_place: dict[tuple[str, int], Draft] = {}
        self._of: dict[str, list[Draft]] = {}

    def event(self, record: Record, value: Value) -> None:
        """A `stream_event` line."""
        event = value.get("event")
        event = event if isinstance(event, dict) else {}
        kind = event.get("type")
        taken = False
        if kind == "message_start":
            taken = self._start(record, event.get("message"))
        elif kind == "message_delta":
            taken = self._lines.count_usage(self._message, event.get("usage"), record, self._model)
        elif kind == "content_block_start":
            taken = self._begin(record, value, event)
        elif kind == "content_block_delta":
            delta = event.get("delta")
            if isinstance(delta, dict) and not isinstance(delta.get("type"), str):  # faults f09
                self._lines.unknown(record, "stream_event content_block_delta without a type")
                return
            taken = self._delta(record, value, event)
        elif kind == "content_block_stop":
            draft = self._at(event)
            if draft is not None and not draft.claimed:
                self._lines.extend_draft(draft.row, record)
                taken = True
        elif kind == "error":
            self._lines.failed(record, value)
            taken = True
        if not taken:
            self._lines.hide(f"stream_event {kind}" if isinstance(kind, str) else "stream_event")

    def claim(self, message: str, kind: str, use: object = None) -> Draft | None:
        """The draft that a complete block takes the place of; None if there is none."""
        kind = _TOOL if kind in TOOL_USES else kind
        drafts = self._of.get(message) or self._of.get("", [])
        open_ones = [d for d in drafts if not d.claimed and d.type == kind]
        if kind == _TOOL:
            named = [d for d in open_ones if d.use is not None and d.use == use]
            open_ones = named or [d for d in open_ones if d.use is None]
        if not open_ones:
            return None
        open_ones[0].claimed = True
        return open_ones[0]

    def forget(self) -> None:
        """A turn is over: no complete block comes any more for what was begun in it."""
        self._lines.stream.growing.end_all()
        self._by_place.clear()
        self._of.clear()

    def _start(self, record: Record, message: object) -> bool:
        for draft in self._of.get(self._message, ()):
            self._lines.stream.growing.end(draft.row)
        if not isinstance(message, dict):
            self._message, self._model = "", None
            return False
        name, model = message.get("id"), message.get("model")
        self._message = name if isinstance(name, str) else ""
        self._model = model if isinstance(model, str) else None
        self._lines.begin(record)
        return self._lines.count_usage(self._message, message.get("usage"), record, self._model)

    def _begin(self, record: Record, value: Value, event: Value) -> bool:
        block = event.get("content_block")
        if not isinstance(block, dict):
            return False
        kind = str(block.get("type"))
        kind = _TOOL if kind in TOOL_USES else kind
        if kind not in _KINDS:
            return False  # its complete line says what it is
        use = block.get("id")
        text = block.get(kind) if kind in ("text", "thinking") else None
        self._add(record, value, event, kind, use if isinstance(use, str) else None, text)
        return True

    def _delta(self, record: Record, value: Value, event: Value) -> bool:
        delta = event.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        what = delta.get("type")
        kind, key = (_TOOL, "partial_json") if what == INPUT_DELTA else DELTAS.get(str(what), ("", ""))
        text = delta.get(key)
        if not isinstance(text, str):
            return False  # a signature, a citation
        draft = self._at(event)
        if draft is None:  # the beginning of the block is not in the stream
            self._add(record, value, event, kind, None, text if kind != _TOOL else None)
            return True
        if draft.claimed:
            return False
        self._lines.extend_draft(draft.row, record, more=text if kind == draft.type and kind != _TOOL else "")
        self._lines.stream.growing.add(draft.row, text)
        return True

    def _at(self, event: Mapping[str, Any]) -> Draft | None:
        index = event.get("index")
        return self._by_place.get((self._message, index)) if isinstance(index, int) else None

    def _add(self, record: Record, value: Value, event: Value, kind: str, use: str | None, text: object) -> None:
        lines, index = self._lines, event.get("index")
        place = (self._message, index if isinstance(index, int) else -1)
        if use is not None and lines.knows(use):  # its complete line came first
            lines.hide("stream_event content_block_start")
            return
        lines.begin(record)
        uuid = value.get("uuid")
        ident = f"{place[0]}:{place[1]}" if place[0] else uuid if isinstance(uuid, str) else ""
        row = lines.add(
            _KINDS[kind],
            record,
            ident,
            text=text if isinstance(text, str) else "",
            model=self._model,
            flags=Flag.PENDING if kind == _TOOL else Flag(0),
        )
        lines.stream.growing.begin(row, piece_of(event))
        lines.join_response(row, self._message)
        if use is not None:
            lines.root.call_shown(use, lines, row, record)
        draft = Draft(row, kind, use)
        self._by_place[place] = draft
        self._of.setdefault(self._message, []).append(draft)

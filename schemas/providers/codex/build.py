"""A message made from its records, when somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.clean import as_json, clean, clean_styled, one_line
from schemas.message import Flag, Kind, Message, Part
from schemas.providers.codex.build_tool import build_tool
from schemas.providers.codex.items import PLAN_CLOSE, PLAN_OPEN, thought_parts, visible
from schemas.providers.codex.notes import interrupt_label, note_of
from schemas.providers.codex.places import Places
from schemas.providers.codex.prompts import Segment, completed_segments, event_segments, segments
from schemas.providers.codex.values import content_images, content_text, image_part
from schemas.session import Session
from schemas.table import NONE
from schemas.values import dict_of, list_of, text_of, whole

Data = dict[str, Any]
_WITHHELD = "The provider keeps the text of this thinking back; the file holds it encrypted."


class Builder:
    """Makes messages of one session. `places`: where the agent worked."""

    def __init__(self, places: Places) -> None:
        self._places = places

    def __call__(self, session: Session, index: int) -> Message:
        """The message at `index`, with all its records read back."""
        return _build(session, index, self._places.at(index))


def _build(session: Session, index: int, cwd: str | None) -> Message:
    table = session.messages
    kind = table.kind_of(index)
    group = table.group[index]
    spans = session.message_spans(index)
    records = [session.record(span) for span in spans]
    bodies = [body_of(record) for record in records]
    head = spans[0]
    message = Message(
        index,
        _identifier(head.store, head.offset, table.block[index]),
        kind,
        table.exchange[index],
        table.when(index),
        session.model_of(index),
        group=session.groups.ids[group] if group != NONE else None,
        flags=Flag(table.flags[index]),
    )
    if cwd:
        message.metadata["cwd"] = cwd
    if item_id := text_of(bodies[0].get("id")):
        message.metadata["item_id"] = clean(item_id)
    if kind == Kind.TOOL:
        build_tool(session, message, bodies, [span.role for span in spans], cwd)
    elif (builder := _BUILDERS.get(kind)) is not None:
        builder(message, bodies, table.block[index])
    elif kind in (Kind.NOTE, Kind.CONTEXT, Kind.COMMAND, Kind.OUTPUT):
        _aside(session, message, records, bodies, table.block[index])
    else:
        _unknown(message, records, session.raw(spans[0]))
    return message


def _identifier(store: int, offset: int, block: int) -> str:
    """Ids repeat in rollouts (copies, retries) and many records have none; where it lies is a message's own."""
    return f"{f's{store}-' if store else ''}r{offset}{f'.{block}' if block else ''}"


def body_of(record: Data) -> Data:
    """What a record is about: its payload, or the completed item in it, or an old line itself."""
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return record
    if payload.get("type") == "item_completed":
        return dict_of(payload.get("item"))
    return payload


def _pieces(body: Data) -> list[Segment]:
    """The segments of whichever record a user's text came in."""
    kind = body.get("type")
    if kind == "user_message":
        return event_segments(body)
    if kind in ("UserMessage", "userMessage"):
        return completed_segments(body)
    return segments(body)


def _prompt(message: Message, bodies: list[Data], block: int) -> None:
    """A prompt's text: the event's where there is one, it is exactly what was typed. Images: the item's."""
    pieces = _pieces(bodies[0])
    text = pieces[block].text if block < len(pieces) else ""
    if bodies[0].get("type") in ("agent_message", None) and "content" in bodies[0] and not pieces:
        text = content_text(bodies[0].get("content"))
    if bodies[0].get("type") == "agent_message" or "recipient" in bodies[0]:
        text = content_text(bodies[0].get("content"))
        message.label = f"task from {one_line(text_of(bodies[0].get('author')), 80)}".removesuffix("from ")
    for body in bodies:
        if body.get("type") == "user_message":
            typed = [piece.text for piece in event_segments(body) if piece.kind == Kind.PROMPT]
            text = typed[0] if typed else text
    if text:
        message.parts.append(Part("text", clean(text)))
    message.parts.extend(_prompt_images(bodies))


def _prompt_images(bodies: list[Data]) -> list[Part]:
    for body in bodies:
        if "content" in body and (images := content_images(body["content"])):
            return images
    found: list[Part] = []
    for body in bodies:
        for key in ("images", "local_images"):
            found.extend(part for url in list_of(body.get(key)) if (part := image_part(url)))
        if found:
            return found
    return found


def _text(message: Message, bodies: list[Data], block: int) -> None:
    """What the assistant said, from the item where there is one."""
    body = next((b for b in bodies if b.get("type") == "message" or "role" in b), bodies[0])
    text = text_of(body.get("message")) or content_text(body.get("content"))
    text = visible(text).replace(PLAN_OPEN, "").replace(PLAN_CLOSE, "")
    message.parts.append(Part("text", clean(text)))
    message.parts.extend(content_images(body.get("content")))
    for other in bodies:
        if phase := text_of(other.get("phase")):
            message.metadata["phase"] = clean(phase)


def _thinking(message: Message, bodies: list[Data], block: int) -> None:
    """Thinking: the parts of its items, and those events' that no item repeats."""
    parts: list[str] = []
    for body in bodies:
        if body.get("type") == "reasoning":
            parts.extend(thought_parts(body))
            if (milliseconds := whole(body.get("duration_ms"))) is not None:
                message.metadata["duration_ms"] = milliseconds
    seen = {part.strip() for part in parts}
    for body in bodies:
        for text in _thought_of_event(body):
            if text.strip() and text.strip() not in seen:
                seen.add(text.strip())
                parts.append(text)
    if parts:
        message.parts.append(Part("thinking", clean("\n\n".join(parts))))
    else:
        message.label = _WITHHELD


def _thought_of_event(body: Data) -> list[str]:
    if text_of(body.get("type")).startswith("agent_reasoning"):
        return [text_of(body.get("text"))]
    parts = list_of(body.get("raw_content")) or list_of(body.get("summary_text"))
    return [part for part in parts if isinstance(part, str)]


def _compaction(message: Message, bodies: list[Data], block: int) -> None:
    """Where the context was compacted. Its new context repeats what stands above, so only the summary is shown."""
    label = ["Compacted"]
    sealed = False
    for body in bodies:
        summary = text_of(body.get("message")) or text_of(body.get("summary"))
        if summary and not message.parts:
            message.parts.append(Part("text", clean(summary)))
        if trigger := text_of(body.get("trigger")):
            label.append(clean(trigger))
        if before := whole(body.get("preTokens") or body.get("pre_tokens")):
            label.append(f"{before:,} tokens")
        history = list_of(body.get("replacement_history"))
        if history:
            message.metadata["replacement_items"] = len(history)
        sealed = sealed or "encrypted_content" in body or any("encrypted_content" in dict_of(item) for item in history)
    if sealed and not message.parts:
        label.append("the summary is encrypted")
    message.label = ", ".join(label)


def _interrupt(message: Message, bodies: list[Data], block: int) -> None:
    message.label = interrupt_label(bodies)
    for body in bodies:
        for piece in _pieces(body) if "role" in body else []:
            if piece.kind == Kind.INTERRUPT and piece.text and not message.parts:
                message.parts.append(Part("text", clean(piece.text)))


def _error(message: Message, bodies: list[Data], block: int) -> None:
    message.label = "Error"
    for body in bodies:
        error = body.get("error")
        text = text_of(body.get("message")) or text_of(error) or text_of(dict_of(error).get("message"))
        info = body.get("codex_error_info") or dict_of(error).get("codex_error_info")
        if info:
            message.label = f"Error: {one_line(info if isinstance(info, str) else next(iter(dict_of(info)), ''), 80)}"
        if text and not message.parts:
            message.parts.append(Part("text", clean(text)))


def _aside(session: Session, message: Message, records: list[Data], bodies: list[Data], block: int) -> None:
    """Context, a command and its output, a note: a piece of a user's message, or an event."""
    body = bodies[0]
    if body.get("type") in ("user_message", "UserMessage", "userMessage") or (
        "role" in body and body.get("type") in ("message", None)
    ):
        pieces = _pieces(body)
        if block < len(pieces):
            piece = pieces[block]
            message.label = one_line(piece.label, 120)
            _show(message, piece.text)
        return
    label, text = note_of(session, message.kind, records[0], body)
    message.label = one_line(label, 200)
    _show(message, text)


def _show(message: Message, text: str) -> None:
    if not text:
        return
    if message.kind == Kind.OUTPUT:
        shown, runs = clean_styled(text)
        message.parts.append(Part("text", shown, runs=runs))
    else:
        message.parts.append(Part("text", clean(text)))


def _unknown(message: Message, records: list[Data], raw: bytes) -> None:
    """A record that nobody described: its text is the record."""
    record = records[0]
    payload = dict_of(record.get("payload"))
    names = [
        text_of(record.get("type")),
        text_of(payload.get("type")),
        text_of(dict_of(payload.get("item")).get("type")),
    ]
    message.label = one_line(" ".join(name for name in names if name) or "record without a type", 120)
    text = as_json(record) if record else raw.decode("utf-8", "replace")
    message.parts.append(Part("text", clean(text)))


_BUILDERS: dict[Kind, Callable[[Message, list[Data], int], None]] = {
    Kind.PROMPT: _prompt,
    Kind.STEER: _prompt,
    Kind.TEXT: _text,
    Kind.THINKING: _thinking,
    Kind.COMPACTION: _compaction,
    Kind.INTERRUPT: _interrupt,
    Kind.ERROR: _error,
}

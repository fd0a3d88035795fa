"""Response items: what the model saw and said. They are the transcript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.message import Kind
from schemas.providers.codex.mirrors import Source, key_of
from schemas.providers.codex.outputs import summarise
from schemas.providers.codex.prompts import Segment, segments
from schemas.providers.codex.scan import (
    INTERRUPT,
    PENDING,
    PROMPT,
    RESULT,
    SUBAGENT,
    TEXT,
    THINKING,
    TOOL,
    WITHHELD,
    Scan,
)
from schemas.providers.codex.tools import SPAWNS, search_key
from schemas.providers.codex.values import content_text
from schemas.records import Record, read_record
from schemas.values import list_of, size_of, text_of

Handler = Callable[[Scan, Record, dict[str, Any]], None]
PLAN_OPEN, PLAN_CLOSE = "<proposed_plan>", "</proposed_plan>"


def message(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A message of any role."""
    role = payload.get("role")
    if role == "assistant":
        said(scan, record, content_text(payload.get("content")), Source.ITEM)
    else:
        pieces = segments(payload)
        if role == "user":
            take_segments(scan, record, pieces, Source.ITEM)
        else:
            _take_instructions(scan, record, pieces)


def visible(text: str) -> str:
    """What a person sees of an assistant's text: its event lacks the citations that its item carries."""
    start = text.find("<oai-mem-citation>")
    if start < 0:
        return text
    end = text.find("</oai-mem-citation>", start)
    return text[:start].rstrip() + (text[end + 19 :] if end >= 0 else "")


def said(scan: Scan, record: Record, text: str, source: int) -> None:
    """The assistant said something; the same may come from another source."""
    text = visible(text)
    if not text.strip():
        scan.session.hidden["empty message"] += 1
        return
    index = scan.once(scan.texts, TEXT, "text", text, record, source)
    if index is not None and PLAN_OPEN in text:
        plan = text[text.find(PLAN_OPEN) + len(PLAN_OPEN) :].split(PLAN_CLOSE, 1)[0]
        scan.texts.note(key_of("plan", plan), index, source)


def take_segments(scan: Scan, record: Record, pieces: list[Segment], source: int) -> None:
    """A user or developer message, piece by piece."""
    for block, piece in enumerate(pieces):
        if piece.kind == INTERRUPT:
            interrupted(scan, record, piece.text, source, block)
            continue
        key = key_of(int(piece.kind), piece.text)
        if (copied := scan.prompts.match(key, source)) is not None:
            scan.attach(copied, record)
            if piece.kind == PROMPT:
                scan.prompted = scan.prompted or scan.in_turn
            continue
        if piece.kind == PROMPT:
            index = scan.prompt(record, piece.text, block)
        else:
            index = scan.add(int(piece.kind), record, block, piece.text)
        scan.prompts.note(key, index, source)


def _take_instructions(scan: Scan, record: Record, pieces: list[Segment]) -> None:
    """A developer's or system's message: no event repeats it, and it is long, so it is not hashed."""
    for block, piece in enumerate(pieces):
        if piece.kind == INTERRUPT:
            interrupted(scan, record, piece.text, Source.ITEM, block)
        else:
            scan.add(int(piece.kind), record, block, piece.text)


def interrupted(scan: Scan, record: Record, text: str, source: int, block: int = 0) -> None:
    """The person stopped the agent: an event says so, and a message that tells the model."""
    key = key_of("interrupt", "")
    if (known := scan.prompts.match(key, source)) is not None:
        scan.attach(known, record)
        scan.fit(known, text)
        return
    index = scan.add(Kind.INTERRUPT, record, block=block, text=text)
    scan.prompts.note(key, index, source)
    scan.session.exchanges[-1].interrupted = True


def reasoning(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """The model's thinking; its text is usually withheld."""
    content, summary = payload.get("content"), payload.get("summary")
    if not content and not summary:
        _thought_nothing(scan, record)
    else:
        thought(scan, record, thought_parts(payload), Source.ITEM)


def thought_parts(payload: dict[str, Any]) -> list[str]:
    """The readable parts of a `reasoning` item: its raw content if there is any, else the summary."""
    raw = [t for item in list_of(payload.get("content")) if (t := content_text(item)).strip()]
    return raw or [t for item in list_of(payload.get("summary")) if (t := content_text(item)).strip()]


def _thought_nothing(scan: Scan, record: Record) -> None:
    last = scan.bare_thinking
    messages = scan.session.messages
    if last >= 0 and last == len(messages.kind) - 1 and not messages.flags[last] & WITHHELD:
        scan.attach(last, record)  # its events came first and hold the text
        scan.bare_thinking = -1
        return
    index = scan.add(THINKING, record, 0, None, 0, 0, WITHHELD)
    scan.bare_thinking = index


def thought(scan: Scan, record: Record, parts: list[str], source: int) -> None:
    """Thinking that can be read, as an item with all its parts or as an event for each of them."""
    if not parts:
        if source == Source.ITEM:
            _thought_nothing(scan, record)
        else:
            scan.session.hidden["empty reasoning"] += 1
        return
    keys = [key_of("thinking", part) for part in parts]
    found = [m for key in keys if (m := scan.texts.match(key, source)) is not None]
    chars, lines = (sum(column) for column in zip(*(size_of(part) for part in parts), strict=True))
    if found:
        index = found[0]
        scan.attach(index, record)
        scan.resize(index, chars, lines)
        if source == Source.ITEM:
            scan.bare_thinking = -1
        known = len(found)
        if known == len(keys):
            return
    elif source != Source.ITEM and scan.bare_thinking == len(scan.session.messages) - 1 >= 0:
        index = scan.bare_thinking
        scan.attach(index, record)
        messages = scan.session.messages
        messages.flags[index] &= ~WITHHELD
        scan.resize(index, messages.chars[index] + chars, messages.lines[index] + lines)
    else:
        index = scan.add(THINKING, record, 0, None, chars, lines)
        scan.bare_thinking = index if source != Source.ITEM else -1
    for key in keys:
        scan.texts.note(key, index, source)


def call(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A tool use."""
    call_id = payload.get("call_id") or payload.get("id")
    if scan.from_events:
        known = scan.find_call(call_id)
        if known is not None and known in scan.from_events:
            scan.from_events.discard(known)
            scan.attach(known, record)
            return
    chars = lines = 0
    name = payload.get("name")
    if name == "apply_patch":
        chars, lines = size_of(text_of(payload.get("input")) or text_of(payload.get("arguments")))
    index = scan.add(TOOL, record, 0, None, chars, lines, PENDING)
    scan.remember_call(call_id, index)
    if isinstance(name, str) and name in SPAWNS:
        scan.session.messages.flags[index] |= SUBAGENT
        scan.spawns.add(index)
    elif name == "write_stdin" and scan.processes:
        _continue_process(scan, index, payload)


def _continue_process(scan: Scan, index: int, payload: dict[str, Any]) -> None:
    """Input for a command that still runs: let the message know the command's record, to say which one it is."""
    given = payload.get("arguments")
    process = str((given if isinstance(given, dict) else parsed(text_of(given))).get("session_id"))
    if (origin := scan.processes.get(process)) is not None:
        scan.attach(index, origin)


def output(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A tool's result."""
    index = scan.find_unanswered(payload.get("call_id") or payload.get("id"))
    if index is None:
        index = scan.add(TOOL, record)  # its use is not here: show the result by itself
        scan.remember_call(payload.get("call_id"), index)
    else:
        scan.attach(index, record, RESULT)
    result = payload["tools"] if "tools" in payload else payload.get("output")
    text, start, failed, stopped, process = summarise(result)
    scan.fit(index, text, start)
    scan.settle(index, failed, stopped)
    if process is not None:
        span = next(iter(scan.session.spans.chain(scan.session.messages.span[index])))
        scan.processes[process] = (span.offset, span.length, span.line, {})
    if index in scan.spawns:
        _spawned(scan, index, text[start:])


def _spawned(scan: Scan, index: int, text: str) -> None:
    data = parsed(text)
    scan.link_subagent(index, data.get("agent_id"), text_of(data.get("nickname")), "")


def parsed(text: str) -> dict[str, Any]:
    """JSON text as an object, an empty one if it is none."""
    return read_record(text.encode("utf-8", "replace")) if text.lstrip().startswith("{") else {}


def web_search(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A search that the model's provider ran: it has no result item, and often no id."""
    known = scan.find_call(payload.get("id"))
    if known is not None and known in scan.from_events:
        scan.from_events.discard(known)
        scan.attach(known, record)
        return
    key = key_of("search", search_key(payload.get("action")))
    if (copied := scan.texts.match(key, Source.ITEM)) is not None:
        scan.from_events.discard(copied)
        scan.attach(copied, record)
        return
    index = scan.add(TOOL, record)
    scan.remember_call(payload.get("id"), index)
    scan.texts.note(key, index, Source.ITEM)
    if payload.get("status") == "failed":
        scan.settle(index, failed=True)


def image_generation(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A picture that the model's provider made."""
    known = scan.find_call(payload.get("id"))
    if known is not None and known in scan.from_events:
        scan.from_events.discard(known)
        scan.attach(known, record)
        return
    index = scan.add(TOOL, record)
    scan.remember_call(payload.get("id"), index)


def mail(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A message between agents. Addressed to this one and first in its turn, it is the task: the prompt."""
    own = bool(scan.agent_path) and payload.get("recipient") == scan.agent_path
    text = content_text(payload.get("content"))
    if own and not scan.prompted:
        scan.open(record, text, 0)
    else:
        scan.add(Kind.NOTE, record, 0, text)


def compaction(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """The mark that the provider compacted the context."""
    compacted(scan, record, "", Source.ITEM)


def compacted(scan: Scan, record: Record, text: str, source: int) -> None:
    """The context was compacted; up to four records say so."""
    key = key_of("compaction", "")
    if (known := scan.prompts.match(key, source)) is not None:
        scan.attach(known, record)
        scan.fit(known, text)
        return
    index = scan.add(Kind.COMPACTION, record, text=text)
    scan.prompts.note(key, index, source)


def hide(scan: Scan, record: Record, payload: dict[str, Any]) -> None:
    """A known item with nothing to read."""
    scan.session.hidden[text_of(payload.get("type"))] += 1


ITEMS: dict[str, Handler] = {
    "message": message,
    "reasoning": reasoning,
    "function_call": call,
    "custom_tool_call": call,
    "local_shell_call": call,
    "tool_search_call": call,
    "function_call_output": output,
    "custom_tool_call_output": output,
    "local_shell_call_output": output,
    "tool_search_output": output,
    "web_search_call": web_search,
    "image_generation_call": image_generation,
    "agent_message": mail,
    "compaction": compaction,
    "compaction_summary": compaction,
    "context_compaction": compaction,
    "compaction_trigger": hide,
    "ghost_snapshot": hide,
    "additional_tools": hide,
    "configuration_update": hide,
}

"""A message from its records: everything that a person may want to read of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from schemas.clean import clean, clean_styled, clean_value, one_line
from schemas.message import Flag, Kind, Message, Part, Span, SpanRole, ToolStatus
from schemas.providers._google import Data, context_label, media_in, said_text, snapshot_text
from schemas.providers._google_tools import hints_of, make_tool
from schemas.providers.qwen import blocks, notes
from schemas.providers.qwen.prompts import parts_in, payload_of, read_prompt, runs_in
from schemas.providers.qwen.results import Answer, answers_in, read_answer
from schemas.session import Session
from schemas.table import NONE
from schemas.values import dict_of, text_of

_FACTS = ("cwd", "gitBranch", "promptId", "provenance", "agentId", "agentName", "externalInputKind")
_RAW_LIMIT = 1 << 20


def build_message(session: Session, index: int) -> Message:
    """Message `index` of a Qwen Code session, read back from the file.

    Never fails: where the file changed meanwhile, the message is what can still be read of it.
    """
    table = session.messages
    spans = session.message_spans(index)
    record = session.record(spans[0])
    flags, block, group = Flag(table.flags[index]), table.block[index], table.group[index]
    kind = table.kind_of(index)
    # A prompt that goes on in further records is the first record's; other messages of such records are their own.
    again = bool(flags & Flag.MORE) and not any(s.role is SpanRole.BODY for s in spans[1:])
    message = Message(
        index=index,
        id=blocks.message_id(blocks.record_id(record, spans[0].offset, again=again), block),
        kind=kind,
        exchange=table.exchange[index],
        timestamp=table.when(index),
        model=session.model_of(index),
        group=None if group == NONE else session.groups.ids[group],
        flags=flags,
        metadata=_facts(record),
    )
    _BY_KIND[kind](_Source(session, message, record, block, spans))
    if not message.parts and message.tool is None and not message.label:
        message.label = "(nothing to read)"  # its words are control characters, or the file changed meanwhile
    return message


def _facts(record: Data) -> dict[str, Any]:
    """What SessionData has no field for."""
    facts: dict[str, Any] = {"recordType": one_line(str(record.get("type")), 60)}
    if isinstance(subtype := record.get("subtype"), str) and subtype:
        facts["recordSubtype"] = one_line(subtype, 60)
    facts |= {name: one_line(text, 300) for name in _FACTS if isinstance(text := record.get(name), str) and text}
    return facts


class _Source:
    """What one message is made from, and where it goes."""

    def __init__(self, session: Session, message: Message, record: Data, block: int, spans: list[Span]) -> None:
        self.session, self.message, self.record, self.block, self.spans = session, message, record, block, spans

    def others(self, role: SpanRole) -> list[Data]:
        """The further records of the message that have a role."""
        return [self.session.record(span) for span in self.spans[1:] if span.role is role]

    def show(self, text: str) -> None:
        """Add a text, if there is one to read."""
        if text.strip():
            self.message.parts.append(Part("text", clean(text)))

    def parts(self) -> list[Data]:
        """The parts of an assistant record that the message is."""
        runs = runs_in(parts_in(self.record)[: blocks.MOST_PARTS])
        return next((run.parts for run in runs if run.place == self.block), [{}])


# -- typed -------------------------------------------------------------------------------------------------------------


def _typed(source: _Source) -> None:
    """A prompt, or text typed while the agent worked."""
    if source.record.get("type") == "system":  # at_command: what was typed stands there, its images come with the rest
        source.show(text_of(payload_of(source.record).get("userText")))
        prompts = [read_prompt(record, "") for record in source.others(SpanRole.DETAIL)]
    else:
        prompts = [read_prompt(record) for record in (source.record, *source.others(SpanRole.BODY))]
        source.show("\n".join(prompt.typed for prompt in prompts if prompt.typed))
        if source.record.get("subtype") == "realtime_message":
            source.message.label = "voice"
    for prompt in prompts:
        source.message.parts += prompt.media
    references = payload_of(source.record).get("attachmentReferences")
    if isinstance(references, list) and references:
        source.message.metadata["attachments"] = clean_value(references)


def _command(source: _Source) -> None:
    typed = source.record.get("type") == "user"
    command = clean(read_prompt(source.record).typed if typed else text_of(payload_of(source.record).get("rawCommand")))
    source.message.label = one_line(command)
    source.message.parts = [Part("text", command)]


# -- said by the agent -------------------------------------------------------------------------------------------------


def _text(source: _Source) -> None:
    parts = source.parts()
    source.show(said_text(parts))
    source.message.parts += media_in(parts)


def _thinking(source: _Source) -> None:
    source.message.parts = [Part("thinking", clean("".join(text_of(part.get("text")) for part in source.parts())))]


def _tool(source: _Source) -> None:
    session, message = source.session, source.message
    call = dict_of(source.parts()[0].get("functionCall"))
    name = text_of(call.get("name"))
    answer = _answer_to(source, text_of(call.get("id")), name)
    if answer is None:
        tool = make_tool(name, call.get("id"), call.get("args"))
    else:
        tool = make_tool(name, call.get("id"), call.get("args"), answer.content, answer.display, answer.status)
        text = read_answer(name, answer).text
        if tool.output is not None and len(text) > len(tool.text) and tool.status is ToolStatus.ERROR:
            tool.text, tool.runs = clean_styled(text)
            tool.output["content"] = tool.text
    message.tool = tool
    cwd = source.record.get("cwd")
    message.path_hints = hints_of(tool, cwd if isinstance(cwd, str) else None, session.workspace_root)
    if message.flags & Flag.SUBAGENT:
        tool.subagent = next((s.id for s in session.subagents if s.tool_use == message.index), None)


def _answer_to(source: _Source, call: str, name: str) -> Answer | None:
    """The result that the scan gave to this use."""
    for record in source.others(SpanRole.RESULT):
        answers = list(answers_in(record))
        for answer in answers:
            if (answer.call == call) if call else (not answer.call and answer.name == name):
                return answer
    return None


# -- beside the talk ---------------------------------------------------------------------------------------------------


def _context(source: _Source) -> None:
    message = source.message
    if source.record.get("type") == "system":
        message.label = notes.files_label(source.record)
        source.show(notes.files_text(source.record))
        return
    prompt = read_prompt(source.record, _typed_before(source))
    if source.block == blocks.HOOK:
        message.label = "Context from a hook"
        source.show(prompt.hook)
    elif source.block == blocks.SENT:
        message.label = "Sent with the prompt"
        source.show(prompt.sent)
    else:
        message.label = prompt.label or context_label(prompt.typed) or "Context"
        source.show(snapshot_text(prompt.typed))
        message.parts += prompt.media


def _typed_before(source: _Source) -> str | None:
    """What the `at_command` before a user record says was typed; None where there was none."""
    session, message = source.session, source.message
    opener = session.exchanges[message.exchange].start
    spans = session.message_spans(opener)
    if opener == message.index or not any(span.offset == source.spans[0].offset for span in spans[1:]):
        return None
    first = session.record(spans[0])
    return text_of(payload_of(first).get("userText")) if first.get("type") == "system" else None


def _note(source: _Source) -> None:
    """What the program sent to the model by itself, a rewind, and files that could not be read."""
    message, record = source.message, source.record
    subtype = text_of(record.get("subtype"))
    if record.get("type") == "system":
        message.label = notes.rewind_label(record) if subtype == "rewind" else notes.files_label(record)
        source.show("" if subtype == "rewind" else notes.files_text(record))
        return
    label, body = notes.note_texts(record)
    message.label = one_line(label)
    source.show(body)
    message.parts += read_prompt(record, "").media


def _compaction(source: _Source) -> None:
    source.message.label = notes.compaction_label(source.record)
    source.show(snapshot_text(notes.compaction_text(source.record)))
    info = dict_of(payload_of(source.record).get("info"))
    if info:
        source.message.metadata["compaction"] = clean_value(info)


def _ended(source: _Source) -> None:
    """A turn that failed or was cancelled."""
    source.message.label = notes.turn_label(source.record)
    source.show(notes.turn_text(source.record))


def _output(source: _Source) -> None:
    """What a command printed, or a result whose tool use is not in the file."""
    message = source.message
    if source.record.get("type") == "system":
        shown, runs = clean_styled(notes.output_text(source.record))
        message.label = "Output"
    else:
        place = source.block - blocks.ORPHAN
        answer = next((answer for answer in answers_in(source.record) if answer.part == place), None)
        shown, runs = clean_styled(read_answer("", answer).text if answer is not None else "")
        message.label = "Result of a tool use that is not in this file"
        if answer is not None:
            message.parts += media_in(answer.content)
            message.metadata["toolUseId"] = clean(answer.call)
    if shown.strip():
        message.parts.insert(0, Part("text", shown, runs=runs))


def _unknown(source: _Source) -> None:
    """A record that nobody described, as it is."""
    raw = source.session.raw(source.spans[0])
    subtype = source.record.get("subtype")
    words = [str(source.record.get("type")), subtype if isinstance(subtype, str) else ""]
    source.message.label = one_line(" ".join(["Unknown record", *words]).strip(), 160)
    text = raw[:_RAW_LIMIT].decode("utf-8", "replace")
    source.message.parts = [Part("text", clean(text) + ("…" if len(raw) > _RAW_LIMIT else ""))]


_BY_KIND: dict[Kind, Callable[[_Source], None]] = {
    Kind.PROMPT: _typed,
    Kind.STEER: _typed,
    Kind.COMMAND: _command,
    Kind.TEXT: _text,
    Kind.THINKING: _thinking,
    Kind.TOOL: _tool,
    Kind.COMPACTION: _compaction,
    Kind.INTERRUPT: _ended,
    Kind.ERROR: _ended,
    Kind.OUTPUT: _output,
    Kind.CONTEXT: _context,
    Kind.NOTE: _note,
    Kind.UNKNOWN: _unknown,
}

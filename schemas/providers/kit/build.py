"""A message, folded again from the items of its records when somebody looks at it."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

from schemas.clean import clean, clean_styled, clean_value, one_line
from schemas.message import Flag, Kind, Message, Part, SpanRole, ToolStatus
from schemas.path_hints import input_path_hints, resolve_hints, shell_directory, shell_path_hints
from schemas.providers.kit.agent import Agent
from schemas.providers.kit.blocks import arguments_of
from schemas.providers.kit.messages import Items, Rows
from schemas.providers.kit.uses import Uses
from schemas.providers.kit.words import Answer, Piece, Say, Use
from schemas.session import Session
from schemas.values import texts_of

_LARGEST_RAW = 1 << 20
_EMPTY = {Kind.THINKING: "Thinking withheld by the provider", Kind.PROMPT: "(empty prompt)"}
_MARKS = {Kind.COMPACTION: "Compacted", Kind.INTERRUPT: "Interrupted"}
_ORPHAN = "Result of a tool use that is not in this file"


class _Fold(NamedTuple):
    say: Say | None
    answer: Answer | None
    text: str
    record: dict[str, Any]


def builder(
    agent: Agent, rows: Rows, uses: Uses, items: Items, *, bare: bool = False
) -> Callable[[Session, int], Message]:
    """The function that builds the messages of a session: its `Session.build`; its `build_bare` with `bare`."""

    def build(session: Session, index: int) -> Message:
        folded = _fold(agent, rows, items, session, index)
        say = folded.say
        message = session.place(Message(index, "" if bare else rows.id_of(index, say), Kind.UNKNOWN, 0), index)
        if say is None:
            message.label = "(the file changed meanwhile)"
            return message
        message.label = one_line(say.label) or _MARKS.get(message.kind, "")
        place = {"cwd": known} if (known := rows.place(index)) else {}
        if not bare or message.kind is Kind.TOOL:  # whose command and directory may stand there
            message.metadata = {**place, **agent.facts(folded.record), **(say.extra or {})}
        if message.kind is Kind.UNKNOWN:
            message.label = f"Unknown {'' if say.text else 'record '}{message.label}".rstrip()
        if message.kind is Kind.TOOL:
            use = say if isinstance(say, Use) else Use()
            if index in rows.growing and folded.text:
                use = replace(use, input=arguments_of(folded.text, "raw"))
            _add_tool(agent, session, message, use, folded.answer, uses)
        else:
            message.parts = _parts(session, message, say, folded)
        if not message.parts and message.tool is None and not message.label:
            # What is being written is not empty: nothing of it is there yet.
            message.label = "…" if Flag.GROWING in message.flags else _EMPTY.get(message.kind, "(nothing to read)")
        return message

    return build


def _fold(agent: Agent, rows: Rows, items: Items, session: Session, index: int) -> _Fold:
    say, answer, record = rows.made.get(index), None, dict[str, Any]()
    if say is not None:
        return _Fold(say, None, say.text, record)
    messages = session.messages
    if index in rows.growing and messages.has(index, Flag.GROWING) and messages.kind[index] != Kind.TOOL:
        # It is drawn again for every few of its pieces, of which there are thousands.
        record, say = items.at(session, next(rows.spans(index)))
        pieces = rows.growing[index] = ["".join(rows.growing[index])]
        return _Fold(say, None, pieces[0], record)
    texts: list[str] = []
    beside: list[Answer] = []
    alone = True
    for span in rows.spans(index):
        value, item = items.at(session, span)
        record = record or value
        said = item.answer if isinstance(item, Use) else item
        if span.role is SpanRole.RESULT:
            answer = said if isinstance(said, Answer) and said.text is not None else answer
        elif span.role is SpanRole.DETAIL and isinstance(said, Answer):
            beside.append(said)
        elif isinstance(item, Say) and say is not None and span.role is SpanRole.DETAIL:
            if alone:
                say, alone = copy(say), False  # what `read` gave is kept for the other messages of its record
            _add(say, texts, item)
        elif isinstance(item, Say):
            say, record, texts, alone = item, value, [item.text], True
        elif isinstance(item, Answer):
            shown, _ = agent.tool(Use(use_id=item.use_id), item, session.path)
            say = Say(Kind.OUTPUT, shown.text, _ORPHAN, images=shown.images, extra={"toolUseId": item.use_id})
            texts = [say.text]
    if beside:
        shows = next((one for one in beside if one.text), beside[0])
        answer = replace(answer or shows, text=(answer.text if answer else "") or shows.text, more=beside)
    return _Fold(say, answer, "".join(texts), record)


def _add(say: Say, texts: list[str], item: Say) -> None:
    """Add to a message what another record tells of it."""
    if not isinstance(item, Piece):  # the same once more: it gives what is missing
        texts[:] = texts if any(texts) else [item.text]
        say.label, say.images = say.label or item.label, say.images or item.images
        say.extra = {**(item.extra or {}), **(say.extra or {})}
        return
    if not item.apart:
        texts.append(item.text)
    elif item.text.strip() not in "".join(texts):
        texts.append(f"\n\n{item.text}" if any(texts) else item.text)
    labels = filter(None, (say.label, item.label)) if item.apart else [say.label or item.label]
    say.label, say.images = ", ".join(dict.fromkeys(labels)), [*say.images, *item.images]


def _parts(session: Session, message: Message, say: Say, folded: _Fold) -> list[Part]:
    if not folded.text and message.kind is Kind.UNKNOWN:
        raw = session.raw(session.message_spans(message.index)[0])[:_LARGEST_RAW]
        return [Part("text", clean(raw.decode("utf-8", "replace")))]
    if message.kind is Kind.OUTPUT:
        shown, runs = clean_styled(folded.text)
        parts = [Part("text", shown, runs=runs)]
    else:
        parts = [Part("thinking" if message.kind is Kind.THINKING else "text", clean(folded.text))]
    return [part for part in parts if part.text] + list(say.images)


def _add_tool(agent: Agent, session: Session, message: Message, use: Use, answer: Answer | None, uses: Uses) -> None:
    tool, facts = agent.tool(use, answer, session.path)
    message.metadata |= facts
    if tool.diffs and tool.input != use.input and clean_value(use.input) != use.input:  # an agent may change it, too
        for diff in tool.diffs:
            diff.cleaned = True
    tool.status = uses.judged.get(message.index, tool.status)
    if message.flags & Flag.PENDING:  # what was told beside a result is none
        tool.status, tool.output = ToolStatus.PENDING, None
    lead = uses.leads.get(message.index)
    tool.subagent = next((s.id for s in session.subagents if s.tool_use == message.index or s.id == lead), None)
    if message.flags & Flag.INTERRUPTED and tool.status is ToolStatus.PENDING:
        tool.status = ToolStatus.INTERRUPTED
    tool.listing = agent.listing
    if tool.status is ToolStatus.DENIED:
        found = [(match.start(), who) for words, who in agent.deniers if (match := re.search(words, tool.text[:500]))]
        tool.denier = min(found, default=(0, ""))[1]
    message.tool = tool
    hints, place = input_path_hints(tool.input), message.metadata.get("cwd") or session.workspace_root
    if tool.type == "shell":
        command = message.metadata.get("command") or tool.input.get("command")
        commands = texts_of(tool.input.get("commands")) or [command if isinstance(command, str) else ""]
        hints += shell_path_hints("\n".join(commands))
        place = shell_directory(tool.input, place)
    hints += [path for diff in tool.diffs for path in (diff.path, diff.renamed_to) if path]
    message.path_hints = resolve_hints(list(dict.fromkeys(hints)), place, session.workspace_root)

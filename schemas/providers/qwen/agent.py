"""Assistant records: one for each call of the model, with its thinking, its text and its calls of tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.clean import clean
from schemas.message import Flag, Kind, SpanRole
from schemas.providers._google import said_text
from schemas.providers.qwen import blocks
from schemas.providers.qwen.prompts import Run, parts_in, runs_in
from schemas.providers.qwen.results import answers_in
from schemas.providers.qwen.tokens import read_usage
from schemas.records import Record
from schemas.session import Inherited
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, size_of, text_of

if TYPE_CHECKING:
    from schemas.providers.qwen.parse import QwenParser

_PENDING = int(Flag.PENDING)


class AgentLines:
    """Turns assistant records into messages and token groups."""

    def __init__(self, parser: QwenParser) -> None:
        self._parser = parser
        self._session = parser.session
        self.groups: dict[int, int] = {}
        """The token groups by their records' nodes."""

    def assistant(self, record: Record) -> None:
        """One call of the model, or more of one: old files hold a call in several records with one uuid."""
        session, value = self._session, record[3]
        first = len(session.messages)
        self._parser.people.at = None
        parts = parts_in(value)
        answered = False
        for run in runs_in(parts[: blocks.MOST_PARTS]):
            answered = answered or run.kind == "result"
            self._run(record, run)
        if len(parts) > blocks.MOST_PARTS:
            self._parser.hide(f"parts beyond {blocks.MOST_PARTS:,}")
        for answer in answers_in(value) if answered else ():
            self._parser.results.take(record, answer)
        model = session.model_index(text_of(value.get("model")))
        for row in range(first, len(session.messages)):
            session.messages.model[row] = model
        usage = read_usage(value.get("usageMetadata"))
        if usage is not None and self._parser.inherited:
            self._inherit(record, usage, model)
        elif usage is not None:
            self._count(record, usage, model, first)
        elif first == len(session.messages) and not answered:
            self._parser.hide("assistant (empty)")
        if window := as_count(value.get("contextWindowSize")):
            session.context_window = window

    def _run(self, record: Record, run: Run) -> None:
        parser = self._parser
        if run.kind == "tool":
            call = run.parts[0]["functionCall"]
            row = parser.row(Kind.TOOL, record, run.place)
            self._session.messages.flags[row] |= _PENDING
            parser.results.call(row, text_of(call.get("id")), text_of(call.get("name")), dict_of(call.get("args")))
        elif run.kind == "media":
            parser.row(Kind.TEXT, record, run.place, 0, 1)
        elif run.kind != "result":
            thinks = run.kind == "thinking"
            text = "".join(part["text"] for part in run.parts) if thinks else said_text(run.parts)
            if text.strip():
                parser.row(Kind.THINKING if thinks else Kind.TEXT, record, run.place, *size_of(text))

    def _inherit(self, record: Record, usage: TokenUsage, model: int) -> None:
        """Keep a copied response's figures: they count here only where the session it is from is gone."""
        session, value = self._session, record[3]
        given = text_of(dict_of(value.get("forkedFrom")).get("messageUuid")) or text_of(value.get("uuid"))
        name = clean(given or f"assistant@{record[0]}")
        span = session.add_span(record, SpanRole.USAGE)
        exchange, before = max(len(session.exchanges) - 1, 0), session.inherited.get(name)
        if before is None:
            before = Inherited(name, usage, session.models[model], None, exchange, span, span)
        else:
            session.spans.extend(before.tail, span)
        session.inherited[name] = before._replace(usage=usage, time=self._parser.time, tail=span)

    def _count(self, record: Record, usage: TokenUsage, model: int, first: int) -> None:
        """Count what the call cost, once: of several records with one uuid the last one's figures hold."""
        session, node = self._session, self._parser.node
        group = self.groups.get(node, -1) if self._parser.again else -1
        if group < 0:
            uuid = value if isinstance(value := record[3].get("uuid"), str) and value else f"assistant@{record[0]}"
            group = self.groups[node] = session.add_group(clean(uuid), usage, record, model=model)
        else:
            before = session.groups.last[group]
            if before < first:
                self._parser.changed.add(before)
            session.extend_group(group, usage, record)
        for row in range(first, len(session.messages)):
            session.join_group(row, group)
        session.context_used = usage.context

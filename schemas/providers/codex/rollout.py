"""Rollout records to a session: which record goes to which reader (formats note 2, 4, 5 and 9.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from schemas.clean import one_line
from schemas.message import Kind
from schemas.providers.codex.beside import Beside
from schemas.providers.codex.build import Builder
from schemas.providers.codex.events import EVENTS, hide, turn_settings
from schemas.providers.codex.items import ITEMS, compacted
from schemas.providers.codex.mirrors import Source
from schemas.providers.codex.old import environment_cwd, is_old_header
from schemas.providers.codex.scan import Scan, TurnsOfParent, make_session
from schemas.records import Record
from schemas.session import Change, Session
from schemas.values import list_of, text_of

_SILENT = (
    "world_state",
    "inter_agent_communication_metadata",
    "security_risk_score",
    "realtime_item",
    "rollout_reference",
    "session_state",
)


class CodexParser:
    """Fills a session from a rollout's records; see `schemas.provider.Parser`."""

    def __init__(
        self, path: Path, identifier: str, meta: dict[str, Any], turns_of_parent: TurnsOfParent | None = None
    ) -> None:
        self.session: Session = make_session(path, identifier)
        self._scan = Scan(self.session, meta, turns_of_parent or _no_turns)
        self.session.build = Builder(self._scan.places)
        self._headed = bool(meta)
        self._base_read = False
        self._beside = Beside(self.session, meta)
        self._title()

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more records, in the file's order; returns what changed."""
        scan = self._scan
        scan.begin_batch()
        handlers, settled = _HANDLERS, scan.history.settled
        for record in records:
            if settled:
                value = record[3]
                try:
                    payload = value["payload"]
                    handler = handlers[value["type"]][payload["type"]]
                except (KeyError, TypeError):
                    pass  # something rarer, or a field of another type
                else:
                    handler(scan, record, payload)
                    continue
            self._take(record)
            settled = scan.history.settled  # a header may have come
        self._title()
        return scan.end_batch()

    def _take(self, record: Record) -> None:
        """Take a record of whatever sort."""
        value = record[3]
        kind, payload = value.get("type"), value.get("payload")
        if not isinstance(payload, dict):
            self._bare(record, value)
            return
        if not self._scan.history.settled:
            self._look(value, payload, text_of(kind))
        sub = payload.get("type")
        if kind == "response_item":
            handler = ITEMS.get(sub) if isinstance(sub, str) else _untyped(payload)
        elif kind == "event_msg":
            handler = EVENTS.get(sub) if isinstance(sub, str) else None
            if handler is None and text_of(sub).endswith(("_begin", "_delta")):
                handler = hide
        else:
            self._line(record, text_of(kind), payload)
            return
        if handler is not None:
            handler(self._scan, record, payload)
        else:
            self._unknown(record, f"{kind} {sub}" if isinstance(sub, str) else str(kind))

    def feed_base(self, records: Iterable[Record], store: int) -> list[Change]:
        """Take records of another file that this one goes on from; `store` is that file's place in the session."""
        self._base_read = True
        scan = self._scan
        scan.store, scan.history.forced, scan.inherited = store, True, True
        changes = self.feed(records)
        scan.store, scan.history.forced = 0, False
        scan.inherited = scan.history.inherited
        return changes

    def end_base(self) -> None:
        """The file's own records begin."""
        self._scan.end_turn()
        self._scan.own_begins()

    def refresh(self) -> list[Change]:
        """Look again at what lies beside the file: names and subagents."""
        changes = self._beside.refresh()
        self._title()
        return changes

    def _look(self, value: dict[str, Any], payload: dict[str, Any], kind: str) -> None:
        scan, history = self._scan, self._scan.history
        before = history.inherited
        if history.look(value, payload, kind):
            scan.all_inherited()
        scan.inherited = history.inherited
        if before and not scan.inherited:
            scan.own_begins()

    # -- lines that are neither item nor event -------------------------------------------------------------------------

    def _line(self, record: Record, kind: str, payload: dict[str, Any]) -> None:
        handler = _LINES.get(kind)
        if handler is not None:
            handler(self, record, payload)
        elif kind in _SILENT:
            self.session.hidden[kind] += 1
        else:
            self._unknown(record, kind or "(no type)")

    def _unknown(self, record: Record, name: str) -> None:
        self.session.unknown[one_line(name, 100)] += 1
        self._scan.add(Kind.UNKNOWN, record, chars=record[1], lines=1)

    def _meta(self, record: Record, payload: dict[str, Any]) -> None:
        scan = self._scan
        if not self._headed:
            self._headed = True
            if not self.session.exchanges:
                scan.take_meta(payload)
                scan.history.look(record[3], payload, "session_meta")
                self._beside.take_meta(payload)
        if scan.store or scan.history.forced:
            self.session.hidden["session_meta"] += 1
        elif payload.get("history_base") and payload.get("id") == scan.meta.get("id") and not self._base_read:
            self._base_read = True
            if record[0] == 0:
                scan.add(Kind.NOTE, record)  # says that the beginning is missing
        else:
            self.session.hidden["session_meta"] += 1
            if payload.get("id") == scan.meta.get("id"):  # resumed by a newer build
                version = one_line(text_of(payload.get("cli_version")), 40)
                self.session.version = version or self.session.version

    def _turn_context(self, record: Record, payload: dict[str, Any]) -> None:
        scan = self._scan
        turn = text_of(payload.get("turn_id"))
        if turn and not scan.in_turn:
            scan.tokens.begin_turn(turn)
        turn_settings(scan, record, payload, "turn_context")

    def _compacted(self, record: Record, payload: dict[str, Any]) -> None:
        text = text_of(payload.get("message")) or text_of(payload.get("summary"))
        compacted(self._scan, record, text, Source.LINE)

    def _usage(self, record: Record, payload: dict[str, Any]) -> None:
        scan = self._scan
        said = scan.tokens.response(record, payload, scan.model, scan.store, not scan.inherited)
        if said == "repeated":
            self.session.duplicates += 1
        elif said == "foreign":
            self.session.hidden["token_usage_record"] += 1

    def _mail(self, record: Record, payload: dict[str, Any]) -> None:
        ITEMS["agent_message"](self._scan, record, payload)

    def _answer(self, record: Record, payload: dict[str, Any]) -> None:
        scan = self._scan
        call = scan.find_call(payload.get("call_id"))
        if call is not None:
            scan.attach(call, record)
        elif list_of(payload.get("questions")):
            scan.add(Kind.NOTE, record)
        else:
            self.session.hidden["retained_context"] += 1

    # -- old lines -----------------------------------------------------------------------------------------------------

    def _bare(self, record: Record, value: dict[str, Any]) -> None:
        """A line without envelope: before mid-September 2025, or an item of a TypeScript document."""
        kind = value.get("type")
        if "record_type" in value:
            self.session.hidden["record_type"] += 1
        elif isinstance(kind, str) and kind in ITEMS:
            self._take_cwd(value)
            ITEMS[kind](self._scan, record, value)
        elif kind is None and is_old_header(value):
            if not self._headed:
                self._headed = True
                self._scan.take_meta(value)
                self._beside.take_meta(value)
            self.session.hidden["session header"] += 1
        else:
            self._unknown(record, kind if isinstance(kind, str) and kind else "(no type)")

    def _take_cwd(self, value: dict[str, Any]) -> None:
        if value.get("role") == "user":
            self._scan.enter(environment_cwd(value))

    def _title(self) -> None:
        scan, session = self._scan, self.session
        session.title = self._beside.name or scan.name or scan.first_prompt or self._beside.fallback()


def _no_turns(meta: dict[str, Any]) -> frozenset[str]:
    return frozenset()


_HANDLERS = {"response_item": ITEMS, "event_msg": EVENTS}
_LINES: dict[str, Callable[[CodexParser, Record, dict[str, Any]], None]] = {
    "session_meta": CodexParser._meta,
    "turn_context": CodexParser._turn_context,
    "compacted": CodexParser._compacted,
    "token_usage_record": CodexParser._usage,
    "inter_agent_communication": CodexParser._mail,
    "retained_context": CodexParser._answer,
}


def _untyped(payload: dict[str, Any]) -> Callable[[Scan, Record, dict[str, Any]], None] | None:
    """A third-party item that leaves its type out."""
    return ITEMS["message"] if "role" in payload and "content" in payload else None

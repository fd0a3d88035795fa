"""System records: commands, compaction, rewinds, how turns ended, and facts of the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from schemas.clean import one_line
from schemas.message import Flag, Kind
from schemas.providers.qwen import notes
from schemas.providers.qwen.prompts import payload_of
from schemas.records import Record
from schemas.values import size_of, text_of

if TYPE_CHECKING:
    from schemas.providers.qwen.parse import QwenParser

_BESIDE = ("session_artifact_", "session_sources_", "managed_session_")
_SILENT = frozenset(
    [
        "ui_telemetry",  # the usage of an assistant record once more: never added to it
        "session_approval_mode",
        "session_execution_engine",
        "session_notes",
        "file_history_snapshot",
        "attribution_snapshot",
        "background_task_completed",
        "branch_checkpoint",
        "session_sources_snapshot",
        "user_text_elements",
        "omni_recall",
    ]
)
_SILENT_FAMILIES = ("goal_", "agent_", "session_artifact_", "managed_session_")


def is_beside(subtype: object) -> bool:
    """Whether Qwen Code writes such records beside the conversation, so that none of them is ever its end."""
    return isinstance(subtype, str) and subtype.startswith(_BESIDE)


class SystemLines:
    """Turns system records into messages, or into facts of the session."""

    def __init__(self, parser: QwenParser) -> None:
        self._parser = parser
        self._session = parser.session
        self._handlers: dict[str, Callable[[Record], None]] = {
            "slash_command": self._command,
            "at_command": parser.people.at_command,
            "chat_compression": self._compaction,
            "rewind": self._rewind,
            "turn_result": self._turn,
            "custom_title": self._title,
            "parent_session": self._parent,
            "session_model": self._model,
            "session_source": self._source,
        }

    def system(self, record: Record) -> None:
        """A system record of any subtype."""
        subtype = record[3].get("subtype")
        name = subtype if isinstance(subtype, str) else ""
        if handler := self._handlers.get(name):
            handler(record)
        elif name in _SILENT or name.startswith(_SILENT_FAMILIES):
            self._parser.hide(name)
        else:
            self._parser.unknown(record, f"system {subtype}" if subtype is not None else "system")

    def _command(self, record: Record) -> None:
        payload = payload_of(record[3])
        if payload.get("phase") == "result":
            self._was_command(text_of(payload.get("rawCommand")))
            text = notes.output_text(record[3])
            if not text.strip():
                self._parser.hide("slash_command (no output)")
                return
            row = self._parser.text_row(Kind.OUTPUT, record, text)
            if notes.is_failed_output(record[3]):
                self._session.messages.flags[row] |= Flag.ERROR
            return
        command = text_of(payload.get("rawCommand"))
        if payload.get("hiddenInvocation") is True or not command.strip():
            self._parser.hide("slash_command (not shown)")
        else:
            self._parser.text_row(Kind.COMMAND, record, command)

    def _was_command(self, command: str) -> None:
        """An editor's session has a command typed as a prompt; that the program answers it tells what it was."""
        session = self._session
        exchange = session.exchanges[-1] if session.exchanges else None
        if exchange is None or exchange.opener is not Kind.PROMPT or len(session.message_range(exchange.index)) != 1:
            return
        if command.startswith("/") and exchange.prompt == one_line(command, 300):
            exchange.opener = Kind.COMMAND
            session.messages.kind[exchange.start] = Kind.COMMAND
            self._parser.changed.add(exchange.start)

    def _compaction(self, record: Record) -> None:
        self._parser.text_row(Kind.COMPACTION, record, notes.compaction_text(record[3]))

    def _rewind(self, record: Record) -> None:
        """It ends what was taken back, so it stands behind that; what follows is in another exchange."""
        self._parser.rewound = False
        self._parser.row(Kind.NOTE, record, 0, 0, 1)
        self._parser.rewound = True

    def _turn(self, record: Record) -> None:
        """How a turn ended, and how long it ran; a prompt may take several turns, as when a task wakes the agent."""
        payload, exchanges = payload_of(record[3]), self._session.exchanges
        state, text = payload.get("state"), notes.turn_text(record[3])
        if state == "error" or text:
            row = self._parser.row(Kind.ERROR, record, 0, *size_of(text))
            self._session.messages.flags[row] |= Flag.ERROR
            exchanges[-1].errors += 1
        elif state == "cancelled":
            self._parser.row(Kind.INTERRUPT, record, 0, 0, 1)
            exchanges[-1].interrupted = True
        else:
            self._parser.hide("turn_result")
        start, end = payload.get("startedAt"), payload.get("endedAt")
        if exchanges and isinstance(start, int | float) and isinstance(end, int | float) and 0 < start <= end < 1e14:
            exchanges[-1].seconds = (exchanges[-1].seconds or 0.0) + (end - start) / 1000

    def _title(self, record: Record) -> None:
        """The last one counts; it is written again and again, so that the file's end has it."""
        payload = payload_of(record[3])
        if title := one_line(text_of(payload.get("customTitle")), 200):
            self._parser.custom_title = title
            self._session.metadata["titleSource"] = one_line(text_of(payload.get("titleSource")) or "manual", 40)
        self._parser.hide("custom_title")

    def _parent(self, record: Record) -> None:
        if parent := one_line(text_of(payload_of(record[3]).get("parentSessionId")), 300):
            self._session.lineage.parent = parent
        self._parser.hide("parent_session")

    def _model(self, record: Record) -> None:
        if model := one_line(text_of(payload_of(record[3]).get("modelId")), 100):
            self._session.metadata["sessionModel"] = model
        self._parser.hide("session_model")

    def _source(self, record: Record) -> None:
        if source := one_line(text_of(payload_of(record[3]).get("sourceType")), 100):
            self._session.metadata["sessionSource"] = source
        self._parser.hide("session_source")

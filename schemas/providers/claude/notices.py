"""The records beside the talk: system records, attachments, queued prompts, session facts (formats note 3)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from schemas.clean import clean, one_line
from schemas.message import Flag, Kind, SpanRole
from schemas.providers.claude.classify import has_media, tag, texts_of, typed_text
from schemas.records import Record
from schemas.session import Session

if TYPE_CHECKING:
    from schemas.providers.claude.parse import ClaudeParser

Value = dict[str, Any]

# Bookkeeping: types that hold nothing to read. From "continued-in" on they are known from the table of 2.1.332 itself
# only, and were never seen in a file.
_SILENT = frozenset(
    [
        "last-prompt",
        "mode",
        "ai-title",
        "custom-title",
        "agent-name",
        "file-history-snapshot",
        "file-history-delta",
        "summary",
        "pr-link",
        "relocated",
        "worktree-state",
        "frame-link",
        "atis-latch",
        "bridge-session",
        "cost-state",
        "artifact-autoreact-ledger",
        "artifact-comment-monitor",
        "agent-setting",
        "history-suppression",
        "tag",
        "agent-color",
        "started",
        "result",
        "permission-mode",
        "attribution-snapshot",
        "content-replacement",
        "fork-context-ref",
        "speculation-accept",
        "isolation-latch",
        "marble-origami-commit",
        "marble-origami-snapshot",
        # What was sent to the model and with which tools: of 2.1.332, before and after every response.
        "api-request-shape",
        "api-request-blob",
        "api-request",
        "tools-used",
        "continued-in",
        "resume-head-vouch",
        "api-request-resumed",
        "host-row",
        "data-flow-records",
        "data-flow-incomplete",
        "memory-mode",
        "derived-from",
        "ended-by-model",
        "session-owner",
        "dev-mods",
        "observer-ref",
        "repl-mode",
        "hybrid-organization",
    ]
)
_SILENT_SUBTYPES = frozenset({"session_start", ""})
_NOTES = frozenset(
    [
        "away_summary",
        "informational",
        "scheduled_task_fire",
        "agents_killed",
        "bridge_status",
        "model_refusal_fallback",
        "api_error",
        "microcompact_boundary",
    ]
)
_FAILURES = frozenset({"error", "api_refusal"})
_CONTEXT = frozenset({"file", "edited_text_file", "diagnostics"})
_ATTACHED_NOTES = frozenset({"plan_mode", "plan_mode_exit", "task_status"})
SHOWN_ATTACHMENTS = frozenset({"queued_command", "hook_blocking_error"}) | _CONTEXT | _ATTACHED_NOTES
_MAX_LINKS = 1000


@lru_cache(200)
def hidden_attachment(kind: str) -> str:
    """What an attachment that is not shown is counted as; few types occur, each of them often."""
    return f"attachment {one_line(kind, 60)}"


class Queue:
    """Text typed while the agent works (formats note 5.4).

    An `enqueue` is never shown: the text comes again as a user line or an attachment. A `remove` is shown where it
    stands, and the record that delivers the same text joins it, so that it is there once.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Record]] = []
        self._shown: dict[int, int] = {}
        self._attached: set[int] = set()

    def enqueue(self, text: str, record: Record) -> None:
        """A text that waits."""
        if len(self._waiting) < 1000:
            self._waiting.append((hash(text.strip()), (record[0], record[1], record[2], {})))

    def dequeue(self) -> None:
        """The oldest waiting text becomes an ordinary user line."""
        del self._waiting[:1]

    def clear(self) -> None:
        """All waiting texts were taken back into the input box."""
        self._waiting.clear()

    def removed(self, text: str | None) -> tuple[int, Record] | None:
        """What a `remove` delivers. Until 2.1.202 it does not say which text; then it is the oldest."""
        if text is None:
            return self._waiting.pop(0) if self._waiting else None
        wanted = hash(text.strip())
        for i, entry in enumerate(self._waiting):
            if entry[0] == wanted:
                del self._waiting[i]
                return entry
        return None

    def show(self, identity: int, row: int) -> bool:
        """Note that a text is shown by message `row`; False if an attachment has shown it already."""
        if identity in self._attached:
            return False
        self._shown[identity] = row
        return True

    def attached(self, text: str) -> int:
        """The message that already shows the text of an attachment; -1 if none does."""
        identity = hash(text.strip())
        self._attached.add(identity)
        return self._shown.pop(identity, -1)

    def delivered(self, text: str, session: Session) -> int:
        """The message that already shows the text of a prompt, if the agent has done nothing since; else -1."""
        if not self._shown:
            return -1
        row = self._shown.pop(hash(text.strip()), -1)
        last = session.exchanges[-1] if session.exchanges else None
        if row < 0 or last is None or row <= last.start:
            return -1
        agent = (Kind.TEXT, Kind.THINKING, Kind.TOOL)
        return -1 if any(session.messages.kind[i] in agent for i in range(row, len(session.messages))) else row


class Notices:
    """Handles what is neither a user's nor the agent's line, for one parser."""

    def __init__(self, parser: ClaudeParser) -> None:
        self._parser = parser
        self._session = parser.session
        self._boundaries: dict[int, int] = {}
        self._summaries: dict[int, int] = {}
        self._open_boundary = -1
        self._modes: dict[str, str] = {}

    # -- system ----------------------------------------------------------------------------------------------------

    def system(self, record: Record, value: Value) -> None:
        """A `system` record, by its subtype (formats note 3.1)."""
        parser, subtype = self._parser, value.get("subtype")
        if not isinstance(subtype, str):
            parser.hide("system")
        elif subtype == "turn_duration":
            self._duration(value)
        elif subtype == "stop_hook_summary":
            if value.get("hookErrors") or value.get("preventedContinuation") is True:
                row = parser.row(Kind.ERROR, record, chars=80, lines=1)
                self._session.messages.flags[row] |= Flag.ERROR
                self._session.exchanges[-1].errors += 1
            else:
                parser.hide("system stop_hook_summary")
        elif subtype == "compact_boundary":
            self.boundary(record, value)
        elif subtype == "local_command":
            self._local_command(record, value)
        elif subtype in _NOTES:
            content = value.get("content")
            parser.text_row(Kind.NOTE, record, content if isinstance(content, str) else "")
        elif subtype in _FAILURES:
            row = parser.row(Kind.ERROR, record, chars=80, lines=1)
            self._session.messages.flags[row] |= Flag.ERROR
            self._session.exchanges[-1].errors += 1
        elif subtype in _SILENT_SUBTYPES:
            parser.hide(f"system {subtype}".strip())
        else:
            parser.unknown(record, f"system {subtype}")

    def _duration(self, value: Value) -> None:
        self._parser.hide("system turn_duration")
        spent = value.get("durationMs")
        if (
            isinstance(spent, int | float)
            and not isinstance(spent, bool)
            and 0 <= spent < 1e12
            and self._session.exchanges
        ):
            exchange = self._session.exchanges[-1]
            exchange.seconds = (exchange.seconds or 0.0) + spent / 1000

    def _local_command(self, record: Record, value: Value) -> None:
        parser, content = self._parser, value.get("content")
        text = content if isinstance(content, str) else ""
        if not text.lstrip().startswith("<local-command-"):
            parser.people.command(record, text.lstrip())
            return
        shown = (tag(text, "local-command-stdout") or "").strip()
        if shown.startswith("Session renamed to: "):
            parser.titles.renamed = one_line(shown.removeprefix("Session renamed to: "))
        parser.people.output(record, text)

    # -- compaction ------------------------------------------------------------------------------------------------

    def boundary(self, record: Record, value: Value) -> None:
        """Where the context was compacted. Its summary, wherever it stands, is part of the same message."""
        parser = self._parser
        uuid = value.get("uuid")
        identity = hash(uuid) if isinstance(uuid, str) else 0
        row = self._summaries.pop(identity, -1)
        if row >= 0:
            parser.result_span(row, record, SpanRole.DETAIL)
            return
        row = parser.row(Kind.COMPACTION, record, chars=0, lines=0)
        if identity:
            self._boundaries[identity] = row
        self._open_boundary = row

    def summary(self, record: Record, value: Value, text: str) -> None:
        """The summary with which the talk goes on after a compaction."""
        parser, parent = self._parser, value.get("parentUuid")
        identity = hash(parent) if isinstance(parent, str) else 0
        row = self._boundaries.pop(identity, -1)
        if row < 0 and self._open_boundary >= 0:
            row = self._open_boundary
        if row < 0:
            row = parser.text_row(Kind.COMPACTION, record, text)
            if identity:
                self._summaries[identity] = row
            return
        if row == self._open_boundary:
            self._open_boundary = -1
        parser.result_span(row, record, SpanRole.DETAIL)
        messages = self._session.messages
        messages.chars[row], messages.lines[row] = len(text), text.count("\n") + bool(text)

    # -- attachments -----------------------------------------------------------------------------------------------

    def attachment(self, record: Record, value: Value) -> None:
        """An `attachment` record, by the type within (formats note 3.2)."""
        parser, inner = self._parser, value.get("attachment")
        kind = inner.get("type") if isinstance(inner, Mapping) else None
        if not isinstance(inner, Mapping) or not isinstance(kind, str):
            parser.hide("attachment")
        elif kind == "queued_command":
            self._queued(record, inner)
        elif kind == "hook_blocking_error":
            row = parser.row(Kind.ERROR, record, chars=80, lines=1)
            self._session.messages.flags[row] |= Flag.ERROR
            self._session.exchanges[-1].errors += 1
        elif kind in _CONTEXT:
            parser.row(Kind.CONTEXT, record, chars=record[1], lines=1)
        elif kind in _ATTACHED_NOTES:
            parser.row(Kind.NOTE, record, chars=80, lines=1)
        else:
            parser.hide(hidden_attachment(kind))

    def _queued(self, record: Record, inner: Mapping[str, Any]) -> None:
        parser = self._parser
        prompt = inner.get("prompt")
        text = typed_text(prompt)[0]
        origin = inner.get("origin")
        kind = origin.get("kind") if isinstance(origin, Mapping) else None
        if not text and not has_media(prompt):
            parser.hide("attachment queued_command")
        elif inner.get("commandMode") == "task-notification" or text.startswith("<task-notification>"):
            parser.links.notification("\n".join(texts_of(prompt)))
            parser.text_row(Kind.NOTE, record, text)
        elif kind in ("peer", "coordinator") or text.startswith(("<teammate-message", "<agent-message")):
            parser.text_row(Kind.NOTE, record, text)
        elif (row := parser.queue.attached(text)) >= 0:
            parser.result_span(row, record, SpanRole.BODY)
            self._session.messages.flags[row] |= Flag.MORE
        else:
            parser.text_row(Kind.STEER, record, text)

    # -- records without a place in the chain ----------------------------------------------------------------------

    def metadata(self, record: Record, value: Value, kind: object) -> None:
        """A fact of the session; for titles and modes the last one counts. Unknown types are shown as they are."""
        parser = self._parser
        if not isinstance(kind, str):
            parser.unknown(record, "(no type)" if kind is None else str(kind))
            return
        handler = _METADATA.get(kind)
        if handler is not None:
            handler(self, record, value)
        if kind in _SILENT:
            if kind != "permission-mode":
                parser.hide(kind)
        elif kind != "queue-operation":
            parser.set_time(value.get("timestamp"))
            parser.unknown(record, kind)

    def _title(self, record: Record, value: Value) -> None:
        titles = self._parser.titles
        custom, ai = value.get("customTitle"), value.get("aiTitle")
        if isinstance(custom, str) and custom.strip():
            titles.custom = one_line(custom)
        if isinstance(ai, str) and ai.strip():
            titles.ai = one_line(ai)

    def _last_prompt(self, record: Record, value: Value) -> None:
        if isinstance(text := value.get("lastPrompt"), str):
            self._parser.titles.last_prompt = text

    def _summary_line(self, record: Record, value: Value) -> None:
        leaf, text = value.get("leafUuid"), value.get("summary")
        if isinstance(leaf, str) and isinstance(text, str) and text.strip():
            self._parser.titles.add_summary(hash(leaf), text)

    def _link(self, record: Record, value: Value) -> None:
        for name in ("prUrl", "frameUrl"):
            url = value.get(name)
            links = self._session.links
            if isinstance(url, str) and len(links) < _MAX_LINKS and (link := one_line(url, 2000)) not in links:
                links.append(link)

    def _mode(self, record: Record, value: Value) -> None:
        mode = value.get("permissionMode")
        before = self._modes.get("permission")
        if not isinstance(mode, str) or mode == before:
            self._parser.hide("permission-mode")
            return
        self._modes["permission"] = mode
        self._session.metadata["permissionMode"] = one_line(mode, 80)
        if before is None:
            self._parser.hide("permission-mode")
        else:
            self._parser.set_time(value.get("timestamp"))
            self._parser.row(Kind.NOTE, record, chars=20, lines=1)

    def _worktree(self, record: Record, value: Value) -> None:
        inner = value.get("worktreeSession")
        path = inner.get("worktreePath") if isinstance(inner, Mapping) else value.get("relocatedCwd")
        if isinstance(path, str):
            self._session.metadata["worktree"] = clean(path)

    def _queue_operation(self, record: Record, value: Value) -> None:
        parser, queue = self._parser, self._parser.queue
        operation, content = value.get("operation"), value.get("content")
        text = content if isinstance(content, str) else None
        if operation == "enqueue" and text is not None:
            if text.lstrip().startswith("<task-notification>"):
                parser.links.notification(text)
            queue.enqueue(text, record)
        elif operation == "dequeue":
            queue.dequeue()
        elif operation == "popAll":
            queue.clear()
        elif operation == "remove" and (found := queue.removed(text)) is not None:
            self._removed(record, text, found)
            return
        elif operation == "remove" and text is not None:
            self._removed(record, text, (hash(text.strip()), record))
            return
        parser.hide("queue-operation")

    def _removed(self, record: Record, text: str | None, found: tuple[int, Record]) -> None:
        """Queued text was delivered while the agent worked."""
        parser = self._parser
        if text is None:
            queued = self._session.stores[0].record(found[1][0], found[1][1]).get("content")
            text = queued if isinstance(queued, str) else ""
        typed = typed_text(text)[0]
        if not typed or typed.startswith("<") or _is_command(typed) or not parser.queue.show(found[0], -1):
            parser.hide("queue-operation")
            return
        parser.set_time(record[3].get("timestamp"))
        row = parser.text_row(Kind.STEER, record, typed)
        parser.queue.show(found[0], row)
        if found[1][0] != record[0]:
            parser.result_span(row, found[1], SpanRole.BODY)
            self._session.hidden["queue-operation"] -= 1  # the enqueue is shown after all


def _is_command(text: str) -> bool:
    """Whether queued text is a slash command: it is executed, and written as a command line of its own."""
    word = text.split(None, 1)[0] if text.split() else ""
    return word.startswith("/") and "/" not in word[1:]


_METADATA = {
    "custom-title": Notices._title,
    "ai-title": Notices._title,
    "last-prompt": Notices._last_prompt,
    "summary": Notices._summary_line,
    "pr-link": Notices._link,
    "frame-link": Notices._link,
    "permission-mode": Notices._mode,
    "worktree-state": Notices._worktree,
    "relocated": Notices._worktree,
    "queue-operation": Notices._queue_operation,
}

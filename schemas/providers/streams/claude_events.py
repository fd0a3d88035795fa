"""What stands between the lines of a Claude stream: tasks, hooks, retries, refusals, limits (formats note 2.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from schemas.clean import one_line
from schemas.message import Flag, Kind, SpanRole
from schemas.providers.streams.claude_words import (
    TASK_ENDS,
    failure_text,
    has_failed,
    ident_of,
    is_backgrounded,
    task_status,
)
from schemas.records import Record

if TYPE_CHECKING:
    from schemas.providers.streams.claude import ClaudeRun
    from schemas.providers.streams.claude_lines import Lines

Value = dict[str, Any]
FACTS = {
    "model": "model",
    "permissionMode": "permissionMode",
    "output_style": "outputStyle",
    "apiKeySource": "apiKeySource",
    "fast_mode_state": "fastMode",
    "effort": "effort",
}
"""What `init` says of the session that it has no field for."""
_RESULT_FACTS = {
    "num_turns": "turns",
    "duration_api_ms": "apiMilliseconds",
    "ttft_ms": "firstTokenMilliseconds",
    "stop_reason": "stopReason",
    "terminal_reason": "terminalReason",
    "subtype": "result",
}
_SILENT = frozenset(
    """plugin_install files_persisted session_state_changed background_tasks_changed commands_changed thinking_tokens
    memory_recall elicitation_complete mirror_error worker_shutting_down control_request_progress""".split()  # noqa: SIM905
)
_SILENT_TYPES = frozenset(
    """auth_status prompt_suggestion conversation_reset subagent_token_usage control_request control_response
    control_cancel_request keep_alive""".split()  # noqa: SIM905
)
_NOTES = frozenset({"model_refusal_fallback", "model_refusal_no_fallback", "informational", "notification"})


class Events:
    """Handles the side events of one run."""

    def __init__(self, run: ClaudeRun) -> None:
        self._run = run
        self._tasks: dict[str, tuple[Lines, int]] = {}
        """The message of each task that is known."""
        self._uses: dict[str, str] = {}
        self._ambient: set[str] = set()
        self.running: dict[str, None] = {}
        """The tool uses whose tasks have begun and not ended."""
        self._last: dict[str, int] = {}
        self._cost = self._cost_before = 0.0
        self._system: dict[str, Callable[[Record, Value], None]] = {
            "status": self._status,
            "compact_boundary": self._boundary,
            "api_retry": self._retry,
            "hook_started": self._hook,
            "hook_progress": self._hook,
            "hook_response": self._hook,
            "task_started": self._task,
            "task_progress": self._task,
            "task_updated": self._task,
            "task_notification": self._task,
            "permission_denied": self._permission_denied,
            "local_command_output": self._printed,
        }
        self._types: dict[str, Callable[[Record, Value], None]] = {
            "tool_progress": self._progress,
            "tool_use_summary": self._caption,
            "rate_limit_event": self._rate_limit,
        }

    def take(self, record: Record, value: Value) -> None:
        """A line that is neither the agent's nor to it, nor the beginning or the end of a turn."""
        kind, subtype = value.get("type"), value.get("subtype")
        if kind == "system":
            name = subtype if isinstance(subtype, str) else ""
            if name in self._system:
                self._system[name](record, value)
            elif name in _NOTES or name.startswith("model_refusal_"):
                self._note(record, value)
            elif name in _SILENT:
                self._run.hide(f"system {name}")
            else:
                self._run.unknown(record, f"system {name}".strip())
        elif isinstance(kind, str) and kind in self._types:
            self._types[kind](record, value)
        elif isinstance(kind, str) and kind in _SILENT_TYPES:
            self._run.hide(kind)
        else:
            self._run.unknown(record, kind)

    # -- of the run ----------------------------------------------------------------------------------------------------

    def _status(self, record: Record, value: Value) -> None:
        """What the program is doing now; a compaction that failed is worth a line."""
        metadata = self._run.session.metadata
        metadata.pop("activity", None)
        if isinstance(status := value.get("status"), str) and status:
            metadata["activity"] = one_line(status, 80)
        if isinstance(mode := value.get("permissionMode"), str) and mode:
            metadata["permissionMode"] = one_line(mode, 80)
        if isinstance(error := value.get("compact_error"), str) and error:
            self._run.add(Kind.ERROR, record, ident_of(value), text=error, flags=Flag.ERROR)
        else:
            self._run.hide("system status")

    def _boundary(self, record: Record, value: Value) -> None:
        self._run.boundary(record, value)

    def _retry(self, record: Record, value: Value) -> None:
        """A request is made again; retries that follow each other are one message."""
        self._run.begin(record)
        self._repeated("api_retry", record, value, str(value.get("error")))

    def _rate_limit(self, record: Record, value: Value) -> None:
        info = value.get("rate_limit_info")
        status = info.get("status") if isinstance(info, dict) else None
        if status in ("allowed", None) or not isinstance(status, str):
            self._run.hide("rate_limit_event")
        else:
            self._repeated(f"rate_limit {status}", record, value, status)

    def _repeated(self, what: str, record: Record, value: Value, text: str) -> None:
        """A note that takes in those of its kind which follow it at once."""
        row = self._last.get(what, -1)
        if row >= 0 and row == self._run.last:
            self._run.extend(row, record, SpanRole.BODY)
        else:
            self._last[what] = self._run.add(Kind.NOTE, record, ident_of(value), text=text)

    def _hook(self, record: Record, value: Value) -> None:
        """Hooks are silent unless one failed or was cancelled."""
        outcome, code = value.get("outcome"), value.get("exit_code")
        if value.get("subtype") != "hook_response" or outcome == "success" or (outcome is None and code in (0, None)):
            self._run.hide(f"system {value.get('subtype')}")
        elif outcome == "cancelled":
            self._run.add(Kind.NOTE, record, ident_of(value), text="hook")
        else:
            text = next((t for k in ("output", "stderr", "stdout") if isinstance(t := value.get(k), str) and t), "hook")
            self._run.add(Kind.ERROR, record, ident_of(value), text=text, flags=Flag.ERROR)

    def _note(self, record: Record, value: Value) -> None:
        text = next((t for k in ("content", "text") if isinstance(t := value.get(k), str)), "")
        self._run.add(Kind.NOTE, record, ident_of(value), text=text)
        retracted = value.get("retracted_message_uuids")
        for uuid in retracted if isinstance(retracted, list) else []:
            if isinstance(uuid, str):
                self._run.retract(uuid)

    def _printed(self, record: Record, value: Value) -> None:
        text = next((t for k in ("content", "text") if isinstance(t := value.get(k), str)), "")
        self._run.add(Kind.OUTPUT, record, ident_of(value), text=text)

    # -- of one tool use -----------------------------------------------------------------------------------------------

    def _call(self, use: object) -> tuple[Lines, int] | None:
        call = self._run.calls.get(use) if isinstance(use, str) else None
        return None if call is None else (call.lines, call.row)

    def _progress(self, record: Record, value: Value) -> None:
        """How long a tool has been running."""
        call = self._call(value.get("tool_use_id"))
        if call is None:
            self._run.hide("tool_progress")
        else:
            call[0].extend(call[1], record)

    def _caption(self, record: Record, value: Value) -> None:
        """What the program calls the tool uses before; the last of them shows it."""
        uses = value.get("preceding_tool_use_ids")
        calls = [call for use in (uses if isinstance(uses, list) else []) if (call := self._call(use))]
        text = value.get("summary")
        if not isinstance(text, str) or not text:
            self._run.hide("tool_use_summary")
        elif calls:
            calls[-1][0].extend(calls[-1][1], record)
        else:
            self._run.add(Kind.NOTE, record, ident_of(value), text=text)

    def _permission_denied(self, record: Record, value: Value) -> None:
        self.denied(record, value)

    def denied(self, record: Record, denial: Value) -> None:
        """A tool use was refused: the call says so, or a line does where there is none."""
        call = self._call(denial.get("tool_use_id"))
        if call is not None:
            call[0].deny(call[1], record)
        else:
            self._run.note(record, f"Permission denied: {one_line(str(denial.get('tool_name') or 'a tool'), 80)}")

    # -- tasks ---------------------------------------------------------------------------------------------------------

    def _task(self, record: Record, value: Value) -> None:
        """A subagent or a background command: what is known of it stands on the call that began it."""
        run, subtype = self._run, value.get("subtype")
        task, use = value.get("task_id"), value.get("tool_use_id")
        task = task if isinstance(task, str) else ""
        if value.get("ambient") is True or value.get("skip_transcript") is True:
            self._ambient.add(task)
        if task in self._ambient:
            run.hide(f"system {subtype}")
            return
        use = use if isinstance(use, str) else self._uses.get(task)
        if use is not None:
            run.describe(use, value.get("subagent_type"), value.get("description"))
        call = self._call(use) or self._tasks.get(task)
        status, ended = task_status(value)
        text = value.get("summary") if subtype == "task_notification" else None
        text = text if isinstance(text, str) else ""
        if use is not None:
            self._uses[task] = use
            if ended:
                self.running.pop(use, None)
            elif subtype == "task_started" or status in ("running", "pending"):
                self.running[use] = None
        if ended:
            run.wake()
        if call is None:
            said = text or value.get("description")
            row = run.add(Kind.NOTE, record, ident_of(value), text=said if isinstance(said, str) else "")
            self._tasks[task] = (run, row)
            return
        lines, row = self._tasks.setdefault(task, call) if task else call
        if is_backgrounded(value):
            lines.background.add(row)
        background = row in lines.background
        lines.extend(row, record, more=f"\n\n{text}" if text and background else "")
        outcome = TASK_ENDS.get(status)
        if outcome and background:
            lines.settle(row, failed=outcome is Flag.ERROR, interrupted=outcome is Flag.INTERRUPTED)

    # -- the end -------------------------------------------------------------------------------------------------------

    def result(self, record: Record, value: Value, *, silent: bool) -> None:
        """The end of a turn. `silent`: the agent said nothing in it, so what the result says is the answer."""
        run = self._run
        session, exchange = run.session, run.session.exchanges[-1]
        self._result_facts(value)
        spent = value.get("duration_ms")
        if isinstance(spent, int | float) and not isinstance(spent, bool) and 0 <= spent < 1e12:
            exchange.seconds = (exchange.seconds or 0.0) + spent / 1000
        run.recounted(exchange)  # the end of a turn corrects its tokens too
        session.metadata.pop("activity", None)
        text = value.get("result")
        text = text if isinstance(text, str) else ""
        ident = ident_of(value)
        if has_failed(value):
            self._failure(record, value, ident)
        elif text.strip() and silent:
            run.add(Kind.TEXT, record, ident, text=text)
        elif not text and value.get("stop_reason") == "tool_use":
            deferred = value.get("deferred_tool_use")
            name = deferred.get("name") if isinstance(deferred, dict) else None
            run.note(record, "Stopped mid-call" + (f": {one_line(name, 80)}" if isinstance(name, str) else ""))
        else:
            run.hide("result")
        if value.get("structured_output") is not None:
            run.add(Kind.NOTE, record, f"{ident}:structured" if ident else "", text="output", block=1)

    def _failure(self, record: Record, value: Value, ident: str) -> None:
        """A turn that failed, once: what the program wrote in the model's place says it already, where it did."""
        run, text = self._run, failure_text(value).strip()
        row, before = run.error
        if row == run.last and row >= 0 and text in before:
            run.extend(row, record)
        else:
            run.add(Kind.ERROR, record, ident, text=text, flags=Flag.ERROR)

    def _result_facts(self, value: Value) -> None:
        metadata = self._run.session.metadata
        for name, key in _RESULT_FACTS.items():
            fact = value.get(name)
            if isinstance(fact, str) and fact:
                metadata[key] = one_line(fact, 120)
            elif isinstance(fact, int | float) and not isinstance(fact, bool) and abs(fact) < 1 << 53:
                metadata[key] = fact
        cost = value.get("total_cost_usd")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9:
            if cost < self._cost:  # a running total that fell: another process
                self._cost_before += self._cost
            self._cost = float(cost)
            metadata["costUsd"] = round(self._cost_before + self._cost, 10)
            metadata["costIs"] = "estimated by the agent's program"

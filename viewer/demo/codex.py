"""Writes a session as Codex 0.15x does: response items, events that repeat some of them, and a token count a round."""

from __future__ import annotations

import json
from typing import Any

from viewer.demo.ids import iso, token, tokens, uuid7

VERSION = "0.155.1"
MODEL = "gpt-5.3-codex"
WINDOW = 258_400


class CodexSession:
    """The lines of one rollout, made a record at a time while a clock runs."""

    def __init__(self, name: str, start: float, root: str, *, branch: str = "main", commit: str = "4be1f7c") -> None:
        self.name, self.root, self.start = name, root, start
        self.id = uuid7(start, "codex", name)
        self.records: list[dict[str, Any]] = []
        self.now = start
        self._turn = ""
        self._turn_began = start
        self._said = ""
        self._count = 0
        self._total = dict.fromkeys(
            ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens"), 0
        )
        self._context, self._fresh, self._output, self._reasoning = 0, 9_800, 0, 0
        self._line(
            "session_meta",
            {
                "session_id": self.id,
                "id": self.id,
                "timestamp": iso(start),
                "cwd": root,
                "originator": "codex-tui",
                "cli_version": VERSION,
                "source": "cli",
                "thread_source": "user",
                "model_provider": "openai",
                "base_instructions": {"text": "You are a coding agent running in the Codex CLI."},
                "history_mode": "legacy",
                "git": {"commit_hash": commit, "branch": branch},
            },
        )

    # -- lines -----------------------------------------------------------------------------------------------------

    def _line(self, kind: str, payload: dict[str, Any], after: float = 0.05) -> None:
        self.now += after
        self.records.append({"timestamp": iso(self.now), "type": kind, "payload": payload})

    def _event(self, kind: str, after: float = 0.02, **fields: Any) -> None:
        self._line("event_msg", {"type": kind, **fields}, after)

    def _item(self, kind: str, after: float = 0.05, **fields: Any) -> None:
        passing = {"internal_chat_message_metadata_passthrough": {"turn_id": self._turn}} if self._turn else {}
        self._line("response_item", {"type": kind, **fields, **passing}, after)

    def prompt(self, text: str, after: float = 2.0) -> None:
        """What a person typed; begins a turn."""
        self.now += after
        self._count += 1
        self._turn = uuid7(self.now, "turn", self.name, self._count)
        self._turn_began = self.now
        self._event("task_started", turn_id=self._turn, started_at=int(self.now), model_context_window=WINDOW)
        if self._count == 1:
            context = f"<environment_context>\n  <cwd>{self.root}</cwd>\n  <shell>zsh</shell>\n</environment_context>"
            self._item("message", role="user", content=[{"type": "input_text", "text": context}])
        self._line(
            "turn_context",
            {
                "turn_id": self._turn,
                "cwd": self.root,
                "model": MODEL,
                "effort": "medium",
                "summary": "auto",
                "approval_policy": "on-request",
                "sandbox_policy": {"type": "workspace-write", "network_access": False},
            },
        )
        self._item("message", role="user", content=[{"type": "input_text", "text": text}])
        self._event("user_message", message=text, images=[], local_images=[], text_elements=[])
        self._fresh += tokens(text)

    def think(self, text: str, after: float = 4.0) -> None:
        """A summary of its reasoning; the reasoning itself is encrypted."""
        self._event("agent_reasoning", after, text=text)
        summary = [{"type": "summary_text", "text": text}]
        sealed = token("gAAAAAB", 80, self.name, self._count, len(self.records))
        self._item("reasoning", summary=summary, content=None, encrypted_content=sealed)
        self._reasoning += 3 * tokens(text)
        self._output += 3 * tokens(text)

    def say(self, text: str, after: float = 3.0, *, final: bool = False) -> None:
        """What the agent says."""
        phase = "final_answer" if final else "commentary"
        self._event("agent_message", after, message=text, phase=phase)
        self._item("message", role="assistant", content=[{"type": "output_text", "text": text}], phase=phase)
        self._output += tokens(text)
        self._said = text

    def run(self, command: str, output: str, seconds: float = 0.4, *, exit_code: int = 0, after: float = 1.5) -> None:
        """A shell command."""
        arguments = json.dumps({"cmd": command, "workdir": self.root, "yield_time_ms": 10_000})
        call = self._call("function_call", after, name="exec_command", arguments=arguments)
        text = (
            f"Chunk ID: {token('', 6, call).lower()}\nWall time: {seconds:.1f} seconds\n"
            f"Process exited with code {exit_code}\nOriginal token count: {tokens(output)}\nOutput:\n{output}\n"
        )
        self._item("function_call_output", seconds, call_id=call, output=text)
        self._fresh += tokens(text)

    def plan(self, *steps: tuple[str, str], explanation: str = "", after: float = 1.5) -> None:
        """The plan: each step and its state."""
        plan = [{"step": step, "status": status} for step, status in steps]
        given = {"plan": plan} | ({"explanation": explanation} if explanation else {})
        call = self._call("function_call", after, name="update_plan", arguments=json.dumps(given))
        self._item("function_call_output", 0.05, call_id=call, output="Plan updated")

    def patch(self, patch: str, changes: dict[str, dict[str, Any]], after: float = 3.0) -> None:
        """Apply a patch; `changes` are its files as `patch_apply_end` reports them, by name below the root."""
        call = self._call("custom_tool_call", after, status="completed", name="apply_patch", input=patch)
        names = {f"{self.root}/{name}": change for name, change in changes.items()}
        letters = {"add": "A", "update": "M", "delete": "D"}
        listing = "\n".join(f"{letters[change['type']]} {name}" for name, change in names.items())
        done = f"Success. Updated the following files:\n{listing}\n"
        event = {"stdout": done, "stderr": "", "success": True, "status": "completed", "changes": names}
        self._event("patch_apply_end", 0.1, call_id=call, turn_id=self._turn, **event)
        text = json.dumps({"output": done, "metadata": {"exit_code": 0, "duration_seconds": 0.1}})
        self._item("custom_tool_call_output", 0.05, call_id=call, output=text)
        self._fresh += tokens(patch)

    def _call(self, kind: str, after: float, **fields: Any) -> str:
        call = token("call_", 24, self.name, len(self.records))
        self._item(kind, after, **fields, call_id=call)
        self._output += tokens(str(fields))
        # A round's tokens are counted after its calls and before their outputs.
        self._count_tokens()
        return call

    def _count_tokens(self) -> None:
        last = {
            "input_tokens": self._context + self._fresh,
            "cached_input_tokens": self._context,
            "output_tokens": self._output,
            "reasoning_output_tokens": self._reasoning,
            "total_tokens": self._context + self._fresh + self._output,
        }
        self._total = {key: self._total[key] + value for key, value in last.items()}
        self._context, self._fresh = self._context + self._fresh, self._output
        self._output = self._reasoning = 0
        info = {"total_token_usage": self._total, "last_token_usage": last, "model_context_window": WINDOW}
        limits = {"limit_id": "codex", "primary": {"used_percent": 7.0, "window_minutes": 300, "resets_at": None}}
        self._event("token_count", info=info, rate_limits=limits)

    def end_turn(self) -> None:
        """The turn is over."""
        self._count_tokens()
        times = {"started_at": int(self._turn_began), "completed_at": int(self.now)}
        duration = round((self.now - self._turn_began) * 1000)
        self._event("task_complete", turn_id=self._turn, last_agent_message=self._said, duration_ms=duration, **times)

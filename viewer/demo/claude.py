"""Writes a session as Claude Code 2.1 does: a line a content block, each line with its message's usage, and results
as user lines.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from viewer.demo.files import Files, hunks, numbered
from viewer.demo.ids import iso, token, tokens, uuid4

VERSION = "2.1.204"
MODEL = "claude-opus-5"
SMALL_MODEL = "claude-haiku-4-5-20251001"


class Think(NamedTuple):
    """A thinking block; empty text as Claude Code writes it when the provider keeps the thinking back."""

    text: str


class Say(NamedTuple):
    """A text block."""

    text: str


class Use(NamedTuple):
    """A tool use. `result` and `detail` are what its `tool_result` and `toolUseResult` say; it took `seconds`."""

    name: str
    input: dict[str, Any]
    result: str
    detail: dict[str, Any] | str
    seconds: float = 1.0
    error: bool = False


class ClaudeSession:
    """The lines of one session file, made a record at a time while a clock runs."""

    def __init__(
        self,
        name: str,
        start: float,
        files: Files,
        *,
        branch: str = "main",
        model: str = MODEL,
        agent: str | None = None,
        parent: str | None = None,
    ) -> None:
        self.name = name
        self.id = parent or uuid4("session", name)
        self.records: list[dict[str, Any]] = []
        self.now = start
        self.files = files
        self._branch, self._model, self.agent_id = branch, model, agent
        self._parent: str | None = None
        self._count = 0
        self._prompt_id = ""
        self._context = 0
        self._fresh = 14_200 if agent is None else 6_100
        self._title = ""
        self._todos: list[dict[str, str]] = []
        self._began = start

    # -- lines -----------------------------------------------------------------------------------------------------

    def meta(self, kind: str, **fields: Any) -> None:
        """A line that is no part of the chain: mode, title, last prompt."""
        self.records.append({"type": kind, **fields, "sessionId": self.id})

    def chain(self, kind: str, after: float = 0.4, **fields: Any) -> str:
        """A line of the conversation; returns its uuid."""
        self.now += after
        self._count += 1
        uuid = uuid4("line", self.name, self._count)
        record: dict[str, Any] = {"parentUuid": self._parent, "isSidechain": self.agent_id is not None}
        if self.agent_id is not None:
            record["agentId"] = self.agent_id
        record |= {"type": kind, **fields, "uuid": uuid, "timestamp": iso(self.now)}
        record |= {"userType": "external", "entrypoint": "cli", "cwd": self.files.root}
        record |= {"sessionId": self.id, "version": VERSION, "gitBranch": self._branch, "slug": "patient-amber-heron"}
        self.records.append(record)
        self._parent = uuid
        return uuid

    def begin(self, title: str) -> None:
        """What stands before the first prompt, and the title that follows."""
        self.meta("mode", mode="normal")
        self.meta("permission-mode", permissionMode="acceptEdits")
        self.chain(
            "attachment",
            attachment={
                "type": "hook_success",
                "hookName": "SessionStart:startup",
                "hookEvent": "SessionStart",
                "toolUseID": uuid4("hook", self.name),
                "content": "",
                "stdout": "",
                "stderr": "",
                "exitCode": 0,
                "command": "true",
                "durationMs": 9,
            },
        )
        self._title = title

    def prompt(self, text: str, after: float = 2.0) -> None:
        """What a person typed."""
        self._prompt_id = uuid4("prompt", self.name, self._count)
        self._fresh += tokens(text)
        person: dict[str, Any] = {"promptId": self._prompt_id, "message": {"role": "user", "content": text}}
        if self.agent_id is None:
            person |= {"promptSource": "typed", "origin": {"kind": "human"}, "permissionMode": "acceptEdits"}
        uuid = self.chain("user", after, **person)
        self._began = self.now
        if self.agent_id is None:
            snapshot = {"messageId": uuid, "trackedFileBackups": {}, "timestamp": iso(self.now)}
            self.records.append(
                {"type": "file-history-snapshot", "messageId": uuid, "snapshot": snapshot, "isSnapshotUpdate": False}
            )
            if self._title:
                self.meta("ai-title", aiTitle=self._title)

    def reply(self, *blocks: Think | Say | Use, after: float = 4.0) -> None:
        """One response of the model, and the results of its tools."""
        message_id = token("msg_01", 22, self.name, self._count)
        request_id = token("req_011C", 20, self.name, self._count)
        output = sum(_block_tokens(block) for block in blocks)
        uses: list[tuple[str, str, Use]] = []
        written = 0
        for number, block in enumerate(blocks):
            last = number == len(blocks) - 1
            written += _block_tokens(block)
            # Lines of one response repeat its usage, and output_tokens grows: only the last line is right.
            usage = self._usage(output if last else max(1, written // 3))
            content, tool_id = self._content(block, number)
            message = {
                "model": self._model,
                "id": message_id,
                "type": "message",
                "role": "assistant",
                "content": [content],
                "stop_reason": ("tool_use" if uses or tool_id else "end_turn") if last else None,
                "stop_sequence": None,
                "stop_details": None,
                "usage": usage,
            }
            pause = after if number == 0 else 0.6 + _block_tokens(block) / 90
            uuid = self.chain("assistant", pause, message=message, requestId=request_id, effort="high")
            if isinstance(block, Use):
                uses.append((tool_id, uuid, block))
        self._context += self._fresh
        self._fresh = output
        # Results arrive in the order in which the tools end.
        begun = self.now
        for tool_id, uuid, use in sorted(uses, key=lambda item: item[2].seconds):
            self.now = max(self.now, begun + use.seconds)
            self._result(tool_id, uuid, use)

    def _content(self, block: Think | Say | Use, number: int) -> tuple[dict[str, Any], str]:
        if isinstance(block, Think):
            signature = token("E", 60, self.name, self._count)
            return {"type": "thinking", "thinking": block.text, "signature": signature}, ""
        if isinstance(block, Say):
            return {"type": "text", "text": block.text}, ""
        tool_id = token("toolu_01", 22, self.name, self._count, number)
        caller = {"type": "direct"}
        return {"type": "tool_use", "id": tool_id, "name": block.name, "input": block.input, "caller": caller}, tool_id

    def _result(self, tool_id: str, uuid: str, use: Use) -> None:
        self._fresh += tokens(use.result)
        result: dict[str, Any] = {
            "tool_use_id": tool_id,
            "type": "tool_result",
            "content": use.result,
            "is_error": use.error,
        }
        detail = {"toolUseResult": use.detail, "sourceToolAssistantUUID": uuid}
        message = {"role": "user", "content": [result]}
        self.chain("user", 0.1, promptId=self._prompt_id, message=message, **detail)

    def _usage(self, output: int) -> dict[str, Any]:
        return {
            "input_tokens": 3,
            "cache_creation_input_tokens": self._fresh,
            "cache_read_input_tokens": self._context,
            "output_tokens": output,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": self._fresh, "ephemeral_5m_input_tokens": 0},
            "speed": "standard",
        }

    def end_turn(self) -> None:
        """The footer of a turn: how long it took."""
        messages = sum(r["type"] in ("user", "assistant") for r in self.records)
        duration = round((self.now - self._began) * 1000)
        self.chain("system", 0.1, subtype="turn_duration", durationMs=duration, messageCount=messages, isMeta=False)
        self.meta("last-prompt", lastPrompt=self._last_prompt(), leafUuid=self._parent)

    def _last_prompt(self) -> str:
        prompts = (r["message"]["content"] for r in reversed(self.records) if r.get("promptSource") == "typed")
        return str(next(prompts, ""))

    # -- what happens beside prompts and replies -------------------------------------------------------------------

    def queued(self, text: str, after: float = 1.0) -> None:
        """Typed while the agent works; it reaches the model with the next results."""
        self.now += after
        stamp = {"timestamp": iso(self.now)}
        self.records.append(
            {"type": "queue-operation", "operation": "enqueue", **stamp, "sessionId": self.id, "content": text}
        )
        self.now += 2.5
        stamp = {"timestamp": iso(self.now)}
        self.records.append(
            {"type": "queue-operation", "operation": "remove", **stamp, "sessionId": self.id, "content": text}
        )
        self._fresh += tokens(text)
        attachment = {"type": "queued_command", "prompt": text, "commandMode": "prompt", "origin": {"kind": "human"}}
        self.chain("attachment", 0.1, attachment=attachment)

    def compact(self, summary: str, arguments: str, after_prompt: float = 60.0) -> None:
        """The person typed `/compact`: the command, the boundary, and the summary that the model goes on from."""
        command = (
            "<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n"
            f"            <command-args>{arguments}</command-args>"
        )
        self.chain("user", after_prompt, message={"role": "user", "content": command})
        before = self._context + self._fresh
        logical, self._parent = self._parent, None
        after = tokens(summary) + 4_100
        metadata = {"trigger": "manual", "preTokens": before, "postTokens": after, "durationMs": 21_480}
        self.chain(
            "system",
            21.5,
            subtype="compact_boundary",
            content="Conversation compacted",
            isMeta=False,
            level="info",
            logicalParentUuid=logical,
            compactMetadata=metadata,
        )
        text = (
            "This session is being continued from a previous conversation that ran out of context. "
            f"The summary below covers the earlier portion of the conversation.\n\n{summary}"
        )
        message = {"role": "user", "content": text}
        self.chain("user", 0.1, message=message, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        stdout = "<local-command-stdout>Compacted (ctrl+o to see full summary)</local-command-stdout>"
        self.chain("user", 0.1, message={"role": "user", "content": stdout})
        self._context, self._fresh = 0, after

    def interrupt(self, after: float = 3.0) -> None:
        """The person pressed escape."""
        text = {"type": "text", "text": "[Request interrupted by user]"}
        self.chain("user", after, message={"role": "user", "content": [text]})

    def shell(self, command: str, output: str, after: float = 20.0) -> None:
        """A shell command that the person typed with `!`."""
        self.chain("user", after, message={"role": "user", "content": f"<bash-input>{command}</bash-input>"})
        text = f"<bash-stdout>{output}</bash-stdout><bash-stderr></bash-stderr>"
        self.chain("user", 0.3, message={"role": "user", "content": text})
        self._fresh += tokens(output)

    def fork(self, name: str, start: float) -> ClaudeSession:
        """A new session that begins with a copy of this one, as `--fork-session` makes it."""
        other = ClaudeSession(name, start, self.files, branch=self._branch, model=self._model)
        for record in self.records:
            copy = record | {"sessionId": other.id} if "sessionId" in record else dict(record)
            if "uuid" in record:
                copy["forkedFrom"] = {"sessionId": self.id, "messageUuid": record["uuid"]}
            other.records.append(copy)
        other._parent, other._context, other._fresh = self._parent, self._context, self._fresh
        return other

    # -- tools -----------------------------------------------------------------------------------------------------

    def bash(self, command: str, output: str, seconds: float = 1.0, *, about: str = "", exit_code: int = 0) -> Use:
        """A shell command of the agent."""
        failed = exit_code != 0
        result = f"Exit code {exit_code}\n{output}" if failed else output
        detail: dict[str, Any] | str = f"Error: {result}"
        if not failed:
            detail = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
        given = {"command": command} | ({"description": about} if about else {})
        return Use("Bash", given, result, detail, seconds, failed)

    def read(self, name: str) -> Use:
        """Read a whole file."""
        text, path = self.files.read(name), self.files.path(name)
        lines = len(text.splitlines())
        file = {"filePath": path, "content": text, "numLines": lines, "startLine": 1, "totalLines": lines}
        return Use("Read", {"file_path": path}, numbered(text), {"type": "text", "file": file}, 0.1)

    def edit(self, name: str, old: str, new: str) -> Use:
        """Replace one place of a file."""
        before, after = self.files.replace(name, old, new)
        path = self.files.path(name)
        detail: dict[str, Any] = {"filePath": path, "oldString": old, "newString": new, "originalFile": before}
        detail |= {"structuredPatch": hunks(before, after), "userModified": False, "replaceAll": False}
        given: dict[str, Any] = {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        return Use("Edit", given, f"The file {path} has been updated successfully.", detail, 0.2)

    def create(self, name: str, text: str) -> Use:
        """Write a new file."""
        self.files.write(name, text)
        path = self.files.path(name)
        detail: dict[str, Any] = {
            "type": "create",
            "filePath": path,
            "content": text,
            "structuredPatch": [],
            "originalFile": None,
        }
        return Use("Write", {"file_path": path, "content": text}, f"File created successfully at: {path}", detail, 0.2)

    def todos(self, *items: tuple[str, str, str]) -> Use:
        """The list of tasks: what to do, the same as an activity, and its state."""
        todos = [{"content": what, "activeForm": doing, "status": state} for what, doing, state in items]
        old, self._todos = self._todos, todos
        text = "Todos have been modified successfully. Ensure that you continue to use the todo list to track progress."
        return Use("TodoWrite", {"todos": todos}, text, {"oldTodos": old, "newTodos": todos}, 0.1)

    def agent(self, kind: str, description: str, prompt: str, child: ClaudeSession) -> Use:
        """Start a subagent, whose own session is `child`, and wait for it."""
        said = [r["message"]["content"][0] for r in child.records if r["type"] == "assistant"]
        answer = next(block["text"] for block in reversed(said) if block["type"] == "text")
        seconds = child.now - _seconds(child.records[0]["timestamp"])
        uses = sum(block["type"] == "tool_use" for block in said)
        last = next(r["message"]["usage"] for r in reversed(child.records) if r["type"] == "assistant")
        total = last["cache_read_input_tokens"] + last["cache_creation_input_tokens"] + last["output_tokens"] + 3
        tail = f"agentId: {child.agent_id} (use SendMessage to continue this agent)"
        detail = {
            "status": "completed",
            "prompt": prompt,
            "agentId": child.agent_id,
            "agentType": kind,
            "content": [{"type": "text", "text": answer}],
            "totalDurationMs": round(seconds * 1000),
            "totalTokens": total,
            "totalToolUseCount": uses,
            "usage": last,
            "resolvedModel": child._model,
        }
        given = {"description": description, "prompt": prompt, "subagent_type": kind}
        return Use("Agent", given, f"{answer}\n\n{tail}", detail, seconds)


def _block_tokens(block: Think | Say | Use) -> int:
    if isinstance(block, Use):
        return tokens(str(block.input)) + 30
    return tokens(block.text) if block.text else 180


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()

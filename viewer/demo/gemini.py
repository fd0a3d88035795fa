"""Writes a session as Gemini CLI does: a log in which a message is written again whenever more of it is known."""

from __future__ import annotations

import difflib
import hashlib
from typing import Any

from viewer.demo.files import Files
from viewer.demo.ids import iso, tokens, uuid4

MODEL = "gemini-3-pro-preview"


class GeminiSession:
    """The lines of one log, made a record at a time while a clock runs."""

    def __init__(self, name: str, start: float, files: Files) -> None:
        self.name, self.start, self.files = name, start, files
        self.id = uuid4("gemini", name)
        self.now = start
        self.records: list[dict[str, Any]] = []
        self._count = 0
        self._context = 8_400
        head = {"sessionId": self.id, "projectHash": hashlib.sha256(files.root.encode()).hexdigest()}
        self.records.append({**head, "startTime": iso(start), "lastUpdated": iso(start), "kind": "main"})
        self._message("user", content=[{"text": "<session_context>\nThis is the Gemini CLI.\n</session_context>"}])

    def prompt(self, text: str, after: float = 20.0) -> str:
        """What a person typed; returns its id, to which one can rewind."""
        self.now += after
        return self._message("user", content=[{"text": text}])

    def rewind(self, message: str, after: float = 6.0) -> None:
        """Take back a message and all after it."""
        self.now += after
        self.records.append({"$rewindTo": message})

    def title(self, text: str) -> None:
        """What the agent calls the session."""
        self.records.append({"$set": {"summary": text, "lastUpdated": iso(self.now)}})

    def reply(
        self, text: str, *calls: dict[str, Any], thought: tuple[str, str] | None = None, after: float = 4.0
    ) -> None:
        """A response: written when its text is there, again with its tokens, and again with what its tools gave."""
        self.now += after
        fields: dict[str, Any] = {"content": text, "thoughts": [], "model": MODEL}
        if thought is not None:
            fields["thoughts"] = [{"subject": thought[0], "description": thought[1], "timestamp": iso(self.now - 1)}]
        output = tokens(text) + sum(tokens(str(call["args"])) for call in calls)
        thoughts = tokens(" ".join(thought)) if thought else 0
        cached = self._context - self._context % 1000
        count = {"input": self._context, "output": output, "cached": cached, "thoughts": thoughts, "tool": 0}
        name = self._message("gemini", **fields, tokens=None)
        count["total"] = self._context + output + thoughts
        self._message("gemini", name, **fields, tokens=count)
        if calls:
            self.now += 0.8
            done = [{**call, "timestamp": iso(self.now)} for call in calls]
            self._message("gemini", name, **fields, tokens=count, toolCalls=done)
        self._context += output + sum(tokens(str(call["result"])) for call in calls)

    def _message(self, kind: str, name: str = "", **fields: Any) -> str:
        if not name:
            self._count += 1
            name = uuid4("gemini message", self.name, self._count)
            self._began = self.now
        self.records.append({"id": name, "timestamp": iso(self._began), "type": kind, **fields})
        return name

    # -- tools -----------------------------------------------------------------------------------------------------

    def _call(self, tool: str, arguments: dict[str, Any], output: str, **fields: Any) -> dict[str, Any]:
        use = f"{tool}_{int(self.now * 1000)}_{self._count}"
        answer = {"functionResponse": {"id": use, "name": tool, "response": {"output": output}}}
        return {"id": use, "name": tool, "args": arguments, "result": [answer], "status": "success", **fields}

    def read(self, name: str) -> dict[str, Any]:
        """A file, read."""
        return self._call("read_file", {"file_path": self.files.path(name)}, self.files.read(name))

    def shell(self, command: str, output: str) -> dict[str, Any]:
        """A command, run."""
        return self._call("run_shell_command", {"command": command}, output, resultDisplay=output)

    def replace(self, name: str, old: str, new: str) -> dict[str, Any]:
        """A file, edited."""
        before, after = self.files.replace(name, old, new)
        rows = difflib.unified_diff(before.splitlines(), after.splitlines(), "Current", "Proposed", lineterm="")
        diff = f"Index: {name}\n{'=' * 67}\n" + "\n".join(rows) + "\n"
        shown = {"fileDiff": diff, "fileName": name, "originalContent": before, "newContent": after}
        arguments = {"file_path": self.files.path(name), "old_string": old, "new_string": new}
        output = f"Successfully modified file: {self.files.path(name)} (1 replacements)."
        return self._call("replace", arguments, output, displayName="Edit", resultDisplay=shown)

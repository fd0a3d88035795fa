"""Claude Code lines written by hand: each method appends one record to a growing file's text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from schemas.providers.claude import PROVIDER
from schemas.session import Session
from tests.schemas.conformance import whole

SESSION = "11111111-2222-4333-8444-555555555555"


class Lines:
    """`lines.user("hi"); lines.say("hello")`; each record hangs under the one before it unless `parent` is given."""

    def __init__(self, session: str = SESSION, **envelope: Any) -> None:
        self.session = session
        self.envelope = {
            "isSidechain": False,
            "cwd": "/home/dev/app",
            "version": "2.1.200",
            "gitBranch": "main",
        } | envelope
        self.rows: list[bytes] = []
        self.last: str | None = None
        self._count = 0

    def raw(self, data: bytes) -> None:
        self.rows.append(data)

    def fact(self, kind: str, **fields: Any) -> None:
        self.rows.append(json.dumps({"type": kind, "sessionId": self.session, **fields}).encode())

    def chain(self, kind: str, *, parent: str | None = "", uuid: str | None = None, **fields: Any) -> str:
        self._count += 1
        uuid = uuid or f"{self._count:08x}-0000-4000-8000-{self._count:012x}"
        record = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self.last if parent == "" else parent,
            "timestamp": f"2026-11-02T09:{self._count // 60:02d}:{self._count % 60:02d}.000Z",
            "sessionId": self.session,
            **self.envelope,
            **fields,
        }
        self.rows.append(json.dumps(record).encode())
        self.last = uuid
        return uuid

    def user(self, content: Any, **fields: Any) -> str:
        return self.chain("user", message={"role": "user", "content": content}, **fields)

    def agent(self, *blocks: Any, response: str = "msg_1", usage: Any = None, **fields: Any) -> str:
        message = {
            "id": response,
            "model": "claude-opus-5",
            "role": "assistant",
            "content": list(blocks),
            "usage": usage,
        }
        return self.chain("assistant", message=message | fields.pop("message", {}), **fields)

    def say(self, text: str, **fields: Any) -> str:
        return self.agent({"type": "text", "text": text}, **fields)

    def use(self, name: str, use: str = "toolu_1", given: Any = None, **fields: Any) -> str:
        return self.agent(
            {"type": "tool_use", "id": use, "name": name, "input": {} if given is None else given}, **fields
        )

    def result(
        self, content: Any, use: str = "toolu_1", extra: Any = None, error: bool | None = None, **fields: Any
    ) -> str:
        block = {"type": "tool_result", "tool_use_id": use, "content": content}
        if error is not None:
            block["is_error"] = error
        if extra is not None:
            fields["toolUseResult"] = extra
        return self.user([block], **fields)

    def system(self, subtype: str, **fields: Any) -> str:
        return self.chain("system", subtype=subtype, **fields)

    def attach(self, kind: str, **fields: Any) -> str:
        return self.chain("attachment", attachment={"type": kind, **fields})

    @property
    def data(self) -> bytes:
        return b"".join(row + b"\n" for row in self.rows)

    def write(self, folder: Path, name: str | None = None) -> Path:
        path = folder / (name or f"{self.session}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data)
        return path

    def read(self, folder: Path) -> Session:
        return whole(PROVIDER, self.write(folder))


def usage(fresh: int = 1, output: int = 1, read: int = 0, write: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "input_tokens": fresh,
        "output_tokens": output,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        **more,
    }

"""SessionData documents for tests: made of a session, and as other programs write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from schemas.interchange.session_data_read import read_document
from schemas.interchange.session_data_write import to_session_data
from schemas.message import Flag, Tool, ToolStatus
from schemas.session import Session
from schemas.usage import TokenUsage
from tests.support import Hand


def written(session: Session, **options: Any) -> dict[str, Any]:
    return orjson.loads(b"".join(to_session_data(session, **options)))


def again(session: Session) -> Session:
    return read_document(written(session), session.path)


def messages(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for exchange in document["exchanges"] for message in exchange["messages"]]


def small() -> Hand:
    hand = Hand()
    hand.prompt("fix the test")
    hand.thinking("where is it?")
    tool = Tool(
        "Bash", "shell", "toolu_1", {"command": "pytest"}, {"content": "1 failed", "is_error": True}, "1 failed"
    )
    tool.status, tool.exit_code, tool.seconds = ToolStatus.ERROR, 1, 41.5
    hand.tool(tool, flags=Flag.ERROR)
    hand.text("Done.", usage=TokenUsage(3, 5, 7, 11, 2, 1))
    return hand


def document(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "schemaVersion": "1.0",
        "provider": {"id": "claude-code", "name": "Claude Code", "version": "unknown"},
        "sessionId": "s",
        "createdAt": "2026-01-01T00:00:00Z",
        "workspaceRoot": "/w",
        "exchanges": [{"exchangeId": "s:0", "messages": list(messages)}],
    } | fields


def read(*messages: dict[str, Any], **fields: Any) -> Session:
    return read_document(document(*messages, **fields), Path("nowhere/x.json"))


USER = {"role": "user", "content": [{"type": "text", "text": "do it"}]}

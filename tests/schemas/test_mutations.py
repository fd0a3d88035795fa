"""Whatever a document holds: if it can be read, everything that is written of it is valid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given

from schemas.interchange.agent_response_write import to_agent_response
from schemas.interchange.registry import check
from schemas.interchange.session_data_write import to_session_data
from schemas.opening import OpenError, read_session
from tests.schemas.mutations import mutated
from tests.schemas.test_agent_response import whole

FOREIGN: dict[str, Any] = {
    "schemaVersion": "1.0",
    "provider": {"id": "codex-cli", "name": "Codex CLI", "version": "1"},
    "sessionId": "s",
    "createdAt": "2026-01-01T00:00:00Z",
    "updatedAt": "2026-01-01T00:00:00Z",
    "slug": "fix-it",
    "workspaceRoot": "/w",
    "exchanges": [
        {
            "exchangeId": "s:0",
            "startTime": "2026-01-01T00:00:00Z",
            "metadata": {"k": 1},
            "messages": [
                {"id": "u", "role": "user", "content": [{"type": "text", "text": "go"}]},
                {
                    "id": "a",
                    "timestamp": "2026-01-01T00:00:00Z",
                    "role": "agent",
                    "model": "m",
                    "content": [{"type": "thinking", "text": "h"}, {"type": "text", "text": "t"}],
                    "tool": {
                        "name": "Bash", "type": "shell", "useId": "t", "input": {"command": "ls > x"},
                        "output": {"content": "x", "is_error": True, "exit_code": 1},
                        "summary": "S", "formattedMarkdown": "**x**",
                    },
                    "pathHints": ["x"],
                    "metadata": {"isSidechain": True},
                    "usage": {"inputTokens": 5, "cachedInputTokens": 2, "outputTokens": 1},
                },
            ],
        }
    ],
}  # fmt: skip
ANSWER: dict[str, Any] = {
    "final_response": "x",
    "extra": 1,
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {"url": "u"}}]},
        {
            "role": "assistant",
            "content": "y",
            "thinking": [{"text": "h"}],
            "tool_calls": [
                {"id": "1", "name": "a", "arguments": {"x": 1}},
                {"id": "2", "type": "function", "function": {"name": "b", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": "r"},
    ],
    "metadata": {"model": "m", "total_input_tokens": 5, "total_output_tokens": 6, "agent_runtime_ms": 7},
}
OUR_SESSION = json.loads(b"".join(to_session_data(whole())))
OUR_ANSWER = json.loads(b"".join(to_agent_response(whole())))


def law(document: dict[str, Any], folder: Path) -> None:
    path = folder / "document.json"
    path.write_text(json.dumps(document))
    try:
        session = read_session(path)
    except OpenError:
        return
    data = b"".join(to_agent_response(session))
    assert check("agent-response", data).errors == []
    path.write_bytes(data)
    assert len(read_session(path).messages) > 0 or not len(session.messages)
    data = b"".join(to_session_data(session))
    assert check("session-data", data).errors == []
    path.write_bytes(data)
    assert json.loads(b"".join(to_session_data(read_session(path)))) == json.loads(data)


@given(document=mutated(FOREIGN, ("exchanges", "schemaVersion")) | mutated(OUR_SESSION, ("exchanges", "schemaVersion")))
def test_session_data(document, tmp_path_factory):
    law(document, tmp_path_factory.mktemp("law"))


@given(document=mutated(ANSWER, ("final_response",)) | mutated(OUR_ANSWER, ("final_response",)))
def test_agent_response(document, tmp_path_factory):
    law(document, tmp_path_factory.mktemp("law"))

"""Big sessions of Gemini CLI and Qwen Code for the benchmarks: what their agents would write who read this project.

The files that the agents read are this project's own, so that texts are as long and as various as texts are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count, cycle
from pathlib import Path
from typing import Any

from tests.bench.build import FOLDER, MB, ROOT
from tests.fixtures import gemini, qwen

Data = dict[str, Any]
_PIECE = 3000
"""Characters of a file that are read at once."""
_STEPS = 6
"""Calls of the model for each prompt."""


def big_gemini(megabytes: int) -> Path:
    """An event log of about so many MB, each answer written three times as Gemini CLI does it."""
    path = FOLDER / f"gemini-{megabytes}mb/.gemini/tmp/big/chats/session-2026-05-28T20-26-5e551011.jsonl"
    return path if path.exists() else _write(path, _gemini_lines(), megabytes * MB)


def big_qwen(megabytes: int) -> Path:
    """A tree of records of about so many MB."""
    path = FOLDER / f"qwen-{megabytes}mb/.qwen/projects/-home-dev-big/chats/{qwen.SESSION}.jsonl"
    return path if path.exists() else _write(path, _qwen_lines(), megabytes * MB)


def _write(path: Path, lines: Iterator[bytes], size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as out:
        while out.tell() < size:
            out.write(next(lines))
    temporary.rename(path)
    return path


def _pieces() -> Iterator[str]:
    """Texts without end."""
    files = sorted((ROOT / "schemas").rglob("*.py"))
    for file in cycle(files):
        text = file.read_text()
        yield from (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))


def _uuid(number: int) -> str:
    return f"{number:08x}-2222-4000-8000-000000000000"


def _gemini_lines() -> Iterator[bytes]:
    texts, ids = _pieces(), map(_uuid, count(1))
    yield _line(gemini.header())
    for number in count():
        # The clock of the fixtures has an hour; a session's own order does not hang on its times.
        seconds = number % 1500
        yield _line(gemini.user(next(ids), seconds, next(texts)[:300]))
        for step in range(_STEPS):
            text = next(texts)
            use, read = f"read_file_{number}_{step}", {"file_path": f"{gemini.ROOT}/{number}.py"}
            answer = gemini.answer(next(ids), seconds, text[:200], thoughts=[text[200:600]])
            counted = {**answer, "tokens": gemini.tokens(9000 + number, 40, 8000, 20)}
            used = gemini.call(use, "read_file", read, text, resultDisplay="")
            yield from map(_line, (answer, {"$set": {"lastUpdated": answer["timestamp"]}}, counted))
            yield _line({**counted, "toolCalls": [used]})
            yield _line({**gemini.user(next(ids), seconds), "content": used["result"]})
            yield _line({"$set": {"lastUpdated": answer["timestamp"]}})


def _qwen_lines() -> Iterator[bytes]:
    texts, ids, chat = _pieces(), map(_uuid, count(1)), qwen.Chat()

    def fresh(say: Callable[..., str], *parts: Any, **fields: Any) -> bytes:
        chat.rows.clear()
        say(*parts, uuid=next(ids), **fields)
        return chat.data()

    for number in count():
        yield fresh(chat.user, next(texts)[:300])
        for step in range(_STEPS):
            text, use = next(texts), f"call_{number}_{step}"
            asked = qwen.call(use, "read_file", file_path=f"/home/dev/lamp/{number}.py")
            usage = qwen.tokens(9000 + number, 40, 8000, 20)
            yield fresh(chat.agent, qwen.thought(text[200:600]), text[:200], asked, usage=usage)
            event = {"event.name": "qwen-code.api_response", "duration_ms": 1900, "input_token_count": 9000 + number}
            yield fresh(chat.system, "ui_telemetry", {"uiEvent": event})
            answer = {"functionResponse": {"id": use, "name": "read_file", "response": {"output": text}}}
            about = {"callId": use, "status": "success", "resultDisplay": ""}
            message = {"role": "user", "parts": [answer]}
            yield fresh(chat.line, "tool_result", message=message, toolCallResult=about)


def _line(record: Data) -> bytes:
    return json.dumps(record).encode() + b"\n"

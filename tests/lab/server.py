"""A mock model on loopback: it plays the steps of a scene, each answer with figures that no other has."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.lab.protocols import NO_CACHE_WRITES, PATHS, Answer, Call, Protocol, Usage


@dataclass(frozen=True)
class Act:
    """A tool use that is the same for every agent, and how it must end."""

    what: str
    """run (a command), read (a file) or edit (a file: the old words and the new)."""
    values: tuple[str, ...]
    ok: bool = True
    exit_code: int | None = None
    """That of a command that fails."""


@dataclass(frozen=True)
class Step:
    """An answer to be given, over so many seconds; or an error with that status."""

    thinking: str = ""
    text: str = ""
    acts: tuple[Act, ...] = ()
    seconds: float = 1.5
    error: int = 0


@dataclass
class Served:
    """An answer that was given."""

    step: Step
    usage: Usage
    prompt: int
    """The number of the prompt that it belongs to."""
    ended: float = 0.0


class Mock(ThreadingHTTPServer):
    """The model. What it gave is in `served`; what it was asked for besides, and refused, in `aside`."""

    daemon_threads = True

    def __init__(self, translate: Callable[[Act], Call]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.served: list[Served] = []
        self.aside: list[str] = []
        self.left: list[Step] = []
        """Steps that nobody has asked for yet."""
        self.prompts: list[str] = []
        self._translate, self._count, self._lock = translate, 0, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def play(self, prompt: str, steps: list[Step]) -> None:
        """Give these answers, one a request, to requests that hold the prompt and offer tools."""
        self.prompts.append(prompt)
        self.left = list(steps)

    def next_step(self, body: str, has_tools: bool) -> tuple[Step, int] | None:
        """The next step and a number that is given once; None for a request that is not the scene's."""
        with self._lock:
            if not (has_tools and self.left and self.prompts[-1] in body):
                return None
            self._count += 1
            return self.left.pop(0), self._count

    def answer(self, protocol: Protocol, step: Step, number: int, model: str) -> tuple[Answer, Served]:
        """The answer of a step. The sum of some inputs tells whose they are."""
        usage = Usage(
            input=1000 + (1 << number),
            cache_read=20_000 + 301 * number,
            cache_write=0 if protocol in NO_CACHE_WRITES else 400 + 23 * number,
            output=100 + 7 * number,
            thinking=20 + number if step.thinking else 0,
        )
        self.served.append(Served(step, usage, len(self.prompts)))
        calls = [self._translate(act) for act in step.acts]
        return Answer(f"mock{number:04}", model, usage, step.thinking, step.text, calls), self.served[-1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Mock

    def handle(self) -> None:
        """Answer until the agent is gone, which may be at any time."""
        with suppress(ConnectionError):
            super().handle()

    def log_message(self, *args: Any) -> None:
        """Nothing is printed."""

    def do_CONNECT(self) -> None:
        """An agent's proxy is this server, so that it reaches nobody else."""
        self._refuse(403)

    def do_GET(self) -> None:
        """No models are listed."""
        self._refuse(404)

    def do_POST(self) -> None:
        """Answer, if it is the scene's turn."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
        path = urlsplit(self.path).path
        protocol = next((protocol for pattern, protocol in PATHS if re.search(pattern, path)), None)
        # Codex names its tools in an item of the input.
        has_tools = '"additional_tools"' in raw or bool(json.loads(raw or "{}").get("tools"))
        taken = self.server.next_step(raw, has_tools) if protocol else None
        if protocol is None or taken is None:
            return self._refuse(404)
        step, number = taken
        if step.error:
            return self._reply(step.error, "the mock is busy")
        model = str(json.loads(raw).get("model") or path.rpartition("/")[2].partition(":")[0])
        answer, served = self.server.answer(protocol, step, number, model)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        events = list(protocol(answer))
        for event in events:
            time.sleep(step.seconds / len(events))
            served.ended = time.monotonic()
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        if "object" in events[0]:
            self.wfile.write(b"data: [DONE]\n\n")

    def _refuse(self, status: int) -> None:
        self.server.aside.append(f"{self.command} {self.path}")
        self._reply(status, "not in this mock")

    def _reply(self, status: int, message: str) -> None:
        error = {"type": "api_error", "code": status, "message": message}
        data = json.dumps({"type": "error", "error": error}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

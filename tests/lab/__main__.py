"""`make lab`, or `python -m tests.lab claude codex`: real agents against a mock model, and what turnlog makes of them.

A line a check. The exit code is 1 where one failed, 2 where node or an agent is not to be had.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.lab.agents import AGENTS, Agent, Missing
from tests.lab.scene import GREETING, LONGEST, Item, counted, differs, endings, found, in_order, items, scene, total
from tests.lab.server import Mock
from tests.lab.watch import LIMIT, ROOT, Following, Replay, Tail, Watching, environment, turnlog

AFTER = 3.0
"""Seconds from a command's end by which its last message must be shown."""
SETTLE = 15.0
"""Seconds that following gets for the last of a session before it is ended and compared."""
Check = tuple[str, str]
"""What was looked at, and what is wrong with it."""


@dataclass
class Command:
    """A command of an agent: what it printed, and the tail that read along."""

    printed: Path
    tail: Tail
    ended: float = 0.0


@dataclass
class Run:
    """An agent that plays the scene."""

    agent: Agent
    program: Path
    home: Path
    commands: list[Command] = field(default_factory=list)
    tails: list[Tail] = field(default_factory=list)
    """Those of the session's file, as JSON and as text."""
    path: Path | None = None
    """The session's file, as soon as it is there."""

    def play(self) -> Iterator[Check]:
        """Play, and compare all that can be compared."""
        project = self.home / "project"
        project.mkdir()
        (project / "greet.py").write_text(GREETING)
        self.mock = Mock(self.agent.call)
        env = environment(self.home) | self.agent.set_up(self.home, self.mock.url) | {"NO_PROXY": "127.0.0.1"}
        # Whomever it wants to reach besides, it asks the mock for, which refuses.
        env |= {"HTTP_PROXY": self.mock.url, "HTTPS_PROXY": self.mock.url, "no_proxy": "127.0.0.1"}
        session, watching = "", Watching(self.home)
        for prompt, steps in scene(str(project / "greet.py")):
            self.mock.play(prompt, steps)
            number, trouble = len(self.commands) + 1, self._command(env, prompt, session)
            left = self.mock.left and f"{len(self.mock.left)} answers not asked for, but {self.mock.aside}"
            yield f"command {number}", trouble or left or ""
            if trouble or left:
                self.mock.shutdown()
                for tail in self.tails:
                    tail.process.kill()
                watching.end()
                return
            named = re.search(r'"(?:session_id|thread_id)": ?"([^"]+)"', self.commands[-1].printed.read_text())
            session = named[1] if named else "no id was printed"
        self.mock.shutdown()
        yield from _watched(watching, session)
        if self.path is None:
            yield "a session is written", f"nothing matches {self.agent.sessions}"
        else:
            yield from self._followed(self.path)
            yield from self._stored(self.path)
        for number, command in enumerate(self.commands, 1):
            for what, wrong in self._printed(command, number):
                yield f"printed {number}: {what}", wrong

    def _command(self, env: dict[str, str], prompt: str, session: str) -> str:
        printed = self.home / f"printed-{len(self.commands) + 1}.jsonl"
        command = Command(printed, Tail(self.home, f"tail-{printed.stem}", "--json", "-"))
        self.commands.append(command)
        errors, words = printed.with_suffix(".err"), [str(self.program), *self.agent.arguments(prompt, session)]
        project, pipe, none = self.home / "project", subprocess.PIPE, subprocess.DEVNULL
        with errors.open("wb") as stderr:
            process = subprocess.Popen(
                words, env=env, cwd=project, stdin=none, stdout=pipe, stderr=stderr,
                start_new_session=True,
            )  # fmt: skip
        pump = threading.Thread(target=_pump, args=(process, command))
        pump.start()
        timer = threading.Timer(LIMIT, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        while process.poll() is None:
            if self.path is None and (files := list(self.home.glob(self.agent.sessions))):
                self.path = files[0]
                self.tails = [
                    Tail(self.home, "tail-json", "--json", "--all", str(self.path)),
                    Tail(self.home, "tail-text", "--all", str(self.path)),
                ]
                self.following = Following(self.path)
            time.sleep(0.02)
        timer.cancel()
        command.ended = time.monotonic()
        pump.join()
        return "" if process.returncode == 0 else f"exit {process.returncode}: {errors.read_text()[-300:]}"

    def _followed(self, path: Path) -> Iterator[Check]:
        whole = _messages(turnlog(self.home, "show", str(path)))
        json_tail, text_tail = self.tails
        right = items(self.mock.prompts, self.mock.served)
        _wait(lambda: list(Replay(json_tail.lines).messages.values()) == whole)
        _wait(lambda: any(right[-1].text in line for _, line in text_tail.lines))
        yield "tail --json ends", json_tail.end(interrupt=True)
        yield "tail ends", text_tail.end(interrupt=True)
        yield "followed is as read whole", self.following.end()
        for what, wrong in self._shown(json_tail, whole, right):
            yield f"tail --json: {what}", wrong
        lines = [line.strip() for _, line in text_tail.lines]
        texts = [item.text for item in right if item.text]
        shown = [text for line in lines for text in texts if line == text or line.endswith(f"> {text}")]
        yield "tail: every text once, in order", differs(shown, texts)
        tools = [message for message in whole if "tool" in message]
        uses = [line for line in lines if line.startswith("* ") and not line.startswith("* thinking")]
        yield "tail: every tool use once", "" if len(uses) == len(tools) else f"{len(uses)} of {len(tools)}"

    def _shown(self, tail: Tail, whole: list[dict[str, Any]], right: list[Item]) -> Iterator[Check]:
        replay = Replay(tail.lines)
        yield "every message once", "; ".join(replay.wrong[:3])
        yield "in order", differs(list(replay.messages), [message["id"] for message in whole])
        # What has no time is shown with the time at which it came.
        timed = [message if "timestamp" in message else {"timestamp": None, **message} for message in whole]
        last = [replay.messages.get(m["id"], {}) | ({} if m["timestamp"] else {"timestamp": None}) for m in timed]
        yield "in the end as read whole", differs(last, timed)
        served, shown = self.mock.served, found(list(replay.messages.values()))
        # A message must be there while the answer after it is being given, or soon after the end.
        due = [
            after.ended if after and after.prompt == answer.prompt else self.commands[answer.prompt - 1].ended + AFTER
            for answer, after in zip(served, [*served[1:], None], strict=True)
        ]
        late = [item for (item, name), at in zip(shown, right, strict=False) if replay.times[name][0] > due[at.answer]]
        count = "" if len(shown) == len(right) else f"{len(shown)} messages where {len(right)} are right"
        yield "while it is written", count or (f"late: {late[0]} and {len(late) - 1} more" if late else "")

    def _stored(self, path: Path) -> Iterator[Check]:
        served, prompts = self.mock.served, self.mock.prompts
        usage = turnlog(self.home, "usage")
        yield "one session", differs([session["path"] for session in usage["sessions"]], [str(path)])
        session = usage["sessions"][0]
        yield "every record known", str(session["unknownRecords"] or session["unreadable"] or "")
        yield "total", differs([counted(usage["total"])], [total(served)])
        groups = [counted(group["usage"]) for group in session["groups"]]
        yield "each answer counted once", differs(groups, [total([answer]) for answer in served])
        exchanges = [(part["prompt"], counted(part["usage"])) for part in session["exchanges"] if part["prompt"]]
        right = [(prompt, total([a for a in served if a.prompt == n])) for n, prompt in enumerate(prompts, 1)]
        yield "exchanges", differs(exchanges, right)
        yield from _same(turnlog(self.home, "show", str(path)), items(prompts, served))

    def _printed(self, command: Command, number: int) -> Iterator[Check]:
        agent, served = self.agent, self.mock.served
        own = [answer for answer in served if answer.prompt == number]
        figures = served[: served.index(own[-1]) + 1] if agent.counts_thread and own else own
        got = turnlog(self.home, "usage", str(command.printed))["total"]
        yield "total", differs([counted(got)], [total(figures, thinking=agent.counts_thinking)])
        document = turnlog(self.home, "show", str(command.printed))
        all_items = [item for item in items(self.mock.prompts, served) if served[item.answer].prompt == number]
        right = [printed for item in all_items if (printed := agent.printed(item)) is not None]
        yield from _same(document, right)
        yield "tail ends", command.tail.end(interrupt=False)
        yield from self._shown(command.tail, _messages(document), right)
        if number in agent.prints_parts:
            replay = Replay(command.tail.lines)
            names = [name for item, name in found(list(replay.messages.values())) if item.text == LONGEST[number - 1]]
            times = [time for name in names for time in replay.times[name] if time < own[-1].ended]
            yield "grows while it is printed", "" if len(times) > 3 else f"{len(times)} steps"


def _pump(process: subprocess.Popen[bytes], command: Command) -> None:
    """Keep what an agent prints, and give it to the tail at once."""
    assert process.stdout is not None and command.tail.process.stdin is not None
    with command.printed.open("wb") as file:
        for line in process.stdout:
            file.write(line)
            command.tail.process.stdin.write(line)
    command.tail.process.stdin.close()


def _watched(watching: Watching, session: str) -> Iterator[Check]:
    """What `turnlog watch` told of a session whose agent asks nobody."""
    _wait(lambda: watching.ended(session))
    yield "watch ends", watching.end()
    states = watching.states.get(session, [])
    told = [(state["state"], state["what"]) for state in states]
    yield "watch: it is at work", "" if any(state == "works" for state, _ in told) else f"told {told}"
    yield "watch: it waits for nobody", "" if all(state != "waits" for state, _ in told) else f"told {told}"
    yield "watch: it has answered", "" if told and told[-1][1] == "answered" else f"told {told[-3:]}"


def _wait(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + SETTLE
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)


def _messages(document: Any) -> list[dict[str, Any]]:
    return [message for exchange in document["exchanges"] for message in exchange["messages"]]


def _same(document: Any, right: list[Item]) -> Iterator[Check]:
    got = [item for item, _ in found(_messages(document))]
    yield "messages", differs(in_order(got), in_order(right))
    yield "statuses", differs(endings(got), endings(right))


def main(arguments: list[str]) -> int:
    """Run the agents that are named, or all; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    names = [agent.id for agent in AGENTS]
    parser.add_argument("agents", nargs="*", metavar="AGENT", help=f"{', '.join(names)} (all)")
    parser.add_argument("--cache", type=Path, default=ROOT / "build/lab", help="where agents are installed (build/lab)")
    options = parser.parse_args(arguments)
    if unknown := set(options.agents) - set(names):
        parser.error(f"no such agent: {', '.join(sorted(unknown))}")
    code = 0
    for agent in AGENTS:
        if options.agents and agent.id not in options.agents:
            continue
        home = Path(mkdtemp(prefix=f"turnlog-lab-{agent.id}-"))
        try:
            program = agent.install(options.cache.resolve())
        except Missing as error:
            print(f"MISSING {error}", flush=True)
            code = 2
            continue
        version = subprocess.run([program, "--version"], env=environment(home), capture_output=True, text=True).stdout
        print(f"{agent.package} {version.strip()}, in {home}", flush=True)
        passed = failed = 0
        for what, wrong in Run(agent, program, home).play():
            passed, failed = passed + (not wrong), failed + bool(wrong)
            print(f"{'FAIL' if wrong else 'PASS'} {agent.id:6} {what:40} {wrong[:500]}".rstrip(), flush=True)
        print(f"{passed} passed, {failed} failed\n", flush=True)
        code = code or int(failed > 0)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

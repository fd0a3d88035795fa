"""The files that a shell command writes, whichever agent ran it and however that agent says where."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.message import Message
from schemas.opening import read_session
from schemas.session import Session
from tests.fixtures.codex.rollouts import Rollout
from tests.fixtures.cursor.stores import Builder, agent, user
from tests.fixtures.cursor.stores import use as cursor_use
from tests.fixtures.qwen import Chat, call

GOLDENS = Path(__file__).parents[2] / "../shared/goldens/specstory/cases/TestExtractShellPathHints.json"
ROOT, PLACE = "/project", "/project/src"
CASES = [
    ("make > build.log", ["src/build.log"]),
    ("touch ../a ./b /project/c; mkdir -p /project", ["a", "src/b", "c", "."]),
    ("cp x /tmp/y && tee 'z z'", ["/tmp/y", "src/z z"]),
    ("ls -la; cat x", []),
]
if GOLDENS.is_file():
    CASES += [(case["command"], case["wantPaths"] or []) for case in json.loads(GOLDENS.read_text())]


def tool_of(session: Session) -> Message:
    found = (session.message(index) for index in range(len(session.messages)))
    return next(message for message in found if message.tool is not None)


def claude(folder: Path, command: str) -> list[str]:
    use = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": command}}
    records = [
        {"type": "user", "uuid": "u", "cwd": ROOT, "message": {"role": "user", "content": "go"}},
        {"type": "assistant", "uuid": "a", "parentUuid": "u", "cwd": PLACE,
         "message": {"id": "m", "role": "assistant", "model": "claude-opus-4-7", "content": [use]}},
    ]  # fmt: skip
    path = folder / "5e551011-0000-4000-8000-000000000001.jsonl"
    path.write_text("".join(json.dumps({"sessionId": path.stem} | record) + "\n" for record in records))
    return tool_of(read_session(path)).path_hints


def codex_turn(folder: Path, command: str) -> list[str]:
    rollout = Rollout(cwd=ROOT).start("t").line("turn_context", {"cwd": PLACE, "turn_id": "t"}).typed("go")
    return tool_of(rollout.call("c", cmd=command).read(folder)).path_hints


def codex_address(folder: Path, command: str) -> list[str]:
    """Newer builds may write addresses."""
    rollout = Rollout(cwd=f"file://{ROOT}").line("turn_context", {"cwd": f"file://{PLACE}"}).typed("go")
    return tool_of(rollout.call("c", cmd=command).read(folder)).path_hints


def codex_settings(folder: Path, command: str) -> list[str]:
    rollout = Rollout(cwd=ROOT).event("thread_settings_applied", thread_settings={"cwd": PLACE}).typed("go")
    return tool_of(rollout.call("c", "shell", command=["bash", "-lc", command]).read(folder)).path_hints


def codex_argument(folder: Path, command: str) -> list[str]:
    rollout = Rollout(cwd=ROOT).typed("go").call("c", cmd=command, workdir="src")
    return tool_of(rollout.read(folder)).path_hints


def codex_event(folder: Path, command: str) -> list[str]:
    """The event says what the command ran in, as an address in newer builds."""
    rollout = Rollout(cwd=ROOT).typed("go").call("c", cmd=command)
    rollout.event("exec_command_end", call_id="c", command=["sh", "-c", command], cwd=f"file://{PLACE}", exit_code=0)
    return tool_of(rollout.read(folder)).path_hints


def codex_of_2025(folder: Path, command: str) -> list[str]:
    """Before there were turn contexts, the environment message names the directory, again where it is another one."""
    rollout = Rollout(meta=False).raw({"id": "5973b6c0", "timestamp": "2025-06-01T10:00:00Z"})
    for place in (ROOT, PLACE):
        text = f"<environment_context>\n<cwd>{place}</cwd>\n</environment_context>"
        rollout.raw({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    given = json.dumps({"command": ["bash", "-lc", command]})
    rollout.raw({"type": "function_call", "name": "shell", "arguments": given, "call_id": "c"})
    return tool_of(rollout.read(folder)).path_hints


def qwen(folder: Path, command: str) -> list[str]:
    chat = Chat(cwd=ROOT)
    chat.user("go")
    chat.envelope["cwd"] = PLACE
    chat.agent(call("t", "run_shell_command", command=command))
    return tool_of(chat.read(folder)).path_hints


def gemini(folder: Path, command: str, root: str = ROOT) -> list[str]:
    asked = {"command": command, "directory": "src"}
    used = [{"id": "t", "name": "run_shell_command", "args": asked, "status": "success"}]
    header = {"sessionId": "s", "projectHash": "h"}
    path = folder / "tmp" / "project" / "chats" / "session-1.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    records = header, {"id": "g", "type": "gemini", "content": "", "toolCalls": used}
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    (path.parents[1] / ".project_root").write_text(root)
    return tool_of(read_session(path)).path_hints


def cursor(folder: Path, command: str) -> list[str]:
    shell = cursor_use("t", "Shell", {"command": command, "working_directory": "src"})
    path = Builder().message(user("go"), agent(shell)).save(folder, cwd=ROOT)
    return tool_of(read_session(path)).path_hints


CODEX = [codex_turn, codex_address, codex_settings, codex_argument, codex_event, codex_of_2025]
AGENTS = [claude, *CODEX, qwen, gemini, cursor]


@pytest.mark.parametrize("agent", AGENTS)
def test_a_commands_paths_are_seen_from_the_workspace(tmp_path: Path, agent: Callable[[Path, str], list[str]]) -> None:
    for command, paths in CASES:
        assert agent(tmp_path, command) == paths, command


def test_where_no_workspace_is_known_the_directory_is_still_that_of_the_command(tmp_path: Path) -> None:
    assert gemini(tmp_path, "touch ./a a b", "") == ["src/a", "src/b"]


def test_a_turn_of_codex_works_where_it_says(tmp_path: Path) -> None:
    rollout = Rollout(cwd=ROOT).typed("go").call("a", cmd="touch x")
    rollout.line("turn_context", {"cwd": PLACE}).typed("on").call("b", cmd="touch x").says("Done.")
    session = rollout.line("turn_context", {"cwd": 7}).call("c", cmd="touch x").read(tmp_path)
    messages = [session.message(index) for index in range(len(session.messages))]
    assert [m.path_hints for m in messages if m.tool] == [["x"], ["src/x"], ["src/x"]]
    assert [m.metadata["cwd"] for m in messages] == [ROOT, ROOT, PLACE, PLACE, PLACE, PLACE]
    assert session.workspace_root == ROOT

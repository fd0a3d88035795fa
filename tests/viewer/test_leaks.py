"""No secret gets into an export: every kind, in every place of a session, in every format."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from renderers.names import export_name
from renderers.options import Include
from renderers.redact import Redactor
from schemas.diffs import FileDiff, Hunk
from schemas.message import Kind as Is
from schemas.message import Part, Tool
from schemas.opening import read_session
from schemas.records import Unreadable
from schemas.session import Inherited, Subagent
from schemas.usage import TokenUsage
from tests.renderers.secrets import KINDS, Kind, build
from tests.support import Hand
from viewer.commands.export import FORMATS, document

Put = Callable[[Hand, str], object]


def _tool(hand: Hand, **fields: Any) -> None:
    told = {"name": "Bash", "type": "shell", "use_id": f"t{len(hand.session.messages)}", "input": {"command": "ls"}}
    hand.tool(Tool(**(told | fields)))


def _diff(text: str, sign: str) -> list[FileDiff]:
    lines = [" before", *(sign + line for line in text.split("\n")), " after"]
    return [FileDiff("/home/dev/lamp-shop/a.py", hunks=[Hunk(lines, 1, 1)])]


def _subagent(hand: Hand, name: str = "explore", task: str = "look", **said: str) -> None:
    child = Hand(session_id=f"agent-{len(hand.session.subagents)}")
    child.prompt(said.get("prompt", "look around"))
    child.text(said.get("answer", "seen"))
    at = hand.tool(Tool("Task", "task", "a", {"description": "look"}, subagent=child.session.id, text="done"))
    hand.session.subagents.append(Subagent(child.session.id, name, task, session=child.session, tool_use=at))


def _session(name: str) -> Put:
    return lambda hand, text: setattr(hand.session, name, text)


PLACES: dict[str, Put] = {
    "prompt": lambda hand, text: hand.prompt(f"Please take\n{text}\nand go"),
    "prompt that is nothing else": lambda hand, text: hand.prompt(text),
    "answer": lambda hand, text: hand.text(f"I took {text} as it was."),
    "heading of an answer": lambda hand, text: hand.text(f"# {text}\n\nDone."),
    "code of an answer": lambda hand, text: hand.text(f"```sh\n{text}\n```"),
    "thinking": lambda hand, text: hand.thinking(f"They gave me\n{text}"),
    "steer": lambda hand, text: hand.add(Is.STEER, parts=[Part("text", text)]),
    "command": lambda hand, text: hand.add(Is.COMMAND, opener=f"/set {text}", parts=[Part("text", f"/set {text}")]),
    "shell command": lambda hand, text: _tool(hand, input={"command": text}),
    "shell command behind others": lambda hand, text: _tool(hand, input={"command": f"cd a && \\\n{text}\necho"}),
    "tool input": lambda hand, text: _tool(hand, name="Search", type="search", input={"pattern": text}),
    "nested input": lambda hand, text: _tool(hand, name="x", type="generic", input={"a": [{"b": ["one", text]}]}),
    "input's names": lambda hand, text: _tool(hand, name="x", type="generic", input={text: 1}),
    "environment": lambda hand, text: _tool(hand, name="x", type="generic", input={"env": {"A": text}}),
    "tool output": lambda hand, text: _tool(hand, text=f"$ ls\n{text}\nend"),
    "indented output": lambda hand, text: _tool(hand, text="\n".join(f"    {line}" for line in text.split("\n"))),
    "structured output": lambda hand, text: _tool(hand, output={"content": text, "is_error": False, "meta": [text]}),
    "JSON in output": lambda hand, text: _tool(hand, text=json.dumps({"log": f"\n{text}\n"})),
    "JSON in JSON in output": lambda hand, text: _tool(hand, text=json.dumps([json.dumps([f"\t{text}\n"])])),
    "added line": lambda hand, text: _tool(hand, name="Edit", type="write", diffs=_diff(text, "+")),
    "removed line": lambda hand, text: _tool(hand, name="Edit", type="write", diffs=_diff(text, "-")),
    "diff in output": lambda hand, text: _tool(hand, text=_diff(text, "+")[0].unified()),
    "numbered lines": lambda hand, text: _tool(
        hand, text="\n".join(f"{n:6}→{line}" for n, line in enumerate(text.split("\n"), 1))
    ),
    "path": lambda hand, text: _tool(hand, name="Read", type="read", input={"file_path": f"/tmp/{text}/a"}),
    "path hints": lambda hand, text: hand.text("a", path_hints=[f"/tmp/{text}/a"]),
    "path of a diff": lambda hand, text: _tool(hand, name="Edit", type="write", diffs=[FileDiff(f"/tmp/{text}")]),
    "tool's name": lambda hand, text: _tool(hand, name=text, type="generic"),
    "tool's summary": lambda hand, text: _tool(hand, summary=f"Runs {text}"),
    "tool's own Markdown": lambda hand, text: _tool(hand, formatted=f"ran `{text}`"),
    "image": lambda hand, text: _tool(hand, images=[Part("image", f"[image {text}]")]),
    "context": lambda hand, text: hand.note(Is.CONTEXT, "project instructions", text),
    "note": lambda hand, text: hand.note(Is.NOTE, f"a note: {text}", text),
    "error": lambda hand, text: hand.note(Is.ERROR, f"Error: {text}", text),
    "compaction": lambda hand, text: hand.note(Is.COMPACTION, "Compacted", text),
    "interrupt": lambda hand, text: hand.note(Is.INTERRUPT, text),
    "command's output": lambda hand, text: hand.note(Is.OUTPUT, "", text),
    "unknown record": lambda hand, text: hand.note(Is.UNKNOWN, "hologram", text),
    "message's metadata": lambda hand, text: hand.text("a", metadata={"cwd": text, "more": [text]}),
    "message's id": lambda hand, text: hand.text("a", id=text),
    "session's metadata": lambda hand, text: hand.session.metadata.update({f"fact{len(hand.session.metadata)}": text}),
    "model": lambda hand, text: hand.text("a", model=text, usage=TokenUsage(1, 2)),
    "title": _session("title"),
    "branch": _session("branch"),
    "workspace": _session("workspace_root"),
    "version": _session("version"),
    "own total": _session("own_total"),
    "links": lambda hand, text: hand.session.links.append(text),
    "lineage": lambda hand, text: setattr(hand.session.lineage, "forked_from", text),
    "subagent's name": lambda hand, text: _subagent(hand, name=text),
    "subagent's task": lambda hand, text: _subagent(hand, task=text),
    "subagent's prompt": lambda hand, text: _subagent(hand, prompt=text),
    "subagent's answer": lambda hand, text: _subagent(hand, answer=text),
    "unknown record's name": lambda hand, text: hand.session.unknown.update([text]),
    "unreadable line": lambda hand, text: hand.session.unreadable.append(Unreadable(7, text, 4096, 812)),
    "to-do list": lambda hand, text: _tool(hand, name="TodoWrite", input={"todos": [{"content": text}]}),
    "question": lambda hand, text: _tool(hand, name="AskUserQuestion", input={"questions": [{"question": text}]}),
    "inherited": lambda hand, text: hand.session.inherited.update(
        {text: Inherited(text, TokenUsage(1, 2), "m", None, 0, 0)}
    ),
}  # fmt: skip
ONCE = {"title", "branch", "workspace", "version", "own total", "lineage"}
"""Places of which a session has one."""


def export(hand: Hand, form: str) -> tuple[str, int]:
    redactor = Redactor()
    return b"".join(document(hand.session, form, Include(), redactor)).decode(), redactor.count


def parts_of(secret: str) -> list[str]:
    """Pieces of a secret of which none may be found: its beginning is known to all, so from the ninth character on."""
    lines = [line for line in secret.split("\n") if not line.startswith("-----")]
    found = []
    for line in lines:
        body = line if len(line) < 20 else line[8:]
        found += [body[:12], body[len(body) // 2 :][:12], body[-12:]]
    return [part for part in found if len(part) >= 8]


def leaks(text: str, kinds: list[Kind]) -> list[str]:
    flat = text.replace("\\", "")
    return [kind.name for kind in kinds if any(part in text or part in flat for part in parts_of(kind.secret))]


def marks(text: str) -> int:
    return len(re.findall(r"\[redacted: ", text))


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_gets_out(place: str) -> None:
    number = list(PLACES).index(place)
    kinds = KINDS[number % 12 :: 12]
    if place in ONCE:
        kinds = [kind for kind in kinds if "\n" not in kind.text][:6]
    hands = []
    for some in [[kind] for kind in kinds] if place in ONCE else [kinds]:
        hand = Hand()
        hand.prompt("Fix the lamp")
        for kind in some:
            PLACES[place](hand, kind.text)
            hand.text("done")
        hands.append((hand, some))
    for hand, some in hands:
        for form in FORMATS:
            text, count = export(hand, form)
            assert (form, leaks(text, some)) == (form, [])
            assert (form, count) == (form, marks(text))


WORDS = "please look at the lamp and then go on with what the person said about it before noon " * 6
SESSION = "5e550000-0000-4000-8000-0000000000f0"


def _claude(text: str) -> list[dict[str, Any]]:
    """A session of Claude Code that says `text` wherever a line is made of what it says."""
    uses = [
        ("Bash", {"command": f"echo {text}", "description": text}),
        ("Task", {"description": text, "prompt": text, "subagent_type": "x"}),
        ("TodoWrite", {"todos": [{"content": text, "status": "in_progress", "activeForm": text}]}),
    ]
    content = [{"type": "tool_use", "id": f"t{n}", "name": name, "input": told} for n, (name, told) in enumerate(uses)]
    message = {"id": "m1", "role": "assistant", "model": "claude-opus-5", "content": content}
    base = {"sessionId": SESSION, "timestamp": "2026-03-05T10:00:00.000Z", "cwd": "/home/dev/a"}
    return [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": text}} | base,
        {"type": "assistant", "uuid": "a1", "parentUuid": "u1", "message": message} | base,
        {"type": "ai-title", "sessionId": SESSION, "aiTitle": text},
    ]


@pytest.mark.parametrize("told", ["ghp_ a36", "sk-ant-api03- w93 AA", "eyJ a33 .eyJ w60 . w43"])
def test_no_half_of_a_token_stays_wherever_a_title_is_cut(tmp_path: Path, told: str) -> None:
    # Titles and headings are cut at 100, 200 and 300 characters.
    for place in (*range(60, 104, 7), *range(160, 204, 7), *range(262, 304, 7)):
        token = build(told)
        file = tmp_path / f"{SESSION}.jsonl"
        records = _claude(f"{WORDS[:place].rstrip()} {token} and more {WORDS}")
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        session = read_session(file)
        for form in FORMATS:
            redactor = Redactor()
            text = b"".join(document(session, form, Include(), redactor)).decode()
            assert (place, form, token[8:14] in text) == (place, form, False)
            assert (place, form, redactor.count) == (place, form, marks(text))
        assert token[8:13].lower() not in export_name(session, ".md")
        session.close()

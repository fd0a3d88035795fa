"""Control bytes, escape sequences and bidi controls in every field there is: no command writes one of them.

Each field of each agent's samples and of each published format is made hostile, its value and its name: as many at
once as leave the session readable, and the others one by one, so that a field that nobody cleaned cannot hide behind
one that made the file unreadable. Then every command is run on the former.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import fields as fields_of
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from schemas.opening import OpenError, read_session
from schemas.providers import providers
from schemas.session import Session
from tests.schemas.samples import Sample
from tests.viewer.machine import Machine
from viewer.cli import run
from viewer.commands.export import FORMATS

HOSTILE = "\x1b]52;c;QQ==\x07\x1b[2J\x9b31m\x9d0;t\x9c\u202ex\u2066\u061c\x7f\x00\ud800"
"""OSC 52 writes the clipboard, CSI 2 J clears the screen; the second pair are the same as single C1 characters."""
IN_NAMES = "a\x1b[2J\x9b31m\u202ex\x7f"
"""The part of it that a file's name can hold."""
_BAD = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
Field = tuple[str, ...]
Changes = dict[Field, int]
"""The fields that are hostile, and what of each is: its `VALUE`, its `KEY`, both."""
VALUE, KEY = 1, 2


# -- every field, one after the other ----------------------------------------------------------------------------------


def fields(value: Any, path: Field = ()) -> Iterator[tuple[Field, int]]:
    """The places of all keys in a value, `[]` for the items of a list, and what of each can be hostile; also within
    strings that are JSON themselves.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            place = (*_named(value, path), key)
            yield place, KEY
            yield from fields(item, place)
    elif isinstance(value, list):
        for item in value:
            yield from fields(item, (*path, "[]"))
    elif (inner := _json_in(value)) is not None:
        yield from fields(inner, (*path, "{}"))
    elif isinstance(value, str):
        yield path, VALUE


def with_hostile(value: Any, changes: Changes, path: Field = ()) -> Any:
    """The value with every string at some places made hostile, and with some keys so."""
    if isinstance(value, dict):
        named = _named(value, path)
        made = {}
        for name, item in value.items():
            place = (*named, name)
            hostile = f"{name}{HOSTILE}" if changes.get(place, 0) & KEY else name
            made[hostile] = with_hostile(item, changes, place)
        return made
    if isinstance(value, list):
        return [with_hostile(item, changes, (*path, "[]")) for item in value]
    if (inner := _json_in(value)) is not None:
        value = json.dumps(with_hostile(inner, changes, (*path, "{}")))
    return f"{value}{HOSTILE}" if isinstance(value, str) and changes.get(path, 0) & VALUE else value


def _named(value: dict[str, Any], path: Field) -> Field:
    """A record's place with its type: a field of one type is another one than that of another."""
    kind = value.get("type")
    return (*path, f"<{kind}>") if isinstance(kind, str) else path


def _json_in(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, str) or not value.startswith("{"):
        return None
    try:
        inner = json.loads(value)
    except ValueError:
        return None
    return inner if isinstance(inner, dict) else None


def values_in(path: Path, lines: bool) -> list[Any]:
    text = path.read_text(encoding="utf-8", errors="replace")
    return (
        [value for line in text.split("\n") if (value := _json_in(line)) is not None] if lines else [json.loads(text)]
    )


def write(path: Path, values: list[Any]) -> None:
    path.write_bytes(b"".join(json.dumps(value).encode() + b"\n" for value in values))


def texts(session: Session) -> Iterator[str]:
    """All text that a session holds or makes."""
    left: list[Any] = [session]
    while left:
        value = left.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Session):
            left += [v for k, v in vars(value).items() if k not in ("stores", "build", "messages", "spans", "groups")]
            left += [*value.groups.ids, *map(value.message, range(len(value.messages)))]
        elif isinstance(value, dict):
            left += [*value, *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            left += value
        elif is_dataclass(value) and not isinstance(value, type):
            left += [getattr(value, field.name) for field in fields_of(value)]


Change = tuple[Field, int]


def harmless_variants(path: Path, lines: bool, known: frozenset[Change] = frozenset()) -> tuple[list[Any], set[Change]]:
    """Check the model with every field made hostile that is not `known`, as many at once as leave the session what it
    is, and each other one alone; returns the values with the former, and which those are.
    """
    plain = path.read_bytes()
    values = values_in(path, lines)
    before = read_session(path)

    def is_still(changed: list[Any]) -> bool:
        write(path, changed)
        try:
            session = read_session(path)
        except OpenError as error:
            assert not _BAD.search(str(error))
            return False
        bad = [text for text in texts(session) if _BAD.search(text)]
        assert not bad, bad[0]
        session.close()
        return len(session.messages) >= len(before.messages) and len(session.exchanges) == len(before.exchanges)

    def harmless(kept: list[Change], more: list[Change]) -> list[Change]:
        """What is kept, and those of `more` that leave the session what it is beside that."""
        if is_still(changed([*kept, *more])):
            return [*kept, *more]
        if len(more) < 2:
            return kept
        half = len(more) // 2
        return harmless(harmless(kept, more[:half]), more[half:])

    def changed(some: list[Change]) -> list[Any]:
        changes: Changes = {}
        for field, what in some:
            changes[field] = changes.get(field, 0) | what
        return [with_hostile(value, changes) for value in values]

    every = {change for value in values for change in fields(value)} - known
    try:
        # A key is another one once it is hostile: first all values, from the inside out.
        kept = harmless([], sorted(every, key=lambda change: (change[1], -len(change[0]), change[0])))
        return changed(kept), set(kept)
    finally:
        path.write_bytes(plain)


def _samples(provider: str, folder: Path) -> list[Sample]:
    found: list[Sample] = import_module(f"tests.fixtures.{provider.replace('-', '_')}").samples(folder)
    return [sample for sample in found if sample.path.suffix in (".json", ".jsonl")]


# -- every command -----------------------------------------------------------------------------------------------------


class Output:
    """Runs commands in this process and looks at the bytes that they write."""

    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capture

    def of(self, *args: object) -> bytes:
        self._capture.readouterr()
        run([str(arg) for arg in args])
        out, err = self._capture.readouterr()
        for stream in (out, err):
            assert_inert(stream, args)
        return out


def assert_inert(data: bytes, what: object) -> None:
    """Nothing in what was written does anything to a terminal."""
    text = data.decode("utf-8", "surrogateescape")
    bad = _BAD.search(text)
    assert bad is None, f"{what}: {text[max(0, bad.start() - 80) : bad.end() + 20]!r}"


@pytest.fixture
def output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Iterator[Output]:
    for name in list(os.environ):
        if name.startswith(("CLAUDE", "CODEX", "GEMINI", "QWEN", "CURSOR", "XDG")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield Output(capsysbinary)


COMMANDS = [
    ("list",), ("list", "--all"), ("list", "--all", "--json"), ("usage",), ("usage", "--json"), ("doctor",),
    ("doctor", "--json"), ("search", "a"), ("search", "--json", "a"), ("usage", "--by", "session"),
    ("usage", "--by", "project", "--json"), ("usage", "--by", "model"), ("usage", "--by", "group", "--explain"),
    ("usage", "--by", "exchange", "--explain", "--json"), ("events",), ("cache",), ("cache", "--json"),
    ("list", "--format", "{id} {title} {project} {directory} {path} {model}"),
]  # fmt: skip
"""On all sessions of the machine."""
BRIEF = [("list", "--all", "--json"), ("search", "a"), ("usage", "--by", "group", "--explain")]
"""The same where it is only the agent that differs."""


def run_on(output: Output, path: Path, *, brief: bool = False) -> None:
    """Run what takes a TARGET, and read back what was exported; `brief` leaves out what comes of the same texts."""
    for args in (("show",), ("show", "--json"), ("usage", "--json"), ("events",), ()):
        output.of(*args, path)
    for args in () if brief else (("usage",), ("compare",), ("compare", "--json")):
        output.of(*args, path, *[path] * (args[0] == "compare"))
    for form in ("markdown", "html", "json") if brief else FORMATS:
        written = output.of("export", "--to", form, "--no-redact", path)
        if form not in ("markdown", "html", "text"):
            (path.parent / "written.json").write_bytes(written)
            output.of("validate", "--json", path.parent / "written.json")
            output.of("validate", path.parent / "written.json")
            (path.parent / "written.json").unlink()


@pytest.mark.parametrize("provider", sorted(providers()))
def test_no_field_of_an_agent_reaches_a_terminal(provider: str, tmp_path: Path, output: Output) -> None:
    held: set[Field] = set()
    borne: set[Change] = set()
    tried: frozenset[Change] = frozenset()
    for sample in _samples(provider, tmp_path):
        lines = sample.lines or sample.path.suffix == ".jsonl"
        there = frozenset(change for value in values_in(sample.path, lines) for change in fields(value))
        if there <= tried:
            continue
        hostile, harmless = harmless_variants(sample.path, lines, tried)
        write(sample.path, hostile)
        if not tried or len(harmless) > 50:
            run_on(output, sample.path, brief=provider != "claude")
        held, borne, tried = held | {field for field, _ in there}, borne | harmless, tried | there
    if not held:
        pytest.skip("its sources are no JSON; what comes of them passes the same door")
    assert len(borne) > min(30, len(held) // 2)  # of each field its value and its key
    for command in COMMANDS if provider == "claude" else BRIEF:
        output.of(*command)


SELDOM = [
    {
        "type": "session_meta",
        "payload": {
            "id": "019fc8be-0000-7000-8000-000000000001",
            "cwd": "/w",
            "originator": "codex",
            "cli_version": "0.118.0",
            "forked_from_id": "019fc8be-0000-7000-8000-00000000000f",
            "history_base": {"thread_id": "019fc8be-0000-7000-8000-00000000000f"},
            "source": {
                "subagent": {
                    "thread_spawn": {"parent_thread_id": "p1", "agent_nickname": "Confucius", "agent_role": "explorer"}
                }
            },
        },
    },
    {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "t1"}},
    {"type": "event_msg", "payload": {"type": "user_message", "message": "go"}},
    {
        "type": "event_msg",
        "payload": {"type": "token_count", "info": {"last_token_usage": {"input_tokens": 3, "output_tokens": 1}}},
    },
    {"type": "retained_context", "payload": {"x": "y", "answers": [{"q": "why", "a": "so"}]}},
    {"type": "event_msg", "payload": {"type": "turn_aborted", "reason": "interrupted"}},
]
"""Codex records with fields that once went past every cleaning: ids of turns and of other threads, a reason."""


def test_no_seldom_field_reaches_a_terminal(tmp_path: Path, output: Output) -> None:
    path = (
        tmp_path / ".codex/sessions/2026/11/28/rollout-2026-11-28T09-00-00-019fc8be-0000-7000-8000-000000000001.jsonl"
    )
    path.parent.mkdir(parents=True)
    write(path, [{"timestamp": "2026-11-28T09:00:00.000Z", **record} for record in SELDOM])
    hostile, harmless = harmless_variants(path, lines=True)
    assert len(harmless) > 15
    write(path, hostile)
    run_on(output, path)
    for command in COMMANDS:
        output.of(*command)


def test_no_field_of_a_published_format_reaches_a_terminal(tmp_path: Path, output: Output) -> None:
    sample = max(_samples("claude", tmp_path), key=lambda sample: sample.path.stat().st_size)
    for form in ("json", "toolpath", "toolpath-jsonl", "agent-response", "events", "snapshot"):
        make = (form,) if form in ("events", "snapshot") else ("export", "--to", form)
        document = tmp_path / f"document.{form}"
        document.write_bytes(output.of(*make, sample.path))
        assert read_session(document).exchanges
        hostile, harmless = harmless_variants(document, form in ("toolpath-jsonl", "events"))
        assert len(harmless) > 5
        write(document, hostile)
        run_on(output, document)


@pytest.mark.skipif(sys.platform == "win32", reason="no such names")
def test_no_name_of_a_file_reaches_a_terminal(tmp_path: Path, output: Output) -> None:
    machine = Machine(tmp_path)
    path = machine.session("11111111-2222-4333-8444-555555555555", ["go", "done"], folder=IN_NAMES)
    machine.subagent(path, f"a1{IN_NAMES}", ["look", "seen"], {"input_tokens": 1, "output_tokens": 2})
    odd = path.with_name(f"{IN_NAMES}.jsonl")
    odd.write_bytes(path.read_bytes() + b'{"type": "user", "x\n')
    broken = path.with_name(f"broken{IN_NAMES}.jsonl")
    broken.write_bytes(b'{"type":"user","uuid": \n' * 3)
    for target in (path, odd):
        run_on(output, target)
    for command in ("show", "export", "usage", "validate", "events", "snapshot", "open"):
        for wrong in (broken, tmp_path, IN_NAMES, tmp_path / IN_NAMES):
            output.of(*(() if command == "open" else (command,)), wrong)
    for command in COMMANDS:
        output.of(*command)
    for option in (("--since", IN_NAMES), ("--agent", IN_NAMES)):
        output.of("list", *option)
    output.of("usage", "--by", "session", "--project", IN_NAMES)
    output.of("export", path, "-o", tmp_path / IN_NAMES / IN_NAMES)
    output.of("export", path, "--to", IN_NAMES)


@pytest.mark.parametrize("json_lines", [False, True])
def test_tail_of_a_hostile_session(json_lines: bool, tmp_path: Path) -> None:
    sample = max(_samples("claude", tmp_path), key=lambda sample: sample.path.stat().st_size)
    hostile, _ = harmless_variants(sample.path, sample.lines)
    write(sample.path, hostile)
    result = Machine(tmp_path).run(
        "tail", "--all", *(["--json"] if json_lines else []), "-", stdin=sample.path.read_bytes()
    )
    assert result.out.count("\n") > 5
    assert_inert(result.out.encode("utf-8", "surrogatepass"), "tail")
    assert_inert(result.err.encode("utf-8", "surrogatepass"), "tail")

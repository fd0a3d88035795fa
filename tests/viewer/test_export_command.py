from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.fixtures.qwen import Chat
from tests.viewer.machine import Machine

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
NO_PLACE = re.compile(
    r"turnlog: (agent-response|toolpath(-jsonl)?): \d+ "
    r"((session )?facts? left out|token figures? kept in the totals only)"
)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session(ONE, ["Fix the lamp", "It shines again"])
    return machine


@pytest.mark.parametrize("form", ["markdown", "html", "text", "json", "agent-response"])
def test_every_format_holds_what_was_said(machine: Machine, form: str) -> None:
    result = machine.run("export", ONE, "--to", form)
    assert (result.code, [line for line in result.err.splitlines() if not NO_PLACE.match(line)]) == (0, [])
    assert "Fix the lamp" in result.out and "It shines again" in result.out


def test_json_is_session_data(machine: Machine) -> None:
    document = machine.run("export", "latest", "--to", "json").json
    assert document["schemaVersion"] == "1.0"
    assert len(document["exchanges"]) == 1


@pytest.mark.parametrize("form", ["markdown", "html", "text", "json", "agent-response"])
def test_secrets_are_replaced_and_counted(machine: Machine, form: str) -> None:
    machine.session(ONE, [f"use {SECRET} to log in", "ok"])
    result = machine.run("export", ONE, "--to", form)
    assert SECRET not in result.out
    (said,) = [line for line in result.err.splitlines() if not NO_PLACE.match(line)]
    assert "redacted" in said
    result = machine.run("export", ONE, "--to", form, "--no-redact")
    assert SECRET in result.out and "redacted" not in result.err


def test_what_is_left_out(machine: Machine) -> None:
    path = machine.session(ONE, ["Fix the lamp", "It shines again"])
    records = [json.loads(line) for line in path.read_text().splitlines()]
    records[1]["message"]["content"].insert(0, {"type": "thinking", "thinking": "HMMM", "signature": "s"})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert "HMMM" in machine.run("export", ONE).out
    out = machine.run("export", ONE, "--no-thinking").out
    assert "HMMM" not in out and "It shines again" in out


@pytest.mark.parametrize("form", ["json", "toolpath", "toolpath-jsonl", "agent-response"])
def test_what_a_format_cannot_hold_is_said_once_a_kind_and_counted(machine: Machine, form: str) -> None:
    path = machine.session(ONE, ["Fix the lamp", "It shines again", "look", "done"])
    records = [json.loads(line) for line in path.read_text().splitlines()]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    for record in (records[0], records[2]):
        record["message"]["content"] = [{"type": "text", "text": record["message"]["content"]}, image]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    result = machine.run("export", ONE, "--to", form)
    said = [line for line in result.err.splitlines() if not NO_PLACE.match(line)]
    assert (result.code, said) == (0, [f"turnlog: {form}: 2 images named, not included"])


def test_an_agent_that_the_format_does_not_name_is_said(machine: Machine, tmp_path: Path) -> None:
    chat = Chat()
    chat.user("hi")
    chat.agent("hello")
    path = chat.write(tmp_path / f"{chat.session}.jsonl")
    result = machine.run("export", path, "--to", "json")
    assert result.json["provider"]["id"] == "qwen"
    assert result.err == (
        "turnlog: json: the provider id qwen is kept, though the format names only claude, cursor, codex, gemini\n"
    )
    assert "provider id" not in machine.run("export", machine.session(ONE, ["a", "b"]), "--to", "json").err


def test_only_a_name_with_a_slash_makes_a_directory(machine: Machine) -> None:
    for command in ("export", "events", "snapshot"):
        result = machine.run(command, ONE, "-o", "new/x.md")
        assert (result.code, result.err) == (2, "turnlog: new: no such directory\n")
        assert not (machine.home / "new").exists()
    for command in ("events", "snapshot"):
        result = machine.run(command, ONE, "-o", "new/")
        assert (result.code, result.err) == (2, "turnlog: new/: a directory\n")
        assert not (machine.home / "new").exists()
    assert machine.run("export", ONE, "-o", "new/deep/").code == 0
    assert len(list((machine.home / "new/deep").iterdir())) == 1


def test_no_name_breaks_the_header(machine: Machine) -> None:
    path = machine.session(ONE, ["Fix the lamp", "It shines again"], cwd="/home/dev/a\nb\tc", folder="odd")
    for args in (["show", path], ["export", path, "--to", "text"]):
        assert "· /home/dev/a b c ·" in machine.run(*args).out


def test_to_a_file(machine: Machine) -> None:
    result = machine.run("export", ONE, "-o", "out.md")
    assert (result.code, result.out) == (0, "")
    assert "It shines again" in (machine.home / "out.md").read_text()
    result = machine.run("export", ONE, "-o", "out.md")
    assert result.code == 2 and "out.md: exists already" in result.err
    (machine.home / "out.md").write_text("OLD")
    assert machine.run("export", ONE, "-o", "out.md", "--force").code == 0
    assert "It shines again" in (machine.home / "out.md").read_text()


def test_to_a_folder(machine: Machine) -> None:
    other = machine.session("bbbbbbbb-0000-4000-8000-000000000002", ["Fix the lamp", "again"], minute=3)
    for target in (ONE, other):
        assert machine.run("export", target, "-o", "exports/").code == 0
    names = os.listdir(machine.home / "exports")
    assert len(names) == 2 and all(name.endswith(".md") for name in names)
    assert machine.run("export", ONE, "-o", "exports").code == 2
    assert machine.run("export", ONE, "-o", "exports", "--to", "html").code == 0


def test_a_title_cannot_leave_the_folder(machine: Machine) -> None:
    machine.session(ONE, ["../../../escape\n/etc/passwd", "ok"])
    assert machine.run("export", ONE, "-o", "exports/").code == 0
    (name,) = os.listdir(machine.home / "exports")
    assert "/" not in name and not name.startswith(".")


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["--to", "pdf"], "no such format"),
        (["--to", "session-data"], "json (SessionData 1.0)"),
        (["--to", "events"], "`turnlog events` writes it"),
        (["--to", "toolpath", "--no-thinking"], "holds the whole session"),
        (["--to", "json", "--no-thinking"], "holds the whole session"),
        (["-o", "no/such/folder/x.md"], "no/such/folder: no such directory"),
        (["--to"], "requires an argument"),
    ],
)
def test_bad_calls(machine: Machine, args: list[str], reason: str) -> None:
    result = machine.run("export", ONE, *args)
    assert (result.code, result.out) == (2, "")
    assert reason in result.err and result.err.count("\n") == 1
    assert sorted(p.name for p in machine.home.iterdir() if not p.name.startswith(".")) == []


def test_an_export_is_utf8_whatever_the_locale_says(machine: Machine) -> None:
    machine.session(ONE, ["größe 日本語", "👍"])
    out = machine.run("export", ONE, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0").out
    assert "größe 日本語" in out and "👍" in out


def test_an_empty_name_is_a_wrong_call(machine: Machine) -> None:
    result = machine.run("export", ONE, "-o", "")
    assert (result.code, result.out, result.err) == (2, "", "turnlog: -o: an empty name\n")
    assert not list(machine.home.glob("*.md"))


def test_a_session_is_never_written_over(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    path = machine.session("aaaaaaaa-0000-4000-8000-000000000001", ["Fix the lamp", "done"])
    link = tmp_path / "link.md"
    link.symlink_to(path)
    before = path.read_bytes()
    for place in (path, link):
        answer = machine.run("export", path, "-o", place, "--force")
        assert answer.code == 2 and "files that are read" in answer.err
    assert path.read_bytes() == before


@pytest.mark.parametrize("form", ["json"])
def test_an_exported_fork_counts_as_the_fork_does(machine: Machine, tmp_path: Path, form: str) -> None:
    usage = {"input_tokens": 100, "output_tokens": 10}
    file = machine.session(ONE, ["Fix the lamp", "It shines again", "And the other?", "Too"], usage=usage)
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    copied = [line | {"forkedFrom": {"sessionId": "gone"}} for line in lines[:2]]
    file.write_text("".join(json.dumps(line) + "\n" for line in (*copied, *lines[2:])))
    document = tmp_path / "fork.out"
    document.write_text(machine.run("export", ONE, "--to", form).out)
    for call in (["usage", "--by", "group"], ["events"]):
        before = machine.run(*call, ONE).out
        assert len(before.splitlines()) >= 2
        assert machine.run(*call, document).out == before
    why = machine.run("usage", "--by", "group", "--explain", document)
    assert why.code == 0
    assert why.out.count("110 tokens: in 100") == 2


def test_the_help_says_that_all_parts_are_written(machine: Machine) -> None:
    assert "All parts are written unless you say --no-" in " ".join(machine.run("export", "--help").out.split())

"""Shell citizenship: completion, the man page, colours for a pager, and lines made by `list --format`."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from renderers.document import Document
from renderers.options import Include
from renderers.plain import render
from tests.renderers.sample import sample
from tests.viewer.machine import Machine
from viewer.cli import COMMANDS, turnlog
from viewer.commands.list import LINE_FIELDS
from viewer.manual import manual

ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
PAGE = Path(__file__).parents[2] / "man" / "turnlog.1"
SGR = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session(ONE, ["Fix the lamp", "It shines again"], usage={"input_tokens": 5, "output_tokens": 2})
    machine.session(TWO, ["Dim\tthe lamp", "ok"], minute=2, cwd="/home/dev/other")
    return machine


# -- completion --------------------------------------------------------------------------------------------------------


def completed(machine: Machine, words: str) -> list[str]:
    given = {"_TURNLOG_COMPLETE": "bash_complete", "COMP_WORDS": f"turnlog {words}"}
    result = machine.run(**given, COMP_CWORD=str(len(words.split(" "))))
    assert (result.code, result.err) == (0, "")
    kinds = [line.split(",", 1) for line in result.out.splitlines()]
    assert [kind for kind, _ in kinds if kind != "plain"] in ([], ["file"])
    assert (
        "plain" not in [kind for kind, _ in kinds[: kinds.index(["file", words.split(" ")[-1]])]]
        if "file" in result.out
        else True
    )
    return [value for kind, value in kinds if kind == "plain"]


def test_commands_options_and_sessions_are_completed(machine: Machine) -> None:
    machine.run("list")
    assert completed(machine, "comp") == ["compare", "completion"]
    assert completed(machine, "show --no") == ["--no-output"]
    assert completed(machine, "show aa") == completed(machine, "aa") == [ONE]
    assert set(completed(machine, "export ")) == {"latest", ONE, TWO}
    assert completed(machine, "completion ") == ["bash", "zsh", "fish"]
    assert set(completed(machine, "")) == {"latest", ONE, TWO, *COMMANDS}
    assert completed(machine, "export --to tool") == ["toolpath", "toolpath-jsonl"]
    assert completed(machine, "validate --as ev") == ["events"]
    assert completed(machine, "usage --by mo") == ["model"]
    assert completed(machine, "list --agent cla") == ["claude"]
    assert completed(machine, "list --format {id}{cos") == ["{id}{cost}"]


def test_an_id_that_a_shell_would_run_is_not_offered(machine: Machine) -> None:
    path = machine.session("cccccccc-0000-4000-8000-000000000003", ["look", "ok"])
    evil = "c$(touch pwned)"
    path.rename(path.with_stem(evil))
    assert evil in {one["id"] for one in machine.run("list", "--json").json}
    assert completed(machine, "show c") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_call_the_program(machine: Machine, shell: str) -> None:
    out = machine.run("completion", shell).out
    assert f"_TURNLOG_COMPLETE={shell}_complete" in out and "turnlog" in out
    if (found := shutil.which(shell)) is not None:
        assert subprocess.run([found, "-n"], input=out.encode(), check=False).returncode == 0
    assert machine.run("completion", "tcsh").code == 2


# -- the man page ------------------------------------------------------------------------------------------------------


def test_the_man_page_is_the_one_that_the_help_makes() -> None:
    assert PAGE.read_text("utf-8") == manual(), "make man writes it anew"


def test_every_command_and_option_is_in_it() -> None:
    page = manual().replace("\\-", "-")
    context = click.Context(turnlog)
    for name in COMMANDS:
        command = turnlog.get_command(context, name)
        assert command is not None and f".SS turnlog {name} " in page
        options = [opt for param in command.params if isinstance(param, click.Option) for opt in param.opts]
        assert [
            option for option in options if not re.search(rf"^\.B .*{re.escape(option)}\b", page, re.MULTILINE)
        ] == []


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_it_is_a_page_without_a_fault() -> None:
    call = ["groff", "-man", "-Kutf8", "-Tutf8", "-ww", str(PAGE)]
    result = subprocess.run(call, capture_output=True, check=True)
    assert (result.stderr, b"subagent that this call started" in result.stdout) == (b"", True)


# -- colours -----------------------------------------------------------------------------------------------------------


def test_colours_change_nothing_but_colours_and_end_with_each_line() -> None:
    session = sample().session
    plain = "".join(render(Document(session, Include(redact=False))))
    coloured = "".join(render(Document(session, Include(redact=False)), colour=True))
    assert SGR.sub("", coloured) == plain and coloured != plain
    for line in coloured.split("\n"):
        found = SGR.findall(line)
        assert len(found) % 2 == 0 and all(code == "\x1b[0m" for code in found[1::2])


def test_a_pipe_has_colours_only_where_they_are_wanted(machine: Machine) -> None:
    assert "\x1b" not in machine.run("show", ONE).out + machine.run("show", ONE, "--color", "never").out
    assert "\x1b[1m" in machine.run("show", ONE, "--color", "always").out
    assert machine.run("show", ONE, "--color", "sometimes").code == 2


# -- list --format -----------------------------------------------------------------------------------------------------


def test_a_line_a_session(machine: Machine) -> None:
    out = machine.run("list", "--format", r"{id}\t{title:.8}|{tokens:>5}|{project} {exchanges}").out
    assert out.splitlines() == [f"{TWO}\tDim the |    3|other 1", f"{ONE}\tFix the |    7|lamp-shop 1"]


def test_every_field_is_a_text_in_one_line(machine: Machine) -> None:
    out = machine.run("list", "--format", "\x1f".join(f"{{{name}}}" for name in LINE_FIELDS)).out
    rows = [dict(zip(LINE_FIELDS, line.split("\x1f"), strict=True)) for line in out.splitlines()]
    listed = machine.run("list", "--json").json
    assert [(row["id"], row["path"]) for row in rows] == [(one["id"], one["path"]) for one in listed]
    assert rows[0] | {"path": ""} == {
        "id": TWO, "title": "Dim the lamp", "agent": "claude", "project": "other", "directory": "/home/dev/other",
        "path": "", "created": "2026-03-04T09:02:00Z", "updated": "2026-03-04T09:02:01Z", "exchanges": "1",
        "messages": "2", "tokens": "3", "input": "1", "output": "2", "cache_read": "", "cache_write": "",
        "reasoning": "", "cost": "0.000055", "model": "claude-opus-4-5-20251101", "models": "claude-opus-4-5-20251101",
        "archived": "", "live": "",
    }  # fmt: skip
    spent = machine.run("usage", TWO, "--json").json["costUsd"]
    assert float(rows[0]["cost"]) == spent > 0


@pytest.mark.parametrize(
    "form", ["{nope}", "{id", "{}", "{0}", "{id.__class__}", "{id!r}", "{id:{title}}", "{tokens:d}"]
)
def test_a_wrong_format_is_one_line(machine: Machine, form: str) -> None:
    result = machine.run("list", "--format", form)
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert "--format: " in result.err
    assert machine.run("list", "--format", "{id}", "--json").code == 2

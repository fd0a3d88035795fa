"""`turnlog diff`: what sessions changed, and patches of it that Git takes in the projects they worked in."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from schemas.diffs import FileDiff, Hunk, added_file, from_strings, totals
from schemas.message import Flag, Tool, ToolStatus, ToolType
from schemas.opening import addresses_in, read_session
from schemas.session import Session, Subagent
from tests.support import Hand
from tests.viewer.machine import Machine
from viewer.edits.patch import patch_of
from viewer.edits.session import FileChange, changes_of
from viewer.edits.words import did

LAB = Path(__file__).parents[2] / "../shared/lab"
GREETER = {
    "greet.py": 'import sys\n\n\ndef greet(name):\n    return "Hi " + name\n\n\n'
    'print(greet(sys.argv[1] if len(sys.argv) > 1 else "you"))\n',
    "README.md": "# Greeter\n",
}
SHOP = {
    "README.md": "# Shop\n\nA small shop. 日本語 ✅\n\nRun the tests with pytest.\n",
    "src/__init__.py": "",
    "src/cart.py": "def totl(items):\n    return sum(items)\n\n\ndef count(items):\n    return len(items)\n",
}
"""The projects of lab/mock/project.sh and of lab/mock/others, as the sessions read them."""
GENUINE = [
    ("claude/home/.claude/projects/*/aad28270-*.jsonl", GREETER, ["greet.py +1 -1", "notes.md +3 -0"]),
    ("codex/home/.codex/sessions/*/*/*/rollout-*T19-21-12-*.jsonl", GREETER, ["notes.md +3 -0", "greet.py +1 -1"]),
    ("gemini/kept-resumed/chats/*.jsonl", GREETER, ["greet.py +1 -1", "notes.md +3 -0"]),
    ("qwen/home/.qwen/projects/*/chats/16199de3-*.jsonl", GREETER, ["greet.py +1 -1", "notes.md +3 -0"]),
    ("cline/*/home/dev/.cline/data/sessions/*_3v45q/*.messages.json", SHOP, None),
    ("continue/*/home/dev/.continue/sessions/4b63e475-*.json", SHOP, None),
    ("copilot/copilot-1.0.102/home/dev/.copilot/session-state/*/events.jsonl", SHOP, None),
    ("droid/*/home/dev/.factory/sessions/*/ab984da0-*.jsonl", SHOP, None),
    ("hermes/*/home/dev/.hermes/state.db", SHOP, None),
    ("kilo/*/home/dev/.local/share/kilo/kilo.db", SHOP, None),
    ("kimi-code/*/home/dev/.kimi-code/sessions/*/*/agents/main/wire.jsonl", SHOP, None),
    ("openclaw/*/home/dev/.openclaw/agents/main/agent/openclaw-agent.sqlite", SHOP, None),
    ("opencode/opencode-1.18.33/home/dev/.local/share/opencode/opencode.db", SHOP, None),
    ("pi/*/home/dev/.pi/agent/sessions/*/2026-11-28T19-13-00-*.jsonl", SHOP, None),
]


@pytest.mark.skipif(not LAB.exists(), reason="the shared lab is not here")
@pytest.mark.parametrize(("pattern", "project", "told"), GENUINE, ids=[row[0].split("/")[0] for row in GENUINE])
def test_git_takes_the_patch_of_a_genuine_session(
    pattern: str, project: dict[str, str], told: list[str] | None, tmp_path: Path
) -> None:
    found = [address for path in sorted(LAB.glob(pattern)) for address in addresses_in(path)]
    for address in found:
        session = read_session(address)
        changes = changes_of(session)
        session.close()
        if any(file.edits for file in changes.files):
            break
    named = [line_of(file).split(" ", 1)[1].partition(" #")[0] for file in changes.files if file.stages]
    assert named == (told or ["src/cart.py +1 -1", "NOTES.md +3 -0"])
    text, lacks = patch_of(changes, "/")
    assert not lacks
    repository(tmp_path, project)
    git(tmp_path, "apply", "--check", "-", given=text)
    git(tmp_path, "apply", "-", given=text)
    changed = (tmp_path / ("src/cart.py" if project is SHOP else "greet.py")).read_text("utf-8")
    assert changed == (
        SHOP["src/cart.py"].replace("totl", "total")
        if project is SHOP
        else GREETER["greet.py"].replace('"Hi " + name', '"Good morning, " + name + "!"')
    )


def repository(folder: Path, project: dict[str, str]) -> None:
    """A project under Git."""
    for name, text in project.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    git(folder, "init", "-q")


def git(folder: Path, *arguments: str, given: str = "") -> None:
    """Run Git, which must not fail."""
    done = subprocess.run(["git", *arguments], cwd=folder, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# -- made by hand ----------------------------------------------------------------------------------------------------


def tool(*diffs: FileDiff, name: str = "Edit", kind: ToolType = "write", **more: Any) -> Tool:
    """A tool use."""
    fields: dict[str, Any] = {"input": {}, "diffs": list(diffs)}
    return Tool(name, kind, "use", **(fields | more))


def shell(command: str, text: str = "") -> Tool:
    """A shell command."""
    return tool(name="Bash", kind="shell", input={"command": command}, text=text)


def told(session: Session, messages: range | None = None) -> list[str]:
    """What is said of each file, in a line."""
    return [line_of(file) for file in changes_of(session, messages).files]


def chain(file: FileChange) -> list[str]:
    return [f"{one.place}  {did(one)}" for one in file.happened]


def line_of(file: FileChange) -> str:
    """What is said of a file."""
    added, removed = totals(file.diffs)
    edits = ",".join(f"{one.subagent}{one.place}" for one in file.edits)
    commands = ",".join(one.how for one in file.commands)
    left_out = ",".join(f"{count} {end}" for end, count in file.left_out.items())
    return " ".join([f"{file.operation} {file.path} +{added} -{removed}", edits, commands, left_out]).rstrip()


def test_files_and_what_came_of_their_edits() -> None:
    hand = Hand()
    hand.prompt("begin")
    hand.tool(tool(added_file("new.py", "a\nb\n")))
    hand.tool(tool(from_strings("new.py", "b", "c")))
    hand.tool(tool(from_strings("old.py", "x", "y"), status=ToolStatus.ERROR))
    hand.tool(tool(from_strings("old.py", "x", "z"), status=ToolStatus.DENIED))
    hand.tool(tool(from_strings("old.py", "x", "z")), flags=Flag.REWOUND)
    hand.tool(tool(from_strings("old.py", "x", "w")))
    hand.prompt("go on")
    hand.tool(tool(FileDiff("old.py", "move", [], "moved.py")))
    hand.tool(tool(from_strings("moved.py", "w", "v")))
    hand.tool(tool(FileDiff("new.py", "delete")))
    hand.tool(tool(FileDiff("gone.py", "delete", [Hunk(["-1", "-2"])])))
    assert told(hand.session) == [
        "none new.py +0 -0 #1.2,#1.3,#2.4",
        "move moved.py +1 -1 #1.7,#2.2,#2.3  1 failed,1 denied,1 rewound",
        "delete gone.py +0 -2 #2.5",
    ]


def test_an_exchange_and_a_message_by_themselves() -> None:
    hand = Hand()
    hand.prompt("begin")
    hand.tool(tool(added_file("a.py", "one\ntwo\n")))
    hand.prompt("go on")
    hand.tool(tool(from_strings("a.py", "two", "three")))
    last = hand.tool(tool(from_strings("a.py", "three", "four")))
    hand.prompt("and on")
    hand.tool(tool(from_strings("a.py", "four", "five")))
    assert told(hand.session, hand.session.message_range(1)) == ["update a.py +1 -1 #2.2,#2.3"]
    (file,) = changes_of(hand.session, range(last, last + 1)).files
    assert file.diffs[0].hunks[0].lines == [" one", "-three", "+four"]
    assert told(hand.session, range(0, 1)) == []


def test_shell_commands_are_named_and_not_guessed() -> None:
    hand = Hand()
    hand.prompt("begin")
    hand.tool(tool(added_file("a.py", "one\n")))
    hand.tool(shell("cd src && sed -i s/one/two/ ../a.py && rm b.py"))
    hand.tool(shell("git apply fix.patch; echo done > /tmp/log"))
    hand.tool(shell("cat > a.py <<'EOF'\nthree\nEOF"))
    hand.tool(tool(from_strings("a.py", "three", "four")))
    hand.tool(tool(added_file("c.py", "one\n")))
    hand.tool(shell("F=c.py; black $F; cargo fmt"))  # a formatter leaves a file's lines in it
    hand.tool(tool(from_strings("c.py", "one", "two")))
    changes = changes_of(hand.session)
    assert [line_of(file) for file in changes.files] == [
        "add a.py +2 -1 #1.2,#1.6 sed -i,cat >",
        "update src/b.py +0 -0  rm",
        "update /tmp/log +0 -0  echo >",
        "add c.py +1 -0 #1.7,#1.9 black",
    ]
    assert chain(changes.files[0]) == [
        "#1.2  Write +1 -0", "#1.3  changed by `sed -i`", "#1.5  changed by `cat >`", "#1.6  Edit +1 -1",
    ]  # fmt: skip
    assert [(one.how, one.place) for one in changes.commands] == [("git apply", "#1.4"), ("cargo fmt", "#1.8")]
    text, lacks = patch_of(changes, "/")
    assert "four" not in text
    assert lacks == [
        "a.py: the edits after a change that is not recorded",
        "a.py: changed by `sed -i` (#1.3)",
        "a.py: changed by `cat >` (#1.5)",
        "src/b.py: changed by `rm` (#1.3)",
        "/tmp/log: changed by `echo >` (#1.4)",
        "c.py: changed by `black` (#1.8)",
        "any file may be changed by `git apply` (#1.4)",
        "any file may be changed by `cargo fmt` (#1.8)",
    ]


def test_what_is_known_whole_before_and_after_is_one_difference(tmp_path: Path) -> None:
    """Whatever a command made of it in between, and though none of that is recorded."""
    hand = Hand()
    hand.prompt("begin")
    hand.tool(tool(added_file("tmp.txt", "one\ntwo\n")))
    hand.tool(shell("rm tmp.txt"))
    hand.tool(tool(added_file("tmp.txt", "three\n")))
    hand.tool(tool(added_file("b.py", "x = {'a' : 1}\ny = 2\n")))
    hand.tool(shell("black b.py"))
    hand.tool(tool(FileDiff("b.py", "update", [Hunk([' x = {"a": 1}', "-y = 2", "+y = 3"], 1, 1)])))
    hand.tool(shell("cat b.py", 'x = {"a": 1}\ny = 3\n'))
    hand.tool(tool(added_file("c.py", "one\n")))
    hand.tool(shell("rm c.py"))
    changes = changes_of(hand.session)
    lines = {file.path: [hunk.lines for diff in file.diffs for hunk in diff.hunks] for file in changes.files}
    assert lines["tmp.txt"] == [["+three"]]
    assert lines["b.py"] == [['+x = {"a": 1}', "+y = 3"]]
    assert not any(file.changed_meanwhile for file in changes.files)
    text, lacks = patch_of(changes, "/")
    assert "+one\n+two" not in text and lacks[-1] == "c.py: changed by `rm` (#1.10)"
    assert not any(lack.startswith("tmp.txt") for lack in lacks)


@pytest.mark.parametrize(
    ("status", "exit_code", "said"),
    [
        (ToolStatus.OK, None, "changed by `cat >`"),
        (ToolStatus.OK, 0, "changed by `cat >`"),
        (ToolStatus.BACKGROUND, None, "changed by `cat >`"),
        (ToolStatus.OK, 1, "perhaps changed by `cat >`"),
        (ToolStatus.ERROR, 1, "perhaps changed by `cat >`"),
        (ToolStatus.ERROR, None, "perhaps changed by `cat >`"),
        (ToolStatus.INTERRUPTED, None, "perhaps changed by `cat >`"),
        (ToolStatus.PENDING, None, "perhaps changed by `cat >`"),
        (ToolStatus.DENIED, None, ""),
    ],
)
def test_a_command_that_failed_has_perhaps_changed_a_file(status: ToolStatus, exit_code: int | None, said: str) -> None:
    """It may have failed behind the change; what a person or a rule forbade never ran."""
    hand = Hand()
    hand.prompt("begin")
    hand.tool(tool(added_file("a.py", "one\n")))
    use = shell("cat > a.py <<'EOF'\none\nEOF\npytest")
    hand.tool(replace(use, status=status, exit_code=exit_code))
    hand.tool(tool(from_strings("a.py", "one", "two")))
    (file,) = changes_of(hand.session).files
    assert chain(file) == ["#1.2  Write +1 -0", *([f"#1.3  {said}"] if said else []), "#1.4  Edit +1 -1"]
    assert file.left_out == (Counter() if said else Counter(denied=1))
    # Only a change that is known to have been made ends what is known of the file.
    assert len(file.stages) == (2 if said.startswith("changed") else 1)


COMMANDS = [
    ("corpus/claude/21_toolpath_*.jsonl", None),  # blocked by rules before it ran
    ("corpus/claude/05_entire_*.jsonl", "#7.3  changed by `mv`"),
    ("corpus/claude/18_ccv_*.jsonl", "#1.10  general-purpose: changed by `cat >`"),
    ("corpus/pi/pi-mono_large-session_v1.jsonl", "#6.14  changed by `sed -i`"),
    ("lab/mini-swe-agent/*/home/dev/textbased.traj.json", "#1.10  changed by `sed -i`"),
    ("lab/codex/streams/plain1.stream.jsonl", "#1.8  changed by `apply_patch`"),
    ("corpus/opencode/synthetic_v2_opencode.db", "#1.5  changed by `edit`"),
    ("corpus/gemini/authored_full.jsonl", None),  # denied
]


@pytest.mark.skipif(not LAB.exists(), reason="the shared lab is not here")
@pytest.mark.parametrize(("pattern", "said"), COMMANDS, ids=[row[0] for row in COMMANDS])
def test_commands_of_genuine_sessions(pattern: str, said: str | None) -> None:
    chains: list[str] = []
    left_out: Counter[str] = Counter()
    for path in LAB.parent.glob(pattern):
        for address in addresses_in(path):
            session = read_session(address)
            changes = changes_of(session)
            session.close()
            chains += [line for file in changes.files for line in chain(file) if " changed by" in line]
            left_out += changes.left_out
    assert said in chains if said else (not chains and left_out["denied"])


def test_subagents_are_included_and_named() -> None:
    hand, other = Hand(), Hand(session_id="5e55-subagent")
    hand.prompt("begin")
    start = hand.tool(tool(name="Task", kind="task"), flags=Flag.SUBAGENT)
    other.now = hand.now
    other.prompt("do it")
    other.tool(tool(added_file("a.py", "one\n")))
    hand.now = other.now
    hand.tool(tool(from_strings("a.py", "one", "two")))
    hand.session.subagents.append(Subagent("s", "Explore", session=other.session, tool_use=start))
    assert told(hand.session) == ["add a.py +1 -0 Explore#1.2,#1.3"]


def test_what_a_patch_cannot_hold_is_said() -> None:
    hand = Hand()
    hand.prompt("begin")
    hand.tool(tool(from_strings("a.py", "one", "two")))
    hand.tool(tool(from_strings("b.py", "x\none\ny", "x\ntwo\ny")))
    hand.tool(tool(added_file("/etc/motd", "hi")))
    text, lacks = patch_of(changes_of(hand.session), "/home/dev")
    assert text.startswith("diff --git a/b.py b/b.py\n--- a/b.py\n+++ b/b.py\n@@ -2,3 +2,3 @@\n")
    assert lacks == [
        "a.py: 1 of 1 change: no line behind is recorded",
        "b.py: the line numbers of 1 change; their context is in the patch",
        "/etc/motd: outside the workspace",
    ]


def test_an_edit_whose_parts_contradict_each_other() -> None:
    hand = Hand()
    hand.prompt("begin")
    hand.tool(tool(FileDiff("a.py", "update", [Hunk(["-one", "+two"], 1, 1), Hunk(["-three", "+four"], 1, 1)])))
    assert told(hand.session) == ["update a.py +2 -2 #1.2"]


def test_names_in_a_patch_are_those_that_git_reads(tmp_path: Path) -> None:
    hand = Hand()
    hand.prompt("begin")
    hand.tool(
        tool(
            added_file('an odd "name".txt', "x"),
            added_file("with space.txt", "y"),
            added_file("empty", ""),
            added_file("two\nlines", "z"),
        )
    )
    text, _ = patch_of(changes_of(hand.session), "/")
    repository(tmp_path, {"a": ""})
    git(tmp_path, "apply", "-", given=text)
    assert {path.name for path in tmp_path.iterdir()} >= {'an odd "name".txt', "with space.txt", "empty", "two\nlines"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "index 0000000..e69de29"),
        ("a\n", "+a"),
        ("a\r\nb\r\n", ""),
        ("a\x0cb\n", ""),
        ("a\x1b[31mb\n", ""),
        ("a\x00b\n", ""),
        ("a\u2028b\n", ""),
        ("a\u202eb\n", ""),
    ],
)
def test_a_patch_holds_what_was_written_or_says_that_it_does_not(content: str, text: str, tmp_path: Path) -> None:
    """`text` stands in the patch; where there is none the file is named."""
    use = {"type": "tool_use", "id": "t", "name": "Write", "input": {"file_path": "/w/a.py", "content": content}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "File created"}
    records = [
        {"type": "user", "message": {"content": "go"}},
        {"type": "assistant", "message": {"id": "m", "content": [use]}},
        {"type": "user", "message": {"content": [result]}, "toolUseResult": {"type": "create", "filePath": "/w/a.py"}},
    ]
    said = [{"sessionId": "s", "cwd": "/w", "uuid": f"u{n}"} | record for n, record in enumerate(records)]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in said))
    session = read_session(path)
    patch, lacks = patch_of(changes_of(session), "/")
    session.close()
    assert (text in patch and not lacks) if text else (not patch and "a.py: it has control characters" in lacks[0])


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not LAB.exists(), reason="the shared lab is not here")
def test_the_command(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    path = next(LAB.glob("claude/home/.claude/projects/*/aad28270-*.jsonl"))
    shown = machine.run("diff", path)
    assert shown.code == 0
    assert shown.out.startswith("greet.py  +1 -1\n  #1.8  Edit +1 -1\nnotes.md  +3 -0  new\n")
    assert '+    return "Good morning, " + name + "!"' in shown.out
    assert "@@" not in machine.run("diff", path, "--stat").out
    assert machine.run("diff", path, "--patch").out.count("diff --git") == 2
    answer = machine.run("diff", f"{path}#1", "--json").json
    assert [(file["path"], file["operation"], file["exchanges"]) for file in answer["files"]] == [
        ("greet.py", "update", ["#1"]),
        ("notes.md", "add", ["#1"]),
    ]
    assert machine.run("diff", f"{path}#2").code == 1
    assert machine.run("diff", f"{path}#7").err.count("no exchange #7") == 1
    assert machine.run("diff", path, "--stat", "--json").code == 2

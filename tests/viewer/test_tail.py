from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from schemas.message import NO_FLAGS, Flag, Tool
from schemas.opening import open_reading
from schemas.session import Change, Op, Subagent
from tests.fixtures.streams import claude_cursor as claude
from tests.fixtures.streams import gemini, saved
from tests.fixtures.streams import said as piece
from tests.schemas.claude_lines import Lines
from tests.support import Hand
from tests.viewer.machine import Machine
from tests.viewer.pipes import BEGIN, END, record, said
from tests.viewer.rewriting import Following, item, open_rewriting
from tests.viewer.toy import line, open_toy
from tests.waiting import LIMIT, wait_until
from viewer.follow import follower as follow
from viewer.follow.family import FollowSet, Source, is_twin
from viewer.follow.follower import Follower
from viewer.follow.printer import JsonPrinter, TextPrinter, message_lines

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaaa-0000-4000-8000-000000000002"


# -- what is printed, without a process --------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(follow, "open_reading", open_toy)
    path = tmp_path / "toy.jsonl"
    path.write_bytes(line("user", "u1", "one") + line("assistant", "a1", "two") + line("user", "u2", "three"))
    return path


class Tail:
    """A family and a printer, driven by hand."""

    def __init__(self, path: Path, printer: JsonPrinter | TextPrinter, *, whole: bool = False) -> None:
        self.path, self.printer = path, printer
        self.family = FollowSet(Follower(path), whole=whole)

    def look(self) -> list[str]:
        for source, changes in self.family.poll():
            self.printer.take(source, changes)
        return self.take()

    def end(self) -> list[str]:
        self.printer.end(self.family.sources)
        return self.take()

    def take(self) -> list[str]:
        lines = b"".join(self.printer.pieces).decode().splitlines()
        self.printer.pieces.clear()
        return [text for text in lines if text]

    def append(self, *records: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(b"".join(records))


def test_text_begins_with_the_last_exchange(path):
    tail = Tail(path, TextPrinter(False))
    assert tail.look() == ["> three"]
    tail.append(line("assistant", "a2", "four"))
    assert tail.look() == ["four"]
    assert tail.look() == []


@pytest.mark.parametrize(("place", "lines"), [("#1", ["> one", "two", "> three"]), ("#1.2", ["two", "> three"])])
def test_text_begins_at_a_place(path, place, lines):
    assert Tail(path, TextPrinter(False, place=place)).look() == lines
    assert len(Tail(path, JsonPrinter(False, place)).look()) == len(lines)


def test_text_begins_with_the_first_if_all_is_asked_for(path):
    assert Tail(path, TextPrinter(True), whole=True).look() == ["> one", "two", "> three"]


def test_a_tool_use_is_printed_when_its_result_has_come(path):
    tail = Tail(path, TextPrinter(False))
    tail.look()
    tail.append(line("call", "c1", "ls"))
    assert tail.look() == []
    tail.append(line("assistant", "a2", "meanwhile"))
    assert tail.look() == ["meanwhile"]
    tail.append(line("result", "c1", "a.py"))
    assert tail.look() == ["* $ ls   1 line", "    a.py"]
    assert tail.end() == []


def test_a_tool_use_without_a_result_is_printed_at_the_end(path):
    tail = Tail(path, TextPrinter(False))
    tail.append(line("call", "c1", "sleep 9"))
    assert tail.look() == ["> three"]
    assert tail.end() == ["* $ sleep 9   no result"]


def test_a_tool_use_without_a_result_is_printed_when_its_exchange_ends(path):
    tail = Tail(path, TextPrinter(False))
    tail.append(line("call", "c1", "sleep 9"))
    tail.look()
    tail.append(line("user", "u3", "next"))
    assert tail.look() == ["* $ sleep 9   no result", "> next"]


def test_long_output_is_cut_and_says_so(path):
    tail = Tail(path, TextPrinter(False))
    tail.append(line("call", "c1", "seq 50"), line("result", "c1", "\n".join(map(str, range(50)))))
    printed = tail.look()
    assert printed[-2:] == ["    19", "    … 30 more lines"]


def test_nothing_is_printed_twice_after_a_rewrite(path):
    tail = Tail(path, TextPrinter(False))
    tail.look()
    path.write_bytes(path.read_bytes().replace(b"two", b"TWO") + line("assistant", "a2", "four"))
    assert tail.look() == ["four"]


def changes(lines: list[str]) -> list[tuple[Any, ...]]:
    rows = map(json.loads, lines)
    return [(row["change"], row["exchangeId"], row["message"] and row["message"]["id"]) for row in rows]


def test_json_says_every_change(path):
    tail = Tail(path, JsonPrinter(False))
    assert changes(tail.look()) == [("appended", "toy-session:1", "u2")]
    tail.append(line("call", "c1", "ls"))
    assert changes(tail.look()) == [("appended", "toy-session:1", "c1")]
    tail.append(line("result", "c1", "a.py"))
    (update,) = tail.look()
    assert changes([update]) == [("updated", "toy-session:1", "c1")]
    assert json.loads(update)["message"]["tool"]["output"]["content"] == "a.py"


def test_a_prompt_that_comes_out_of_the_queue_goes_and_comes_as_what_it_is(tmp_path):
    """As Claude Code writes it: the queue's record has no name, so the message is called by where it stands."""
    written = Lines()
    written.user("one")
    written.say("yes", response="m1")
    written.fact("queue-operation", operation="enqueue", content="two")
    queued = len(written.data)
    written.fact("queue-operation", operation="dequeue")
    uuid = written.user("two")
    path = tmp_path / "11111111-2222-4333-8444-555555555555.jsonl"
    path.write_bytes(written.data[:queued])
    tail = Tail(path, JsonPrinter(True), whole=True)
    *_, waiting = changes(tail.look())
    tail.append(written.data[queued:])
    assert [row for row in changes(tail.look()) if row[2] in (waiting[2], uuid)] == [
        ("removed", waiting[1], waiting[2]), ("appended", f"{written.session}:1", uuid),
    ]  # fmt: skip


def test_json_says_what_came_and_changed_at_once_only_once(path):
    tail = Tail(path, JsonPrinter(False))
    tail.append(line("call", "c1", "ls"), line("result", "c1", "a.py"))
    assert [row[0] for row in changes(tail.look())] == ["appended", "appended"]


def test_json_says_that_it_starts_over(path):
    tail = Tail(path, JsonPrinter(True), whole=True)
    tail.look()
    path.write_bytes(line("user", "u1", "one") + line("user", "u9", "new"))
    assert changes(tail.look()) == [
        ("restarted", None, None), ("appended", "toy-session:0", "u1"), ("appended", "toy-session:1", "u9"),
    ]  # fmt: skip


def test_json_says_all_again_when_its_file_went_away_and_came_back(path):
    tail = Tail(path, JsonPrinter(True), whole=True)
    there = changes(tail.look())
    path.rename(away := path.with_name("away"))
    assert tail.look() == []
    away.rename(path)
    assert changes(tail.look()) == [("restarted", None, None), *there]


def test_a_subagent_is_followed_and_named(path, tmp_path):
    tail = Tail(path, TextPrinter(False))
    tail.look()
    sub = tmp_path / "sub.jsonl"
    tail.family.main.session.subagents.append(Subagent("agent-1", "Explore", path=sub))
    assert tail.look() == []  # its file is not there yet
    sub.write_bytes(line("user", "s1", "look around"))
    assert tail.look() == ["Explore | > look around"]
    with sub.open("ab") as file:
        file.write(line("assistant", "s2", "found"))
    assert tail.look() == ["Explore | found"]


def test_a_subagent_from_before_is_followed_from_its_end(path, tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("viewer.follow.family.time.monotonic", lambda: now[0])
    sub = tmp_path / "sub.jsonl"
    sub.write_bytes(line("user", "s1", "look around"))
    tail = Tail(path, JsonPrinter(False))
    tail.family.main.session.subagents.append(Subagent("agent-1", "Explore", path=sub))
    assert [row[2] for row in changes(tail.look())] == ["u2"]
    with sub.open("ab") as file:
        file.write(line("assistant", "s2", "found"))
    now[0] += 2
    (row,) = tail.look()
    assert json.loads(row)["subagent"] == "agent-1"
    assert json.loads(row)["message"]["id"] == "s2"


@pytest.mark.parametrize("whole", [True, False])
def test_a_subagent_within_the_file_is_followed_and_named(path, whole):
    tail = Tail(path, TextPrinter(whole), whole=whole)
    inside = Subagent("agent-1", "Explore")
    tail.family.main.session.subagents.append(inside)
    hand = Hand()
    assert tail.look()[-1] == "> three"  # it has not said anything yet
    inside.session = hand.session
    hand.prompt("look around")
    call = hand.tool(Tool("Bash", "shell", "b", {"command": "ls"}, text="a.py"), flags=Flag.PENDING)
    (line,) = tail.look()
    assert line.startswith("Explore | ")
    assert line.endswith("> look around")
    assert tail.look() == []
    hand.session.messages.flags[call] &= ~Flag.PENDING
    hand.session.note_change(call)
    assert tail.look() == ["Explore | * $ ls   1 line", "Explore |     a.py"]
    below = Hand()
    hand.session.subagents.append(Subagent("agent-2", "Deeper", session=below.session))
    below.text("found")
    assert tail.look() == ["Deeper | found"]


def test_changes_of_a_subagent_within_the_file_are_told(path):
    tail = Tail(path, JsonPrinter(True), whole=True)
    hand = Hand()
    call = hand.tool(Tool("Bash", "shell", "b", {"command": "ls"}), flags=Flag.PENDING)
    tail.family.main.session.subagents.append(Subagent("agent-1", "Explore", session=hand.session))
    rows = [json.loads(line) for line in tail.look()]
    assert [(row["change"], row.get("subagent")) for row in rows[-2:]] == [("appended", None), ("appended", "agent-1")]
    hand.session.messages.flags[call] &= ~Flag.PENDING
    hand.session.note_change(call)
    assert [row[0] for row in changes(tail.look())] == ["updated"]
    assert tail.look() == []


def test_what_an_agent_prints_of_a_subagent_is_told_as_it_comes(tmp_path):
    path = saved(tmp_path / "run.jsonl", [claude.init(), claude.says("m", claude.use("t", "Task", prompt="Find"))])
    tail = Tail(path, JsonPrinter(True), whole=True)
    tail.look()

    def told(*lines: dict[str, Any]) -> list[tuple[Any, Any]]:
        tail.append(*(json.dumps(line).encode() + b"\n" for line in lines))
        rows = [json.loads(row) for row in tail.look()]
        return [(row["change"], row["message"]["role"]) for row in rows if row.get("subagent") == "t"]

    call = claude.says("s", claude.use("b", "Bash", command="ls"), parent="t")
    assert told(claude.told([claude.text("Find")], "t"), call) == [("appended", "user"), ("appended", "agent")]
    assert told(claude.back("b", "a.py", parent="t")) == [("updated", "agent")]
    assert told() == []


def test_what_a_subagent_within_the_file_did_before_is_not_printed_again(path):
    tail = Tail(path, TextPrinter(False))
    hand = Hand()
    hand.text("long ago")
    tail.family.main.session.subagents.append(Subagent("agent-1", "Explore", session=hand.session))
    assert tail.look() == ["> three"]


# -- sources that rewrite history --------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(follow, "open_reading", open_rewriting)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(line("user" if n % 2 else "assistant", f"m{n}", f"text {n}") for n in range(1, 5)))
    return path


def test_json_says_each_change_of_a_rewrite_once(log):
    tail = Tail(log, JsonPrinter(True), whole=True)
    assert [row[0] for row in changes(tail.look())] == ["appended"] * 4
    tail.append(line("assistant", "m2", "2"), line("back", "b", to="m4"), line("call", "m5", "ls"))
    rows = tail.look()
    assert changes(rows) == [
        ("removed", "toy-session:1", "m4"),
        ("updated", "toy-session:0", "m2"),
        ("appended", "toy-session:1", "m5"),
    ]
    # What was removed is said as it was, what was updated as it is.
    contents = [json.loads(row)["message"].get("content") for row in rows]
    assert contents[:2] == [[{"type": "text", "text": "text 4"}], [{"type": "text", "text": "2"}]]
    tail.append(line("result", "m5", "a.py"))
    assert changes(tail.look()) == [("updated", "toy-session:1", "m5")]
    tail.append(line("assistant", "m4", "again"))
    assert changes(tail.look()) == [("appended", "toy-session:1", "m4")]


def test_json_says_nothing_of_what_stood_there_before(log):
    tail = Tail(log, JsonPrinter(False))
    assert [row[2] for row in changes(tail.look())] == ["m3", "m4"]
    tail.append(line("assistant", "m1", "1"))
    assert tail.look() == []
    tail.append(line("back", "b", to="m2"), line("user", "m2", "new"))
    assert changes(tail.look()) == [
        ("removed", "toy-session:1", "m3"),
        ("removed", "toy-session:1", "m4"),
        # Whether it came back or only changed cannot be told: it stood there before.
    ]


def test_text_says_what_was_taken_back(log):
    tail = Tail(log, TextPrinter(True), whole=True)
    assert tail.look() == ["> text 1", "text 2", "> text 3", "text 4"]
    tail.append(line("assistant", "m2", "other words"))
    assert tail.look() == []
    tail.append(line("back", "b", to="m4"), line("assistant", "m5", "text 5"))
    assert tail.look() == ["- taken back: text 4", "text 5"]
    tail.append(line("back", "b", to="m2"), line("user", "m6", "text 6"))
    assert tail.look() == ["- taken back: 3 messages from other words", "> text 6"]


def test_text_waits_for_a_result_over_a_rewrite(log):
    tail = Tail(log, TextPrinter(True), whole=True)
    tail.append(line("call", "c1", "ls"))
    assert tail.look()[-1] == "text 4"
    tail.append(line("back", "b", to="m1"), line("user", "m7", "seven"), line("call", "c1", "ls"))
    assert tail.look() == ["- taken back: 4 messages from text 1", "> seven"]
    tail.append(line("user", "m1", "before"), line("back", "b", to="m1"), line("result", "c1", "a.py"))
    assert tail.look() == ["* $ ls   1 line", "    a.py"]


def test_what_is_rewound_is_said_once_and_nothing_of_it_is_printed_again():
    items = [item("user", "u1", "one"), item("assistant", "a1", "two"), item("user", "u2", "three")]
    reading = Following(items)
    source = Source(cast(Follower, reading))
    reading.path = Path("toy.json")  # type: ignore[attr-defined]
    printer = TextPrinter(True)

    def look() -> list[str]:
        printer.take(source, reading.poll() if printer.pieces or printer._shown else [Change(Op.RESTARTED)])
        said = b"".join(printer.pieces).decode().split("\n")
        printer.pieces.clear()
        return [row for row in said if row]

    assert look() == ["> one", "two", "> three"]
    reading.reading.items = [items[0], items[1] | {"rewound": True}, items[2] | {"rewound": True}]
    assert look() == ["- taken back: 2 messages from two"]
    reading.reading.items = [*reading.reading.items, item("user", "u3", "four")]
    assert look() == ["> four"]
    reading.reading.items = [items[0], item("user", "u3", "four")]
    assert look() == []  # it was said already


@pytest.mark.parametrize("as_json", [False, True])
def test_a_session_that_goes_on_in_another_file(log, as_json):
    old, new = log.with_name("chat.json"), log.with_name("chat.jsonl")
    old.write_bytes(log.read_bytes())
    new.write_bytes(log.read_bytes() + line("user", "m9", "goes on"))
    first = Tail(old, JsonPrinter(False) if as_json else TextPrinter(False))
    assert len(first.look()) == 2
    first.printer.next_session(new, old if is_twin(old, new) else None)
    rows = Tail(new, first.printer, whole=True).look()
    if as_json:
        assert changes(rows) == [("appended", "toy-session:2", "m9")]
    else:
        assert rows == [f"== the session goes on in {new}", "> goes on"]


def stream(*lines: Any) -> bytes:
    """What an agent prints; what is no string is written as JSON."""
    return b"".join((one if isinstance(one, str) else json.dumps(one)).encode() + b"\n" for one in lines)


def test_the_words_of_a_stream_are_printed_when_they_are_whole(path, monkeypatch):
    monkeypatch.setattr(follow, "open_reading", open_reading)
    path.write_bytes(stream(gemini(0, "message", role="user", content="Clean the lamp"), piece(1, "Fo"), "noise"))
    tail = Tail(path, TextPrinter(True))
    (prompt,) = tail.look()  # more of the text may come, although something stands below it
    assert prompt.endswith("> Clean the lamp")
    tail.append(stream(piece(1, "ur")))
    assert tail.look() == []
    tail.append(stream(gemini(2, "tool_use", tool_name="glob", tool_id="g-1", parameters={"pattern": "*"})))
    assert tail.look() == ["Four", "- note plain output", "    noise"]
    tail.append(stream(gemini(2, "tool_result", tool_id="g-1", status="success", output="a"), piece(3, "Five")))
    assert tail.look() == ['* Glob "*"   1 file', "    a"]
    tail.append(stream(gemini(4, "message", role="user", content="six"), piece(5, "seven")))
    assert [row.split("> ")[-1] for row in tail.look()] == ["Five", "six"]
    assert tail.end() == ["seven"]
    assert tail.end() == []


def test_the_words_of_a_stream_without_pieces_are_printed_at_once(path, monkeypatch):
    monkeypatch.setattr(follow, "open_reading", open_reading)
    path.write_bytes(BEGIN + said(0, "one"))
    tail = Tail(path, TextPrinter(True))
    assert tail.look() == ["> (prompt not in the stream)", "one"]
    tail.append(said(1, "two"))
    assert tail.look() == ["two"]


# -- the process -------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session(ONE, ["Fix the lamp", "It shines again"], cwd=str(tmp_path))
    return machine


class Process:
    """`turnlog tail` (or another command), running; `wait_for` gives up after some seconds."""

    def __init__(self, machine: Machine, *arguments: str, command: tuple[str, ...] = ("tail",)) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "viewer", *command, *arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=machine.env, cwd=machine.home,
        )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.out = self.process.stdin, self.process.stdout
        os.set_blocking(self.out.fileno(), False)
        self.seen = ""

    def wait_for(self, words: str) -> None:
        def seen() -> bool:
            self.seen += (self.out.read() or b"").decode()
            return words in self.seen

        wait_until(seen, lambda: f"{words!r} never came; there was {self.seen!r}")

    def write(self, *lines: bytes) -> None:
        os.write(self.input.fileno(), b"".join(lines))

    def end(self) -> tuple[int, str, str]:
        """Close its standard input; the exit code, and what it printed."""
        os.set_blocking(self.out.fileno(), True)
        out, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, self.seen + out.decode(), err.decode()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        self.process.send_signal(how)
        _, err = self.process.communicate(timeout=LIMIT)
        return self.process.returncode, err.decode()


@pytest.fixture
def start(machine: Machine) -> Iterator[Any]:
    running: list[Process] = []

    def run(*arguments: str, **options: Any) -> Process:
        running.append(Process(machine, *arguments, **options))
        return running[-1]

    yield run
    for one in running:
        one.process.kill()
        one.process.communicate()


def answer(path: Path, text: str) -> None:
    record = json.loads(path.read_bytes().splitlines()[-1])
    record |= {"uuid": f"{text}-uuid", "parentUuid": record["uuid"]}
    record["message"] |= {"id": f"msg_{text}", "content": [{"type": "text", "text": text}]}
    with path.open("ab") as file:
        file.write(json.dumps(record).encode() + b"\n")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_follows_the_newest_session_of_this_directory_until_it_is_told_to_stop(machine, start, how):
    machine.session(TWO, ["Elsewhere", "Yes"], cwd="/home/dev/elsewhere", minute=5)
    tail = start()
    tail.wait_for("It shines again")
    answer(next(machine.projects.rglob(f"{ONE}.jsonl")), "FRESH")
    tail.wait_for("FRESH")
    assert "Elsewhere" not in tail.seen
    assert tail.stop(how) == (0, "")


def test_the_next_session_takes_over(machine, start):
    tail = start()
    tail.wait_for("It shines again")
    machine.session(TWO, ["Something new", "Gladly"], cwd=str(machine.home), minute=5)
    tail.wait_for("Gladly")
    assert "== the next session: " in tail.seen
    assert tail.stop() == (0, "")


def test_it_ends_when_nobody_reads_any_more(machine, start):
    tail = start(ONE)
    tail.wait_for("It shines again")
    tail.out.close()
    assert tail.process.wait(LIMIT) == 0


def test_standard_input_is_printed_and_ends(machine):
    data = next(machine.projects.rglob(f"{ONE}.jsonl")).read_bytes()
    result = subprocess.run(
        [sys.executable, "-m", "viewer", "tail", "-"],
        input=data, capture_output=True, env=machine.env, cwd=machine.home, timeout=LIMIT,
    )  # fmt: skip
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"It shines again" in result.stdout


@pytest.mark.parametrize("command", [(), ("tail",)])
def test_what_comes_on_standard_input_is_printed_while_it_comes(start, command):
    tail = start("-", command=command)
    tail.write(BEGIN, said(0, "FIRST"), said(1, "SECOND")[:20])
    tail.write(said(1, "SECOND")[20:], said(2, "THIRD"))
    tail.wait_for("SECOND")
    assert tail.process.poll() is None
    tail.write(record(type="item.started", item={"id": "c", "type": "command_execution", "command": "make"}))
    tail.write(said(3, "FOURTH").rstrip())
    code, out, err = tail.end()
    assert (code, err) == (0, "")
    assert [out.count(word) for word in ("FIRST", "SECOND", "THIRD", "FOURTH", "$ make")] == [1] * 5
    assert out.endswith("\n- this session: tokens unknown\n")


def test_a_stream_ends_with_its_totals(start):
    tail = start("-", command=())
    tail.write(BEGIN, said(0, "FIRST"), END)
    code, out, err = tail.end()
    assert (code, err) == (0, "")
    assert out.endswith("\n- this session: 7 tokens: in 4 · cache read 1 · cache write 0 · out 2\n")


def test_changes_on_standard_input_are_printed_while_they_come(start):
    tail = start("-", "--json")
    call = {"id": "c", "type": "command_execution", "command": "make"}
    tail.write(BEGIN, said(0, "FIRST"), record(type="item.started", item=call))
    tail.wait_for("make")
    tail.write(record(type="item.completed", item={**call, "aggregated_output": "OUTPUT", "exit_code": 0}))
    tail.wait_for("OUTPUT")
    assert tail.process.poll() is None
    code, out, err = tail.end()
    assert (code, err) == (0, "")
    rows = [row for row in map(json.loads, out.splitlines()) if row["message"].get("tool")]
    assert rows[0]["change"] == "appended"
    assert {row["change"] for row in rows[1:]} == {"updated"}


def test_all_output_is_printed_where_there_is_no_screen_and_some_of_it_when_tailing(machine, start):
    output = "\n".join(f"row {n}" for n in range(60))
    call = {"id": "c", "type": "command_execution", "command": "seq 60", "aggregated_output": output, "exit_code": 0}
    for command, has_all in (((), True), (("tail",), False)):
        tail = start("-", command=command)
        tail.write(BEGIN, record(type="item.completed", item=call))
        code, out, _ = tail.end()
        assert code == 0
        assert ("row 59" in out) is has_all


def test_standard_input_is_let_go_when_nobody_reads_any_more(start):
    tail = start("-", command=())
    tail.write(BEGIN, said(0, "FIRST"), said(1, "SECOND"))
    tail.wait_for("FIRST")
    tail.out.close()
    assert tail.process.wait(LIMIT) == 0
    with pytest.raises(BrokenPipeError):
        tail.write(said(2, "THIRD"))
    assert tail.process.stderr.read() == b""


def test_a_stream_that_was_cut_off_is_printed_and_said(start):
    tail = start("-", command=())
    tail.write(BEGIN, said(0, "FIRST"), said(1, "SECOND")[:-9])
    code, out, err = tail.end()
    assert code == 0
    assert "FIRST" in out
    assert err == "turnlog: -: line 4 could not be read: the last line is unfinished\n"


@pytest.mark.parametrize("command", [("tail",), ("show",)])
def test_what_is_no_session_is_said_without_the_temporary_name(machine, command):
    result = machine.run(*command, "-", stdin=b"hello\n")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("turnlog: -: it begins with 'hello'")


def test_no_answer_holds_the_temporary_name(machine):
    data = next(machine.projects.rglob(f"{ONE}.jsonl")).read_bytes() + b"{half"
    for command in (
        ("show", "--json"),
        ("export",),
        ("export", "--to", "json"),
        ("usage", "--json"),
        ("tail", "--json"),
    ):
        result = machine.run(*command, "-", stdin=data)
        assert "It shines again" in result.out or command[0] == "usage"
        assert "stdin.jsonl" not in result.out + result.err
    shown = machine.run("show", "--json", "-", stdin=data)
    assert '"source":"-"' in shown.out.replace(" ", "")
    assert shown.err.startswith("turnlog: -: line")


def test_no_session_here(tmp_path):
    result = Machine(tmp_path).run("tail")
    assert (result.code, result.out) == (1, "")
    assert "no session of this directory" in result.err


def test_no_such_target(machine):
    result = machine.run("tail", machine.home / "nowhere.jsonl")
    assert (result.code, result.out) == (2, "")


def test_that_thinking_is_withheld_is_printed_once_an_exchange() -> None:
    hand = Hand()
    for _ in range(2):
        hand.prompt("go")
        for text in ("", "", "the lock", ""):
            hand.thinking(text, flags=NO_FLAGS if text else Flag.WITHHELD)
    printed = [row for i in range(10) for row in message_lines(hand.session, hand.session.message(i))]
    assert [row for row in printed if row.startswith("*")] == ["* thinking, withheld by the provider", "* thinking"] * 2

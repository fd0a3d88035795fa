"""Aider: one file of many runs; whose a line is; what it says that it did, as tool uses."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.opening import open_reading, read_session
from schemas.paths import address_of
from schemas.provider import Environment
from schemas.providers.aider import PROVIDER
from schemas.reading import WholeReading
from schemas.session import Op
from tests.fixtures import aider
from tests.schemas.conformance import described

SHARED = Path(__file__).parents[2] / "../shared"
KEY, BOAT = "2026-05-28T20:26:40", "2026-05-28T20:40:00"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return aider.samples(tmp_path / "lamp-shop")[0].source


def test_a_run_as_a_reader_sees_it(path: Path) -> None:
    session = read_session(address_of(path, KEY))
    assert described(session) == [
        "CONTEXT /usr/bin/aider --model kestrel/kestrel-1 lamp.py Aider v0.86",
        "PROMPT Light the lamp and say so",
        "THINKING It is off.",
        "TEXT It was off: > off #### Steps lamp.py ```python <<<<<<< SEARC",
        "NOTE Aider's estimate: 2.5k sent, 106 received.",
        "TOOL edit",
        "NOTE It was off. ```python on = 1 ```",
        "TOOL shell",
        "NOTE Running python lamp.py",
        "COMMAND /tokens",
        "NOTE 3,000 tokens total",
        "PROMPT Paint it",
        "ERROR litellm.BadRequestError: refused",
        "NOTE because of the colour",
    ]
    edit, shell = session.message(5).tool, session.message(7).tool
    assert edit and edit.diffs[0].unified() == "--- a/lamp.py\n+++ b/lamp.py\n@@ -1,1 +1,1 @@\n-on = 0\n+on = 1\n"
    assert shell and shell.input == {"command": "python lamp.py"}
    assert session.message(6).label == "Commit 78d4430 feat: light it"
    assert (session.version, session.workspace_root, session.id) == ("0.86.2", str(path.parent), f"lamp-shop-{KEY}")
    assert PROVIDER.resume_command(session) == ["aider", "--restore-chat-history"]


def test_an_interrupted_run_keeps_what_came(path: Path) -> None:
    session = read_session(address_of(path, BOAT))
    assert described(session)[1:] == ["PROMPT Build a boat", "INTERRUPT ^C again to exit", "TEXT It will"]
    assert session.exchanges[-1].interrupted


def test_the_newest_run_is_opened_and_those_in_which_nothing_was_asked_are_none(path: Path) -> None:
    assert [file.key for file in PROVIDER.held(path)] == [BOAT, KEY]
    assert read_session(path).key == BOAT
    assert PROVIDER.held(path)[0].mtime_ns == path.stat().st_mtime_ns
    assert PROVIDER.held(path)[1].mtime_ns == int(aider.seconds(KEY) * 1e9)


def test_two_runs_that_began_in_the_same_second(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(aider.BOAT + aider.BOAT.replace("a boat", "a kite"))
    assert [file.key for file in PROVIDER.held(path)] == [f"{BOAT}.2", BOAT]
    assert read_session(address_of(path, f"{BOAT}.2")).title == "Build a kite"


BEGUN = "# aider chat started at 2026-05-28 20:26:40\n\n"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("#### Hi  \n\nHo\n\n#### Step\n\nx\n\n> Tokens: 1 sent.  \n", ["PROMPT Hi", "TEXT Ho #### Step x"]),
        ("#### Hi  \n\n> quoted\n\nHo\n\n> Tokens: 1 sent.  \n", ["PROMPT Hi", "TEXT > quoted Ho"]),
        ("#### Hi  \n\nHo\n\n>>> code\n\n> Tokens: 1 sent.  \n", ["PROMPT Hi", "TEXT Ho >>> code"]),
        ("#### Hi\n\nHo\n\n#### Step\n\nx\n", ["PROMPT Hi", "TEXT Ho #### Step x"]),
        ("#### Hi\nHo\n```\n> x\n```\n\n> Tokens: 1 sent.\n\n#### Ha\n", ["PROMPT Hi", "TEXT Ho ``` > x ```"]),
    ],
    ids=["heading", "quotation", "prompt of Python", "heading, no spaces", "fence, no spaces"],
)
def test_what_looks_like_a_line_of_aiders_in_an_answer(tmp_path: Path, text: str, seen: list[str]) -> None:
    path = tmp_path / "chat.md"
    path.write_text(BEGUN + text)
    rest = described(read_session(path))[1:]
    assert rest[:2] == seen
    assert all(line.startswith(("NOTE Aider's estimate", "PROMPT Ha")) for line in rest[2:])


@pytest.mark.parametrize(
    ("remark", "tool"),
    [
        ("Applied edit to a b.py", ("edit", "a b.py", "ok")),
        ("Did not apply edit to a.py (--dry-run)", ("edit", "a.py", "denied")),
        ("Skipping edits to a.py that matches gitignore spec.", ("edit", "a.py", "denied")),
        ("ls\n> Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: n", ("shell", "ls", "denied")),
        ("ls\n> pwd\n> Run shell commands? (Y)es/(N)o/(D)on't ask again [Yes]: y", ("shell", "ls\npwd", "ok")),
    ],
)
def test_remarks_that_are_tool_uses(tmp_path: Path, remark: str, tool: tuple[str, str, str]) -> None:
    path = tmp_path / "chat.md"
    path.write_text(f"{BEGUN}#### Hi  \n\nHo\n\n" + "".join(f"{line}  \n" for line in f"> {remark}".split("\n")))
    session = read_session(path)
    found = session.message(len(session.messages) - 1).tool
    assert found
    assert (found.name, found.input.get("file_path") or found.input["command"], found.status) == tool


def test_a_run_that_grows_is_followed(path: Path) -> None:
    reading = open_reading(path)
    while not reading.done:
        reading.step()
    assert isinstance(reading, WholeReading)
    with path.open("a") as file:
        file.write(" float.\n\n> Tokens: 3k sent, 9 received.  \n")
    assert [change.op for change in reading.reread()] == [Op.UPDATED, Op.APPENDED]
    with path.open("a") as file:
        file.write(aider.BOAT.replace("20:40:00", "20:50:00"))
    assert reading.reread() == [], "another run is another session"


def test_where_it_is_looked_for(path: Path, tmp_path: Path) -> None:
    deep = path.parent / "src" / "deep"
    deep.mkdir(parents=True)
    found = PROVIDER.locations(Environment({"PWD": str(deep)}, tmp_path, "linux"))
    assert found == [(path.parent, "PWD"), (tmp_path, "default")]
    found_files = [file.path for place in found for file in PROVIDER.find(place, [])]
    assert set(found_files) == {address_of(path, BOAT), address_of(path, KEY)}
    found = PROVIDER.locations(Environment({"AIDER_CHAT_HISTORY_FILE": str(path), "PWD": "/"}, tmp_path, "linux"))
    assert [file.key for file in PROVIDER.find(found[0], [])] == [BOAT, KEY]


@pytest.mark.skipif(not SHARED.exists(), reason="no shared files here")
def test_genuine_and_corpus_files_open() -> None:
    path = SHARED / "lab/aider/aider-0.86.2/home/dev/src/shop/.aider.chat.history.md"
    held = PROVIDER.held(path)
    assert len(held) == 8
    first = read_session(address_of(path, held[-1].key))
    kinds = [line.split()[0] for line in described(first)]
    assert kinds == ["CONTEXT", "PROMPT", "THINKING", "TEXT", "NOTE", "TOOL", "NOTE", "TOOL"]
    titles = {read_session(address_of(path, file.key)).title for file in held}
    assert "Please trigger the bad request." in titles and len(titles) == 5
    corpus = SHARED / "corpus/aider"
    assert [file.key[-8:] for file in PROVIDER.held(corpus / "agentsview.aider.chat.history.md")] == [
        "15:30:00",
        "14:01:00",
    ]
    assert described(read_session(corpus / "deja-vu.aider.chat.history.md"))[1:] == [
        "PROMPT inspect the markdown history",
        "TEXT The history is readable.",
    ]

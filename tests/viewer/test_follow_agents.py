"""Following what real agents write who rewrite history, by their own providers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from schemas.opening import OpenError, open_reading
from schemas.provider import Environment, Problem
from schemas.reading import LinesReading
from schemas.session import Op, Session
from tests.fixtures.cursor import stores as cursor
from tests.viewer.rewriting import Mirror, shown
from tests.viewer.test_follow_rewriting import catch_up, wait_for
from tests.waiting import wait_until
from viewer.follow import family as followset
from viewer.follow.family import Succession
from viewer.follow.follower import Follower
from viewer.index.find import look_through
from viewer.index.library import Library
from viewer.index.query import parse

ID = "11111111-2222-4333-8444-555555555555"
HEADER = {"sessionId": ID, "projectHash": "ab" * 32, "startTime": "2026-05-07T18:28:01.404Z", "kind": "main"}


def record(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def message(name: str, kind: str, text: str, **more: Any) -> dict[str, Any]:
    """A message of a Gemini log."""
    return {"id": name, "timestamp": "2026-05-07T18:29:00Z", "type": kind, "content": text} | more


def call(name: str, output: str | None) -> dict[str, Any]:
    """A tool use in it; None: not finished."""
    result = None if output is None else [{"functionResponse": {"id": name, "response": {"output": output}}}]
    status = "executing" if output is None else "success"
    return {"id": name, "name": "run_shell_command", "args": {"command": "make"}, "status": status, "result": result}


names = st.sampled_from(["m1", "m2", "m3", "m4", "m5"])
texts = st.sampled_from(["one", "two\nlines", "", "/help", "<session_context>x"])
tokens = st.sampled_from([None, {"input": 10, "output": 2, "cached": 4, "thoughts": 1, "tool": 0, "total": 13}])
messages = st.one_of(
    st.builds(message, names, st.just("user"), texts),
    st.builds(
        lambda name, text, usage, calls, thoughts: message(
            name, "gemini", text, tokens=usage, toolCalls=calls, thoughts=thoughts, model="gemini-3-pro"
        ),
        names,
        texts,
        tokens,
        st.lists(st.builds(call, st.sampled_from(["c1", "c2"]), st.sampled_from([None, "done"])), max_size=2),
        st.sampled_from([[], [{"subject": "S", "description": "D"}]]),
    ),
    st.builds(message, names, st.sampled_from(["info", "error"]), texts),
)
records = st.one_of(
    messages.map(record),
    messages.map(record),
    names.map(lambda name: record({"$rewindTo": name})),
    st.lists(messages, max_size=3).map(lambda some: record({"$set": {"messages": some}})),
    st.sampled_from([record({"$set": {"summary": "A title"}}), b"{half\n", b"\n"]),
)
steps = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "cut", "truncate", "replace", "delete"]),
        st.lists(records, max_size=4).map(b"".join),
        st.integers(0, 10_000),
        st.booleans(),
    ),
    max_size=8,
)


def afresh(path: Path) -> Session:
    reading = open_reading(path)
    while not reading.done:
        reading.step()
    if isinstance(reading, LinesReading):
        reading.take_tail()
    return reading.session


@given(steps)
def test_any_history_of_a_gemini_log(tmp_path_factory, history):
    path = tmp_path_factory.mktemp("gemini") / "session-x.jsonl"
    path.write_bytes(record(HEADER) + record(message("m1", "user", "begin")))
    follower, mirror = Follower(path), Mirror()
    waiting = b""
    for what, data, number, look in history:
        if what in ("append", "cut"):
            cut = number % (len(data) + 1) if what == "cut" else len(data)
            with path.open("ab") as file:
                file.write(waiting + data[:cut])
            waiting = data[cut:]
        elif what == "truncate" and path.exists():
            os.truncate(path, number % (path.stat().st_size + 1))
            waiting = b""
        elif what == "replace":
            path.with_suffix(".new").write_bytes(record(HEADER) + data)
            os.replace(path.with_suffix(".new"), path)
            waiting = b""
        elif what == "delete":
            path.unlink(missing_ok=True)
            waiting = b""
        if look:
            changes = catch_up(follower)
            if not follower.trouble and not follower.missing:
                mirror.apply(changes, follower.session)
    with path.open("ab") as file:
        file.write(waiting + b"\n" + record(message("m9", "user", "the end")))
    changes = catch_up(follower)
    try:
        expected = afresh(path)
    except OpenError:
        return
    mirror.apply(changes, follower.session)
    assert shown(follower.session) == shown(expected)
    assert follower.session.usage() == expected.usage()
    assert [e.prompt for e in follower.session.exchanges] == [e.prompt for e in expected.exchanges]


def test_an_old_session_that_goes_on_in_a_log(tmp_path, monkeypatch):
    """Formats note 1.2: resumed by a newer Gemini CLI, the session is written anew beside the old file."""
    monkeypatch.setattr(followset, "_LOOK_EVERY", 0.0)
    old = tmp_path / f"session-2026-05-07T18-28-{ID[:8]}.json"
    chat = [message("m1", "user", "one"), message("m2", "gemini", "two")]
    old.write_text(json.dumps(HEADER | {"messages": chat}))
    follower = Follower(old)
    catch_up(follower)
    succession = Succession(follower.session, loose=False)
    other = tmp_path / "session-2026-05-08T00-00-99999999.jsonl"
    other.write_bytes(record(HEADER | {"sessionId": "9" * 8}) + record(message("m1", "user", "another")))
    assert succession.look() is None
    new = old.with_name(f"{old.name}l")
    new.write_bytes(b"")
    assert succession.look() is None
    new.write_bytes(record(HEADER) + b"".join(map(record, chat)) + record(message("m3", "user", "three")))
    assert succession.look() == new
    assert afresh(new).messages.key[:2] == follower.session.messages.key


def test_an_old_session_that_is_written_anew(tmp_path):
    path = tmp_path / "session-a.json"
    chat = [message("m1", "user", "one"), message("m2", "gemini", "two"), message("m3", "user", "three")]
    path.write_text(json.dumps(HEADER | {"messages": chat}, indent=2))
    follower, mirror = Follower(path), Mirror()
    mirror.apply(catch_up(follower), follower.session)
    path.write_text(json.dumps(HEADER | {"messages": [chat[0], chat[2]]}, indent=2))
    changes = wait_for(follower)
    assert [change.op for change in changes] == [Op.REMOVED, *[Op.UPDATED] * (len(changes) - 1)]
    mirror.apply(changes, follower.session)


# -- Cursor ------------------------------------------------------------------------------------------------------------


def test_a_store_that_another_program_writes(tmp_path):
    path = cursor.Builder().message(cursor.user(cursor.text("begin"))).save(tmp_path)
    follower, mirror = Follower(path), Mirror()
    mirror.apply(catch_up(follower), follower.session)
    key = follower.session.messages.key[0]
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from tests.fixtures.cursor.stores import Builder, agent, create, text, user\n"
        "built, database = Builder().message(user(text('begin'))), create(Path(sys.argv[1]))\n"
        "for n in range(40):\n"
        "    built.message(user(text(f'prompt {n}')), agent(f'answer {n}'))\n"
        "    built.commit(database)\n"
        "    if n == 20: built = Builder().message(user(text('begin')), agent('a summary'))\n"
        "    if n % 15 == 9: database.execute('PRAGMA wal_checkpoint(TRUNCATE)')\n"
        "database.close()\n"
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, "-c", script, str(path), root]) as writer:
        while writer.poll() is None:
            mirror.apply(catch_up(follower), follower.session)
            time.sleep(0.005)
    assert writer.returncode == 0

    def all_seen() -> bool:
        mirror.apply(catch_up(follower), follower.session)
        return shown(follower.session) == shown(afresh(path))

    wait_until(all_seen)
    assert follower.session.messages.key[0] == key
    assert [p.name for p in path.parent.iterdir()] == ["store.db"]


def test_the_library_notices_what_is_only_in_the_log(tmp_path):
    built = cursor.Builder().message(cursor.user(cursor.text("begin")))
    path = built.save(tmp_path)
    env = Environment({}, tmp_path, "linux")
    library = Library(env, tmp_path / "index.sqlite")
    (summary,) = library.bring_up_to_date()
    assert (summary.exchanges, summary.usage) == (1, None)
    assert list(library.refresh()) == []
    database = cursor.create(path)
    built.message(cursor.agent("said"), cursor.user(cursor.text("the lighthouse"))).commit(database)
    (summary,) = Library(env, tmp_path / "index.sqlite").bring_up_to_date()
    assert summary.exchanges == 2
    library = Library(env, tmp_path / "index.sqlite")
    assert list(library.refresh()) == []
    # Its other files are no sessions, and what is only in the log is found.
    assert library.lacking({}) == [str(path)]
    problems: list[Problem] = []
    assert [text.state.path for text, _ in look_through(str(path), parse("lighthouse"), problems)] == [str(path)]
    assert problems == []
    database.close()

"""OpenCode and Kilo CLI: where sessions are, whose they are, and how they are followed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.message import Kind
from schemas.opening import OpenError, family, head_of, open_reading, read_session, recognise
from schemas.paths import address_of
from schemas.provider import Environment, Problem, SessionFile
from schemas.providers._opencode_stores import undone
from schemas.providers.kilo import PROVIDER as KILO
from schemas.providers.opencode import PROVIDER, OpenCode, unquoted, usage_of
from schemas.reading import WholeReading
from schemas.session import Op
from schemas.usage import TokenUsage, total_usage
from tests.fixtures import kilo, opencode
from tests.fixtures.opencode import BOAT, CHILD, FORK, KITE, LAMP, assistant, at, text, tokens, user
from tests.schemas.conformance import described

SHARED = Path(__file__).parents[2] / "../shared"
LAB = SHARED / "lab"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return opencode.write_database(tmp_path / "opencode.db")


# -- what a reader sees ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ('"Fix the typo"', "Fix the typo"),
        ('"Fix the typo"\n', "Fix the typo"),
        ('"say \\"hello\\" now"', 'say "hello" now'),
        ('"one" and "two"', '"one" and "two"'),
        ('"', '"'),
        ('say "hello"', 'say "hello"'),
        ("plain", "plain"),
    ],
)
def test_quotes_of_the_command_line(typed: str, read: str) -> None:
    assert unquoted(typed) == read


@pytest.mark.parametrize(
    ("record", "usage"),
    [
        ({"role": "assistant", "tokens": tokens(10, 5, 100, reasoning=3)}, TokenUsage(10, 8, 100, 0, 3)),
        ({"role": "assistant", "tokens": tokens(10, 5, 100, reasoning=3, apart=False)}, TokenUsage(10, 5, 100, 0, 3)),
        ({"role": "assistant", "tokens": {"input": 10, "output": 5, "reasoning": 3}}, TokenUsage(10, 5, None, None, 3)),
        ({"type": "assistant", "tokens": {"input": 10, "output": 5, "reasoning": 3}}, TokenUsage(10, 8, None, None, 3)),
        ({"role": "assistant", "tokens": opencode.NOTHING}, TokenUsage()),
        ({"role": "assistant"}, TokenUsage()),
    ],
    ids=["thinking apart", "thinking inside", "no total, older", "no total, newer", "aborted", "none"],
)
def test_tokens(record: dict[str, Any], usage: TokenUsage) -> None:
    assert usage_of(record) == usage


# -- forks and undo ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("revert", "kept"),
    [
        ({"messageID": "m1"}, [(["a"], False), (["b", "c"], True), (["d"], True)]),
        ({"messageID": "m1", "partID": "c"}, [(["a"], False), (["b"], False), (["c"], True), (["d"], True)]),
        ({"messageID": "m1", "partID": "b"}, [(["a"], False), (["b", "c"], True), (["d"], True)]),
        ({"messageID": "m9"}, [(["a"], False), (["b", "c"], False), (["d"], False)]),
        (None, [(["a"], False), (["b", "c"], False), (["d"], False)]),
    ],
)
def test_undo(revert: object, kept: list[tuple[list[str], bool]]) -> None:
    messages = [
        {"id": f"m{number}", "parts": [{"id": part} for part in parts]}
        for number, parts in enumerate((["a"], ["b", "c"], ["d"]))
    ]
    for said in (revert, json.dumps(revert)):
        found = list(undone({"revert": said}, messages))
        assert [([p["id"] for p in m["parts"]], m.get("undone") is True) for m in found] == kept


# -- which sources there are -------------------------------------------------------------------------------------------


def _found(provider: OpenCode, home: Path) -> tuple[list[SessionFile], list[Problem]]:
    problems: list[Problem] = []
    locations = provider.locations(Environment({}, home, "linux"))
    return [file for location in locations for file in provider.find(location, problems)], problems


def test_sessions_of_the_tree_that_are_in_no_database_are_listed(tmp_path: Path) -> None:
    opencode.samples(tmp_path)
    found, problems = _found(PROVIDER, tmp_path)
    assert not problems
    assert {file.id: file.key for file in found} == {LAMP: LAMP, FORK: FORK, BOAT: BOAT, KITE: ""}
    (tmp_path / opencode.FOLDER / "opencode.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    found, problems = _found(PROVIDER, tmp_path)
    assert {file.id for file in found} == {LAMP, KITE}, "what was migrated as well, where the database is damaged"
    assert [problem.path.name for problem in problems] == ["opencode.db"]


def test_a_subagent_of_the_tree_is_linked_and_not_listed(tmp_path: Path) -> None:
    storage = tmp_path / opencode.FOLDER / "storage"
    path = opencode.write_tree(storage, opencode.session_file(LAMP, "Lamp", 0), opencode.lamp())
    child = opencode.session_file(CHILD, "Count (@general subagent)", 4, parentID=LAMP)
    opencode.write_tree(storage, child, opencode.child())
    assert [file.id for file in _found(PROVIDER, tmp_path)[0]] == [LAMP]
    session = read_session(path)
    assert [(one.id, one.tool_use) for one in session.subagents] == [(CHILD, 7)]
    assert [member.id for member in family(session)] == [LAMP, CHILD]


def test_a_subagent_whose_parent_is_gone_is_listed(tmp_path: Path, database: Path) -> None:
    with closing(sqlite3.connect(database)) as rows:
        rows.execute("DELETE FROM session WHERE id = ?", (LAMP,))
        rows.commit()
    assert CHILD in {file.key for file in PROVIDER.held(database)}
    child = opencode.session_file(CHILD, "Count (@general subagent)", 4, parentID=LAMP)
    opencode.write_tree(tmp_path / opencode.FOLDER / "storage", child, opencode.child())
    assert [file.id for file in _found(PROVIDER, tmp_path)[0]] == [CHILD]


def test_a_variable_names_the_database(tmp_path: Path) -> None:
    path = opencode.write_database(tmp_path / "elsewhere" / "mine.sqlite")
    (location, *_) = PROVIDER.locations(Environment({"OPENCODE_DB": str(path)}, tmp_path, "linux"))
    assert location == (path, "OPENCODE_DB")
    assert {file.id for file in PROVIDER.find(location, [])} == {LAMP, FORK, BOAT}


def test_kilo_is_told_by_its_tables_and_where_all_is_alike_by_the_folder(tmp_path: Path) -> None:
    (sample,) = kilo.samples(tmp_path)
    moved = Path(shutil.copy(sample.source, tmp_path / "any.bin"))
    assert recognise(head_of(moved)) is KILO
    for folder, provider in (
        ("kilo", KILO),
        ("opencode", PROVIDER),
        ("kilo/.local/share/opencode", PROVIDER),
        ("x", PROVIDER),
    ):
        path = opencode.write_tree(
            tmp_path / folder / "storage", opencode.session_file(KITE, "Kite", 0), opencode.kite()
        )
        assert recognise(head_of(path)) is provider, folder


def test_a_database_with_a_thousand_sessions_is_asked_once_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, copies, asked = tmp_path / "opencode.db", [], []
    copyfile, sessions = shutil.copyfile, OpenCode.sessions
    monkeypatch.setattr(shutil, "copyfile", lambda one, other: copies.append(one) or copyfile(one, other))
    monkeypatch.setattr(OpenCode, "sessions", lambda self, rows: asked.append(1) or sessions(self, rows))
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.executescript(opencode.TABLES)
        writer.execute("BEGIN")
        names = [f"ses_1{number:04d}aaaabbbbccccDDDD" for number in range(1000)]
        for name in names:
            opencode.fill(writer, name, [user(1, text(f"Hello {name}"))])
        writer.execute("COMMIT")
        assert path.stat().st_size <= 4096, "all of it is in the log"
        for ending in ("", "-wal"):
            os.utime(f"{path}{ending}", (1_780_000_000, 1_780_000_000))
        assert {file.key for file in PROVIDER.held(path)} == set(names)
        for name in names[::10]:
            assert len(PROVIDER.held(path)) == 1000
            assert described(read_session(address_of(path, name))) == [f"PROMPT Hello {name}"]
    assert len(asked) == 1
    assert len(copies) == 2, "the database and its log"


# -- following ---------------------------------------------------------------------------------------------------------


def _read(reading: Any) -> list[str]:
    while not reading.done:
        reading.step()
    return described(reading.session)


def test_a_database_that_grows_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.executescript(opencode.TABLES)
        opencode.fill(writer, LAMP, opencode.lamp()[:1])
        reading = open_reading(address_of(path, LAMP))
        assert _read(reading)[0] == 'PROMPT Light the "lamp"'
        assert isinstance(reading, WholeReading)
        info, (_, words, _) = assistant(2, tokens(1, 2), text("Lit"))
        writer.execute("INSERT INTO message VALUES ('msg_z', ?, ?, ?, ?)", (LAMP, at(2), at(2), json.dumps(info)))
        writer.execute("INSERT INTO part VALUES ('prt_z', 'msg_z', ?, 0, 0, ?)", (LAMP, json.dumps(words)))
        assert [change.op for change in reading.reread()] == [Op.APPENDED]
        writer.execute("UPDATE part SET data = ? WHERE id = 'prt_z'", (json.dumps(text("Lit, and how")),))
        (change,) = reading.reread()
        assert (change.op, reading.session.message(change.message).text) == (Op.UPDATED, "Lit, and how")
        opencode.fill(writer, CHILD, opencode.child())
        assert reading.reread() == [], "what other sessions write is no change"


def test_a_tree_that_grows_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = tmp_path / "storage"
    for number in range(20):
        other = f"ses_0{number:02d}aaaabbbbccccDDDDEEEEFFFF"
        opencode.write_tree(storage, opencode.session_file(other, "Other", 0), opencode.lamp())
    path = opencode.write_tree(storage, opencode.session_file(KITE, "Kite", 0), opencode.kite())
    opened: list[str] = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: opened.append(self.name) or read_bytes(self))
    for file in storage.rglob("*.json"):
        os.utime(file, (1_780_000_000, 1_780_000_000))
    reading = open_reading(path)
    assert _read(reading) == ["PROMPT Fly the kite", "TEXT It flies."]
    assert isinstance(reading, WholeReading)
    assert [name for name in opened if name.startswith(("msg_0", "prt_0"))] == [], "files of other sessions"

    def sees(changed: Path) -> bool:
        return any(changed == source or changed.parent == source for source in reading.sources)

    opened.clear()
    message = f"msg_{KITE[5:12]}02"
    info, parts = user(310, text("Higher"))
    assert sees(opencode.write(storage / f"message/{KITE}/{message}.json", {"id": message, **info}))
    reading.reread()
    part = storage / f"part/{message}/prt_1.json"
    assert sees(opencode.write(part, {"id": "prt_1", **parts[0]}))
    assert [change.op for change in reading.reread()] == [Op.APPENDED]
    assert sees(opencode.write(part, {"id": "prt_1", **text("Higher still")}))
    (change,) = reading.reread()
    assert (change.op, reading.session.message(change.message).text) == (Op.UPDATED, "Higher still")
    assert set(opened) == {f"{message}.json", "prt_1.json"}, "what did not change is not read again"
    part.write_text('{"id": "prt_1", "type": "te')
    assert reading.reread() == [], "half a file takes nothing away"


def test_a_broken_file_of_the_tree_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    path = opencode.write_tree(tmp_path / "storage", opencode.session_file(KITE, "Kite", 0), opencode.kite())
    broken = next((tmp_path / "storage/part").rglob("*01.json"))
    broken.write_text("{]")
    session = read_session(path)
    assert described(session) == ["PROMPT Fly the kite"]
    (place,) = session.unreadable
    assert place.file.endswith(f"/{broken.name}") and place.reason.startswith("not JSON")
    path.write_text('{"id": 5, "projectID": "x"}')
    with pytest.raises(OpenError):
        read_session(path)


def test_ids_in_a_tree_lead_to_no_other_folder(tmp_path: Path) -> None:
    """What a file says is never followed outside the tree."""
    storage = tmp_path / "storage"
    secret = opencode.write(tmp_path / "secret" / "msg_1.json", {"id": "msg_1", **user(1, text("secret"))[0]})
    opencode.write(storage / "part" / "msg_1" / "prt_1.json", {"id": "prt_1", **text("secret")})
    for name in ("../../secret", str(secret.parent), "ses_/../../../secret"):
        path = opencode.write(storage / "session" / "x" / "ses_1.json", opencode.session_file(name, "Kite", 0))
        with pytest.raises(OpenError):
            read_session(path)


# -- genuine files -----------------------------------------------------------------------------------------------------

EXPECTED = {
    # lab/expect.json says 12,869 in for this one: with the response 10, of which no row of the database has figures.
    "kilo/kilo-7.7.9": TokenUsage(9495 + 1121 + 1143, 2217, 40545 + 5111 + 5313, 0, 263),
}
RUNS = [
    run
    for run in (json.loads((LAB / "expect.json").read_text()) if (LAB / "expect.json").exists() else [])
    if run["run"].split("/")[0] in ("opencode", "kilo")
]


@pytest.mark.skipif(not RUNS, reason="no shared files here")
@pytest.mark.parametrize("run", RUNS, ids=[run["run"] for run in RUNS])
def test_genuine_sessions_have_the_tokens_that_were_served(run: dict[str, Any]) -> None:
    provider = KILO if run["run"].startswith("kilo") else PROVIDER
    found, problems = _found(provider, LAB / run["home"])
    assert found and not problems
    members = [member for file in found for member in family(read_session(file.path))]
    usage = total_usage(member.usage() for member in members) or TokenUsage()
    expected = EXPECTED.get(run["run"]) or TokenUsage(**run["total"], reasoning=usage.reasoning)
    assert usage == expected
    assert not any(member.unknown or member.unreadable for member in members)
    assert all(member.provider == provider.id for member in members)


@pytest.mark.skipif(not RUNS, reason="no shared files here")
def test_a_home_that_was_upgraded_shows_the_old_sessions_of_the_tree_too(tmp_path: Path) -> None:
    """1.18.33 on a home of 1.1.65 migrates nothing; 1.2.20 migrates all, and the tree stays (found-others.md 1.6)."""
    tree = LAB / "opencode/opencode-1.1.65/home/dev" / opencode.FOLDER / "storage"
    for run, more in (("opencode-upgraded", 7), ("opencode-migrated", 0)):
        home = tmp_path / run
        shutil.copytree(LAB / "opencode" / run / "home/dev", home)
        shutil.copytree(tree, home / opencode.FOLDER / "storage", dirs_exist_ok=True)
        found, _ = _found(PROVIDER, home)
        assert sum(not file.key for file in found) == more
        assert len({file.id for file in found}) == len(found)
        totals = [read_session(file.path).usage() for file in found]
        assert (total_usage(totals) or TokenUsage()).input == {7: 8484 + 15749 - 2374, 0: 15749 - 2374}[more]


@pytest.mark.skipif(not SHARED.exists(), reason="no shared files here")
def test_the_corpus_opens(tmp_path: Path) -> None:
    corpus = SHARED / "corpus/opencode"
    path = tmp_path / "deja-vu.db"
    with closing(sqlite3.connect(path)) as rows:
        rows.executescript((corpus / "deja-vu_opencode_v1.sql").read_text())
    assert described(read_session(path)) == ["PROMPT inspect the sqlite fixture", "TEXT the sqlite rows are readable"]
    root, child = "ses_0000000000001AAAAAAAAAAAAA", "ses_0000000000002BBBBBBBBBBBBB"
    older = described(read_session(address_of(corpus / "synthetic_v1_opencode.db", root)))
    assert older == described(read_session(corpus / "synthetic_export_root.json"))
    tree = next(corpus.glob(f"synthetic_json_tree/storage/session/*/{root}.json"))
    assert older == described(read_session(tree))
    assert [member.id for member in family(read_session(tree))] == [root, child]
    newer = {file.key: read_session(file.path) for file in PROVIDER.held(corpus / "synthetic_v2_opencode.db")}
    assert described(newer[root]) == ["PROMPT Fix the failing test", "TEXT migrated", "TEXT migrated"]
    assert newer[root].usage() == TokenUsage(21, 405, 30800, 920, 0)
    (other,) = newer.keys() - {root}
    assert described(newer[other])[-4:] == [
        "COMMAND ! git status",
        "OUTPUT clean",
        "TOOL bash",
        "INTERRUPT Interrupted",
    ]
    assert Kind.UNKNOWN not in newer[other].messages.kind

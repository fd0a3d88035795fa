"""Databases are read as of their last commit, and nothing beside them changes, whoever writes meanwhile."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from schemas.sqlite import read_database, tables_of

WRITER = """
import random, sqlite3, sys, time
path, mode, commits, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
chance = random.Random(seed)
def connect():
    database = sqlite3.connect(path, isolation_level=None, timeout=10)
    database.execute(f"PRAGMA journal_mode = {mode}")
    database.execute(f"PRAGMA synchronous = {chance.choice(['OFF', 'NORMAL', 'FULL'])}")
    database.execute("PRAGMA cache_size = 5")  # so that big transactions spill before they are committed
    database.execute("CREATE TABLE IF NOT EXISTS one (n INTEGER)")
    database.execute("CREATE TABLE IF NOT EXISTS two (n INTEGER)")
    database.execute("CREATE TABLE IF NOT EXISTS log (n INTEGER PRIMARY KEY, filler BLOB)")
    return database
database = connect()
database.execute("BEGIN")
database.execute("DELETE FROM one")
database.execute("DELETE FROM two")
database.execute("INSERT INTO one VALUES (0)")
database.execute("INSERT INTO two VALUES (0)")
database.execute("COMMIT")
print("ready", flush=True)
sys.stdin.readline()
for n in range(1, commits + 1):
    database.execute("BEGIN")
    database.execute("UPDATE one SET n = n + 1")
    database.execute("INSERT INTO log VALUES (?, randomblob(?))", (n, chance.choice([10, 5_000, 60_000])))
    database.execute("UPDATE log SET filler = randomblob(length(filler)) WHERE n > ? AND n % 3 = 0", (n - 30,))
    database.execute("UPDATE two SET n = n + 1")
    if chance.random() < 0.2:
        database.execute("ROLLBACK")
        database.execute("BEGIN")
        database.execute("UPDATE one SET n = n + 1")
        database.execute("INSERT INTO log VALUES (?, 'again')", (n,))
        database.execute("UPDATE two SET n = n + 1")
    database.execute("COMMIT")
    if mode != "WAL":
        time.sleep(0.06)  # without a log nothing but a pause lets others read
    what = chance.random()
    if what < 0.4 and mode == "WAL":
        kind = chance.choice(["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
        database.execute(f"PRAGMA wal_checkpoint({kind})").fetchall()
    elif what < 0.45:
        database.close()
        database = connect()
database.close()
"""


def _integrity(database: sqlite3.Connection) -> list[tuple[str]]:
    database.set_authorizer(None)  # this check is nothing that reading a session may ask for
    return database.execute("PRAGMA integrity_check").fetchall()


def _facts(database: sqlite3.Connection) -> tuple[object, ...]:
    """What is equal in every committed state. Nothing is asserted in here: what is read half-written is read again."""
    return (
        _integrity(database),
        *database.execute("SELECT n FROM one").fetchone(),
        *database.execute("SELECT n FROM two").fetchone(),
        *database.execute("SELECT count(*), coalesce(max(n), 0) FROM log").fetchone(),
    )


def _commits(path: Path) -> int:
    """How many commits were made; fails where what is read is no committed state."""
    sound, one, two, rows, last = read_database(path, _facts)
    assert sound == [("ok",)]
    assert one == two == rows == last
    assert isinstance(one, int)
    return one


@pytest.mark.parametrize(("mode", "commits"), [("WAL", 100), ("DELETE", 15), ("TRUNCATE", 15), ("PERSIST", 15)])
def test_every_read_is_a_committed_state_while_another_process_writes(tmp_path: Path, mode: str, commits: int) -> None:
    path = tmp_path / "live.db"
    command = [sys.executable, "-c", WRITER, str(path), mode, str(commits), "7"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        seen, busy = [_commits(path)], 0
        writer.stdin.write("go\n")
        writer.stdin.flush()
        while writer.poll() is None:
            try:
                seen.append(_commits(path))
            except OSError as error:
                assert "written all the time" in str(error)
                busy += 1
        assert writer.returncode == 0
    assert seen == sorted(seen), "a later read saw an earlier state"
    assert len(set(seen)) > 2, "nothing was seen of the writing"
    assert busy <= len(seen), (busy, len(seen))
    assert _commits(path) == commits


def _wal_database(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA wal_autocheckpoint = 0")
    database.execute("CREATE TABLE t (a)")
    database.execute("INSERT INTO t VALUES ('in the log')")
    return database


def _tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything in a folder, and the folder itself, whose time changes when a file is made in it for a moment."""
    paths = [folder, *sorted(folder.rglob("*"))]
    return {str(p): ((s := p.stat()).st_mtime_ns, s.st_ctime_ns, p.read_bytes() if p.is_file() else b"") for p in paths}


def _rows(database: sqlite3.Connection) -> list[tuple[str]]:
    return database.execute("SELECT a FROM t").fetchall()


LAYOUTS = ["log and shm, writer alive", "log alone", "no log, WAL mode", "empty log", "shm alone", "no log, plain mode"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["a.db", "what? 100% #1 & (a) ü.db", "%41%3f.db"])
def test_nothing_is_made_or_changed_beside_a_database(tmp_path: Path, layout: str, name: str) -> None:
    path = tmp_path / "in ? # % a folder" / name
    path.parent.mkdir()
    with closing(_wal_database(path)) as writer:
        kept = tmp_path / "kept"
        kept.mkdir()
        for ending in ("", "-wal", "-shm"):
            shutil.copy(f"{path}{ending}", kept / f"db{ending}")
        if layout == LAYOUTS[0]:
            before = _tree(path.parent)
            assert read_database(path, _rows) == [("in the log",)]
            assert tables_of(path)[0] == {"t": frozenset({"a"})}
            assert _tree(path.parent) == before
            return
        if layout == "no log, plain mode":
            writer.execute("PRAGMA journal_mode = DELETE")
    if layout == "log alone":
        shutil.copy(kept / "db", path)
        shutil.copy(kept / "db-wal", f"{path}-wal")
    elif layout == "empty log":
        Path(f"{path}-wal").touch()
    elif layout == "shm alone":
        shutil.copy(kept / "db-shm", f"{path}-shm")
    before = _tree(path.parent)
    assert read_database(path, _rows) == [("in the log",)]
    assert _tree(path.parent) == before


@pytest.mark.parametrize("with_log", [True, False])
def test_a_folder_without_write_permission(tmp_path: Path, with_log: bool) -> None:
    """Root may write anywhere, so that nothing was written there is told by the folder's times as well."""
    folder = tmp_path / "locked"
    folder.mkdir()
    writer = _wal_database(folder / "a.db")
    if with_log:
        for ending in ("", "-wal"):
            shutil.copy(folder / f"a.db{ending}", tmp_path / f"a.db{ending}")
    writer.close()
    if with_log:
        for ending in ("", "-wal"):
            shutil.copy(tmp_path / f"a.db{ending}", folder / f"a.db{ending}")
    for path in folder.iterdir():
        path.chmod(0o400)
    folder.chmod(0o500)
    try:
        before = _tree(folder)
        assert read_database(folder / "a.db", _rows) == [("in the log",)]
        assert _tree(folder) == before
    finally:
        folder.chmod(0o700)


def test_an_interrupted_write_is_rolled_back_in_the_copy_only(tmp_path: Path) -> None:
    """A rollback journal that a killed writer left behind."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA cache_size = 2")
        database.execute("CREATE TABLE t (a)")
        database.executemany("INSERT INTO t VALUES (?)", [("x" * 3000,)] * 50)
        database.execute("BEGIN")
        database.execute("UPDATE t SET a = 'half done'")
        killed = tmp_path / "killed"
        killed.mkdir()
        for ending in ("", "-journal"):
            shutil.copy(f"{path}{ending}", killed / f"a.db{ending}")
        database.execute("ROLLBACK")
    assert b"half done" in (killed / "a.db").read_bytes(), "the write did not reach the file: nothing is tested"
    before = _tree(killed)
    assert read_database(killed / "a.db", _rows) == [("x" * 3000,)] * 50
    assert _tree(killed) == before


def test_a_log_without_its_end_gives_the_commits_before(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(_wal_database(path)) as writer:
        writer.execute("INSERT INTO t VALUES ('second')")
        copy = tmp_path / "copy.db"
        shutil.copy(path, copy)
        whole = Path(f"{path}-wal").read_bytes()
        Path(f"{copy}-wal").write_bytes(whole[:-100])
        assert read_database(copy, _rows) == [("in the log",)]
        Path(f"{copy}-wal").write_bytes(whole[:20])
        with pytest.raises(OSError, match="no such table"):
            read_database(copy, _rows)


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 5000, b"x" * 5000])
def test_what_is_no_database_is_refused_in_words(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(data)
    os.utime(path, (1, 1))
    with pytest.raises(OSError, match="SQLite says"):
        read_database(path, _rows)
    assert os.listdir(tmp_path) == ["a.db"]


def test_a_missing_database_and_one_that_goes_away(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tables_of(tmp_path / "none.db")
    path = tmp_path / "a.db"
    _wal_database(path).close()

    def remove(database: sqlite3.Connection) -> None:
        path.unlink()

    with pytest.raises(FileNotFoundError):
        read_database(path, remove)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_text_that_is_no_utf8_and_a_pipe_for_a_log(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(_wal_database(path)) as writer:
        writer.execute("UPDATE t SET a = CAST(x'ff41' AS TEXT)")
    os.mkfifo(f"{path}-wal")
    assert read_database(path, _rows) == [("\ufffdA",)]


def test_a_schema_that_is_damaged_is_told_in_words(tmp_path: Path) -> None:
    """SQLite quotes the schema in its message, which is then no UTF-8."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (a TEXT)")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREATE\xe4TABLE"))
    os.utime(path, (1, 1))
    for read in (tables_of, lambda path: read_database(path, _rows)):
        with pytest.raises(
            OSError, match=r"SQLite says: malformed database schema .* near \"CREATE\ufffdTABLE\""
        ) as raised:
            read(path)
        assert "\n" not in str(raised.value)


def test_the_first_row_of_each_table(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute('CREATE TABLE "odd ""name" ("the ""a" TEXT, b BLOB, c)')
        database.execute("""INSERT INTO "odd ""name" VALUES ('x', zeroblob(100000), 5), ('y', x'00', NULL)""")
        database.execute("CREATE TABLE empty (a)")
        database.commit()
    os.utime(path, (1, 1))
    tables, rows = tables_of(path)
    assert tables == {'odd "name': frozenset({'the "a', "b", "c"}), "empty": frozenset({"a"})}
    assert rows == {'odd "name': {'the "a': "x", "b": bytes(65536), "c": 5}}


def test_a_read_is_repeated_when_the_database_was_written_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    _wal_database(path).close()
    calls = []

    def read(database: sqlite3.Connection) -> list[tuple[str]]:
        calls.append(1)
        found = _rows(database)
        if len(calls) == 1:
            with closing(sqlite3.connect(path, isolation_level=None)) as writer:
                writer.execute("UPDATE t SET a = 'newer'")
        return found

    assert read_database(path, read) == [("newer",)]


# -- many sessions in one database -------------------------------------------------------------------------------------


def _rest(path: Path) -> None:
    """Let the files be older than the clock's grain, so that a write must show."""
    for ending in ("", "-wal"):
        if os.path.exists(f"{path}{ending}"):
            os.utime(f"{path}{ending}", (1_780_000_000, 1_780_000_000))


def test_a_database_is_copied_once_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, copies = tmp_path / "a.db", []
    copyfile = shutil.copyfile
    monkeypatch.setattr(shutil, "copyfile", lambda one, other: copies.append(str(one)) or copyfile(one, other))
    with closing(_wal_database(path)) as writer:
        _rest(path)
        for _ in range(1000):
            assert read_database(path, _rows) == [("in the log",)]
            assert tables_of(path)[0] == {"t": frozenset({"a"})}
        assert copies == [str(path), f"{path}-wal"]
        writer.execute("UPDATE t SET a = 'newer'")
        _rest(path)
        for _ in range(10):
            assert read_database(path, _rows) == [("newer",)]
        assert copies == 2 * [str(path), f"{path}-wal"]


@pytest.mark.parametrize("with_log", [True, False])
def test_what_is_asked_once_is_asked_once_a_change(tmp_path: Path, with_log: bool) -> None:
    path, asked = tmp_path / "a.db", []

    def read(database: sqlite3.Connection) -> list[tuple[str]]:
        asked.append(1)
        return _rows(database)

    writer = _wal_database(path)
    if not with_log:
        writer.execute("PRAGMA journal_mode = DELETE")
    with closing(writer):
        for number, words in enumerate(("one", "two")):
            writer.execute("UPDATE t SET a = ?", (words,))
            _rest(path)
            for _ in range(5):
                assert read_database(path, read, once="rows") == [(words,)]
            assert len(asked) == number + 1
        read_database(path, read, once="other")
        assert len(asked) == 3


def test_a_copy_that_may_have_missed_a_write_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writes within one tick of the clock leave the same times, and in a log that is used again the same size."""
    path, tick = tmp_path / "a.db", time.time_ns()
    monkeypatch.setattr("schemas.sqlite._GRAIN", 10**13)
    with closing(_wal_database(path)) as writer:
        for number in range(20):
            writer.execute("UPDATE t SET a = ?", (f"{number:03d}",))
        writer.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        sizes = set()
        for number in range(10):
            writer.execute("UPDATE t SET a = ?", (f"{number:03d}",))
            os.utime(f"{path}-wal", ns=(tick, tick))
            sizes.add(os.stat(f"{path}-wal").st_size)
            assert read_database(path, _rows) == [(f"{number:03d}",)]
        assert len(sizes) == 1, "the log grew: nothing is tested"


HOLDER = """
import sys, time, tempfile
from pathlib import Path
tempfile.tempdir = sys.argv[2]
sys.path.insert(0, sys.argv[3])
from schemas.sqlite import read_database
for _ in range(2):
    assert read_database(Path(sys.argv[1]), lambda db: db.execute("SELECT a FROM t").fetchall()) == [("in the log",)]
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be deleted there")
@pytest.mark.parametrize("signal", ["terminate", "kill"])
def test_no_copy_is_left_whatever_ends_the_program(tmp_path: Path, signal: str) -> None:
    path, temporary = tmp_path / "a.db", tmp_path / "tmp"
    temporary.mkdir()
    with closing(_wal_database(path)):
        _rest(path)
        command = [sys.executable, "-c", HOLDER, str(path), str(temporary), str(Path(__file__).parents[2])]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "ready\n"
            assert os.listdir(temporary) == [], "while it is held"
            getattr(holder, signal)()
        assert os.listdir(temporary) == []


# -- what a database brings along --------------------------------------------------------------------------------------

HARMFUL = [
    "load_extension('/nowhere.so')", "fts3_tokenizer('simple')", "zeroblob(100000000)", "printf('%*d', 100000000, 1)",
    "randomblob(9)",
]  # fmt: skip


REFUSED = "not authorized|authorization denied|no such function|unknown function|non-deterministic|unsafe use"
"""Some of the functions are not in every build of SQLite."""


@pytest.mark.parametrize("harm", HARMFUL)
def test_a_view_cannot_call_what_a_query_may_not(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (a)")
        database.execute("INSERT INTO t VALUES ('x')")
        database.execute(f"CREATE VIEW v AS SELECT {harm} AS a FROM t")
        database.commit()
    os.utime(path, (1, 1))
    for query in ("SELECT a FROM v", f"SELECT {harm} FROM t"):
        with pytest.raises(OSError, match=REFUSED):
            read_database(path, lambda db, query=query: db.execute(query).fetchall())
    assert read_database(path, _rows) == [("x",)]


@pytest.mark.parametrize("harm", [*HARMFUL[:4], "json_extract(a, '$.b')"])
def test_computed_columns_are_not_computed(tmp_path: Path, harm: str) -> None:
    """Of a column that was computed when it was written the value is there."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (a)")
        database.execute("""INSERT INTO t VALUES ('{"b": 1}')""")
        database.commit()
        database.execute("PRAGMA writable_schema = ON")  # no program makes such a table: a file may hold it
        made = f"CREATE TABLE t (a, B AS ({harm}) VIRTUAL)"
        database.execute("UPDATE sqlite_master SET sql = ?", (made,))
        database.commit()
    os.utime(path, (1, 1))
    queries = ("SELECT a, b FROM t", "SELECT * FROM t", "SELECT x.a, x.b FROM t x ORDER BY x.b")
    for query in queries:
        try:
            rows = read_database(path, lambda db, query=query: db.execute(query).fetchall())
        except OSError as error:
            assert re.search(REFUSED, str(error)) and "json" not in harm
        else:
            assert rows == [('{"b": 1}', None)]


def test_an_index_on_a_function_does_no_harm_and_is_no_hindrance(tmp_path: Path) -> None:
    """Kilo has such (formats/found-others.md 1.6)."""
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (a)")
        database.execute("CREATE INDEX i ON t (json_extract(a, '$.b')) WHERE json_valid(a)")
        database.execute("CREATE INDEX j ON t (hex(zeroblob(3)))")
        database.execute("""INSERT INTO t VALUES ('{"b": 1}')""")
        database.commit()
    os.utime(path, (1, 1))
    query = "SELECT json_extract(a, '$.b') FROM t WHERE json_valid(a) ORDER BY json_extract(a, '$.b')"
    assert read_database(path, lambda db: db.execute(query).fetchall()) == [(1,)]


@pytest.mark.parametrize(
    "what",
    [
        "ATTACH '{folder}/new.db' AS other", "VACUUM INTO '{folder}/new.db'", "PRAGMA writable_schema = ON",
        "PRAGMA journal_mode = WAL", "CREATE TEMP TABLE x (a)", "INSERT INTO t VALUES (1)", "DELETE FROM t",
    ],
)  # fmt: skip
def test_nothing_but_reading_is_allowed(tmp_path: Path, what: str) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE t (a)")
    os.utime(path, (1, 1))
    with pytest.raises(OSError, match=REFUSED):
        read_database(path, lambda db: db.execute(what.format(folder=tmp_path)).fetchall())
    assert os.listdir(tmp_path) == ["a.db"]


def test_tables_of_full_texts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE VIRTUAL TABLE f USING fts5 (words)")
        database.execute("INSERT INTO f VALUES ('hello there')")
        database.commit()
    os.utime(path, (1, 1))
    tables, rows = tables_of(path)
    assert tables["f"] == {"words"} and rows["f"] == {"words": "hello there"}

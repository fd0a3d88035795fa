from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import stat
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from schemas.provider import Environment
from tests.viewer.machine import Machine
from viewer.commands.search import _hits
from viewer.index.database import _BRIEFLY, Database, Interrupted, remove
from viewer.index.find import Answer, Find
from viewer.index.fulltext import TextStore
from viewer.index.library import Library
from viewer.index.query import parse
from viewer.index.snippets import snippet_of, spans_in
from viewer.index.summary import index_file
from viewer.index.texts import SessionText

ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.session(ONE, ["why is the Lamp dark", 'The "lamp"\nhas no bulb: größe 日本語'], minute=1)
    machine.session(TWO, ["buy a lamp", "bought"], minute=2)
    return machine


def open_library(machine: Machine) -> Library:
    return Library(Environment({}, machine.home, "linux"), machine.home / "cache" / "index.sqlite", texts=True)


def ask(library: Library, typed: str) -> tuple[Answer, list[tuple[str, str]]]:
    """The last answer to a query, and its hits: whose they are and where."""
    find = Find(library)
    try:
        *_, answer = find.groups(parse(typed), "newest")
        return answer, [(group.id[:2], hit.place) for group in answer.groups for hit in find.hits(group)]
    finally:
        find.close()


def test_json_has_the_agreed_shape_newest_first(machine: Machine) -> None:
    rows = machine.run("search", "--json", "lamp").json
    assert [(row["id"][:2], row["place"]) for row in rows] == [("bb", "#1"), ("aa", "#1"), ("aa", "#1.2")]
    assert list(rows[0]) == [
        "provider", "id", "path", "key", "exchangeId", "messageId", "exchange", "place", "role", "snippet", "score",
        "change", "added", "removed",
    ]  # fmt: skip
    assert [row["role"] for row in rows] == ["user", "user", "agent"]
    assert (rows[0]["snippet"], rows[0]["exchange"]) == ("buy a lamp", 1)


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["LAMP", "bulb"], 1),
        (['"lamp" has'], 1),
        (["no bulb"], 1),
        (["bulb no"], 0),
        (["GRÖSSE"], 1),
        (["gro\u0308ße"], 1),
        (["GRÖẞE"], 1),
        (["grosse"], 1),
        (["日本"], 1),
        (["ulb"], 1),
        (["lamp", "-bulb"], 2),
        (["role:you", "agent:claude"], 2),
        (["lamp role:agent"], 1),
        (["qqqzzz"], 0),
    ],
)
def test_words(machine: Machine, words: list[str], count: int) -> None:
    result = machine.run("search", "--json", *words)
    assert len(result.json) == count
    assert result.code == (0 if count else 1)


def test_subagents_are_searched_and_their_hits_have_a_target(machine: Machine) -> None:
    parent = machine.session(ONE, ["go", "gone"], minute=1)
    child = machine.subagent(parent, "a1f00001", ["look", "NEEDLE"], {"output_tokens": 1})
    (row,) = machine.run("search", "--json", "needle").json
    assert row["path"] == str(child)
    assert "NEEDLE" in machine.run("show", f"{row['path']}{row['place']}").out
    address = next(line.split()[0] for line in machine.run("search", "needle").out.splitlines() if "#" in line)
    assert address == f"{row['id']}{row['place']}"
    bare = machine.run("search", "needle", XDG_CACHE_HOME="/proc/nowhere").out  # where there can be no index
    assert f"  {row['path']}{row['place']} " in bare
    for command in (["show"], ["export"], []):
        shown = machine.run(*command, address).out
        assert "NEEDLE" in shown and "gone" not in shown


def test_for_people(machine: Machine) -> None:
    machine.session(TWO, ["[red]lamp[/red]", "bought"], minute=2)
    result = machine.run("search", "lamp")
    assert result.code == 0
    assert "[red]lamp[/red]" in result.out and "bbbbbbbb#1 " in result.out
    assert machine.run("show", "bbbbbbbb#1").out.count("lamp") == 2
    result = machine.run("search", "qqqzzz")
    assert (result.code, result.out, result.err) == (1, "", "turnlog: nothing found\n")


def test_what_is_left_out_is_said(machine: Machine) -> None:
    assert " · 1 of 2 hits" in machine.run("search", "lamp", "--limit", "2").out
    result = machine.run("search", "lamp", "--limit", "1", "--json")
    assert len(result.json) == 1
    assert result.err == "turnlog: 1 of 3 hits; --limit 0 shows all\n"


def test_the_limit_counts_what_can_be_shown() -> None:
    """A message that is not there any more is counted by the index, and no hit that anybody sees."""
    can = {"gone": 0, "half": 1, "all": 9}
    groups = [SimpleNamespace(name=name, hits=9) for name in can]
    find = SimpleNamespace(hits=lambda group, start, stop: [group.name] * min(can[group.name], stop - start))
    shown = [hit for _, hits in _hits(find, SimpleNamespace(groups=groups, hits=27), 5) for hit in hits]
    assert shown == ["half", *["all"] * 4]


def test_behind_a_pipe_a_hit_and_a_title_are_a_line_each(machine: Machine) -> None:
    long = "a zebra " + "of many words " * 9
    machine.session(ONE, [f"{long}\n{long}", "bought"], minute=2, cwd="", folder="-x")
    _, title, place, *hits = machine.run("search", "zebra", COLUMNS="40").out.splitlines()
    assert title.startswith("a zebra of many") and len(title) > 80
    assert place.startswith("claude · ~/") and ".jsonl · " in place
    assert len(hits) == 1 and len(hits[0]) > 80


@pytest.mark.parametrize("names", [["text.sqlite"], ["text.sqlite", "index.sqlite"]])
def test_an_index_from_another_home_gives_each_session_once(machine: Machine, tmp_path: Path, names: list[str]) -> None:
    machine.run("search", "lamp")
    other = Machine(tmp_path / "other")
    shutil.copytree(machine.projects, other.projects)
    cache = tmp_path / "other/.cache/turnlog"
    cache.mkdir(parents=True)
    for name in names:
        for file in (tmp_path / ".cache/turnlog").glob(f"{name}*"):
            shutil.copyfile(file, cache / file.name)
    rows = other.run("search", "--json", "lamp").json
    assert len(rows) == 3 and all(row["path"].startswith(str(other.projects)) for row in rows)


def test_bad_calls(machine: Machine) -> None:
    for args in ([], [""], ["  "], ["is:green"], ["?"], ["show", "--limit", "x"], ["show", "--jsn"]):
        result = machine.run("search", *args)
        assert result.code == 2 and result.err.count("\n") == 1


def test_files_that_were_read_or_changed(machine: Machine) -> None:
    path = machine.session(ONE, ["change it", "done"], minute=1)
    records = path.read_text().splitlines()
    for number, (name, given) in enumerate(
        [("Read", {}), ("Edit", {"old_string": "a", "new_string": "b\nc"})], start=1
    ):
        use = json.loads(records[1])
        use["uuid"], use["message"]["id"] = f"{use['uuid'][:-2]}9{number}", f"m{number}"
        where = {"file_path": "/home/dev/lamp-shop/db/migrate.py", **given}
        use["message"]["content"] = [{"type": "tool_use", "id": f"t{number}", "name": name, "input": where}]
        records.append(json.dumps(use))
    path.write_text("\n".join(records) + "\n")
    for asked in ("db/migrate.py", "/home/dev/lamp-shop/db", "migrate.py", "./db/", "rate.py"):
        rows = machine.run("search", "--json", "--file", asked).json
        assert [(row["place"], row["change"], row["added"], row["removed"]) for row in rows] == [
            ("#1.3", "read", 0, 0),
            ("#1.4", "changed", 2, 1),
        ]
    assert machine.run("search", "--file", "db/app.py").code == 1
    assert len(machine.run("search", "--json", "file:rate.py", "tool:edit").json) == 1
    assert [row["place"] for row in machine.run("search", "--json", "file:db/", "done").json] == ["#1.2"]


def test_a_snippet_says_what_it_leaves_out() -> None:
    text = "alpha " * 50 + "needle" + " omega" * 50
    shown = snippet_of(text, parse("needle"))
    assert shown.text.startswith("… alpha") and shown.text.endswith("omega …")
    assert [shown.text[start:end] for start, end in shown.spans] == ["needle"]
    assert snippet_of("a needle", parse("needle")).text == "a needle"


def test_a_snippet_is_where_the_words_are_closest() -> None:
    text = "lock " + "alpha " * 60 + "the file has a lock" + " omega" * 60 + " file"
    assert "the file has a lock" in snippet_of(text, parse("file lock")).text


@pytest.mark.parametrize(
    ("line", "typed", "found"),
    [
        ("tryLockFile, lock", "lock", ["Lock", "lock"]),
        ("→ Große ﬁle", "grosse file", ["Große", "ﬁle"]),
        ("日本語 e\u0301te\u0301", "本語 été", ["本語", "e\u0301te\u0301"]),
        ("user_by userBy", "user_by", ["user_by", "userBy"]),
    ],
)
def test_spans(line: str, typed: str, found: list[str]) -> None:
    assert [line[start:end] for start, end in spans_in(line, parse(typed))] == found


# -- the index ---------------------------------------------------------------------------------------------------------


def test_a_session_that_grows_is_searched_and_only_its_new_messages_are_added(machine: Machine) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    Machine.to_now(machine.session(ONE, ["why is the Lamp dark", 'The "lamp"', "zebra", "a lamp"], minute=1))
    library.bring_up_to_date()
    assert ask(library, "lamp")[1] == [("aa", "#1"), ("aa", "#1.2"), ("aa", "#2.2"), ("bb", "#1")]
    assert ask(library, "ebra")[1] == [("aa", "#2")], "a word that is new is found by a part"
    assert ask(library, "bulb")[1] == [], "what it said before it was written anew is gone"


def test_messages_that_are_in_the_index_are_not_made_again(machine: Machine) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    path = machine.session(ONE, ["why is the Lamp dark", 'The "lamp"\nhas no bulb: größe 日本語', "zebra"], minute=1)
    with library.texts(pytest.fail) as store:
        families = store.families([str(path)])
    taken: list[SessionText] = []
    index_file(str(path), take=taken.append, known=families[str(path)])
    assert [(text.start, [row.words for row in text.rows]) for text in taken] == [(2, ["zebra"])]
    path.write_text(path.read_text().replace("dark", "bright"))
    index_file(str(path), take=taken.append, known=families[str(path)])
    assert taken[-1].start == 0, "what was there is another message now"


def test_a_session_that_is_gone_is_not_found(machine: Machine) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    (machine.projects / "-home-dev-lamp-shop" / f"{TWO}.jsonl").unlink()
    library.bring_up_to_date()
    answer, hits = ask(library, "lamp")
    assert (hits, answer.missing, answer.note) == ([("aa", "#1"), ("aa", "#1.2")], 0, "")


def test_what_is_not_indexed_is_looked_through_and_said(machine: Machine) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    machine.session(TWO, ["buy a lamp", "a second lamp"], minute=3)
    fresh = open_library(machine)
    fresh.cached()
    fresh.text_path.unlink()
    (machine.home / "cache" / "text.sqlite").write_text("no place")
    find = Find(fresh)
    first, *_, last = find.groups(parse("lamp"))
    find.close()
    assert (first.missing, first.done, last.missing, last.done) == (2, False, 0, True)
    assert [group.hits for group in last.groups] == [2, 2]


def test_what_the_index_will_hold_in_a_moment_is_not_read_twice(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    machine.session(TWO, ["buy a lamp", "a second lamp"], minute=3)
    fresh = open_library(machine)
    fresh.cached()
    with monkeypatch.context() as patched:
        patched.setattr("viewer.index.find.look_through", None)
        find = Find(fresh)
        (answer,) = find.groups(parse("lamp"), filling=True)
        assert (answer.hits, answer.done) == (3, True)
        remove(fresh.text_path)
        (answer,) = find.groups(parse("lamp"), filling=True)
        assert (answer.hits, answer.missing, answer.done) == (0, 2, True)
    fresh.bring_up_to_date()
    assert [answer.hits for answer in find.groups(parse("lamp"), filling=True)] == [4]
    remove(fresh.text_path)
    fresh.text_path.mkdir()  # nothing can be filled
    assert [answer.hits for answer in find.groups(parse("lamp"), filling=True)][-1] == 4
    find.close()


@pytest.mark.parametrize("damage", [b"no database", None])
def test_an_index_that_was_lost_is_made_anew_and_that_is_said(machine: Machine, damage: bytes | None) -> None:
    said = "turnlog: the full-text index was gone or damaged, and was made anew\n"
    assert machine.run("search", "lamp").err == ""  # nobody missed it
    (path,) = machine.home.rglob("text.sqlite")
    path.unlink() if damage is None else path.write_bytes(damage)
    assert [machine.run("search", "lamp").err for _ in range(2)] == [said, ""]


def test_without_a_place_for_the_index_search_still_works(machine: Machine) -> None:
    (machine.home / "cache").write_text("a file where the folder should be")
    library = open_library(machine)
    library.bring_up_to_date()
    answer, hits = ask(library, "lamp")
    assert len(hits) == 3 and answer.note.startswith("no full-text index: ")


def test_without_fts5_search_still_works(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TextStore, "TABLES", ("CREATE VIRTUAL TABLE texts USING fts6(a)",))
    library = open_library(machine)
    library.bring_up_to_date()
    answer, hits = ask(library, "lamp")
    assert len(hits) == 3 and "no such module" in answer.note


def test_an_index_that_is_deleted_or_made_anew_meanwhile(machine: Machine) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    find = Find(library)
    assert [answer.hits for answer in find.groups(parse("lamp"))] == [3]
    remove(library.text_path)
    assert [answer.hits for answer in find.groups(parse("lamp"))][-1] == 3, "the sessions are looked through"
    open_library(machine).bring_up_to_date()
    assert [(answer.hits, answer.missing) for answer in find.groups(parse("lamp"))] == [(3, 0)]
    find.close()


def test_an_index_that_another_program_holds(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    monkeypatch.setattr(TextStore, "WAIT", 0.2)
    monkeypatch.setattr(Database, "held", set())
    waits: list[float] = []

    def connect(*args: Any, **options: Any) -> Any:
        waits.append(options["timeout"])
        return real(*args, **options)

    real = sqlite3.connect
    holder = real(library.text_path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    machine.session(TWO, ["buy a lamp", "a second lamp"], minute=3)
    monkeypatch.setattr(sqlite3, "connect", connect)
    library.bring_up_to_date()
    assert library.text_problem == "no full-text index: another program holds it"
    assert len(ask(library, "lamp")[1]) == 4
    assert (waits.count(TextStore.WAIT), waits[-1]) == (1, _BRIEFLY), "it is waited for once"
    holder.execute("ROLLBACK")
    holder.close()
    library.bring_up_to_date()
    answer, hits = ask(library, "lamp")
    assert (len(hits), answer.missing, Database.held) == (4, 0, set())


def test_a_full_disk(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    real = TextStore._connect

    def connect(store: TextStore) -> sqlite3.Connection:
        connection = real(store)
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr(TextStore, "_connect", connect)
    machine.session(TWO, ["buy a lamp", " ".join(f"word{number}" for number in range(20_000))], minute=3)
    library = open_library(machine)
    library.bring_up_to_date()
    assert library.text_problem == "no full-text index: database or disk is full"
    assert len(ask(library, "lamp")[1]) == 3


def test_only_the_owner_can_read_it(machine: Machine) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    kept = sqlite3.connect(library.text_path)
    kept.execute("SELECT * FROM facts").fetchall()
    for path in [library.text_path.parent, *library.text_path.parent.iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    kept.close()


@pytest.mark.parametrize("seed", range(12))
def test_damage_is_no_error_and_search_finds_all_again(machine: Machine, seed: int) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    right = ask(library, "lamp")[1]
    chance = random.Random(seed)
    data = bytearray(library.text_path.read_bytes())
    for _ in range(chance.choice([1, 20, 400])):
        at = chance.randrange(len(data))
        data[at : at + 16] = chance.randbytes(16)
    if chance.random() < 0.3:
        del data[chance.randrange(len(data)) :]
    library.text_path.write_bytes(data)
    for typed in ("lamp", "la*", "tool:bash", "file:x", "since:2020-01-01 lamp", '"the lamp" -x'):
        ask(library, typed)
    if ask(library, "lamp")[0].note:  # it was noticed: what is left to ask are the sessions
        assert ask(library, "lamp")[1] == right
    library.text_path.write_bytes(data[:200])
    assert ask(library, "lamp")[1] == right
    library.bring_up_to_date()
    answer, hits = ask(library, "lamp")
    assert (hits, answer.missing) == (right, 0)


def test_an_older_index_is_made_anew(machine: Machine) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    store = sqlite3.connect(library.text_path)
    store.execute("PRAGMA user_version = 999")
    store.close()
    assert len(ask(library, "lamp")[1]) == 3
    library.bring_up_to_date()
    assert ask(library, "lamp")[0].missing == 0


def test_a_question_is_broken_off_by_the_next_one(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    find = Find(library)
    asked, go_on = threading.Event(), threading.Event()
    real = TextStore.counts_of

    def slow(store: TextStore, expression: str) -> list[tuple[int, int]]:
        asked.set()
        assert go_on.wait(30)
        return real(store, expression)

    monkeypatch.setattr(TextStore, "counts_of", slow)
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.extend(find.groups(parse("lamp"))))
    thread.start()
    assert asked.wait(30)
    find.cancel()
    go_on.set()
    thread.join()
    assert answers == []
    assert [answer.hits for answer in find.groups(parse("lamp"))] == [3], "and the next one is answered"
    find.close()


@pytest.mark.parametrize("name", ["sessions", "words", "tails"])
def test_what_is_broken_off_while_the_index_is_taken_in(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    library = open_library(machine)
    library.bring_up_to_date()
    find = Find(library)

    def interrupted(store: TextStore) -> None:
        raise Interrupted

    with monkeypatch.context() as broken:
        broken.setattr(TextStore, name, interrupted)
        assert list(find.groups(parse("lamp"))) == []
    assert [answer.hits for answer in find.groups(parse("lamp"))] == [3]
    find.close()


def test_a_program_that_is_killed_leaves_no_word_unlisted(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(TextStore, "finish", TextStore._write)
        open_library(machine).bring_up_to_date()
    library = open_library(machine)
    assert ask(library, "ulb")[1] == []
    library.bring_up_to_date()
    assert ask(library, "ulb")[1] == [("aa", "#1.2")]


def test_two_programs_write_it_at_once(machine: Machine) -> None:
    for number in range(6):
        machine.session(f"cccccccc-0000-4000-8000-00000000000{number}", ["a lamp", "ok"], minute=number)
    libraries = [open_library(machine) for _ in range(2)]
    threads = [threading.Thread(target=library.bring_up_to_date) for library in libraries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answer, hits = ask(libraries[0], "lamp")
    assert (len(hits), answer.missing) == (9, 0)


def test_index_says_what_it_holds_and_goes(machine: Machine) -> None:
    facts = machine.run("index", "--json").json
    assert (facts["sessions"], facts["messages"], facts["missing"]) == (2, 4, [])
    assert facts["textBytes"] > 0 and facts["textPath"].endswith("text.sqlite")
    assert "2 sessions" in machine.run("index").out
    assert machine.run("index", "--clear").out.count("deleted") == 2
    assert machine.run("index", "--clear").out.count("was not there") == 2
    assert not os.path.exists(facts["textPath"]) and not os.path.exists(facts["path"])
    assert len(machine.run("search", "--json", "lamp").json) == 3


def test_what_may_yet_change_is_found_and_is_no_row_of_the_index(machine: Machine) -> None:
    path = machine.session(ONE, ["go", "gone"], minute=1)
    use = json.loads(path.read_text().splitlines()[1])
    use["message"]["content"] = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "sleep zebra"}}]
    path.write_text(
        path.read_text() + json.dumps({**use, "uuid": "x", "message": {**use["message"], "id": "m9"}}) + "\n"
    )
    Machine.to_now(path)
    library = open_library(machine)
    library.bring_up_to_date()
    assert ask(library, "zebra")[1] == [("aa", "#1.3")]
    store = sqlite3.connect(library.text_path)
    assert store.execute("SELECT count(*) FROM tails").fetchall() == [(1,)]
    store.close()
    os.utime(path, (time.time() - 3600,) * 2)
    library.bring_up_to_date()
    assert ask(library, "zebra")[1] == [("aa", "#1.3")], "nobody writes it any more: it is a row now"

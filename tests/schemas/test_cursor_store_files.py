"""Where Cursor's sessions lie, what lies beside a store, and how a store and its transcript become one session."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.opening import head_of, recognise
from schemas.provider import Location, Problem
from schemas.providers.cursor import PROVIDER, path_in, resolve_slug
from tests.fixtures.cursor.stores import Builder, harbour, user
from tests.fixtures.cursor.transcripts import agent as told
from tests.fixtures.cursor.transcripts import asked, lines
from tests.schemas.conformance import whole

A = "aaaaaaaa-0000-4000-8000-000000000001"
B = "aaaaaaaa-0000-4000-8000-000000000002"


def transcript(home: Path, identifier: str, data: bytes = b"", slug: str = "srv-harbour", layout: str = "now") -> Path:
    """A transcript below a home directory, in one of the layouts."""
    folder = home / ".cursor" / "projects" / slug / "agent-transcripts"
    path = {
        "now": folder / identifier / f"{identifier}.jsonl",
        "flat": folder / f"{identifier}.jsonl",
        "text": folder / f"{identifier}.txt",
        "child": folder / A / "subagents" / f"{identifier}.jsonl",
    }[layout]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data or lines(asked("Hello"), told("Hi.")))
    return path


def found(home: Path, problems: list[Problem] | None = None) -> dict[str, Path]:
    """What discovery lists, by id."""
    listed = list(PROVIDER.find(Location(home / ".cursor", "test"), [] if problems is None else problems))
    assert len({file.id for file in listed}) == len(listed)
    return {file.id: file.path for file in listed}


# -- discovery ---------------------------------------------------------------------------------------------------------


def test_each_session_once_by_its_store_or_else_its_transcript(tmp_path: Path) -> None:
    store = Builder(A).message(user("x")).save(tmp_path)
    transcript(tmp_path, A)
    lone = transcript(tmp_path, B, layout="flat")
    old = transcript(tmp_path, "aaaaaaaa-0000-4000-8000-000000000003", layout="text")
    transcript(tmp_path, "aaaaaaaa-0000-4000-8000-000000000004", layout="child")
    (tmp_path / ".cursor" / "projects" / "srv-harbour" / "worker.log").write_text("x")
    (tmp_path / ".cursor" / "chats" / "loose.txt").write_text("x")
    assert found(tmp_path) == {A: store, B: lone, old.stem: old}


def test_a_store_without_a_byte_is_none(tmp_path: Path) -> None:
    store = Builder(A).message(user("x")).save(tmp_path)
    store.write_bytes(b"")
    assert found(tmp_path) == {}
    path = transcript(tmp_path, A)
    assert found(tmp_path) == {A: path}


def test_subagents_are_not_listed_nor_their_transcripts(tmp_path: Path) -> None:
    Builder(A).message(user("x")).save(tmp_path, isSubagent=True)
    Builder(B).message(user("x")).save(tmp_path, isSubagent=False, title="isSubagent")
    transcript(tmp_path, A)
    assert set(found(tmp_path)) == {B}


def test_size_and_time_are_those_of_database_and_log(tmp_path: Path) -> None:
    store = Builder(A).message(user("x")).save(tmp_path)
    log = Path(f"{store}-wal")
    log.write_bytes(b"x" * 100)
    os.utime(store, ns=(1, 1_000))
    os.utime(log, ns=(1, 5_000))
    (file,) = PROVIDER.find(Location(tmp_path / ".cursor", ""), [])
    assert (file.size, file.mtime_ns) == (store.stat().st_size + 100, 5_000)


def test_of_copies_the_newest_counts(tmp_path: Path) -> None:
    old, new = Builder(A).save(tmp_path, "/srv/old"), Builder(A).save(tmp_path, "/srv/new")
    os.utime(old, ns=(1, 1_000))
    first, second = transcript(tmp_path, B, slug="one"), transcript(tmp_path, B, slug="two", layout="flat")
    os.utime(first, (2e9, 2e9))
    assert found(tmp_path) == {A: new, B: first}
    both = Builder(B).message(user("Hello")).save(tmp_path)
    assert whole(PROVIDER, both).metadata["otherTranscripts"] == [str(second)]


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    store = Builder(A).message(user("x")).save(outside)
    transcript(outside, B)
    home = tmp_path / "home"
    (home / ".cursor" / "chats").mkdir(parents=True)
    (home / ".cursor" / "chats" / "link").symlink_to(store.parents[1])
    chat = home / ".cursor" / "chats" / "real" / B
    chat.mkdir(parents=True)
    (chat / "store.db").symlink_to(store)
    (home / ".cursor" / "projects").symlink_to("/")  # which holds itself
    (home / ".cursor" / "chats" / "loop").symlink_to("loop")
    assert found(home) == {}
    inside = Builder(A).message(user("x")).save(home)
    (home / ".cursor" / "chats" / "again").symlink_to(inside.parents[1])
    assert set(found(home)) == {A}


def test_a_linked_home_is_followed(tmp_path: Path) -> None:
    Builder(A).message(user("x")).save(tmp_path / "real")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".cursor").symlink_to(tmp_path / "real" / ".cursor")
    assert set(found(tmp_path / "home")) == {A}
    moved = tmp_path / "moved" / ".cursor"
    moved.mkdir(parents=True)
    (moved / "chats").symlink_to(tmp_path / "real" / ".cursor" / "chats")
    assert set(found(tmp_path / "moved")) == {A}


def test_nothing_there_is_no_problem(tmp_path: Path) -> None:
    problems: list[Problem] = []
    assert found(tmp_path, problems) == {} and problems == []


# -- the workspace -----------------------------------------------------------------------------------------------------


def slug_of(path: str) -> str:
    """What Cursor calls the project of a directory."""
    return re.sub(r"[^A-Za-z0-9]", "-", path).lstrip("-")


def root_of(built: Builder, home: Path, folder: str = "/srv/by/hash", **beside: Any) -> str | None:
    return whole(PROVIDER, built.save(home, folder, **beside)).workspace_root


def test_the_workspace_by_the_slug_of_the_transcript(tmp_path: Path) -> None:
    place = tmp_path / "my.project-x" / "sub_dir"
    place.mkdir(parents=True)
    built = Builder().message(user("Hello"))
    transcript(tmp_path / "home", built.id, slug=slug_of(str(place)))
    assert root_of(built, tmp_path / "home") == str(place)
    other = Builder(B).message(user("Hello"))
    transcript(tmp_path / "home", B, slug="no-such-place-anywhere")
    assert root_of(other, tmp_path / "home") == "no-such-place-anywhere"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/u/a%20b", "/home/u/a b"),
        ("file:///c%3A/work", "c:/work"),
        ("file:///home/u/a#1?x", "/home/u/a#1?x"),
        ("vscode-remote://ssh/home", ""),
        ("file://[bad", ""),
        ("", ""),
    ],
)
def test_file_uris(uri: str, path: str) -> None:
    assert path_in(uri) == path


@pytest.mark.parametrize("slug", ["empty-window", "1690000000", "var-folders-xy-zz", "", "-", "no-such-thing-here"])
def test_slugs_that_are_no_directories(slug: str) -> None:
    assert resolve_slug(slug) == slug


@given(st.text(max_size=30))
def test_any_slug_resolves_to_something_with_that_slug(slug: str) -> None:
    resolved = resolve_slug(slug)
    assert resolved == slug or slug_of(resolved) == slug


# -- recognised --------------------------------------------------------------------------------------------------------


def test_a_store_is_told_by_its_tables(tmp_path: Path) -> None:
    path = harbour().save(tmp_path)
    assert recognise(head_of(path)) is PROVIDER
    elsewhere = tmp_path / "renamed.sqlite"
    elsewhere.write_bytes(path.read_bytes())
    assert recognise(head_of(elsewhere)) is PROVIDER
    assert whole(PROVIDER, elsewhere).id == "renamed"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DELETE FROM meta", True),
        ("UPDATE meta SET value = 'zz'", True),
        ("DELETE FROM blobs", True),
        ("UPDATE blobs SET id = rowid", True),
        ("DELETE FROM blobs; UPDATE meta SET value = 'zz'", False),
        ("UPDATE blobs SET id = rowid; UPDATE meta SET value = '5b5d'", False),
        ("UPDATE blobs SET id = rowid; UPDATE meta SET value = '{\"version\": 3}'", False),
        ("DELETE FROM blobs; DELETE FROM meta", False),
        ("ALTER TABLE blobs RENAME COLUMN id TO name", False),
    ],
)
def test_a_database_with_such_tables_is_a_store_by_what_is_in_them(
    tmp_path: Path, statement: str, expected: bool
) -> None:
    path = harbour().save(tmp_path)
    database = sqlite3.connect(path, isolation_level=None)
    database.executescript(statement)
    database.close()
    assert PROVIDER.detect(head_of(path)) is expected

"""Stores with bytes that are others than Cursor wrote: read as far as they go, or refused in one line; never more."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.opening import OpenError, open_reading, read_session
from tests.fixtures.cursor.stores import agent, create, harbour, user
from tests.schemas.conformance import described

Files = dict[str, bytes]


def stores() -> list[Files]:
    """A store at rest, and one whose last messages are in the log only."""
    with TemporaryDirectory() as folder:
        built = harbour()
        path = built.save(Path(folder))
        rest = {path.name: path.read_bytes()}
        writer = create(path)
        built.message(user("x" * 3000), agent("y")).commit(writer)
        live = {name: path.with_name(name).read_bytes() for name in (path.name, f"{path.name}-wal")}
        writer.close()
    return [rest, live]


STORES = stores()


def put(folder: Path, files: Files, time: float) -> Path:
    for name, data in files.items():
        folder.joinpath(name).write_bytes(data)
        os.utime(folder / name, (time, time))
    return folder / "store.db"


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Files, Files]:
    """A store, and the same with a few bytes changed, half of them in the schema."""
    files = draw(st.sampled_from(STORES))
    name = draw(st.sampled_from(sorted(files)))
    data = bytearray(files[name])
    schema = data.find(b"CREATE TABLE")
    places = st.integers(0, len(data) - 1)
    if schema >= 0:
        places |= st.integers(schema - 20, schema + 150)
    for place, value in draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=20)):
        data[place % len(data)] = value
    return files, {**files, name: bytes(data)}


@given(damaged())
def test_damage_is_read_around_or_said_in_one_line(stores: tuple[Files, Files]) -> None:
    with TemporaryDirectory() as folder:
        path = put(Path(folder), stores[1], 1e9)
        try:
            described(read_session(path))
        except OpenError as error:
            assert "\n" not in str(error)


@given(damaged())
def test_what_was_read_stays_when_the_store_is_damaged_later(stores: tuple[Files, Files]) -> None:
    whole, broken = stores
    with TemporaryDirectory() as folder:
        path = put(Path(folder), whole, 1e9)
        reading = open_reading(path)
        reading.step()
        shown = described(reading.session)
        put(Path(folder), broken, 1e9 + 5)
        try:
            reading.reread()
        except OSError:
            assert described(reading.session) == shown
        put(Path(folder), whole, 1e9 + 9)
        reading.reread()
        assert described(reading.session) == shown


def test_a_byte_of_the_schema(tmp_path: Path) -> None:
    files = {name: data.replace(b"CREATE TABLE blobs", b"CREATE\xe4TABLE blobs") for name, data in STORES[0].items()}
    path = put(tmp_path, files, 1e9)
    with pytest.raises(OpenError, match="malformed database schema"):
        read_session(path)

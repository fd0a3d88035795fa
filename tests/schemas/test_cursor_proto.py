"""Protocol buffers without a schema: what is a message is read whole, what is none raises nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from schemas.protobuf import decode
from schemas.providers.cursor import PROVIDER
from tests.fixtures.cursor.stores import Builder, agent, harbour, num, put, user, varint
from tests.schemas.conformance import assert_builds_clean, assert_sums, whole

FIELDS = st.lists(
    st.tuples(st.integers(1, 2**29 - 1), st.one_of(st.integers(0, 2**64 - 1), st.binary(max_size=300))), max_size=20
)


@given(FIELDS)
def test_what_is_written_is_read(fields: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(num(n, v) if isinstance(v, int) else put(n, v) for n, v in fields)
    read = decode(data)
    assert read.whole
    for number in {n for n, _ in fields}:
        assert read.values[number] == [v for n, v in fields if n == number]


@given(st.binary(max_size=400))
def test_any_bytes_are_survived(data: bytes) -> None:
    fields = decode(data)
    assert all(isinstance(fields.text(n), str) for n in (*fields.values, 99))


@given(FIELDS, st.integers(0, 50))
def test_a_cut_loses_only_what_is_behind_it(fields: list[tuple[int, int | bytes]], cut: int) -> None:
    data = b"".join(num(n, v) if isinstance(v, int) else put(n, v) for n, v in fields)
    whole_one, part = decode(data), decode(data[: max(0, len(data) - cut)])
    for number, values in part.values.items():
        assert whole_one.values[number][: len(values)] == values


def test_fixed_numbers_and_what_nobody_writes_any_more() -> None:
    fixed = varint(1 << 3 | 1) + (7).to_bytes(8, "little") + varint(2 << 3 | 5) + (9).to_bytes(4, "little")
    assert decode(fixed).values == {1: [7], 2: [9]}
    group = decode(num(1, 5) + varint(2 << 3 | 3) + num(3, 1))
    assert group.values == {1: [5]} and not group.whole
    assert not decode(b"\x00").whole and not decode(b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01").whole


@given(data=st.data())
def test_any_damage_to_a_store_is_survived(tmp_path: Path, data: st.DataObject) -> None:
    """Blobs overwritten, cut, lost or swapped: no exception, and every message can be made."""
    built = harbour()
    built.rows()
    names = sorted(built.blobs)
    for _ in range(data.draw(st.integers(1, 4))):
        name = data.draw(st.sampled_from(names))
        old = built.blobs.get(name, b"")
        how = data.draw(st.integers(0, 4))
        if how == 0:
            built.blobs.pop(name, None)
        elif how == 1:
            built.blobs[name] = data.draw(st.binary(max_size=60))
        elif how == 2:
            built.blobs[name] = old[: data.draw(st.integers(0, len(old)))]
        elif how == 3 and old:
            place = data.draw(st.integers(0, len(old) - 1))
            built.blobs[name] = old[:place] + data.draw(st.binary(min_size=1, max_size=3)) + old[place + 1 :]
        else:
            built.blobs[name] = built.blobs.get(data.draw(st.sampled_from(names)), b"")
    path = tmp_path / "damaged.db"
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
    database.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
    kept = dict(built.blobs)
    meta = built.rows().pop("meta").decode()
    database.executemany("INSERT INTO blobs VALUES (?, ?)", kept.items())
    database.execute("INSERT INTO meta VALUES ('0', ?)", (meta,))
    database.commit()
    database.close()
    session = whole(PROVIDER, path)
    assert_sums(session)
    assert_builds_clean(session)


def test_columns_of_other_types(tmp_path: Path) -> None:
    path = Builder().message(user("a"), agent("b")).save(tmp_path)
    database = sqlite3.connect(path)
    database.execute("UPDATE blobs SET data = 7 WHERE data LIKE '%assistant%'")
    database.execute("INSERT INTO blobs VALUES (NULL, NULL), (3, 'text')")
    database.commit()
    database.close()
    assert len(whole(PROVIDER, path).messages) == 2

"""Files with something wrong in them, and the laws that hold for whatever a file holds.

A mutant is made of a seed and nothing else: the seed chooses a file, one to four changes to its JSON values or its
bytes, and where they are made. So the seed of a failure brings it back (`make fuzz SEED=…`).
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import re
import shutil
import sqlite3
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from rich.cells import cell_len

from renderers.options import Include
from renderers.redact import Redactor
from renderers.terminal.block import render_block
from renderers.terminal.code import Highlights
from renderers.terminal.folds import Fold
from renderers.terminal.layout import Look
from renderers.terminal.style_names import Palette
from schemas.costs.responses import responses
from schemas.interchange.events import event_line, read_events
from schemas.interchange.registry import FORMATS, check, guess
from schemas.interchange.snapshot import NoEvents, Pricing, TooManyTokens, make_snapshot
from schemas.opening import OpenError, family, head_of, read_session, recognise
from schemas.provider import Environment, Provider
from schemas.providers import providers
from schemas.session import Session
from tests.schemas.conformance import (
    assert_builds_clean,
    assert_clean,
    assert_sums,
    facts,
    family_of,
    whole,
)
from viewer.commands.export import FORMATS as EXPORTS
from viewer.commands.export import document
from viewer.index.library import Library

SHARED = Path(__file__).parents[2] / "../shared"
PROVIDERS = providers()
ROOT = str(Path(__file__).parents[2])
_LARGEST = 48 << 10
"""Of a longer file the seed takes a part: a mutant should take milliseconds."""
_PANES = (20, 79)
_CHECKED = {one.name for one in FORMATS}


@dataclass(frozen=True)
class Source:
    """A file to be changed. One of an agent's home folder is changed in its place, beside its neighbours."""

    path: Path
    home: Path | None = None
    agent: str = ""
    session: bool = False
    """Whether it is a session itself; else it lies beside some and may say things of them."""
    lines: bool = False
    """Whether it grows by being appended to."""
    shared: bool = False


# -- what is changed ---------------------------------------------------------------------------------------------------


def fixtures(folder: Path) -> list[Source]:
    """The samples of every agent with all that lies beside them, and two of them in each published format."""
    found: list[Source] = []
    said: list[Path] = []
    for agent in PROVIDERS:
        home = folder / agent
        samples = import_module(f"tests.fixtures.{agent.replace('-', '_')}").samples(home)
        said.append(samples[0].path)
        lines = {sample.path: sample.lines for sample in samples}
        files = sorted(path for path in home.rglob("*") if path.is_file() and path.stat().st_size)
        found.extend(Source(path, home, agent, path in lines, lines.get(path, False)) for path in files)
    for path in said:
        with contextlib.closing(read_session(path)) as session:
            for name, data in published(session).items():
                place = folder / "published" / session.provider / f"{name}.json"
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(data)
                found.append(Source(place))
    return found


def corpus() -> list[Source]:
    """Sessions and documents beside the checkout, where there are any."""
    files = (path for name in ("corpus", "goldens") for path in sorted((SHARED / name).rglob("*")))
    return [Source(path, shared=True) for path in files if path.is_file() and path.suffix not in (".md", ".py", ".sql")]


def published(session: Session) -> dict[str, bytes]:
    """A session in every format there is, the keys of those that can be validated being their names in the registry."""
    made = {"session-data" if form == "json" else form: written(session, form) for form in EXPORTS}
    lines = [event_line(one) for member in family(session) for one in responses(member) if one.usage.total]
    if events := b"".join(line for line in lines if line):
        made["events"] = events
        now = datetime(2026, 1, 1, tzinfo=UTC)
        with contextlib.suppress(NoEvents, TooManyTokens):  # which is said to the person who asks for one
            made["snapshot"] = make_snapshot(read_events(events), Pricing(), "extended", now).to_bytes()
    return made


def written(session: Session, form: str) -> bytes:
    """What `turnlog export --to FORM` writes, without what it says on standard error."""
    with contextlib.redirect_stderr(io.StringIO()):
        return b"".join(document(session, form, Include(), Redactor()))


# -- how it is changed -------------------------------------------------------------------------------------------------

_WORDS = (
    "type", "role", "id", "uuid", "parentUuid", "timestamp", "message", "content", "text", "usage", "tool", "payload",
    "user", "assistant", "agent", "model", "system", "thinking", "error",
    "2026-01-01T00:00:00Z", "2026-13-45T99:00:00Z",
    "0000-00-00", "+275760-09-13T00:00:00Z", "9999-12-31T23:59:59.999999999-23:59", "/", "../../x", "C:\\x",
)  # fmt: skip
_NASTY = (
    "\x1b]0;title\x07", "\x1b[31m", "\x1b[2J", "\x9b2J", "\x00", "\x07", "\r", "\r\n", "\t", "\x0b", "\x85", "\u2028",
    "\u202e", "\u200d", "\ufeff", "\ud800", "\udc00", "\ud83d\ude00", "漢", "👩\u200d👩\u200d👧", "e\u0301",
    "\u0301" * 40,
    "```", "</details>", "|", "[x](javascript:y)", "*" * 300, "> " * 300, "&#27;", "<!--", "\n" * 40, "x" * 70_000,
    "word " * 3000,
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 255, 1 << 31, 1 << 53, (1 << 63) - 1, 1 << 63, 1 << 64, -(1 << 63) - 1, 10**60, 1.5,
    -0.0, 1e15, 1e300, 5e-324, "", " ", [], {}, [None], [[]], [{}], ["x"], [1, 2], {"type": "text"}, {"text": None},
    {"": ""}, {"id": []}, {"type": {}}, {"content": [[], {}]}, [["x", 1, {}]],
)  # fmt: skip
_SPELLED = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "-0", "1E400", "1" + "0" * 5000, "0.1e-9999", "01", "tru",
    '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"\\x"', "'x'", "", ",", "{", "[" * 150 + "]" * 150,
    "[" * 1500 + "]" * 1500, "[" * 100_000 + "]" * 100_000, '{"a":' * 1100 + "1" + "}" * 1100,
    '{"content":[' * 500 + "]}" * 500,
)  # fmt: skip
"""Values in the words of a file, as no JSON library would write them."""
_RAW = re.compile(r'"\\ue000(\d+)\\ue001"')
_AGAIN = "\ue002"
"""Behind a key: written without it, so that an object has the key twice."""
_JUNK = (
    b"\0", b"\0" * 4096, b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf5", b"\x1b", b"\x9b",
    b"\n", b"\n\n\n", b"\r\n", b"\r", b'"', b"\\", b"{", b"}", b"[", b",", b"\x85", b"\xe2\x80\xa8", b"null\n", b"[]\n",
    b"{}\n", b'"x"\n', b"7\n", b"plain words\n", b"\x28\xb5\x2f\xfd", b"SQLite format 3\0", b"x" * 70_000,
)  # fmt: skip


def changed(data: bytes, other: bytes, chance: Random) -> bytes:
    """The bytes of a file after some changes; `other` is a file to take pieces of."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        if chance.random() < 0.75:
            data = _changed_values(data, other, chance)
        else:
            data = _changed_bytes(data, other, chance)
    return data


def _changed_values(data: bytes, other: bytes, chance: Random) -> bytes:
    lines = _parsed(data)
    records = [number for number, line in enumerate(lines) if isinstance(line, dict | list)]
    if not records:
        return _changed_bytes(data, other, chance)
    # The first one often decides what the rest is taken for.
    at = records[0] if chance.random() < 0.25 else chance.choice(records)
    raw: list[str] = []
    if len(lines) > 1 and chance.random() < 0.3:
        match chance.randrange(6):
            case 0:
                del lines[at]
            case 1:
                lines.insert(chance.randrange(len(lines) + 1), copy.deepcopy(lines[at]))
            case 2:
                lines.insert(chance.randrange(len(lines)), lines.pop(at))
            case 3:
                lines[at:] = lines[at:][::-1]
            case 4:
                lines.insert(at, chance.choice(_parsed(other)))
            case _:
                lines[at] = chance.choice(_VALUES)
    else:
        _change_value(lines, at, chance, raw)
    ascii_only = chance.random() < 0.5
    return b"\n".join(_written(line, raw, ascii_only) for line in lines) + b"\n" * (chance.random() < 0.9)


def _parsed(data: bytes) -> list[Any]:
    """The values of a file's lines, or its one value; a line that is none as it is."""
    with contextlib.suppress(ValueError, RecursionError):
        return [json.loads(data)]
    return [_parsed_line(line) for line in data.removesuffix(b"\n").split(b"\n")]


def _parsed_line(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line


def _written(value: Any, raw: list[str], ascii_only: bool) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        text = json.dumps(value, ensure_ascii=True)
        text = _RAW.sub(lambda found: raw[int(found[1])], text).replace("\\ue002", "")
        return (text if ascii_only or raw else json.dumps(value, ensure_ascii=False).replace(_AGAIN, "")).encode(
            "utf-8", "surrogatepass"
        )
    except (RecursionError, ValueError):
        return b"[" * 900 + b"]" * 900  # a change put a nested value into itself too often to be written


def _places(value: Any, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """The holder and key of everything in a value."""
    if isinstance(value, dict | list) and depth < 200:
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from _places(item, depth + 1)


def _change_value(lines: list[Any], at: int, chance: Random, raw: list[str]) -> None:
    """Change one thing within a record, or what has its name in all of them."""
    places = list(_places(lines[at]))
    if not places:
        lines[at] = chance.choice(_VALUES)
        return
    if chance.random() < 0.15:  # much in one record
        for holder, key in places:
            if chance.random() < 0.3 and _is_there(holder, key):
                _change_place(holder, key, lines, at, chance, raw)
        return
    outer = [place for place in places if place[0] is lines[at] or place[0] in _values(lines[at])]
    holder, key = chance.choice(outer if chance.random() < 0.3 else places)
    if isinstance(key, str) and chance.random() < 0.2:
        seed = chance.random()
        for holder, name in [place for line in lines for place in _places(line) if place[1] == key]:
            if _is_there(holder, name):
                _change_place(holder, name, lines, at, Random(seed), raw)
    else:
        _change_place(holder, key, lines, at, chance, raw)


def _is_there(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else list(value)


def _change_place(holder: Any, key: Any, lines: list[Any], at: int, chance: Random, raw: list[str]) -> None:
    value = holder[key]
    match chance.randrange(11):
        case 0 | 1 | 2:
            holder[key] = copy.deepcopy(chance.choice(_VALUES))
        case 3:
            raw.append(chance.choice(_SPELLED))
            holder[key] = f"\ue000{len(raw) - 1}\ue001"
        case 4:
            del holder[key]
        case 5 if isinstance(holder, dict):
            pairs = list(holder.items())
            chance.shuffle(pairs)
            holder.clear()
            holder.update(pairs)
        case 6 if isinstance(holder, dict):
            again = chance.choice([value, copy.deepcopy(chance.choice(_VALUES))])
            holder[f"{key}{_AGAIN}"] = again
        case 7:
            other, name = chance.choice(list(_places(lines[at])) or [(holder, key)])
            holder[key] = copy.deepcopy(other[name])
        case 8 if isinstance(holder, dict):
            holder[chance.choice(_WORDS)] = holder.pop(key)
        case 9:
            holder[key] = chance.choice(_WORDS)
        case _:
            text = value if isinstance(value, str) else ""
            cut = chance.randrange(len(text) + 1)
            holder[key] = text[:cut] + "".join(chance.choices(_NASTY, k=chance.choice((1, 3, 6)))) + text[cut:]


def _changed_bytes(data: bytes, other: bytes, chance: Random) -> bytes:
    start, end = sorted(_cut(data, chance) for _ in range(2))
    match chance.randrange(8):
        case 0:
            return data[:end]
        case 1:
            return data[start:]
        case 2:
            return data[:start] + data[end:]
        case 3:
            return data[:end] + data[start:]
        case 4:
            first, last = sorted(_cut(other, chance) for _ in range(2))
            return data[:start] + other[first:last] + data[end:]
        case 5:
            return chance.choice(_JUNK) + data
        case 6:
            return data.replace(b"\n", chance.choice((b"\r\n", b"\r", b"", b"\n\n", b" ")))
        case _:
            return data[:start] + chance.choice(_JUNK) + data[start + chance.randrange(3) :]


def _cut(data: bytes, chance: Random) -> int:
    """Somewhere in the bytes; as often as not behind a newline."""
    place = chance.randrange(len(data) + 1)
    return place if chance.random() < 0.5 else data.rfind(b"\n", 0, place) + 1


def _part(data: bytes, chance: Random) -> bytes:
    """So much of a long file of lines that it is soon read: its first three, and some in a row."""
    lines = data.split(b"\n")
    if len(data) <= _LARGEST or not isinstance(_parsed_line(lines[0]), dict):
        return data
    start = chance.randrange(min(3, len(lines)), len(lines) + 1)
    room = _LARGEST
    kept = [line for line in (*lines[:3], *lines[start:]) if (room := room - len(line)) > 0]
    return b"\n".join(kept) + b"\n"


def _change_database(path: Path, chance: Random) -> bool:
    """Change one cell of a database; whether it is one that can be written."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as database:
        names = [
            name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name")
        ]
        cells = [
            (name, column, row, value)
            for name in names
            for column in [info[1] for info in database.execute(f'PRAGMA table_info("{name}")')]
            for row, value in database.execute(f'SELECT rowid, "{column}" FROM "{name}" ORDER BY rowid LIMIT 50')
        ]
        if not cells:
            return False
        name, column, row, value = chance.choice(cells)
        if isinstance(value, str | bytes) and chance.random() < 0.8:
            data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
            new: Any = changed(data, data, chance)
            if isinstance(value, str):
                new = new.decode("utf-8", "replace")
        else:
            new = chance.choice((None, 0, -1, 1.5, (1 << 63) - 1, "", "x", b"", b"\0\xff", "{}", "[" * 2000))
        database.execute(f'UPDATE "{name}" SET "{column}" = ? WHERE rowid = ?', (new, row))
        database.commit()
        return True
    return False


# -- what must be true -------------------------------------------------------------------------------------------------


class Fuzz:
    """Makes mutants in a folder of its own and looks whether they keep the laws."""

    def __init__(self, folder: Path, *, shared: bool) -> None:
        self.folder = folder
        self._fixtures = fixtures(folder)
        self._shared = corpus() if shared else []
        self._no_folder = folder / "file"
        self._no_folder.touch()
        self._without: dict[Source, dict[str, Any]] = {}
        self._growing = {(source.agent, source.path.suffix) for source in self._fixtures if source.lines}

    def source(self, seed: int) -> Source:
        """The file that a seed changes: an odd one takes it from beside the checkout, if there is anything, so that an
        even one means the same everywhere.
        """
        return Random(seed).choice(self._shared if self._shared and seed % 2 else self._fixtures)

    def try_one(self, seed: int) -> None:
        """Make the mutant of a seed and try the laws; raises what one of them raises."""
        chance = Random(seed * 2 + 1)
        source = self.source(seed)
        path = self._written(source, chance)
        try:
            self._try(source, path)
        finally:
            if source.home is not None:
                self._restore(source)

    def keep(self, seed: int, place: Path) -> Path:
        """The mutant of a seed in a folder that stays, for whoever looks into a failure."""
        chance = Random(seed * 2 + 1)
        source = self.source(seed)
        path = self._written(source, chance)
        kept = place / f"{seed}-{path.name}"
        kept.write_bytes(path.read_bytes())
        if source.home is not None:
            self._restore(source)
        return kept

    def _written(self, source: Source, chance: Random) -> Path:
        """Write the mutant where the session lies, or a copy of what lies beside the checkout."""
        path = source.path if source.home is not None else self._alone_in("copy") / source.path.name
        self._original, self._time = source.path.read_bytes(), source.path.stat().st_mtime_ns
        path.write_bytes(self._original)
        if self._original.startswith(b"SQLite") and chance.random() < 0.7 and _change_database(path, chance):
            return path
        other = chance.choice(self._shared if source.shared else self._fixtures).path.read_bytes()
        path.write_bytes(changed(_part(self._original, chance), _part(other, chance), chance))
        return path

    def _alone_in(self, name: str) -> Path:
        """A folder with nothing in it: what was tried before lies beside nothing."""
        shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / name).mkdir()
        return self.folder / name

    def _restore(self, source: Source) -> None:
        """Lists say when a file was written, so its time comes back too."""
        source.path.write_bytes(self._original)
        os.utime(source.path, ns=(self._time, self._time))

    def _try(self, source: Source, path: Path) -> None:
        data = path.read_bytes()
        told = guess(data)
        for name in sorted({source.path.stem, told.name if told else ""} & _CHECKED):
            check(name, data)
        if source.home is not None:
            self._try_listing(source, path)
        try:
            session = read_session(path)
        except OpenError as error:
            assert "\n" not in str(error), f"a reason in several lines: {error}"
            return
        head = head_of(path)
        reader = recognise(head)
        agent = PROVIDERS.get(reader.id) is reader
        with contextlib.closing(session):
            try_session(session, agent=agent)
            try_exports(session, self._alone_in("again") / "again.json")
            try_rows(session)
        if agent and head.records and (reader.id, path.suffix) in self._growing:
            try_pieces(reader, data, self._alone_in("pieces") / path.name)

    def _try_listing(self, source: Source, path: Path) -> None:
        """What a list says of the files beside this one is what it says where this one is not there."""
        if source not in self._without:
            mutant = path.read_bytes()
            path.unlink()
            without = self._listed(source)
            self._restore(source)
            whole = self._listed(source)
            path.write_bytes(mutant)
            self._without[source] = {file: row for file, row in whole.items() if without.get(file) == row}
        listed = self._listed(source)
        for file, row in self._without[source].items():
            now = listed.get(file, {})
            # What lies beside may be a record of the neighbour, which says more of it once it is of an unknown type.
            more = now.get("messages", 0) > row["messages"]
            beside = {"id"} if more else {"id", "messages", "exchanges", "usage"}
            keys = row.keys() - {"live"} if source.session else beside
            other = {key: (row[key], now.get(key)) for key in sorted(keys) if now.get(key) != row[key]}
            assert not other, f"what is listed of a neighbour is another: {path.name}, {Path(file).name}: {other}"

    def _listed(self, source: Source) -> dict[str, Any]:
        # Below a file no index can be, so that every file is read, and none is known from before.
        library = Library(Environment({}, source.home or self.folder, "linux"), self._no_folder / "index")
        library.bring_up_to_date()
        for problem in library.unread:
            assert "a bug" not in problem.reason, f"{problem.path.name}: {problem.reason}"
        return {row["path"]: row for row in json.loads(library.list_json(everything=True))}


_BIDI = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[{_BIDI}\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_ROW_CONTROL = re.compile(f"[{_BIDI}\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def try_session(session: Session, *, agent: bool) -> None:
    """Every message can be made, and no figure is below zero; of an agent's own files also that the figures
    add up, and that no message is empty or called like another, which a document may say of itself.
    """
    for member in family(session):
        for part in family_of(member) if agent else ():
            assert_sums(part)
            assert_builds_clean(part)
        usages = [member.usage(), *(member.exchange_usage(e.index) for e in member.exchanges)]
        for usage in [*usages, *(member.groups.usage[group] for group in range(len(member.groups)))]:
            assert usage is None or all(figure is None or figure >= 0 for figure in usage), f"a figure below 0: {usage}"
        for index in range(len(member.messages)):
            assert_clean(member.message(index))


def try_rows(session: Session) -> None:
    """The rows of every message have no control characters and fit into panes."""
    for member in family(session):
        for width in _PANES:
            look = Look(width, Palette(), Highlights())
            for index in range(min(len(member.messages), 60)):
                for fold in (Fold.LINE, Fold.SHORT, Fold.FULL):
                    for row in render_block(member, index, fold, look).rows:
                        text = row.text
                        assert not (found := _ROW_CONTROL.search(text)), f"a row holds {found[0]!r}: {text[:120]!r}"
                        assert cell_len(text) <= width, f"a row is too wide: {cell_len(text)} of {width}: {text!r}"


def try_pieces(reader: Provider, data: bytes, path: Path) -> None:
    """A file that is read while it grows is the session that it is when it is read at once."""
    chance = Random(len(data))
    ends = sorted(chance.randrange(len(data) + 1) for _ in range(4))
    path.touch()
    reading = reader.open(path)
    for start, end in pairwise((0, *ends, len(data))):
        with path.open("ab") as file:
            file.write(data[start:end])
        reading.step(1 << 16)
        while not reading.done:
            reading.step(1 << 16)
    reading.finish()
    pieces, once = facts(reading.session), facts(whole(reader, path, beside=False))
    other = [name for name, value in once.items() if pieces[name] != value]
    assert not other, f"in pieces it is another session: {other}"


def try_exports(session: Session, place: Path) -> None:
    """Every document comes out without a control character in it, and the validator says that it is valid; it can be
    opened, and SessionData that was read is written again as it was.
    """
    for name, data in published(session).items():
        assert not (found := _CONTROL.search(data.decode())), f"{name} holds {found[0]!r}"
        if name not in _CHECKED:
            continue
        errors = check(name, data).errors
        assert not errors, f"what is written as {name} is not valid: {errors[0]}"
        place.write_bytes(data)
        with contextlib.closing(read_session(place)) as again:
            # What is nested deeper than can be written ends elsewhere when it stands deeper the second time.
            if name == "session-data" and b"(nested too deeply)" not in data:
                assert json.loads(written(again, "json")) == json.loads(data), "SessionData is written again as another"


def failure_kind(error: BaseException) -> str:
    """What a failure is one of: the error and the project's innermost line."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(ROOT)]
    frame = frames[-1]
    words = re.sub(r"\d+", "N", re.split(r"[\n:]", str(error))[0])[:60] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} {words} at {frame.filename.removeprefix(ROOT + '/')}:{frame.lineno} {frame.name}"


def run(fuzz: Fuzz, seeds: Iterable[int], fail: Callable[[int, BaseException], None]) -> int:
    """Try the mutant of each seed; returns how many there were."""
    count = 0
    for seed in seeds:
        count += 1
        try:
            fuzz.try_one(seed)
        except Exception as error:  # noqa: BLE001
            fail(seed, error)  # the rest is tried all the same: one run shows every kind
    return count

"""The bases of agents: subclasses of `Lines`, `Stream`, `Document`, `Tree`, `Database`, `Prose` say what records hold.

What an agent declares stands in class attributes, what it decides in the methods `told` and `read`, and few more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from schemas.clean import clean, clean_styled, clean_value
from schemas.diffs import (
    NEW_TEXTS,
    OLD_TEXTS,
    WHOLE_TEXTS,
    FileDiff,
    added_file,
    from_strings,
    from_unified,
    from_v4a,
)
from schemas.folders import matching
from schemas.message import Tool, ToolStatus, ToolType
from schemas.paths import address_of
from schemas.provider import (
    Environment,
    Format,
    Head,
    Location,
    Problem,
    Reading,
    Retention,
    SessionFile,
    places_of,
)
from schemas.provider import (
    Home as Home,
)
from schemas.providers.kit.contract import Data as Data
from schemas.providers.kit.history import History
from schemas.providers.kit.words import Answer, Fact, Item, Use
from schemas.records import read_record
from schemas.values import text_of, when

# Whoever looks for sessions imports every agent: what only reading needs is imported by what reads.
if TYPE_CHECKING:
    import sqlite3

    from schemas.providers.kit.files import Files
    from schemas.providers.kit.reader import Reader
    from schemas.session import Lack, Session
    from schemas.usage import TokenUsage


UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PATHS = ("filePath", "file_path", "path", "filepath")


class Agent:
    """What all agents have; see `schemas.provider.Provider`."""

    id: ClassVar[str]
    name: ClassVar[str]
    counting: ClassVar[str] = ""
    verified: ClassVar[str] = ""
    """The genuine files that it was tried on; empty where there were none."""
    formats: ClassVar[tuple[Format, ...]] = ()
    homes: ClassVar[tuple[Home, ...]] = ()
    files: ClassVar[tuple[str, ...]] = ("**/*.jsonl",)
    """Patterns of session files below a home."""
    lacks: ClassVar[frozenset[Lack]] = frozenset()
    """What its sources may never tell: a session lacks what none of its records did."""
    tools: ClassVar[Mapping[str, ToolType]] = {}
    resume: ClassVar[tuple[str, ...]] = ()
    """The command that goes on with a session, but for its id at the end."""
    uuids: ClassVar[bool] = False
    """Whether it gives its sessions UUIDs, so that it can go on with no other one."""
    keeps: ClassVar[Retention | None] = None
    """What the agent deletes by itself."""
    marks: ClassVar[tuple[bytes, ...]] = ()
    """What stands in the beginning of each of its logs and databases, one of these at least; empty where it is to be
    asked in any case.
    """
    silent: ClassVar[frozenset[str]] = frozenset()
    """Types of records that hold nothing and stand nowhere: counted without being read."""
    history: ClassVar[type[History]] = History
    recount: ClassVar[str] = "last"
    """What counts of a call's figures that are said again: the `last`, or the `largest` of each."""
    answers: ClassVar[str] = "last"
    """What counts of a use's results: the `last`, or the `first`."""
    reuses: ClassVar[bool] = False
    """Whether a tool use whose id is that of one which is over is another one: some services number calls anew."""
    prompted: ClassVar[bool] = True
    """False where prompts need not be told: then what the agent says opens an exchange."""

    copies: ClassVar[bool] = False
    """Whether a record that is equal to an earlier one, its id or its time too, is a copy of that, which is left out.
    False where a history tells copies otherwise, and where records have nothing that is given once.
    """
    rewrites: ClassVar[bool] = False
    """Whether it writes messages again when it knows more of them: then `replaces` is asked of each record."""

    # -- what each agent says of itself ----------------------------------------------------------------------------

    def told(self, head: Head) -> bool:
        """Whether a file that begins so is this agent's."""
        raise NotImplementedError

    def read(self, record: Data) -> Iterable[Item]:
        """What a record holds. Nothing but the record may decide: it is asked again when a message is built."""
        raise NotImplementedError

    def replaces(self, record: Data, earlier: Data) -> bool | None:
        """Whether a record says all that an earlier one says, in the same order, and perhaps more behind it: then that
        one need not be read. None for what says nothing of the conversation: the next record may still replace it.
        """
        return False

    def type(self, record: Data) -> str:
        """The record's type, by which it is counted where it holds nothing."""
        return text_of(record.get("type")) or "(no type)"

    def time(self, record: Data) -> float | None:
        """The record's time, in seconds since 1970."""
        return when(record.get("timestamp"))

    def name_of(self, record: Data) -> str:
        """The record's id; empty where it has none."""
        return text_of(record.get("id"))

    def setting(self, record: Data) -> Fact:
        """Where the agent works, of agents that say so on every record: asked until all that it names is known."""
        return _NOWHERE

    def facts(self, record: Data) -> Data:
        """Facts of a record for the metadata of its messages; under `cwd` where its tool uses ran."""
        return {}

    def stamps(self, session: Session) -> object:
        """What changes when something beside the source does; None to look every time."""
        return None

    def beside(self, session: Session) -> Iterable[Item]:
        """What other files say of the session."""
        return ()

    def spent(self, paths: Sequence[Path]) -> Sequence[tuple[str, TokenUsage]] | None:
        """What subagents' sources took, by model, where a running total of the session's includes them; None where that
        is not known.
        """
        return None

    def same_model(self, one: str, other: str) -> bool:
        """Whether a running total's model is that of a call."""
        return one == other

    def growing_input(self, text: str) -> Data:
        """A tool's input, of which this much has been written."""
        return read_record(text.encode("utf-8", "replace")) or {"raw": text}

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use and its result as a person reads them, and facts for which a tool has no field."""
        tool = Tool(
            clean(use.name) or "(unnamed tool)", self.tools.get(use.name, use.type), clean(use.use_id),
            clean_value(use.input or {}), status=ToolStatus.PENDING,
        )  # fmt: skip
        if answer is not None:
            tool.text, tool.runs = clean_styled(answer.text or "")
            tool.status, tool.exit_code, tool.seconds = answer.status, answer.exit_code, answer.seconds
            tool.images = list(answer.images)
            tool.output = {"content": tool.text, "is_error": tool.status is ToolStatus.ERROR}
        tool.diffs = self.diffs(tool, answer)
        return tool, {}

    def tool_type(self, name: str) -> ToolType:
        """What kind of tool has that name."""
        return self.tools.get(name, "unknown")

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """What a tool use changed, by the names that most agents give. A use that failed changed nothing."""
        if tool.type != "write" or tool.status not in (ToolStatus.OK, ToolStatus.PENDING):
            return []
        given = tool.input
        path = next((text_of(given[key]) for key in _PATHS if text_of(given.get(key))), "")
        if patch := text_of(given.get("patchText")) or text_of(given.get("patch")) or text_of(given.get("input")):
            return from_v4a(patch)
        old, new = (next((text_of(given[key]) for key in keys if key in given), "") for keys in (OLD_TEXTS, NEW_TEXTS))
        if old or new:
            return [from_strings(path, old, new)]
        content = next((text_of(given[key]) for key in WHOLE_TEXTS if key in given), "")
        return [added_file(path, content)] if content and path else []

    # -- Provider --------------------------------------------------------------------------------------------------

    def locations(self, env: Environment) -> list[Location]:
        """Where its sessions live on such a machine, existing or not; a variable's folder before the default."""
        return places_of(self.homes, env)

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions in a location."""
        for pattern in self.files:
            for path, stat in matching(location.path, pattern, problems):
                if name := self.id_of(Path(path)):
                    yield SessionFile(self.id, path, name, stat.st_size, stat.st_mtime_ns)

    def id_of(self, path: Path) -> str:
        """The session's id by its file's name; empty for what is no session."""
        return path.stem

    def detect(self, head: Head) -> bool:
        """Whether a file with this beginning is a session of this agent."""
        return self.told(head)

    def resume_command(self, session: Session) -> list[str] | None:
        """The arguments that let the agent go on with a session; None for a subagent's."""
        known = session.lineage.agent_id is None and (not self.uuids or UUID.fullmatch(session.id))
        return [*self.resume, session.id] if self.resume and known else None

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """The variable and its value with which the agent's command finds a session: where none of its homes holds it,
        but a folder laid out as one that a variable names.
        """
        if any(path.is_relative_to(location.path) for location in self.locations(env)):
            return None
        for home in self.homes:
            root, _, rest = home.place.partition("/")
            below = Path(rest).parts
            for parent in path.parents if root.startswith("$") and below else ():
                if parent.parts[-len(below) :] == below:
                    return root[1:], str(Path(*parent.absolute().parts[: -len(below)]))
        return None

    def retention(self, env: Environment) -> Retention | None:
        """What the agent itself deletes."""
        return self.keeps

    def reader(self, path: Path, name: str = "") -> Reader:
        """A reader for a new session."""
        from schemas.providers.kit.reader import Reader
        from schemas.session import Session

        return Reader(self, Session(self.id, self.name, path, name or self.id_of(path) or path.stem))


_NOWHERE = Fact()


def diff_of(path: str, text: str) -> list[FileDiff]:
    """The changes that a unified diff tells; none where it is empty."""
    return [from_unified(path, text)] if text.strip() else []


class Lines(Agent):
    """JSON lines."""

    copies: ClassVar[bool] = True

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session."""
        from schemas.reading import LinesReading, open_file

        return LinesReading(open_file(path), self.reader(path), start)


class Stream(Agent):
    """JSON lines that an agent prints; a module's `STREAM`. `pipe` reads them, those of several agents together."""

    copies: ClassVar[bool] = False
    prompted = False
    unended: ClassVar[str] = "the stream ended without its end marker"
    """What is noted where no `Turn` said how it ended; empty for an agent that never says."""

    def prints(self, record: Data) -> bool:
        """Whether a record is this agent's, and no other's."""
        raise NotImplementedError

    def may_print(self, record: Data) -> bool:
        """Whether it may be, where nothing better is known, or it is this agent that prints."""
        return False

    def is_kept(self, record: Data) -> bool:
        """Whether a record stands only in files of the agent, which have in them what it prints."""
        return False

    def run_of(self, record: Data) -> str:
        """The id of the session that a record names; empty where it names none."""
        return ""

    def told(self, head: Head) -> bool:
        """No: what is printed is told by `prints`."""
        return False

    def stamps(self, session: Session) -> object:
        """Nothing lies beside a stream."""
        return ()


class Document(Agent):
    """One JSON document."""

    files: ClassVar[tuple[str, ...]] = ("**/*.json",)

    def records(self, document: Any) -> Sequence[Data]:
        """The records of a document, in order; none for a document that is not this agent's."""
        raise NotImplementedError

    def told(self, head: Head) -> bool:
        """Whether the document has records."""
        return bool(self.records(head.document))

    def sides(self, path: Path) -> Sequence[Path]:
        """Other documents that hold a part of a session's records, existing or not."""
        return ()

    def merged(self, path: Path, document: Any, sides: Sequence[Any]) -> Sequence[Data]:
        """The records of the document at a path and of its sides, in order; a side that is not there is None."""
        return self.records(document)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a document: it is read whole, and whole again when it or one of its sides changed."""
        from schemas.providers.kit.readings import Documents

        return Documents(
            path,
            lambda: self.reader(path),
            self.records,
            lambda document, sides: self.merged(path, document, sides),
            lambda: self.sides(path),
        )


class Tree(Agent):
    """A session in many JSON files: the one at its path, and others in folders around it."""

    files: ClassVar[tuple[str, ...]] = ("**/*.json",)
    copies: ClassVar[bool] = True

    def gather(self, path: Path, files: Files) -> Iterable[Data]:
        """The records of the session at `path`, in order; none for a file that is not this agent's."""
        raise NotImplementedError

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session: files that changed are read again."""
        from schemas.broken import why_unread
        from schemas.providers.kit.files import Files
        from schemas.providers.kit.readings import Found, Gathered

        files = Files(path)

        def gather() -> Found:
            files.begin()
            if records := list(self.gather(path, files)):
                return Found(records, files.size, files.unreadable)
            raise OSError(why_unread(path.read_bytes()))

        return Gathered(path, lambda: self.reader(path), gather, lambda: files.watched)


class Section(NamedTuple):
    """One of the sessions in a text."""

    key: str
    id: str
    begun: float | None
    """Seconds since 1970."""
    text: str


class Prose(Agent):
    """A text that holds one session after the other, each at the text's path and a key; `pieces` takes one apart."""

    def sections(self, path: Path, text: str) -> Sequence[Section]:
        """The sessions in a text, in order."""
        raise NotImplementedError

    def pieces(self, text: str) -> Iterator[Data]:
        """The records of a session's text, in order."""
        raise NotImplementedError

    def held(self, path: Path) -> list[SessionFile]:
        """The sessions in a text, the newest first. The last one is as new as the file. Raises OSError."""
        stat, sections = path.stat(), self.sections(path, _text_in(path))
        files = [
            SessionFile(
                self.id,
                f"{path}#{one.key}" if one.key else str(path),
                one.id,
                len(one.text),
                int((one.begun or 0) * 1e9) or stat.st_mtime_ns,
                one.key,
            )
            for one in sections
        ]
        return [file._replace(mtime_ns=stat.st_mtime_ns) for file in files[-1:]] + files[-2::-1]

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions of all texts in a location."""
        return _all_held(self, location, problems)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read the newest session of a text."""
        return self.open_key(path, _newest(self.held(path)))

    def open_key(self, path: Path, key: str) -> Reading:
        """Begin to read one session: its text is read whole, and whole again when it changed."""
        from schemas.providers.kit.readings import Found, Gathered

        def gather() -> Found:
            sections = self.sections(path, _text_in(path))
            section = next((one for one in sections if one.key == key), None)
            if section is None:
                raise OSError(f"no session {key} in it")
            return Found(self.pieces(section.text), len(section.text))

        return Gathered(address_of(path, key), lambda: self._keyed(path, key), gather, lambda: [path])

    def _keyed(self, path: Path, key: str) -> Reader:
        sections = self.sections(path, _text_in(path))
        reader = self.reader(address_of(path, key), next((one.id for one in sections if one.key == key), key))
        reader.session.key = key
        return reader


def _text_in(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


class Database(Agent):
    """A SQLite database of many sessions, each at the database's path and a key, its id."""

    files: ClassVar[tuple[str, ...]] = ("*.db",)
    has_files: ClassVar[bool] = False
    """Whether a source that is no database is a session in a file."""

    def sessions(self, database: sqlite3.Connection) -> Iterable[tuple[str, float]]:
        """The ids of all sessions, subagents apart, and when each was changed last, in seconds since 1970."""
        raise NotImplementedError

    def rows(self, database: sqlite3.Connection, session: str) -> Iterable[Data]:
        """The records of one."""
        raise NotImplementedError

    def held(self, path: Path) -> list[SessionFile]:
        """The sessions in a database, the newest first: asked once a change; or the one in a file. Raises OSError."""
        from schemas.sqlite import is_database, read_database

        if self.has_files and not is_database(path):
            stat = path.stat()
            return [SessionFile(self.id, str(path), path.stem, stat.st_size, stat.st_mtime_ns)]

        def found(database: sqlite3.Connection) -> list[SessionFile]:
            size = path.stat().st_size
            times = [(name, int(time * 1e9)) for name, time in self.sessions(database) if name]
            files = [SessionFile(self.id, f"{path}#{name}", name, size, time, name) for name, time in times]
            return sorted(files, key=lambda file: (file.mtime_ns, file.id), reverse=True)

        return list(read_database(path, found, once=("held", self.id)))

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions of all databases in a location."""
        return _all_held(self, location, problems)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read the newest session of a database."""
        return self.open_key(path, _newest(self.held(path)))

    def open_key(self, path: Path, key: str) -> Reading:
        """Begin to read one session: it is read anew when the database was written."""
        from schemas.providers.kit.readings import Found, Gathered
        from schemas.sqlite import log_of, read_database

        def make() -> Reader:
            reader = self.reader(address_of(path, key), key)
            reader.session.key = key
            return reader

        def gather() -> Found:
            rows = read_database(path, lambda database: list(self.rows(database, key)))
            if not rows:
                raise OSError(f"no session {key} in it")
            return Found(rows, 0)

        return Gathered(address_of(path, key), make, gather, lambda: [path, log_of(path)])


def sources_in(location: Location, patterns: Iterable[str], problems: list[Problem]) -> Iterator[Path]:
    """The files of a location: the one that it names, or those that fit a pattern below the folder."""
    if location.path.is_file():
        yield location.path
        return
    for pattern in patterns:
        for path, _ in matching(location.path, pattern, problems):
            yield Path(path)


def _newest(held: list[SessionFile]) -> str:
    if not held:
        raise OSError("no session in it")
    return held[0].key


def _all_held(agent: Database | Prose, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions of all sources of many in a location."""
    for path in sources_in(location, agent.files, problems):
        try:
            yield from agent.held(path)
        except OSError as error:
            problems.append(Problem(path, str(error)))

"""The base of all agents: declarations in class attributes, decisions in `detect`, `read` and few more methods.

The subclasses from which agents derive, one for each kind of source, are in `bases`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from schemas.clean import clean, clean_styled, clean_value
from schemas.diffs import FileDiff, changes_asked, from_unified
from schemas.folders import matching
from schemas.message import Tool, ToolStatus, ToolType
from schemas.provider import Environment, Format, Head, Home, Location, Problem, Retention, SessionFile, places_of
from schemas.providers.kit.history import History
from schemas.providers.kit.words import Answer, Data, Fact, Item, Use
from schemas.published import Published
from schemas.running import Running, Stated, Wait
from schemas.slices import Listing
from schemas.values import text_of, when

if TYPE_CHECKING:
    from schemas.session import Lack, Session
    from schemas.usage import TokenUsage


UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Agent:
    """The common part of all agents; see `schemas.provider.Provider`."""

    id: ClassVar[str]
    name: ClassVar[str]
    counting: ClassVar[str] = ""
    uncounted: ClassVar[Mapping[str, str]] = {}
    """Why figures in records of a type, such as sums of others, count nowhere (`usage --explain`), by the type."""
    cache_miss: ClassVar[tuple[str, ...]] = ()
    """The keys under which a record of a response says why the prompt cache was missed (`turnlog cache`)."""
    verified: ClassVar[str] = ""
    """The genuine files that it was tried on; empty where there were none."""
    formats: ClassVar[tuple[Format, ...]] = ()
    homes: ClassVar[tuple[Home, ...]] = ()
    files: ClassVar[tuple[str, ...]] = ("**/*.jsonl",)
    """Patterns of session files below a home."""
    lacks: ClassVar[frozenset[Lack]] = frozenset()
    """What its sources may never tell: a session lacks what none of its records did."""
    tools: ClassVar[Mapping[str, ToolType]] = {}
    foreign: ClassVar[str] = ""
    """What is found in the names of tools that others' servers bring, which are generic: a regular expression."""
    listing: ClassVar[Listing | None] = None
    """The form in which its tools show what they read of a file; None where that is not known."""
    deniers: ClassVar[tuple[tuple[str, str], ...]] = (
        (r"[Uu]ser|by you\b", "you"),
        (r"\b(?:policy|rules?)\b", "a rule"),
    )
    """Who denied a tool use, by a pattern of what its result begins with."""
    resume: ClassVar[tuple[str, ...]] = ()
    """The command that goes on with a session, but for its id at the end."""
    uuids: ClassVar[bool] = False
    """Whether it gives its sessions UUIDs, so that it can go on with no other one."""
    marks: ClassVar[tuple[bytes, ...]] = ()
    """One of these stands in the beginning of each of its logs and databases; empty where it is always to be asked."""
    silent: ClassVar[frozenset[str]] = frozenset()
    """Types of records that hold nothing and stand nowhere: counted without being read."""
    published: ClassVar[Published] = Published()
    """What the published formats have of it."""
    running: ClassVar[Running] = Running()
    """How its processes are known, and what its sessions wait for."""
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
    """Whether a record that equals an earlier one, its id or time too, is a copy, which is left out. False where a
    history tells copies otherwise.
    """

    def detect(self, head: Head) -> bool:
        """Return whether a file with this beginning is a session of this agent."""
        raise NotImplementedError

    def read(self, record: Data) -> Iterable[Item]:
        """Read the items of a record. Nothing but the record may decide: it is asked again when a message is built."""
        raise NotImplementedError

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
        """Return the place of the work, for agents that repeat it on every record: asked until all of it is known."""
        return _NOWHERE

    def facts(self, record: Data) -> Data:
        """Facts of a record for the metadata of its messages; under `cwd` where its tool uses ran."""
        return {}

    def stamps(self, session: Session) -> object:
        """Return a value that changes when something beside the source does; None to look every time."""
        return None

    def beside(self, session: Session) -> Iterable[Item]:
        """Read the items of the session in other files."""
        return ()

    def spent(self, paths: Sequence[Path]) -> Sequence[tuple[str, TokenUsage]] | None:
        """Return the tokens of subagents' sources, by model, which a running total includes; None if not known."""
        return None

    def same_model(self, one: str, other: str) -> bool:
        """Return whether a running total's model is that of a call."""
        return one == other

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use and its result as a person reads them, and facts for which a tool has no field."""
        tool = Tool(
            clean(use.name) or "(unnamed tool)", self.tool_type(use.name, use.type), clean(use.use_id),
            clean_value(use.input or {}), status=ToolStatus.PENDING,
        )  # fmt: skip
        if answer is not None:
            tool.text, tool.runs = clean_styled(answer.text or "")
            tool.status, tool.exit_code, tool.seconds = answer.status, answer.exit_code, answer.seconds
            tool.images = list(answer.images)
            tool.output = {"content": tool.text, "is_error": tool.status is ToolStatus.ERROR}
        tool.diffs = self.diffs(tool, answer)
        return tool, {}

    def tool_type(self, name: str, otherwise: ToolType = "unknown") -> ToolType:
        """Return the type of the tool with that name."""
        foreign = self.foreign and re.search(self.foreign, name)
        return self.tools.get(name) or ("generic" if foreign else otherwise)

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """Return the changes of a tool use, by the names that most agents give. A use that failed changed nothing."""
        if tool.type != "write" or tool.status not in (ToolStatus.OK, ToolStatus.PENDING):
            return []
        return changes_asked(tool.input)

    def locations(self, env: Environment) -> list[Location]:
        """Return the places of its sessions on a machine, existing or not; a variable's folder before the default."""
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

    def resume_command(self, session: Session) -> list[str] | None:
        """The arguments that let the agent go on with a session; None for a subagent's."""
        known = session.lineage.agent_id is None and (not self.uuids or UUID.fullmatch(session.id))
        return [*self.resume, session.id] if self.resume and known else None

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """The variable and its value with which the agent finds a session in a folder laid out as a home of its own."""
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
        """Return what the agent itself deletes."""
        return None

    def stated(self, env: Environment) -> Iterable[Stated]:
        """Return what it says of its sessions that run, or ran when they were killed. Asked every second."""
        return ()

    def waits(self, session: Session, index: int, use: str) -> Wait | float | None:
        """Return what the session's records say of a message that is an open tool use (`use` is its id), or the last
        of a turn that is over (empty): what it waits for, or since when it runs, 0.0 where they tell only that; None
        where they do not tell.
        """
        return None


_NOWHERE = Fact()


def diff_of(path: str, text: str) -> list[FileDiff]:
    """The changes that a unified diff tells; none where it is empty."""
    return [from_unified(path, text)] if text.strip() else []

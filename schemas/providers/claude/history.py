"""The policy for what depends on several records of a session: rewinds, copies, forks, subagents' chains, the queue.

The chain of `parentUuid` is used for rewinds only, since records hang anywhere (parallel tool calls make siblings):
prompts replace prompts, and of those under one parent the last is live (formats/claude-code.md 9).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from schemas.clean import one_line
from schemas.message import Kind
from schemas.providers.kit.blocks import texts_in
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Data, Held, Say
from schemas.values import dict_of, text_of

if TYPE_CHECKING:
    from schemas.records import Record
    from schemas.session import Session

_PROMPT, _COMMAND, _TEXT, _TOOL = (int(k) for k in (Kind.PROMPT, Kind.COMMAND, Kind.TEXT, Kind.TOOL))
_OPENERS = frozenset({_PROMPT, _COMMAND})
_LAST_FACTS = {
    "cwd": "lastCwd", "gitBranch": "lastBranch", "version": "lastVersion", "sessionId": "sessionId",
    "entrypoint": "entrypoint", "slug": "slug", "sessionKind": "sessionKind", "teamName": "teamName",
}  # fmt: skip
"""What the last record says of the session, and its name among the metadata."""
_MOST_QUEUED = 1000


@dataclass(slots=True)
class _Prompt:
    time: float | None
    gone: bool = False
    answered: bool = False
    rows: array[int] = field(default_factory=lambda: array("I"))
    """Its own message, and those that answer it."""
    children: list[int] = field(default_factory=list)


class Rewinds(History):
    """The tree of a session, as little of it as is needed, and its queue."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._nodes: dict[int, int] = {}
        """By the hash of a uuid: a number for each user and assistant record, for others that of the nearest above."""
        self._owner = array("I", [0])
        """For each node the prompt it stands under."""
        self._prompts = [_Prompt(None)]
        self._latest: dict[int, int] = {}
        """The last prompt under each node, and that without a parent of each session, by the hash of its id."""
        self._copies: set[int] = set()
        self._node = self._parent = self._prompt = self._root = 0
        """Of the record being read: its node, that above it, the prompt it answers, its session if it has no parent."""
        self._time: float | None = None
        self._gone: list[int] = []
        self._chains: dict[str, str] = {}
        self._unnamed = 0
        self._placed = session.lineage.agent_id is not None
        self._is_aside = False
        """Whether it is a question beside the talk, `/btw`: its file repeats all that was said until then."""
        self._facts: Data | None = None
        self._answer: Data | None = None
        """The last answer, while nothing came after it."""
        self._waiting: list[tuple[Record, int, Held]] = []
        """Text typed while the agent works."""
        self._shown: dict[int, str] = {}
        """The messages that show texts which no record has delivered yet, by the texts' hashes."""
        self._attached: set[int] = set()
        self._fresh: set[str] = set()
        """Those of these messages since which the agent has said nothing."""

    def whose(self, record: Data) -> str:
        """The subagent of a sidechain's record. Those of 1.x have no name: their records are told by their parents."""
        if not self._placed and "uuid" in record:
            self._place(record)
        if record.get("isSidechain") is not True or self.session.lineage.agent_id is not None:
            return ""
        name = text_of(record.get("agentId")) or self._chains.get(text_of(record.get("parentUuid")), "")
        if not name:
            self._unnamed += 1
            name = f"sidechain-{self._unnamed}"
        if uuid := text_of(record.get("uuid")):
            self._chains.setdefault(uuid, name)
        return name

    def _place(self, record: Data) -> None:
        """Decide by the first record of the talk whether the whole file is one subagent's, or goes on with another."""
        self._placed = True
        lineage, path = self.session.lineage, self.session.path
        agent, source = text_of(record.get("agentId")), text_of(record.get("sessionId"))
        if record.get("isSidechain") is True and (agent or path.name.startswith("agent-")):
            lineage.agent_id = one_line(agent or path.stem.removeprefix("agent-"), 80)
            lineage.parent = one_line(source, 300) or None
            self._is_aside = lineage.agent_id.startswith("aside_question")
        elif len(source) == len(path.stem) == 36 and source != path.stem:
            lineage.continues = one_line(source, 300)

    def enter(self, record: Record, time: float | None) -> bool:
        """Put a record into the tree; False for one that was read before, perhaps under another uuid."""
        value = record[3]
        uuid, kind, parent = value.get("uuid"), value.get("type"), value.get("parentUuid")
        self.copied = _copied_from(value) if "forkedFrom" in value or "requestSessionId" in value else ""
        if self.copied:
            self.session.lineage.continues = None
        if self._is_aside:
            text = texts_in(dict_of(value.get("message")).get("content")) if kind == "user" else ""
            begins = text.startswith("<system-reminder>") and "side question" in text[:1000]  # faults f17
            self.forked = (self.session.lineage.parent or "") if begins else ""
        if "cwd" in value:
            self._facts = value
        if type(uuid) is not str or not uuid:
            self._node = self._parent = self._prompt = 0
            return True
        nodes, owner, name, above = self._nodes, self._owner, hash(uuid), 0
        if name in nodes:
            return False
        if type(parent) is str:
            if kind == "user" and self._is_copy(value, parent):
                return False
            above = nodes.get(hash(parent), 0)
            if above and kind == "progress":  # a link of the chain, where nothing is said
                nodes[name] = above
                return True
        node = above
        if not above or kind == "user" or kind == "assistant":
            self._answer = value if kind == "assistant" else None
            node = len(owner)
            owner.append(owner[above])
        nodes[name] = node
        self._node, self._parent, self._prompt, self._time = node, above, owner[node], time
        self._root = hash(str(value.get("sessionId"))) if parent is None and "parentUuid" in value else 0
        return True

    def _is_copy(self, record: Data, parent: str) -> bool:
        """Return whether a record was written again: compaction repeats kept messages with their parents and times."""
        content = dict_of(record.get("message")).get("content")
        if record.get("isCompactSummary") is True or (type(content) is list and any(map(is_result, content))):
            return False
        stamp = record.get("timestamp")
        if type(stamp) is not str:
            return False
        mark, count = hash((parent, stamp)), len(self._copies)
        self._copies.add(mark)
        return len(self._copies) == count

    def own(self, row: int, kind: int) -> None:
        """A prompt or a command begins something, all else answers what it stands under."""
        if kind in _OPENERS:
            self._prompt = self._begin(row, kind)
            return
        if _TEXT <= kind <= _TOOL and self._fresh:
            self._fresh.clear()
        prompt = self._prompts[self._prompt]
        prompt.answered = True
        if self._prompt:
            prompt.rows.append(row)
            if prompt.gone:
                self._gone.append(row)

    def _begin(self, row: int, kind: int) -> int:
        number, above = len(self._prompts), self._owner[self._parent]
        self._prompts.append(_Prompt(self._time, rows=array("I", [row])))
        self._prompts[above].children.append(number)
        self._owner[self._node] = number
        if self._prompts[above].gone:
            self._drop(number)
        if kind == _PROMPT and (under := self._parent or self._root):
            rival, self._latest[under] = self._latest.get(under, 0), number
            before, time = self._prompts[rival], self._time
            # Files exist in which a session stands again under new ids at the same times, or that name no parents.
            later = before.time is not None and time is not None and time > before.time
            if self._parent or (before.answered and later):
                self._drop(rival)
        return number

    def _drop(self, number: int) -> None:
        """Take a prompt back with all that stands under it."""
        waiting = [number] if number else []
        while waiting:
            prompt = self._prompts[waiting.pop()]
            if not prompt.gone:
                prompt.gone = True
                self._gone.extend(prompt.rows)
                waiting += prompt.children

    def settle(self) -> Iterator[tuple[int, bool]]:
        """Return the messages that were taken back. Of the facts that every record repeats, the last ones are noted."""
        if (facts := self._facts) is not None:
            self._facts, metadata = None, self.session.metadata
            for name, key in _LAST_FACTS.items():
                if fact := text_of(facts.get(name)):
                    metadata[key] = one_line(fact, 300)
                else:
                    metadata.pop(key, None)
        gone, self._gone = self._gone, []
        return ((row, False) for row in gone)

    def knows(self, name: object) -> bool:
        """Return whether the record with a uuid of that hash is in the session."""
        return name in self._nodes

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """Text of the queue is one message, wherever it is told: a text that somebody `typed` may have stood there.

        What waits is shown as not delivered, in case nothing delivers it (faults f18), if the agent is at work: `claude
        -p` writes each prompt into the queue first, and a fork what it copied behind that. A text without a role is
        what its record becomes if a later one says so.
        """
        text = item.text.strip()
        match item.role:
            case "typed":
                is_prompt = item.kind is Kind.PROMPT
                name = self._shown.pop(hash(text), "") if item.text else ""
                # A prompt takes its place only as long as the agent has said nothing since: it opens an exchange.
                moved = is_prompt and bool(name) and name not in self._fresh
                if not is_prompt:
                    self._attached.add(hash(text))
                yield record, number, as_word(item, Say, id="" if moved else name)
                if moved:
                    yield record, number + 1, Say(Kind.NOTE, label=BELOW, id=name)
            case "enqueue":
                if len(self._waiting) < _MOST_QUEUED:
                    self._waiting.append(((*record[:3], {}), number, item))
                stop = dict_of((self._answer or {}).get("message")).get("stop_reason")
                if len(self._owner) > 1 and stop not in ("end_turn", "stop_sequence") and _is_typed(text):
                    yield record, number, as_word(item, Say, id=self._show(text, record))
            case "dequeue":
                del self._waiting[:1]
            case "popAll":
                for there, at, taken in self._waiting:
                    if name := self._shown.pop(hash(taken.text.strip()), ""):
                        yield there, at + 2, Say(Kind.NOTE, label=TAKEN_BACK, id=name)
                self._waiting.clear()
            case "remove":
                place = next((n for n, (_, _, q) in enumerate(self._waiting) if not text or q.text.strip() == text), -1)
                there, at, found = self._waiting.pop(place) if place >= 0 else (record, number, item)
                said = found.text.strip()
                if _is_typed(said) and hash(said) not in self._attached:
                    name = self._shown.get(hash(said)) or self._show(said, there)
                    yield there, at + 1, Say(found.kind, found.text, id=name, time=found.time)

    def _show(self, text: str, record: Record) -> str:
        name = self._shown[hash(text)] = f"queue@{record[0]}"
        self._fresh.add(name)
        return name


BELOW, TAKEN_BACK = "Typed while the agent worked: comes below", "Typed while the agent worked, and taken back"


def _is_typed(text: str) -> bool:
    """Return whether a person typed a text, and no command: that is executed, and written as a line of its own."""
    word = text.split(None, 1)[0] if text else ""
    return bool(text) and not text.startswith("<") and not (word.startswith("/") and "/" not in word[1:])


def is_result(block: object) -> bool:
    """Return whether a block of content is the result of a tool use."""
    return type(block) is dict and block.get("type") == "tool_result"


def _copied_from(record: Data) -> str:
    """The session from which a fork copied a record. Since 2.1.3xx only answers say so: the rest is before them."""
    if origin := record.get("forkedFrom"):
        return (text_of(origin.get("sessionId")) if type(origin) is dict else text_of(origin)) or "(unknown)"
    asked = record.get("requestSessionId")
    return asked if type(asked) is str and asked != record.get("sessionId") else ""

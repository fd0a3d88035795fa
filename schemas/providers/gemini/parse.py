"""The event log of a Gemini CLI session, reduced as the CLI itself does it (formats note 1.3).

The CLI forgets what was rewound, compressed away or written again; a reader of the log should not. So what it drops
stays here: as rewound, or, where a summary took its place, as the history that it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from schemas.clean import CleanCounter, clean, one_line
from schemas.message import Kind
from schemas.providers._google import Data, is_snapshot, responses_in
from schemas.providers.gemini.beside import Beside
from schemas.providers.gemini.build import Builder
from schemas.providers.gemini.entries import MASKED, Agent, Entry, Place, leaves_nothing, read_entry
from schemas.providers.gemini.places import places_of
from schemas.providers.gemini.project import project_root
from schemas.providers.gemini.rows import Filler
from schemas.records import FileStore, Record, read_document, read_record
from schemas.session import Change, Op, Session
from schemas.values import dict_of, list_of, text_of, when


class GeminiParser:
    """Takes the records of a log, or the items of a document made into such records."""

    def __init__(self, session: Session) -> None:
        self.session = session
        session.build = Builder()
        self.meta: Data = {}
        """The header, with what `$set` changed in it."""
        self._entries: list[Entry] = []
        """Every message that there ever was, in the order of first writing."""
        self._live: dict[str, Entry] = {}
        """The CLI's own list, in its order."""
        self._latest: dict[str, Entry] = {}
        self._pending: dict[str, Entry] = {}
        """Tool uses without result, by their ids."""
        self._nameless: list[tuple[str, str, Entry]] = []
        """Those without an id: name, tag, entry."""
        self._agents: dict[str, Entry] = {}
        self._stirred: dict[str, None] = {}
        """The subagents whose tool use was read again."""
        self._hidden = CleanCounter()
        self._unknown = CleanCounter()
        self._made = 0
        """How many of the entries the session has."""
        self._dirty = 0
        """The first entry that is not in the session as it is now."""
        self._written: tuple[Entry, Place, Data] | None = None
        """An answer that is not read yet: mostly it is written again at once, when more of it is known."""
        self._command: Entry | None = None
        """A command that the next answer would answer."""
        self._opening = 0
        """The entry that the current exchange begins with."""
        self._standing = 0
        """How many entries from there on are not rewound."""
        self._hash: str | None = None
        """The project hash that the root was looked up with."""
        self._root: str | None = None
        self._beside = Beside(self)
        self._filler = Filler()

    # -- Parser ----------------------------------------------------------------------------------------------------

    def feed(self, records: Iterable[Record]) -> list[Change]:
        """Take more records. Where history was rewritten, `session` is a new one afterwards."""
        for record in records:
            self._take(record)
        self._read_written()
        return self._settle()

    def refresh(self) -> list[Change]:
        """Look for the files of subagents."""
        return self._beside.refresh()

    def row_of_agent(self, identifier: str) -> int | None:
        """The message whose tool use started a subagent."""
        entry = self._agents.get(identifier)
        rows = [agent.row for agent in entry.agents if agent.id == identifier] if entry is not None else []
        return entry.start + rows[0] if entry is not None and rows else None

    def agent(self, identifier: str) -> Agent | None:
        """A subagent, as its tool use names it."""
        entry = self._agents.get(identifier)
        found = [agent for agent in entry.agents if agent.id == identifier] if entry is not None else []
        return found[-1] if found else None

    # -- the log, in the CLI's order of classification ---------------------------------------------------------------

    def _take(self, record: Record) -> None:
        place, value = record[:3], record[3]
        if isinstance(target := value.get("$rewindTo"), str):
            self._hidden["$rewindTo"] += 1
            self._read_written()
            self._rewind(target)
        elif isinstance(identifier := value.get("id"), str):
            self._write(identifier, place, value)
        elif isinstance(changed := value.get("$set"), dict):
            self._merge(changed)
            if isinstance(messages := changed.get("messages"), list):
                self._checkpoint(place, messages, "$set", "messages")
            else:
                self._hidden["$set"] += 1
        elif isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
            self._merge(value)
            if isinstance(messages := value.get("messages"), list):
                self._checkpoint(place, messages, "messages")
            else:
                self._hidden["header"] += 1
        else:
            self._read_written()
            self._append(f"@{place[0]}", place, value)

    def _merge(self, changed: Data) -> None:
        self.meta.update(changed)
        self.meta.pop("messages", None)
        if "sessionId" not in changed:
            return
        name = one_line(text_of(self.meta.get("sessionId")), 300)
        if name and name != self.session.id:
            self.session.id = name
            for exchange in self.session.exchanges:
                exchange.id = f"{self.session.id}:{exchange.index}"

    def _write(self, identifier: str, place: Place, value: Data) -> None:
        """A message: a new one, or one that is there, which keeps its place (note 1.3, 2)."""
        entry = self._live.get(identifier)
        if self._written is not None:
            if entry is self._written[0] and value.get("type") == "gemini" and leaves_nothing(self._written[2]):
                self._hidden["earlier version"] += 1
                self._written = (entry, place, value)
                return
            self._read_written()
        entry = entry or self._forgotten(identifier, value)
        if entry is None:
            entry = self._append(identifier, place, value)
        else:
            self._drop(entry, rewound=False)
            self._update(entry, place, value)
        self._live[identifier] = entry

    def _read_written(self) -> None:
        """Read the answer that was written last, now that something else follows."""
        if self._written is not None:
            entry, place, value = self._written
            self._written = None
            self._read(entry, value, place, nested=False)

    def _forgotten(self, identifier: str, value: Data) -> Entry | None:
        """A message that the CLI has no more, if this is it again: one call of the model counts once.

        Something else typed under the id of what was rewound is a message of its own.
        """
        entry = self._latest.get(identifier)
        if entry is None or not entry.rewound or value.get("type") != "user":
            return entry
        return entry if self._record(entry.place) == value else None

    def _append(self, identifier: str, place: Place, value: Data, *, nested: bool = False) -> Entry:
        before = self._latest.get(identifier)
        again = 0 if before is None else before.again + 1
        entry = Entry(identifier, again, len(self._entries), place, nested)
        self._latest[identifier] = entry
        self._entries.append(entry)
        self._standing += 1
        kind = value.get("type")
        if kind == "gemini" and not nested:
            self._written = (entry, place, value)
        else:
            self._read(entry, value)
        if entry.opens is None and self._is_dropped():
            entry.breaks = bool(entry.rows) or kind == "gemini"
        if entry.opens is not None or entry.breaks:
            self._opening, self._standing = entry.index, 1
        if kind == "gemini" and self._command is not None and not self._command.rewound:
            self._answer(self._command)
        if kind == "gemini":
            self._command = None
        elif kind == "user":
            if entry.quiet != "tool response":
                is_command = any(row.kind == Kind.COMMAND for row in entry.rows or ())
                self._command = entry if is_command else None
            self._give_results(entry, value)
        return entry

    def _is_dropped(self) -> bool:
        """Whether all of the current exchange was rewound, so that what follows is no part of it."""
        return self._opening < len(self._entries) - 1 and self._standing == 1  # the new one

    def _answer(self, command: Entry) -> None:
        """The agent answered a command, so that it is a prompt in effect."""
        command.answered = True
        if command.opens is None:
            self._opening = command.index
            self._standing = sum(not entry.rewound for entry in self._entries[command.index :])
            self._read(command, self._record(command.place))

    def _update(self, entry: Entry, place: Place, value: Data, *, nested: bool = False) -> None:
        if not entry.nested:
            self._hidden["earlier version"] += 1
        if nested and MASKED.encode() not in self.session.stores[0].read(*entry.place[:2]):
            entry.before = entry.place
        kind = value.get("type")
        if kind == "gemini" and not nested:
            self._written = (entry, place, value)
            return
        self._read(entry, value, place, nested)
        if kind == "user":
            self._give_results(entry, value)

    def _read(self, entry: Entry, value: Data, place: Place | None = None, nested: bool | None = None) -> None:
        """Read an entry from its record, perhaps another one than before, and keep the counts right."""
        self._dirty = min(self._dirty, entry.index)
        if entry.quiet or entry.unknown:
            self._count(entry, -1)
        if entry.agents:
            self._stirred.update((agent.id, None) for agent in entry.agents)
        if entry.pending:
            for tag, _ in entry.pending:
                self._pending.pop(tag, None)
            self._nameless = [pending for pending in self._nameless if pending[2] is not entry]
        entry.place = entry.place if place is None else place
        entry.nested = entry.nested if nested is None else nested
        read_entry(entry, value, self._record)
        if entry.quiet or entry.unknown:
            self._count(entry, 1)
        for tag, name in entry.pending:
            if tag.startswith("#"):
                self._nameless.append((name, tag, entry))
            else:
                self._pending[tag] = entry
        for agent in entry.agents:
            self._agents[agent.id] = entry
            self._stirred[agent.id] = None

    def _count(self, entry: Entry, one: int) -> None:
        """Count what shows nothing or is unknown; a checkpoint's line is counted as a whole."""
        if entry.unknown:
            self._unknown[entry.unknown] += one
        if entry.quiet and not entry.nested:
            self._hidden[entry.quiet] += one

    def _record(self, place: Place) -> Data:
        return self.session.stores[0].record(place[0], place[1])

    def _give_results(self, entry: Entry, value: Data) -> None:
        """Hand the results in a user's record to the tool uses that have none (note 1.6: mostly all have theirs)."""
        if not self._pending and not self._nameless:
            return
        for answer in responses_in(value.get("content")):
            tag, name = text_of(answer.get("id")), text_of(answer.get("name"))
            caller = self._pending.get(tag)
            if not tag:
                tag, caller = next(((tag, c) for known, tag, c in self._nameless if known == name), ("", None))
            if caller is None:
                continue
            caller.replies = {**(caller.replies or {}), tag: entry.place}
            self._read(caller, self._record(caller.place))

    # -- history rewritten -----------------------------------------------------------------------------------------

    def _rewind(self, target: str) -> None:
        """Drop a message and all after it; all there are, if it is not there (note 1.3, 1)."""
        if target not in self._live:
            for entry in self._entries:
                self._drop(entry)
            self._live.clear()
            return
        while target in self._live:
            self._drop(self._live.popitem()[1])

    def _drop(self, entry: Entry, rewound: bool = True) -> None:
        if entry.rewound != rewound:
            entry.rewound = rewound
            if entry.index >= self._opening:
                self._standing += -1 if rewound else 1
            self._dirty = min(self._dirty, entry.index)

    def _checkpoint(self, place: Place, messages: list[Any], *path: str) -> None:
        """The CLI's list is replaced by another one (note 1.3, 3).

        Messages that are known keep their place among the others. What the new list leaves out was summarised if it
        holds a summary, and else dropped.
        """
        self._read_written()
        store = self.session.stores[0]
        raw = store.read(place[0], place[1])
        places = places_of(raw, *path) if isinstance(store, FileStore) else []
        if len(places) != len(messages):
            self._append(f"@{place[0]}", place, {"type": "checkpoint that could not be taken apart"})
            return
        old, self._live = self._live, {}
        for (start, length), value in zip(places, messages, strict=True):
            self._restore((place[0] + start, length, place[2]), dict_of(value), raw[start : start + length], old)
        dropped = [entry for name, entry in old.items() if name not in self._live and not entry.rewound]
        if any(is_snapshot(dict_of(value).get("content")) for value in messages):
            dropped = []
        for entry in dropped:
            self._drop(entry)
        if dropped:
            self._append(f"@{place[0]}", place, {"type": "$rewrite"})
        else:
            self._hidden["checkpoint"] += 1

    def _restore(self, place: Place, value: Data, raw: bytes, old: dict[str, Entry]) -> None:
        """Take one message of a checkpoint. Mostly it is as it was, to the byte."""
        identifier = value.get("id")
        name = identifier if isinstance(identifier, str) else f"@{place[0]}"
        entry = old.get(name) or self._latest.get(name)
        if entry is None:
            entry = self._append(name, place, value, nested=True)
        else:
            self._drop(entry, rewound=False)
            known = self.session.stores[0].read(*entry.place[:2])
            if known != raw and read_record(known) != value:
                self._update(entry, place, value, nested=True)
        self._live[name] = entry

    # -- what comes of it ------------------------------------------------------------------------------------------

    def _settle(self) -> list[Change]:
        """Bring the session up to the entries; returns what changed."""
        known, first = self._made, min(self._dirty, self._made)
        if first < known:
            self.session, changes = self._filler.rewrite(self.session, self._entries, first, known)
        else:
            changes = self._filler.append(self.session, self._entries[known:])
        self._made = self._dirty = len(self._entries)
        self._describe()
        for entry in self._entries[first:]:
            if entry.agents:
                self._stirred.update((agent.id, None) for agent in entry.agents)  # their rows may have moved
        if self._stirred:
            changes += self._beside.link(self._stirred, [c.message for c in changes if c.op is not Op.REMOVED])
            self._stirred = {}
        return changes

    def _describe(self) -> None:
        """What the header and the messages say of the session as a whole."""
        session, meta = self.session, self.meta
        session.hidden, session.unknown = self._hidden, self._unknown
        filler = self._filler
        begun, last = when(meta.get("startTime")), when(meta.get("lastUpdated"))
        session.created = next((time for time in (begun, filler.created, last) if time is not None), None)
        session.updated = max((t for t in (filler.updated, last, begun) if t is not None), default=None)
        session.context_used = filler.context
        if (known_by := text_of(meta.get("projectHash"))) != self._hash:
            self._hash, self._root = known_by, project_root(session.path, known_by)
        folders = [clean(path) for path in list_of(meta.get("directories")) if isinstance(path, str)]
        is_subagent = meta.get("kind") == "subagent"
        # A session names further directories, a subagent its workspace (note 1.1).
        session.workspace_root = self._root or (folders[0] if is_subagent and folders else None)
        folder = session.path.absolute().parent
        if is_subagent or folder.parent.name == "chats":
            session.lineage.agent_id = session.id
            session.lineage.parent = one_line(folder.name, 100) if folder.parent.name == "chats" else None
        session.title = self._title()
        for name in ("projectHash", "kind", "authType", "tag"):
            if text := one_line(text_of(meta.get(name)), 200):
                session.metadata[name] = text
        if folders:
            session.metadata["directories"] = folders
        session.subagents = self._beside.subagents

    def _title(self) -> str:
        """The CLI's summary, else the first prompt; a subagent's summary may be its answer in JSON (note 1.6)."""
        if title := summary_title(self.meta.get("summary")):
            return title
        prompt = self._filler.first_prompt(self.session)
        return one_line(prompt, 200) if prompt else one_line(text_of(self.meta.get("tag")), 200)


def summary_title(summary: object) -> str:
    """A summary as a title; empty if it is none. In JSON, it is the first text in it."""
    text = text_of(summary).strip()
    if text.startswith(("{", "[")) and (document := read_document(text.encode("utf-8", "replace"))) is not None:
        text = next(_texts(document), "")
    return one_line(text, 200)


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str) and value.strip():
        yield value
    elif isinstance(value, dict | list) and depth < 20:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, depth + 1)

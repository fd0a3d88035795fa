"""Gemini CLI: an event log for each session under `~/.gemini/tmp`, and the documents before it (formats note 1)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

from schemas.clean import as_json, clean, one_line
from schemas.folders import bytes_in, entries_of, matching, object_in, state_of
from schemas.message import Kind, Tool
from schemas.provider import Environment, Format, Head, Location, Problem, Reading, Retention, SessionFile
from schemas.providers import _google as google
from schemas.providers._google import content_of, parts_of
from schemas.providers.kit.bases import Data, Home, Lines
from schemas.providers.kit.history import History, Placed
from schemas.providers.kit.words import Answer, Child, Count, Fact, Held, Item, Say, Task, Title, Use
from schemas.published import Published, categories
from schemas.records import read_document, read_record
from schemas.running import Running
from schemas.usage import TokenUsage, overlapping
from schemas.values import dict_of, list_of, text_of, texts_of, when

if TYPE_CHECKING:
    from schemas.providers.kit.reader import Reader
    from schemas.records import Record
    from schemas.session import Session

_SESSION = re.compile(r"(session-.*?(?:-([0-9A-Za-z]{8}))?)\.(jsonl?)")
_LONGEST, _MOST_ENTRIES = 8192, 5000
_COUNTS = ("input", "output", "cached", "thoughts", "tool")
_ACKNOWLEDGEMENT = re.compile(r"\s*Got it\. Thanks for the (?:additional )?context!\s*")
"""What the program lets the model say to the context, or to a summary."""
_NOTICES = {"info": (Kind.NOTE, ""), "warning": (Kind.NOTE, "Warning"), "error": (Kind.ERROR, "Error")}


@dataclass(slots=True)
class Said(Say):
    """A text of a message; its id begins with the message's."""

    again: tuple[str, ...] = ()
    """Texts that may be earlier prompts: the CLI writes a cancelled one again, behind the session's context."""


@dataclass(slots=True)
class Call(Use):
    """A tool use of a message, which may be written again."""

    call: Data = field(default_factory=dict)


class Reply(Answer):
    """A result in a record of its own, for a tool use that has none; `details` are its parts, read if it is new."""


class Spent(Count):
    """Tokens of the model call that made a message."""


@dataclass(slots=True)
class _Message:
    """A message of the log, however often it was written; it may be listed under further ids."""

    place: int
    rows: list[int] = field(default_factory=list)
    usage: TokenUsage | None = None
    rewound: bool = False


class Log(History):
    """The messages of a log by their ids, what a rewind took back, and which tool use a result is for."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._all: list[_Message] = []
        """In the order of first writing."""
        self._named: dict[str, _Message] = {}
        self._list: dict[str, _Message] = {}
        """The CLI's own list, in its order."""
        self._at = _Message(0)
        """The message of the item being read."""
        self._name = ""
        """What the record calls it."""
        self._is_listed = self._has_news = False
        """Whether a checkpoint lists it; whether anything was new in what was read of it."""
        self._before = 0
        """How many messages there were before the record."""
        self._parts: dict[int, int] = {}
        """By the hash of a message and its part: the hash of a text, or whether a tool use has its result."""
        self._known: dict[int, _Message] = {}
        """The messages by their words, as hashes: a checkpoint may list them under other ids."""
        self._settled: dict[int, bool] = {}
        self._waiting: dict[str, int] = {}
        """The parts that are uses without a result, by their ids."""

    def enter(self, record: Record, time: float | None) -> bool:
        """Note whose the record is, and take messages back."""
        value, self._before = record[3], len(self._all)
        self.branched = self._is_listed = self._has_news = False
        if isinstance(target := value.get("$rewindTo"), str):
            self._rewind(target)
        elif (meta := meta_of(value)) is None:
            self._name = text_of(value.get("id")) or f"@{record[0]}"
            self._at = self._list[self._name] = self._message(self._name)
        elif isinstance(meta.get("messages"), list):
            names = (text_of(message.get("id")) for message in messages_of(meta))
            self._list = {name: self._message(name) for name in names if name}
        return True

    def _message(self, name: str) -> _Message:
        """The message of that id, which is there now, whatever was taken back before."""
        message = self._named.get(name)
        if message is None:
            message = self._named[name] = _Message(len(self._all))
            self._all.append(message)
        elif message.rewound:
            self._settle(message, live=True)
        return message

    def _settle(self, message: _Message, *, live: bool) -> None:
        message.rewound = not live
        self._settled.update(dict.fromkeys(message.rows, live))

    def _rewind(self, target: str) -> None:
        """Take back a message and all after it; all there are, if it is not there (note 1.3, 1).

        What only a checkpoint left out is there for whoever reads. What comes later in the log, but before it in the
        CLI's list, stays: a summary that took the place of what was before.
        """
        message = self._named.get(target)
        start, gone = message.place if message is not None and not message.rewound else 0, list[_Message]()
        if target not in self._list:
            self._list.clear()
        while target in self._list:
            gone.append(self._list.popitem()[1])
        kept = {message.place for message in self._list.values()}  # some of them under another id, too
        gone = [message for message in (*gone, *self._all[start:]) if message.place not in kept]
        for message in gone:
            if not message.rewound:
                self._settle(message, live=False)
        if self.session.exchanges:
            opener = self.session.exchanges[-1].start
            self.branched = any(opener in message.rows for message in gone)

    def own(self, row: int, kind: int) -> None:
        if row not in self._at.rows:
            self._at.rows.append(row)

    def settle(self) -> Iterator[tuple[int, bool]]:
        settled, self._settled = self._settled, {}
        return iter(settled.items())

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        match item:
            case Said() | Call():
                news = self._text(item) if isinstance(item, Said) else self._call(item)
                if news is not None:
                    self._has_news = True
                    yield record, number, news
            case Spent():
                known = self._at.usage
                if known is None if self._is_listed else self._has_news or known != item.usage:
                    self._at.usage = item.usage
                    yield record, number, item
            case Reply():
                use_id = item.use_id or next(iter(self._waiting), "")
                if (part := self._waiting.pop(use_id, None)) is not None:
                    self._parts[part] = True
                    yield record, number, _answer_in(item, use_id)
            case Held():  # the items behind it belong to that message, one of those that are listed
                self._name, self._is_listed, self._has_news = item.id or f"@{record[0]}:{number}", item.id != "", False
                self._at = self._message(self._name)

    def _text(self, item: Said) -> Said | None:
        """Return an item that brings something which was not there before; else None."""
        at, is_listed = self._at, self._is_listed
        part, text = hash((at.place, item.id.removeprefix(self._name))), hash(item.text)
        known = self._parts.get(part)
        # What is written again goes with the figures that come with it; after that it is nothing new.
        if known is not None and (is_listed or (known == text and at.usage is not None)):
            return None
        mark, again = _mark(item.kind, item.text), [_mark(Kind.PROMPT, prompt) for prompt in item.again]
        if is_listed and at.place < self._before:
            item.time = None  # what only a checkpoint tells of a message stands where that does
        elif self._is_known(*(again if not is_listed else [] if at.rows else [mark])):
            return None
        self._parts[part], self._known[mark] = text, at
        return item

    def _is_known(self, *marks: int) -> bool:
        """Return whether all of this was said before the record, and not taken back: its message is that one now."""
        known = (self._known.get(mark) for mark in marks)
        found = [one for one in known if one is not None and not one.rewound and one.place < self._before]
        if is_known := len(marks) == len(found) > 0:
            self._at = self._named[self._name] = self._list[self._name] = found[-1]
        return is_known

    def _call(self, item: Call) -> Call | Answer | None:
        """Return the new part of a tool use: itself, its result, or None."""
        at, answer, mark = self._at, item.answer, hash(item.use_id)
        if self._is_listed and (at.rows or not self._is_known(mark)):
            kinds = self.session.messages.kind
            if not item.call.get("id") and any(kinds[row] == Kind.TOOL for row in at.rows):
                return None  # one of those that are known, but nothing tells which
            if at.place < self._before:
                item.time = None
        part = hash((self._at.place, item.use_id))
        has_result = self._parts.get(part)
        if has_result or (has_result is not None and answer is None):
            return None
        self._parts[part] = answer is not None
        if answer is None:
            self._waiting[item.use_id] = part
        else:
            self._waiting.pop(item.use_id, None)
        if has_result is not None:
            return answer
        self._known[mark] = self._at
        return item


def _mark(kind: Kind, text: str) -> int:
    """Return a hash of a text. A checkpoint joins the parts of a thought with other white space."""
    return hash((int(kind), " ".join(text[:1000].split()) if kind is Kind.THINKING else text))


class Gemini(google.Tools, Lines):
    """One file a session; subagents in files of their own."""

    id = "gemini"
    name = "Gemini CLI"
    verified = "genuine sessions of 0.10, 0.22, 0.40 and 0.61, a real `.json` session; older logs on made-up files"
    counting = (
        "Gemini CLI writes a message again when it knows more of it: its last figures count, once. Its input "
        "includes what came from the cache, which is taken apart here; thinking is added to the output, tool "
        "prompts to the input."
    )
    uncounted: ClassVar[Mapping[str, str]] = {
        "gemini": "an earlier version of a message that was written again",
        "result": "a sum of responses, which are counted one by one",
    }
    formats = (
        Format("Gemini CLI session, JSON lines", "a record with sessionId and projectHash, $set, or the type gemini"),
        Format("Gemini CLI session before 2026-04, one JSON document", "an object with sessionId and messages"),
        Format("Gemini CLI saved chat (/chat save)", "a list of contents with role and parts, or history with one"),
        Format("Gemini CLI prompt log, logs.json", "a list of objects with sessionId, messageId and message"),
    )
    homes = (Home("$GEMINI_CLI_HOME/.gemini/tmp", "GEMINI_CLI_HOME"), Home(".gemini/tmp"))
    published = Published(
        names=("gemini-cli",),
        source="gemini-cli",
        categories=categories(
            file_read="read_file read_many_files list_directory get_internal_docs read_mcp_resource",
            file_write="write_file replace edit",
            file_search="glob grep_search search_file_content",
            shell="run_shell_command",
            network="web_fetch google_web_search",
            delegation="task activate_skill",
        ),
        figures={
            "context": "inputTokens", "cache_read": "cachedTokens", "spoken": "outputTokens",
            "reasoning": "thoughtTokens",
        },
        inclusive=True,
        slug="gemini-session",
    )  # fmt: skip
    history = Log
    copies = False  # a record that is written again may bring back what was taken back
    marks = (b'"sessionId"', b'"gemini"', b'"$set"', b'"$rewindTo"', b'"parts"')
    uuids = True
    resume = ("gemini", "--resume")
    running = Running(headless=r" (?:-p|--prompt)(?: |$)", late=True, draws=True)

    def retention(self, env: Environment) -> Retention:
        """The rule of present versions, whatever the settings say."""
        source = "default of present versions; general.sessionRetention in settings.json changes it"
        return Retention("deletes sessions after 30 days", source)

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions below a location, each once; subagents lie deeper and are left out. Saved chats and prompt logs
        are opened when asked for, not listed.

        An upgrade copied the folder named by a hash to one named by a slug, and a session that goes on after an upgrade
        lies beside its older self (`.json`, then `.jsonl`): the slug's and the newer form is the session. Resumed in a
        later minute it goes on in its file, and leaves a second one with nothing but its context (found-…, G4).
        """
        best: dict[str, tuple[tuple[bool, bool, int], SessionFile]] = {}
        for path, stat in matching(location.path, "*/chats/session-*", problems):
            if match := _SESSION.fullmatch(os.path.basename(path)):
                project = os.path.basename(os.path.dirname(os.path.dirname(path)))
                rank = match[3] == "jsonl", not re.fullmatch(r"[0-9a-f]{64}", project), stat.st_mtime_ns
                file = SessionFile(self.id, path, match[2] or match[1], stat.st_size, stat.st_mtime_ns)
                best[match[1]] = max(best.get(match[1], (rank, file)), (rank, file))
        found = [file for _, file in best.values()]
        largest = {file.id: file.size for file in sorted(found, key=lambda file: file.size)}
        yield from (file for file in found if file.size == largest[file.id] or not _is_left_over(file))

    def detect(self, head: Head) -> bool:
        """Return whether a file is a session in either form, a saved chat or a prompt log."""
        return bool(records_of(head.document)) or any(
            is_header(record)
            or (record.get("type") == "gemini" and isinstance(record.get("id"), str))
            or record.keys() in ({"$set"}, {"$rewindTo"})
            for record in head.records
        )

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session. Raises OSError, also for a document that is only half-written."""
        from schemas.reading import DocumentReading, LinesReading, open_file

        store = open_file(path)
        header = read_record(first := store.first_line())
        # A log's header is a record of its own, and may hold messages.
        if not header or saved(header) or ("messages" in header and path.suffix != ".jsonl"):
            document = read_document(store.read(0, store.stat().st_size))
            if records_of(document):
                store.close()
                make = partial(self._of, path, document)
                return DocumentReading(path, make, records_of, lambda value: bool(records_of(value)))
        reading = LinesReading(store, self.reader(path), start)
        if start and is_header(header):
            # So that a big file's end has its name, its id and its project too.
            reading.parser.feed([(0, len(first), 1, header)])
        return reading

    def reader(self, path: Path, name: str = "") -> Reader:
        """A reader for a new session; a subagent's file lies in a folder that is called as the session it is of."""
        reader = super().reader(path, name)
        folder = path.absolute().parent
        if folder.parent.name == "chats":
            reader.facts.learn(Fact(parent=folder.name, agent_id=reader.session.id))
        reader.facts.learn(Fact(workspace_root=project_root(path)))
        return reader

    def _of(self, path: Path, document: Any) -> Reader:
        """A reader for a document of this kind."""
        from schemas.session import Lack

        reader = self.reader(path)
        if is_log(document):
            reader.session.lacks = frozenset({Lack.TOKENS, Lack.THINKING, Lack.RESULTS})
        elif saved(document):
            reader.session.lacks = frozenset({Lack.TIMES, Lack.TOKENS})
            if match := re.fullmatch(r"checkpoint-(.+)\.json", path.name):
                reader.facts.learn(Fact(tag=unquote(match[1])))
                reader.facts.title(Title(unquote(match[1]), rank=-1))
        return reader

    def stamps(self, session: Session) -> object:
        return [(str(folder), state_of(folder)) for folder in _folders(session)]

    def beside(self, session: Session) -> Iterable[Item]:
        """The files of subagents: `chats/<session id>/<subagent id>.jsonl` (formats note 1.4)."""
        found: dict[str, Path] = {}
        for folder in _folders(session):
            for name, _ in islice(matching(folder, "*.json*", [], is_root=False), _MOST_ENTRIES):
                if (path := Path(name)).suffix in (".json", ".jsonl") and path != session.path.absolute():
                    found[path.stem] = path  # the log comes after the document
        for name, path in found.items():
            yield Child(one_line(name, 100), path)

    def type(self, record: Data) -> str:
        if "$rewindTo" in record:
            return "$rewindTo"
        if meta_of(record) is not None:
            return "$set" if "$set" in record else "header"
        return "tool response" if content_of(record.get("content")).responses else "message with nothing new"

    def time(self, record: Data) -> float | None:
        """Return the time at which a message was written, or the session begun or changed."""
        if "timestamp" in record:
            return when(record["timestamp"])
        meta = meta_of(record) or {}
        return when(meta.get("lastUpdated" if "$set" in record else "startTime"))

    def facts(self, record: Data) -> Data:
        """Return the id of the session to which a prompt of the prompt log belongs."""
        return {"sessionId": name} if "id" in record and (name := text_of(record.get("sessionId"))) else {}

    def read(self, record: Data) -> Iterable[Any]:
        """Read the items of a record, in the CLI's order of classification (note 1.3)."""
        if isinstance(record.get("$rewindTo"), str):
            return ()
        return _read_message(record) if (meta := meta_of(record)) is None else _read_meta(meta)

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use, and what the CLI's screen showed where the model got less."""
        call = use.call if isinstance(use, Call) else {}
        if isinstance(answer, Reply):
            answer = _answer_in(answer, use.use_id)
        answer = answer or google.answer_of("", use.name, None, call.get("resultDisplay"), call.get("status"))
        tool, facts = super().tool(use, answer, path)
        tool.use_id = clean(text_of(call.get("id")))
        tool.spilled = tool.text.startswith("<tool_output_masked>")  # which the CLI took out of the model's context
        if about := one_line(text_of(call.get("description")), 300):
            # The program makes it of the input, or takes the words that describe the tool to the model.
            if tool.type in ("generic", "unknown"):
                tool.summary = about
            else:
                facts["description"] = about
        shown = clean(google.display_text(answer.details.display)).strip()
        if shown and "".join(shown.split()) not in "".join(tool.text.split()):
            facts["display"] = shown
        return tool, facts


def _folders(session: Session) -> list[Path]:
    """Return the folders of subagents: below the chats, by the session's id. A subagent's own lie beside its folder."""
    name, folder = re.sub(r"[^A-Za-z0-9_-]", "_", session.id), session.path.absolute().parent
    return [base / name for base in (folder, folder.parent) if name and (base == folder or base.name == "chats")]


def _is_left_over(file: SessionFile) -> bool:
    """Return whether a log holds a header and context, and no message: all its records update something else."""
    return file.size <= 1 << 20 and all(
        ("sessionId" in one and "messages" not in one) or "$set" in one
        for one in map(read_record, bytes_in(file.path).splitlines())
    )


def project_root(path: Path) -> str:
    """The project's directory: by the `.project_root` beside the session, else by the folder's name, a slug in
    projects.json or a known directory's hash. Empty where nobody tells.
    """
    parents = list(path.absolute().parents)
    folder = next((parent.parent for parent in parents[:2] if parent.name == "chats"), parents[0])
    if (root := _read_root(folder)) or folder.parent.name != "tmp":
        return root
    home = folder.parent.parent
    stamp = tuple(state_of(home / name) for name in ("projects.json", "trustedFolders.json", "tmp", "history"))
    return _known(home, stamp).get(folder.name, "")


def _read_root(folder: Path) -> str:
    return clean(bytes_in(folder / ".project_root", _LONGEST).decode("utf-8", "replace")).strip()


@lru_cache(maxsize=8)
def _known(home: Path, stamp: tuple[tuple[int, int], ...]) -> dict[str, str]:
    """Directories by their slugs and their hashes; `stamp` tells when they must be looked up again."""
    from hashlib import sha256  # brings OpenSSL, for which most sessions need not wait

    listed = dict_of(object_in(home / "projects.json").get("projects"))
    folders = (entry.path for base in ("tmp", "history") for entry in entries_of(home / base, [])[:_MOST_ENTRIES])
    roots = filter(None, (_read_root(Path(folder)) for folder in folders))
    known = (*listed, *object_in(home / "trustedFolders.json"), *roots)
    hashes = {sha256(path.encode("utf-8", "surrogatepass")).hexdigest(): clean(path) for path in known}
    return hashes | {text_of(slug): clean(path) for path, slug in listed.items()}


def is_header(value: Any) -> bool:
    """Return whether a value is the header of a log, with which an older document begins too."""
    given = dict_of(value)
    return isinstance(given.get("sessionId"), str) and isinstance(given.get("projectHash"), str)


def saved(value: Any) -> list[Data]:
    """The contents of a saved chat (`/chat save`), or of a restore point; empty if it is none."""
    if isinstance(value, dict):
        return saved(value.get("clientHistory")) or saved(value.get("history"))
    contents = list_of(value)
    looks = all(c.get("role") in ("user", "model") and isinstance(c.get("parts"), list) for c in map(dict_of, contents))
    return contents if looks else []


def is_log(value: Any) -> bool:
    """Return whether a document is a prompt log, `logs.json`."""
    return bool(items := list_of(value)) and all(
        "messageId" in item and isinstance(item.get("sessionId"), str) and isinstance(item.get("message"), str)
        for item in map(dict_of, items)
    )


def meta_of(record: Data) -> Data | None:
    """Return the part of a record about the session: a header, or a change of one; None for a message."""
    if isinstance(record.get("id"), str):
        return None
    if isinstance(changed := record.get("$set"), dict):
        return changed
    return record if is_header(record) else None


def records_of(value: Any) -> list[Data]:
    """The records of a log that a document stands for; none for a document that is no session of Gemini CLI."""
    if contents := saved(value):
        return [
            {"id": f"m{number}", "type": "user" if one.get("role") == "user" else "gemini", "content": one.get("parts")}
            for number, one in enumerate(contents)
        ]
    if is_log(value):  # whose own numbers begin anew with every session
        return [
            {**one, "type": "user", "id": f"{one['sessionId']}.{one['messageId']}.{number}", "content": one["message"]}
            for number, one in enumerate(value)
        ]
    if not is_header(value):
        return []
    header = {key: item for key, item in value.items() if key not in ("messages", "id", "$set", "$rewindTo")}
    return [header, *messages_of(value)]


def messages_of(value: Data) -> list[Data]:
    """The messages in a document, or in a change of a log."""
    return [item if isinstance(item, dict) else {"value": item} for item in list_of(value.get("messages"))]


def _read_meta(meta: Data) -> Iterator[Any]:
    """Read a header, or a change of one: the facts of the session as a whole, and the messages that it lists."""
    if name := text_of(meta.get("sessionId")):
        yield Fact(id=name, agent_id=name if meta.get("kind") == "subagent" else "")
    if "startTime" in meta or "projectHash" in meta:
        yield Fact(projectHash=text_of(meta.get("projectHash")), kind=text_of(meta.get("kind")))
        yield Fact(updated=when(meta.get("lastUpdated")))
    if folders := texts_of(meta.get("directories")):
        # A subagent's are its workspace, a session's are further folders (note 1.1).
        yield Fact(directories=folders, workspace_root=folders[0] if meta.get("kind") == "subagent" else "")
    if "summary" in meta:
        yield Title(summary_title(meta["summary"]))
    for value in messages_of(meta):
        time = when(value.get("timestamp"))
        yield Held(Kind.NOTE, id=text_of(value.get("id")))
        for item in _read_message(value):
            if isinstance(item, Say):
                item.time = time if item.time is None else item.time
                if item.kind is Kind.UNKNOWN:  # the record says more than it
                    item.text = as_json(value, indent=True)
            yield item


def summary_title(summary: object) -> str:
    """A summary as a title; empty if it is none. In JSON, as a subagent's answer is, it is the first text in it."""
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


def _read_message(value: Data) -> Iterable[Any]:
    """Read the items of a message (note 1.4 and 1.6)."""
    kind, content = text_of(value.get("type")), value.get("content")
    if kind == "gemini":
        return _read_answer(value, content)
    if kind == "user":
        # Results in a record of their own mostly all stand with their uses too (note 1.6).
        alone = not isinstance(content, str) and not parts_of(value.get("displayContent"))
        found = content_of(content).responses if alone else []
        replies = [Reply(text_of(one[0]["functionResponse"].get("id")), details=one) for one in found]
        return replies or _read_user(value, content)
    if kind in _NOTICES:
        return _read_notice(value, kind, content_of(content).text)
    return [Said(Kind.UNKNOWN, label=one_line(kind, 60) or "(no type)")]


def _answer_in(reply: Reply, use_id: str) -> Answer:
    return google.answer_of(use_id, text_of(reply.details[0]["functionResponse"].get("name")), reply.details)


def _read_notice(value: Data, kind: str, text: str) -> Iterator[Said]:
    line = clean(text).strip()
    if not line:
        return
    what, label = _NOTICES[kind]
    if what is Kind.NOTE and "\n" not in line:
        label = one_line(f"{label}: {line}" if label else line, 300)
        text = "" if len(line) < 200 else text
    what = Kind.INTERRUPT if kind == "info" and line == "Request cancelled." else what
    yield Said(what, text, label, id=text_of(value.get("id")))


def _read_user(value: Data, content: object) -> list[Said]:
    """Read a message under the user's name: the typed text, and the texts that were put beside it."""
    name, found = text_of(value.get("id")), list[Said]()
    parts, shown = parts_of(content), content_of(value.get("displayContent"))
    labels = [google.context_label(text_of(part.get("text"))) for part in parts]
    beside = [(part["text"], label) for part, label in zip(parts, labels, strict=True) if label]
    typed = content_of([part for part, label in zip(parts, labels, strict=True) if not label])
    is_shown = bool(shown.text.strip() or shown.media)
    text, media = (shown.text, shown.media) if is_shown else (typed.text, typed.media)
    if text.strip() or media:
        start, sent = text.lstrip()[:2], content_of(content).text if is_shown else text
        command = start[:1] in ("/", "?") and start not in ("//", "/*")
        again = tuple(typed.texts) if beside and not (is_shown or command or media) else ()
        kind, extra = Kind.COMMAND if command else Kind.PROMPT, {"sentToModel": sent} if sent != text else None
        found.append(Said(kind, text, one_line(text) if command else "", images=media, extra=extra, again=again))
    for text, label in beside:
        if label == google.SUMMARY:
            found.append(Said(Kind.COMPACTION, google.snapshot_text(text), "Compacted"))
        else:
            found.append(Said(Kind.CONTEXT, text, label))
    for number, said in enumerate(found):
        said.id = f"{name}:{number}" if name and number else name
    return found


def _read_answer(value: Data, content: object) -> list[Any]:
    """Read a message of the model: thinking, text, tool uses, and the tokens of the call."""
    name, tokens, model = text_of(value.get("id")), dict_of(value.get("tokens")), text_of(value.get("model"))
    items, thoughts, said = list[Say](), list_of(value.get("thoughts")), content_of(content)
    # Those in its content count only where there are no others (note 1.4).
    if texts := [*filter(None, map(_thought, thoughts))] or [*filter(None, said.thoughts)]:
        begun = when(next(filter(None, map(dict_of, thoughts)), {}).get("timestamp"))
        of = f"{name}:thinking" if name else ""
        items.append(Said(Kind.THINKING, "\n\n".join(texts), "", model, of, time=begun))
    if ((text := said.text) and not text.isspace()) or said.media:
        items.append(Said(Kind.TEXT, text, "", model, name, images=said.media))
        if not isinstance(content, str) and not tokens and _ACKNOWLEDGEMENT.fullmatch(text):
            items[-1].kind, items[-1].label = Kind.CONTEXT, "Said by the program for the model"
    if said.calls or value.get("toolCalls"):
        calls = [call for call in list_of(value.get("toolCalls")) if isinstance(call, dict)]
        known = {text_of(call.get("id")) for call in calls}
        # Those in its content count where no record of them is told; one without an id is told from these by nothing.
        calls += [one for one in said.calls if (one["id"] not in known if text_of(one.get("id")) else not calls)]
        tags = [text_of(call.get("id")) for call in calls]
        for number, (call, tag) in enumerate(zip(calls, tags, strict=True)):
            # A name by which it is known again: its id, or its place among those without.
            items.append(_read_call(call, tag if tag and tag not in tags[:number] else f"#{number}", name, model))
    if not tokens:
        return items
    if items and (told := overlapping({key: tokens.get(key) for key in _COUNTS})):
        items[-1].extra = {"tokens": told}  # the program's own figures where turnlog's do not tell them
    usage = google.normalised(*map(tokens.get, _COUNTS))
    return items if usage is None else [*items, Spent(usage, name, model)]


def _read_call(call: Data, tag: str, message: str, model: str) -> Call:
    """A tool use, and its result where it has one."""
    name, asked = text_of(call.get("name")), dict_of(call.get("args"))
    use_id = text_of(call.get("id")) or f"{message}:{tag}"
    of, time = f"{message}:{tag}" if message else "", when(call.get("timestamp"))
    use = Call(name=name, use_id=use_id, input=asked, model=model, id=of, time=time, call=call)
    if agent := text_of(call.get("agentId")):
        shown = dict_of(call.get("resultDisplay"))
        called = (shown.get("agentName"), asked.get("agent_name"), asked.get("agentName"), name)
        use.subagent = one_line(agent, 100)
        use.task = Task(next(filter(None, map(text_of, called)), ""), text_of(call.get("description")))
    if call.get("status") in ("success", "error", "cancelled") or parts_of(call.get("result")):
        use.answer = google.answer_of(use_id, name, call.get("result"), call.get("resultDisplay"), call.get("status"))
    return use


def _thought(item: object) -> str:
    if not isinstance(item, dict):
        return text_of(item)
    subject, description = text_of(item.get("subject")).strip(), text_of(item.get("description"))
    return f"**{subject}**\n\n{description}".strip() if subject else description


PROVIDER = Gemini()

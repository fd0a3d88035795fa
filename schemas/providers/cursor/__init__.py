"""Cursor CLI: a database of blobs a chat, and transcripts of it (formats/gemini-qwen-cursor.md 3).

A session is read from its store where it has one, else from its transcript: that has neither results nor thinking, and
of times only those of prompts.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from glob import escape
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from schemas.clean import as_json, one_line
from schemas.folders import bytes_in, entries_of, matching, object_in, state_of
from schemas.message import Flag, Kind, Lack
from schemas.provider import HEAD_BYTES, Environment, Format, Head, Location, Problem, Reading, SessionFile, moved_home
from schemas.providers.cursor import store
from schemas.providers.cursor.store import OURS, is_summary, is_text, options, parts_of, prompt_in, words_of
from schemas.providers.cursor.tools import PUBLISHED, Call, Tools, answer_of, call_of, is_error, is_image, picture
from schemas.providers.kit.bases import Data, Home, Lines
from schemas.providers.kit.history import History, Placed, as_word
from schemas.providers.kit.words import Answer, Child, Fact, Held, Item, Say, Skip, Task, Title, Turn, Use
from schemas.records import JsonLines, Record
from schemas.running import Running
from schemas.values import dict_of, list_of, number, text_of, texts_of

if TYPE_CHECKING:
    from schemas.providers.kit.reader import Reader
    from schemas.session import Session

_TRANSCRIPTS = "agent-transcripts"
# What other agents put beside role and message, or into the message, as the role too: an id, a time, a model.
_FOREIGN = frozenset({"type", "id", "uuid", "parentUuid", "sessionId", "session_id", "timestamp", "model", "usage"})
_REDACTED = "[REDACTED]"
_STOPPED = re.compile(r"abort|interrupt|cancel", re.IGNORECASE)
_THOUGHTS = frozenset({"reasoning", "thinking"})
_SEALED = frozenset({"redacted-reasoning", "redacted"})
_RESULTS = frozenset({"tool-result", "tool_result", "command_output"})


class Reply(Answer):
    """The result of the first use with that id, or without one, that has none."""


class Pairs(History):
    """The policy that pairs results with uses, and gives a transcript's lines the time of the prompt before them."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._waiting: dict[str, deque[str]] = defaultdict(deque)
        """The names of uses without a result, by the ids that the source gives them."""
        self._answered: dict[str, str] = {}
        self._running: list[str] = []
        self._told = False
        self._time: float | None = None
        self._line = False

    def enter(self, record: Record, time: float | None) -> bool:
        self._line = OURS not in record[3]
        if not self._line:  # a store, which tells all that it has
            self.session.lacks &= {Lack.TOKENS, Lack.TIMES}
        return True

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        match item:
            case Call():
                name = f"{item.use_id}@{record[0]}:{number}"  # ids may be missing, or used again
                if item.answer is None:
                    self._waiting[item.use_id].append(name)
                    self._running.append(name)
                else:
                    self.session.lacks -= {Lack.RESULTS}
                yield record, number, as_word(item, Use, use_id=name)
            case Reply():
                self._told = True
                name = item.use_id and self._answered.get(item.use_id, item.use_id)
                if waiting := self._waiting.get(item.use_id):
                    name = self._answered[item.use_id] = waiting.popleft()
                yield record, number, as_word(item, Answer, use_id=name)
            case Held():  # something follows the uses of the line before: they are over, whatever is told of them
                running, self._running = self._running, []
                for name in [] if self._told else running:
                    yield record, number, Answer(name, None)

    def own(self, row: int, kind: int) -> None:
        messages = self.session.messages
        if kind == Kind.PROMPT:
            self._waiting.pop("", None)
            self._time = messages.when(row)
        if self._line and self._time is not None:
            # Exact to the minute, and the same for all of an exchange: that says nothing of how long it took.
            messages.time[row] = self._time
            self.session.exchanges[-1].ended = None


class Cursor(Tools, Lines):
    """Cursor's program in the terminal, and the editor's agent where it writes transcripts."""

    id = "cursor"
    name = "Cursor CLI"
    verified = "real transcripts of 2026; stores on the format's description and made-up ones"
    counting = "Cursor records no tokens, only how full the context is."
    formats = (
        Format(
            "Cursor CLI store, a SQLite database",
            "tables blobs (id, data) and meta (key, value), blobs by their SHA-256 or Cursor's row in meta",
        ),
        Format("Cursor transcript, JSON lines", "a record with role and message, and no type, id or time"),
        Format("Cursor transcript before 2026, text", "lines `user:` and `assistant:`, tools as `[Tool call] NAME`"),
    )
    homes = (  # upgrades leave the old folders behind
        Home("$CURSOR_CONFIG_DIR", "CURSOR_CONFIG_DIR"),
        Home(".cursor"),
        Home("$XDG_CONFIG_HOME/cursor", "XDG_CONFIG_HOME"),
        Home(".config/cursor", "default since 2026"),
        Home(".cursor-server", "default on remote hosts"),
    )
    marks = (b"SQLite format 3", b'"role"', b'"turn_ended"', b"user:", b"assistant:", b"A:")
    resume = ("cursor-agent", "--resume")
    running = Running(questions=("AskQuestion", "ask_question"), plans=("CreatePlan", "create_plan"))
    uuids = True
    lacks = frozenset(Lack)
    published = PUBLISHED
    history = Pairs
    copies = False  # a blob is named by what it holds, so that a prompt typed twice is one

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions in a folder of Cursor, each once: its newest store, or else its newest transcript."""
        found, hidden = defaultdict[str, list[SessionFile]](list), set[str]()
        for path, stat in matching(location.path / "chats", "*/*/store.db", problems):
            chat = os.path.dirname(path)
            name = os.path.basename(chat)
            if object_in(Path(chat, "meta.json")).get("isSubagent") is True:
                hidden.add(name)
            elif stat.st_size:  # else it was begun, but nothing was written yet
                time, size = state_of(f"{path}-wal")
                file = SessionFile(self.id, path, name, stat.st_size + size, max(stat.st_mtime_ns, time))
                found[name].append(file)
        for name, path, stat in _transcripts(location.path, "*", problems):
            found[name].append(SessionFile(self.id, path, name, stat.st_size, stat.st_mtime_ns))
        for name, files in found.items():
            if name not in hidden:
                yield max(files, key=lambda f: (f.file.endswith(".db"), f.mtime_ns, f.file.endswith(".jsonl")))

    def detect(self, head: Head) -> bool:
        """Return whether a file is a store or a transcript: of lines, one that only Cursor writes is enough."""
        return any(map(_is_line, head.records)) or store.is_store(head) or is_text(head.data)

    def id_of(self, path: Path) -> str:
        """The name of a store's folder; a transcript, and a lone database, goes by its own."""
        return path.absolute().parent.name if path.name == "store.db" else path.stem

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """CURSOR_CONFIG_DIR, where the session lies in none of the folders that Cursor looks into."""
        return moved_home("CURSOR_CONFIG_DIR", root_of(path), [place.path for place in self.locations(env)])

    def reader(self, path: Path, name: str = "") -> Reader:
        """A reader; a transcript among those of subagents is one of the session whose folder that is."""
        reader = super().reader(path, name)
        if path.parent.name == "subagents":
            reader.facts.learn(Fact(parent=path.parent.parent.name, agent_id=reader.session.id))
        return reader

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session: lines as they come; a store or a text whole, and whole again when it was written."""
        from schemas.providers.kit.files import Found
        from schemas.providers.kit.gathered import Gathered
        from schemas.reading import open_file
        from schemas.sqlite import MAGIC, log_of, read_database

        def text() -> Found:
            data = path.read_bytes()
            return Found(store.text_records(data), len(data))

        def blobs() -> Found:
            beside = object_in(path.with_name("meta.json"))
            return Found(read_database(path, lambda database: list(store.read_store(database, beside))), 0)

        file = open_file(path)
        data = file.read(0, HEAD_BYTES)
        file.close()
        make = partial(self.reader, path)
        if data.startswith(MAGIC):
            return Gathered(path, make, blobs, lambda: [path, log_of(path), path.with_name("meta.json")])
        if is_text(data) or (path.suffix == ".txt" and not data):
            return Gathered(path, make, text, lambda: [path])
        return super().open(path, start=start)

    def read(self, record: Data) -> Iterator[Item]:
        ours, role = record.get(OURS), record.get("role")
        message = record.get("message", record if "content" in record else None)
        if isinstance(ours, dict) and "role" not in record:
            yield from _remark(record, ours)
        elif record.get("type") == "turn_ended" and "role" not in record:
            ends = list(_end(record))
            yield from ends if len(ends) > 1 else [*ends, Skip("turn_ended")]
        elif role == "system" and ours:
            yield Skip("system prompt")
        elif role not in ("user", "assistant", "tool") or not isinstance(message, dict):
            yield Say(Kind.UNKNOWN, label=text_of(role) or text_of(record.get("type")) or "(no type)")
        else:
            facts, parts = dict_of(ours), parts_of(message.get("content"))
            kinds = [dict_of(part).get("type") for part in parts]
            if not isinstance(ours, dict) and any(kind not in (*_RESULTS, "turn_ended") for kind in kinds):
                yield Held(Kind.NOTE)
            if role == "user":
                yield from _user(record, parts, number(facts.get("time")))
                return
            times = dict_of(facts.get("times"))
            model = next(filter(None, (text_of(options(dict_of(one)).get("modelName")) for one in parts)), "")
            for at, part in enumerate(parts):
                yield from _part(record, part, model, number(times.get(str(at))))

    def type(self, record: Data) -> str:
        """A message goes by its role."""
        return text_of(record.get("type")) or f"{text_of(record.get('role')) or 'record'} without content"

    def name_of(self, record: Data) -> str:
        """The message's own id, or that of its blob; lines have none."""
        return text_of(record.get("id")) or text_of(dict_of(record.get(OURS)).get("blob"))

    def setting(self, record: Data) -> Fact:
        """The workspace: by the file beside a store, by its root, or as the environment message says it."""
        ours, message = dict_of(record.get(OURS)), record.get("message", record)
        if "beside" in ours:
            paths = map(path_in, reversed(texts_of(ours.get("workspaces"))))
            named = text_of(dict_of(ours["beside"]).get("cwd"))
            return Fact(workspace_root=named or next(filter(None, paths), ""))
        parts = parts_of(dict_of(message).get("content")) if record.get("role") == "user" else []
        return Fact(workspace_root=next(filter(None, (store.workspace_of(words_of(one) or "") for one in parts)), ""))

    def stamps(self, session: Session) -> object:
        return list(map(state_of, subagents_of(session.path)))

    def beside(self, session: Session) -> Iterable[Item]:
        """The session's workspace where it says none, other transcripts of its id, and its subagents."""
        root, name = root_of(session.path), escape(session.id)
        all_ = _transcripts(root, name, []) if root is not None and name else ()  # perhaps under several projects
        found = [Path(path) for _, path in sorted(((stat.st_mtime_ns, path) for _, path, stat in all_), reverse=True)]
        mine = [] if session.path.name == "store.db" else [session.path]
        transcripts = [*mine, *(path for path in found if path not in mine)]
        if not session.workspace_root:
            yield Fact(workspace_root=workspace_by_name(session.path, transcripts))
        yield Fact(otherTranscripts=[str(path) for path in transcripts[1:]])
        for path in subagents_of(transcripts[0])[:2000] if transcripts else ():
            # The task of a subagent is the text of its first line, whoever it is said to come from.
            records = JsonLines().push(bytes_in(path, 256 << 10))
            prompts = (prompt_in(dict_of(record[3].get("message"))) for record in records)
            if prompt := next(filter(None, prompts), ""):  # else nothing is written yet
                yield Child(path.stem, path, task=Task("", prompt, prompt))


def _is_line(record: Data) -> bool:
    """Return whether a record is a transcript's: a nameless message with a role and content, or a turn's end."""
    message = dict_of(record.get("message"))
    if record.get("type") == "turn_ended":
        return isinstance(record.get("status"), str) and record.keys() <= {"type", "status", "error"}
    return (
        record.get("role") in ("user", "assistant")
        and isinstance(message.get("content"), str | list)
        and _FOREIGN.isdisjoint(record)
        and (_FOREIGN | {"role"}).isdisjoint(message)
    )


def _transcripts(root: Path, name: str, problems: list[Problem]) -> Iterator[tuple[str, str, os.stat_result]]:
    """The transcripts whose ids fit a pattern: each in its project's folder of them, or in one of its own there."""
    for pattern in (f"*/{_TRANSCRIPTS}/{name}.*", f"*/{_TRANSCRIPTS}/{name}/{name}.*"):
        for path, stat in matching(root / "projects", pattern, problems):
            folder, stem = os.path.dirname(path), Path(path).stem
            if stat.st_size and path.endswith((".jsonl", ".txt")) and os.path.basename(folder) in (stem, _TRANSCRIPTS):
                yield stem, path, stat


def root_of(path: Path) -> Path | None:
    """The Cursor folder in whose `chats` or `projects` a file lies."""
    parents = path.absolute().parents
    if len(parents) > 3 and parents[2].name == "chats":
        return parents[3]
    projects = (parent.parents[1] for parent in parents if parent.name == _TRANSCRIPTS)
    return next((folder.parent for folder in projects if folder.name == "projects"), None)


def subagents_of(transcript: Path) -> list[Path]:
    """The transcripts of the runs that a session's tool uses started."""
    folder = transcript.parent if transcript.parent.name == transcript.stem else transcript.with_suffix("")
    return [Path(path) for path, _ in matching(folder / "subagents", "*.jsonl", [], is_root=False)]


def workspace_by_name(path: Path, transcripts: Iterable[Path]) -> str:
    """The directory that a chat's folder is named after, by its MD5, or a project's, by its path with `-` for all but
    letters and digits. Empty where none is known.
    """
    if path.name == "store.db":
        workspace = path.absolute().parents[1]
        for entry in entries_of(workspace, []):
            known = text_of(object_in(Path(entry.path, "meta.json")).get("cwd"))
            if md5(known.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest() == workspace.name:
                return known
    parents = (parent for one in transcripts for parent in one.absolute().parents)
    return resolve_slug(next((parent.parent.name for parent in parents if parent.name == _TRANSCRIPTS), ""))


def path_in(uri: str) -> str:
    """The path in a `file:` URI; empty for any other."""
    return re.sub(r"^/(?=[A-Za-z]:)", "", unquote(uri[7:])) if uri.startswith("file:///") else ""


@lru_cache(maxsize=512)
def resolve_slug(slug: str) -> str:
    """The directory on this machine that has the slug, the longest names tried first; the slug where there is none."""
    waiting = [(f"{slug[:1]}:\\", slug[1:].lstrip("-")) if os.name == "nt" else ("/", slug)] if slug else []
    for _ in range(400):  # so many directories are looked into
        folder, rest = waiting.pop() if waiting else ("", "")
        if not rest:
            return folder or slug
        names: list[str] = []
        with suppress(OSError):
            names = os.listdir(folder)
        # A hidden directory's dot is a dash of its own behind that of the slash.
        slugs = ((os.path.join(folder, name), re.sub(r"[^A-Za-z0-9]", "-", name)) for name in names)
        fitting = [(-len(own), path) for path, own in slugs if f"{rest}-".startswith(f"{own}-") and os.path.isdir(path)]
        waiting += ((path, rest[1 - size :]) for size, path in sorted(fitting, reverse=True))
    return slug


def _remark(record: Data, ours: Data) -> Iterator[Item]:
    """Read a record of `read_store` about a store, or about something that is no message."""
    if isinstance(meta := ours.get("store"), dict):
        beside = dict_of(ours.get("beside"))
        yield Fact(
            created=_seconds(meta.get("createdAt")) or _seconds(beside.get("createdAtMs")),
            updated=_seconds(beside.get("updatedAtMs")), model=text_of(meta.get("lastUsedModel")),
            mode=text_of(meta.get("mode")), context_used=ours.get("used"), context_window=ours.get("window"),
        )  # fmt: skip
        for rank, title in ((2, text_of(meta.get("name"))), (3, text_of(beside.get("title")))):
            if one_line(title).lower() not in ("", "new agent", "untitled", "new chat"):
                yield Title(title, rank)
        yield Skip("store")
    elif "remark" in ours:
        yield Say(Kind.NOTE, label=text_of(ours["remark"]))
    else:
        text = text_of(ours.get("text")) or as_json({key: record[key] for key in record if key != OURS})
        yield Say(Kind.UNKNOWN, text, "no role" if len(record) > 1 else "no JSON object")


def _seconds(value: object) -> float | None:
    """Milliseconds since 1970, which some versions write as text, as seconds."""
    found = number(int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value)
    return found / 1000 if found is not None and 10**12 <= found < 10**14 else None


def _user(record: Data, parts: list[Any], time: float | None) -> Iterator[Item]:
    """A prompt (at most one), and what was put into the message around it."""
    words = [words_of(part) for part in parts]
    if is_summary(record):
        yield Say(Kind.COMPACTION, "\n\n".join(filter(None, words)), "Compacted")
        return
    found = store.split(text for text in words if text is not None and text.strip() != _REDACTED)
    images = [*found.images, *map(picture, filter(is_image, parts))]
    extra = {"requestId": request} if (request := text_of(options(record).get("requestId"))) else None
    if images or found.prompt is not None:
        yield Say(Kind.PROMPT, found.prompt or "", time=time or found.time, images=images, extra=extra)
    for around, label in found.context:
        yield Say(Kind.CONTEXT, around, label)
    for part, text in zip(parts, words, strict=True):
        if text_of(dict_of(part).get("type")) in _SEALED or (text or "").strip() == _REDACTED:
            # What is kept back here was no thinking, and whether a person wrote it nobody knows.
            yield Say(Kind.CONTEXT, label="Withheld by Cursor")
        elif text is None and not is_image(part):
            yield from _part(record, part, "", None)


def _part(record: Data, part: Any, model: str, time: float | None) -> Iterator[Item]:
    """A content part of an agent's or a tool's message."""
    given, text = dict_of(part), words_of(part)
    model, kind = text_of(options(given).get("modelName")) or model, text_of(given.get("type"))
    if kind in _THOUGHTS or kind in _SEALED:
        thought = text_of(given.get("text")) or text_of(given.get("thinking"))
        text = thought if kind in _THOUGHTS and thought.strip() else _REDACTED
    if text is not None:
        bare = text.rstrip()
        while bare.endswith(_REDACTED):
            bare = bare.removesuffix(_REDACTED).rstrip()
        said = Kind.THINKING if kind in _THOUGHTS else Kind.TEXT
        hidden = len(bare) < len(text.rstrip())
        if bare.strip():
            yield Say(said, bare if hidden else text, model=model, time=time)
        if hidden:
            yield Say(Kind.THINKING, model=model, time=time, flags=Flag.WITHHELD)
    elif kind in ("tool-call", "tool_use"):
        asked = next((given[key] for key in ("args", "input") if given.get(key) is not None), None)
        answer = answer_of(given["result"]) if "result" in given else None
        yield call_of(given.get("toolName", given.get("name")), _id_of(given), asked, answer, model)
    elif kind in _RESULTS:
        # `result`, or the newer `output`; images lie beside it as content parts.
        told = next((given[key] for key in ("result", "output", "content") if given.get(key) is not None), "")
        known = options(record).get("highLevelToolCallResult")
        answer = answer_of(told, known, use_id=_id_of(given), failed=is_error(given))
        more = answer_of(list_of(given.get("experimental_content")))
        answer.text, answer.images = answer.text or more.text, [*answer.images, *more.images]
        yield as_word(answer, Reply)
    elif kind == "turn_ended":
        yield from _end(given)
    elif is_image(given):
        yield Say(Kind.TEXT, images=[picture(given)], model=model)
    else:
        yield Say(Kind.UNKNOWN, as_json(part), f"content {kind}".rstrip())


def _id_of(part: Data) -> str:
    return next((name for key in ("toolCallId", "tool_use_id", "id") if (name := text_of(part.get(key)))), "")


def _end(end: Data) -> Iterator[Item]:
    """The end of a turn: nothing to see when all went well, else an interruption or an error."""
    status, error = (
        value if isinstance(value, str) else "" if value is None else as_json(value)
        for value in (end.get("status"), end.get("error"))
    )
    if _STOPPED.search(status) or _STOPPED.search(error):
        yield Turn(begins=False, failed=True)
        yield Say(Kind.INTERRUPT, error, "Interrupted")
        return
    yield Held(Kind.NOTE)
    if status not in ("success", "") or error:
        said = "" if status == "error" else f": {one_line(status, 60)}"
        yield Say(Kind.ERROR, error, f"The turn ended with an error{said}")


PROVIDER = Cursor()

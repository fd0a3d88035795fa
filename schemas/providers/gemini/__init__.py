"""Gemini CLI: an event log for each session under `~/.gemini/tmp`, and the documents before it (formats note 1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

from schemas.clean import as_json, clean, one_line
from schemas.folders import matching, state_of
from schemas.message import Kind, Tool
from schemas.provider import Format, Head, Location, Problem, Reading, Retention, SessionFile
from schemas.providers._google import (
    SUMMARY,
    Google,
    context_label,
    display_text,
    is_thought,
    make_tool,
    media_in,
    normalised,
    parts_of,
    responses_in,
    said_text,
    snapshot_text,
    tool_type,
)
from schemas.providers.gemini import files
from schemas.providers.gemini.log import Call, Entry, Listed, Log, Reply, Said, Spent
from schemas.providers.gemini.published import PUBLISHED
from schemas.providers.kit.bases import Data, Home
from schemas.providers.kit.words import Answer, Child, Fact, Item, Task, Title, Use
from schemas.records import read_document, read_record
from schemas.usage import overlapping
from schemas.values import dict_of, list_of, text_of, when

if TYPE_CHECKING:
    from schemas.providers.kit.reader import Reader
    from schemas.session import Session

_SAVED = re.compile(r"checkpoint-(.+)\.json")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_MOST_FILES = 5000
_COUNTS = ("input", "output", "cached", "thoughts", "tool")
_SAME = ("id", "type", "timestamp", "content", "thoughts", "model")
_MASKED = "<tool_output_masked>"
"""What a result begins with that the CLI took out of the model's context."""
_ACKNOWLEDGEMENTS = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")
"""What the program lets the model say to the context, or to a summary."""
_NOTICES = {"info": (Kind.NOTE, ""), "warning": (Kind.NOTE, "Warning"), "error": (Kind.ERROR, "Error")}


class Gemini(Google):
    """One file a session; subagents in files of their own."""

    id = "gemini"
    name = "Gemini CLI"
    verified = "genuine sessions of 0.61, a real `.json` session; older logs on made-up files"
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
    published = PUBLISHED
    history = Log
    rewrites = True
    resume = ("gemini", "--resume")
    keeps = Retention(
        "deletes sessions after 30 days",
        "default of present versions; general.sessionRetention in settings.json changes it",
    )

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions, each once; saved chats and prompt logs are opened when asked for, not listed."""
        return files.find(location, problems)

    def told(self, head: Head) -> bool:
        """Whether it is a session in either form, a saved chat or a prompt log, and not an old Qwen Code's."""
        return ".qwen" not in head.path.parts and files.looks_alike(head)

    # -- files -----------------------------------------------------------------------------------------------------

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session. Raises OSError, also for a document that is only half-written."""
        from schemas.reading import DocumentReading, LinesReading, open_file

        store = open_file(path)
        header = read_record(first := store.first_line())
        # A log's header is a record of its own, and may hold messages.
        if not header or files.saved(header) or (files.is_chat(header) and path.suffix != ".jsonl"):
            document = read_document(store.read(0, store.stat().st_size))
            if files.is_document(document):
                store.close()
                return DocumentReading(path, lambda: self._of(path, document), files.items_of, files.is_document)
        reader = self.reader(path)
        reading = LinesReading(store, reader, start)
        if start and files.is_header(header):
            # So that a big file's end has its name, its id and its project too.
            reader.feed([(0, len(first), 1, header)])
        return reading

    def reader(self, path: Path, name: str = "") -> Reader:
        """A reader for a new session; a subagent's file lies in a folder that is called as the session it is of."""
        reader = super().reader(path, name)
        folder = path.absolute().parent
        if folder.parent.name == "chats":
            reader.facts.learn(Fact(parent=folder.name, agent_id=reader.session.id))
        reader.facts.learn(Fact(workspace_root=files.project_root(path)))
        return reader

    def _of(self, path: Path, document: Any) -> Reader:
        """A reader for a document of this kind."""
        from schemas.session import Lack

        reader = self.reader(path)
        if files.is_log(document):
            reader.session.lacks = frozenset({Lack.TOKENS, Lack.THINKING, Lack.RESULTS})
        elif not files.is_chat(document):
            reader.session.lacks = frozenset({Lack.TIMES, Lack.TOKENS})
            if match := _SAVED.fullmatch(path.name):
                reader.facts.learn(Fact(tag=unquote(match[1])))
                reader.facts.title(Title(unquote(match[1]), rank=-1))
        return reader

    def stamps(self, session: Session) -> object:
        """When the folders of subagents changed."""
        return [(str(folder), state_of(folder)) for folder in _folders(session)]

    def beside(self, session: Session) -> Iterable[Item]:
        """The files of subagents: `chats/<session id>/<subagent id>.jsonl` (formats note 1.4)."""
        found: dict[str, Path] = {}
        for folder in _folders(session):
            for name, _ in islice(matching(folder, "*.json*", [], is_root=False), _MOST_FILES):
                if (path := Path(name)).suffix in (".json", ".jsonl") and path != session.path.absolute():
                    found[path.stem] = path  # the log comes after the document
        for name, path in found.items():
            yield Child(one_line(name, 100), path)

    # -- records ---------------------------------------------------------------------------------------------------

    def replaces(self, record: Data, earlier: Data) -> bool | None:
        """Whether an answer is the one before it with figures, or with more tool uses."""
        if record.get("type") != "gemini":
            return None if record.keys() == {"$set"} and "messages" not in dict_of(record["$set"]) else False
        for key in _SAME:
            if earlier.get(key) != record.get(key):
                return False
        before = list_of(earlier.get("toolCalls"))
        return (
            isinstance(record.get("content"), str)
            and earlier.get("tokens") in (None, record.get("tokens"))
            and (not before or list_of(record.get("toolCalls"))[: len(before)] == before)
        )

    def type(self, record: Data) -> str:
        if "$rewindTo" in record:
            return "$rewindTo"
        if not isinstance(record.get("id"), str) and files.meta_of(record) is not None:
            return "$set" if "$set" in record else "header"
        kind = text_of(record.get("type")) or "(no type)"
        if kind == "user" and responses_in(parts_of(record.get("content"))):
            return "tool response"
        return "message with nothing new" if kind in files.TYPES else kind

    def time(self, record: Data) -> float | None:
        """When a message was written, or the session begun or changed."""
        if (stamp := record.get("timestamp")) is not None:
            return when(stamp)
        meta = files.meta_of(record)
        return None if meta is None else when(meta.get("lastUpdated" if "$set" in record else "startTime"))

    def facts(self, record: Data) -> Data:
        """Which session a prompt of the prompt log is of."""
        return {"sessionId": name} if "id" in record and (name := text_of(record.get("sessionId"))) else {}

    def read(self, record: Data) -> Iterable[Any]:
        """What a record holds, in the CLI's order of classification (note 1.3)."""
        if isinstance(record.get("$rewindTo"), str):
            return ()
        if isinstance(record.get("id"), str) or (meta := files.meta_of(record)) is None:
            return _read_message(record)
        return _read_meta(meta)

    # -- tools -----------------------------------------------------------------------------------------------------

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use, and what the CLI's screen showed where the model got less."""
        call = (use.call if isinstance(use, Call) else None) or {}
        given = answer.details if answer is not None else None
        result, display, status = given or (None, call.get("resultDisplay"), call.get("status"))
        use_id = text_of(call.get("id")) if call else use.use_id
        tool = make_tool(use.name, use_id, call.get("args"), result, display, status)
        tool.spilled = tool.text.startswith(_MASKED)
        facts: Data = {}
        if about := one_line(text_of(call.get("description")), 300):
            # The program makes it of the input, or takes the words that describe the tool to the model.
            if tool.type in ("generic", "unknown"):
                tool.summary = about
            else:
                facts["description"] = about
        shown = clean(display_text(display)).strip()
        if shown and "".join(shown.split()) not in "".join(tool.text.split()):
            facts["display"] = shown
        return tool, facts


def _folders(session: Session) -> list[Path]:
    """Where subagents may lie: below the chats, under the session's id. A subagent's own lie beside its folder."""
    name, folder = _UNSAFE.sub("_", session.id), session.path.absolute().parent
    return [base / name for base in (folder, folder.parent) if name and (base == folder or base.name == "chats")]


# -- what records hold -------------------------------------------------------------------------------------------------


def _read_meta(meta: Data) -> Iterator[Any]:
    """What a header, or a change of it, says of the session as a whole, and the messages that it lists."""
    if name := text_of(meta.get("sessionId")):
        yield Fact(id=name, agent_id=name if meta.get("kind") == "subagent" else "")
    if "startTime" in meta or "projectHash" in meta:
        yield Fact(projectHash=text_of(meta.get("projectHash")), kind=text_of(meta.get("kind")))
        yield Fact(updated=when(meta.get("lastUpdated")))
    if folders := [path for path in list_of(meta.get("directories")) if isinstance(path, str)]:
        # A subagent's are its workspace, a session's are further folders (note 1.1).
        yield Fact(directories=folders, workspace_root=folders[0] if meta.get("kind") == "subagent" else "")
    if "summary" in meta:
        yield Title(summary_title(meta["summary"]))
    if isinstance(meta.get("messages"), list):
        messages = files.messages_of(meta)
        yield Listed([name for value in messages if (name := text_of(value.get("id")))])
        for value in messages:
            yield Entry(text_of(value.get("id")))
            known = text_of(value.get("type")) in files.TYPES
            yield from _read_message(value, "" if known else as_json(value, indent=True))


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


def _read_message(value: Data, unknown: str = "") -> Iterable[Any]:
    """What a message holds (note 1.4 and 1.6); `unknown` is its text where it is of no known type."""
    kind, content = value.get("type"), value.get("content")
    if kind == "gemini":
        return _read_answer(value, content)
    if kind == "user":
        # Results in a record of their own mostly all stand with their uses too (note 1.6).
        alone = not isinstance(content, str) and not parts_of(value.get("displayContent"))
        found = responses_in(parts_of(content)) if alone else []
        replies = [Reply(text_of(one[0]["functionResponse"].get("id")), details=(one, None, None)) for one in found]
        return replies or _read_user(value, content)
    if isinstance(kind, str) and kind in _NOTICES:
        return _read_notice(value, kind, said_text(content))
    label = one_line(text_of(kind), 60) or "(no type)"
    return [Said(Kind.UNKNOWN, unknown, label, time=when(value.get("timestamp")))]


def _read_notice(value: Data, kind: str, text: str) -> Iterator[Said]:
    line = clean(text).strip()
    if not line:
        return
    what, label = _NOTICES[kind]
    if what is Kind.NOTE and "\n" not in line:
        label = one_line(f"{label}: {line}" if label else line, 300)
        text = "" if len(line) < 200 else text
    if kind == "info" and line == "Request cancelled.":
        what = Kind.INTERRUPT
    yield Said(what, text, label, id=text_of(value.get("id")), time=when(value.get("timestamp")))


def _read_user(value: Data, content: object) -> Iterator[Said]:
    """What stands under the user's name: what was typed, and what was put beside it."""
    name, time = text_of(value.get("id")), when(value.get("timestamp"))
    parts, shown = parts_of(content), parts_of(value.get("displayContent"))
    labels = ["" if is_thought(part) else context_label(text_of(part.get("text"))) for part in parts]
    beside = [(part["text"], label) for part, label in zip(parts, labels, strict=True) if label]
    typed = [part for part, label in zip(parts, labels, strict=True) if not label]
    if shown and (said_text(shown).strip() or media_in(shown)):
        typed = shown
    text, media = said_text(typed), media_in(typed)
    ids = iter([name, *(name and f"{name}:{number}" for number in range(1, len(beside) + 1))])
    if text.strip() or media:
        start, sent = text.lstrip()[:2], said_text(content) if shown else text
        command = start[:1] in ("/", "?") and start not in ("//", "/*")
        again = tuple(said_text([part]) for part in typed) if beside and not (shown or command or media) else ()
        yield Said(
            Kind.COMMAND if command else Kind.PROMPT, text, one_line(text) if command else "", id=next(ids), time=time,
            images=media, extra={"sentToModel": sent} if sent != text else None, again=again,
        )  # fmt: skip
    for (text, label), of in zip(beside, ids, strict=False):
        if label == SUMMARY:
            yield Said(Kind.COMPACTION, snapshot_text(text), "Compacted", id=of, time=time)
        else:
            yield Said(Kind.CONTEXT, text, label, id=of, time=time)


def _read_answer(value: Data, content: object) -> list[Any]:
    """What the model said: thinking, text, tool uses, and what the call took."""
    name, tokens, model = text_of(value.get("id")), dict_of(value.get("tokens")), text_of(value.get("model"))
    time, items = when(value.get("timestamp")), list[Any]()
    thoughts = list_of(value.get("thoughts"))
    # Those in its content count only where there are no others (note 1.4).
    texts = list(filter(None, map(_thought, thoughts))) or [
        part["text"] for part in parts_of(content) if is_thought(part) and part["text"]
    ]
    if texts:
        begun = when(next(filter(None, map(dict_of, thoughts)), {}).get("timestamp"))
        of = f"{name}:thinking" if name else ""
        items.append(Said(Kind.THINKING, "\n\n".join(texts), "", model, of, time=time if begun is None else begun))
    text, media = said_text(content), media_in(content)
    if media or (text and not text.isspace()):
        said = Said(Kind.TEXT, text, "", model, name, images=media, time=time)
        if not isinstance(content, str) and not tokens and text.strip() in _ACKNOWLEDGEMENTS:
            said.kind, said.label = Kind.CONTEXT, "Said by the program for the model"
        items.append(said)
    if not isinstance(content, str) or value.get("toolCalls"):
        calls = _calls_of(value, content)
        tags = [text_of(call.get("id")) for call in calls]
        for number, (call, tag) in enumerate(zip(calls, tags, strict=True)):
            # A name by which it is known again: its id, or its place among those without.
            known = tag and tag not in tags[:number]
            items.append(_read_call(call, tag if known else f"#{number}", name, time, model))
    if tokens:
        if items and (told := overlapping({key: tokens.get(key) for key in _COUNTS})):
            items[-1].extra = {"tokens": told}  # the program's own figures where turnlog's do not tell them
        if (usage := normalised(*map(tokens.get, _COUNTS))) is not None:
            items.append(Spent(usage, name, model))
    return items


def _read_call(call: Data, tag: str, message: str, time: float | None, model: str) -> Call:
    """A tool use, and its result where it has one; `time` is that of its message."""
    name, asked = text_of(call.get("name")), dict_of(call.get("args"))
    use_id = text_of(call.get("id")) or f"{message}:{tag}"
    own, of = when(call.get("timestamp")), f"{message}:{tag}" if message else ""
    use = Call(
        name=name, use_id=use_id, input=asked, model=model, type=tool_type(name), id=of,
        time=time if own is None else own, call=call,
    )  # fmt: skip
    if agent := text_of(call.get("agentId")):
        shown = dict_of(call.get("resultDisplay"))
        called = (shown.get("agentName"), asked.get("agent_name"), asked.get("agentName"), name)
        use.subagent = one_line(agent, 100)
        use.task = Task(next(filter(None, map(text_of, called)), ""), text_of(call.get("description")))
    if call.get("status") in ("success", "error", "cancelled") or parts_of(call.get("result")):
        use.answer = Answer(use_id, details=(call.get("result"), call.get("resultDisplay"), call.get("status")))
    return use


def _thought(item: object) -> str:
    if not isinstance(item, dict):
        return text_of(item)
    subject, description = text_of(item.get("subject")).strip(), text_of(item.get("description"))
    return f"**{subject}**\n\n{description}".strip() if subject else description


def _calls_of(value: Data, content: object) -> list[Data]:
    """The tool uses of an answer: its records, then those of its content that have none."""
    calls = [call for call in list_of(value.get("toolCalls")) if isinstance(call, dict)]
    known = {text_of(call.get("id")) for call in calls}
    parts = [] if isinstance(content, str) else parts_of(content)
    others = [call for part in parts if isinstance(call := part.get("functionCall"), dict)]
    # One without an id is told from the records by nothing.
    return calls + [call for call in others if (call["id"] not in known if text_of(call.get("id")) else not calls)]


PROVIDER = Gemini()

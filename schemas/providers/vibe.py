"""Mistral Vibe: a folder a session, in the store of versions since 2.26 or as messages and facts before it.

Formats: found-others.md 8. The store keeps chunks by their digests: a manifest names those that make the transcript as
of the last turn, and a journal what came since. Either way the tokens stand in a sum for the session only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, ClassVar

from schemas.message import Kind, Lack, ToolStatus
from schemas.provider import Format, Head
from schemas.providers.kit.bases import Data, Home, Stream, Tree
from schemas.providers.kit.blocks import arguments_of, calls_in, texts_in
from schemas.providers.kit.files import Files
from schemas.providers.kit.words import Answer, Child, Fact, Item, Say, Skip, Task, Title, Total, Turn, Use
from schemas.slices import Listing
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of, when, whole

_STORE = "mistral.vibe.unified-session-store/"
_ENDS = {
    "completed": ToolStatus.OK, "failed": ToolStatus.ERROR, "cancelled": ToolStatus.INTERRUPTED,
    "rejected": ToolStatus.DENIED, "denied": ToolStatus.DENIED,
}  # fmt: skip
_TEXTS = ("stdout", "content", "response", "matches", "result")
"""Where the structured result of a tool has what a person reads."""
_REFUSALS = {"tool_error": ToolStatus.ERROR, "user_cancellation": ToolStatus.INTERRUPTED}


class Vibe(Tree):
    """Mistral Vibe's sessions."""

    id = "vibe"
    name = "Mistral Vibe"
    verified = "genuine sessions of 2.26.1 and 3.0.2"
    counting = (
        "Mistral Vibe keeps one sum for a session, which counts in its last exchange; its input includes the cache, "
        "which is taken apart here. Subagents have sessions and sums of their own."
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"message_id"', b'"store_format"')
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Mistral Vibe store, JSON files", f"an object with store_format {_STORE}v1"),
        Format("Mistral Vibe messages, JSON lines", "messages with role and message_id, beside a meta.json"),
    )
    homes = (Home("$VIBE_HOME/logs/session", "VIBE_HOME"), Home(".vibe/logs/session"))
    files = ("unified/*/CURRENT", "session_*/messages.jsonl")
    lacks = frozenset({Lack.TIMES, Lack.TOKENS})
    resume = ("vibe", "--resume")
    listing = Listing(r" *(\d+)→", bare=True)
    tools = {
        "bash": "shell", "read_file": "read", "read": "read", "web_fetch": "read", "write_file": "write",
        "edit": "write", "search_replace": "write", "grep": "search", "glob": "search", "list_files": "search",
        "web_search": "search", "task": "task", "todo": "task", "ask_user_question": "generic",
        "search_tool_functions": "search", "run_typescript": "shell",
    }  # fmt: skip

    def detect(self, head: Head) -> bool:
        """The pointer of a store, by the store where it is damaged, or messages that have ids."""
        if text_of(dict_of(head.document).get("store_format")).startswith(_STORE):
            return True
        if head.path.name == "CURRENT":
            return any(head.path.parent.glob("generations/*/manifest.json"))
        return any("message_id" in record and text_of(record.get("role")) for record in head.first)

    def id_of(self, path: Path) -> str:
        """The folder's name, which is the id, or its end, which is the id's beginning."""
        return path.parent.name.rpartition("_")[2]

    # -- records ---------------------------------------------------------------------------------------------------

    def gather(self, path: Path, files: Files) -> Iterable[Data]:
        """The facts of the session, its entries or messages, and how its last turn ended."""
        meta = files.document(path.with_name("meta.json"), needed=True)
        if path.name != "CURRENT":
            if messages := files.lines(path):
                yield {"type": "session", **meta}
                yield from messages
                for child in map(dict_of, list_of(meta.get("child_sessions"))):
                    folder = path.parent / "agents" / PurePath(text_of(child.get("relative_path"))).name
                    yield {"type": "subagent", **child, "path": str(folder / path.name)}
                yield {"type": "tokens", "model": _model(meta), **dict_of(meta.get("stats"))}
            return
        current = files.document(path)
        entries, state = self._entries(path.parent, PurePath(text_of(current.get("generation"))).name, files)
        session = dict_of(state.get("session"))
        facts = {name: session.get(name) for name in ("createdAt", "title")} | {"session_id": current.get("session_id")}
        yield {"type": "session", **facts, **{key: value for key, value in meta.items() if value is not None}}
        yield from entries
        yield {"type": "turn", **dict_of(state.get("latestTurn"))}
        yield {"type": "tokens", "model": _model(meta), **dict_of(session.get("tokenUsage"))}

    def _entries(self, folder: Path, generation: str, files: Files) -> tuple[list[Data], Data]:
        """The entries of a store in order, and what it says of the session, both with what its journal adds; of the
        generation that its pointer names, or of the newest that is there.
        """
        kept = sorted(folder.glob("generations/*"), reverse=True)
        manifest, of = dict[str, Any](), folder
        for of in (folder / "generations" / generation, *kept) if generation else kept:
            if manifest := files.document(of / "manifest.json", needed=True):
                break
        state = dict_of(files.document(of / "projection-state.json", needed=True).get("snapshot"))
        entries: dict[str, Data] = {}
        for chunk in list_of(dict_of(manifest.get("projection_state")).get("chunks")):
            name = f"{PurePath(text_of(chunk)).name}.json"
            for entry in list_of(files.value(folder / "chunks" / name, needed=True)):
                entries[text_of(dict_of(entry).get("id")) or str(len(entries))] = dict_of(entry)
        first = PurePath(text_of(dict_of(manifest.get("recovery_journal_segment")).get("path"))).name
        for name in files.names(folder / "journal", ".jsonl", growing=True):
            for record in files.lines(folder / "journal" / name) if first and name >= first else ():
                for change in map(dict_of, list_of(dict_of(record.get("payload")).get("delta"))):
                    if change.get("op") == "set_envelope":
                        state = dict_of(change.get("state"))
                    elif entry := dict_of(change.get("entry")):
                        entries[text_of(entry.get("id")) or str(len(entries))] = entry
        return list(entries.values()), state

    def type(self, record: Data) -> str:
        """Messages say their role instead."""
        return text_of(record.get("type")) or text_of(record.get("role")) or "(no type)"

    def time(self, record: Data) -> float | None:
        """Return the time at which an entry was begun; messages of the older kind have no time."""
        return when(record.get("createdAt"))

    def name_of(self, record: Data) -> str:
        """The entry's or the message's id."""
        name = text_of(record.get("id")) or text_of(record.get("message_id"))
        return f"end of {name}" if record.get("type") == "turn" and name else name

    def read(self, record: Data) -> Iterator[Item]:
        match self.type(record):
            case "session":
                yield from self._session(record)
            case "message":
                yield from self._entry(record)
            case "reasoning":
                yield Say(Kind.THINKING, text_of(record.get("text")) or texts_in(record.get("summary")))
            case "effect":
                yield self._effect(record)
            case "turn":
                yield from self._turn(record)
            case "tokens":
                yield from _total(record)
            case "subagent":
                name, use_id = text_of(record.get("session_id")), text_of(record.get("tool_call_id"))
                path = Path(text_of(record.get("path")))
                yield Child(name, path, task=Task(text_of(record.get("agent"))), use_id=use_id)
                yield Skip("subagent")
            case "user":
                text = text_of(record.get("content"))
                injected = record.get("injected") is True
                yield Say(Kind.CONTEXT if injected else Kind.PROMPT, text, label="Added" if injected else "")
            case "assistant":
                yield from self._answer(record)
            case "tool":
                yield _result(record)
            case "system":
                yield Say(Kind.CONTEXT, text_of(record.get("content")), label="System prompt")
            case _:
                yield Say(Kind.UNKNOWN)

    def _session(self, record: Data) -> Iterator[Item]:
        place = dict_of(record.get("environment")).get("working_directory")
        yield Fact(
            id=record.get("session_id"), workspace_root=place, branch=record.get("git_branch"),
            parent=record.get("parent_session_id"), created=when(record.get("start_time")) or self.time(record),
            updated=when(record.get("end_time")), model=_model(record),
        )  # fmt: skip
        yield Title(text_of(record.get("title")), 2)
        yield Skip("session")

    # -- entries of the store --------------------------------------------------------------------------------------

    def _entry(self, record: Data) -> Iterator[Item]:
        text = texts_in(record.get("content"))
        if record.get("role") == "user":
            typed = record.get("source") in ("turn_start", "turn_steer", None)
            yield Say(Kind.PROMPT if typed else Kind.CONTEXT, text, label="" if typed else "Added")
        elif text.strip():
            yield Say(Kind.TEXT, text)
        else:
            yield Skip("message")

    def _effect(self, record: Data) -> Item:
        detail, state = dict_of(record.get("detail")), dict_of(record.get("state"))
        name, use_id = text_of(detail.get("toolName")).removeprefix("file_system."), text_of(record.get("id"))
        output = dict_of(state.get("output"))
        status = _ENDS.get(text_of(state.get("status")))
        begun, ended = self.time(record), when(record.get("updatedAt"))
        answer = None
        if status is not None:
            seconds = None if begun is None or ended is None or ended < begun else ended - begun
            answer = replace(_outcome(use_id, output, status), seconds=seconds)
            fault = text_of(dict_of(state.get("error")).get("message")) or text_of(state.get("reason"))
            answer.text = answer.text or text_of(state.get("outputText")) or fault
        return Use(name=name, use_id=use_id, input=arguments_of(detail.get("input")), answer=answer)

    def _turn(self, record: Data) -> Iterator[Item]:
        error = dict_of(record.get("error"))
        match record.get("status"):
            case "failed":
                code = whole(dict_of(error.get("details")).get("httpStatus"))
                label = f"Error {code}" if code is not None else text_of(error.get("code")) or "Error"
                yield Say(Kind.ERROR, text_of(error.get("message")), label, time=when(record.get("completedAt")))
            case "interrupted":
                yield Say(Kind.INTERRUPT, label="Interrupted", time=when(record.get("completedAt")))
        if record.get("status") not in (None, "in_progress"):
            yield Turn(begins=False)
        yield Skip("turn")

    # -- messages of the older kind --------------------------------------------------------------------------------

    def _answer(self, record: Data) -> Iterator[Item]:
        if thought := text_of(record.get("reasoning_content")):
            yield Say(Kind.THINKING, thought, id=text_of(record.get("reasoning_message_id")))
        if (text := text_of(record.get("content"))).strip():
            yield Say(Kind.TEXT, text)
        for use in calls_in(record):
            given = dict_of(use.input)
            task = Task(text_of(given.get("agent")), "", text_of(given.get("task")))
            use.task = task if use.name == "task" else None
            yield use


class VibeStream(Stream, Vibe):
    """`vibe -p --output streaming` or `json`: the entries of one turn, with either kind of store."""

    formats = (Format("Mistral Vibe, `--output streaming` (or json)", "entries with turnId and inputEntryId"),)
    unended = ""

    def prints(self, record: Data) -> bool:
        """An entry's keys."""
        return "inputEntryId" in record and "generationStatus" in record and "turnId" in record

    def run_of(self, record: Data) -> str:
        """The session's id."""
        return text_of(record.get("sessionId"))


def _outcome(use_id: str, output: Data, status: ToolStatus) -> Answer:
    """Return the answer in a tool's result: a command that fails is `completed` like any other."""
    given = dict_of(output.get("structured_content")) or dict_of(output.get("structuredContent"))
    text = next((text_of(given[key]) for key in _TEXTS if text_of(given.get(key))), "")
    text = "\n".join(filter(None, (text.rstrip("\n"), text_of(given.get("stderr")).rstrip("\n"))))
    text = text or texts_in(output.get("content"), "\n") or text_of(given.get("message"))
    code = whole(given.get("returncode", given.get("exit_code")))
    failed = bool(code) or given.get("timed_out") is True
    return Answer(use_id, text, ToolStatus.ERROR if failed and status is ToolStatus.OK else status, code)


def _result(record: Data) -> Answer:
    """The result of a tool in a message of its own; errors and refusals stand in a tag."""
    use_id, text, told = (text_of(record.get("tool_call_id")), text_of(record.get("content")).strip(),
                          dict_of(record.get("tool_result")))  # fmt: skip
    for tag, status in _REFUSALS.items():
        if text.startswith(f"<{tag}>"):
            text = text.removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")
            code = text.partition("\nReturn code: ")[2].partition("\n")[0]
            return Answer(use_id, text, status, int(code) if code.isdecimal() and len(code) < 8 else None)
    status = ToolStatus.INTERRUPTED if told.get("cancelled") is True else ToolStatus.OK
    answer = _outcome(use_id, {"structured_content": told.get("output")}, status)
    answer.text, answer.seconds = answer.text or text, number(told.get("duration"))
    return answer


def _model(meta: Data) -> str:
    config = dict_of(meta.get("config"))
    known = dict_of(dict_of(config.get("models")).get(text_of(config.get("active_model"))))
    names = (meta.get("model"), config.get("model_name"), known.get("name"), config.get("active_model"))
    return next(filter(None, map(text_of, names)), "")


def _total(record: Data) -> Iterator[Item]:
    """The session's sum, of a store or of the facts beside messages."""
    names = ("inputTokens", "outputTokens", "cachedInputTokens")
    if "session_prompt_tokens" in record:
        names = ("session_prompt_tokens", "session_completion_tokens", "session_cached_tokens")
    given, output, read = (as_count(record.get(name)) for name in names)
    fresh = None if given is None else max(0, given - (read or 0))
    if any((given, output, read)):
        yield Total(TokenUsage(fresh, output, read), text_of(record.get("model")))
    yield Skip("tokens")


PROVIDER = Vibe()
STREAM = VibeStream()

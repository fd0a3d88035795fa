"""Qwen Code: JSON lines that form a tree, under `~/.qwen/projects` (formats/gemini-qwen-cursor.md 2).

Messages stand in the file's order, also those that a rewind took back. Rules of our own, where the format leaves room:

- A prompt with @ is written twice, as `at_command` with what was typed, then as `user` with what the model got: one
  prompt, which a rewind takes back from the second.
- Telemetry repeats the figures of answers and counts for nothing, but for calls that have no record of their own: those
  of the program's own agents (`managed-…`) and of compaction (found-claude-codex-gemini-qwen.md, Q4).
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.clean import clean, clean_styled, one_line
from schemas.folders import entries_of
from schemas.message import NO_FLAGS, Flag, Kind, Tool, ToolStatus, ToolType
from schemas.provider import Environment, Format, Head, Location, Problem, Reading, Retention, SessionFile, moved_home
from schemas.providers._google import media_in, said_text, snapshot_text, time_of
from schemas.providers._google_tools import make_tool, tool_type
from schemas.providers.gemini import Gemini
from schemas.providers.kit.agent import Data, Lines
from schemas.providers.kit.history import Chain, Placed, as_word
from schemas.providers.kit.tree import NOBODY
from schemas.providers.kit.words import Answer, Child, Count, Fact, Item, Piece, Say, Skip, Task, Title, Turn, Use
from schemas.providers.qwen import locate, texts
from schemas.providers.qwen.stream import QwenStream
from schemas.records import JsonLines, Record, read_record
from schemas.usage import as_count
from schemas.values import dict_of, list_of, number, text_of

if TYPE_CHECKING:
    from schemas.session import Session

_TALK = frozenset({"user", "assistant", "tool_result"})
_BESIDE = ("session_artifact_", "session_sources_", "managed_session_")
"""System records that are written beside the conversation, so that none of them is ever its end."""
_SILENT = frozenset({
    "session_approval_mode", "session_execution_engine", "session_notes", "file_history_snapshot",
    "attribution_snapshot", "background_task_completed", "branch_checkpoint", "session_sources_snapshot",
    "user_text_elements", "omni_recall",
})  # fmt: skip
_SILENT_FAMILIES = ("goal_", "agent_", "session_artifact_", "managed_session_")
_STEERS = ("mid_turn_user_message", "realtime_message")
"""Said by a person without opening an exchange: while tools ran, or in a voice conversation."""
_COMMAND = "slash_command"
_HELPER = re.compile(r"(?:^|#)(?:managed|compress)-")
"""What the `prompt_id` of a call has whose answer is in no record."""
_FACTS = ("cwd", "gitBranch", "promptId", "provenance", "agentId", "agentName", "externalInputKind")
_MOST_FILES, _HEAD = 5000, 64 << 10


# -- words of its own --------------------------------------------------------------------------------------------------


class At(Say):
    """A prompt with files named by @, as it was typed; the record after it is what the model got."""


class Typed(Say):
    """A user record as a prompt, unless an `At` before it is that."""


class Pictures(Piece):
    """The images of a user record, which belong to the `At` before it."""


class More(Piece):
    """The text of a user record, where a prompt with its uuid was read before: old files hold one in several."""


class Sent(Say):
    """What was sent around a prompt, as the record itself tells it."""


class Whole(Say):
    """All that was sent, where an `At` before it has the prompt."""


class Was(Say):
    """A command that printed something: a prompt of the same text before it was that command."""


class Call(Use):
    """A tool use, whose id may be missing, or used again by some services."""


class Reply(Answer):
    """The result of the latest use with that id, or without one of the tool `details.name`."""


class Branches(Chain):
    """The tree of a session, its copies and subagents, and which records are one prompt."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._lines = array("Q"), array("I")
        """Where the record of each node lies: offsets and lengths."""
        self._placed = self._side = self._again = False
        self._chains: dict[int, str] = {}
        self._at: tuple[str, int, int] | None = None
        self._pending: tuple[str, int, int] | None = None
        """The `At` whose second record is awaited: its id, its node, a hash of its words; of the record being read."""
        self._prompt: tuple[str, str] | None = None
        """The id and the text of the prompt that was read last, while nothing followed it."""
        self._prompts: dict[int, str] = {}
        self._calls: dict[str, str] = {}
        self._unnamed: dict[str, list[str]] = {}
        self._answered: set[str] = set()
        self._number = 0

    def whose(self, record: Data) -> str:
        """The subagent of a record with its mark; of a chain without a name the one that its parent belongs to."""
        if not self._placed:
            self._place(record)
        if self._side or not is_side(record):
            return ""
        uuid, parent = record.get("uuid"), record.get("parentUuid")
        agent = text_of(record.get("agentId"))
        if not agent:
            agent = self._chains.get(hash(text_of(parent)), "") or f"sidechain-{len(set(self._chains.values())) + 1}"
        if isinstance(uuid, str):
            self._chains.setdefault(hash(uuid), agent)
        return agent

    def _place(self, record: Data) -> None:
        """Decide from the first record whose the file is, and what it is called."""
        self._placed = True
        session, agent, owner = self.session, text_of(record.get("agentId")), text_of(record.get("sessionId"))
        if session.lineage.agent_id is not None:
            self._side = True  # a subagent within another session's file
        elif agent and is_side(record):
            self._side = True
            session.lineage.agent_id = one_line(agent, 80)
            session.lineage.parent = one_line(owner, 300) or None
        elif owner and not locate.UUID.fullmatch(session.id):
            session.id = one_line(owner, 300)  # a copy under another name; Qwen Code names the file after the id

    def enter(self, record: Record, time: float | None) -> bool:
        """Put a record into the tree; False for a copy of one that was read before."""
        value, tree = record[3], self._tree
        kind, subtype = text_of(value.get("type")), text_of(value.get("subtype"))
        if not self._placed:
            self._place(value)
        origin = value.get("forkedFrom")
        self.copied = (text_of(origin.get("sessionId")) or "(unknown)") if isinstance(origin, dict) else ""
        self.branched, self._again, uuid = False, False, value.get("uuid")
        if not isinstance(uuid, str) or not uuid:
            self._node = tree.last
        elif node := tree.find(uuid):
            if self._is_copy(node, value):
                return False
            self._node, self._again = node, True
            tree.again(node)
        else:
            metadata, beside = kind not in _TALK and subtype != "rewind", _is_beside(kind, subtype)
            self._node = tree.add(uuid, value.get("parentUuid", ...), metadata=metadata, beside=beside)
            self.branched = subtype == "rewind"
            offsets, lengths = self._lines
            while len(offsets) < len(tree):  # a parent that is not there has a node of its own
                offsets.append(0)
                lengths.append(0)
            offsets[self._node], lengths[self._node] = record[0], record[1]
        self._pending = None
        if kind in ("user", "assistant"):
            self._pending, self._at = self._at, None
        if kind in _TALK:
            self._prompt = None
        return True

    def _is_copy(self, node: int, value: Data) -> bool:
        """Whether a record says what the first one with its uuid said: a line that was written twice."""
        offsets, lengths = self._lines
        first = self.session.stores[0].record(offsets[node], lengths[node])
        ignored = ("timestamp", "parentUuid")
        return all(first.get(key) == value.get(key) for key in {*first, *value} if key not in ignored)

    def sift(self, record: Record, number: int, item: Any) -> Iterator[Placed]:
        """The agent's own words in those of the kit."""
        match item:
            case At():
                name = f"at:{text_of(record[3].get('uuid')) or record[0]}"
                self._at = name, self._node, _words(item.text)
                yield record, number, as_word(item, Say, id=name)
            case Typed():
                yield from self._typed(record, number, item)
            case Pictures() if self._pending is not None:
                yield record, number, as_word(item, Piece, id=self._pending[0])
            case More() if self._pending is None and self._again and self._node in self._prompts:
                yield record, number, as_word(item, Piece, id=self._prompts[self._node])
            case Sent() if self._pending is None:
                yield record, number, as_word(item, Say)
            case Whole() if self._pending is not None and self._pending[2] != _words(item.text):
                yield record, number, as_word(item, Say)
            case Was() if self._prompt is not None and self._prompt[1] == item.text:
                yield record, number, as_word(item, Say, id=self._prompt[0])
            case Call():
                yield record, number, as_word(item, Use, use_id=self._name_use(item))
            case Reply():
                yield record, number, as_word(item, Answer, use_id=self._name_reply(item))

    def _typed(self, record: Record, number: int, item: Typed) -> Iterator[Placed]:
        if self._pending is not None:  # a rewind takes the prompt back from here, so here it belongs
            if NOBODY != self._pending[1] != self._node:
                self._tree.hand_over(self._pending[1], self._node)
        elif not (self._again and self._node in self._prompts):
            name = text_of(record[3].get("uuid")) or f"user@{record[0]}"
            self._prompt, self._prompts[self._node] = (name, item.text), name
            yield record, number, as_word(item, Say, id=name)

    def _name_use(self, item: Call) -> str:
        """A name for a use that no other has."""
        name = item.use_id
        if not name or name in self._answered:
            self._number += 1
            name = f"{item.use_id or item.name}#{self._number}"
        if item.use_id:
            self._calls[item.use_id] = name
        else:
            self._unnamed.setdefault(item.name, []).append(name)
        return name

    def _name_reply(self, item: Reply) -> str:
        if not item.use_id:
            waiting = self._unnamed.get(item.details.name)
            return waiting.pop(0) if waiting else ""
        self._answered.add(item.use_id)
        return self._calls.get(item.use_id, item.use_id)


def _words(text: str) -> int:
    return hash(" ".join(text.split()))


def is_side(record: Data) -> bool:
    """Whether a record is a subagent's."""
    return record.get("isSidechain") is True or ("isSidechain" not in record and bool(text_of(record.get("agentId"))))


def _is_beside(kind: str, subtype: str) -> bool:
    return kind == "system" and subtype.startswith(_BESIDE)


class Qwen(Lines):
    """One file a session; subagents in files beside it, or (older) among its records."""

    id = locate.PROVIDER_ID
    name = "Qwen Code"
    counting = (
        "Each response of Qwen Code is one group; the telemetry that repeats its figures counts for nothing. Its "
        "input includes what came from the cache, which is taken apart here; whether thinking is inside the "
        "output is told by each record's own total."
    )
    formats = (
        Format(
            "Qwen Code session, JSON lines",
            "a record with uuid, sessionId and message.parts, or a systemPayload",
        ),
        Format("Qwen Code session before 0.4, one JSON document", "Gemini CLI's document, in a folder called .qwen"),
    )
    history = Branches
    answers = "first"
    resume = ("qwen", "--resume")

    def locations(self, env: Environment) -> list[Location]:
        """Qwen Code's folder: `QWEN_RUNTIME_DIR`, `QWEN_HOME`, or `.qwen` in the home directory on every system."""
        return locate.locations(env)

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions in a location, subagents and empty files apart."""
        return locate.find(location, problems)

    def told(self, head: Head) -> bool:
        """Whether it is a session of Qwen Code, or one of its subagents."""
        return locate.detect(head)

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session. Raises OSError."""
        if locate.is_old(path):
            return _BEFORE_0_4.open(path, start=start)
        return super().open(path, start=start)

    def resume_command(self, session: Session) -> list[str] | None:
        """None also for a session of before 0.4, and an id that Qwen Code cannot give."""
        if session.path.suffix == ".json" or not locate.UUID.fullmatch(session.id):
            return None
        return super().resume_command(session)

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """QWEN_HOME, where the session lies in another folder than the variables name, or `~/.qwen`."""
        return moved_home("QWEN_HOME", locate.home_of(path), [locate.home(env)])

    def retention(self, env: Environment) -> Retention | None:
        """None, unless the user enabled `general.sessionRetention`."""
        return locate.retention(env)

    # -- records ---------------------------------------------------------------------------------------------------

    def type(self, record: Data) -> str:
        """How a record is counted that holds nothing to read."""
        kind, subtype = text_of(record.get("type")), text_of(record.get("subtype"))
        return subtype or (f"{kind} (empty)" if kind in _TALK else kind or "(no type)")

    def time(self, record: Data) -> float | None:
        """The record's time."""
        return time_of(record.get("timestamp"))

    def name_of(self, record: Data) -> str:
        """The record's uuid."""
        return text_of(record.get("uuid"))

    def setting(self, record: Data) -> Fact:
        """Where the agent works."""
        return Fact(workspace_root=record.get("cwd"), branch=record.get("gitBranch"), version=record.get("version"))

    def facts(self, record: Data) -> Data:
        """What SessionData has no field for."""
        named = {"recordType": record.get("type"), "recordSubtype": record.get("subtype")}
        named |= {name: record.get(name) for name in _FACTS}
        return {name: one_line(text, 4096) for name, text in named.items() if isinstance(text, str) and text}

    def read(self, record: Data) -> Iterator[Item]:
        """What a record holds."""
        kind, subtype = record.get("type"), record.get("subtype")
        if agent := text_of(record.get("agentName")):
            yield Fact(agentName=agent)
        match kind:
            case "user":
                yield from self._user(record, subtype)
            case "assistant":
                yield from self._assistant(record)
            case "tool_result":
                yield from self._replies(record)
            case "system":
                yield from self._system(record, subtype if isinstance(subtype, str) else "")
            case _:
                yield Say(Kind.UNKNOWN, label="(no type)" if kind is None else str(kind))

    def _user(self, record: Data, subtype: object) -> Iterator[Item]:
        prompt = texts.read_prompt(record)
        if subtype in (None, ""):
            yield from self._replies(record)
            if prompt.label:
                text = snapshot_text(prompt.typed)
                yield Say(Kind.CONTEXT, text, label=prompt.label, images=prompt.media)
            elif prompt.typed.strip() or prompt.media:
                extra = _attached(record)
                yield Typed(Kind.PROMPT, prompt.typed, images=prompt.media, extra=extra)
                yield Pictures(Kind.PROMPT, images=prompt.media)
                yield More(Kind.PROMPT, f"\n{prompt.typed}", images=prompt.media)
        elif subtype in _STEERS:
            if prompt.typed.strip() or prompt.media:
                label = "voice" if subtype == "realtime_message" else ""
                yield Say(Kind.STEER, prompt.typed, label=label, images=prompt.media)
        elif isinstance(subtype, str) and subtype in texts.NOTES:
            label, body = texts.note_texts(record)
            yield Say(Kind.NOTE, body, label=label, images=texts.read_prompt(record, "").media)
            return
        else:
            yield Say(Kind.UNKNOWN, label=f"user {subtype}")
            return
        if prompt.sent:
            yield Sent(Kind.CONTEXT, prompt.sent, label="Sent with the prompt")
        whole = texts.read_prompt(record, "").sent
        if whole.strip():
            yield Whole(Kind.CONTEXT, whole, label="Sent with the prompt")
        if prompt.hook:
            yield Say(Kind.CONTEXT, prompt.hook, label="Context from a hook")

    def _assistant(self, record: Data) -> Iterator[Item]:
        model = text_of(record.get("model"))
        for run in texts.runs_in(texts.parts_in(record)):
            if run.kind == "tool":
                call = run.parts[0]["functionCall"]
                name, asked = text_of(call.get("name")), dict_of(call.get("args"))
                yield Call(
                    name=name, use_id=text_of(call.get("id")), input=asked, model=model, type=tool_type(name),
                    task=_task(asked) if name in texts.STARTERS else None,
                )  # fmt: skip
            elif run.kind == "thinking":
                if text := "".join(text_of(part.get("text")) for part in run.parts).strip("\0"):
                    yield Say(Kind.THINKING, text, model=model)
            elif run.kind != "result":
                text, media = said_text(run.parts), media_in(run.parts)
                if text.strip() or media:
                    yield Say(Kind.TEXT, text if text.strip() else "", model=model, images=media)
        yield from self._replies(record)
        if (usage := texts.read_usage(record.get("usageMetadata"))) is not None:
            origin = text_of(dict_of(record.get("forkedFrom")).get("messageUuid"))
            yield Count(usage, origin or text_of(record.get("uuid")), model)
        yield Fact(context_window=as_count(record.get("contextWindowSize")))

    def _replies(self, record: Data) -> Iterator[Item]:
        for reply in texts.replies_in(record):
            result = texts.read_reply("", reply)
            yield Reply(reply.call, result.text, result.status, result.exit_code, details=reply)

    def _system(self, record: Data, subtype: str) -> Iterator[Item]:
        payload = texts.payload_of(record)
        match subtype:
            case _ if subtype == _COMMAND:
                yield from self._command(record, payload)
            case "at_command":
                yield from self._at_command(record, payload)
            case "chat_compression":
                text = snapshot_text(texts.compaction_text(record))
                extra = {"compaction": info} if (info := dict_of(payload.get("info"))) else None
                yield Say(Kind.COMPACTION, text, label=texts.compaction_label(record), extra=extra)
            case "rewind":
                yield Say(Kind.NOTE, label=texts.rewind_label(record))
            case "turn_result":
                yield from self._turn(record, payload)
            case "custom_title":
                title = text_of(payload.get("customTitle"))
                yield Title(title)
                if title.strip():
                    yield Fact(titleSource=text_of(payload.get("titleSource")) or "manual")
            case "ui_telemetry":
                yield from self._telemetry(dict_of(payload.get("uiEvent")))
            case "parent_session":
                yield Fact(parent=payload.get("parentSessionId"))
            case "session_model":
                yield Fact(sessionModel=text_of(payload.get("modelId")))
            case "session_source":
                yield Fact(sessionSource=text_of(payload.get("sourceType")))
            case _ if subtype in _SILENT or subtype.startswith(_SILENT_FAMILIES):
                yield Skip(subtype)
            case _:
                yield Say(Kind.UNKNOWN, label=f"system {record.get('subtype') or ''}".strip())

    def _command(self, record: Data, payload: Data) -> Iterator[Item]:
        command = text_of(payload.get("rawCommand"))
        if payload.get("phase") == "result":
            text = texts.output_text(record)
            flags = Flag.ERROR if texts.is_failed_output(record) else NO_FLAGS
            if command.startswith("/"):
                yield Was(Kind.COMMAND, command, label=one_line(command))
            yield (
                Say(Kind.OUTPUT, text, label="Output", flags=flags) if text.strip() else Skip(f"{_COMMAND} (no output)")
            )
        elif payload.get("hiddenInvocation") is True or not command.strip():
            yield Skip(f"{_COMMAND} (not shown)")
        else:
            yield Say(Kind.COMMAND, command, label=one_line(command))

    def _at_command(self, record: Data, payload: Data) -> Iterator[Item]:
        """With what was typed it opens the exchange, else it is context of the prompt to come."""
        typed, failed = text_of(payload.get("userText")), payload.get("status") == "error"
        if typed.strip():
            yield (Say if failed else At)(Kind.PROMPT, typed, extra=_attached(record))
        kind, flags = (Kind.NOTE, Flag.ERROR) if failed else (Kind.CONTEXT, NO_FLAGS)
        yield Say(kind, texts.files_text(record), label=texts.files_label(record), flags=flags)

    def _turn(self, record: Data, payload: Data) -> Iterator[Item]:
        """How a turn ended, and how long it ran; a prompt may take several turns, as when a task wakes the agent."""
        state, text = payload.get("state"), texts.turn_text(record)
        if state == "error" or text:
            yield Say(Kind.ERROR, text, label=texts.turn_label(record))
        elif state == "cancelled":
            yield Say(Kind.INTERRUPT, label=texts.turn_label(record))
        start, end = number(payload.get("startedAt")) or 0.0, number(payload.get("endedAt")) or 0.0
        yield Turn(begins=False, seconds=(end - start) / 1000 if 0 < start <= end < 1e14 else None)

    def _telemetry(self, event: Data) -> Iterator[Item]:
        helper = _HELPER.search(text_of(event.get("prompt_id"))) is not None
        if event.get("event.name") == "qwen-code.api_error":
            yield Say(Kind.ERROR, text_of(event.get("error_message")), label="API error")
        elif event.get("event.name") == "qwen-code.api_response" and helper:
            names = ("input", "output", "cached_content", "thoughts", "tool", "total")
            figures = dict(zip(texts.COUNTS, (event.get(f"{name}_token_count") for name in names), strict=False))
            if (usage := texts.read_usage(figures)) is not None:
                yield Count(usage, text_of(event.get("response_id")), text_of(event.get("model")), beside=True)

    # -- tools -----------------------------------------------------------------------------------------------------

    def tool_type(self, name: str) -> ToolType:
        return tool_type(name)

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use; of a failure the screen often told more than the model got."""
        if answer is None or answer.details is None:
            return make_tool(use.name, use.use_id, use.input), {}
        reply = answer.details
        tool = make_tool(use.name, use.use_id, use.input, reply.content, reply.display, reply.status)
        text = texts.read_reply(use.name, reply).text
        if tool.output is not None and len(text) > len(tool.text) and tool.status is ToolStatus.ERROR:
            tool.text, tool.runs = clean_styled(text)
            tool.output["content"] = tool.text
        return tool, {} if use.name else {"toolUseId": clean(reply.call)}

    # -- subagents beside ------------------------------------------------------------------------------------------

    def stamps(self, session: Session) -> object:
        """When the folder of subagents changed."""
        folder = locate.subagents_folder(session.path)
        try:
            return (folder and os.stat(folder).st_mtime_ns) or 0
        except OSError:
            return 0  # most sessions have no subagents

    def beside(self, session: Session) -> Iterable[Item]:
        """The files of subagents that this session's agent started; links are not followed."""
        folder = locate.subagents_folder(session.path)
        if folder is None or folder.is_symlink() or folder.parent.is_symlink():
            return
        for entry in entries_of(folder, [])[:_MOST_FILES]:
            path = Path(entry.path)
            fits = entry.name.startswith("agent-") and entry.name.endswith(".jsonl")
            if not fits or path == session.path or not entry.is_file(follow_symlinks=False):
                continue
            meta = read_record(_head(path.with_name(f"{path.stem}.meta.json")))
            agent, prompt = _look(path)
            if agent is not None and text_of(meta.get("parentAgentId")) == (session.lineage.agent_id or ""):
                task = Task(text_of(meta.get("agentType")), text_of(meta.get("description")), prompt)
                name = agent or path.stem.removeprefix("agent-")
                yield Child(name, path, task=task, use_id=text_of(meta.get("toolUseId")))


def _task(asked: Data) -> Task:
    return Task(*(text_of(asked.get(key)) for key in ("subagent_type", "description", "prompt")))


def _attached(record: Data) -> Data | None:
    references = list_of(texts.payload_of(record).get("attachmentReferences"))
    return {"attachments": references} if references else None


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""  # not there, gone again, or not ours to read; the subagent is then listed by its file's name


def _look(path: Path) -> tuple[str | None, str]:
    """A subagent's id and its first prompt, from the beginning of its file; no id where nothing is there yet."""
    lines = JsonLines()
    agent: str | None = None
    for record in lines.push(_head(path)) + lines.take_tail():
        agent = agent or text_of(record[3].get("agentId"))
        if record[3].get("type") == "user":
            return agent, texts.read_prompt(record[3]).typed
    return agent, ""


class _Before04(Gemini):
    """Qwen Code before 0.4, which wrote Gemini CLI's documents."""

    id, name = locate.PROVIDER_ID, Qwen.name


_BEFORE_0_4 = _Before04()
PROVIDER = Qwen()
STREAM = QwenStream()

"""Qwen Code: JSON lines that form a tree, under `~/.qwen/projects` (formats/gemini-qwen-cursor.md 2).

Messages stand in the file's order, also those that a rewind took back. Telemetry repeats the figures of answers and
counts for nothing, but for calls that have no record of their own: those of the program's own agents (`managed-…`) and
of compaction (found-claude-codex-gemini-qwen.md, Q4).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from schemas.clean import as_json, one_line
from schemas.folders import bytes_in, entries_of, matching, object_in, state_of
from schemas.message import NO_FLAGS, Flag, Kind, ToolStatus
from schemas.provider import Environment, Format, Head, Location, Problem, SessionFile, moved_home
from schemas.providers import _google as google
from schemas.providers._google import content_of, parts_of
from schemas.providers.kit.agent import UUID
from schemas.providers.kit.bases import Data, Home, Lines
from schemas.providers.kit.blocks import task_in
from schemas.providers.kit.history import NOBODY, Chain
from schemas.providers.kit.words import Answer, Child, Count, Fact, Item, Say, Skip, Task, Title, Use
from schemas.published import Published
from schemas.records import JsonLines, Record
from schemas.running import Running, Stated
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, text_of, texts_of, whole

if TYPE_CHECKING:
    from schemas.session import Session

_TALK = frozenset({"user", "assistant", "tool_result"})
_BESIDE = ("session_artifact_", "session_sources_", "managed_session_")
"""System records that are written beside the conversation, so that none of them is ever its end."""
_SILENT = frozenset({
    "session_approval_mode", "session_execution_engine", "session_model", "session_notes", "session_source",
    "file_history_snapshot", "attribution_snapshot", "background_task_completed", "branch_checkpoint",
    "parent_session", "session_sources_snapshot", "turn_result", "user_text_elements", "omni_recall",
})  # fmt: skip
_SILENT_FAMILIES = ("goal_", "agent_", "session_artifact_", "managed_session_")
_NOTES = {"notification": "Notification", "cron": "Scheduled task", "goal_runtime": "Goal"}
"""Subtypes of user records that the program sends, and what to call them where they have no words for people."""
STARTERS = frozenset({"agent", "task"})
"""Tools that start a subagent: `task`, since 2026 `agent`."""
_COUNTS = (
    "promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "thoughtsTokenCount",
    "toolUsePromptTokenCount", "totalTokenCount",
)  # fmt: skip
_FACTS = ("cwd", "gitBranch", "promptId", "provenance", "agentId", "agentName", "externalInputKind")
_MOST_FILES, _HEAD = 5000, 64 << 10


class Branches(Chain):
    """The tree of a session, and what was copied into it."""

    def enter(self, record: Record, time: float | None) -> bool:
        """Put a record into the tree. The first one tells whose the file is, and what it is called."""
        value, tree, self.branched = record[3], self._tree, False
        kind, subtype = text_of(value.get("type")), text_of(value.get("subtype"))
        if tree.last == NOBODY:
            session, agent, owner = self.session, text_of(value.get("agentId")), text_of(value.get("sessionId"))
            if agent and value.get("isSidechain", True) is True:
                session.lineage.agent_id = one_line(agent, 80)
                session.lineage.parent = one_line(owner, 300) or None
            elif owner and not UUID.fullmatch(session.id):
                session.id = one_line(owner, 300)  # a copy under another name; Qwen Code names the file after the id
        origin, uuid = value.get("forkedFrom"), text_of(value.get("uuid"))
        self.copied = (text_of(origin.get("sessionId")) or "(unknown)") if isinstance(origin, dict) else ""
        if node := tree.find(uuid):
            self._node = node
            tree.again(node)
        elif uuid:
            metadata = kind not in _TALK and subtype != "rewind"
            beside = subtype.startswith(_BESIDE)
            self._node = tree.add(uuid, value.get("parentUuid", ...), metadata=metadata, beside=beside)
            self.branched = subtype == "rewind"
        return True


class Qwen(google.Tools, Lines):
    """One file a session; subagents in files beside it."""

    id = "qwen"
    name = "Qwen Code"
    verified = "genuine sessions of 0.5.0, 0.12.0 and 0.24.4; older ones on made-up files"
    counting = (
        "Each response of Qwen Code is one group; the telemetry that repeats its figures counts for nothing. Its "
        "input includes what came from the cache, which is taken apart here; whether thinking is inside the "
        "output is told by each record's own total."
    )
    uncounted: ClassVar[Mapping[str, str]] = {
        "user": "what is told of a subagent, whose responses are counted by themselves",
        "system": "a report about responses, no response",
        "result": "a sum of responses, which are counted one by one",
    }
    formats = (
        Format("Qwen Code session, JSON lines", "a record with uuid, sessionId and message.parts, or a systemPayload"),
    )
    history = Branches
    answers = "first"
    marks = (b'"sessionId"',)
    uuids = True
    homes = (Home("$QWEN_RUNTIME_DIR", "QWEN_RUNTIME_DIR"), Home("$QWEN_HOME", "QWEN_HOME"), Home(".qwen"))
    files = ("projects/*/chats/*.jsonl",)
    resume = ("qwen", "--resume")
    published = Published(inclusive=True)
    running = Running(
        command="/qwen-code/cli|(?:^|/)qwen(?: |$)", headless=r" (?:-p|--prompt)(?: |$)",
        variables=("QWEN_CODE_SESSION_ID",), questions=("ask_user_question",), plans=("exit_plan_mode",),
        draws=True,
    )  # fmt: skip

    def stated(self, env: Environment) -> Iterator[Stated]:
        """Read the registry of running sessions, which tells no status and stays after kill -9."""
        for folder in dict.fromkeys(location.path / "sessions" for location in self.locations(env)):
            for entry in entries_of(folder, [], is_root=True):
                said = object_in(Path(entry.path)) if entry.name.endswith(".json") else {}
                if (pid := whole(said.get("pid"))) and (session := text_of(said.get("sessionId"))):
                    start, space = text_of(said.get("procStart")).rpartition(":")[2], whole(said.get("pidNs"))
                    started = int(start) if start.isdecimal() else 0
                    yield Stated(session, pid, started, f"pid:[{space}]" if space else "")

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The sessions in a location; the file of a new one is empty until something is said."""
        return (file for file in super().find(location, problems) if file.size)

    def id_of(self, path: Path) -> str:
        """The file's name, which is a UUID."""
        return path.stem if UUID.fullmatch(path.stem) else ""

    def detect(self, head: Head) -> bool:
        """Return whether there is a record with Google's parts in Qwen Code's envelope."""
        return any(map(_is_telling, head.records))

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """QWEN_HOME, where the session lies in another folder than the variables name, or `~/.qwen`."""
        parents = Path(os.path.abspath(path)).parents
        in_home = len(parents) > 3 and (parents[0].name, parents[2].name) == ("chats", "projects")
        return moved_home("QWEN_HOME", parents[3] if in_home else None, [self.locations(env)[0].path])

    def type(self, record: Data) -> str:
        kind, subtype = text_of(record.get("type")), text_of(record.get("subtype"))
        return subtype or (f"{kind} (empty)" if kind in _TALK else kind or "(no type)")

    def name_of(self, record: Data) -> str:
        return text_of(record.get("uuid"))

    def setting(self, record: Data) -> Fact:
        return Fact(workspace_root=record.get("cwd"), branch=record.get("gitBranch"), version=record.get("version"))

    def facts(self, record: Data) -> Data:
        """Return the facts of a record for which SessionData has no field."""
        named = {"recordType": record.get("type"), "recordSubtype": record.get("subtype")}
        named |= {name: record.get(name) for name in _FACTS}
        return {name: one_line(text, 4096) for name, text in named.items() if isinstance(text, str) and text}

    def read(self, record: Data) -> Iterator[Item]:
        kind, subtype = record.get("type"), text_of(record.get("subtype"))
        if agent := text_of(record.get("agentName")):
            yield Fact(agentName=agent)
        match kind:
            case "user":
                yield from self._user(record, subtype)
            case "assistant":
                yield from self._assistant(record)
            case "tool_result":
                yield from _replies(record)
            case "system":
                yield from self._system(record, subtype)
            case _:
                yield Say(Kind.UNKNOWN, label="(no type)" if kind is None else str(kind))

    def _user(self, record: Data, subtype: str) -> Iterator[Item]:
        parts, payload = _parts_in(record), dict_of(record.get("systemPayload"))
        said = content_of([part for part in parts if not isinstance(part.get("functionResponse"), dict)])
        media, bodies, hooks = said.media, list[str](), list[str]()
        for text in said.texts:
            # A hook's context is the last part of a prompt, or stands at the end of its text.
            body, tag, hook = text.rstrip().rpartition("<hook_context>")
            is_hook = tag and hook.endswith("</hook_context>")
            bodies.append(body.rstrip() if is_hook else text)
            hooks += [hook.removesuffix("</hook_context>").strip("\n")] if is_hook else []
        # What the model got, and what to show in its place: what the person typed or saw (formats note 2.2).
        sent, shown = "".join(bodies), text_of(payload.get("displayText"))
        if subtype in _NOTES:
            line, more = shown.strip(), sent.strip() if sent.strip() != shown.strip() else ""
            body = more or (line if "\n" in line or len(line) > 200 else "")
            yield Say(Kind.NOTE, body, label=line or _NOTES[subtype], images=media)
            return
        # Without opening an exchange a person speaks while tools run, or in a voice conversation.
        if subtype not in ("", "mid_turn_user_message", "realtime_message"):
            yield Say(Kind.UNKNOWN, label=f"user {subtype}")
            return
        yield from _replies(record)
        typed = shown or sent
        if label := "" if shown else google.context_label(sent):
            yield Say(Kind.CONTEXT, google.snapshot_text(sent), label=label, images=media)
        elif typed.strip() or media:
            extra = {"sentToModel": sent} if sent.split() != typed.split() else None
            yield Say(Kind.STEER if subtype else Kind.PROMPT, typed, images=media, extra=extra)
        hook = text_of(payload.get("hookContext")) or "\n\n".join(hooks)
        if hook.strip():
            yield Say(Kind.CONTEXT, hook, label="Context from a hook")

    def _assistant(self, record: Data) -> Iterator[Item]:
        model = text_of(record.get("model"))
        for part in _parts_in(record):
            if isinstance(call := part.get("functionCall"), dict):
                name, asked = text_of(call.get("name")), dict_of(call.get("args"))
                yield Use(
                    name=name, use_id=text_of(call.get("id")), input=asked, model=model,
                    task=task_in(asked) if name in STARTERS else None,
                )  # fmt: skip
                continue
            said = content_of([part])
            for thinking in said.thoughts:
                if thinking := thinking.strip("\0"):
                    yield Say(Kind.THINKING, thinking, model=model)
            if said.text.strip() or "inlineData" in part:
                yield Say(Kind.TEXT, said.text, model=model, images=said.media)
        if (usage := read_usage(map(dict_of(record.get("usageMetadata")).get, _COUNTS))) is not None:
            origin = text_of(dict_of(record.get("forkedFrom")).get("messageUuid"))
            yield Count(usage, origin or text_of(record.get("uuid")), model)
        yield Fact(context_window=as_count(record.get("contextWindowSize")))

    def _system(self, record: Data, subtype: str) -> Iterator[Item]:
        payload = dict_of(record.get("systemPayload"))
        match subtype:
            case "slash_command":
                yield self._command(payload)
            case "at_command":
                files, told = texts_of(payload.get("filesRead")), text_of(payload.get("message"))
                failed, named = payload.get("status") == "error", files[0] if len(files) == 1 else f"{len(files)} files"
                label = f"{'Could not read' if failed else 'Read'} {named}"
                text = "\n".join([*(files if len(files) > 1 else []), *([told] if told else [])])
                flags = Flag.ERROR if failed else NO_FLAGS
                yield Say(Kind.NOTE if failed else Kind.CONTEXT, text, label, flags=flags)
            case "chat_compression":
                # The summary that took the conversation's place: the first of the new history that says something.
                history = (dict_of(one).get("parts") for one in list_of(payload.get("compressedHistory")))
                info = dict_of(payload.get("info"))
                before, after = as_count(info.get("originalTokenCount")), as_count(info.get("newTokenCount"))
                known = before is not None and after is not None
                label = f"Compacted, {before:,} tokens before, {after:,} after" if known else "Compacted"
                text = google.snapshot_text(next(filter(str.strip, (content_of(one).text for one in history)), ""))
                yield Say(Kind.COMPACTION, text, label, extra={"compaction": info} if info else None)
            case "rewind":
                count = as_count(payload.get("truncatedCount"))
                entries = f", {count:,} {'entry' if count == 1 else 'entries'} taken back" if count else ""
                yield Say(Kind.NOTE, label=f"Rewound{entries}")
            case "custom_title":
                title = text_of(payload.get("customTitle"))
                yield Title(title)
                if title.strip():
                    yield Fact(titleSource=text_of(payload.get("titleSource")) or "manual")
            case "ui_telemetry":
                yield from self._telemetry(dict_of(payload.get("uiEvent")))
            case _ if subtype not in _SILENT and not subtype.startswith(_SILENT_FAMILIES):
                yield Say(Kind.UNKNOWN, label=f"system {subtype}".strip())

    def _command(self, payload: Data) -> Item:
        command = text_of(payload.get("rawCommand"))
        if payload.get("phase") == "result":
            # What it printed: the items that the screen showed.
            items = [dict_of(item) for item in list_of(payload.get("outputHistoryItems"))]
            text = "\n\n".join(filter(None, map(_item_text, items)))
            flags = Flag.ERROR if any(item.get("type") == "error" for item in items) else NO_FLAGS
            return Say(Kind.OUTPUT, text, label="Output", flags=flags) if text else Skip("slash_command (no output)")
        if payload.get("hiddenInvocation") is True or not command.strip():
            return Skip("slash_command (not shown)")
        return Say(Kind.COMMAND, command, label=one_line(command))

    def _telemetry(self, event: Data) -> Iterator[Item]:
        kind, prompt = event.get("event.name"), text_of(event.get("prompt_id"))
        if kind == "qwen-code.api_error":
            yield Say(Kind.ERROR, text_of(event.get("error_message") or event.get("error")), label="API error")
        elif kind == "qwen-code.api_response" and re.search("(?:^|#)(?:managed|compress)-", prompt):
            # The answer to such a prompt is in no record.
            names = ("input", "output", "cached_content", "thoughts", "tool", "total")
            if (usage := read_usage(event.get(f"{name}_token_count") for name in names)) is not None:
                yield Count(usage, text_of(event.get("response_id")), text_of(event.get("model")), beside=True)

    def stamps(self, session: Session) -> object:
        return state_of(_subagents_of(session.path))

    def beside(self, session: Session) -> Iterable[Item]:
        """The files of subagents that this session's agent started; links are not followed."""
        folder = _subagents_of(session.path)
        if folder.parent.is_symlink():
            return
        for found, _ in islice(matching(folder, "agent-*.jsonl", [], is_root=False), _MOST_FILES):
            if (path := Path(found)) == session.path:
                continue
            meta = object_in(path.with_name(f"{path.stem}.meta.json"))
            agent, prompt = self._look(path)
            if agent is not None and text_of(meta.get("parentAgentId")) == (session.lineage.agent_id or ""):
                task = Task(text_of(meta.get("agentType")), text_of(meta.get("description")), prompt)
                name = agent or path.stem.removeprefix("agent-")
                yield Child(name, path, task=task, use_id=text_of(meta.get("toolUseId")))

    def _look(self, path: Path) -> tuple[str | None, str]:
        """A subagent's id and its first prompt, from the beginning of its file; no id where nothing is there yet."""
        lines, agent = JsonLines(), None
        for record in lines.push(bytes_in(path, _HEAD)) + lines.take_tail():
            agent = agent or text_of(record[3].get("agentId"))
            for item in self.read(record[3]):
                if isinstance(item, Say) and item.kind is Kind.PROMPT:
                    return agent, item.text
        return agent, ""


def _is_telling(record: Data) -> bool:
    """Claude Code has the same envelope, but `content` where these have `parts`, and no `systemPayload`."""
    if not isinstance(record.get("uuid"), str) or not isinstance(record.get("sessionId"), str):
        return False
    if record.get("type") == "system":
        return isinstance(record.get("subtype"), str) and "systemPayload" in record
    return record.get("type") in ("user", "assistant", "tool_result") and "parts" in dict_of(record.get("message"))


def _subagents_of(path: Path) -> Path:
    """Return the folder of a session's subagents: beside `chats`; a subagent's own folder for those it started."""
    folder = path.parent
    return folder if folder.parent.name == "subagents" else folder.parent / "subagents" / path.stem


def _parts_in(record: Data) -> list[Data]:
    return parts_of(dict_of(record.get("message")).get("parts"))


def _item_text(item: Data) -> str:
    """Return the text of a screen's item: its own, or what else is in it."""
    for key in ("text", "message"):
        if isinstance(text := item.get(key), str) and text.strip():
            return text
    rest = {key: value for key, value in item.items() if key not in ("type", "timestamp", "id") and value is not None}
    if all(isinstance(value, str | int | float) for value in rest.values()):
        lines = "\n".join(f"{key}: {value}" for key, value in rest.items())
    else:
        lines = as_json(rest, indent=True)
    return f"{text_of(item.get('type'))}\n{lines}".strip("\n") if rest else ""


def _replies(record: Data) -> Iterator[Answer]:
    """The results in a record, in order, each with what belongs to it of the record's parts."""
    found, about = content_of(_parts_in(record)).responses, dict_of(record.get("toolCallResult"))
    for parts in found:
        response = parts[0]["functionResponse"]
        call = text_of(response.get("id")) or text_of(about.get("callId"))
        # In a user's record the texts between results are the user's.
        content = parts if record.get("type") == "tool_result" else parts[:1]
        mine = about if len(found) == 1 or call == about.get("callId") else {}
        if (display := mine.get("resultDisplay")) is None:
            error = mine.get("error")
            display = error if isinstance(error, str) else dict_of(error).get("message")
        answer = google.answer_of(call, text_of(response.get("name")), content, display, mine.get("status"))
        more, told = text_of(display), answer.text or ""
        if answer.status is ToolStatus.ERROR and more.strip() and more not in told:
            answer.text = f"{told}\n{more}" if told else more  # the screen often told more than the model got
        yield answer


def read_usage(figures: Iterable[object]) -> TokenUsage | None:
    """The figures of a call, as `_COUNTS` names them; None if there are none.

    Whether thinking is counted in the candidates depends on whom Qwen Code talks to, and the total tells: an
    OpenAI-compatible service counts it in, Google does not. Without a total that fits it is taken to be counted in.
    """
    prompt, written, cached, thoughts, tool, total = map(as_count, figures)
    known = (prompt or 0) + (written or 0)
    apart = known + (thoughts or 0)
    outside = total != known and total in (apart, apart + (tool or 0))
    extra = None if total == known else tool
    usage = google.normalised(prompt, written, cached, thoughts, extra, thoughts_inside=not outside)
    if usage is not None and (usage.reasoning or 0) > (usage.output or 0):
        return usage._replace(reasoning=usage.output)
    return usage


PROVIDER = Qwen()

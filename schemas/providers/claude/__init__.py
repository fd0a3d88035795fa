"""Claude Code's sessions: JSON lines, one for each content block of a response (formats/claude-code.md).

Each line of a response repeats its usage. What a user line really is, `classify` tells. Subagents have files of their
own; a project's folder is looked at once for all its sessions, as thousands of them may lie side by side.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from schemas.clean import as_json, one_line
from schemas.diffs import FileDiff, from_structured_patch
from schemas.folders import bytes_in, entries_of, object_in, stat_of, state_of
from schemas.message import NO_FLAGS, Flag, Kind, Tool, ToolStatus, ToolType
from schemas.provider import HEAD_BYTES, Format, Location, Retention, SessionFile, moved_home
from schemas.providers.claude import classify as lines
from schemas.providers.claude.classify import UserLine, classify, notification, tag, typed_text
from schemas.providers.claude.history import BELOW, TAKEN_BACK, Rewinds, is_result
from schemas.providers.kit import words
from schemas.providers.kit.bases import Data, Lines
from schemas.providers.kit.blocks import arguments_of, images_in, task_in, texts_in
from schemas.providers.kit.history import History
from schemas.providers.kit.words import Answer, Count, Fact, Held, Item, Link, Say, Skip, Title, Use
from schemas.published import Published, categories
from schemas.records import JsonLines, read_record
from schemas.running import Running, Stated, Status, Wait
from schemas.slices import Listing
from schemas.usage import TokenUsage, as_count
from schemas.values import dict_of, list_of, number, text_of, when, whole

if TYPE_CHECKING:
    from schemas.provider import Environment, Head, Problem, Reading
    from schemas.session import Session


_TELLING = frozenset(
    """progress custom-title ai-title summary last-prompt pr-link frame-link cost-state worktree-state relocated
    permission-mode queue-operation""".split()  # noqa: SIM905
)
"""Those of the program's types that say something of the session, or are links of the chain."""
BOOKKEEPING = _TELLING | frozenset(
    """file-history-snapshot file-history-delta continued-in resume-head-vouch api-request-shape api-request-blob
    api-request api-request-resumed host-row content-replacement data-flow-records data-flow-incomplete
    fork-context-ref artifact-comment-monitor memory-mode derived-from ended-by-model tag agent-name agent-color
    agent-setting artifact-autoreact-ledger bridge-session history-suppression attribution-snapshot mode
    isolation-latch session-owner dev-mods atis-latch tools-used observer-ref repl-mode hybrid-organization started
    result speculation-accept marble-origami-commit marble-origami-snapshot""".split()  # noqa: SIM905
)
"""The program's own table of record types (2.1.332), and what older ones wrote."""
_TALK = frozenset({"user", "assistant"})
_CHAIN = _TALK | {"system", "attachment", "progress", "compact_boundary"}
CUSTOM, RENAMED, AI, SUMMARY, BORROWED, _FIRST_PROMPT, COMMAND, LAST, STEM = range(5, -4, -1)
"""Where a title is from, the best first."""
_PROJECT = re.compile(r"-|[A-Za-z]--")
"""How a project's folder begins: its path with every other sign as a hyphen, `/home` or `C:\\` at the start."""
_MOST_SIBLINGS = 200
"""Files that are looked into for titles: old ones only, and each for its first 64 KB."""
_MOST_FOLDERS = 60
_MOST_AGENTS = 5000
_SECONDS = 2.0
"""A folder's time does not tell that a file in it has grown, so what was seen is not believed for longer than this."""
_TOOLS: dict[ToolType, str] = {
    "write": "write edit multiedit str_replace_editor write_file edit_file create_file append_to_file",
    "read": "read webfetch read_file view_file cat",
    "search": "grep glob websearch",
    "shell": "bash taskoutput killshell bashoutput killbash",
    "task": "notebookedit todowrite taskcreate taskupdate taskget tasklist",
    "generic": "enterplanmode exitplanmode askuserquestion skill lsp task agent",
}
"""Interchange note 5.1, in lower case, and what it forgot: Agent (Task's new name), and the task and shell families."""
USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_BLOCKS = frozenset({"text", "image", "document", "tool_reference"})
_AGENT_ID = re.compile(r"agentId: ([A-Za-z0-9_-]{1,80})")
_INTERRUPTED = "[Request interrupted"
_REFUSED = (
    "User rejected tool use", "The user doesn't want to", "Error: The user doesn't want to",
    "Claude requested permissions to ", "This command requires approval", "Output redirection to '",
    "This Bash command contains multiple operations. The following part",
)  # fmt: skip
_SILENT_DENIALS = [2, 1, 280]
"""The last version known not to say whether a use was denied before it ran (lab/faults/claude-5)."""
_PRICED = ("speed", "service_tier", "inference_geo")
_PLAIN = (None, "standard", "global", "not_available", "")
"""What changes the price of a call, and what they say where it does not (faults f14)."""
_TEXT, _THINKING, _OK = Kind.TEXT, Kind.THINKING, ToolStatus.OK  # an enum's members take long to look up
_FACTS = {
    "cwd": "cwd", "gitBranch": "gitBranch", "requestId": "requestId", "effort": "effort",
    "permissionMode": "permissionMode", "promptSource": "promptSource", "apiErrorStatus": "apiErrorStatus",
    "isAbortedMidStream": "abortedMidStream", "attributionSkill": "skill", "attributionAgent": "agent",
    "attributionPlugin": "plugin", "attributionMcpServer": "mcpServer", "sourceToolUseID": "sourceToolUseId",
    "supersedesUuids": "supersedes",
}  # fmt: skip

_STATUS: Mapping[str, tuple[Status, str]] = {
    "busy": (Status.WORKS, ""), "idle": (Status.DONE, ""), "waiting": (Status.WAITS, ""),
    "shell": (Status.DONE, "a background command runs"),
}  # fmt: skip
_WAITS = {
    "permission prompt": Wait.PERMISSION, "sandbox request": Wait.PERMISSION, "input needed": Wait.QUESTION,
    "goal proposal": Wait.PLAN,
}  # fmt: skip
_SPACE = re.compile(r"pid:\[\d+\]")
_PUBLISHED = Published(
    names=("claude-code",),
    source="claude-code",
    categories=categories(
        file_read="Read", file_write="Write Edit MultiEdit NotebookEdit", file_search="Glob Grep", shell="Bash",
        network="WebFetch WebSearch", delegation="Task Agent",
    ),
    by_block=True,
    untyped=re.compile(
        r"^(?:<command-(?:name|message|args)>|<local-command-(?:stdout|stderr|caveat)>|\[Request interrupted by user)"
        r"|<TEXTBLOCK>|(?i:warmup)"
    ),
    steps="claude.steps:ClaudeSource",
)  # fmt: skip


class Claude(Lines):
    """Claude Code, from 1.0.98 to 2.1.332."""

    id = "claude"
    name = "Claude Code"
    verified = "real sessions of 1.0.98 to 2.1.132, genuine ones of 1.0.88, 2.0.2, 2.1.58, 2.1.196 and 2.1.332"
    counting = (
        "Claude Code writes a line for each content block of a response and repeats the response's usage on each "
        "of them, so lines with one message id are one group, which counts once: of each figure the largest. "
        "Input does not include what was read from or written to the cache. What a process spent and no line shows "
        "(a compaction, small helpers) is counted from its own total, as in no record. Where a version wrote only the "
        "figures with which a response began (2.1.58 did), output is too small, and nothing in the file tells it."
    )
    uncounted: ClassVar[Mapping[str, str]] = {
        "progress": "what is told of a subagent, whose responses are counted by themselves",
        "user": "what is told of a subagent, whose responses are counted by themselves",
        "system": "a report about responses, no response",
        "result": "a sum of responses, which are counted one by one",
    }
    cache_miss: ClassVar[tuple[str, ...]] = ("message", "diagnostics", "cache_miss_reason", "type")
    formats: ClassVar[tuple[Format, ...]] = (
        Format("Claude Code session, JSON lines", "a record with sessionId and uuid, parentUuid or a type of its own"),
    )
    marks: ClassVar[tuple[bytes, ...]] = (b'"uuid"', b'"sessionId"', b'"messageId"', b'"leafUuid"')
    resume, uuids = ("claude", "--resume"), True
    silent: ClassVar[frozenset[str]] = BOOKKEEPING - _TELLING
    history: ClassVar[type[History]] = Rewinds
    copies, recount, answers = False, "largest", "first"  # its history tells copies by their uuids
    listing = Listing(r" *(\d+)[→\t]")
    tools: ClassVar[Mapping[str, ToolType]] = {name: kind for kind, names in _TOOLS.items() for name in names.split()}
    published = _PUBLISHED
    running = Running(
        headless=r" (?:-p|--print)(?: |$)", variables=("CLAUDE_CODE_SESSION_ID",), questions=("AskUserQuestion",),
        plans=("ExitPlanMode",), draws=True,
    )  # fmt: skip
    starters: ClassVar[frozenset[str]] = frozenset({"Task", "Agent", "Workflow"})
    """Tools that start subagents."""
    said: ClassVar[type[Say]] = Say
    """The word for a text or a thinking, which `once` begins with its response."""

    def __init__(self) -> None:
        self._figures: tuple[Data, str, TokenUsage | None, str] = {}, "", None, ""
        """The usage read last with its model, and what they say: the lines of a response repeat it."""
        self._kinds: dict[str, Callable[[Data], Iterable[Item]]] = {
            "user": self._user, "assistant": self._assistant, "system": self._system, "attachment": self._attachment,
            "queue-operation": self._queue, "compact_boundary": self._system, "progress": self._progress,
        }  # fmt: skip

    def locations(self, env: Environment) -> list[Location]:
        """Every folder of projects such a machine can have, those named by variables first, none twice.

        Claude Code takes one path in CLAUDE_CONFIG_DIR; other tools read lists from it and from CLAUDE_CONFIG_DIRS, so
        lists are taken. The default places are looked into as well: what was written before a variable was set is
        there.
        """
        found: list[Location] = []
        for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_CONFIG_DIRS"):
            for text in re.split("[,;]" if env.platform == "win32" else "[,:]", env.variables.get(name, "")):
                if text.strip():
                    path = _expand(text.strip(), env.home)
                    found.append(Location(path if path.name == "projects" else path / "projects", name))
        found.append(Location(env.home / ".claude" / "projects", "default"))
        if env.platform == "win32" and (profile := env.variables.get("USERPROFILE")):
            found.append(Location(Path(profile) / ".claude" / "projects", "USERPROFILE"))
        config = env.variables.get("XDG_CONFIG_HOME")
        base = _expand(config, env.home) if config else env.home / ".config"
        found.append(Location(base / "claude" / "projects", "XDG_CONFIG_HOME" if config else "default"))
        siblings = sorted(path for path in env.home.glob(".claude-*/projects") if path.is_dir())
        found += [Location(path, "a home beside ~/.claude") for path in siblings]
        if env.platform == "darwin":
            desktop = env.home / "Library" / "Application Support" / "Claude" / "local-agent-mode-sessions"
            deeper = ("*/" * depth + ".claude/projects" for depth in range(6))
            found += [Location(path, "Claude Desktop") for one in deeper for path in sorted(desktop.glob(one))]
        distinct = {os.path.realpath(place.path): place for place in reversed(found)}
        return [place for place in found if distinct[os.path.realpath(place.path)] is place]

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The `*.jsonl` in each project folder, subagents' apart. `sessions-index.json` is missing or old mostly."""
        for project in entries_of(location.path, problems, is_root=True):
            for entry in entries_of(project.path, problems) if project.is_dir() else ():
                name = entry.name
                is_session = name.endswith(".jsonl") and not name.startswith("agent-") and entry.is_file()
                if is_session and (stat := stat_of(entry, problems)) is not None:
                    yield SessionFile(self.id, entry.path, name[:-6], stat.st_size, stat.st_mtime_ns)

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """CLAUDE_CONFIG_DIR, where the session lies in another folder than that names, or `~/.claude`."""
        project = Path(os.path.abspath(path)).parent
        is_there = project.parent.name == "projects" and _PROJECT.match(project.name)
        return moved_home("CLAUDE_CONFIG_DIR", project.parent.parent if is_there else None, [_home(env)])

    def retention(self, env: Environment) -> Retention:
        """The days after which Claude Code deletes a session, and what says so (formats/claude-code.md 1)."""
        days = object_in(_home(env) / "settings.json").get("cleanupPeriodDays")
        if isinstance(days, int | float) and days >= 0:
            return Retention(f"deletes sessions after {days:g} days", "cleanupPeriodDays in settings.json")
        return Retention("deletes sessions after 30 days", "default; cleanupPeriodDays in settings.json changes it")

    def stated(self, env: Environment) -> Iterator[Stated]:
        """Read the registries of running sessions beside the folders of projects, a file a process (found-live.md 3).

        A file is removed at an exit, and stays after kill -9.
        """
        for folder in dict.fromkeys(location.path.with_name("sessions") for location in self.locations(env)):
            for entry in entries_of(folder, [], is_root=True):
                said = object_in(Path(entry.path)) if entry.name.endswith(".json") else {}
                if (pid := whole(said.get("pid"))) and (session := text_of(said.get("sessionId"))):
                    status, note = _STATUS.get(text_of(said.get("status")), (Status.UNTOLD, ""))
                    wait = _WAITS.get(text_of(said.get("waitingFor"))) if status is Status.WAITS else None
                    if status is Status.WAITS and wait is None:
                        status = Status.UNTOLD  # a dialog that the person opened, or a reason that nobody described
                    start, space = text_of(said.get("procStart")), _SPACE.search(text_of(said.get("pidDomain")))
                    yield Stated(
                        session, pid, int(start) if start.isdecimal() else 0, space[0] if space else "", status, wait,
                        when(said.get("statusUpdatedAt")), note,
                    )  # fmt: skip

    def detect(self, head: Head) -> bool:
        """Return whether one record of the conversation is such as only Claude Code writes, or most records are its.

        One is enough, since record types come with every release: what is unknown says nothing against the rest.
        A file of `summary` lines alone is no session: they name sessions of other files. A stream
        (`--output-format stream-json`) has `session_id` where a session has `sessionId`.
        """
        records = head.records
        if head.compressed or any(map(_is_telling, records)):
            return not head.compressed
        ours, summaries = sum(map(_is_ours, records)), sum(map(_is_summary, records))
        if not ours:
            return bool(summaries) and summaries == len(records) and len(head.data) >= HEAD_BYTES
        return (ours + summaries) * 2 >= len(records)

    def is_foreword(self, records: list[Data]) -> bool:
        """Return whether there are only titles of other sessions yet, which stand before a session (faults f04)."""
        return bool(records) and all(map(_is_summary, records))

    def stamps(self, session: Session) -> object:
        """Return the states of the folders of a session's subagents and of its project, which show a change."""
        return [state_of(folder) for folder in _folders_of(session.path)]

    def beside(self, session: Session) -> Iterable[Item]:
        """Subagents in files of their own, flat at any depth; and titles that other files hold, or the file's name."""
        path = session.path
        yield Title(path.stem, STEM)
        is_own = not path.name.startswith("agent-")
        if is_own:
            yield Title(text_of(_object_in(side_dir(path) / "custom-title.json").get("customTitle")), CUSTOM)
        for folder in _folders_of(path):
            agents, titles = _seen_in(folder, state_of(folder), int(time.monotonic() / _SECONDS))
            yield from (Title(title, BORROWED, leaf) for leaf, title in titles.items() if is_own)
            mixed = folder == path.parent and folder.name != "subagents"
            # A subagent's siblings may be its own helpers: those count if one of its uses says so.
            yield from filter(None, (_subagent(session, folder / name, own=is_own, mixed=mixed) for name in agents))

    def spent(self, paths: Sequence[Path]) -> Sequence[tuple[str, TokenUsage]] | None:
        """Return the tokens in the files of subagents, which `cost-state` counts too; None if one cannot be read."""
        try:
            return [one for path in paths for one in _spent(path, state_of(path), self.open)]
        except OSError:
            return None

    def time(self, record: Data) -> float | None:
        """Bookkeeping may be written much later, so it has none."""
        return when(record.get("timestamp")) if "uuid" in record else None

    def name_of(self, record: Data) -> str:
        """The record's uuid."""
        return text_of(record.get("uuid"))

    def setting(self, record: Data) -> Fact:
        return Fact(workspace_root=record.get("cwd"), branch=record.get("gitBranch"), version=record.get("version"))

    def facts(self, record: Data) -> Data:
        """Return the facts of a record for which SessionData has no field."""
        message = dict_of(record.get("message"))
        found = {"recordType": one_line(str(record.get("type")), 60)}
        found |= {key: record[name] for name, key in _FACTS.items() if record.get(name) not in (None, "")}
        more = {
            "origin": dict_of(record.get("origin")).get("kind"), "stopReason": message.get("stop_reason"),
            "stopSequence": message.get("stop_sequence"),
            "serviceTier": dict_of(message.get("usage")).get("service_tier"),
        }  # fmt: skip
        return found | {key: text for key, text in more.items() if isinstance(text, str) and text}

    def read(self, record: Data) -> Iterable[Item]:
        kind = record.get("type")
        reader = self._kinds.get(kind) if type(kind) is str else None
        return reader(record) if reader is not None else self._other(record, kind)

    def _assistant(self, record: Data) -> Iterator[Item]:
        message = record.get("message")
        message = {"content": message} if type(message) is str else dict_of(message)  # faults f25
        content, model = message.get("content"), message.get("model")
        if model == "<synthetic>" or record.get("isApiErrorMessage") is True:
            yield self.synthetic(record, content)
            return
        name = message.get("id") or record.get("requestId") or record.get("uuid")
        name, model = name if type(name) is str else "", model if type(model) is str else ""
        for block in content if type(content) is list else (content,):
            if (item := self._block(block, name, model)) is not None:
                yield item
        usage = message.get("usage")
        if type(usage) is dict:
            if usage != self._figures[0] or model != self._figures[1]:
                self._figures = usage, model, self.usage_of(usage), priced_as(model, usage)
            if (figures := self._figures[2]) is not None:
                yield Count(figures, name, self._figures[3])
            # Of an advisor's calls alone the response's own figures say nothing (faults f14).
            for at, one in enumerate(map(dict_of, list_of(usage.get("iterations")))):
                if one.get("type") == "advisor_message" and (more := self.usage_of(one)) is not None:
                    yield Count(more, f"{name}:advisor:{at}", priced_as(text_of(one.get("model")), one), beside=True)

    def _block(self, block: object, name: str, model: str) -> Item | None:
        """A block of response `name`. Later lines may repeat it."""
        if type(block) is str:
            block = {"type": "text", "text": block}
        if type(block) is not dict:
            return None
        kind = block.get("type")
        if kind == "text":
            text = block.get("text")
            if type(text) is not str or not text or text.isspace():
                return None
            return self.said(_TEXT, text, "", model, "", (name, text))
        if kind == "thinking" or kind == "redacted_thinking":
            text = text_of(block.get("thinking"))
            seal = text or text_of(block.get("signature")) or text_of(block.get("data"))
            flags = NO_FLAGS if text else Flag.WITHHELD
            return self.said(_THINKING, text, "", model, "", (name, (0, seal)), flags=flags)
        kind = text_of(kind)
        if kind in USES:
            given, tool = arguments_of(block.get("input")), text_of(block.get("name"))
            task = task_in(given) if tool in self.starters else None
            return Use(name=tool, use_id=text_of(block.get("id")), model=model, input=given, task=task)
        if kind.endswith("tool_result"):
            return self.result({}, block, alone=False)
        if kind == "fallback":  # formats note 5
            models = (one_line(str(dict_of(block.get(key)).get("model")), 80) for key in ("from", "to"))
            return Say(Kind.NOTE, label="Model switched: " + " → ".join(models))
        return Say(Kind.UNKNOWN, as_json(block), f"assistant block {one_line(str(block.get('type')), 80)}")

    def usage_of(self, usage: Data) -> TokenUsage | None:
        """The figures of a call, which do not overlap; None if there is not one of them."""
        get, kept = usage.get, dict_of(usage.get("cache_creation"))
        hour, written = as_count(kept.get("ephemeral_1h_input_tokens")), as_count(get("cache_creation_input_tokens"))
        if written is None and kept:
            parts = [n for n in (hour, as_count(kept.get("ephemeral_5m_input_tokens"))) if n is not None]
            written = sum(parts) if parts else None
        details = get("output_tokens_details")
        reasoning = as_count(dict_of(details).get("thinking_tokens")) if details else None
        given, said = as_count(get("input_tokens")), as_count(get("output_tokens"))
        read = as_count(get("cache_read_input_tokens"))
        if given is said is read is written is None:
            return None
        return TokenUsage(given, said, read, written, reasoning, hour)

    def synthetic(self, record: Data, content: object) -> Item:
        """Read a text that Claude Code wrote in the model's place: an API error, or a note."""
        text = texts_in(content).strip()
        error = record.get("error")
        if record.get("isApiErrorMessage") is True or type(error) is str or text.startswith("API Error"):
            kind, code = text_of(error).replace("_", " "), as_count(record.get("apiErrorStatus"))
            label = f"API error{f' {code}' if code else ''}{f' ({one_line(kind, 80)})' if kind else ''}"
            return Say(Kind.ERROR, text, label)
        label, body = notification(text)
        return Say(Kind.NOTE, body, label) if text else Skip("assistant empty")

    def _user(self, record: Data) -> Iterator[Item]:
        message = record.get("message")
        content = message if type(message) is str else dict_of(message).get("content")
        if type(content) is not list:
            yield from self.typed(record, content)
            return
        results = [] if record.get("isCompactSummary") is True else [block for block in content if is_result(block)]
        for block in results:
            yield self.result(record, block, alone=len(results) == 1)
        if len(results) == len(content) > 0:
            return
        rest = [block for block in content if not is_result(block)]
        yield from self.typed(record, rest, Kind.STEER if results else Kind.PROMPT)  # a refused use says why
        for block in rest:
            if type(block) is dict and text_of(block.get("type")) not in _BLOCKS:
                yield Say(Kind.UNKNOWN, as_json(block), f"user block {one_line(str(block.get('type')), 80)}")

    def typed(self, record: Data, content: object, kind: Kind = Kind.PROMPT) -> Iterator[Item]:
        """Read a text that a person typed, and all that is dressed like one (formats/claude-code.md 5)."""
        line, text = classify(record, content)
        images = images_in(content)
        if line is UserLine.TEAMMATE and record.get("isSidechain") is True:
            line = UserLine.PROMPT
        match line:
            case UserLine.PROMPT:
                label, body = notification(text) if text.lstrip().startswith(("<teammate", "<agent-m")) else ("", text)
                label = "plan" if text_of(record.get("planContent")) else label
                extra = {"injected": found} if (found := typed_text(content)[1]) else None
                yield Held(kind, body, label, images=images, extra=extra, role="typed")
                yield Held(Kind.NOTE, label=BELOW)
            case UserLine.COMMAND:
                yield from command(text)
            case UserLine.OUTPUT:
                asks = record.get("turnOrigin") == "human"  # lab/faults/claude-3
                yield Say(Kind.OUTPUT, lines.command_output(text), "Output", asks=asks)
            case UserLine.SUMMARY:
                parent = text_of(record.get("parentUuid")) or text_of(record.get("uuid"))
                yield words.Piece(Kind.COMPACTION, text, id=f"{parent}:compaction")
            case UserLine.INTERRUPT:
                label = "Interrupted during a tool use" if "for tool use" in text else "Interrupted"
                yield Say(Kind.INTERRUPT, text, label)
            case UserLine.NOTIFICATION | UserLine.TEAMMATE:
                yield from notified(text)
            case UserLine.CAVEAT | UserLine.EMPTY:
                yield Skip(f"user {line.name.lower()}")
            case _:
                yield Say(Kind.CONTEXT, texts_in(content), lines.context_label(text), images=images)

    def result(self, record: Data, block: Data, *, alone: bool) -> Answer:
        """The result of a tool use; `alone`: what the record says beside it is of this one."""
        content, extra = block.get("content"), None
        if alone:  # what is printed spells it otherwise
            extra = record.get("toolUseResult", record.get("tool_use_result"))
        details, status = dict_of(extra), _OK
        text = lines.fold_reminders(content if type(content) is str else texts_in(content, "\n"))[0]
        if block.get("is_error") is True:
            status = _failure(record, text, extra)
            if text.startswith("Exit code "):
                text = text.partition("\n")[2]
        elif details.get("interrupted") is True:
            status = ToolStatus.INTERRUPTED
        elif details.get("backgroundTaskId") or details.get("status") == "async_launched":
            status = ToolStatus.BACKGROUND
        # SendMessage wakes an agent that another use started (faults f23).
        agent = text_of(details.get("agentId") or details.get("resumedAgentId"))
        if not agent and text.find("agentId: ", -4000) >= 0 and (found := _AGENT_ID.search(text[-4000:])):
            agent = found[1]
        return Answer(text_of(block.get("tool_use_id")), text, status, subagent=agent, details=(block, extra, record))

    def tool_type(self, name: str, otherwise: ToolType = "unknown") -> ToolType:
        return self.tools.get(name.lower(), otherwise)

    def tool(self, use: Use, answer: Answer | None, path: Path) -> tuple[Tool, Data]:
        """A tool use and its result: `toolUseResult` says more than the model got."""
        tool, facts = lines.build_tool(use, answer, side_dir(path) / "tool-results", self.tool_type(use.name))
        tool.diffs = self.diffs(tool, answer)
        return tool, facts

    def diffs(self, tool: Tool, answer: Answer | None) -> list[FileDiff]:
        """Return the changes of a tool, from `structuredPatch`, else from its input. A use that failed has none."""
        details = dict_of(answer.details[1]) if answer is not None and answer.details else {}
        path = text_of(details.get("filePath")) or text_of(tool.input.get("file_path"))
        texts = [details.get("originalFile"), *tool.input.values()]
        diff = from_structured_patch(path, details.get("structuredPatch"), texts)
        known = tool.status is ToolStatus.OK and diff is not None and diff.hunks
        return [diff] if known and diff is not None else super().diffs(tool, answer)

    def _system(self, record: Data) -> Iterator[Item]:
        subtype = text_of(record.get("subtype")) if record.get("type") == "system" else "compact_boundary"
        content = text_of(record.get("content"))
        if subtype == "compact_boundary":
            facts = dict_of(record.get("compactMetadata"))
            yield words.Piece(
                Kind.COMPACTION, label=lines.compaction_label(facts), id=f"{text_of(record.get('uuid'))}:compaction",
                extra={"compaction": facts} if facts else None,
            )  # fmt: skip
        elif subtype == "local_command" and not content.lstrip().startswith("<local-command-"):
            yield from command(content.lstrip())
        elif subtype == "local_command":
            shown = tag(content, "local-command-stdout").strip()
            if shown.startswith("Session renamed to: "):
                yield Title(shown.removeprefix("Session renamed to: "), RENAMED)
            yield Say(Kind.OUTPUT, lines.command_output(content), "Output")
        elif (said := lines.system_says(record)) is not None:
            yield said
        elif subtype in ("session_start", "", "stop_hook_summary", "turn_duration"):
            spent = number(record.get("durationMs")) if subtype == "turn_duration" else None
            if spent is not None and 0 <= spent < 1e12:
                yield words.Turn(begins=False, seconds=spent / 1000)
            yield Skip(f"system {subtype}".strip())
        else:
            yield Say(Kind.UNKNOWN, label=f"system {subtype}")

    def _attachment(self, record: Data) -> Iterable[Item]:
        inner = dict_of(record.get("attachment"))
        if (kind := text_of(inner.get("type"))) == "queued_command":
            return self.typed(inner, inner.get("prompt"), Kind.STEER)
        return (lines.attachment_says(inner) or Skip(f"attachment {kind}".strip()),)

    def _queue(self, record: Data) -> Iterator[Item]:
        text, time = text_of(record.get("content")), when(record.get("timestamp"))
        if text.lstrip().startswith("<task-notification>"):
            yield from (item for item in notified(text) if type(item) is Link)
        typed, operation = typed_text(text)[0], text_of(record.get("operation"))
        yield Held(Kind.STEER, typed, "Queued, not delivered", role=operation, time=time)
        yield Held(Kind.STEER, typed, time=time)
        yield Held(Kind.NOTE, label=TAKEN_BACK)
        yield Skip("queue-operation")

    def _progress(self, record: Data) -> Iterable[Item]:
        """Read the progress of a tool use: only links of the chain, except one that names a started subagent."""
        data = record.get("data")
        if type(data) is not dict or data.get("type") != "agent_progress":
            return ()
        return (Link(text_of(record.get("parentToolUseID")), text_of(data.get("agentId"))),)

    def _other(self, record: Data, kind: object) -> Iterator[Item]:
        """Records without a place in the talk: titles, links, totals, bookkeeping. Unknown types are shown."""
        match kind:
            case "custom-title" | "ai-title" | "last-prompt":
                yield Title(text_of(record.get("customTitle")), CUSTOM)
                yield Title(text_of(record.get("aiTitle")), AI)
                yield Title(text_of(record.get("lastPrompt")), LAST)
            case "summary":
                yield Title(_summary_of(record), SUMMARY, hash(text_of(record.get("leafUuid"))))
            case "pr-link" | "frame-link":
                yield Fact(link=text_of(record.get("prUrl")) or text_of(record.get("frameUrl")))
            case "cost-state":
                for name, usage in model_usage(record.get("modelUsage")).items():
                    yield words.Total(usage, name, beside=True)
            case "worktree-state" | "relocated":
                inner = dict_of(record.get("worktreeSession"))
                yield Fact(worktree=text_of(inner.get("worktreePath")) or text_of(record.get("relocatedCwd")))
            case "permission-mode":
                yield Fact(permissionMode=text_of(record.get("permissionMode")))
        name = "(no type)" if kind is None else str(kind)
        yield Skip(name) if name in BOOKKEEPING else Say(Kind.UNKNOWN, label=name)

    def same_model(self, one: str, other: str) -> bool:
        """A date, the mark of a longer context and what else changes the price stand in one of them only."""
        return not other or bare_model(one) == bare_model(other)


def priced_as(model: str, usage: Data) -> str:
    """The model, with what makes its calls cost something else than the model's own price says."""
    marks = []
    for name in _PRICED:
        if (said := usage.get(name)) not in _PLAIN and type(said) is str:
            marks.append(said)
    if (served := usage.get("server_tool_use")) and as_count(dict_of(served).get("web_search_requests")):
        marks.append("web search")
    return f"{model} ({', '.join(marks)})" if marks and model else model


def bare_model(name: str) -> str:
    """A model's name without its date and marks."""
    name = name.partition("[")[0].partition(" (")[0]
    head, _, date = name.rpartition("-")
    return head if len(date) == 8 and date.isdigit() else name


def model_usage(value: object) -> dict[str, TokenUsage]:
    """The figures of a `modelUsage`, by model."""
    keys = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens", "thinkingTokens")
    found = {name: TokenUsage(*(as_count(dict_of(v).get(k)) for k in keys)) for name, v in dict_of(value).items()}
    return {one_line(name, 100): usage for name, usage in found.items() if any(usage)}


def _failure(record: Data, text: str, extra: object) -> ToolStatus:
    """Return the status of a use whose result is an error. Since 2.1.3xx a denial says that it came before the run."""
    said, denial = text_of(extra), record.get("toolDenialKind")
    if denial == "interrupted" or text.startswith(_INTERRUPTED) or said.startswith(_INTERRUPTED):
        return ToolStatus.INTERRUPTED
    if not (text.startswith(_REFUSED) or said.startswith(_REFUSED) or type(denial) is str):
        return ToolStatus.ERROR
    ruled = dict_of(record.get("permissionDecision")).get("decision") == "reject"
    late = denial == "user-rejected" and not ruled and record.get("toolDenialBeforeRun") is not True
    version = text_of(record.get("version")).split(".")
    numbers = [int(n) if n.isascii() and n.isdigit() and len(n) < 9 else -1 for n in version]
    return ToolStatus.INTERRUPTED if late and numbers > _SILENT_DENIALS else ToolStatus.DENIED


def command(text: str) -> Iterator[Item]:
    """A slash command, a `!` command or a note, most of which name a session that nothing else does."""
    label = lines.command_label(text)
    if label.split(" ", 1)[0] not in ("/clear", "/exit", "/model", "/login", "/usage"):
        yield Title(label, COMMAND, first=True)
    yield Say(Kind.COMMAND, label, one_line(label))


def notified(text: str) -> Iterator[Item]:
    """A background task's end, or mail."""
    label, body = notification(text)
    yield Say(Kind.NOTE, body, label)
    if (use := tag(text, "tool-use-id")) and (agent := tag(text, "task-id")):
        yield Link(use.strip(), agent.strip())


def _home(env: Environment) -> Path:
    """The folder that Claude Code itself looks into: the variable is one path to it."""
    named = env.variables.get("CLAUDE_CONFIG_DIR", "")
    return _expand(named, env.home) if named else env.home / ".claude"


def _expand(text: str, home: Path) -> Path:
    return home / text[2:] if text == "~" or text.startswith(("~/", "~\\")) else Path(text)


def _is_summary(record: Data) -> bool:
    return record.get("type") == "summary" and isinstance(record.get("leafUuid"), str)


def _is_chain(record: Data) -> bool:
    """Return whether a record is one of the conversation, or hangs on it (formats/claude-code.md 2)."""
    kind, message = text_of(record.get("type")), record.get("message")
    is_linked = isinstance(record.get("uuid"), str) and ("parentUuid" in record or "sessionId" in record)
    if kind not in _CHAIN or not is_linked:
        return False
    if kind not in _TALK:
        return "systemPayload" not in record
    if isinstance(message, dict):  # Qwen Code writes the same envelope around Gemini's `parts`
        return "parts" not in message and ("content" in message or "role" in message)
    return "message" in record or "isSidechain" in record


def _is_telling(record: Data) -> bool:
    """A prompt or an answer with the whole envelope."""
    whole = "parentUuid" in record and isinstance(record.get("sessionId"), str)
    return whole and isinstance(record.get("message"), dict) and _is_chain(record) and record["type"] in _TALK


def _is_ours(record: Data) -> bool:
    named = isinstance(record.get("sessionId"), str) or isinstance(record.get("messageId"), str)
    return _is_chain(record) or (named and text_of(record.get("type")) in BOOKKEEPING)


@lru_cache(64)  # it is asked for each tool use, and taking a path apart is slow
def side_dir(path: Path) -> Path:
    """The folder beside a session file that holds its subagents and spilled outputs; an agent file lies within it."""
    above = (parent.parent for parent in list(path.parents)[:3] if parent.name == "subagents")
    return next(above, path.parent / path.stem)


def _folders_of(path: Path) -> list[Path]:
    """The folders in which a session's subagents may lie; versions 2.0.x put them beside the sessions."""
    base = side_dir(path) / "subagents"
    if not base.is_dir():
        return [path.parent]
    flows = base / "workflows"
    inner = [Path(entry.path) for entry in entries_of(flows, [], is_root=True) if entry.is_dir()]
    return list(dict.fromkeys([base, flows, *inner, path.parent]))


@lru_cache(_MOST_FOLDERS)
def _seen_in(folder: Path, state: object, moment: int) -> tuple[list[str], dict[int, str]]:
    """The names of the subagents' files in a folder, and titles in its others for the sessions with such records.

    Old versions wrote a session's summary into whatever file was open, beside the uuid of its last record, whose hash
    stands here.
    """
    entries = entries_of(folder, [], is_root=True)
    names = [entry.name for entry in entries if entry.name.endswith(".jsonl") and entry.is_file()]
    agents = [name for name in names if name.startswith("agent-")]
    titles: dict[int, str] = {}
    for name in [name for name in names if not name.startswith("agent-")][:_MOST_SIBLINGS]:
        data = bytes_in(folder / name, HEAD_BYTES)
        for *_, record in JsonLines().push(data) if b'"leafUuid"' in data else ():
            leaf, title = record.get("leafUuid"), _summary_of(record)
            if record.get("type") == "summary" and isinstance(leaf, str) and title:
                titles.pop(hash(leaf), None)  # the last one that is said counts
                titles[hash(leaf)] = one_line(title)
    return agents[:_MOST_AGENTS], titles


def _summary_of(record: Data) -> str:
    """The title in a record `summary`; empty where version 1.0 wrote an error in its place."""
    text = text_of(record.get("summary"))
    return "" if text.startswith(("Invalid API key", "API Error")) else text


def _subagent(session: Session, path: Path, *, own: bool, mixed: bool) -> words.Child | None:
    """The subagent in a file; None for the session itself, and for another one's where a folder has those `mixed`."""
    if path == session.path:
        return None
    meta, prompt = _object_in(path.with_suffix(".meta.json")), ""
    use = text_of(meta.get("toolUseId"))
    if mixed or not use:
        source, prompt = _opening(path, state_of(path))
        if mixed and source not in (session.id, session.metadata.get("sessionId")):
            return None
    agent = path.stem.removeprefix("agent-")
    about = text_of(meta.get("description")) or text_of(meta.get("name"))
    task, is_internal = words.Task(text_of(meta.get("agentType")), about, prompt), agent.startswith("acompact-")
    return words.Child(agent, path, "", task, use, is_internal, own)


@lru_cache(_MOST_AGENTS)
def _opening(path: Path, state: object) -> tuple[str, str]:
    """The session that a subagent's file names, and its first prompt."""
    lines, source = JsonLines(), ""
    for record in lines.push(bytes_in(path, HEAD_BYTES)) + lines.take_tail():
        source = source or text_of(record[3].get("sessionId"))
        if record[3].get("type") == "user":
            text = typed_text(dict_of(record[3].get("message")).get("content"))[0]
            return source, notification(text)[1] if text.startswith("<teammate-message") else text
    return source, ""


@lru_cache(_MOST_AGENTS)
def _spent(path: Path, state: object, open_: Callable[[Path], Reading]) -> list[tuple[str, TokenUsage]]:
    """Return the tokens of the responses in a subagent's file, each with its model. Raises OSError."""
    reading = open_(path)
    while not reading.done:
        reading.step()
    groups, models = reading.session.groups, reading.session.models
    return [(models[groups.model[g]], groups.usage[g]) for g in range(len(groups))]


def _object_in(path: Path) -> Data:
    return read_record(bytes_in(path, HEAD_BYTES)) if path.is_file() and not path.is_symlink() else {}


PROVIDER = Claude()

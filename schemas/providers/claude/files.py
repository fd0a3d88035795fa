"""Where Claude Code keeps its sessions, which files are sessions, and what lies beside one: the files of its subagents,
and titles in the folder of its project (formats/claude-code.md 1).

A project's folder is looked at once for all its sessions: thousands of them may lie side by side.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.clean import one_line
from schemas.folders import entries_of, stat_of, state_of
from schemas.provider import HEAD_BYTES, Environment, Head, Location, Problem, Retention, SessionFile, moved_home
from schemas.providers.claude.classify import notification, typed_text
from schemas.providers.kit.bases import Data, Lines
from schemas.providers.kit.files import bytes_in, object_in
from schemas.providers.kit.words import Child, Item, Task, Title
from schemas.records import JsonLines, read_record
from schemas.values import dict_of, text_of

if TYPE_CHECKING:
    from schemas.provider import Reading
    from schemas.session import Session
    from schemas.usage import TokenUsage

BOOKKEEPING = frozenset(
    """progress file-history-snapshot file-history-delta last-prompt continued-in resume-head-vouch api-request-shape
    api-request-blob api-request api-request-resumed host-row content-replacement data-flow-records
    data-flow-incomplete fork-context-ref frame-link artifact-comment-monitor memory-mode derived-from summary
    custom-title ended-by-model ai-title tag relocated agent-name agent-color agent-setting pr-link
    artifact-autoreact-ledger bridge-session history-suppression attribution-snapshot mode isolation-latch
    session-owner dev-mods atis-latch tools-used worktree-state cost-state observer-ref repl-mode hybrid-organization
    started result speculation-accept marble-origami-commit marble-origami-snapshot permission-mode
    queue-operation""".split()  # noqa: SIM905
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
_MOST_FOLDERS = 20
_MOST_AGENTS = 5000
_SECONDS = 2.0
"""A folder's time does not tell that a file in it has grown, so what was seen is not believed for longer than this."""


class Located(Lines):
    """Where Claude Code's sessions live, what they look like, how long they stay, and what lies beside one."""

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
            found += [Location(path, "Claude Desktop") for path in _desktop_projects(desktop)]
        distinct = {os.path.realpath(place.path): place for place in reversed(found)}
        return [place for place in found if distinct[os.path.realpath(place.path)] is place]

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """The `*.jsonl` directly in each project folder, subagents' apart.

        `sessions-index.json` is not trusted; it is missing or old in most places.
        """
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

    def told(self, head: Head) -> bool:
        """Whether a record of the conversation is there that only Claude Code writes, or most records are its.

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
        """Whether there is nothing yet but the titles of other sessions, which stand before a session's first record
        (faults f04).
        """
        return bool(records) and all(map(_is_summary, records))

    # -- files beside --------------------------------------------------------------------------------------------------

    def stamps(self, session: Session) -> object:
        """When the folders of its subagents and of its project changed."""
        return [state_of(folder) for folder in _folders_of(session.path)]

    def beside(self, session: Session) -> Iterable[Item]:
        """Subagents in files of their own, flat at any depth; and titles that other files hold, or the file's name."""
        yield from _subagents_of(session)
        path = session.path
        yield Title(path.stem, STEM)
        if not path.name.startswith("agent-"):
            yield Title(text_of(_object_in(side_dir(path) / "custom-title.json").get("customTitle")), CUSTOM)
            for leaf, text in _summaries_in(*_now(path.parent)).items():
                yield Title(text, BORROWED, leaf)

    def spent(self, paths: Sequence[Path]) -> Sequence[tuple[str, TokenUsage]] | None:
        """What the files of subagents tell: `cost-state` counts it too."""
        try:
            return [one for path in paths for one in _spent(path, state_of(path), self.open)]
        except OSError:
            return None


def _home(env: Environment) -> Path:
    """The folder that Claude Code itself looks into: the variable is one path to it."""
    named = env.variables.get("CLAUDE_CONFIG_DIR", "")
    return _expand(named, env.home) if named else env.home / ".claude"


def _expand(text: str, home: Path) -> Path:
    if text == "~" or text.startswith(("~/", "~\\")):
        return home / text[2:]
    return Path(text)


def _desktop_projects(base: Path, depth: int = 5) -> Iterator[Path]:
    """The `.claude/projects` below Claude Desktop's sessions; the base itself is no such folder."""
    if (projects := base / ".claude" / "projects").is_dir():
        yield projects
    elif depth:
        for entry in entries_of(base, [], is_root=True):
            if entry.is_dir():
                yield from _desktop_projects(Path(entry.path), depth - 1)


def _is_summary(record: Data) -> bool:
    return record.get("type") == "summary" and isinstance(record.get("leafUuid"), str)


def _is_chain(record: Data) -> bool:
    """Whether a record is one of the conversation, or hangs on it (formats/claude-code.md 2)."""
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


# -- beside a session --------------------------------------------------------------------------------------------------


def side_dir(path: Path) -> Path:
    """The folder beside a session file that holds its subagents and spilled outputs; an agent file lies within it."""
    for parent in list(path.parents)[:3]:
        if parent.name == "subagents":
            return parent.parent
    return path.parent / path.stem


def _folders_of(path: Path) -> list[Path]:
    """The folders in which a session's subagents may lie; versions 2.0.x put them beside the sessions."""
    base = side_dir(path) / "subagents"
    flows = base / "workflows"
    inner = [Path(entry.path) for entry in entries_of(flows, [], is_root=True) if entry.is_dir()]
    return [base, flows, *inner, *([path.parent] if path.parent != base else [])]


def _now(folder: Path) -> tuple[Path, object, int]:
    """A folder, and what is another one once it has to be looked at again."""
    return folder, state_of(folder), int(time.monotonic() / _SECONDS)


@lru_cache(_MOST_FOLDERS)
def _names_in(folder: Path, state: object, moment: int) -> tuple[list[str], list[str]]:
    """The names of the sessions in a folder, sorted, and of the subagents'."""
    names = [entry.name for entry in entries_of(folder, [], is_root=True) if entry.is_file()]
    names = [name for name in names if name.endswith(".jsonl")]
    agents = [name for name in names if name.startswith("agent-")]
    return [name for name in names if not name.startswith("agent-")], agents


@lru_cache(_MOST_FOLDERS)
def _summaries_in(folder: Path, state: object, moment: int) -> dict[int, str]:
    """The titles that files of a folder hold for whichever session has the record with such a hash.

    Old versions wrote a session's summary into whatever file was open, beside the uuid of its last record.
    """
    summaries: dict[int, str] = {}
    for name in _names_in(folder, state, moment)[0][:_MOST_SIBLINGS]:
        data = bytes_in(folder / name, HEAD_BYTES)
        for record in JsonLines().push(data) if b'"leafUuid"' in data else ():
            leaf, text = record[3].get("leafUuid"), record[3].get("summary")
            if record[3].get("type") == "summary" and isinstance(leaf, str) and isinstance(text, str):
                summaries.pop(hash(leaf), None)  # the last one that is said counts
                summaries[hash(leaf)] = one_line(text)
    return summaries


def _subagents_of(session: Session) -> Iterator[Child]:
    """The files of subagents. A subagent's siblings may be its own helpers: those count if one of its uses says so."""
    own, mine = session.path, (session.id, session.metadata.get("sessionId"))
    for folder in _folders_of(own):
        beside_sessions = folder == own.parent and folder.name != "subagents"
        for name in _names_in(*_now(folder))[1][:_MOST_AGENTS]:
            if (path := folder / name) == own:
                continue
            meta, prompt = _object_in(path.with_suffix(".meta.json")), ""
            use = text_of(meta.get("toolUseId"))
            if beside_sessions or not use:
                source, prompt = _opening(path, state_of(path))
                if beside_sessions and source not in mine:
                    continue
            agent = path.stem.removeprefix("agent-")
            about = text_of(meta.get("description")) or text_of(meta.get("name"))
            task, is_internal = Task(text_of(meta.get("agentType")), about, prompt), agent.startswith("acompact-")
            yield Child(agent, path, "", task, use, internal=is_internal, own=not own.name.startswith("agent-"))


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
    """What the responses in a subagent's file took, each with its model. Raises OSError."""
    reading = open_(path)
    while not reading.done:
        reading.step()
    groups, models = reading.session.groups, reading.session.models
    return [(models[groups.model[g]], groups.usage[g]) for g in range(len(groups))]


def _object_in(path: Path) -> Data:
    return read_record(bytes_in(path, HEAD_BYTES)) if path.is_file() and not path.is_symlink() else {}

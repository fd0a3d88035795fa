"""Where Claude Code keeps its sessions, and which files are sessions (formats/claude-code.md 1)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from schemas.folders import entries_of, stat_of
from schemas.provider import HEAD_BYTES, Environment, Head, Location, Problem, Retention, SessionFile, moved_home
from schemas.providers.kit.bases import Data, Lines
from schemas.records import read_record

_CHAIN = frozenset({"user", "assistant", "system", "attachment", "progress", "compact_boundary"})
_FACTS = frozenset(
    """mode permission-mode ai-title custom-title agent-name last-prompt pr-link queue-operation relocated frame-link
    worktree-state atis-latch bridge-session cost-state agent-setting history-suppression tag agent-color
    api-request-shape""".split()  # noqa: SIM905
)
_SNAPSHOTS = frozenset({"file-history-snapshot", "file-history-delta"})
_PROJECT = re.compile(r"-|[A-Za-z]--")
"""How a project's folder begins: its path with every other sign as a hyphen, `/home` or `C:\\` at the start."""


class Located(Lines):
    """Where Claude Code's sessions live, what they look like, and how long they stay."""

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
                if not name.endswith(".jsonl") or name.startswith("agent-") or not entry.is_file():
                    continue
                if (stat := stat_of(entry, problems)) is not None:
                    yield SessionFile(self.id, entry.path, name[:-6], stat.st_size, stat.st_mtime_ns)

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """CLAUDE_CONFIG_DIR, where the session lies in another folder than that names, or `~/.claude`."""
        project = Path(os.path.abspath(path)).parent
        is_there = project.parent.name == "projects" and _PROJECT.match(project.name)
        return moved_home("CLAUDE_CONFIG_DIR", project.parent.parent if is_there else None, [_home(env)])

    def retention(self, env: Environment) -> Retention:
        """The days after which Claude Code deletes a session, and what says so (formats/claude-code.md 1)."""
        try:
            days = read_record((_home(env) / "settings.json").read_bytes()).get("cleanupPeriodDays")
        except OSError:
            days = None  # no settings: the default holds
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
    if (base / ".claude" / "projects").is_dir():
        yield base / ".claude" / "projects"
        return
    try:
        entries = sorted(e.path for e in os.scandir(base) if e.is_dir(follow_symlinks=False))
    except OSError:
        return
    for path in entries if depth else []:
        yield from _desktop_projects(Path(path), depth - 1)


def side_dir(path: Path) -> Path:
    """The folder beside a session file that holds its subagents and spilled outputs; an agent file lies within it."""
    for parent in list(path.parents)[:3]:
        if parent.name == "subagents":
            return parent.parent
    return path.parent / path.stem


def _is_summary(record: Data) -> bool:
    return record.get("type") == "summary" and isinstance(record.get("leafUuid"), str)


def _is_telling(record: Data) -> bool:
    """A prompt or an answer with the whole envelope (formats/claude-code.md 2)."""
    return (
        record.get("type") in ("user", "assistant")
        and "parentUuid" in record
        and isinstance(record.get("sessionId"), str)
        and isinstance(record.get("message"), dict)
        and _is_chain(str(record["type"]), record)
    )


def _is_ours(record: Data) -> bool:
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _CHAIN:
        return _is_chain(kind, record)
    if kind in _FACTS:
        return isinstance(record.get("sessionId"), str)
    return kind in _SNAPSHOTS and isinstance(record.get("messageId"), str)


def _is_chain(kind: str, record: Data) -> bool:
    if not isinstance(record.get("uuid"), str) or not ("parentUuid" in record or "sessionId" in record):
        return False
    message = record.get("message")
    if kind in ("user", "assistant"):
        if isinstance(message, dict):  # Qwen Code writes the same envelope around Gemini's `parts`
            return "parts" not in message and ("content" in message or "role" in message)
        return "message" in record or "isSidechain" in record
    return "systemPayload" not in record

"""Where Qwen Code keeps its sessions, and which files are some (formats/gemini-qwen-cursor.md 2.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from schemas.folders import entries_of, stat_of
from schemas.provider import Environment, Head, Location, Problem, Retention, SessionFile, beginning, read_head
from schemas.providers._qwen_home import QWEN_VARIABLES, is_qwens
from schemas.providers.gemini.detect import looks_alike
from schemas.records import read_record

PROVIDER_ID = "qwen"
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TYPES = frozenset({"user", "assistant", "tool_result", "system"})


def locations(env: Environment) -> list[Location]:
    """Qwen Code's folder on such a machine: what the variables name, and the default, where older sessions lie."""
    found: dict[str, Location] = {}
    for name in QWEN_VARIABLES:
        if text := env.variables.get(name, "").strip():
            path = _expand(text, env.home)
            found.setdefault(os.path.realpath(path), Location(path, name))
    path = env.home / ".qwen"
    found.setdefault(os.path.realpath(path), Location(path, "default"))
    if env.platform == "win32" and (profile := env.variables.get("USERPROFILE")):
        path = Path(profile) / ".qwen"
        found.setdefault(os.path.realpath(path), Location(path, "USERPROFILE"))
    return list(found.values())


def _expand(text: str, home: Path) -> Path:
    if text == "~" or text.startswith(("~/", "~\\")):
        return home / text[2:].lstrip("/\\")
    return Path(text)


def home(env: Environment) -> Path:
    """The folder in which Qwen Code itself looks for sessions."""
    named = next((text for name in QWEN_VARIABLES if (text := env.variables.get(name, "").strip())), "")
    return _expand(named, env.home) if named else env.home / ".qwen"


def home_of(path: Path) -> Path | None:
    """The folder in whose `projects/*/chats` a session lies; None for a copy somewhere else."""
    parents = Path(os.path.abspath(path)).parents
    return parents[3] if len(parents) > 3 and (parents[0].name, parents[2].name) == ("chats", "projects") else None


def retention(env: Environment) -> Retention | None:
    """What Qwen Code deletes: nothing, unless `general.sessionRetention` in its settings is enabled."""
    named = env.variables.get("QWEN_HOME", "").strip()
    home = _expand(named, env.home) if named else env.home / ".qwen"
    try:
        general = read_record((home / "settings.json").read_bytes()).get("general")
    except OSError:
        return None  # no settings: the default holds
    rule = general.get("sessionRetention") if isinstance(general, dict) else None
    if not isinstance(rule, dict) or rule.get("enabled") is not True:
        return None
    age = rule.get("maxAge")
    text = f"deletes sessions after {age}" if isinstance(age, str) and age else "deletes old sessions"
    return Retention(text, "general.sessionRetention in settings.json")


def find(location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions below one of Qwen Code's folders: `projects/*/chats/<uuid>.jsonl`, and those of before 0.4.

    A new session's file is empty until something is said; such files are left out.
    """
    for chats in _chats(location.path / "projects", problems):
        yield from _files(chats, ".jsonl", problems)
    for chats in _chats(location.path / "tmp", problems):
        yield from _files(chats, ".json", problems)


def _chats(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    for entry in entries_of(folder, problems, is_root=True):
        if entry.is_dir():
            yield Path(entry.path) / "chats"


def _files(chats: Path, suffix: str, problems: list[Problem]) -> Iterator[SessionFile]:
    for entry in entries_of(chats, problems):
        stem, ext = os.path.splitext(entry.name)
        if ext != suffix or not entry.is_file():
            continue
        if not (UUID.fullmatch(stem) if suffix == ".jsonl" else stem.startswith("session-")):
            continue
        if (stat := stat_of(entry, problems)) is not None and stat.st_size:
            yield SessionFile(PROVIDER_ID, entry.path, stem, stat.st_size, stat.st_mtime_ns)


def subagents_folder(path: Path) -> Path | None:
    """Where the files of a session's subagents lie: beside `chats`; a subagent's own folder for those it started."""
    if path.parent.name == "chats":
        return path.parent.parent / "subagents" / path.stem
    return path.parent if path.parent.parent.name == "subagents" else None


def detect(head: Head) -> bool:
    """Whether a file that begins so is a session or a subagent, or one of before 0.4."""
    return is_tree(head) or (is_qwens(head.path) and looks_alike(head))


def is_tree(head: Head) -> bool:
    """Whether there is a record with Google's parts in Qwen Code's envelope."""
    return not head.compressed and any(map(_is_telling, head.records))


def is_old(path: Path) -> bool:
    """Whether a file is one that Qwen Code before 0.4 wrote in Gemini CLI's form. Raises OSError."""
    if not is_qwens(path) or path.suffix == ".jsonl":
        return False
    with path.open("rb") as file:
        data, whole = beginning(lambda _, length: file.read(length))
    return not is_tree(read_head(path, data, whole=whole))


def _is_telling(record: dict[str, object]) -> bool:
    """Claude Code has the same envelope, but `content` where these have `parts`, and no `systemPayload`."""
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        return False
    if not isinstance(record.get("uuid"), str) or not isinstance(record.get("sessionId"), str):
        return False
    if kind == "system":
        return isinstance(record.get("subtype"), str) and "systemPayload" in record
    message = record.get("message")
    return (isinstance(message, dict) and "parts" in message) or (kind == "tool_result" and "toolCallResult" in record)

"""Where Gemini CLI keeps its sessions, which files are sessions, and how long it keeps them (formats note 1.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from schemas.folders import entries_of, stat_of
from schemas.provider import Location, Problem, Retention, SessionFile
from schemas.records import read_record

PROVIDER_ID = "gemini"
_SESSION = re.compile(r"session-.*?(?:-([0-9A-Za-z]{8}))?\.jsonl?")
_HASH = re.compile(r"[0-9a-f]{64}")
_AGE = re.compile(r"(\d{1,6})\s*([hdwm])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks", "m": "months"}
_MOST_LEFT_OVER = 1 << 20
"""Bytes of context that a resume leaves in a file of its own, at most."""
_COMMENT = re.compile(rb"^\s*//[^\n]*$", re.MULTILINE)


def find(location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
    """The sessions below a location, each once; subagents lie deeper and are left out.

    An upgrade copied the folder named by a hash to one named by a slug, and a session that goes on after an upgrade
    lies beside its older self (`.json`, then `.jsonl`): the slug's and the newer form is the session. Resumed in a
    later minute it goes on in its file, and leaves a second one with nothing but its context (found-…, G4).
    """
    best: dict[str, tuple[tuple[bool, bool, int], SessionFile]] = {}
    for project in entries_of(location.path, problems, is_root=True):
        if not project.is_dir():
            continue
        for entry in entries_of(Path(project.path) / "chats", problems):
            match = _SESSION.fullmatch(entry.name)
            if match is None or not entry.is_file():
                continue
            if (stat := stat_of(entry, problems)) is None:
                continue
            stem, _, suffix = entry.name.rpartition(".")
            rank = (suffix == "jsonl", not _HASH.fullmatch(project.name), stat.st_mtime_ns)
            if stem not in best or rank > best[stem][0]:
                file = SessionFile(PROVIDER_ID, entry.path, match[1] or stem, stat.st_size, stat.st_mtime_ns)
                best[stem] = rank, file
    largest: dict[str, int] = {}
    for _, file in best.values():
        largest[file.id] = max(file.size, largest.get(file.id, 0))
    yield from (file for _, file in best.values() if file.size == largest[file.id] or not _is_left_over(file.path))


def _is_left_over(path: Path) -> bool:
    """Whether a log holds a header and context, and no message: all its records bring something else up to date."""
    try:
        with path.open("rb") as file:
            lines = file.read(_MOST_LEFT_OVER + 1)
    except OSError:
        return False
    records = [read_record(line) or {} for line in lines.splitlines()]
    return len(lines) <= _MOST_LEFT_OVER and all(
        ("sessionId" in one and "messages" not in one) or "$set" in one for one in records
    )


def retention(path: Path) -> Retention | None:
    """What `general.sessionRetention` in settings.json at `path` says; None where it is off, or unreadable.

    Its defaults are those of the present documentation: on, 30 days. Versions before 2026 kept everything.
    """
    try:
        data = path.read_bytes()
    except OSError:
        data = b"{}"  # no settings: the defaults hold
    settings = read_record(_COMMENT.sub(b"", data))
    if not settings and data.strip() not in (b"", b"{}"):
        return None
    general = settings.get("general")
    rule = general.get("sessionRetention") if isinstance(general, dict) else None
    rule = rule if isinstance(rule, dict) else {}
    if rule.get("enabled", True) is not True:
        return None
    age, count = rule.get("maxAge", None if "maxCount" in rule else "30d"), rule.get("maxCount")
    match = _AGE.fullmatch(age) if isinstance(age, str) else None
    words = [f"deletes sessions after {int(match[1]):,} {_UNITS[match[2]]}"] if match else []
    if isinstance(count, int) and not isinstance(count, bool) and count > 0:
        words.append(f"keeps the newest {count:,}")
    source = "general.sessionRetention in settings.json"
    if not rule.keys() & {"maxAge", "maxCount"}:
        source = f"default of present versions; {source} changes it"
    return Retention(", ".join(words), source) if words else None

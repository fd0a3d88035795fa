"""The total with subagents, worked out a slice at a time: a session may have hundreds of them, each a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from schemas.opening import MAX_DEPTH, OpenError, open_reading
from schemas.session import Session, Subagent
from schemas.usage import TokenUsage, total_usage

_SLICE = 256 << 10


class _Known(NamedTuple):
    """What was read of a subagent's file, while it was so long."""

    size: int
    usage: TokenUsage | None
    subagents: list[Subagent]


class FamilyUsage:
    """Remembers what it read, so that asking again reads only files that grew."""

    def __init__(self) -> None:
        self._known: dict[Path, _Known] = {}
        self.total: TokenUsage | None = None
        """The session's total with all its subagents, as of the last complete run."""
        self.subagents = 0
        """How many of them were found."""

    def run(self, session: Session) -> Iterator[None]:
        """Work it out, giving way after each slice."""
        usages = [session.usage()]
        seen: set[Path | int] = {session.path}
        queue = [(subagent, 1) for subagent in session.subagents]
        count = 0
        while queue:
            subagent, depth = queue.pop()
            inner = subagent.session
            inside = inner is not None and inner.path == session.path
            key = id(inner) if inside else subagent.path or (inner.path if inner else None)
            if key is None or key in seen or depth > MAX_DEPTH:
                continue
            seen.add(key)
            if inside and inner is not None:
                usages.append(inner.usage())
                children = inner.subagents
            else:
                path = subagent.path or (inner.path if inner else session.path)
                yield from self._read(path)
                known = self._known.get(path)
                if known is None:
                    continue
                usages.append(known.usage)
                children = known.subagents
            count += 1
            queue.extend((child, depth + 1) for child in children)
            yield
        self.total, self.subagents = total_usage(usages), count

    def _read(self, path: Path) -> Iterator[None]:
        """Read a file unless it is as long as when it was last read. One that cannot be read counts for nothing."""
        try:
            size = path.stat().st_size
            known = self._known.get(path)
            if known is not None and known.size == size:
                return
            reading = open_reading(path)
            while not reading.done:
                reading.step(_SLICE)
                yield
            reading.finish()
            reading.refresh()
        except (OSError, OpenError):
            self._known.pop(path, None)
            return
        self._known[path] = _Known(size, reading.session.usage(), reading.session.subagents)
        reading.session.close()

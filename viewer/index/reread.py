"""Single messages of a session, read again from where their records lie, without the rest of the session."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from schemas.message import Message
from schemas.opening import read_session
from schemas.providers import provider_of
from schemas.session import Session
from schemas.table import NONE
from schemas.troubles import guarded

_KEPT = 16


class Lies(NamedTuple):
    """A message's number and key in its session, and what else the index knows of it."""

    message: int
    key: int
    kind: int
    flags: int
    time: float | None
    spans: Sequence[tuple[int, int, int, int]]
    """Offset, length, item and role of each of its records; none where they lie in no file of lines."""


class Rereader:
    """Opens the files of sessions, and keeps those used last open."""

    def __init__(self) -> None:
        self._whole: OrderedDict[Path, Session] = OrderedDict()
        self._bare: OrderedDict[Path, Session] = OrderedDict()

    def close(self) -> None:
        """Let go of all files."""
        for kept in (self._whole, self._bare):
            while kept:
                kept.popitem()[1].close()

    def message(self, path: Path, agent: str, root: str, lies: Lies) -> tuple[Session, Message] | None:
        """A message and its session, of which nothing else may be read; None where the message is not there any more.

        Raises OSError, OpenError.
        """
        if lies.spans and (session := self._opened(path, agent, root)) is not None:
            return session, _message(session, lies)
        session = self._whole.get(path) or _keep(self._whole, path, read_session(path))
        if lies.message >= len(session.messages) or session.messages.key[lies.message] != lies.key:
            return None
        return session, session.message(lies.message)

    def _opened(self, path: Path, agent: str, root: str) -> Session | None:
        """A session of which nothing is read yet; None where that cannot be had."""
        if path in self._bare:
            return self._bare[path]
        provider = provider_of(agent)
        if provider is None:
            return None
        with guarded():
            session = provider.open(path).session
        session.workspace_root = root or None
        return _keep(self._bare, path, session) if len(session.stores) == 1 else None


def _keep(kept: OrderedDict[Path, Session], path: Path, session: Session) -> Session:
    kept[path] = session
    if len(kept) > _KEPT:
        kept.popitem(last=False)[1].close()
    return session


def _message(session: Session, lies: Lies) -> Message:
    """Build a message of its records alone."""
    head = NONE
    for offset, length, item, role in lies.spans:
        span = session.spans.add(0, offset, length, 0, role, item)
        if head == NONE:
            head = span
        else:
            session.spans.extend(head, span)
    row = session.messages.append(lies.kind, lies.key, 0, head, 0, lies.time, 0, 0)
    session.messages.flags[row] = lies.flags
    return session.message(row)

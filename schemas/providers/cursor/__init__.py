"""Cursor CLI: a database of blobs a chat, and transcripts of it (formats/gemini-qwen-cursor.md 3).

A session is read from its store where it has one, else from its transcript: that has neither results nor thinking, and
of times only those of prompts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.folders import state_of
from schemas.message import Lack
from schemas.provider import (
    HEAD_BYTES,
    Environment,
    Format,
    Head,
    Location,
    Problem,
    Reading,
    SessionFile,
    moved_home,
    read_head,
)
from schemas.providers.cursor import legacy, locate, messages, store
from schemas.providers.cursor.prompts import split, workspace_of
from schemas.providers.cursor.tools import Tools
from schemas.providers.kit.bases import Data, Home, Lines
from schemas.providers.kit.words import Child, Fact, Item, Task, Title
from schemas.records import JsonLines
from schemas.values import dict_of, text_of, texts_of

if TYPE_CHECKING:
    from schemas.providers.kit.reader import Reader
    from schemas.session import Session

_DECIDING = 50
"""Records that are looked at for one that says whose they are."""
# What other agents put beside role and message, or into the message: an id, a time, a model.
_FOREIGN = frozenset({"type", "id", "uuid", "parentUuid", "sessionId", "session_id", "timestamp", "model", "usage"})
_FOREIGN_MESSAGE = frozenset({"id", "type", "role", "model", "usage"})
_CHATS_LACK = frozenset({Lack.TOKENS, Lack.TIMES})
_BEGINNING, _MOST_CHILDREN = 256 << 10, 2000


class Cursor(Tools, Lines):
    """Cursor's program in the terminal, and the editor's agent where it writes transcripts."""

    id = "cursor"
    name = "Cursor CLI"
    verified = "real transcripts of 2026; stores on the format's description and made-up ones"
    counting = "Cursor records no tokens, only how full the context is."
    formats = (
        Format(
            "Cursor CLI store, a SQLite database",
            "tables blobs (id, data) and meta (key, value), blobs by their SHA-256 or Cursor's row in meta",
        ),
        Format("Cursor transcript, JSON lines", "a record with role and message, and no type, id or time"),
        Format("Cursor transcript before 2026, text", "lines `user:` and `assistant:`, tools as `[Tool call] NAME`"),
    )
    homes = (  # upgrades leave the old folders behind
        Home("$CURSOR_CONFIG_DIR", "CURSOR_CONFIG_DIR"),
        Home(".cursor"),
        Home("$XDG_CONFIG_HOME/cursor", "XDG_CONFIG_HOME"),
        Home(".config/cursor", "default since 2026"),
        Home(".cursor-server", "default on remote hosts"),
    )
    marks = (b"SQLite format 3", b'"role"', b'"turn_ended"', b"user:", b"assistant:", b"A:")
    resume = ("cursor-agent", "--resume")
    lacks = frozenset(Lack)
    history = messages.Pairs
    copies = False  # a blob is named by what it holds, so that a prompt typed twice is one

    # -- which sources there are -----------------------------------------------------------------------------------

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        """Each session once: its store, or its transcript where it has none."""
        return locate.find(location, problems)

    def told(self, head: Head) -> bool:
        """Whether it is a store or a transcript: of lines, one that only Cursor writes tells it."""
        return any(map(_is_line, head.records[:_DECIDING])) or store.is_store(head) or legacy.is_text(head)

    def id_of(self, path: Path) -> str:
        """The name of a store's folder; a transcript, and a lone database, goes by its own."""
        return path.absolute().parent.name if path.name == "store.db" else path.stem

    def resume_command(self, session: Session) -> list[str] | None:
        """None also for an id that Cursor cannot have given."""
        return super().resume_command(session) if locate.UUID.fullmatch(session.id) else None

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        """CURSOR_CONFIG_DIR, where the session lies in none of the folders that Cursor looks into."""
        return moved_home("CURSOR_CONFIG_DIR", locate.root_of(path), [place.path for place in self.locations(env)])

    def reader(self, path: Path, name: str = "") -> Reader:
        """A reader; a transcript among those of subagents is one of the session whose folder that is."""
        reader = super().reader(path, name)
        if path.parent.name == "subagents":
            lineage = reader.session.lineage
            lineage.parent, lineage.agent_id = path.parent.parent.name, reader.session.id
        return reader

    def open(self, path: Path, *, start: int = 0) -> Reading:
        """Begin to read a session: lines as they come; a store or a text whole, and whole again when it was written."""
        from schemas.providers.kit.readings import Found, Gathered
        from schemas.reading import open_file
        from schemas.sqlite import MAGIC, log_of, read_database

        def text() -> Found:
            data = path.read_bytes()
            return Found(legacy.records_of(data), len(data))

        def chat() -> Reader:
            reader = self.reader(path)
            reader.session.lacks = _CHATS_LACK
            return reader

        def blobs() -> Found:
            beside = locate.read_meta(path.parent)
            return Found(read_database(path, lambda database: list(store.read_store(database, beside))), 0)

        file = open_file(path)
        data = file.read(0, HEAD_BYTES)
        file.close()
        if data.startswith(MAGIC):
            sources = [path, log_of(path), path.with_name("meta.json")]
            return Gathered(path, chat, blobs, lambda: sources)
        if legacy.is_text(read_head(path, data, whole=len(data) < HEAD_BYTES)) or (path.suffix == ".txt" and not data):
            return Gathered(path, lambda: self.reader(path), text, lambda: [path])
        return super().open(path, start=start)

    # -- records ---------------------------------------------------------------------------------------------------

    def read(self, record: Data) -> Iterable[Item]:
        return messages.read(record)

    def type(self, record: Data) -> str:
        """A message goes by its role."""
        return text_of(record.get("type")) or f"{text_of(record.get('role')) or 'record'} without content"

    def name_of(self, record: Data) -> str:
        """The message's own id, or that of its blob; lines have none."""
        return text_of(record.get("id")) or text_of(dict_of(record.get(store.OURS)).get("blob"))

    def setting(self, record: Data) -> Fact:
        """The workspace: by the file beside a store, by its root, or as the environment message says it."""
        ours, message = dict_of(record.get(store.OURS)), record.get("message", record)
        if "beside" in ours:
            paths = map(locate.path_in, reversed(texts_of(ours.get("workspaces"))))
            named = text_of(dict_of(ours["beside"]).get("cwd"))
            return Fact(workspace_root=named or next(filter(None, paths), ""))
        if record.get("role") != "user":
            return Fact(workspace_root="")
        parts = store.parts_of(dict_of(message).get("content"))
        return Fact(workspace_root=next(filter(None, (workspace_of(store.words_of(one) or "") for one in parts)), ""))

    # -- beside a session ------------------------------------------------------------------------------------------

    def stamps(self, session: Session) -> object:
        """When the subagents' transcripts and Cursor's titles changed."""
        root = locate.root_of(session.path)
        titles = [locate.tracking_of(root)] if root is not None else []
        return [state_of(path) for path in (*titles, *locate.subagents_of(session.path))]

    def beside(self, session: Session) -> Iterable[Item]:
        """The session's title, its workspace where it says none, other transcripts of its id, and its subagents."""
        yield Title(locate.title_of(session.path, session.id))
        transcripts = self._transcripts(session)
        if not session.workspace_root:
            yield Fact(workspace_root=locate.workspace_by_name(session.path, transcripts))
        yield Fact(otherTranscripts=[str(path) for path in transcripts[1:]])
        for path in locate.subagents_of(transcripts[0])[:_MOST_CHILDREN] if transcripts else ():
            if prompt := _first_prompt(path):  # else nothing is written yet
                yield Child(path.stem, path, task=Task("", prompt, prompt))

    def _transcripts(self, session: Session) -> list[Path]:
        """The transcript of a session, and others with its id."""
        found = locate.transcripts_of(locate.root_of(session.path), session.id)
        mine = [session.path] if session.path.name != "store.db" else found[:1]
        return [*mine, *(path for path in found if path not in mine)]


def _is_line(record: Data) -> bool:
    """Whether a record is a line of a transcript: a role and a message with content and nothing that names either, or
    the end of a turn.
    """
    message = dict_of(record.get("message"))
    if record.get("type") == "turn_ended":
        return isinstance(record.get("status"), str) and record.keys() <= {"type", "status", "error"}
    return (
        record.get("role") in ("user", "assistant")
        and isinstance(message.get("content"), str | list)
        and _FOREIGN.isdisjoint(record)
        and _FOREIGN_MESSAGE.isdisjoint(message)
    )


def _first_prompt(path: Path) -> str:
    """What a subagent was asked to do: the text of its first line, whoever it is said to come from."""
    try:
        with path.open("rb") as file:
            data = file.read(_BEGINNING)
    except OSError:
        return ""  # gone again
    for record in JsonLines().push(data):
        parts = store.parts_of(dict_of(record[3].get("message")).get("content"))
        if prompt := split(filter(None, map(store.words_of, parts))).prompt:
            return prompt
    return ""


PROVIDER = Cursor()

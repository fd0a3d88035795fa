"""nanocoder: a JSON document a session, with messages of OpenAI's form (found-others.md 16b)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from schemas.message import Lack, ToolStatus
from schemas.provider import Format
from schemas.providers.kit.bases import Data, Document, Home
from schemas.providers.kit.blocks import message_items
from schemas.providers.kit.words import Answer, Fact, Item, Skip, Title
from schemas.values import dict_of, list_of, text_of, when

_EXIT = re.compile(r"\AEXIT_CODE: (-?\d{1,6})\n")
_FAULTS = ("Validation failed:", "Error:", "⚒ Error", "Tool execution failed")


class Nanocoder(Document):
    """nanocoder's sessions."""

    id = "nanocoder"
    name = "nanocoder"
    verified = "genuine sessions of 1.25.2"
    counting = "nanocoder keeps no tokens, no times and no thinking."
    marks: ClassVar[tuple[bytes, ...]] = (b'"messages"',)
    formats: ClassVar[tuple[Format, ...]] = (
        Format("nanocoder session, JSON", "an object with messages, messageCount and workingDirectory"),
    )
    homes = (
        Home("$NANOCODER_DATA_DIR/sessions", "NANOCODER_DATA_DIR"),
        Home("$XDG_DATA_HOME/nanocoder/sessions", "XDG_DATA_HOME"),
        Home(".local/share/nanocoder/sessions", platforms=("linux",)),
        Home("Library/Application Support/nanocoder/sessions", platforms=("darwin",)),
        Home("$APPDATA/nanocoder/sessions", "APPDATA", ("win32",)),
    )
    files = ("*.json",)
    lacks = frozenset({Lack.TIMES, Lack.TOKENS, Lack.THINKING})
    tools = {
        "execute_bash": "shell", "read_file": "read", "fetch_url": "read", "write_file": "write", "string_replace":
        "write", "create_file": "write", "insert_lines": "write", "replace_lines": "write", "find_files": "search",
        "search_file_contents": "search", "search_files": "search", "list_directory": "search", "web_search": "search",
    }  # fmt: skip

    def id_of(self, path: Path) -> str:
        """The file's name; the list of all sessions is none."""
        return "" if path.name == "sessions.json" else path.stem

    def records(self, document: Any) -> Sequence[Data]:
        """The facts of the session, and its messages."""
        held = dict_of(document)
        if not isinstance(held.get("messages"), list) or not {"messageCount", "workingDirectory"} <= held.keys():
            return ()
        about = {key: value for key, value in held.items() if key != "messages"}
        return [{"type": "session", **about}, *map(dict_of, list_of(held["messages"]))]

    def type(self, record: Data) -> str:
        """A message's role."""
        return text_of(record.get("type")) or text_of(record.get("role")) or "(no role)"

    def name_of(self, record: Data) -> str:
        """Messages have no ids."""
        return ""

    def read(self, record: Data) -> Iterator[Item]:
        if record.get("type") == "session":
            yield Fact(
                id=record.get("id"), workspace_root=record.get("workingDirectory"), model=record.get("model"),
                created=when(record.get("createdAt")), updated=when(record.get("lastAccessedAt")),
            )  # fmt: skip
            title = text_of(record.get("title"))
            yield Title("" if title.endswith("...") else title, 1)  # else it is the prompt, cut
            yield Skip("session")
            return
        for item in message_items(record):
            yield _ended(item) if isinstance(item, Answer) else item


def _ended(answer: Answer) -> Answer:
    """Complete an answer with the status and exit code that its text tells."""
    text = answer.text or ""
    if code := _EXIT.match(text):
        failed = int(code[1]) != 0
        answer.text, answer.exit_code = text[code.end() :], int(code[1])
        answer.status = ToolStatus.ERROR if failed else ToolStatus.OK
    elif text.startswith(_FAULTS):
        answer.status = ToolStatus.ERROR
    return answer


PROVIDER = Nanocoder()

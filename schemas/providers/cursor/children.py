"""The subagents of a transcript: files beside it, linked to the tool uses that started them by their first prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schemas.clean import one_line
from schemas.message import Flag
from schemas.providers.cursor.locate import root_of, subagents_of, title_of, transcripts_of
from schemas.providers.cursor.prompts import split_prompts
from schemas.records import JsonLines
from schemas.session import Session, Subagent

_BEGINNING = 256 << 10
_MOST = 2000


class Children:
    """What lies beside one transcript; `look` again is cheap when nothing is new."""

    def __init__(self, session: Session, tasks: dict[int, dict[str, Any]], transcript: Path | None = None) -> None:
        self._session = session
        self._transcript = transcript or session.path
        self._tasks = tasks
        self._files: dict[Path, Subagent] = {}
        self._prompts: dict[Path, str] = {}
        self._tried: dict[Path, int] = {}
        self._linked: set[int] = set()
        self._looked = False

    def look(self) -> list[int]:
        """Take in new files and link those whose tool use is known by now; returns the uses that were linked."""
        if title := title_of(self._session.path, self._session.id):
            self._session.title = one_line(title, 200)
        if not self._looked:
            self._looked = True
            self._name_copies()
        for path in subagents_of(self._transcript)[:_MOST]:
            if path not in self._files:
                self._files[path] = subagent = Subagent(one_line(path.stem, 300), path=path)
                self._session.subagents.append(subagent)
        return [use for path, child in self._files.items() if (use := self._link(path, child)) is not None]

    def _name_copies(self) -> None:
        """The same id may stand under several projects, with other content: what is read here is one of them."""
        path = self._session.path
        copies = transcripts_of(root_of(path), path.stem)
        if path in copies and len(copies) > 1:
            self._session.metadata["otherTranscripts"] = [one_line(str(copy), 4096) for copy in copies if copy != path]

    def _link(self, path: Path, child: Subagent) -> int | None:
        if child.tool_use is not None or self._tried.get(path) == len(self._tasks):
            return None
        if not self._prompts.get(path):
            self._prompts[path] = _first_prompt(path)
        prompt = self._prompts[path]
        if not prompt:
            return None  # nothing is written yet
        self._tried[path] = len(self._tasks)
        for use, given in self._tasks.items():
            asked = given.get("prompt")
            if use in self._linked or not isinstance(asked, str) or not asked.strip() or asked.strip() not in prompt:
                continue
            self._linked.add(use)
            child.tool_use = use
            for name in ("subagent_type", "subagentType", "description"):
                if isinstance(value := given.get(name), str):
                    if name == "description":
                        child.description = one_line(value, 200)
                    else:
                        child.name = one_line(value, 80)
            self._session.messages.flags[use] |= Flag.SUBAGENT
            return use
        child.description = child.description or one_line(prompt, 200)
        return None


def _first_prompt(path: Path) -> str:
    """What a subagent was asked to do: the text of its first line, whoever it is said to come from."""
    try:
        with path.open("rb") as file:
            data = file.read(_BEGINNING)
    except OSError:
        return ""  # gone again
    for record in JsonLines().push(data):
        message = record[3].get("message")
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else [content]
        texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
        split = split_prompts([text for text in texts if isinstance(text, str)])
        if split.prompt:
            return split.prompt
    return ""

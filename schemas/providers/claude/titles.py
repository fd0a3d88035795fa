"""What a session is called (formats note 11)."""

from __future__ import annotations

from schemas.clean import one_line
from schemas.message import Kind
from schemas.session import Session

TITLE_LENGTH = 200
_NO_TITLE = ("/clear", "/exit", "/model", "/login", "/usage")
_SUMMARIES = 2000  # lines; a project of 375 has been seen, and each costs memory


class Titles:
    """The candidates for a session's title, the best of which is asked for after each piece."""

    def __init__(self) -> None:
        self.custom = ""
        self.renamed = ""
        self.ai = ""
        self.last_prompt = ""
        """As the file has it: it is written again and again, and seldom needed."""
        self.command = ""
        self.task = ""
        """What a subagent's starter called its task."""
        self.borrowed = ""
        """A summary of this session that another file of the project holds."""
        self._summaries: dict[int, str] = {}

    def add_summary(self, leaf: int, text: str) -> None:
        """A `summary` line: it names the session that holds the record with the hash `leaf`, mostly another one."""
        self._summaries.pop(leaf, None)
        if len(self._summaries) < _SUMMARIES:
            self._summaries[leaf] = one_line(text, TITLE_LENGTH)

    def add_command(self, label: str) -> None:
        """A command, which names a session in which nobody typed a prompt."""
        if not self.command and label.split(" ", 1)[0] not in _NO_TITLE:
            self.command = one_line(label, TITLE_LENGTH)

    @property
    def settled(self) -> bool:
        """Whether a better title than a summary is known."""
        return bool(self.custom or self.renamed or self.ai or self.task)

    def best(self, session: Session, uuids: dict[int, int]) -> str:
        """The title by the precedence of the formats note; `uuids` holds the hashes of the file's own records."""
        own = [text for leaf, text in self._summaries.items() if leaf in uuids]
        return (
            self.custom
            or self.renamed
            or self.ai
            or (own[-1] if own else "")
            or self.borrowed
            or self.task
            or one_line(_first_prompt(session), TITLE_LENGTH)
            or self.command
            or one_line(self.last_prompt, TITLE_LENGTH)
            or one_line(session.path.stem, TITLE_LENGTH)
        )


def _first_prompt(session: Session) -> str:
    fallback = ""
    for exchange in session.exchanges:
        if exchange.opener == Kind.PROMPT and exchange.prompt:
            if not exchange.rewound:
                return exchange.prompt
            fallback = fallback or exchange.prompt
    return fallback

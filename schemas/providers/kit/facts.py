"""Facts of a session as a whole: its title, the place of the agent's work, its origin."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import Any
from unicodedata import east_asian_width

from schemas.clean import clean, clean_value, one_line, set_number
from schemas.message import Kind
from schemas.providers.kit.words import NOT_TOLD, Fact, Title
from schemas.session import Session

_LINEAGE = frozenset({"parent", "forked_from", "continues", "agent_id"})
_TEXTS = frozenset({"id", "workspace_root", "branch", "version"})
_NUMBERS = frozenset({"created", "updated", "context_window", "context_used"})
_MOST_LINKS = 1000


class Facts:
    """The facts of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._titles: dict[tuple[int, Hashable], str] = {}
        """By their ranks and the records whose sessions they are of; the last one of a rank stands last."""
        self.setting_known = False
        """Whether all is known that stands on every record."""

    def learn(self, fact: Fact) -> None:
        """Take facts over. Those of lineage stay as they were said first, others as they were said last."""
        session = self.session
        for name, value in fact.said.items():
            if not value:
                continue
            if name == "link":
                link = one_line(str(value), 2000)
                if len(session.links) < _MOST_LINKS and link not in session.links:
                    session.links.append(link)
            elif name in _LINEAGE:
                if isinstance(value, str) and not getattr(session.lineage, name):
                    setattr(session.lineage, name, one_line(value, 300))
            elif name in _TEXTS:
                if isinstance(value, str):
                    setattr(session, name, _as_set(name, value))
            elif name in _NUMBERS:
                if isinstance(value, int | float) and not isinstance(value, bool):
                    set_number(session, name, value)
            else:
                session.metadata[name] = one_line(value, 300) if isinstance(value, str) else clean_value(value)

    def set(self, fact: Fact) -> None:
        """Take over what stands on every record: the first that is said counts."""
        session = self.session
        for name, value in fact.said.items():
            if isinstance(value, str) and value and not getattr(session, name):
                setattr(session, name, _as_set(name, value))
        self.setting_known = all(getattr(session, name) for name in fact.said)

    def title(self, title: Title) -> None:
        """A name of the session, or of the session that holds a record."""
        place = title.rank, title.of
        if title.text.strip() and not (title.first and place in self._titles):
            self._titles.pop(place, None)
            self._titles[place] = one_line(title.text)

    def settle_title(self, knows: Callable[[Any], bool]) -> None:
        """Decide the title: the highest rank, else the first live prompt, and another where it says little (`hi`)."""
        titles = {rank: text for (rank, of), text in self._titles.items() if of is None or knows(of)}
        best = max(titles, default=-1)
        first = next(self._prompts(), "") or next(self._prompts(gone=True), "")
        title = titles[best] if best >= 0 else first or titles.get(best, "")
        if title == first and _says_nothing(title):
            longer = (prompt for prompt in islice(self._prompts(), _FIRST) if not _says_nothing(prompt))
            title = " · ".join([title, *islice(longer, 1)])
        self.session.title = title

    def _prompts(self, *, gone: bool = False) -> Iterator[str]:
        """The prompts; those that were taken back or copied only where they are asked for as well."""
        exchanges = (e for e in self.session.exchanges if gone or not (e.rewound or e.inherited))
        return (one_line(e.prompt) for e in exchanges if e.opener is Kind.PROMPT and e.prompt not in ("", NOT_TOLD))


_FIRST = 20
"""So many prompts are looked at for a longer one."""
_LITTLE = 12
"""Cells of a prompt that tells what it is about, at least."""


def _says_nothing(prompt: str) -> bool:
    """Tell by its length, for a greeting has many languages: a wide character says as much as two others."""
    begins = prompt[:_LITTLE]
    cells = len(begins) + (0 if begins.isascii() else sum(east_asian_width(one) in "WF" for one in begins))
    return cells < _LITTLE or (prompt.startswith("/") and " " not in prompt)


def _as_set(name: str, value: str) -> str:
    """A fact as the session has it: a folder's name may have line ends."""
    return clean(value)[:4096] if name == "workspace_root" else one_line(value, 300 if name == "id" else 4096)

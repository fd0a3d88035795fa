"""The language of searches: what people type to find something, taken apart.

    migration lock          both words in one message, parts of identifiers too: `lock` is in `tryLockFile`
    "lock file" migr*       words in a row, whole; words that begin so
    agent: project: branch: tool: file: role: is:error since: before:
    -word -tool:Bash        not that

It is judged in two ways that give the same answer: as a question to the index (`match`) and by looking at a text
(`finds`). What cannot be meant is a sentence in `problem`, and left out of the search.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from schemas.clean import clean, one_line
from schemas.message import Flag, Kind
from schemas.providers import ids
from viewer.dates import since
from viewer.index.matching import search_key, tokens_of, words_of
from viewer.output import CallError

FILTERS = ("agent", "project", "branch", "tool", "file", "role", "is", "since", "before")
ROLES: dict[str, tuple[Kind, ...]] = {
    "you": (Kind.PROMPT, Kind.STEER, Kind.COMMAND),
    "user": (Kind.PROMPT, Kind.STEER, Kind.COMMAND),
    "agent": (Kind.TEXT,),
    "thinking": (Kind.THINKING,),
    "tool": (Kind.TOOL,),
}
_PIECE = re.compile(
    rf'(?P<minus>(?:-(?!-))?)(?:(?P<name>{"|".join(FILTERS)}):(?:"(?P<quoted>[^"]*)"?|(?P<value>\S*))'
    r'|"(?P<phrase>[^"]*)"?(?P<star>\*?)|(?P<word>\S+))',
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+")
"""A name in parts, which others write as one word."""
_BEGUN_TIME = re.compile(r"\d|t$|to|y")
"""What may become a day or an age."""
_SHORTEST_PART, _SHORTEST_TYPED = 3, 2
MARK = "\U000ffffd"
"""How a token begins that no text has: `words_of` leaves none of these characters."""
EVERY = f"{MARK}a"
"""The token of every message."""
FAILED = f"{MARK}e"

How = Literal["whole", "begins", "part"]


class Term(NamedTuple):
    """Tokens in a row, of which the last is only the beginning of a word (`begins`), or one that is a `part` of one."""

    tokens: tuple[str, ...]
    how: How = "whole"
    joined: str = ""
    """The same as one part of a word: `userby` for `user_by`, which finds `getUserById` too."""

    def match(self, words: Callable[[str], Iterable[str]]) -> str:
        """The term as a question to the index; `words` gives the index's words that hold a part."""
        row = f'"{" ".join(self.tokens)}"{"*" * (self.how != "whole")}'  # letters and digits: nothing needs an escape
        part = self.joined or (self.tokens[0] if self.how == "part" else "")
        return _either({row: 0, f'"{part}"*': 0, **dict.fromkeys(map(_quoted, words(part)))}) if part else row

    @property
    def pattern(self) -> str:
        """The same as a regular expression for what `words_of` gives."""
        if self.how == "part":
            return self.tokens[0]
        row = r"(?<![^\W_])" + r"[\W_]+".join(self.tokens) + ("" if self.how == "begins" else r"(?![^\W_])")
        return f"(?:{row}|{self.joined})" if self.joined else row


class Marks(NamedTuple):
    """The properties of a message that filters ask for, its text apart."""

    kind: int
    flags: int
    tools: Sequence[str]
    """What its tool is called."""
    time: float | None

    @property
    def tokens(self) -> list[str]:
        """The tokens by which the index finds it."""
        failed = [FAILED] if self.flags & Flag.ERROR or self.kind == Kind.ERROR else []
        return [EVERY, kind_token(self.kind), *map(tool_token, self.tools), *failed]


def kind_token(kind: int) -> str:
    """The token of all messages of a kind."""
    return f"{MARK}k{kind}"


@lru_cache(1000)
def tool_token(name: str) -> str:
    """The token of all uses of a tool; `tool_name` reads it back."""
    return f"{MARK}t{one_line(name, 60).casefold().encode().hex()}"


def tool_name(token: str) -> str | None:
    """The tool of a token; None for a token of anything else."""
    return bytes.fromhex(token[2:]).decode() if token.startswith(f"{MARK}t") else None


@dataclass(slots=True)
class Filter:
    """The values of one filter, of which one must be right, and those of which none may be."""

    one_of: list[str] = field(default_factory=list)
    none_of: list[str] = field(default_factory=list)

    def allows(self, fits: Callable[[str], bool]) -> bool:
        """Return whether a thing passes of which `fits` tells whether it has a value."""
        return (not self.one_of or any(map(fits, self.one_of))) and not any(map(fits, self.none_of))

    def __bool__(self) -> bool:
        return bool(self.one_of or self.none_of)


@dataclass
class Query:
    """A query, taken apart."""

    text: str = ""
    terms: list[Term] = field(default_factory=list)
    without: list[Term] = field(default_factory=list)
    filters: dict[str, Filter] = field(default_factory=dict)
    since: float | None = None
    before: float | None = None
    problem: str = ""
    """What of it cannot be meant, in one line."""
    words: list[str] = field(default_factory=list)
    """The words and phrases that are looked for, as they were typed."""

    def __bool__(self) -> bool:
        """Return whether it asks for anything."""
        return bool(self.terms or self.without or self.filters or self.timed)

    @property
    def timed(self) -> bool:
        """Return whether it asks for a time."""
        return self.since is not None or self.before is not None

    @property
    def of_files(self) -> bool:
        """Return whether it asks for files."""
        return "file" in self.filters

    @property
    def of_exchanges(self) -> bool:
        """Return whether words are looked for in all of an exchange that touched a file, not in the very message."""
        return self.of_files and bool(self.terms) and "tool" not in self.filters

    @property
    def of_sessions(self) -> bool:
        """Return whether it asks for nothing that only a message has, so that a title can be the answer."""
        return bool(self.terms) and not self.of_files and not {"tool", "role", "is"} & set(self.filters)

    # -- as a question to the index --------------------------------------------------------------------------------

    def match(self, words: Callable[[str], Iterable[str]], tools: Iterable[str]) -> str:
        """The FTS5 expression: `words` gives the index's words that hold a part, `tools` are the tools it knows."""
        tools = list(tools)
        yes, no = [term.match(words) for term in self.terms], [term.match(words) for term in self.without]
        for name, filter_ in self.filters.items():
            for values, side in ((filter_.one_of, yes), (filter_.none_of, no)):
                if values and (tokens := _tokens(name, values, tools)) is not None:
                    side.append(_either(map(_quoted, tokens)))
        expression = " AND ".join(yes or [_quoted(EVERY)])
        return f"({expression}) NOT {_either(no)}" if no else expression

    # -- by looking ------------------------------------------------------------------------------------------------

    @cached_property
    def patterns(self) -> list[re.Pattern[str]]:
        """The words that are looked for."""
        return [re.compile(term.pattern) for term in self.terms]

    @cached_property
    def unwanted(self) -> list[re.Pattern[str]]:
        """The words that must not be there."""
        return [re.compile(term.pattern) for term in self.without]

    @cached_property
    def exact(self) -> list[re.Pattern[str]]:
        """The same words where none may be a mere part of one."""
        return [re.compile(_outright(term).pattern) for term in self.terms]

    def outright(self) -> Query:
        """The same query where no word may be a mere part of another, only its beginning."""
        return replace(self, terms=list(map(_outright, self.terms)))

    def finds(self, words: str, marks: Marks) -> bool:
        """Return whether a message with these words (`words_of`) and marks is meant, files and session apart."""
        if not self._holds(words):
            return False
        tokens = set(marks.tokens)
        for name, filter_ in self.filters.items():
            for values, wanted in ((filter_.one_of, True), (filter_.none_of, False)):
                asked = _tokens(name, values, marks.tools) if values else None
                if asked is not None and wanted != bool(tokens.intersection(asked)):
                    return False
        return self.when(marks.time)

    def in_full(self, words: str) -> bool:
        """Return whether a text holds the words as such, and not only as parts of others."""
        return all(pattern.search(words) for pattern in self.exact)

    def _holds(self, words: str) -> bool:
        return all(p.search(words) for p in self.patterns) and not any(p.search(words) for p in self.unwanted)

    def titled(self, facts: Mapping[str, Any]) -> bool:
        """Return whether a session is meant by its title; `facts` are those that the index keeps of it."""
        return self.of_sessions and self._holds(words_of(facts["title"])) and self.when(facts["created"])

    def when(self, time: float | None) -> bool:
        """Return whether something of that time is meant; what has none, only if no time is asked for."""
        if not self.timed:
            return True
        return time is not None and (self.since or 0.0) <= time and (self.before is None or time < self.before)

    def overlaps(self, first: float | None, last: float | None) -> bool:
        """Return whether something between two times can be meant."""
        if not self.timed:
            return True
        first, last = first if first is not None else last, last if last is not None else first
        early = first is not None and self.before is not None and first >= self.before
        return not early and not (last is not None and self.since is not None and last < self.since)

    def session(self, facts: Mapping[str, Any]) -> bool:
        """Return whether a session is meant, by the facts that the index keeps of it. An agent is named by how its id
        begins: some ids stand within others.
        """
        for name, key in (("agent", "provider"), ("project", "root"), ("branch", "branch")):
            if (filter_ := self.filters.get(name)) is not None:
                held = search_key(facts[key])
                found = held.startswith if name == "agent" else held.__contains__
                if not filter_.allows(found):
                    return False
        return True

    def file(self, root: str, hint: str) -> bool:
        """Return whether a file is meant, by its session's workspace and its path as seen from there."""
        path = os.path.join("/", root, hint)
        return self.filters["file"].allows(lambda asked: asked in search_key(path if asked.startswith("/") else hint))


def _quoted(token: str) -> str:
    return f'"{token}"'


def _either(expressions: Iterable[str]) -> str:
    return f"({' OR '.join(expressions)})"


def _outright(term: Term) -> Term:
    return term._replace(how="begins" if term.how == "part" else term.how, joined="")


def _tokens(name: str, values: Iterable[str], tools: Iterable[str]) -> list[str] | None:
    """The tokens of which a message has one that a filter asks for; None for filters that no token answers."""
    if name == "role":
        return [kind_token(kind) for value in values for kind in ROLES[value]]
    if name == "is":
        return [FAILED]
    if name == "tool":
        # One that nothing has, where there is no such tool: the answer is no.
        found = [tool_token(tool) for tool in tools if any(value in tool.casefold() for value in values)]
        return found or [f"{MARK}t"]
    return None


def parse(text: str, *, typing: bool = False) -> Query:
    """Take apart what was typed. While somebody is `typing` the last word may be the beginning of one, and a filter
    without a value is none yet.
    """
    query = Query(clean(text))
    pieces = list(_PIECE.finditer(text))
    for piece in pieces:
        open_ended = typing and piece.end() == len(text)
        try:
            if piece["name"]:
                _add_filter(query, piece, open_ended)
            else:
                _add_term(query, piece, open_ended)
        except CallError as error:
            query.problem = query.problem or str(error)
    return query


def _add_term(query: Query, piece: re.Match[str], open_ended: bool) -> None:
    phrase, word = piece["phrase"], piece["word"]
    given = phrase if phrase is not None else word
    tokens = tuple(tokens_of(given))
    if not tokens:
        if open_ended or not given.strip():
            return
        data = "so long a run of letters and digits is taken for encoded data, which is not searched"
        why = data if any(map(str.isalnum, given)) else "no letter or digit in it, by which it could be found"
        raise CallError(f"{one_line(given, 40)}: {why}")
    starred = bool(piece["star"]) if phrase is not None else word.endswith("*")
    last = tokens[-1]
    how: How = "whole"
    if starred or (open_ended and phrase is None and len(last) >= _SHORTEST_TYPED):
        how = "begins"
    if phrase is None and not starred and len(last) >= _SHORTEST_PART:
        how = "part" if len(tokens) == 1 else "begins"
    joined = "".join(tokens) if phrase is None and len(tokens) > 1 and _NAME.fullmatch(given) else ""
    if not piece["minus"]:
        query.words.append(given.rstrip("*"))
    (query.without if piece["minus"] else query.terms).append(Term(tokens, how, joined))


def _add_filter(query: Query, piece: re.Match[str], open_ended: bool) -> None:
    name, minus = piece["name"].lower(), bool(piece["minus"])
    value = piece["quoted"] if piece["quoted"] is not None else piece["value"]
    if not value.strip():
        if open_ended:
            return
        raise CallError(f"{name}: says nothing to look for")
    if name in ("since", "before"):
        if minus:
            raise CallError(f"-{name}: a time cannot be taken away; say {'before' if name == 'since' else 'since'}:")
        try:
            setattr(query, name, since(value))
        except CallError:
            if open_ended and _BEGUN_TIME.match(value):
                return
            raise CallError(
                f"{name}:{one_line(value, 40)}: neither a day (2026-03-01, today) nor an age (12h, 7d)"
            ) from None
        return
    known = {"role": tuple(ROLES), "is": ("error",)}.get(name)
    if name == "file":
        value = os.path.expanduser(value)
    value = search_key(value) if name != "tool" else value.casefold()
    if known is not None and value not in known:
        if open_ended and any(one.startswith(value) for one in known):
            return
        raise CallError(f"{name}:{one_line(value, 40)}: it can be {', '.join(known)}")
    if name == "agent" and not any(one.startswith(value) for one in ids()):
        raise CallError(f"agent:{one_line(value, 40)}: no such agent; there are {', '.join(ids())}")
    filter_ = query.filters.setdefault(name, Filter())
    (filter_.none_of if minus else filter_.one_of).append(value)


def of_arguments(words: Iterable[str]) -> str:
    """The query of a command's arguments: one with white space, and nothing of the language in it, is a phrase."""
    return " ".join(f'"{word}"' if len(word.split()) > 1 and not _is_query(word) else word for word in words)


def _is_query(argument: str) -> bool:
    pieces = list(_PIECE.finditer(argument))
    return any(p["name"] or p["minus"] or p["phrase"] is not None or p[0].endswith("*") for p in pieces)

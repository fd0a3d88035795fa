"""Code in colours: Pygments' tokens as roles, worked out when there is time for it.

Pygments takes some 5 ms a KB, far too long for a key press. So code is first drawn plain and asked for
(`Highlights.lookup`), and coloured when the viewer is idle (`Highlights.work`, a slice at a time). Colour never
changes where a line is wrapped, so nothing moves.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_CODE = 16 << 10
"""Characters; what is longer stays plain."""
_SLICE = 60
"""Tokens between two looks at the clock, about half a millisecond."""

Marks = list[tuple[int, str]]
"""A line of code as lengths and roles."""

_ROLE_OF = (
    ("Token.Comment", "comment"),
    ("Token.Keyword", "keyword"),
    ("Token.Literal.String", "string"),
    ("Token.Literal.Number", "number"),
    ("Token.Name.Function", "name"),
    ("Token.Name.Class", "name"),
    ("Token.Name.Decorator", "builtin"),
    ("Token.Name.Builtin", "builtin"),
    ("Token.Name.Tag", "keyword"),
    ("Token.Name.Attribute", "name"),
    ("Token.Operator.Word", "keyword"),
    ("Token.Generic.Inserted", "add"),
    ("Token.Generic.Deleted", "remove"),
    ("Token.Generic.Heading", "keyword"),
    ("Token.Generic.Subheading", "keyword"),
    ("Token.Generic.Prompt", "comment"),
)


class Want(NamedTuple):
    """A piece of code that waits for its colours."""

    language: str
    code: str


class Highlights:
    """Coloured code that was worked out before, the latest 200 pieces."""

    def __init__(self, keep: int = 200) -> None:
        self._keep = keep
        self._done: OrderedDict[Want, list[Marks] | None] = OrderedDict()

    def lookup(self, want: Want, wanted: list[Want] | None = None) -> list[Marks]:
        """Its lines, if it has been worked out and is code in a known language; what may be later goes to `wanted`."""
        marks = self._done.get(want)
        if marks is not None:
            self._done.move_to_end(want)
        elif wanted is not None and self.needs(want):
            wanted.append(want)
        return marks or []

    def needs(self, want: Want) -> bool:
        """Return whether work would tell more than `lookup`."""
        return bool(want.language) and len(want.code) <= MAX_CODE and want not in self._done

    def work(self, want: Want) -> Iterator[None]:
        """Work it out, giving way after each slice."""
        lexer = _lexer(want.language)
        yield
        lines: list[Marks] | None = None
        if lexer is not None:
            lines = [[]]
            tokens = iter(lexer.get_tokens(want.code))
            while chunk := list(itertools.islice(tokens, _SLICE)):
                for token, text in chunk:
                    _add(lines, text, _role(str(token)))
                yield
            if not _agrees(lines, want.code):
                lines = None
        self._done[want] = lines
        if len(self._done) > self._keep:
            self._done.popitem(last=False)


def _add(lines: list[Marks], text: str, role: str) -> None:
    for i, piece in enumerate(text.split("\n")):
        if i:
            lines.append([])
        if piece:
            lines[-1].append((len(piece), role))


def _agrees(lines: list[Marks], code: str) -> bool:
    """Return whether the lengths are those of the code's own lines: a lexer may change what it reads."""
    return all(
        sum(n for n, _ in marks) == len(line)
        for marks, line in itertools.zip_longest(lines, code.split("\n"), fillvalue=())
    )


@lru_cache(maxsize=256)
def _role(token: str) -> str:
    for prefix, role in _ROLE_OF:
        if token.startswith(prefix):
            return role
    return ""


@lru_cache(maxsize=64)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        # Its own newline handling would make the coloured lines differ from the plain ones.
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


_SUFFIXES = {
    "bash": "sh bash zsh", "c": "c h", "cpp": "cc cpp hpp", "csharp": "cs", "css": "css", "diff": "diff patch",
    "elixir": "ex exs", "go": "go", "html": "html", "ini": "ini", "java": "java", "javascript": "js mjs",
    "json": "json jsonl", "jsx": "jsx", "kotlin": "kt", "lua": "lua", "markdown": "md", "php": "php",
    "python": "py pyi", "ruby": "rb", "rust": "rs", "scss": "scss", "sql": "sql", "swift": "swift", "toml": "toml",
    "tsx": "tsx", "typescript": "ts", "xml": "xml", "yaml": "yml yaml", "zig": "zig",
}  # fmt: skip
_BY_SUFFIX = {suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}


def language_of_path(path: str) -> str:
    """A file's language by its name; empty if nobody knows."""
    name = path.rsplit("/", 1)[-1].lower()
    if name in ("makefile", "dockerfile"):
        return {"makefile": "make", "dockerfile": "docker"}[name]
    return _BY_SUFFIX.get(name.rsplit(".", 1)[-1], "") if "." in name else ""

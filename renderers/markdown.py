"""A session as a Markdown document that its content cannot break out of.

Streamed: pieces go out as messages are read, so a session of any size takes the memory of one message. Our own headings
are levels 1 to 3 and our own HTML is `<details>` with a one-line summary; content can produce neither
(renderers/contain.py).
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping

from renderers import document as pieces
from renderers.contain import contain, escape, fence, quote
from renderers.document import Document, Fact, Piece
from renderers.options import Include
from renderers.places import Part
from renderers.redact import Redactor
from schemas.session import Session

_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")


def render(document: Document) -> Iterator[str]:
    """The document, in pieces."""
    yield from _written(document, document.pieces())


def _written(document: Document, given: Iterable[Piece]) -> Iterator[str]:
    after_prose = False
    for piece in given:
        text = document.written(_write(piece))
        # A list at the end of one text would take in an indented beginning of the next, or the items of ours.
        if after_prose and (
            isinstance(piece, pieces.Items) or (isinstance(piece, pieces.Prose) and text[:1] in (" ", "\t"))
        ):
            yield "<!-- -->\n\n"
        after_prose = isinstance(piece, pieces.Prose)
        yield text


def render_exchange(session: Session, exchange: int, redactor: Redactor | None = None) -> str:
    """One exchange as Markdown for a comment: prompt, answers, and each tool use in one line."""
    include = Include(thinking=False, output=False, subagents=False, context=False)
    document = Document(session, include, redactor=redactor, part=Part(range(exchange, exchange + 1)))
    return "".join(_written(document, _without_folds(document.pieces())))


def _without_folds(given: Iterable[Piece]) -> Iterator[Piece]:
    """The pieces with each fold as a line of a list, what it holds left out."""
    lines: list[str] = []
    depth = 0
    for piece in given:
        if isinstance(piece, pieces.Open):
            if not depth:
                lines.append(" · ".join(filter(None, (piece.title, piece.ending))))
            depth += 1
        elif isinstance(piece, pieces.Close):
            depth -= 1
        elif not depth:
            if lines:
                yield pieces.Items(tuple(lines))
                lines.clear()
            yield piece
    if lines:
        yield pieces.Items(tuple(lines))


def _write(piece: Piece) -> str:
    match piece:
        case pieces.Prose(text):
            return f"{contain(text)}\n\n"
        case pieces.Code(text, language, label):
            above = f"*{escape(label)}*\n\n" if label else ""
            return f"{above}{fence(text, language if _LANGUAGE.fullmatch(language) else '')}\n\n"
        case pieces.Open(title, ending, _, line):
            start = f"<b>{_html(line.verb)}</b> {_html(line.object)}".rstrip() if line else _html(title)
            return f"<details><summary>{start}{f' · {_html(ending)}' if ending else ''}</summary>\n\n"
        case pieces.Close():
            return "</details>\n\n"
        case pieces.Facts(text):
            return f"*{escape(text.strip())}*\n\n"
        case pieces.Prompt(text):
            return f"{quote(text)}\n\n"
        case pieces.Mark(text, bad):
            return f"**{'✗ ' if bad else ''}{escape(text.strip())}**\n\n"
        case pieces.Heading(text, level):
            return f"{'#' * level} {escape(text.strip())}\n\n"
        case pieces.Items(rows):
            return "".join(f"- {escape(row)}\n" for row in rows) + "\n"
        case pieces.Front(title, facts):
            return f"{front_matter(facts)}\n# {escape(title.strip())}\n\n"


def _html(text: str) -> str:
    """Text for a summary: one line, and nothing in it is a tag."""
    return html.escape(text.replace("\n", " "), quote=False)


def front_matter(facts: Mapping[str, Fact]) -> str:
    """The facts as YAML front matter.

    It is indented by four spaces, which YAML does not mind, and which a reader that knows no front matter takes for a
    code block: unindented, the last line would become a heading and a path in it could turn to italics.
    """
    lines = ["---", *(f"    {name}: {_yaml(fact)}" for name, fact in facts.items()), "---", ""]
    return "\n".join(lines)


def _yaml(fact: Fact) -> str:
    """A value on one line: JSON, which YAML 1.2 includes."""
    text = json.dumps(fact, ensure_ascii=False)
    # Not printable in YAML's sense, so they must be escaped even in quotes.
    return re.sub(r"[\x7f-\x9f\ufffe\uffff\ufeff]", lambda match: f"\\u{ord(match[0]):04x}", text)

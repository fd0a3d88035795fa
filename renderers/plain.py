"""A session as plain text, for pipes and for reading without a screen.

Lines are as long as they are: whoever shows them wraps them. Everything that is not ours stands behind a mark or an
indent, so no content can look like a prompt or an exchange of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from renderers import document as pieces
from renderers.document import Document, Fact, Piece
from renderers.facts import format_count, lacks_line, plural
from renderers.plain_tables import aligned_tables
from schemas.clean import one_line

_GLYPHS = {"thinking": "✻", "tool": "▸", "subagent": "◆", "rewound": "↶", "compaction": "≡"}


def render(document: Document, *, colour: bool = False) -> Iterator[str]:
    """The text, in pieces. With `colour` each line has those of a terminal by itself, so pagers may begin anywhere."""
    depth = 0
    for piece in document.pieces():
        if isinstance(piece, pieces.Close):
            depth -= 1
            continue
        text = document.written(_write(piece, "  " * depth))
        yield _coloured(piece, text) if colour else text
        depth += isinstance(piece, pieces.Open)


def _write(piece: Piece, indent: str) -> str:
    match piece:
        case pieces.Prose(text):
            return _block(aligned_tables(text.strip("\n")), f"{indent}● ", f"{indent}  ")
        case pieces.Code(text, _, label):
            return (f"{indent}{label}:\n" if label else "") + _block(text.rstrip("\n"), f"{indent}│ ", f"{indent}│ ")
        case pieces.Open(title, ending, kind):
            return f"{indent}{_GLYPHS.get(kind, '▸')} {title}{f'  ({ending})' if ending else ''}\n" + "\n" * (
                kind != "tool"
            )
        case pieces.Facts(text):
            return f"{indent}· {text}\n\n"
        case pieces.Prompt(text):
            return _block(text.strip("\n"), f"{indent}> ", f"{indent}> ")
        case pieces.Mark(text, bad):
            return f"{indent}{'✗' if bad else '—'} {text}\n\n"
        case pieces.Heading(text, level):
            return f"{indent}{'═' * 3 if level == 2 else '─' * 3} {text}\n"
        case pieces.Items(rows):
            return "".join(f"{indent}· {row}\n" for row in rows)
        case pieces.Front(title, facts):
            return f"{title}\n{_summary(facts)}\n\n"
        case pieces.Close():
            return ""


_COLOURS: dict[type[Piece], str] = {
    pieces.Heading: "1", pieces.Prompt: "36", pieces.Facts: "2", pieces.Open: "2", pieces.Items: "2", pieces.Mark: "1",
}  # fmt: skip
_DIFF = {"+": "32", "-": "31", "@": "36"}


def _coloured(piece: Piece, text: str) -> str:
    """A piece as written, in the sixteen colours that every terminal has its own of."""
    lines = text.split("\n")
    if isinstance(piece, pieces.Code):
        signs = [line.partition("│ ")[2][:1] if piece.language == "diff" else "" for line in lines]
        colours = [_DIFF.get(sign, "") for sign in signs]
    elif isinstance(piece, pieces.Front):
        colours = ["1", *["2"] * (len(lines) - 1)]
    else:
        colour = "1;31" if isinstance(piece, pieces.Mark) and piece.bad else _COLOURS.get(type(piece), "")
        colours = [colour] * len(lines)
    pairs = zip(colours, lines, strict=True)
    return "\n".join(f"\x1b[{colour}m{line}\x1b[0m" if colour and line else line for colour, line in pairs)


def _block(text: str, first: str, then: str) -> str:
    """Lines behind their marks, and an empty line."""
    lines = text.split("\n")
    rest = "".join(f"\n{then}{line}" if line else f"\n{then.rstrip()}" for line in lines[1:])
    return f"{first}{lines[0]}".rstrip(" ") + f"{rest}\n\n"


def _summary(facts: Mapping[str, Fact]) -> str:
    """The facts that fit one line."""
    tokens = facts.get("tokens")
    total = tokens.get("totalTokens") if isinstance(tokens, dict) else None
    words = [one_line(str(facts[name]), 4096) for name in ("agent", "workspace", "branch", "created") if name in facts]
    if facts.get("archived"):
        words.append("archived")
    if isinstance(exchanges := facts["exchanges"], int) and (exchanges or not facts.get("messages")):
        words.append(plural(exchanges, "exchange"))
    if total is not None:
        words.append(f"{format_count(total)} tokens")
    if isinstance(lacks := facts.get("not_in_source"), list):
        words.append(lacks_line(lacks))
    return " · ".join(words)

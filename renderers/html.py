"""A session as one self-contained HTML file: folds without script, light and dark, nothing loaded from anywhere.

Everything from outside is escaped; Markdown goes through markdown-it with raw HTML and images switched off and links
only to http, https, mailto or a relative place. The file forbids scripts and loads itself as well (its CSP).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape as _text
from importlib.resources import files
from itertools import groupby
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from renderers import document as pieces
from renderers.changed_words import Spot, changes_in
from renderers.document import Document, Fact, Piece
from renderers.facts import exchange_numbers, format_exact
from renderers.headline import Headline
from renderers.surplus import keep_surplus_cells
from schemas.clean import Run, Sgr

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_LIMIT = 1 << 18
"""Characters; a longer text is no prose, and is shown as it is."""
_NESTING = 60
_UNCLOSED = 500
"""Brackets; markdown-it looks for the end of each one, which takes the square of their number."""
_SCHEME = re.compile(r"[^/?#]*:")
_CONTAINERS = re.compile(r"(?:[ \t]*(?:>|[-*+]|\d{1,9}[.)]))+")


def render(document: Document) -> Iterator[str]:
    """The page, in pieces."""
    open_section = False
    for piece in document.pieces(headed=True):
        if isinstance(piece, pieces.Front):
            yield document.written(_head(piece, _outline(document)))
        elif isinstance(piece, pieces.Heading) and piece.level == 2:
            yield f"{'</section>' if open_section else ''}\n<section>\n{document.written(_write(piece))}"
            open_section = True
        else:
            yield document.written(_write(piece))
    yield f"{'</section>' if open_section else ''}\n</main>\n</body>\n</html>\n"


def _write(piece: Piece) -> str:
    match piece:
        case pieces.Prose(text):
            return f'<div class="text">{_markdown(text, breaks=False)}</div>\n'
        case pieces.Code(text, language, label, runs):
            above = f'<p class="label">{_text(label)}</p>' if label else ""
            return above + (_diff(text) if language == "diff" else f"<pre><code>{coloured(text, runs)}</code></pre>\n")
        case pieces.Open(title, ending, kind, line):
            words = f"<b>{_text(line.verb)}</b> {_text(line.object)}" if line else _text(title)
            what = f'<span class="what">{words.rstrip()}</span>'
            end = _outcome(line) if line else _text(ending)
            summary = f'<summary>{what}<span class="ending">{end}</span></summary>'
            return f'<details class="{kind}">{summary}<div class="body">\n'
        case pieces.Close():
            return "</div></details>\n"
        case pieces.Facts(text):
            return f'<p class="facts">{_text(text)}</p>\n'
        case pieces.Prompt(text):
            return f'<div class="prompt">{_markdown(text, breaks=True)}</div>\n'
        case pieces.Mark(text, bad):
            return f'<p class="mark{" bad" if bad else ""}">{"✗ " if bad else ""}{_text(text)}</p>\n'
        case pieces.Heading(text, level, anchor):
            return f'<h{level} id="{_text(anchor)}"><a href="#{_text(anchor)}">{_text(text)}</a></h{level}>\n'
        case pieces.Items(rows):
            return "<ul>" + "".join(f"<li>{_text(row)}</li>" for row in rows) + "</ul>\n"
        case pieces.Front():
            return _head(piece, "")


def _head(front: pieces.Front, outline: str) -> str:
    rows = "".join(
        f"<div><dt>{_text(name.replace('_', ' '))}</dt><dd>{_text(_fact(fact))}</dd></div>"
        for name, fact in front.facts.items()
        if name != "title"  # it stands above
    )
    title = _text(front.title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n{outline}<main>\n"
        f"<h1>{title}</h1>\n<dl>{rows}</dl>\n"
    )


@cache
def _style() -> str:
    return files("renderers").joinpath("export.css").read_text("utf-8")


def _outline(document: Document) -> str:
    session, part = document.session, document.part
    links = [
        f'<li><a href="#e{exchange.index}">{_text(document.heading(exchange, number))}</a></li>'
        for exchange, number in zip(session.exchanges, exchange_numbers(session), strict=True)
        if number is not None and (part is None or exchange.index in part.exchanges)
    ]
    if part is None:
        links.append('<li><a href="#totals">Totals</a></li>')
    return f'<nav aria-label="Exchanges"><ol>{"".join(links)}</ol></nav>\n'


def _fact(fact: Fact) -> str:
    if isinstance(fact, dict):
        names = {"totalTokens": "in all", "inputTokens": "in", "cacheReadTokens": "cache read"}
        names |= {"cacheWriteTokens": "cache write", "outputTokens": "out"}
        return " · ".join(
            f"{name} {format_exact(fact[key]) if fact[key] is not None else 'unknown'}"
            for key, name in names.items()
            if key in fact
        )
    if isinstance(fact, list):
        return ", ".join(fact)
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    return fact if isinstance(fact, str) else format_exact(fact)


def _outcome(line: Headline) -> str:
    text = "".join(f'{gap}<span class="{tone}">{_text(words)}</span>' for gap, (words, tone) in line.spaced())
    return text + (f" · {_text(line.reason)}" if line.reason else "")


def _diff(text: str) -> str:
    rows: list[str] = []
    lines = text.removesuffix("\n").split("\n")
    for is_place, group in groupby(range(len(lines)), lambda at: _is_place(lines, at)):
        part = [lines[at] for at in group]
        if is_place:
            rows += (f'<span class="place">{_text(line)}</span>' for line in part)
            continue
        for change in changes_in(part):
            rows += (_diff_line(part[line.at], line.spots) for line in (*change.removed, *change.added))
    return f'<pre class="diff"><code>{"".join(rows)}</code></pre>\n'


def _diff_line(line: str, spots: list[Spot]) -> str:
    """A line of a difference; words that changed in it are marked."""
    text, at = "", 0
    for start, end in ((start + 1, end + 1) for start, end in spots):
        text += f"{_text(line[at:start])}<mark>{_text(line[start:end])}</mark>"
        at = end
    kind = {"+": ' class="add"', "-": ' class="remove"'}.get(line[:1], "")
    return f"<span{kind}>{text}{_text(line[at:])}</span>"


def _is_place(lines: list[str], at: int) -> bool:
    """Return whether a line says where those below belong: what Git tells of a file, its names, or a hunk's lines."""
    if lines[at].startswith("--- "):  # alone, it is a line that went and began with two of them
        return lines[at + 1 : at + 2] != [] and lines[at + 1].startswith("+++ ")
    return lines[at][:1] not in ("", " ", "+", "-", "\\") or (
        lines[at].startswith("+++ ") and at > 0 and lines[at - 1].startswith("--- ")
    )


class _Markdown(MarkdownIt):
    """CommonMark with tables, without raw HTML, images and links that could run or load something."""

    def __init__(self, *, breaks: bool) -> None:
        super().__init__("commonmark", {"html": False, "breaks": breaks, "maxNesting": _NESTING})
        self.enable(["table", "strikethrough"]).disable("image")
        keep_surplus_cells(self)
        self.add_render_rule("link_open", _link_open)
        self.add_render_rule("heading_open", _heading)
        self.add_render_rule("heading_close", _heading)

    def validateLink(self, url: str) -> bool:
        """Return whether a link may lead there."""
        return not _SCHEME.match(url) or url.lower().startswith(("http:", "https:", "mailto:"))


def _link_open(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, index, options, env)


def _heading(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Headings of the content rank below ours."""
    token = tokens[index]
    if token.tag in ("h1", "h2", "h3"):
        token.tag = f"h{int(token.tag[1]) + 3}"
    elif token.tag != "h6":
        token.tag = "h6"
    return self.renderToken(tokens, index, options, env)


_parser = cache(_Markdown)


def _markdown(text: str, *, breaks: bool) -> str:
    """Markdown as HTML; as it stands, where markdown-it would take too long or leave out what is nested too deeply."""
    unclosed = text.count("[") - text.count("]")
    deep = any(len(match[0]) >= _NESTING // 2 for match in _CONTAINERS.finditer(text))
    if len(text) > _LIMIT or unclosed > _UNCLOSED or deep:
        return f"<pre><code>{_text(text)}</code></pre>"
    return str(_parser(breaks=breaks).render(text))


# -- colours that a program printed: classes for the terminal's sixteen, which follow light and dark -------------------

_STEPS = (0, 95, 135, 175, 215, 255)
_FLAGS = (("bold", "B"), ("dim", "D"), ("italic", "I"), ("underline", "U"), ("strike", "S"), ("reverse", "R"))


def coloured(text: str, runs: Iterable[Run]) -> str:
    """`text` escaped, with a span around each run that is more than plain text."""
    out: list[str] = []
    position = 0
    for start, end, sgr in runs:
        attributes = _attributes(sgr)
        if attributes and position <= start < end:
            out.append(_text(text[position:start]))
            out.append(f"<span{attributes}>{_text(text[start:end])}</span>")
            position = end
    return "".join((*out, _text(text[position:])))


def _attributes(sgr: Sgr) -> str:
    """Return the HTML attributes of a style. Nothing in them comes from the text: numbers and our own words only."""
    classes = [letter for flag, letter in _FLAGS if getattr(sgr, flag)]
    styles: list[str] = []
    for colour, letter, name in ((sgr.fg, "f", "color"), (sgr.bg, "g", "background")):
        if isinstance(colour, int) and colour < 16:
            classes.append(f"{letter}{colour}")
        elif colour is not None:
            red, green, blue = _from_palette(colour) if isinstance(colour, int) else colour
            styles.append(f"{name}:#{red:02x}{green:02x}{blue:02x}")
    named = f' class="{" ".join(classes)}"' if classes else ""
    return named + (f' style="{";".join(styles)}"' if styles else "")


def _from_palette(index: int) -> tuple[int, int, int]:
    """A colour of the 6x6x6 cube (16 to 231) or of the 24 greys behind it."""
    if index >= 232:
        grey = 8 + 10 * (index - 232)
        return grey, grey, grey
    cube = index - 16
    return _STEPS[cube // 36], _STEPS[cube // 6 % 6], _STEPS[cube % 6]

"""Markdown from outside, made safe to stand in a Markdown document of ours.

Whatever the text is, once contained it opens no heading of our levels (1 to 3), leaves no fence open, has no live
HTML, loads no image, defines no link for others and links only to http, https, mailto or a relative place. What it says
stays what it says: inside code nothing is changed, outside it only as much as is needed.

The text's structure is taken from markdown-it, with the rules switched off that our changes make void (HTML blocks,
link definitions, underlined headings), and the source lines are edited. A text whose lines cannot all be accounted for
is shown as code. GitHub's parser counts as well as CommonMark's: there a bare address swallows backslashes, backticks
and entities behind it, and runs of backticks that open nothing hide code spans. So outside code each "<" is an entity.
"""

from __future__ import annotations

import re
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from renderers.inline import safe_inline, safe_table

LIMIT = 1 << 20
"""Characters; a longer text is no prose, and is shown as code."""
_OUR_LEVELS = 3
# A text without any of these needs no change: no tag, image, link, definition or fence, and no line that makes a
# heading of itself or of the line above.
_RISKY = re.compile(r"<|!\[|\]\(|\]:|```|~~~|^[ \t>*+.)0-9-]*(?:#|=+[ \t]*$)|^[ \t>*+.)0-9-]+$", re.MULTILINE)
_TICKS = re.compile(r"`{3,}")
_MARKERS = re.compile(r"[ \t>*+.)\-0-9]*")
_DASHES = re.compile(r"-[ \t-]*$")
_UNDERLINE = re.compile(r"=+|-+")
_FENCE_LINE = re.compile(r"[ \t]*(?:`{3}|~{3})")
_DEFINITION = re.compile(r"\[(?:[^\[\]\\]|\\.)*\]:", re.DOTALL)
_FOOTNOTE = re.compile(r"\[\^[^\]\s]+\]:")
_DELIMITERS = re.compile(r"[|:\- \t]+")
_TABLE_RULE = re.compile(rf"(?:[ \t]|>|[-*+](?=[ \t])|\d{{1,9}}[.)](?=[ \t]))*+{_DELIMITERS.pattern}")
"""The line under a table's heading, behind the marks of quotes and lists."""


@cache
def _blocks(tables: bool) -> MarkdownIt:
    parser = MarkdownIt("commonmark").disable(["html_block", "reference", "lheading"])
    parser.core.ruler.disable(["inline", "text_join"])
    return parser.enable("table") if tables else parser


def fence(text: str, language: str = "") -> str:
    """A code block whose text is exactly `text`: its fence is longer than any run of backticks inside."""
    ticks = "```"
    if ticks in text:
        ticks = "`" * (1 + max(len(run) for run in _TICKS.findall(text)))
    return f"{ticks}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{ticks}"


def contain(text: str) -> str:
    """`text` as Markdown that can do nothing to what stands around it. It ends without a newline."""
    text = text.strip("\n")
    if not _RISKY.search(text):
        return text
    safe = _contained(text, text.split("\n"), hard=False)
    return fence(text) if safe is None else "\n".join(safe)


def quote(text: str) -> str:
    """`text`, which a person typed, as a block quote: contained, its line breaks kept."""
    original = text.strip("\n").split("\n")
    # A tab counts up to the next multiple of four, so it would shrink behind the quote's "> ".
    lines = [line.expandtabs(4) for line in original]
    contained = _contained("\n".join(lines), lines, hard=True, original=original)
    if contained is None:
        contained = fence("\n".join(original)).split("\n")
    return "\n".join(f"> {line}" if line else ">" for line in contained)


def _contained(text: str, lines: list[str], *, hard: bool, original: list[str] | None = None) -> list[str] | None:
    """The lines made safe; None if some line's meaning stays unclear."""
    if len(text) > LIMIT:
        return None
    tokens = _blocks(False).parse(text)
    tabular = "|" in text and any(map(_TABLE_RULE.fullmatch, lines))
    # Readers differ in what ends a table and what begins one; only where that makes no difference do we go on.
    if tabular and _skeleton(tokens) != _skeleton(_blocks(True).parse(text)):
        return None
    out = list(lines)
    known = bytearray(len(lines))
    closing = ""
    heading = 0
    for token in tokens:
        if token.map is None:
            continue
        start, end = token.map
        if token.type in ("fence", "code_block"):
            known[start:end] = b"\1" * (end - start)
            if token.type == "fence" and token.level == 0:
                closing = _closing(token, lines)
                for i in range(start + 1, end):
                    if original is not None and "\t" in original[i] and not _FENCE_LINE.match(original[i]):
                        out[i] = original[i]
        elif token.type == "hr":
            known[start] = 1
            out[start] = _DASHES.sub("***", lines[start])
        elif token.type == "heading_open":
            heading = int(token.tag[1])
            known[start] = 1
            line, mark = lines[start], lines[start].index("#")
            behind = safe_inline(line[mark + heading :])
            out[start] = line[:mark] + "#" * min(6, heading + _OUR_LEVELS) + behind  # below our levels
        elif token.type == "inline":
            known[start:end] = b"\1" * (end - start)
            if heading:
                heading = 0
            elif not _paragraph(token, out, start, hard):
                return None
    if any(not known[i] and _MARKERS.fullmatch(line) is None for i, line in enumerate(lines)):
        return None
    return [*out, closing] if closing else out


def _skeleton(tokens: list[Token]) -> list[tuple[str, int, int]]:
    """Return the parts of a text that are code, a heading or a rule."""
    kinds = ("fence", "code_block", "heading_open", "hr")
    return [(t.type, t.map[0], t.map[1]) for t in tokens if t.type in kinds and t.map is not None]


def _closing(token: Token, lines: list[str]) -> str:
    """The fence that an open code block at the end of the text lacks; empty if it is closed."""
    assert token.map is not None
    start, end = token.map
    if any(line.strip() for line in lines[end:]):
        return ""
    last = lines[end - 1].strip()
    closed = end - 1 > start and len(last) >= len(token.markup) and not last.strip(token.markup[0])
    return "" if closed and _FENCE_LINE.match(lines[end - 1]) else token.markup


def _paragraph(token: Token, out: list[str], start: int, hard: bool) -> bool:
    """Edit a paragraph's lines in place; False if they are not where they should be."""
    content = [line.strip() for line in token.content.split("\n")]
    assert token.map is not None
    if len(content) != token.map[1] - start:
        return False
    text = "\n".join(content)
    tabular = "|" in text and any(_DELIMITERS.fullmatch(line) for line in content)
    edited = (safe_table(text) if tabular else safe_inline(text)).split("\n")
    if _DEFINITION.match(text):
        edited[0] = "\\" + edited[0]
    for k, (old, new) in enumerate(zip(content, edited, strict=True)):
        if _UNDERLINE.fullmatch(old) or (_FOOTNOTE.match(old) and not new.startswith("\\")):
            new = "\\" + new
        source = out[start + k].rstrip()
        if not source.endswith(old):
            return False
        # Spaces that are not ASCII's stay: "#" alone would be a heading where "#" with such a space is none.
        tail = out[start + k][len(source) :].rstrip(" \t")
        broken = hard and k + 1 < len(content) and not tabular and not new.endswith("\\")
        out[start + k] = source[: len(source) - len(old)] + new + tail + ("  " if broken else "")
    return True


_PUNCTUATION = re.compile(r"[\\`*\[\]|~]|<|(?<![^\W_])_|_(?![^\W_])|&(?=#|\w)|!(?=\[)|\$(?=\S)")
_CLOSING_HASH = re.compile(r"#(?=#*\s*$)")


def escape(text: str) -> str:
    """Plain text on one line as Markdown that reads exactly so."""
    # Entities are understood everywhere; old readers do not know a backslash before "<".
    signs = {"<": "&lt;", "&": "&amp;"}
    line = _PUNCTUATION.sub(lambda match: signs.get(match[0], f"\\{match[0]}"), text.replace("\n", " "))
    return _CLOSING_HASH.sub(r"\\#", line) if "#" in line else line

"""Hostile Markdown for property tests, and what a CommonMark reader makes of a document."""

from __future__ import annotations

import re
from html import unescape

import cmarkgfm
from cmarkgfm.cmark import Options
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

# Pieces that have broken exporters, and what glues them together in ways nobody writes.
_FRAGMENTS = [
    "# one", "## two\n", "###### six", "#", "Title\n===", "Title\n---", "---", "***", "-", "- ", "--", "=", "==",
    "```", "````", "~~~", "```python\n", "~~~~ x\n", "`", "``", "` `", "> ", ">", "> > ", "1. ", "10) ", "- - ", "+ ",
    "* ", "    ", "  ", "   ", "\t", "\n", "\n\n", " ", "\\", "\\\\", "\\`", "\\<", "<b>", "</details>", "<details>",
    "</summary>", "<!--", "-->", "<script>x</script>", "<img src=x onerror=y>", "<div>\n", "<pre>", "<?php",
    "<![CDATA[",
    "<https://a.example>", "<https://a.example/`>", "<javascript:x>", "<a@b.example>", "![i](http://a.example/x.png)",
    "![i][r]", "[r]: http://a.example", "[r]:\n/x", "[^1]: note", "[^1]", "[r]", "[t](http://a.example)",
    "[t](javascript:x)", "[t](java&#115;cript:x)", "[t](<java\tscript:x>)", "[t](a`b)", "[t](data:text/html,x)",
    "[t](/x \"`\")", "[t](http://a.example 'x')", "](", "[", "]", "(", ")", "!", "|", "| a | b |\n|---|---|\n", "|-|",
    ":-:", "a | b", "&lt;", "&#60;script>", "&", "_", "*", "**", "http://a.example/`", "www.a.example`", "text", "x",
    "\u00a0", "é", "\u3000", "<img src=x onerror=y>", "http://a.example/\\<img src=x>", "www.a.example\\</details>",
    "www.a.example/",
    "https://a.example/x", "a@b.example", "xmpp:a@b.example/", "[t](<img src=x onerror=y>)", "[t](</b c>)", "~~", "~",
    "- [ ] ", "[!NOTE]\n", "@user", "#12", "\\!", "\\]", "*`", "`<b>`", "`a`", "`` ",
]  # fmt: skip
hostile = st.lists(st.sampled_from(_FRAGMENTS) | st.text("`<>#-=~|[]()!\\\n\t :ab", max_size=6), max_size=14).map(
    "".join
)

_COMMON = MarkdownIt("commonmark")
_TABLES = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def tokens(document: str, *, tables: bool = False) -> list[Token]:
    """All tokens, inline ones too, in order."""
    flat: list[Token] = []
    for token in (_TABLES if tables else _COMMON).parse(document):
        flat.append(token)
        flat.extend(token.children or [])
    return flat


def headings(document: str, *, tables: bool = False) -> list[tuple[int, str]]:
    """Level and text of each heading."""
    found: list[tuple[int, str]] = []
    level = 0
    for token in (_TABLES if tables else _COMMON).parse(document):
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "inline" and level:
            found.append((level, "".join(child.content for child in token.children or [])))
            level = 0
    return found


def live(document: str, *, tables: bool = False) -> list[str]:
    """What of the document is raw HTML, an image, or a link somewhere unsafe."""
    bad: list[str] = []
    for token in tokens(document, tables=tables):
        if token.type in ("html_block", "html_inline"):
            bad.append(token.content)
        elif token.type == "image":
            bad.append(f"image {token.attrGet('src')}")
        elif token.type == "link_open":
            target = str(token.attrGet("href"))
            if re.match(r"[a-z][a-z0-9+.-]*:", target, re.I) and not re.match(r"(https?://|mailto:)", target, re.I):
                bad.append(target)
    return bad


def codes(document: str) -> list[str]:
    """The text of each code block."""
    return [token.content for token in _COMMON.parse(document) if token.type in ("fence", "code_block")]


GITHUB = ["table", "strikethrough", "autolink", "tasklist"]
_OMITTED = "<!-- raw HTML omitted -->"


def github(document: str, *, safe: bool = False) -> str:
    """The document as HTML, by the parser and with the extensions that GitHub has; `safe` leaves raw HTML out."""
    options = Options.CMARK_OPT_FOOTNOTES | (0 if safe else Options.CMARK_OPT_UNSAFE)
    html: str = cmarkgfm.markdown_to_html_with_extensions(document, options=options, extensions=GITHUB)
    return html


def live_on_github(document: str) -> list[str]:
    """What of the document is raw HTML, an image, or a link somewhere unsafe for GitHub, where bare addresses are links
    and swallow what stands behind them.
    """
    html = github(document)
    bad = ["raw HTML"] * github(document, safe=True).count(_OMITTED)
    bad += re.findall(r"<img\b[^>]*>", html)
    for target in re.findall(r'<a href="([^"]*)"', html):
        scheme = re.match(r"([a-z][a-z0-9+.-]*):", unescape(target), re.I)
        # Of ftp, xmpp and `x---mailto:a@b.example` GitHub itself makes links where they stand bare.
        if scheme is not None and not re.search(r"(^|-)(https?|mailto|ftp|xmpp)$", scheme[1], re.I):
            bad.append(target)
    return bad


def headings_on_github(document: str) -> list[tuple[int, str]]:
    """Level and text of each heading of levels 1 to 3."""
    found = re.findall(r"<h([1-3])>(.*?)</h", github(document), re.DOTALL)
    return [(int(level), text) for level, text in found]

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given

from renderers.document import Document
from renderers.html import render
from renderers.markdown import render as markdown
from renderers.options import Include
from renderers.redact import Redactor
from schemas.diffs import FileDiff, Hunk
from schemas.message import Kind, Tool
from tests.renderers.hostile import hostile
from tests.renderers.sample import TOKEN, load, sample
from tests.support import Hand

_VOID = {"meta", "br", "hr"}
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_OURS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "nav",
    "main",
    "section",
    "details",
    "summary",
    "div",
    "span",
    "b",
}
_TEXT = {"p", "ul", "ol", "li", "a", "dl", "dt", "dd", "pre", "code", "blockquote", "em", "strong", "s", "br", "hr"}
_TABLE = {"table", "thead", "tbody", "tr", "th", "td"}
_TAGS = _HEADINGS | _OURS | _TEXT | _TABLE
_ATTRIBUTES = {"class", "id", "href", "rel", "lang", "charset", "content", "http-equiv", "name", "aria-label", "start"}
_ATTRIBUTES |= {"title", "style"}


class Page(HTMLParser):
    """Elements, attributes and text by fold depth; wrong nesting is an error."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.stack: list[str] = []
        self.texts: list[tuple[int, str]] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _VOID
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.stack:
            self.texts.append((self.stack.count("details"), data))

    @property
    def text(self) -> str:
        return "".join(data for _, data in self.texts)


def page(hand: Hand, redactor: Redactor | None = None) -> Page:
    return Page("".join(render(Document(hand.session, Include(), redactor=redactor, subagents=load))))


def test_one_self_contained_file() -> None:
    text = "".join(render(Document(sample().session, Include(), subagents=load)))
    assert text.startswith("<!doctype html>")
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in text
    assert "prefers-color-scheme: dark" in text
    read = Page(text)
    assert set(read.tags) <= _TAGS
    assert all(value.startswith("#") for _, name, value in read.attributes if name == "href")
    ids = [value for _, name, value in read.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for _, name, value in read.attributes if name == "href"} <= set(ids)


def test_everything_can_be_read() -> None:
    read = page(sample())
    for text in ("Find out why *one in five* fails", "<now>", "Fixed", "E   assert\n```\n", "Two callers.", "hologram"):
        assert text in read.text
    assert "with 1 subagent: 2,362 tokens" in read.text
    assert read.tags.count("details") == 10
    assert ("span", "class", "add") in read.attributes


def test_redaction() -> None:
    redactor = Redactor()
    assert TOKEN not in page(sample(), redactor).text
    assert redactor.count == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("![x](https://a.example/x.png)", "!x"),
        ("&amp; stays", "& stays"),
        ("# big", "big"),
        ("|a|b|\n|---|---|\n|x|y|<b>z</b>|", "y | <b>z</b>"),
        ("> " * 80 + "deep", "> " * 80 + "deep"),
    ],
)
def test_agent_text(text: str, shown: str) -> None:
    hand = Hand()
    hand.prompt("go")
    hand.text(text)
    read = page(hand)
    assert shown in read.text
    assert set(read.tags) <= _TAGS
    assert read.tags.count("h1") == 1


def test_links() -> None:
    hand = Hand()
    hand.prompt("go")
    hand.text("[a](https://a.example) [b](javascript:x) [c](src/c.py) [d](data:text/html,x) [e](java&#115;cript:x)")
    targets = [value for _, name, value in page(hand).attributes if name == "href" and not value.startswith("#")]
    assert targets == ["https://a.example", "src/c.py"]


@given(first=hostile, second=hostile)
def test_hostile_texts_cannot_break_the_page(first: str, second: str) -> None:
    hand = Hand()
    hand.session.title = first
    hand.prompt(second)
    hand.thinking(first)
    hand.text(second)
    hand.tool(
        Tool(first, "generic", "t", {"a": second}, text=first, diffs=[FileDiff(second, hunks=[Hunk([f"+{first}"])])])
    )
    for kind in (Kind.STEER, Kind.NOTE, Kind.CONTEXT, Kind.COMPACTION, Kind.ERROR, Kind.UNKNOWN):
        hand.note(kind, first.replace("\n", " "), second)
    hand.prompt("the next prompt")
    hand.text("the last reply")
    read = page(hand)
    assert set(read.tags) <= _TAGS
    assert {name for _, name, _ in read.attributes} <= _ATTRIBUTES
    assert (0, "the last reply") in read.texts
    for _, name, value in read.attributes:
        if name == "href":
            assert ":" not in re.split("[/?#]", value)[0] or value.lower().startswith(
                ("https://", "http://", "mailto:")
            )
        if name == "style":
            assert value.startswith("text-align:")
    if first.strip():
        assert first in read.text


def test_words_that_changed_are_marked_in_a_difference() -> None:
    hand = Hand()
    hand.prompt("go")
    lines = ["-f(<a>, 1)", "+f(<a>, 2)", "--- a comment", " same"]
    hand.tool(Tool("Edit", "write", "t", {}, diffs=[FileDiff("a.sql", hunks=[Hunk(lines, 1, 1)])]))
    page = "".join(render(Document(hand.session, Include())))
    assert '<span class="remove">-f(&lt;a&gt;, <mark>1</mark>)</span>' in page
    assert '<span class="add">+f(&lt;a&gt;, <mark>2</mark>)</span>' in page
    assert '<span class="remove">--- a comment</span><span> same</span>' in page
    assert '<span class="place">--- a/a.sql</span><span class="place">+++ b/a.sql</span>' in page


def test_a_difference_in_output_is_a_block_of_its_own() -> None:
    git = "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1,1 +1,1 @@\n-f(1)\n+f(2)"
    hand = Hand()
    hand.prompt("go")
    hand.tool(Tool("Bash", "shell", "t", {"command": "git show"}, text=f"commit <1>\n{git}\nend"))
    page = "".join(render(Document(hand.session, Include())))
    assert "<code>commit &lt;1&gt;</code>" in page and "<code>end</code>" in page
    assert (
        '<p class="label">move x → y</p><pre class="diff"><code><span class="place">diff --git a/x b/y</span>' in page
    )
    assert '<span class="remove">-f(<mark>1</mark>)</span><span class="add">+f(<mark>2</mark>)</span></code>' in page
    assert f"*move x → y*\n\n```diff\n{git}\n```\n" in "".join(markdown(Document(hand.session, Include())))


def test_a_secret_that_begins_in_one_difference_and_ends_in_another_is_hidden() -> None:
    key = ["-----BEGIN RSA PRIVATE KEY-----", *["MIIEowIBAAKCAQEA" * 4] * 3, "-----END RSA PRIVATE KEY-----"]
    git = "".join(f"--- a/{n}\n+++ b/{n}\n@@ -0,0 +1,{len(part)} @@\n" + "".join(f"+{line}\n" for line in part)
                  for n, part in enumerate((key[:2], key[2:3], key[3:])))  # fmt: skip
    hand = Hand()
    hand.prompt("go")
    hand.tool(Tool("Bash", "shell", "t", {"command": "git show"}, text=git))
    assert "MIIEowIBAAKCAQEA" not in "".join(render(Document(hand.session, Include(), redactor=Redactor())))

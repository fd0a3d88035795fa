from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from schemas.clean import one_line
from schemas.interchange.sheets import escaped, table

TEXT = st.text(alphabet=st.sampled_from(list("ab1 .)|`*_~<>[](){}#+-=!&;\\\\:/\\n")), max_size=12)
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def shown(markdown: str) -> list[str]:
    """The text of each inline piece; anything but text shows up as its type."""
    inlines = [token for token in MARKDOWN.parse(markdown) if token.type == "inline"]
    return [
        "".join(c.content if c.type.startswith("text") else f"<{c.type}>" for c in t.children or []) for t in inlines
    ]


@given(TEXT)
def test_a_cell_shows_the_text_as_it_is(text):
    assert shown(table(["h", "n"], [[escaped(text), "1"]])) == ["h", "n", one_line(text).strip(), "1"]


@given(TEXT.filter(lambda text: one_line(text).strip()))
def test_a_paragraph_does_too(text):
    assert shown(escaped(text)) == [one_line(text).strip()]


def test_what_needs_no_escape_has_none():
    for text in ("my_own_model", "Cache-read share is low (<10%): improve", "a > b & c", "$12/MTok", "claude-opus-4-5"):
        assert escaped(text) == text

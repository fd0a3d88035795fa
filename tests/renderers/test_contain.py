from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from renderers.contain import LIMIT, contain, escape, fence, quote
from tests.renderers.hostile import codes, github, headings, headings_on_github, hostile, live, live_on_github, tokens

FOOT = "\n\n## ours\n\nafter\n"


@pytest.mark.parametrize("tables", [False, True])
@given(text=hostile)
def test_contained_text_does_nothing_to_what_follows(tables: bool, text: str) -> None:
    for safe in (contain(text), quote(text)):
        document = f"{safe}{FOOT}"
        assert live(document, tables=tables) == []
        assert [h for h in headings(document, tables=tables) if h[0] <= 3] == [(2, "ours")]
        assert tokens(document, tables=tables)[-2].content == "after"


@given(text=hostile)
def test_contained_text_does_nothing_on_github(text: str) -> None:
    for safe in (contain(text), quote(text), f"## {escape(text)}", f"- line {escape(text)}"):
        document = f"{safe}{FOOT}"
        assert live_on_github(document) == []
        assert headings_on_github(document)[-1] == (2, "ours")
        assert [level for level, _ in headings_on_github(document)] == [2] * (1 + safe.startswith("## "))
        assert github(document).endswith("<p>after</p>\n")


@given(first=hostile, second=hostile)
def test_texts_after_each_other_keep_apart(first: str, second: str) -> None:
    document = f"{contain(first)}\n\n<!-- -->\n\n{contain(second)}{FOOT}"
    assert live(document) == ["<!-- -->\n"]
    assert headings(document)[-1] == (2, "ours")
    # A fence that is left open in a list takes in the empty line before what ends the list.
    alone = [code.rstrip("\n") for code in codes(contain(first))]
    assert [code.rstrip("\n") for code in codes(document)][: len(alone)] == alone


@given(hostile)
def test_code_blocks_keep_their_text(text: str) -> None:
    inert = MarkdownIt("commonmark").disable(["html_block", "reference", "lheading"])
    before = [t.content for t in inert.parse(text.strip("\n")) if t.type in ("fence", "code_block")]
    after = codes(contain(text))
    if contain(text) != fence(text.strip("\n")):
        # Of a fence that never ends, the parser leaves out a last line of spaces; ours is closed and keeps it.
        assert [c.rstrip() for c in after] == [c.rstrip() for c in before]


@given(st.text("`~\n\t <a", max_size=40))
def test_a_fence_holds_exactly_its_text(text: str) -> None:
    assert codes(fence(text)) == [text if text.endswith("\n") else text + "\n"]


@given(st.text("#*_`[]<>&!\\|~$ab1. -", max_size=30).map(lambda text: " ".join(text.split())))
def test_escaped_text_reads_exactly_so(text: str) -> None:
    assert headings(f"## 1. {escape(text)}\n") == [(2, f"1. {text}".strip())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words and a -> b", "plain words and a -> b"),
        ("3 < 4", "3 &lt; 4"),
        ("see http://a.example/\\<img src=x>", "see http://a.example/&lt;img src=x>"),
        ("[a](<b c.py>)", "[a](b%20c.py)"),
        ("[a](<b/c.py> 'x')", "[a](b/c.py 'x')"),
        ("# Result", "#### Result"),
        ("Result\n======\n\ntext", "Result\n\\======\n\ntext"),
        ("above\n---\nbelow", "above\n***\nbelow"),
        ("Use `Vec<T>` and <b>", "Use `Vec<T>` and &lt;b>"),
        ("see <https://a.example/x>", "see &lt;https://a.example/x&gt;"),
        ("![shot](https://a.example/x.png)", "\\![shot](https://a.example/x.png)"),
        ("[a](javascript:x) [b](src/b.py) [c](https://c.example)", "[a]\\(javascript:x) [b](src/b.py) [c](https://c.example)"),
        ("[id]: https://a.example", "\\[id]: https://a.example"),
        ("```js\nlet a = '<b>'", "```js\nlet a = '<b>'\n```"),
        ("| a | `b<c>` |\n|---|---|\n| d | e |", "| a | `b<c>` |\n|---|---|\n| d | e |"),
        ("| `a | <b>` |\n|---|---|", "| `a | &lt;b>` |\n|---|---|"),
    ],
)  # fmt: skip
def test_examples(text: str, expected: str) -> None:
    assert contain(text) == expected


def test_a_prompt_keeps_its_line_breaks() -> None:
    assert quote("one\ntwo\n\n\tthree") == "> one  \n> two\n>\n>     three"


def test_tabs_in_a_prompts_code_stay() -> None:
    assert "> \tgcc x\n" in quote("```make\nall:\n\tgcc x\n```") + "\n"


def test_what_is_too_long_or_too_deep_is_shown_as_code() -> None:
    assert codes(quote("# x\n" + "a" * LIMIT))[0].startswith("# x\na")
    deep = "> " * 40 + "<script>"
    assert codes(quote(deep)) == [deep + "\n"]


@pytest.mark.parametrize(
    "piece", ["[", "`", "> ", "- ", "*", "<", "](", "`` ` ", "1. a\n", "|", "&", "\\", "    x\n", "~~~\n", "[a]: b\n"]
)
def test_long_runs_of_one_thing_are_contained(piece: str) -> None:
    assert live(contain(piece * 500)) == []

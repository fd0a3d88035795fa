from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from renderers.html import coloured
from schemas.clean import Run, Sgr, clean_styled


def test_examples() -> None:
    text, runs = clean_styled("ok \x1b[1;31m<3 failed>\x1b[0m in \x1b[38;5;208mred\x1b[48;2;1;2;3m!")
    assert coloured(text, runs) == (
        'ok <span class="B f1">&lt;3 failed&gt;</span> in <span style="color:#ff8700">red</span>'
        '<span style="color:#ff8700;background:#010203">!</span>'
    )


def test_greys_and_the_cube_ends() -> None:
    for index, expected in ((16, "000000"), (231, "ffffff"), (232, "080808"), (255, "eeeeee")):
        assert f"color:#{expected}" in coloured("x", [Run(0, 1, Sgr(fg=index))])


colours = st.none() | st.integers(0, 255) | st.tuples(*[st.integers(0, 255)] * 3)
styles = st.builds(Sgr, colours, colours, *[st.booleans()] * 6)


@given(st.text(), st.lists(st.builds(Run, st.integers(0, 30), st.integers(0, 30), styles), max_size=6))
def test_no_text_is_lost_or_live(text: str, runs: list[Run]) -> None:
    text = text.replace("\r", "")
    read: list[str] = []
    tags: set[str] = set()
    parser = HTMLParser()
    parser.handle_data = read.append  # type: ignore[method-assign]
    parser.handle_starttag = lambda tag, attributes: tags.add(tag)  # type: ignore[method-assign]
    parser.feed(coloured(text, [run for run in runs if run.end <= len(text)]))
    parser.close()
    assert "".join(read) == text
    assert tags <= {"span"}

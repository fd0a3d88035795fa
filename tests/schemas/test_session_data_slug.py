from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.interchange.session_data_read import read_document
from schemas.interchange.session_data_write import session_slug, slug_of
from schemas.message import Kind, Part
from schemas.opening import read_session
from tests.schemas.session_documents import again, document, written
from tests.support import Hand, replacing

SHARED = Path(__file__).parents[2] / "../shared/goldens"


def slug(*prompts: str, provider: str = "claude") -> str:
    hand = Hand(provider)
    for prompt in prompts:
        hand.prompt(prompt)
    return session_slug(hand.session)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fix the lamp's flicker, please", "fix-the-lamp-s"),
        ("Lamps", "lamps"),
        ("Ölkännchen für Zoë", "olkannchen-fur-zoe"),
        ("Straße", "stra-e"),
        ("ＦＵＬＬ width İstanbul K", "width-istanbul-k"),
        ("灯を直す fix 灯", "fix"),
        ("灯を直す", ""),
        ("", ""),
        ("?!…", ""),
        ("mail @dev & #ops now", "mail-at-dev-and"),
        ("## Plan: lamps\n\nfirst", "plan-lamps-first"),
        ("#12 is broken", "hash-12-is-broken"),
        ("<note>all of it</note>  #  Heading", "heading"),
        ("<file path='a/b'>x</file>\nRead <b>this</b> <br/> now", "read-now"),
        ("a < b and <unclosed> c", "a-b-and-unclosed"),
        ("<a>1<b>2</b>3</a> after", "after"),
        ("x" * 500, "x" * 80),
        ("x" * 79 + " y", "x" * 79),
        ("\ud83e half", "half"),
    ],
)
def test_the_first_words_in_plain_letters(text, expected):
    assert slug_of(text) == expected


@given(st.text(max_size=60))
def test_a_slug_is_safe_in_a_file_name(text):
    assert re.fullmatch(r"(?:[a-z0-9]+(?:-[a-z0-9]+){0,3})?", slug_of(text))


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b x='1'>", "</b>", "<c/>", "word ", "<", ">"]), max_size=12))
def test_a_closed_block_goes_and_what_is_around_it_stays(pieces):
    middle = "".join(pieces)
    assert slug_of(f"first <z>{middle}</z> last") == "first-last"


def test_many_tags_take_no_longer_than_their_number():
    assert slug_of("<a>" * 50_000 + "word") == "a-a-a-a"
    assert slug_of("<a></b>" * 50_000 + "</a> word") == "word"


def test_it_is_that_of_the_first_prompt_that_a_person_typed():
    assert slug("<command-name>/init</command-name>", "Fix it") == "fix-it"
    assert slug("[Request interrupted by user for tool use]", "Fix it") == "fix-it"
    assert slug("Warmup", "Fix it") == "fix-it"
    assert slug("<TEXTBLOCK>name this</TEXTBLOCK>", "Fix it") == "fix-it"
    assert slug("Warmup", "Fix it", provider="codex") == "warmup"
    assert slug("Implement the following plan:\n\n# Lamps: rewire", "x") == "lamps-rewire"
    assert slug("…", "Fix it") == ""


def test_what_was_rewound_or_typed_as_a_command_gives_none():
    hand = Hand()
    hand.add(Kind.COMMAND, opener="/clear", parts=[Part("text", "/clear")])
    hand.prompt("taken back")
    hand.session.exchanges[-1].rewound = True
    hand.prompt("Fix it")
    assert session_slug(hand.session) == "fix-it"


def test_gemini_has_a_name_for_a_session_without_words():
    assert slug(provider="gemini") == slug("…", provider="gemini") == "gemini-session"
    assert slug() == ""


def test_it_is_made_of_the_prompt_whatever_a_document_says():
    hand = Hand()
    hand.prompt("Fix the flickering lamp today")
    assert written(hand.session)["slug"] == written(again(hand.session))["slug"] == "fix-the-flickering-lamp"
    theirs = document({"role": "user", "content": [{"type": "text", "text": "Fix it"}]}, slug="Their OWN_slug")
    assert written(read_document(theirs, Path("x")))["slug"] == "fix-it"
    assert "slug" not in written(Hand().session)


def test_a_prompt_without_its_message_gives_none():
    bare = document()
    bare["exchanges"][0] |= {"messages": [], "metadata": {"turnlog": {"opener": "prompt", "prompt": "Fix it"}}}
    assert "slug" not in written(read_document(bare, Path("x")))


def test_a_secret_is_taken_out_before_its_signs_are():
    hand = Hand()
    hand.prompt("use KEY-12 now")
    assert written(hand.session, edit=replacing("KEY-12", "[gone]"))["slug"] == "use-gone-now"


CASES = SHARED / "specstory/cases/TestGenerateFilenameFromUserMessage.json"
PAIRS = re.findall(
    r'(claude-convo|claude-compacted|codex-compacted|sample-codex-python|gemini tools) "([a-z0-9-]*)"',
    (SHARED / "specstory/MANIFEST.md").read_text() if CASES.exists() else "",
)
FILES = {
    "claude-convo": "claude-convo",
    "claude-compacted": "claude-compacted_session",
    "codex-compacted": "codex-compacted_session",
    "sample-codex-python": "codex-sample-codex-python",
    "gemini tools": "gemini-sample_main_with_tools",
}


@pytest.mark.skipif(not CASES.exists(), reason="the shared goldens are not here")
def test_the_producers_cases():
    for case in json.loads(CASES.read_text()):
        assert slug_of(case["message"]) == case["expected"], case["name"]


@pytest.mark.skipif(not CASES.exists(), reason="the shared goldens are not here")
def test_the_goldens_slugs():
    assert len(PAIRS) == len(FILES)
    for name, expected in PAIRS:
        if not expected:
            continue  # a session without exchanges, which the producer writes as null
        golden = read_session(SHARED / f"specstory/golden/{FILES[name]}.session.json")
        assert session_slug(golden) == expected
        agent, _, stem = FILES[name].partition("-")
        (native,) = (SHARED / f"toolpath/native/{agent}").glob(f"{stem}.json*")
        assert session_slug(read_session(native)) == expected

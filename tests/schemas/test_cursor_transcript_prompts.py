"""What a user's text of Cursor holds, and when it was sent: formats notes 3.2 and 3.3."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.providers.cursor.store import Split, sent_at, split, workspace_of


def split_prompt(text: str) -> Split:
    return split([text])


def pieces(found: Split) -> list[tuple[str, str]]:
    """The prompt, if there is one, and what was put around it."""
    typed = [] if found.prompt is None else [("PROMPT", found.prompt)]
    return typed + [(label, text) for text, label in found.context]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", [("PROMPT", "plain words")]),
        ("<user_query>\nhi\n</user_query>", [("PROMPT", "hi")]),
        (
            "<rules>be kind</rules>\n<user_query>hi</user_query>",
            [("PROMPT", "hi"), ("rules", "<rules>be kind</rules>")],
        ),
        (
            "<user_query>a</user_query>\n<git_status>x</git_status>\n<user_query>b</user_query>",
            [("PROMPT", "a\n\nb"), ("git status", "<git_status>x</git_status>")],
        ),
        ("<user_info>x</user_info>", [("user info", "<user_info>x</user_info>")]),
        (
            "<user_info>x</user_info>\nwords",
            [("user info", "<user_info>x</user_info>"), ("context", "words")],
        ),
        ("stray words\n<user_query>hi</user_query>", [("PROMPT", "hi"), ("context", "stray words")]),
        ("why does <rules> not work?", [("PROMPT", "why does <rules> not work?")]),
        ("<div>is this right?</div>", [("PROMPT", "<div>is this right?</div>")]),
        ("<user_query>what is <user_query>?</user_query>", [("PROMPT", "what is <user_query>?")]),
        ("<user_query>never closed", [("PROMPT", "never closed")]),
        ("<rules>never closed\n<user_query>hi</user_query>", [("PROMPT", "hi"), ("rules", "<rules>never closed")]),
        (
            "<rules>say <user_query>x</user_query></rules><user_query>hi</user_query>",
            [("PROMPT", "hi"), ("rules", "<rules>say <user_query>x</user_query></rules>")],
        ),
        ('<rules kind="a">x</rules>', [("rules", '<rules kind="a">x</rules>')]),
        (
            "<external_links>http://a</external_links>\n<user_query>see</user_query>",
            [("PROMPT", "see"), ("external links", "<external_links>http://a</external_links>")],
        ),
        ("", []),
        ("  \n", []),
        ("<user_query>\n</user_query>", []),
    ],
)
def test_a_text_is_cut_into_prompt_and_context(text, expected):
    assert pieces(split_prompt(text)) == expected


@pytest.mark.parametrize(
    "words",
    [
        "Perform any necessary follow-up actions in response to the subagent completion above.",
        "Briefly inform the user about the task result and perform any follow-up actions (if needed).",
        "You are the forked subagent; continue executing your task. And more.",
        "Your previous response was interrupted. Continue from where you left off.",
    ],
)
def test_what_cursor_says_itself_is_no_prompt(words):
    for text in (words, f"<user_query>\n{words}\n</user_query>"):
        found = split_prompt(text)
        assert found.prompt is None and [text for text, _ in found.context] == [words] and found.context[0][1]
    both = split_prompt(f"<user_query>{words}</user_query><user_query>mine</user_query>")
    assert both.prompt == "mine" and len(both.context) == 1


def test_parts_of_one_message_need_one_query():
    found = split(["<user_info>x</user_info>", "leftover", "<user_query>hi</user_query>"])
    assert pieces(found) == [("PROMPT", "hi"), ("user info", "<user_info>x</user_info>"), ("context", "leftover")]
    assert pieces(split(["<user_info>x</user_info>", "words", "more"])) == [
        ("PROMPT", "words\n\nmore"),
        ("user info", "<user_info>x</user_info>"),
    ]


def test_images_are_named_by_their_paths():
    files = "<image_files>\nThese were saved:\n1. /a/b c.png\n2. /d.jpg\n\nThey can be copied.\n</image_files>"
    found = split_prompt(f"{files}\n<user_query>look</user_query>")
    assert pieces(found) == [("PROMPT", "look")]
    assert [part.text for part in found.images] == ["[image /a/b c.png]", "[image /d.jpg]"]
    assert split_prompt(files).prompt == "" and split_prompt(f"{files}\nlook").prompt == "look"


def test_the_workspace_stands_in_user_info():
    text = "<user_info>\nOS Version: darwin\n\nWorkspace Path: /Users/u/my app  \n\nToday\n</user_info>"
    assert workspace_of(text) == "/Users/u/my app"
    assert workspace_of("Workspace Path: /x") == workspace_of("<user_info>x</user_info>") == ""


@given(st.lists(st.sampled_from(["<user_query>", "</user_query>", "<rules>", "</rules>", "a", "\n", "<timestamp>"])))
def test_no_word_is_lost(parts):
    text = "".join(f"{part}w{n}" for n, part in enumerate(parts))
    shown = "".join(shown for _, shown in pieces(split_prompt(text)))
    assert all(f"w{n}" in shown for n in range(len(parts)))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Tuesday, Jun 2, 2026, 11:20 AM (UTC+8)", 1_780_370_400),
        ("Jun 2, 2026, 3:20 AM (UTC)", 1_780_370_400),
        ("Tuesday, June 2, 2026, 8:50 AM (UTC+5:30)", 1_780_370_400),
        ("Monday, Jun 1, 2026, 11:50 PM (UTC-3:30)", 1_780_370_400),
        ("Thursday, Jul 2, 2026, 12:00 AM (UTC-4)", 1_782_964_800),
        ("Thursday, Jul 2, 2026, 12:00 PM (UTC-4)", 1_783_008_000),
        ("Thursday, Feb 30, 2026, 11:11 AM (UTC-4)", None),
        ("Thursday, Jul 2, 2026, 13:11 AM (UTC-4)", None),
        ("Thursday, Foo 2, 2026, 11:11 AM (UTC-4)", None),
        ("Thursday, Jul 2, 2026, 11:11 AM", None),
        ("Jan 1, 0001, 12:00 AM (UTC+14)", None),
        ("2026-07-02T11:11:00Z", None),
        ("", None),
    ],
)
def test_times_have_an_offset_or_are_unknown(text, seconds):
    assert sent_at(text) == seconds


def test_a_time_that_cannot_be_read_stays_to_be_seen():
    found = split_prompt("<timestamp>soon</timestamp>\n<user_query>hi</user_query>")
    assert found.time is None and pieces(found) == [("PROMPT", "hi"), ("timestamp", "<timestamp>soon</timestamp>")]
    good = split_prompt("<timestamp>Jun 2, 2026, 3:20 AM (UTC)</timestamp>\nhi")
    assert good.time == 1_780_370_400 and pieces(good) == [("PROMPT", "hi")]

from __future__ import annotations

import json
import math
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers import markdown, plain
from renderers.document import Document
from renderers.options import Include
from schemas.interchange import session_data_read
from schemas.interchange.session_data_check import validate_session_data
from schemas.interchange.session_data_facts import iso_time, read_time
from schemas.interchange.session_data_read import read_document
from schemas.message import Flag, Kind, ToolStatus
from schemas.opening import OpenError, read_session
from tests.schemas.session_documents import USER, again, document, messages, read, small, written

SHARED = Path(__file__).parents[2] / "../shared"


def test_the_first_user_message_opens_and_later_ones_steer():
    session = read(USER, {"role": "agent", "content": [{"type": "text", "text": "ok"}]}, USER)
    assert session.provider == "claude"
    assert session.exchanges[0].opener == Kind.PROMPT
    assert session.exchanges[0].prompt == "do it"
    assert list(session.messages.kind) == [Kind.PROMPT, Kind.TEXT, Kind.STEER]


def test_a_message_with_everything_becomes_a_block_each():
    session = read(
        USER,
        {
            "id": "a",
            "role": "agent",
            "content": [
                {"type": "thinking", "text": "hm"},
                {"type": "text", "text": "one"},
                {"type": "text", "text": "two"},
            ],
            "tool": {"name": "Read", "type": "read", "output": {"content": "x"}},
            "usage": {"inputTokens": 1, "outputTokens": 2},
        },
    )
    assert [session.message(i).id for i in range(1, 4)] == ["a", "a#2", "a#3"]
    assert list(session.messages.kind)[1:] == [Kind.THINKING, Kind.TEXT, Kind.TOOL]
    assert session.message(2).text == "one\n\ntwo"
    assert session.groups.last[0] == 3


def test_strings_where_objects_belong_are_kept():
    session = read(
        USER, {"role": "agent", "tool": {"name": "p", "type": "mcp", "input": "*** Begin", "output": "done"}}
    )
    tool = session.message(1).tool
    assert tool is not None
    assert (tool.type, tool.input, tool.output, tool.text) == (
        "unknown", {"input": "*** Begin"}, {"content": "done"}, "done",
    )  # fmt: skip


def test_what_the_tool_says_of_its_end_is_understood():
    failed = {"name": "Bash", "type": "shell", "output": {"stdout": "a\n", "stderr": "b", "exit_code": 2}}
    session = read(USER, {"role": "agent", "tool": failed}, {"role": "agent", "tool": {"name": "x", "type": "read"}})
    tool = session.message(1).tool
    assert tool is not None
    assert (tool.text, tool.exit_code, tool.status) == ("a\nb", 2, ToolStatus.ERROR)
    assert session.messages.has(1, Flag.ERROR)
    assert session.messages.has(2, Flag.PENDING)
    assert session.exchanges[0].errors == 1


@pytest.mark.parametrize(
    ("said", "added", "removed"),
    [
        ({"file_path": "a.py", "old_string": "a", "new_string": "b\nc"}, 2, 1),
        ({"path": "a.py", "old_str": "a", "new_str": "b"}, 1, 1),
        ({"file_path": "a.py", "edits": [{"old_string": "a", "new_string": "b"}] * 2 + [{"odd": 1}, 5]}, 2, 2),
        ({"file_path": "a.py", "content": "x\ny\n"}, 2, 0),
        ({"path": "a.py", "contents": "x\n"}, 1, 0),
        ({"input": "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch"}, 1, 1),
    ],
)
def test_what_the_input_tells_of_a_change_is_its_difference(said, added, removed):
    tool = {"name": "w", "type": "write", "input": said, "output": {"content": "ok"}}
    used = read(USER, {"role": "agent", "tool": tool}).message(1).tool
    assert used is not None
    assert [(diff.path, diff.added, diff.removed) for diff in used.diffs] == [("a.py", added, removed)]


def test_an_input_that_tells_of_no_change_has_no_difference():
    for said in ({"file_path": "a.py"}, {"content": "x"}, {"file_path": "a.py", "edits": "all"}, {"edits": [{}]}):
        tool = {"name": "w", "type": "write", "input": said, "output": {"content": "ok"}}
        used = read(USER, {"role": "agent", "tool": tool}).message(1).tool
        assert used is not None and used.diffs == []


def test_fields_of_others_are_kept_as_facts():
    theirs = document(
        USER,
        {
            "role": "agent",
            "extra": 1,
            "metadata": {"isSidechain": True, "turnlog": "not ours"},
            "tool": {"name": "x", "type": "read", "summary": "S", "formattedMarkdown": "**x**", "odd": [1]},
        },
        strange={"a": 1},
    )
    theirs["exchanges"][0]["metadata"] = {"k": "v", "turnlog": "nor this"}
    out = written(read_document(theirs, Path("nowhere/x.json")))
    message = messages(out)[1]
    theirs_of_it = {key: value for key, value in message["metadata"].items() if key != "turnlog"}
    assert theirs_of_it == {
        "isSidechain": True, "foreign": "not ours", "messageFields": {"extra": 1}, "toolFields": {"odd": [1]},
    }  # fmt: skip
    assert (message["tool"]["summary"], message["tool"]["formattedMarkdown"]) == ("S", "**x**")
    assert out["exchanges"][0]["metadata"]["turnlog"]["session"]["metadata"] == {
        "fields": {"strange": {"a": 1}}, "exchanges": {"0": {"k": "v", "turnlog": "nor this"}},
    }  # fmt: skip
    assert written(read_document(out, Path("nowhere/x.json"))) == out


def test_a_field_of_a_wrong_type_is_kept_where_it_is_valid():
    tool = {"name": "x", "type": "read", "formattedMarkdown": [None], "summary": 5}
    session = read(USER, {"role": "agent", "tool": tool, "timestamp": 7})
    out = written(session)
    assert validate_session_data(out).errors == []
    message = messages(out)[1]
    assert message["metadata"]["malformed"] == {"formattedMarkdown": [None], "summary": 5, "timestamp": 7}
    assert "formattedMarkdown" not in message["tool"] and "summary" not in message["tool"]
    assert written(read_document(out, session.path)) == out


@pytest.mark.parametrize("status", [["ok"], {}, 5, "done"])
def test_a_status_that_is_none_of_ours_counts_as_ok(status):
    tool = {"name": "Bash", "type": "shell", "output": {"content": "x"}}
    ours = {"kind": "tool", "tool": {"status": status}}
    session = read(USER, {"role": "agent", "tool": tool, "metadata": {"turnlog": ours}})
    assert session.message(1).tool.status == ToolStatus.OK


def test_paths_that_nothing_else_of_a_message_shows_are_listed_behind_it():
    text = {"content": [{"type": "text", "text": "I read src/main.go."}]}
    tool = {"name": "Bash", "type": "shell", "input": {"command": "cd src && go build > log.txt", "env": ["x"]}}
    session = read(
        USER | {"pathHints": ["notes.md"]},
        {"role": "agent", "pathHints": ["src/main.go", "lib/a\x07.go", "go.mod"]} | text,
        {"role": "agent", "pathHints": ["src/log.txt"], "tool": tool, "usage": {"outputTokens": 5}},
        {"role": "agent", "pathHints": ["src/log.txt", "C:\\out\\prog.exe"], "tool": tool} | text,
        {"role": "agent", "pathHints": ["only.py"]},
    )
    shown = [(m.kind.name, m.label, m.path_hints) for m in map(session.message, range(len(session.messages)))]
    assert shown == [
        ("PROMPT", "", ["notes.md"]),
        ("NOTE", "files: notes.md", []),
        ("TEXT", "", ["src/main.go", "lib/a.go", "go.mod"]),
        ("NOTE", "files: lib/a.go, go.mod", []),
        ("TOOL", "", ["src/log.txt"]),
        ("TEXT", "", []),
        ("TOOL", "", ["src/log.txt", "C:\\out\\prog.exe"]),
        ("NOTE", "files: C:\\out\\prog.exe", []),
        ("NOTE", "files: only.py", ["only.py"]),
    ]
    assert session.groups.last[0] == 4
    same = again(session)
    assert [(m.kind.name, m.label, m.path_hints) for m in map(same.message, range(len(same.messages)))] == shown
    assert "files: lib/a.go, go.mod" in "".join(plain.render(Document(session, Include())))
    assert "files: lib/a.go, go.mod" in "".join(markdown.render(Document(session, Include())))


def test_a_field_of_a_wrong_type_is_kept_wherever_it_stands():
    theirs = document(
        USER | {"timestamp": "noon", "pathHints": ["a.py", 5]},
        {"role": "agent", "content": [{"type": "text", "text": "x", "mark": 1}, {"type": "video", "text": "y"}]},
        slug=7,
        createdAt="yesterday",
        workspaceRoot=["/w"],
        provider={"id": "claude", "name": 5, "version": "1", "more": True},
    )
    theirs["exchanges"][0] |= {"startTime": "soon", "endTime": 9, "metadata": "none"}
    session = read_document(theirs, Path("nowhere/x.json"))
    out = written(session)
    assert validate_session_data(out).errors == []
    metadata = out["exchanges"][0]["metadata"]["turnlog"]["session"]["metadata"]
    assert metadata["exchanges"] == {"0": {"malformed": {"startTime": "soon", "endTime": 9, "metadata": "none"}}}
    assert metadata["fields"] == {
        "slug": 7, "createdAt": "yesterday", "workspaceRoot": ["/w"], "provider": {"name": 5, "more": True},
    }  # fmt: skip
    first, files, second = (message["metadata"]["malformed"] for message in messages(out))
    assert first == files  # the note that shows the one path is of the same message
    assert first == {"timestamp": "noon", "pathHints": [5]}
    assert second == {"content": [{"type": "text", "text": "x", "mark": 1}, {"type": "video", "text": "y"}]}
    assert written(read_document(out, session.path)) == out


def test_a_field_that_was_added_to_turnlogs_own_document_stays():
    out = written(read(USER, strange=1)) | {"stranger": 2}
    back = written(read_document(out, Path("nowhere/x.json")))
    said = back["exchanges"][0]["metadata"]["turnlog"]["session"]["metadata"]
    assert said["fields"] == {"strange": 1, "stranger": 2}
    earlier = written(small().session)
    earlier["exchanges"][0]["metadata"]["turnlog"]["session"]["fields"] = {"strange": 1}
    assert read_document(earlier, Path("nowhere/x.json")).metadata["fields"] == {"strange": 1}


def test_a_message_of_many_parts_is_taken_apart_once(monkeypatch):
    parts = [{"type": ("text", "thinking")[n % 2], "text": str(n)} for n in range(500)]
    session = read(USER, {"id": "a", "role": "agent", "content": parts}, {"id": "b", "role": "agent", "content": parts})
    opened = []
    original = session_data_read._blocks
    monkeypatch.setattr(session_data_read, "_blocks", lambda *said: opened.append(said) or original(*said))
    assert [session.message(i).text for i in range(1, 1001)] == [str(n) for n in range(500)] * 2
    assert len(opened) == 2


def test_what_is_no_message_is_shown_all_the_same():
    session = read({"role": "agent", "content": [{"type": "video", "url": "u"}, "bare"]}, 42)  # type: ignore[arg-type]
    assert '"url": "u"' in session.message(0).text
    assert "bare" in session.message(0).text
    assert session.message(1).kind == Kind.UNKNOWN
    assert session.message(1).text == "42"


def test_escapes_do_not_get_through():
    session = read({"role": "user", "content": [{"type": "text", "text": "\x1b[2Ja\x07"}]}, workspaceRoot="/a\x1b[0m")
    assert session.message(0).text == "a"
    assert session.workspace_root == "/a"


@pytest.mark.parametrize("version", ["1.1", "2.0", "1.0.1", "1.0-draft", "0.9", "10", 1.1, 2])
def test_another_version_is_refused_with_its_name_and_place(tmp_path, version):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document(USER, schemaVersion=version)))
    with pytest.raises(OpenError, match=rf"x\.json: /schemaVersion: .* version {version}; only 1\.0"):
        read_session(path)
    (finding,) = validate_session_data(document(USER, schemaVersion=version)).errors
    assert finding == ("/schemaVersion", f'`schemaVersion` must be "1.0", not {json.dumps(version)}')


@pytest.mark.parametrize("version", ["1.0", "1", "1.0.0", " 1.0", "", 1, 1.0, None, []])
def test_a_version_that_says_the_same_or_nothing_is_read(version):
    assert len(read(USER, schemaVersion=version).messages) == 1


@pytest.mark.parametrize("exchanges", [{}, None])
def test_exchanges_of_another_kind_are_refused(tmp_path, exchanges):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document() | {"exchanges": exchanges}))
    with pytest.raises(OpenError, match="no list"):
        read_session(path)


def test_a_document_over_many_lines_is_recognised(tmp_path):
    path = tmp_path / "x.json"
    hand = small()
    path.write_bytes(orjson.dumps(written(hand.session), option=orjson.OPT_INDENT_2))
    assert len(read_session(path).messages) == 4


def test_lone_surrogates_and_a_byte_order_mark_are_read(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(document(USER, sessionId="\ud83e")).encode())
    assert read_session(path).id == "�"


@pytest.mark.parametrize("slug", ["a/b", "..", "", "a\tb", 'a"b', "x" * 300, "end."])
def test_a_slug_that_no_file_can_be_called_draws_a_warning(slug):
    (finding,) = [one for one in validate_session_data(document(USER, slug=slug)).warnings if one.path == "/slug"]
    assert "not safe" in finding.message


@pytest.mark.parametrize("slug", ["fix-it", "Their OWN_slug", "lampe-für-zoë", "v1.2"])
def test_any_other_slug_does_not(slug):
    assert "/slug" not in [one.path for one in validate_session_data(document(USER, slug=slug)).warnings]


# -- times -------------------------------------------------------------------------------------------------------------


@given(st.floats(-2e9, 8e9))
def test_a_time_is_the_same_after_it_was_written(seconds):
    said = iso_time(seconds)
    assert said is not None
    assert said.endswith("Z")
    assert iso_time(read_time(said)) == said
    assert read_time(said) == pytest.approx(seconds, abs=2e-5)


@pytest.mark.parametrize("seconds", [None, math.nan, math.inf, 1e18, -1e18])
def test_a_time_that_cannot_be_written_is_left_out(seconds):
    assert iso_time(seconds) is None


def test_times_of_any_form_are_read():
    assert (
        read_time("2026-01-01T01:00:00+01:00") == read_time("2026-01-01T00:00:00") == read_time("2026-01-01T00:00:00Z")
    )
    assert read_time("yesterday") is None
    assert read_time(5) is None


# -- real documents ----------------------------------------------------------------------------------------------------

NULL = "codex-compacted_session.session.json"
"""The producer's own document of a session without exchanges, which it writes as null."""
GOLDEN = [p for p in sorted((SHARED / "goldens/specstory/golden").glob("*.session.json")) if p.name != NULL]


@pytest.mark.skipif(not GOLDEN, reason="the shared goldens are not here")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_the_producers_documents_survive(path):
    session = read_session(path)
    document = written(session)
    assert validate_session_data(document).errors == []
    assert written(read_document(document, path)) == document


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("please do X", ["please do X"]),
        (["one", {"type": "text", "text": "two"}], ["one", "two"]),
        ({"type": "text", "text": "alone"}, ["alone"]),
        ("", []),
    ],
)
@pytest.mark.parametrize("role", ["user", "agent"])
def test_a_text_that_is_no_list_of_parts_is_read_all_the_same(role, content, texts):
    session = read(USER, {"role": role, "content": content})
    message = session.message(1)
    assert [part.text for part in message.parts] == texts
    assert "malformed" not in message.metadata
    if texts:
        assert message.kind == (Kind.STEER if role == "user" else Kind.TEXT)
        assert validate_session_data(written(session)).valid


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (["a", "b"], "a\nb"),
        ([{"type": "text", "text": "a"}, "b"], "a\nb"),
        ({"content": ["a", {"text": "b"}]}, "a\nb"),
        ([1], "[\n  1\n]"),
    ],
)
def test_a_result_in_pieces_is_a_text(output, text):
    session = read(USER, {"role": "agent", "tool": {"name": "Bash", "type": "shell", "output": output}})
    assert session.message(1).tool.text == text

"""Toolpath documents whose steps are read where they lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.interchange.toolpath import KIND
from schemas.interchange.toolpath_document import StepStore, skim
from schemas.interchange.toolpath_read import open_toolpath
from schemas.interchange.toolpath_write import to_toolpath
from schemas.opening import head_of, read_session, recognise

GOLDENS = Path(__file__).parents[2] / "../shared/goldens/toolpath"


def step(name: str, *parents: str, text: str = "x") -> dict[str, Any]:
    turn = {"type": "conversation.append", "role": "assistant", "text": text}
    identity = {"id": name, "actor": "agent:m", "timestamp": "2026-01-01T00:00:00Z", "parents": list(parents)}
    return {"step": identity, "change": {"codex://s": {"structural": turn}}}


def graph(*steps: dict[str, Any], **around: Any) -> dict[str, Any]:
    path = {"steps": list(steps), "path": {"id": "p", "head": "a"}, "meta": {"kind": KIND, "source": "codex"}}
    return {"graph": {"id": "g"}, "paths": [path], **around}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_step_is_the_bytes_that_it_is_in_the_file(tmp_path, indent):
    file = tmp_path / "x.path.json"
    text = json.dumps(graph(step("a", text="grüße\n"), step("b", "a", text='"} ]')), indent=indent, ensure_ascii=False)
    file.write_text(text, encoding="utf-8")
    session = read_session(file)
    (first,), (second,) = session.message_spans(0), session.message_spans(1)
    data = text.encode()
    assert isinstance(session.stores[0], StepStore)
    assert [json.loads(session.raw(span))["step"]["id"] for span in (first, second)] == ["a", "b"]
    assert data[second.offset : second.offset + second.length] == session.raw(second)
    assert second.line == data.count(b"\n", 0, second.offset) + 1
    assert [session.message(index).text for index in range(2)] == ["grüße\n", '"} ]']


def test_steps_out_of_order_and_damaged_documents_are_read_as_well(tmp_path):
    file = tmp_path / "x.path.json"
    file.write_text(json.dumps(graph(step("b", "a", text="later"), step("a", text="sooner"))))
    assert [read_session(file).message(index).text for index in range(2)] == ["sooner", "later"]
    file.write_bytes(json.dumps(graph(step("a", text="lone \ud800 half"))).encode())
    assert read_session(file).message(0).text == "lone � half"


@pytest.mark.parametrize("form", ["Path", "path", "Graph", "Step", "step"])
def test_older_forms_are_too(tmp_path, form):
    whole = graph(step("a", text="said"))
    one = step("a", text="said")
    document = {"Path": {"Path": whole["paths"][0]}, "path": whole["paths"][0], "Graph": {"Graph": whole},
                "Step": {"Step": one}, "step": one}[form]  # fmt: skip
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document))
    assert read_session(file).message(0).text == "said"


def test_a_big_document_is_recognised_by_its_beginning(tmp_path):
    # Its events hold Claude Code's lines, each of which alone would look like that agent's session.
    line = {"type": "user", "uuid": "u", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z", "message": {}}
    event = step("a")
    said = {"type": "conversation.event", "entry_type": "user", "raw": line}
    event["change"]["codex://s"]["structural"] = said
    file = tmp_path / "x.path.json"
    turns = [step(f"t{number}", "a", text="y" * 1000) for number in range(200)]
    file.write_text('{"graph":{"id":"g"},"paths":[{"steps":[\n' + ",\n".join(map(json.dumps, [event, *turns])))
    with file.open("a") as out:
        out.write('],"path":{"id":"p","head":"t199"},"meta":' + json.dumps({"kind": KIND, "source": "codex"}) + "}]}\n")
    head = head_of(file)
    assert head.document is None, "it was read whole"
    assert recognise(head).id == "toolpath"
    assert len(read_session(file).messages) == 200  # of the event's line nothing was read


@pytest.mark.parametrize(
    "text", ['{"graph":{}', '{"graph":{},}', '{"paths":[{"steps":[{}]]}', "[]", '{"a":1} x', "{a:1}"]
)
def test_what_is_no_document_is_refused(text):
    with pytest.raises(ValueError):
        skim(text.encode())


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_all_around_the_steps_is_as_json_has_it(value, indent, escaped):
    document = {"graph": value, "paths": [{"path": value, "steps": "none", "meta": value}, value], "meta": value}
    assert skim(json.dumps(document, indent=indent, ensure_ascii=escaped).encode()) == document


@pytest.mark.skipif(not GOLDENS.is_dir(), reason="the goldens are not here")
def test_a_document_and_its_stream_are_the_same_session():
    for file in sorted((GOLDENS / "golden").glob("*-*.path.json")):
        if not (stream := file.with_suffix(".jsonl")).exists():
            continue
        one, other = read_session(file), read_session(stream)
        assert [one.message(i).text for i in range(len(one.messages))] == [
            other.message(i).text for i in range(len(other.messages))
        ]
        assert one.usage() == other.usage()


def test_a_document_that_grew_is_read_again(tmp_path):
    file = tmp_path / "x.path.json"
    file.write_text(json.dumps(graph(step("a", text="one"))))
    reading = open_toolpath(file)
    reading.step()
    file.write_text(json.dumps(graph(step("a", text="two"), step("b", "a"))))
    reading.done = False
    assert [change.op for change in reading.step()] == ["updated", "appended"]
    assert reading.session.message(0).text == "two"
    assert b"".join(to_toolpath(reading.session)).count(b"codex://s") > 1


def test_where_an_export_breaks_off_is_no_line_of_the_file_it_was_made_from(tmp_path):
    file = tmp_path / "native.jsonl"
    line = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": "go"}}
    file.write_text(json.dumps(line | {"timestamp": "2026-01-01T00:00:00Z"}) + "\n")
    broken, again = tmp_path / "broken.path.json", tmp_path / "again.path.json"
    broken.write_bytes(b"".join(to_toolpath(read_session(file)))[:-3])
    session = read_session(broken)
    assert len(session.unreadable) == 1
    again.write_bytes(b"".join(to_toolpath(session)))
    assert read_session(again).unreadable == []

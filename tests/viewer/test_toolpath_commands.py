"""Toolpath on the command line: written, checked, opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from schemas.interchange.toolpath import KIND
from tests.fixtures.claude import samples


@pytest.fixture
def native(tmp_path: Path) -> Path:
    return samples(tmp_path / "agent")[0].path


@pytest.mark.parametrize(("form", "ending"), [("toolpath", ".path.json"), ("toolpath-jsonl", ".path.jsonl")])
def test_a_session_is_written_checked_and_read_again(machine, native, tmp_path, form, ending):
    out = tmp_path / "out"
    assert machine.run("export", str(native), "--to", form, "-o", f"{out}/").code == 0
    (file,) = out.iterdir()
    assert file.name.endswith(ending)
    verdict = json.loads(machine.run("validate", str(file), "--json").out)
    assert (verdict["valid"], verdict["format"], verdict["errors"]) == (True, form, [])
    before, after = (machine.run("usage", "--json", str(path)).json["sessions"][0] for path in (native, file))
    assert after["usage"] == before["usage"]
    before, after = (json.loads(machine.run("show", "--json", str(path)).out) for path in (native, file))
    asked = [[e["metadata"]["turnlog"].get("prompt") for e in one["exchanges"]] for one in (before, after)]
    assert [prompt for prompt in asked[1] if prompt] == [prompt for prompt in asked[0] if prompt]


def test_what_the_format_cannot_hold_is_said(machine, tmp_path):
    line = {
        "type": "user", "uuid": "u1", "timestamp": "2026-01-01T00:00:00Z", "sessionId": "s", "cwd": "/w",
        "message": {"role": "user", "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        ]},
    }  # fmt: skip
    file = tmp_path / "s.jsonl"
    file.write_text(json.dumps(line) + "\n")
    result = machine.run("export", str(file), "--to", "toolpath")
    assert result.code == 0
    assert "toolpath: 1 image named, not included" in result.err


def test_a_path_that_is_no_session_is_refused_in_words(machine, tmp_path):
    file = tmp_path / "a.path.json"
    file.write_text(json.dumps({"graph": {"id": "g"}, "paths": [{"path": {"id": "pr-42", "head": ""}, "steps": []}]}))
    result = machine.run("show", str(file))
    assert result.code == 2
    assert "no path is an agent's session (paths: pr-42)" in result.err
    assert machine.run("validate", str(file)).out == "~/a.path.json: valid toolpath\n"


def test_the_older_form_is_recognised_and_not_valid(machine, tmp_path):
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"Path": {"path": {"id": "p", "head": ""}, "steps": []}}))
    result = machine.run("validate", str(file))
    assert result.code == 1
    assert "the older form" in result.out


def test_parts_cannot_be_left_out(machine, native):
    assert machine.run("export", str(native), "--to", "toolpath", "--no-thinking").code == 2


def test_each_call_of_a_round_is_an_event_and_is_priced_by_itself(machine, tmp_path):
    def step(name, **said):
        turn = {"type": "conversation.append", "role": "assistant", "text": name, "group_id": "r"} | said
        identity = {"id": name, "actor": "agent:gpt-5.4", "timestamp": "2026-01-01T00:00:00Z"}
        return {"step": identity, "change": {"codex://s": {"structural": turn}}}

    def document(name, *steps):
        meta = {"kind": KIND, "source": "codex"}
        path = {"path": {"id": name, "head": steps[-1]["step"]["id"]}, "steps": steps, "meta": meta}
        (tmp_path / name).write_text(json.dumps({"graph": {"id": name}, "paths": [path]}))
        return str(tmp_path / name)

    call = {"input_tokens": 200_000, "output_tokens": 10}
    total = {"input_tokens": 400_000, "output_tokens": 20}
    both = document(
        "both.path.json",
        step("a", attributed_token_usage=call),
        step("b", attributed_token_usage=call, token_usage=total),
    )
    one = document("one.path.json", step("a", token_usage=call))
    events = [json.loads(line)["usage"] for line in machine.run("events", both).out.splitlines()]
    assert [event["input_tokens"] for event in events] == [200_000, 200_000]
    cost = [json.loads(machine.run("usage", path, "--json").out)["costUsd"] for path in (both, one)]
    assert cost[0] == pytest.approx(2 * cost[1])

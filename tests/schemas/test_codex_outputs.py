"""What the reading of a file takes from a tool's result is what the message shows of it."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from schemas.providers.codex.outputs import decode, exec_outcome, exec_text, summarise
from tests.fixtures.codex.rollouts import Rollout, read

LINES = (
    "Command: ls\n",
    "Chunk ID: ab12\n",
    "Exit code: 0\n",
    "Exit code: 2\n",
    "Wall time: 0.5000 seconds\n",
    "Process exited with code 0\n",
    "Process exited with code -1\n",
    "Process exited with code 00\n",
    "Process running with session ID 77\n",
    "Original token count: 9\n",
    "Total output lines: 3\n",
    "Output:\n",
    "aborted by user after 1.5s",
    "exec command rejected by user",
    "execution error: no",
    "text\n",
)
TEXTS = st.lists(st.sampled_from(LINES), max_size=8).map("".join)
WRAPPED = st.builds(
    lambda text, code: json.dumps({"output": text, "metadata": {"exit_code": code}}), TEXTS, st.sampled_from([0, 1])
)
RESULTS = st.one_of(
    TEXTS,
    WRAPPED,
    st.none(),
    st.lists(TEXTS.map(lambda text: {"type": "input_text", "text": text}), max_size=3),
    st.builds(lambda text, success: {"content": text, "success": success}, TEXTS, st.booleans()),
)


@given(RESULTS)
def test_the_summary_of_a_result_says_what_the_result_says(result):
    text, start, failed, stopped, process = summarise(result)
    whole = decode(result)
    assert text[start:] == whole.text
    assert (failed, stopped, process) == (whole.failed, whole.aborted or whole.denied, whole.process)


STREAMS = st.sampled_from(["", "a\nb", None, 7])


@given(st.fixed_dictionaries(dict.fromkeys(("aggregated_output", "stdout", "stderr", "formatted_output"), STREAMS)))
def test_what_a_command_printed(event):
    printed = exec_text(event)
    assert exec_outcome(event).text == printed
    assert bool(printed) == any(isinstance(value, str) and value for value in event.values())


def test_records_of_a_message_keep_their_order(tmp_path, monkeypatch):
    """Each is put at the chain's end without walking it, also after the ends of many other messages were let go."""
    monkeypatch.setattr("schemas.providers.codex.scan._KEPT_CALLS", 64)
    rollout = Rollout().start("t1")
    for number in range(40):
        rollout.call(f"c{number}", cmd="ls").event("exec_command_end", call_id=f"c{number}", exit_code=0)
    rollout.call("polled", cmd="make")
    for number in range(40, 80):
        rollout.call(f"c{number}", cmd="ls").event("exec_command_end", call_id=f"c{number}", exit_code=0)
        rollout.event("view_image_tool_call", call_id="polled")
    path = tmp_path / "a.jsonl"
    path.write_bytes(rollout.bytes)
    session = read(path)
    assert [len(session.message_spans(index)) for index in range(len(session.messages))] == [2] * 40 + [41] + [2] * 40
    lines = [span.line for span in session.message_spans(40)]
    assert lines == sorted(lines)

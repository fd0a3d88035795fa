"""What a tool's result says, out of the envelopes that Codex puts it in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.providers.codex.texts import decode, ended
from tests.fixtures.codex.rollouts import Rollout

STREAMS = st.sampled_from(["", "a\nb", None, 7])


@given(st.fixed_dictionaries(dict.fromkeys(("aggregated_output", "stdout", "stderr", "formatted_output"), STREAMS)))
def test_what_a_command_printed(event):
    assert bool(ended(event).text) == any(isinstance(value, str) and value for value in event.values())


@pytest.mark.parametrize(
    ("text", "shown", "code", "status", "process"),
    [
        ("Script completed\nWall time 0.1 seconds\nOutput:\n\n7", "7", None, "ok", ""),
        ("Script failed\nWall time 0.1 seconds\nOutput:\nno", "no", None, "error", ""),
        ("Script running with cell ID 3\nWall time 9.0 seconds\nOutput:\n", "", None, "background", "3"),
        ("Exit code: 2\nDuration: 0.5 seconds\nOutput:\ngone\n", "gone\n", 2, "error", ""),
    ],
)
def test_headers_of_scripts_and_of_what_a_person_typed(text, shown, code, status, process):
    found = decode(text)
    assert (found.text, found.exit_code, found.status, found.process) == (shown, code, status, process)


def test_records_of_a_message_keep_their_order(tmp_path):
    """Each is put at the chain's end without walking it."""
    rollout = Rollout().start("t1").call("polled", cmd="make")
    for number in range(40):
        rollout.call(f"c{number}", cmd="ls").event("exec_command_end", call_id=f"c{number}", exit_code=0)
        rollout.event("view_image_tool_call", call_id="polled")
    session = rollout.read(tmp_path)
    assert [len(session.message_spans(index)) for index in range(len(session.messages))] == [41] + [2] * 40
    lines = [span.line for span in session.message_spans(0)]
    assert lines == sorted(lines)

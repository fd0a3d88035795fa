"""Lines of Claude Code's users, told apart; times, keys, and which sessions can be resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from schemas.providers.claude import PROVIDER
from schemas.providers.claude.classify import UserLine, classify, command_label, fold_reminders
from schemas.providers.kit.messages import key_of
from schemas.values import when
from tests.schemas.claude_lines import SESSION, Lines


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("fix it", {}, UserLine.PROMPT),
        ("Stop hook says no, why?", {}, UserLine.PROMPT),
        ("I saw <command-name> in the log", {}, UserLine.PROMPT),
        ("x", {"isCompactSummary": True}, UserLine.SUMMARY),
        ("This session is being continued from a previous conversation that ran out", {}, UserLine.SUMMARY),
        ("Base directory for this skill: /x", {"isMeta": True}, UserLine.META),
        ("<local-command-caveat>Caveat: …</local-command-caveat>", {"isMeta": True}, UserLine.CAVEAT),
        ("[Request interrupted by user for tool use]", {}, UserLine.INTERRUPT),
        ("<task-notification>\n</task-notification>", {}, UserLine.NOTIFICATION),
        ("done", {"origin": {"kind": "task-notification"}}, UserLine.NOTIFICATION),
        ("done", {"promptSource": "system"}, UserLine.NOTIFICATION),
        ('<teammate-message teammate_id="a">hi</teammate-message>', {}, UserLine.TEAMMATE),
        ("hello", {"origin": {"kind": "peer"}}, UserLine.TEAMMATE),
        ("<command-message>x</command-message>\n<command-name>/x</command-name>", {}, UserLine.COMMAND),
        ("<bash-input>ls</bash-input>", {}, UserLine.COMMAND),
        ("<bash-stdout>a</bash-stdout>", {}, UserLine.OUTPUT),
        ("<local-command-stdout></local-command-stdout>", {}, UserLine.OUTPUT),
        ("Stop hook feedback:\nlint fails", {}, UserLine.META),
        ("<user-prompt-submit-hook>x</user-prompt-submit-hook>", {}, UserLine.META),
        ("\ufeff <ide_selection>x</ide_selection>\n<system-reminder>y</system-reminder>\nfix", {}, UserLine.PROMPT),
        ("<system-reminder>only this</system-reminder>", {}, UserLine.META),
        ("  ", {}, UserLine.EMPTY),
        ("", {}, UserLine.EMPTY),
    ],
)
def test_classes_of_user_lines(text: str, fields: dict[str, Any], expected: UserLine) -> None:
    assert classify(fields, text)[0] is expected


def test_small_words() -> None:
    assert command_label("<command-message>review</command-message>\n<command-args> 7 </command-args>") == "/review 7"
    assert command_label("<bash-input>git status</bash-input>") == "! git status"
    assert fold_reminders("a\n\n<system-reminder>b</system-reminder>\n") == ("a", ["b"])
    assert fold_reminders("x" + " \n" * 20_000)[1] == []


def test_times_are_read_as_datetime_reads_them() -> None:
    assert when("2026-11-02T09:00:01.250Z") == 1793610001.25
    assert when("2026-11-02T09:00:59.999Z") == 1793610059.999
    assert when("2026-11-02T09:00:59Z") == 1793610059.0
    assert when("2026-11-02T11:00:59+02:00") == 1793610059.0
    assert not any(map(when, ("2026-11-02T09:00:99.000Z", "", None, "soon", "2026-11-02T09:00:+1.0Z")))


def test_keys_are_the_same_in_every_process() -> None:
    assert key_of("00000000-0000-4000-8000-000000000007") == hash(0x40008000000000000007)
    assert key_of("toolu_1") == key_of("toolu_1") != key_of("toolu_2")


def test_resume_only_for_a_plain_id(tmp_path: Path) -> None:
    lines = Lines()
    lines.user("x")
    assert PROVIDER.resume_command(lines.read(tmp_path)) == ["claude", "--resume", SESSION]
    from tests.schemas.conformance import whole

    for name in ("x; touch y.jsonl", "-rf.jsonl", "agent-1.jsonl"):
        assert PROVIDER.resume_command(whole(PROVIDER, lines.write(tmp_path, name))) is None

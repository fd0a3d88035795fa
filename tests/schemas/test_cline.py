"""Cline: the sides of a session, read again when they change."""

from __future__ import annotations

from pathlib import Path

from schemas.opening import read_session
from schemas.providers.cline import PROVIDER
from schemas.usage import TokenUsage
from tests.fixtures.cline import (
    LAMP,
    lamp,
    manifest,
    request,
    seen,
    write,
    write_boat,
    write_lamp,
)


def test_the_sides_are_read_again_when_they_change(tmp_path: Path) -> None:
    path = write_lamp(tmp_path, lamp(), manifest())
    reading = PROVIDER.open(path)
    reading.step()
    assert set(reading.sources) >= {path, path.with_name(f"{LAMP}.json")}
    write(path.with_name(f"{LAMP}.json"), manifest(title="Boat yard"))
    reading.reread()  # type: ignore[attr-defined]
    assert reading.session.title == "Boat yard"


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_a_task_grows_with_what_the_person_saw(tmp_path: Path) -> None:
    path = write_boat(tmp_path)
    reading = PROVIDER.open(path)
    reading.step()
    write(path.with_name("ui_messages.json"), [*seen(), request(210, tokensIn=100, tokensOut=10)])
    reading.reread()  # type: ignore[attr-defined]
    assert reading.session.usage() == TokenUsage(119, 22, 163, 80)


def test_a_session_that_was_saved_under_another_name_is_read(tmp_path: Path) -> None:
    """Then both of the files beside it have its own name."""
    saved = tmp_path / "saved.json"
    saved.write_bytes(write_lamp(tmp_path, lamp(), manifest()).read_bytes())
    prompts = [exchange.prompt for exchange in read_session(saved).exchanges]
    assert prompts[-3:] == ["Light the lamp", "Wait a while", "Go on"]

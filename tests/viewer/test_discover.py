from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.provider import Environment, Head, Location, Problem, Reading, SessionFile
from schemas.session import Session
from viewer.sessions.discover import discover


class Agent:
    """A provider that takes every `.s` file of some folders for a session."""

    id, name = "agent", "Agent"

    def __init__(self, *folders: Path) -> None:
        self.folders = folders

    def locations(self, env: Environment) -> list[Location]:
        return [Location(folder, "default") for folder in self.folders]

    def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
        for path in location.path.glob("*.s"):
            stat = path.stat()
            yield SessionFile(self.id, str(path), path.stem, stat.st_size, stat.st_mtime_ns)

    def detect(self, head: Head) -> bool:
        return False

    def open(self, path: Path, *, start: int = 0) -> Reading:
        raise NotImplementedError

    def resume_command(self, session: Session) -> list[str] | None:
        return None

    def resume_home(self, path: Path, env: Environment) -> tuple[str, str] | None:
        return None


ENV = Environment({}, Path("nowhere"), "linux")


def test_files_come_newest_first(tmp_path: Path) -> None:
    for name, when in (("a", 100), ("b", 300), ("c", 200)):
        (tmp_path / f"{name}.s").write_text(name)
        os.utime(tmp_path / f"{name}.s", (when, when))
    found = discover(ENV, [Agent(tmp_path)])
    assert [file.id for file in found.files] == ["b", "c", "a"]
    assert [(place.sessions, place.size, place.exists) for place in found.places] == [(3, 3, True)]


def test_a_file_that_two_locations_lead_to_is_there_once(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "a.s").write_text("a")
    (tmp_path / "link").symlink_to(real)
    found = discover(ENV, [Agent(real, tmp_path / "link", real)])
    assert [file.path for file in found.files] == [real / "a.s"]
    assert len(found.places) == 2


def test_two_files_of_one_size_and_time_are_both_there(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.s").write_text("x")
        os.utime(tmp_path / f"{name}.s", (100, 100))
    assert len(discover(ENV, [Agent(tmp_path)]).files) == 2


def test_a_location_that_is_not_there_is_said(tmp_path: Path) -> None:
    (place,) = discover(ENV, [Agent(tmp_path / "no")]).places
    assert not place.exists


def test_an_error_of_one_agent_does_not_hide_the_others(tmp_path: Path) -> None:
    class Broken(Agent):
        def find(self, location: Location, problems: list[Problem]) -> Iterator[SessionFile]:
            raise PermissionError(13, "Permission denied", str(location.path))
            yield

    (tmp_path / "a.s").write_text("a")
    found = discover(ENV, [Broken(tmp_path), Agent(tmp_path)])
    assert len(found.files) == 1
    assert found.problems == [Problem(tmp_path, "permission denied")]


@pytest.mark.skipif(os.name == "nt", reason="names on Windows are Unicode")
def test_a_name_that_is_no_utf8_does_no_harm(tmp_path: Path) -> None:
    os.close(os.open(os.fsencode(tmp_path) + b"/\xff.s", os.O_CREAT | os.O_WRONLY))
    assert len(discover(ENV, [Agent(tmp_path)]).files) == 1

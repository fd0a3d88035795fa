from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from viewer import exporting
from viewer.exporting import write_file
from viewer.output import CallError


def test_a_new_file(tmp_path: Path) -> None:
    write_file(tmp_path / "a.md", [b"one", b"two"], force=False)
    assert (tmp_path / "a.md").read_bytes() == b"onetwo"
    assert os.listdir(tmp_path) == ["a.md"]


def test_an_existing_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("KEEP")
    with pytest.raises(CallError, match="exists already"):
        write_file(tmp_path / "a.md", [b"new"], force=False)
    assert (tmp_path / "a.md").read_text() == "KEEP"
    write_file(tmp_path / "a.md", [b"new"], force=True)
    assert (tmp_path / "a.md").read_text() == "new"
    assert os.listdir(tmp_path) == ["a.md"]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_comes_while_we_write_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:

        def no_link(*args: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(exporting.os, "link", no_link)

    def chunks() -> Iterator[bytes]:
        (tmp_path / "a.md").write_text("KEEP")
        yield b"new"

    with pytest.raises(CallError):
        write_file(tmp_path / "a.md", chunks(), force=False)
    assert (tmp_path / "a.md").read_text() == "KEEP"
    assert os.listdir(tmp_path) == ["a.md"]
    write_file(tmp_path / "b.md", [b"x"], force=False)
    assert (tmp_path / "b.md").read_bytes() == b"x"


def test_a_failure_leaves_nothing_and_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("OLD")

    def chunks() -> Iterator[bytes]:
        yield b"new"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_file(tmp_path / "a.md", chunks(), force=True)
    assert (tmp_path / "a.md").read_text() == "OLD"
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.md").write_text("OLD")
    (tmp_path / "link.md").symlink_to("real.md")
    write_file(tmp_path / "link.md", [b"new"], force=True)
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "real.md").read_text() == "new"


@pytest.mark.skipif(os.name == "nt", reason="there is no /dev/null")
def test_a_device_is_written_to_and_not_replaced() -> None:
    write_file(Path("/dev/null"), [b"x"], force=True)
    assert Path("/dev/null").is_char_device()


def test_no_such_folder_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "no" / "a.md"
    with pytest.raises(CallError) as caught:
        write_file(path, [b"x"], force=False)
    assert str(caught.value) == f"{path.parent}: no such directory"


def test_a_folder_that_cannot_be_written_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(name: object, *args: object) -> int:
        raise PermissionError(13, "Permission denied", str(name))

    monkeypatch.setattr(exporting.os, "open", denied)
    with pytest.raises(CallError) as caught:
        write_file(tmp_path / "a.md", [b"x"], force=False)
    assert str(caught.value) == f"{tmp_path / 'a.md'}: permission denied"

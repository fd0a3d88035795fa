from __future__ import annotations

from pathlib import Path

from schemas.opening import OpenError
from schemas.paths import call_path, path_name


def test_a_file_is_called_by_its_path_unless_it_was_named(tmp_path: Path) -> None:
    path = tmp_path / "copy"
    assert path_name(path) == str(path)
    call_path(path, "-")
    assert path_name(path) == path_name(str(path)) == "-"
    assert str(OpenError(path, "empty")) == "-: empty"
    assert path_name(path.parent) == str(path.parent)

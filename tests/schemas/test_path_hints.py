"""Which files a tool use names, and which a shell command writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.path_hints import input_path_hints, resolve_hints, shell_path_hints

GOLDENS = Path(__file__).parents[2] / "../shared/goldens/specstory/cases/TestExtractShellPathHints.json"


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("make > build.log 2>&1", ["build.log"]),
        ("cat <<'EOF' > a.sh\necho x > not.txt\nEOF\ntouch b", ["a.sh", "b"]),
        ("cat <<-END | tee c\n\tx > y\n\tEND\n", ["c"]),
        ("FOO=1 sudo touch 'a b'", ["a b"]),
        ("git log > /dev/null; echo > $OUT", []),
        ("grep -o x y; cc -o z y.c", ["z"]),
        ("cp -r a b c/", ["c/"]),
        ("if true; then touch x; fi", []),
        ("# touch x\ntouch y # touch z", ["y"]),
        ("echo 'a > b' \"c > d\"", []),
        ("sed -i.bak -e s/a/b/ f g", ["f", "g"]),
    ],
)
def test_what_a_command_writes(command: str, paths: list[str]) -> None:
    assert shell_path_hints(command) == paths


def test_names_in_an_input() -> None:
    given_input = {"file_path": "a", "paths": ["b", 3], "path": 7, "files": "no", "notebook_path": "n.ipynb"}
    assert input_path_hints(given_input) == ["a", "n.ipynb", "b"]


def test_as_seen_from_the_workspace() -> None:
    paths = ["/p/a", "b", "../c", "/p2/d", "/p/a", "~/e", "C:\\f", "", "x\ny"]
    assert resolve_hints(paths, "/p/src", "/p") == ["a", "src/b", "c", "/p2/d", "~/e", "C:\\f"]


@pytest.mark.skipif(not GOLDENS.is_file(), reason="the goldens are not here")
def test_the_cases_of_the_reference() -> None:
    for case in json.loads(GOLDENS.read_text()):
        hints = resolve_hints(shell_path_hints(case["command"]), case["cwd"], case["workspaceRoot"])
        assert hints == (case["wantPaths"] or []), case["name"]


@given(st.text(alphabet="ab '\"\\<>|&;#$()\n-o", max_size=60))
def test_any_command_is_read(command: str) -> None:
    assert all(path and "\n" not in path for path in shell_path_hints(command))

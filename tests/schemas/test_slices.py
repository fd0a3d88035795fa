"""Slices of files: each agent's own form, and shell commands that print lines of one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from renderers.headline import tool_slice
from schemas.opening import addresses_in, read_session
from schemas.providers.pi import Pi
from schemas.slices import Listing, Slice, shell_slice, slice_of

SHARED = Path(__file__).parents[2] / "../shared"
FORMS = {
    r" *(\d+)[→\t]": "{:>6}→",
    r" *(\d+)\t": "{:>6}\t",
    r"(\d+) \| ?": "{} | ",
    r" *(\d+)\|": "{:>6}|",
    r"(\d+):": "{}:",
}
LINES = st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8), min_size=1, max_size=12)


@given(st.sampled_from(sorted(FORMS)), LINES, st.integers(1, 10**6))
def test_lines_come_without_their_numbers(form: str, lines: list[str], start: int) -> None:
    text = "\n".join(FORMS[form].format(start + n) + line for n, line in enumerate(lines))
    assert slice_of(text, {"path": "a.py"}, Listing(form)) == Slice("a.py", "\n".join(lines), start, ends=True)


@pytest.mark.parametrize(
    ("text", "given", "listing", "found"),
    [
        ("1\ta\n2\tb\n\n<note>", {"file_path": "a"}, r"(\d+)\t", Slice("a", "a\nb", 1, "", "<note>")),
        ("Result of cat:\n 7\ta", {"path": "a"}, r" *(\d+)\t", Slice("a", "a", 7, "Result of cat:")),
        ("1\ta\n3\tb", {"path": "a"}, r"(\d+)\t", Slice("a", "a", 1, "", "3\tb")),  # they do not follow each other
        ("No such file", {"path": "a"}, r"(\d+)\t", None),
        ("1\ta", {}, r"(\d+)\t", None),
        ("1\ta", {"url": "http://a.example"}, r"(\d+)\t", None),
        ("9" * 5000 + "\ta", {"path": "a"}, r"(\d+)\t", None),
        ("a\nb", {"path": "a.py"}, "", Slice("a.py", "a\nb", 1)),
        ("a\nb", {"path": "a.py", "offset": 40}, "", Slice("a.py", "a\nb", None)),  # nobody knows how it counts
        ("a\nb", {"files": [{"path": "a.py"}]}, "", Slice("a.py", "a\nb", 1)),
        ("a\nb", {"path": "folder"}, "", None),
        ("Skipped image file", {"path": "a.png"}, "", None),
        ("Showing lines 1-9 of 99\na", {"path": "a.py"}, "", Slice("a.py", "Showing lines 1-9 of 99\na", None)),
    ],
)
def test_forms(text: str, given: dict[str, object], listing: str, found: Slice | None) -> None:
    part = slice_of(text, given, Listing(listing))
    assert (part and part[:5]) == (found and found[:5])


def test_lines_as_they_are_with_what_stands_around_them() -> None:
    listing = Listing(first="offset", head=r"Content of .*:\n", tail=r"\(End of file.*\)")
    text = "Content of a.py:\nx\ny\n\n(End of file - total 9 lines)\n"
    found = slice_of(text, {"path": "a.py", "offset": 8}, listing)
    assert found == Slice("a.py", "x\ny", 8, "Content of a.py:", "(End of file - total 9 lines)")


@pytest.mark.parametrize(
    ("command", "text", "found"),
    [
        ("cat a.py", "x\ny", Slice("a.py", "x\ny", 1)),
        ("cd /src && cat 'a b.py'", "x", Slice("/src/a b.py", "x", 1)),
        ("cat -n a.py", "     1\tx\n     2\ty", Slice("a.py", "x\ny", 1)),
        ("nl -ba a.py | sed -n '8,9p'", "     8\tx\n     9\ty", Slice("a.py", "x\ny", 8)),
        ("sed -n 8,9p a.py", "x\ny\n", Slice("a.py", "x\ny", 8)),
        ("sed -n '8,9p' a.py", "x\ny\nz\nw", None),  # more lines than it prints
        ("cat a.py b.py", "x", None),
        ("cat *.py", "x", None),
        ("cat a.py | grep x", "x", None),
        ("cat a.py; ls", "x", None),
        ("cat a.py", "x\n… 99 lines truncated …\ny", Slice("a.py", "x\n… 99 lines truncated …\ny", None)),
        ("cat 'a", "x", None),
        ("cat", "x", None),
    ],
)
def test_what_a_shell_command_printed(command: str, text: str, found: Slice | None) -> None:
    part = shell_slice(command, text)
    assert (part and part[:5]) == (found and found[:5])


@pytest.mark.parametrize(
    ("part", "ends"),
    [
        (shell_slice("cat a.py", "x"), True),
        (shell_slice("cat -n a.py", "     1\tx"), True),
        (shell_slice("cat -n a.py | head -1", "     1\tx"), False),
        (shell_slice("sed -n 1,9p a.py", "x"), False),
        (shell_slice("cat a.py", "x\n… 99 lines truncated …\ny"), False),
        (slice_of("1\tx\n2\ty", {"path": "a"}, Listing(r"(\d+)\t")), True),
        (slice_of("1\tx\n2\ty\n\n<note>", {"path": "a"}, Listing(r"(\d+)\t")), True),
        (slice_of("1\tx\n2\ty\n9\tz", {"path": "a"}, Listing(r"(\d+)\t")), False),
        (slice_of("1\tx\n2\ty", {"path": "a", "limit": 2}, Listing(r"(\d+)\t")), False),
        (slice_of("5\tx\n6\ty", {"path": "a", "offset": 5}, Listing(r"(\d+)\t")), False),
        (slice_of("x\ny\n\n... (9 more lines not shown. Use offset=3)", {"path": "a.ts"}, Pi.listing), False),
        (slice_of("x\ny", {"path": "a.py"}, Listing()), True),
        (slice_of("x\ny", {"path": "a.py"}, Listing(r"(\d+)\t", bare=True)), True),
        (slice_of("x\ny", {"path": "a.py", "line_range": [1, 2]}, Listing()), False),
        (slice_of("x\n" * 2000, {"path": "a.py"}, Listing()), False),
    ],
)
def test_whether_a_file_ends_with_a_slice(part: Slice | None, ends: bool) -> None:
    assert part is not None and part.ends is ends


SESSIONS = {
    "claude": "lab/claude/home/.claude/projects/*/*.jsonl",
    "cline": "lab/cline/*/home/dev/.cline/data/sessions/*/*.messages.json",
    "continue": "lab/continue/*/home/dev/.continue/sessions/*.json",
    "gemini": "lab/faults/gemini-1-*.jsonl",
    "hermes": "lab/hermes/*/home/dev/.hermes/state.db",
    "kilo": "lab/kilo/*/home/dev/.local/share/kilo/kilo.db",
    "kimi-cli": "lab/kimi-cli/*/home/dev/.kimi/sessions/*/*/context.jsonl",
    "kimi-code": "lab/kimi-code/*/home/dev/.kimi-code/sessions/*/*/agents/main/wire.jsonl",
    "omp": "lab/omp/*/home/dev/.omp/agent/sessions/*/*.jsonl",
    "openhands": "lab/openhands/*/home/dev/.openhands/conversations/*/base_state.json",
    "pi": "lab/pi/*/home/dev/.pi/agent/sessions/*/*.jsonl",
    "vibe": "lab/vibe/vibe-2.26.1-legacy/home/dev/.vibe/logs/session/*/messages.jsonl",
    "vibe 3": "lab/vibe/vibe-3.0.2/home/dev/.vibe/logs/session/unified/*/CURRENT",
}


@pytest.mark.skipif(not (SHARED / "lab").is_dir(), reason="the sample data is not there")
@pytest.mark.parametrize("agent", SESSIONS)
def test_genuine_reads_have_the_files_own_lines(agent: str) -> None:
    found: list[Slice] = []
    for path in sorted(SHARED.glob(SESSIONS[agent])):
        for address in addresses_in(path):
            session = read_session(address)
            tools = (session.message(index).tool for index in range(len(session.messages)))
            found += [part for tool in tools if tool and tool.type == "read" and (part := tool_slice(tool))]
            session.close()
        if found:
            break
    firsts = {part.path.rpartition("/")[2]: part for part in found if part.start == 1}
    assert firsts, "the agent read a file"
    begins = {"README.md": "# Shop\n", "cart.py": "def tot", "greet.py": "import sys\n"}
    for name, part in firsts.items():
        assert part.text.startswith(begins.get(name, "")), part
    assert firsts.keys() & begins.keys()

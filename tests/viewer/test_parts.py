"""Commands that are asked about a place in a session: TARGET#3, TARGET#3-5."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from renderers.places import exchange_names
from schemas.opening import read_session
from tests.viewer.machine import Machine

LAB = Path(__file__).parents[2] / "../shared/lab/claude/home"
ONE, TWO = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(tmp_path_factory.mktemp("home"))
    machine.session(ONE, ["a", "b", "c", "d", "e", "f"], usage={"input_tokens": 10, "output_tokens": 20})
    machine.session(TWO, ["a", "b"], usage={"input_tokens": 1, "output_tokens": 2})
    return machine


@pytest.mark.parametrize(("place", "count"), [("#1", 1), ("#2-3", 2), ("#1-3", 3)])
def test_figures_of_some_exchanges(machine: Machine, place: str, count: int) -> None:
    answer = machine.run("usage", f"{ONE}{place}", "--json").json
    assert (len(answer["rows"]), answer["total"]["totalTokens"]) == (count, 30 * count)
    assert len(machine.run("events", f"{ONE}{place}").out.splitlines()) == count
    assert machine.run("snapshot", f"{ONE}{place}").json["totals"]["tokens"] == 30 * count
    assert machine.run("cache", f"{ONE}{place}", "--json").json["sessions"] == 1
    one, other = machine.run("compare", f"{ONE}{place}", TWO, "--json").json["sessions"]
    assert (one["place"], one["prompts"], one["usage"]["totalTokens"]) == (place, count, 30 * count)
    assert (other["place"], other["prompts"], other["usage"]["totalTokens"]) == (None, 1, 3)


def test_the_figures_of_all_exchanges_are_those_of_the_session(machine: Machine) -> None:
    parts = [machine.run("usage", f"{ONE}#{number}", "--json").json["total"]["totalTokens"] for number in (1, 2, 3)]
    assert sum(parts) == machine.run("usage", ONE, "--json").json["total"]["totalTokens"]


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["usage", f"{ONE}#1.2"], "#1.2 is one message, and figures are by exchange: #1"),
        (["usage", f"{ONE}#1", f"{ONE}#2"], "a session is named once, with one place or a range: #3-5"),
        (["cache", f"{ONE}#9"], "no exchange #9; there are #1 to #3"),
        (["tail", f"{ONE}#9"], "no exchange #9; there are #1 to #3"),
        (["tail", f"{ONE}#2", "--all"], "--all begins with the first exchange, a place there"),
    ],
)
def test_a_place_that_cannot_be_meant_is_refused_and_why(machine: Machine, args: list[str], reason: str) -> None:
    result = machine.run(*args)
    assert result.code == 2 and reason in result.err and result.err.count("\n") == 1


@pytest.mark.skipif(not LAB.is_dir(), reason="no shared files here")
def test_the_exchanges_of_genuine_sessions_make_up_their_totals_with_subagents(machine: Machine) -> None:
    for path in sorted(LAB.glob(".claude/projects/*/*.jsonl")):
        with closing(read_session(path)) as session:
            names = exchange_names(session)
        parts = [machine.run("usage", f"{path}#{name}", "--json").json["total"] for name in names]
        whole = machine.run("usage", path, "--by", "session", "--json").json["total"]
        assert sum(part["totalTokens"] for part in parts if part) == (whole["totalTokens"] if whole else 0)

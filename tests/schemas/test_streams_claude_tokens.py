"""What a run of `claude -p` took: live figures, and the final ones in their place (`streams` note 2.6)."""

from __future__ import annotations

import pytest

from schemas.opening import usage_with_subagents
from schemas.usage import TokenUsage
from tests.fixtures.streams.claude_cursor import (
    HAIKU,
    OPUS,
    begin,
    claude_lines,
    event,
    init,
    read,
    result,
    says,
    spent,
    text,
    told,
    usage,
    use,
)


def test_a_response_counts_the_largest_of_each_figure_once(tmp_path):
    lines = [
        init(),
        begin("m1", usage(4, 300, 0, 1)),
        says("m1", text("a"), used=usage(4, 300, 0, 1)),
        says("m1", text("b"), used=usage(4, 300, 0, 57)),
        event("message_delta", usage={"output_tokens": 60}),
        says("m2", text("API Error"), used=usage(9, 9, 9, 9), model="<synthetic>"),
        says("m3", text("c"), used=usage(1, 2, 300, 4)),
    ]
    session = read(tmp_path, lines)
    assert session.usage() == TokenUsage(5, 64, 300, 302)
    assert session.context_used == 303


def test_without_figures_tokens_are_unknown(tmp_path):
    session = read(tmp_path, [init(), says("m", text("a")), result("a", used={}, models={})])
    assert session.usage() is None


def test_the_final_figure_takes_the_place_of_the_live_one(tmp_path):
    lines = [init(), told("x"), says("m", text("a"), used=usage(5, 10, 100, 3))]
    final = {OPUS: spent(5, 10, 100, 40), HAIKU: spent(7, 0, 0, 2)}
    session = read(tmp_path, [*lines, result("a", used=usage(5, 10, 100, 40), models=final)])
    assert session.usage() == TokenUsage(12, 42, 100, 10)
    assert session.groups.usage[0] == TokenUsage(5, 3, 100, 10, cache_write_1h=None)
    assert [session.models[m] for m in session.groups.model] == [OPUS, OPUS, HAIKU]
    assert session.exchange_usage(0) == session.usage()
    assert session.context_used == 115, "of the last response, not of the sum"


@pytest.mark.parametrize("name", [f"{OPUS}[1m]", f"{OPUS}-20260801", f"{OPUS}-20260801[1m]"])
def test_the_final_figure_may_call_the_model_by_a_longer_name(tmp_path, name):
    live = says("m", text("a"), used=usage(5, 10, 100, 3))
    session = read(tmp_path, [init(), live, result("a", models={name: spent(5, 10, 100, 40)})])
    assert session.usage() == TokenUsage(5, 40, 100, 10)
    assert session.groups.usage[0].input == 5
    assert session.context_window == 200_000


def test_running_totals_are_not_added(tmp_path):
    first = [told("a"), says("m1", text("A"), used=usage(5, 0, 10, 1)), result("A", models={OPUS: spent(5, 0, 10, 9)})]
    then = [told("b"), says("m2", text("B"), used=usage(4, 0, 20, 2)), result("B", models={OPUS: spent(9, 0, 30, 12)})]
    turns = [init(), *first, init(), *then]
    session = read(tmp_path, turns)
    assert session.usage() == TokenUsage(9, 12, 30, 0)
    assert [session.exchange_usage(i).output for i in (0, 1)] == [9, 3]


def test_a_total_that_fell_is_another_process(tmp_path):
    lines = [
        init(), told("a"), result("A", models={OPUS: spent(50, 0, 10, 9)}, total_cost_usd=0.5),
        init(), told("b"), result("B", models={OPUS: spent(4, 0, 10, 3)}, total_cost_usd=0.25),
    ]  # fmt: skip
    session = read(tmp_path, lines)
    assert session.usage() == TokenUsage(54, 12, 20, 0)
    assert session.metadata["costUsd"] == 0.75


def test_results_without_a_running_total_are_summed(tmp_path):
    first = [told("a"), says("m1", text("A"), used=usage(5, 0, 10, 1)), result("A", used=usage(5, 0, 10, 8))]
    then = [told("b"), says("m2", text("B"), used=usage(4, 0, 10, 1)), result("B", used=usage(4, 0, 10, 2))]
    assert read(tmp_path, [init(), *first, *then]).usage() == TokenUsage(9, 10, 20, 0)


def test_a_failure_that_reports_zeros_takes_nothing_back(tmp_path):
    live = says("m", text("a"), used=usage(5, 10, 100, 3))
    failed = result("", is_error=True, subtype="error_during_execution", used=usage(0))
    assert read(tmp_path, [init(), live, failed]).usage() == TokenUsage(5, 3, 100, 10)
    assert read(tmp_path, [init(), failed]).usage() is None


def test_subagents_count_in_the_run_live_and_in_the_end(tmp_path):
    lines = claude_lines()
    end = next(i for i, value in enumerate(lines) if isinstance(value, dict) and value["type"] == "result")
    live = read(tmp_path, lines[:end])
    assert usage_with_subagents(live) == TokenUsage(4 + 1 + 2 + 5 + 6, 30 + 9 + 6 + 40 + 7, 50 + 60 + 900 + 950, 300)
    assert usage_with_subagents(read(tmp_path, lines[: end + 1])) == TokenUsage(43, 105, 2110, 300)
    assert live.exchanges[1].model == live.models.index(OPUS)


def test_a_response_may_go_on_after_the_end_of_the_turn(tmp_path):
    lines = [init(), says("m", use("t", "Bash"), used=usage(5, 0, 0, 3)), result("", models={OPUS: spent(5, 0, 0, 3)})]
    session = read(tmp_path, [*lines, says("m", text("late"), used=usage(5, 0, 0, 10))])
    assert session.usage() == TokenUsage(5, 10, 0, 0)

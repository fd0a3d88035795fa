"""The rules for Codex's token counts (formats note 6.1)."""

from __future__ import annotations

from schemas.usage import TokenUsage
from tests.fixtures.codex.rollouts import Rollout


def test_repeats_and_null_count_nothing(tmp_path):
    r = Rollout().start("t1").user("hi").event("token_count", info=None)
    r.says("a").count((100, 40, 10)).count((100, 40, 10)).count((100, 40, 10))
    session = r.says("b").count((250, 100, 30), (150, 60, 20)).done("t1").read(tmp_path)
    assert session.usage() == TokenUsage(150, 30, 100, None, 0)
    assert len(session.groups) == 2


def test_a_thread_that_goes_on_begins_with_its_last_response(tmp_path):
    session = Rollout().user("hi").says("a").count((9000, 8000, 500), (100, 50, 10)).read(tmp_path)
    assert session.usage() == TokenUsage(50, 10, 50, None, 0)


def test_a_difference_is_believed_where_a_line_is_missing(tmp_path):
    r = Rollout().user("hi").says("a").count((100, 0, 10), (100, 0, 10))
    assert r.says("b").count((400, 0, 40), (100, 0, 10)).read(tmp_path).usage().total == 440


def test_a_reset_counts_the_last_response(tmp_path):
    r = Rollout().user("hi").says("a").count((500, 0, 20), (500, 0, 20))
    assert r.says("b").count((300, 0, 10), (300, 0, 10)).read(tmp_path).usage().total == 830


def test_a_full_window_is_not_spent(tmp_path):
    """On overflow Codex writes a total of the window's size and nothing else."""
    r = Rollout().user("hi").says("a").count((500, 0, 20))
    r.event(
        "token_count", info={"total_token_usage": {"total_tokens": 272_000}, "last_token_usage": {"total_tokens": 0}}
    )
    session = r.says("b").count((600, 0, 30), (100, 0, 10)).read(tmp_path)
    assert session.usage().total == 520 + 110


def test_only_last_figures(tmp_path):
    r = Rollout().user("hi").says("a")
    for figure in (5, 5, 7):
        r.event("token_count", info={"last_token_usage": {"input_tokens": figure, "output_tokens": 1}})
    session = r.read(tmp_path)
    assert session.usage().input == 12 and session.usage().cache_read is None


def test_occupancy_after_compaction(tmp_path):
    r = Rollout().user("hi").says("a").count((1000, 0, 100), (1000, 0, 100))
    r.line("compacted", {"message": "summary"}).count((1000, 0, 100), (150, 0, 0))
    session = r.read(tmp_path)
    assert session.usage().total == 1100 and session.context_used == 150


def test_exact_records_alone_count_in_their_turn(tmp_path):
    r = Rollout().start("t1").user("hi").says("a").exact("resp_1", "t1", 100, 80, 10).count((100, 80, 10))
    r.says("b").exact("resp_2", "t1", 200, 150, 20).count((300, 230, 30)).exact("resp_2", "t1", 200, 150, 20).done("t1")
    session = r.read(tmp_path)
    assert session.groups.ids == ["resp_1", "resp_2"] and session.duplicates == 1
    assert session.usage() == TokenUsage(70, 30, 230, None, 0)


def test_differences_before_the_first_exact_record_of_a_turn(tmp_path):
    """A build may write the running total first; the exact record then takes its place."""
    r = Rollout().start("t1").user("hi").says("a").count((100, 80, 10)).exact("resp_1", "t1", 100, 80, 10)
    r.says("b").count((300, 230, 30)).exact("resp_2", "t1", 200, 150, 20).done("t1")
    session = r.read(tmp_path)
    assert session.usage().total == 330 and session.exchange_usage(0).total == 330
    assert [session.message(i).group for i in (1, 2)] == ["resp_1", "resp_2"]


def test_a_file_that_straddles_an_upgrade(tmp_path):
    r = Rollout().start("t1").user("one").says("a").count((100, 0, 10), (100, 0, 10)).done("t1")
    r.start("t2").user("two").says("b").exact("resp_9", "t2", 200, 0, 20).count((300, 0, 30), (200, 0, 20)).done("t2")
    session = r.read(tmp_path)
    assert [session.exchange_usage(i).total for i in (0, 1)] == [110, 220]
    assert session.groups.ids == ["t1:1", "resp_9"]


def test_another_threads_records_do_not_count(tmp_path):
    r = Rollout().start("t1").user("hi").says("a").exact("resp_x", "t0", 9, 9, 9, thread="another")
    assert r.read(tmp_path).usage() is None


def test_a_late_count_belongs_to_the_exchange_of_its_messages(tmp_path):
    r = Rollout().user("one").says("a").user("two").count((100, 0, 10))
    session = r.read(tmp_path)
    assert session.exchange_usage(0).total == 110 and session.exchange_usage(1) is None


def test_figures_of_wrong_types_are_unknown(tmp_path):
    r = Rollout().user("hi").says("a")
    odd = {"input_tokens": "seven", "output_tokens": 5, "cached_input_tokens": None, "total_tokens": 1e300}
    r.event("token_count", info={"total_token_usage": odd}).event("token_count", info=[1])
    huge = {"input_tokens": 2**63, "output_tokens": -3}
    session = r.event("token_count", info={"total_token_usage": huge, "last_token_usage": "x"}).read(tmp_path)
    assert session.usage() == TokenUsage(None, 5, None, None, None)


def test_models_switch(tmp_path):
    r = Rollout().line("turn_context", {"model": "gpt-a"}).user("hi").says("a").count((10, 0, 1), (10, 0, 1))
    r.event("thread_settings_applied", thread_settings={"model": "gpt-b"}).says("b").count((20, 0, 2), (10, 0, 1))
    session = r.read(tmp_path)
    assert [session.models[session.groups.model[g]] for g in (0, 1)] == ["gpt-a", "gpt-b"]
    labels = [session.message(i).label for i in range(len(session.messages))]
    assert "Model: gpt-b" in labels and "Model: gpt-a" not in labels


def test_figures_that_turn_out_to_be_a_copy_are_unknown(tmp_path):
    """Five counts in the first second were not earned in it; the groups they made are emptied."""
    r = Rollout(forked_from_id="019a0000-0000-7000-8000-0000000000aa", start=1_760_000_000)
    for n in range(1, 6):
        r.event("agent_message", message=f"old {n}", at=1_760_000_001).count((100 * n, 0, n), at=1_760_000_001)
    session = r.read(tmp_path)
    assert session.usage() is None and session.exchange_usage(0) is None

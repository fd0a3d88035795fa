from __future__ import annotations

import time
from datetime import date, datetime, timedelta

import pytest

from viewer.dates import since, until
from viewer.output import CallError


def _midnight(day: date) -> float:
    return datetime(day.year, day.month, day.day).timestamp()


@pytest.mark.parametrize(("text", "day"), [("2026-03-01", date(2026, 3, 1)), ("today", None), ("Yesterday", None)])
def test_a_day_is_meant_from_its_beginning_to_its_end(text: str, day: date | None) -> None:
    if day is None:
        day = date.today() - timedelta(days=text == "Yesterday")
    assert since(text) == _midnight(day)
    assert until(text) == _midnight(day + timedelta(days=1))


@pytest.mark.parametrize(("text", "seconds"), [("30m", 1800), ("2h", 7200), ("7d", 604_800), ("2w", 1_209_600)])
def test_an_age_and_a_time_are_moments(text: str, seconds: int) -> None:
    assert since(text) == pytest.approx(time.time() - seconds, abs=60) == pytest.approx(until(text), abs=60)
    assert since("99999999d") < 0 < since("9999d")
    assert since("2026-03-01T14:00+02:00") == until("2026-03-01T12:00Z") == 1_772_366_400


@pytest.mark.parametrize("text", ["soon", "", "7", "2026-3-4", "2026-02-30", "9999-12-31", "٧d", "7d ", "0001-01-01"])
def test_anything_else_is_a_wrong_call(text: str) -> None:
    with pytest.raises(CallError, match="neither a day"):
        until(text)

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.interchange.rfc3339 import format_time, parse_time


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("2026-02-19T22:12:00Z", "2026-02-19T22:12:00+00:00"),
        ("2026-03-01T00:30:00+02:00", "2026-02-28T22:30:00+00:00"),
        ("2026-03-01t00:30:00.123456789z", "2026-03-01T00:30:00.123456+00:00"),
        ("2026-03-01 00:30:00.5-00:00", "2026-03-01T00:30:00.500000+00:00"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59+00:00"),
    ],
)
def test_times(text, iso):
    moment = parse_time(text)
    assert moment is not None and moment.isoformat() == iso


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-20", "2026-02-20T00:00:00", "2026-02-20T00:00Z", "2026-02-30T00:00:00Z", "2026-02-20T25:00:00Z",
        "2026-02-20T00:00:00+99:00", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "20260220T000000Z",
        "2026-02-20T00:00:00.Z", "٢٠٢٦-02-20T00:00:00Z", "2026-02-20T00:00:00Z\n", "", None, 1708387200, 1.5, True,
    ],
)  # fmt: skip
def test_what_is_none(text):
    assert parse_time(text) is None


@given(st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_what_is_written_is_read(moment, minutes):
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    assert parse_time(format_time(zoned)) == zoned.astimezone(UTC)
    assert format_time(zoned).endswith("Z")

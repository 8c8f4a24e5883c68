"""Rules of usage: billing periods, overage and quotas."""

from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from app.core.settings import Settings
from app.usage.jobs import has_reached
from app.usage.plan import (
    STORAGE_STEP_BYTES,
    UsageMetric,
    compared,
    date_bounds,
    date_of,
    in_unit,
    period_before,
    period_of,
    plan_of,
    whole_steps,
)


@pytest.mark.parametrize(
    ("moment", "period"),
    [
        (datetime(2026, 11, 30, 23, 59, 59, 999999, UTC), "2026-11"),
        (datetime(2026, 12, 1, tzinfo=UTC), "2026-12"),
        (datetime(2026, 12, 1, 5, 29, tzinfo=timezone(timedelta(hours=5, minutes=30))), "2026-11"),
        (datetime(2026, 11, 30, 20, tzinfo=timezone(timedelta(hours=-5))), "2026-12"),
    ],
)
def test_a_period_is_a_month_in_utc(moment: datetime, period: str) -> None:
    assert period_of(moment) == period
    assert date_of(moment).startswith(period)


@pytest.mark.parametrize(
    ("period", "before"), [("2026-11", "2026-10"), ("2026-01", "2025-12"), ("0001-01", "0000-12")]
)
def test_the_period_before_january_is_december(period: str, before: str) -> None:
    assert period_before(period) == before


@pytest.mark.parametrize("period", ["0000-01", "2024-02", "2026-11", "9999-12"])
def test_the_bounds_of_a_period_contain_its_days_and_no_others(period: str) -> None:
    low, high = date_bounds(period)
    assert low == f"{period}-01"
    assert all(low <= f"{period}-{day:02}" <= high for day in range(1, 32))
    year, month = map(int, period.split("-"))
    neighbours = [f"{year:04}-{month - 1:02}-31", f"{year:04}-{month + 1:02}-01"]
    assert not any(low <= day <= high for day in neighbours)


def test_the_plan_is_read_from_the_settings() -> None:
    settings = Settings(plan_tier="gold", plan_calls=1, plan_webhooks=2, plan_storage_gb=0.1)
    plan = plan_of(settings)
    assert plan.tier == "gold"
    assert plan.included == {
        UsageMetric.CALLS: 1,
        UsageMetric.WEBHOOKS: 2,
        UsageMetric.STORAGE_GB: 100_000_000,
    }


@pytest.mark.parametrize(
    ("metric", "used", "included", "shown_as"),
    [
        (UsageMetric.CALLS, 0, 0, (0, 0, 0)),
        (UsageMetric.CALLS, 99, 100, (99, 100, 0)),
        (UsageMetric.CALLS, 100, 100, (100, 100, 0)),
        (UsageMetric.WEBHOOKS, 101, 100, (101, 100, 1)),
        (UsageMetric.STORAGE_GB, 2_500_000_000, 1_000_000_000, (2.5, 1.0, 1.5)),
        (UsageMetric.STORAGE_GB, 1_000, 100_000_000_000, (0.000001, 100.0, 0.0)),
    ],
)
def test_overage_is_usage_beyond_the_plan(
    metric: UsageMetric, used: int, included: int, shown_as: tuple[float, ...]
) -> None:
    shown = compared(metric, used, included)
    assert tuple(shown.values()) == shown_as
    assert {type(value) for value in shown.values()} == {type(shown_as[0])}


@pytest.mark.parametrize(
    ("used", "included", "reached"),
    [
        (79, 100, False),
        (80, 100, True),
        (500, 100, True),
        (2, 3, False),
        (0, 0, False),
        (9, 0, False),
    ],
)
def test_a_quota_warning_is_due_from_eighty_percent(
    used: int, included: int, *, reached: bool
) -> None:
    assert has_reached(used, included) is reached


@given(some.integers(min_value=0, max_value=10**18))
def test_storage_steps_are_exact_in_six_decimals(size_bytes: int) -> None:
    steps = whole_steps(size_bytes)
    assert 0 <= steps - size_bytes < STORAGE_STEP_BYTES
    # Up to some exabytes a float carries all six decimals.
    if steps < 10**18:
        written = Fraction(repr(in_unit(UsageMetric.STORAGE_GB, steps)))
        assert round(written, 6) == Fraction(steps, 10**9)

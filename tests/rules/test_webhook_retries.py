"""Retry schedule and auto-disable: when an attempt is due, when a subscription is switched off."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.outgoing_http.retry_after import retry_after_s
from app.webhooks.sender.auto_disable import NO_FAILURES, FailureStreak
from app.webhooks.sender.retry_schedule import next_attempt_at

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SPEC = (60.0, 300.0)
WEEK_S = 7 * 24 * 3600


def wait_s(attempt: int, *, jitter: float = 0, **answer: object) -> float:
    due = next_attempt_at(
        attempt=attempt,
        ended_at=NOW,
        delays_s=SPEC,
        jitter=lambda: jitter,
        **answer,  # type: ignore[arg-type]
    )
    return (due - NOW).total_seconds()


def test_attempt_2_comes_a_minute_after_attempt_1_ended() -> None:
    assert wait_s(1) == 60


def test_attempt_3_comes_five_minutes_after_attempt_2_ended() -> None:
    assert wait_s(2) == 300


def test_jitter_adds_at_most_two_seconds() -> None:
    assert wait_s(1, jitter=1) == 62


def test_jitter_adds_at_most_the_delay_itself() -> None:
    due = next_attempt_at(attempt=1, ended_at=NOW, delays_s=(0.5, 1), jitter=lambda: 1.0)
    assert due - NOW == timedelta(seconds=1)


@pytest.mark.parametrize(
    ("status", "header", "expected"),
    [
        (429, "90", 90),
        (503, "90", 90),
        (429, "5", 60),
        (429, "86400", 120),
        (429, "Sat, 21 Nov 2026 12:01:30 GMT", 90),
        (429, "Sat, 21 Nov 2026 11:00:00 GMT", 60),
        (429, "soon", 60),
        (429, "-5", 60),
        (429, "99999999999999999999", 120),
        (500, "90", 60),
        (410, "90", 60),
        (429, "", 60),
    ],
)
def test_retry_after_counts_on_429_and_503_within_bounds(
    status: int, header: str, expected: float
) -> None:
    assert wait_s(1, status_code=status, headers={"retry-after": header}) == expected


@pytest.mark.parametrize(
    "header",
    [
        "",
        " ",
        "later",
        "1.5",
        "١٢",
        "Sat, 99 Nov 2026 12:00:00 GMT",
        "Sat, 21 Nov 9999999999 12:00:00 GMT",
        "Sat, 21 Nov 2026 12:00:00 +99999999999999999999",
    ],
)
def test_a_retry_after_that_is_not_understood_is_ignored(header: str) -> None:
    assert retry_after_s(header, NOW) == 0


_DATES = r"Sat, [0-9]{1,20} Nov [0-9]{1,20} [0-9:]{1,20} [+-]?[0-9]{1,20}"


@given(st.text() | st.from_regex(_DATES))
def test_no_retry_after_raises_an_error(header: str) -> None:
    assert retry_after_s(header, NOW) >= 0


def fail(streak: FailureStreak, at: datetime) -> FailureStreak:
    return streak.after_failure(at)


def test_the_streak_begins_with_the_end_of_its_first_failed_delivery() -> None:
    streak = fail(fail(NO_FAILURES, NOW), NOW + timedelta(days=3))
    assert streak.since == NOW
    assert streak.count == 2


def test_a_week_of_failures_switches_off() -> None:
    week_later = NOW + timedelta(days=7)
    streak = fail(fail(NO_FAILURES, NOW), week_later)
    assert streak.disables(week_later, limit_s=WEEK_S)


def test_failures_of_almost_a_week_do_not() -> None:
    almost = NOW + timedelta(days=7, microseconds=-1)
    streak = fail(fail(NO_FAILURES, NOW), almost)
    assert not streak.disables(almost, limit_s=WEEK_S)


def test_a_single_failure_never_switches_off_however_long_ago() -> None:
    streak = fail(NO_FAILURES, NOW)
    assert not streak.disables(NOW + timedelta(days=400), limit_s=WEEK_S)


def test_a_success_starts_a_new_streak() -> None:
    streak = fail(NO_FAILURES, NOW + timedelta(days=6))
    assert not streak.disables(NOW + timedelta(days=8), limit_s=WEEK_S)


def test_a_subscription_without_failures_stays_on() -> None:
    assert not NO_FAILURES.disables(NOW, limit_s=0)

"""Retry schedule and auto-disable: when an attempt is due, when a subscription is switched off."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.outgoing_http.reply import retry_after_s
from app.webhooks.models import Subscription
from app.webhooks.sender.results import next_attempt_at

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
SPEC = (60.0, 300.0)
WEEK = timedelta(days=7)


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


def failed_at(*moments: datetime) -> Subscription:
    """A subscription whose deliveries have failed at these moments, and none has succeeded."""
    subscription = Subscription()
    subscription.clear_failures()
    for moment in moments:
        subscription.add_failure(moment)
    return subscription


def test_the_streak_begins_with_the_end_of_its_first_failed_delivery() -> None:
    subscription = failed_at(NOW, NOW + timedelta(days=3))
    assert subscription.failing_since == NOW
    assert subscription.failed_in_streak == 2


def test_a_week_of_failures_switches_off() -> None:
    week_later = NOW + timedelta(days=7)
    assert failed_at(NOW, week_later).has_failed_for(WEEK, now=week_later)


def test_failures_of_almost_a_week_do_not() -> None:
    almost = NOW + timedelta(days=7, microseconds=-1)
    assert not failed_at(NOW, almost).has_failed_for(WEEK, now=almost)


def test_a_single_failure_never_switches_off_however_long_ago() -> None:
    assert not failed_at(NOW).has_failed_for(WEEK, now=NOW + timedelta(days=400))


def test_a_success_starts_a_new_streak() -> None:
    subscription = failed_at(NOW, NOW + timedelta(days=5))
    subscription.clear_failures()
    subscription.add_failure(NOW + timedelta(days=6))
    subscription.add_failure(NOW + timedelta(days=8))
    assert not subscription.has_failed_for(WEEK, now=NOW + timedelta(days=8))


def test_a_subscription_without_failures_stays_on() -> None:
    assert not failed_at().has_failed_for(timedelta(), now=NOW)

"""Billing periods: UTC months, written YYYY-MM."""

from datetime import UTC, datetime, timedelta


def period_of(moment: datetime) -> str:
    """Return the period that a moment falls into."""
    return moment.astimezone(UTC).strftime("%Y-%m")


def first_day(period: str) -> str:
    """Return the first date of a period, YYYY-MM-DD."""
    return f"{period}-01"


def first_day_after(period: str) -> str:
    """Return the first date of the period that follows."""
    start = datetime.fromisoformat(first_day(period))
    return (start + timedelta(days=32)).strftime("%Y-%m-01")

"""Billing periods: UTC months, written YYYY-MM."""

from datetime import UTC, datetime

# As a regular expression.
FORM = "[0-9]{4}-(0[1-9]|1[0-2])"


def period_of(moment: datetime) -> str:
    """Return the billing period of a time."""
    return moment.astimezone(UTC).strftime("%Y-%m")


def date_of(moment: datetime) -> str:
    """Return the UTC day of a time, YYYY-MM-DD."""
    return moment.astimezone(UTC).date().isoformat()


def bounds(period: str) -> tuple[str, str]:
    """Return the lowest and the highest text that a date of the period can be."""
    return f"{period}-01", f"{period}-31"


def period_before(period: str) -> str:
    """Return the previous period."""
    year, month = map(int, period.split("-"))
    return f"{year:04}-{month - 1:02}" if month > 1 else f"{year - 1:04}-12"

"""Clock: the only place that reads the current time."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(UTC)


def as_utc(moment: datetime) -> datetime:
    """Convert an aware moment to UTC; a naive one is a programming error."""
    if moment.tzinfo is None:
        raise ValueError("the moment has no time zone")
    return moment.astimezone(UTC)


def iso_utc(moment: datetime) -> str:
    """Format a moment as ISO 8601 with milliseconds and `Z`."""
    return as_utc(moment).isoformat(timespec="milliseconds")[:-6] + "Z"

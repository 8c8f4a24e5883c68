"""Clock: the only place that reads the current time."""

from datetime import UTC, datetime, timedelta

_offset = timedelta()


def utc_now() -> datetime:
    """Return the present moment, aware, in UTC; where hosts share a database, by its clock."""
    return datetime.now(UTC) + _offset


def host_now() -> datetime:
    """Return the present moment by the clock of this host."""
    return datetime.now(UTC)


def offset() -> timedelta:
    """Return how far `utc_now` is ahead of the clock of this host."""
    return _offset


def set_offset(ahead: timedelta) -> None:
    """Set how far `utc_now` is ahead of the clock of this host, from now on in this process."""
    global _offset
    _offset = ahead


def as_utc(moment: datetime) -> datetime:
    """Convert an aware moment to UTC; a naive one is a programming error."""
    if moment.tzinfo is None:
        raise ValueError("the moment has no time zone")
    return moment.astimezone(UTC)


def iso_utc(moment: datetime) -> str:
    """Format a moment as ISO 8601 with milliseconds and `Z`."""
    return as_utc(moment).isoformat(timespec="milliseconds")[:-6] + "Z"

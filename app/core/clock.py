"""The one clock: every reading of the present moment goes through here."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the present moment, aware, in UTC."""
    return datetime.now(UTC)


def as_utc(moment: datetime) -> datetime:
    """Convert an aware moment to UTC; a naive one is a programming error."""
    if moment.tzinfo is None:
        raise ValueError("a naive moment has no meaning here")
    return moment.astimezone(UTC)


def iso_utc(moment: datetime) -> str:
    """Print a moment as ISO 8601 with milliseconds and `Z` (contract B1)."""
    return as_utc(moment).isoformat(timespec="milliseconds")[:-6] + "Z"

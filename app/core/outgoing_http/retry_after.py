"""Parser of the Retry-After header, which may contain anything."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def retry_after_s(value: str, now: datetime) -> float:
    """Read a Retry-After header, seconds or a date; 0 when it says nothing that is understood."""
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # a year or a zone of more digits than a C int holds
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())

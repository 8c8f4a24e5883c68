"""Times without an offset, read in the time zone of their source."""

from datetime import datetime
from zoneinfo import ZoneInfo


def with_offset(text: str, timezone: str | None) -> str:
    """Return an ISO 8601 time with the offset of the time zone; other texts stay as they are."""
    if timezone is None:
        return text
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    if moment.tzinfo is not None:
        return text
    return moment.replace(tzinfo=ZoneInfo(timezone)).isoformat()

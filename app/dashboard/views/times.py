"""Times and durations as pages show them, in the zone of the person."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from app.core.clock import utc_now


def local_time(moment: datetime, zone: str) -> str:
    """Format a moment as `22 Nov 2026, 14:05` in a time zone."""
    there = moment.astimezone(ZoneInfo(zone))
    return f"{there.day} {there:%b %Y, %H:%M}"


def age(moment: datetime) -> str:
    """Return how long ago a moment was (see `rounded_length`)."""
    return rounded_length(utc_now() - moment)


def rounded_length(length: timedelta) -> str:
    """Format a length in its largest unit: `40 s`, `5 min`, `3 h`, `2 d`."""
    seconds = max(0, int(length / timedelta(seconds=1)))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def duration(seconds: float) -> str:
    """Format a duration as `0:37`, `12:05` or `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

"""Times and durations as pages show them, in the zone of the person."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from app.core.clock import utc_now


def local_time(moment: datetime, zone: str) -> str:
    """Format a moment as `22 Nov 2026, 14:05` in a time zone."""
    local = moment.astimezone(ZoneInfo(zone))
    return f"{full_day(local)}, {local:%H:%M}"


def moment(text: str) -> datetime:
    """Return the moment that the API writes as `2026-11-22T14:05:00.000Z`."""
    return datetime.fromisoformat(text)


def full_day(day: date) -> str:
    """Format a day as `22 Nov 2026`."""
    return f"{day.day} {day:%b %Y}"


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

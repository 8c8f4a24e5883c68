"""Numbers, days and times: written as people read them, in their zone, and read as people type them."""

import re
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from app.core.clock import utc_now

MISSING = "\N{EN DASH}"
_DAY_H, _HOUR_S = 24, 3600
# The order matters: a user agent also names the browsers and systems that its own descend from.
_BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iOS",
    "iPad": "iOS",
    "Mac OS X": "macOS",
    "Windows": "Windows",
    "Linux": "Linux",
}


def whole_number(text: str) -> int | None:
    """Read a whole number of at most 15 digits; None for any other text."""
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else None


def number(value: float | None, places: int = 0) -> str:
    """Write a number with separated thousands; a dash for None."""
    return MISSING if value is None else f"{value:,.{places}f}"


def amount(value: float) -> str:
    """Write a number with the decimals that it has, at most three."""
    whole, _, decimals = f"{value:,.3f}".partition(".")
    return f"{whole}.{decimals}".rstrip("0").rstrip(".")


def percent(share: float | None, places: int = 0) -> str:
    """Write a share from 0 to 1 in percent; what is not all is below 100 %."""
    if share is None:
        return MISSING
    text = f"{100 * share:.{places}f}"
    if share < 1 and float(text) == 100:
        text = f"{100 - 10**-places:.{places}f}"
    return f"{text} %"


def signed(value: float | None, places: int = 1) -> str:
    """Write a number with its sign; zero has none."""
    if value is None:
        return MISSING
    text = f"{value:+.{places}f}"
    return text if float(text) else text[1:]


def browser_name(user_agent: str) -> str:
    """Name a browser and its system, as in `Firefox on Windows`; else as it names itself."""
    browser, system = (
        next((name for mark, name in marks.items() if mark in user_agent), "")
        for marks in (_BROWSERS, _SYSTEMS)
    )
    return f"{browser} on {system}" if browser and system else user_agent


def day_of(local: datetime) -> str:
    """Write the day of a local moment: 22 Nov."""
    return f"{local.day} {local:%b}"


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


def waiting_time(seconds: float) -> str:
    """Write a time in seconds, from an hour on in hours."""
    return f"{number(seconds)} s" if seconds < _HOUR_S else f"{number(seconds / _HOUR_S, 1)} h"


def time_between(seconds: float) -> str:
    """Format a time between messages as `0:37` or `12:05`, and from an hour on as `3 h` or `2 d`."""
    return duration(seconds) if seconds < _HOUR_S else rounded_length(timedelta(seconds=seconds))


def duration(seconds: float) -> str:
    """Format a duration as `0:37`, `12:05` or `1:02:03`, and from a day on as `2 days 3 h`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= _DAY_H:
        days, hours = divmod(hours, _DAY_H)
        return f"{days} day{'' if days == 1 else 's'} {hours} h"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

"""Periods of reports, and the hours, days, weeks and months of a time zone."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from app.analytics.enums import Granularity
from app.core.errors import InvalidInput

LONGEST = timedelta(days=400)
USUAL = timedelta(days=30)
# Far enough from both ends of the calendar for the period before, and for whole weeks and months.
FIRST_YEAR, LAST_YEAR = 1900, 2999


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` (inclusive) to `end` (exclusive), with the time zone of its days."""

    start: datetime
    end: datetime
    zone: ZoneInfo

    def before(self) -> "Period":
        """Return the period of the same length that ends where this one begins."""
        return Period(self.start - (self.end - self.start), self.start, self.zone)

    def shown(self) -> dict[str, object]:
        """Return the period as answers show it."""
        return {"start": self.start, "end": self.end, "timezone": self.zone.key}


def bucket_starts(
    begin: datetime, end: datetime, zone: ZoneInfo, granularity: Granularity
) -> list[datetime]:
    """List the starts of the hours, days, … of a zone that overlap the time from `begin` to `end`.

    Days have 23 to 25 hours where the clocks change; weeks begin on Monday.
    """
    local = _floor(begin.astimezone(zone), granularity)
    starts = [local.astimezone(UTC)]
    while (start := (local := _next(local, granularity)).astimezone(UTC)) < end:
        if start > starts[-1]:
            starts.append(start)
    return starts


def period_of(
    start: date | None, end: date | None, zone: ZoneInfo, *, now: datetime, location: str = "query"
) -> Period:
    """Return the requested period; without `start`, `end` or both it has 30 days.

    Args:
        start: a time, or a date that begins in the zone; likewise `end`.

    Raises:
        InvalidInput: the period is empty, longer than 400 days, or outside the supported years.
    """
    for field, value in (("from", start), ("to", end)):
        if value is not None and not FIRST_YEAR <= value.year <= LAST_YEAR:
            message = f"{field} must be in the years {FIRST_YEAR} to {LAST_YEAR}."
            raise InvalidInput.field(field, message, code="RANGE", location=location)
    last = moment_of(end, zone) if end else None
    first = moment_of(start, zone) if start else (last or now) - USUAL
    if last is None:
        last = now
    if first >= last:
        raise InvalidInput.field(
            "to", "to must be later than from.", code="RANGE", location=location
        )
    if last - first > LONGEST + timedelta(hours=2):
        message = f"to must be at most {LONGEST.days} days after from."
        raise InvalidInput.field("to", message, code="RANGE", location=location)
    return Period(first, last, zone)


def moment_of(value: date, zone: ZoneInfo) -> datetime:
    """Return the time of a value: a date begins in the zone."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    try:
        return datetime.combine(value, time(), zone).astimezone(UTC)
    except OverflowError:
        # East of Greenwich the first day of the calendar begins before the first time of UTC.
        return datetime.min.replace(tzinfo=UTC)


def _floor(local: datetime, granularity: Granularity) -> datetime:
    if granularity is Granularity.HOUR:
        return local.replace(minute=0, second=0, microsecond=0)
    day = local.date()
    if granularity is Granularity.WEEK:
        day -= timedelta(days=day.weekday())
    if granularity is Granularity.MONTH:
        day = day.replace(day=1)
    return datetime.combine(day, time(), local.tzinfo)


def _next(begin: datetime, granularity: Granularity) -> datetime:
    if granularity is Granularity.HOUR:
        # Add an hour in UTC, because local clocks may change.
        later = (begin.astimezone(UTC) + timedelta(hours=1)).astimezone(begin.tzinfo)
        return later.replace(minute=0) if later.minute else later
    if granularity is Granularity.MONTH:
        following = (begin.date().replace(day=28) + timedelta(days=4)).replace(day=1)
    else:
        following = begin.date() + timedelta(days=7 if granularity is Granularity.WEEK else 1)
    return datetime.combine(following, time(), begin.tzinfo)

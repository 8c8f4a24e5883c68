"""Selections: the period, in a time zone, and the filters that choose the facts of a report."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement

from app.analytics.enums import Granularity
from app.core.clock import utc_now
from app.core.errors import InvalidInput
from app.evaluations.enums import ByDay, Status
from app.evaluations.listing import MOMENTS
from app.evaluations.models import Evaluation

_LONGEST = timedelta(days=400)
_USUAL = timedelta(days=30)
# Far enough from both ends of the calendar for the period before, and for whole weeks and months.
_FIRST_YEAR, _LAST_YEAR = 1900, 2999
_IDS = ("engagement_id", "campaign_id", "call_center_id", "executive_id", "scorecard_id")


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` (inclusive) to `end` (exclusive), with the time zone of its days."""

    start: datetime
    end: datetime
    zone: ZoneInfo

    def before(self) -> "Period":
        """Return the period of the same length that ends where this one begins."""
        return Period(self.start - (self.end - self.start), self.start, self.zone)

    @classmethod
    def of_last_days(cls, days: int) -> "Period":
        """Return the period of so many days that ends now."""
        end = utc_now()
        return cls(end - timedelta(days=days), end, ZoneInfo("UTC"))

    def shown(self) -> dict[str, object]:
        return {"start": self.start, "end": self.end, "timezone": self.zone.key}


@dataclass(frozen=True, slots=True)
class Selection:
    """A period and filters, by the names of the API in snake_case; `by_day` is what it bounds."""

    period: Period
    engagement_id: str | None = None
    campaign_id: str | None = None
    call_center_id: str | None = None
    executive_id: str | None = None
    scorecard_id: str | None = None
    channel: tuple[str, ...] = field(default=())
    by_day: str = ByDay.CONVERSATION

    def before(self) -> "Selection":
        return replace(self, period=self.period.before())

    @property
    def moment(self) -> str:
        return str(MOMENTS[self.by_day].name)

    def ids(self) -> dict[str, str]:
        """Return the filters by id, by their columns."""
        named = {name: getattr(self, name) for name in _IDS}
        return {name: key for name, key in named.items() if key is not None}

    def filters(self) -> dict[str, tuple[str, ...]]:
        allowed: dict[str, tuple[str, ...]] = {name: (key,) for name, key in self.ids().items()}
        if self.channel:
            allowed["channel"] = self.channel
        return allowed


def selection_of(query: Mapping[str, Any], *, now: datetime) -> Selection:
    period = period_of(query.get("start"), query.get("end"), query["timezone"], now=now)
    ids = {name: query.get(name) for name in _IDS}
    by_day = query.get("by_day", ByDay.CONVERSATION)
    return Selection(period, **ids, channel=tuple(query.get("channel", ())), by_day=by_day)


def period_of(
    start: date | None, end: date | None, zone: ZoneInfo, *, now: datetime, location: str = "query"
) -> Period:
    """Return the requested period; without `start`, `end` or both it has 30 days.

    Args:
        start: a time, or a date that begins in the zone; likewise `end`.
    """
    for name, value in (("from", start), ("to", end)):
        if value is not None and not _FIRST_YEAR <= value.year <= _LAST_YEAR:
            message = f"{name} must be in the years {_FIRST_YEAR} to {_LAST_YEAR}."
            raise InvalidInput.field(name, message, code="RANGE", location=location)
    last = moment_of(end, zone) if end else None
    first = moment_of(start, zone) if start else (last or now) - _USUAL
    if last is None:
        last = now
    if first >= last:
        raise InvalidInput.field(
            "to", "to must be later than from.", code="RANGE", location=location
        )
    if last - first > _LONGEST + timedelta(hours=2):
        message = f"to must be at most {_LONGEST.days} days after from."
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


def completed_evaluations(selection: Selection) -> list[ColumnElement[bool]]:
    """Return the conditions for the completed, current evaluations of a selection."""
    moment = MOMENTS[selection.by_day]
    return [
        moment >= selection.period.start,
        moment < selection.period.end,
        Evaluation.is_current.is_not(False),
        Evaluation.status == Status.COMPLETED,
        *(getattr(Evaluation, name).in_(allowed) for name, allowed in selection.filters().items()),
    ]


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
        # Add hours in UTC, because local clocks may change: by half an hour, too, so that the start
        # of the hour after one hour may be `begin` again.
        start = begin.astimezone(UTC)
        following_hours = (
            _floor((start + timedelta(hours=count)).astimezone(begin.tzinfo), granularity)
            for count in (1, 2)
        )
        return next(hour for hour in following_hours if hour.astimezone(UTC) > start)
    if granularity is Granularity.MONTH:
        following = (begin.date().replace(day=28) + timedelta(days=4)).replace(day=1)
    else:
        following = begin.date() + timedelta(days=7 if granularity is Granularity.WEEK else 1)
    return datetime.combine(following, time(), begin.tzinfo)

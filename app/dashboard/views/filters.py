"""Filters in the address of a page: carried from page to page, changed by links, shown as chips."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from app.core.clock import iso_utc
from app.dashboard.views.formatting import day_of

DAYS = (7, 30, 90, 365)
USUAL_DAYS = 30
ALL_TIME = "all"
PERIOD_NAMES = ("days", "from", "to")
# Names that all pages with figures or lists understand; links of the frame keep them.
CARRIED = (
    *PERIOD_NAMES,
    "engagementId",
    "campaignId",
    "callCenterId",
    "executiveId",
    "channel",
    "scorecardId",
)


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is on, and the address without it."""

    name: str
    text: str
    remove_url: str


@dataclass(frozen=True, slots=True)
class ChosenPeriod:
    """The period of a page; None where it is open, `days` where it ends now."""

    start: datetime | None
    end: datetime | None
    days: int | None = None

    def label(self, zone: ZoneInfo) -> str:
        """Write the period in words."""
        if self.days is not None:
            return f"{self.days} days to now"
        if self.start is None and self.end is None:
            return "all time"
        ends = [_day(moment, zone) for moment in (self.start, self.end)]
        return f"{ends[0] or 'the beginning'} to {ends[1] or 'now'}"


def url(path: str, query: Mapping[str, str], **changes: str | None) -> str:
    """Return the address of a page with a changed query; None and empty texts are left out."""
    values = {name: text for name, text in {**query, **changes}.items() if text}
    return f"{path}?{urlencode(values)}" if values else path


def carried(query: Mapping[str, str]) -> dict[str, str]:
    """Return the part of a query that other pages understand."""
    return {name: query[name] for name in CARRIED if name in query}


def without(query: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return a query without some names."""
    return {name: text for name, text in query.items() if name not in names}


def chosen_period(query: Mapping[str, str], zone: ZoneInfo, now: datetime) -> ChosenPeriod:
    """Return the period of a query: its `from` and `to`, or `days` up to now, 30 unless given.

    Dates begin in the zone. What is no date, moment or number of days is left to the schema, which
    refuses it: the usual period is returned.
    """
    if "from" in query or "to" in query:
        return ChosenPeriod(_moment(query.get("from"), zone), _moment(query.get("to"), zone))
    if query.get("days") == ALL_TIME:
        return ChosenPeriod(None, None)
    days = _days(query.get("days"))
    # The next whole second: links name moments to the millisecond, and what has just come in counts.
    end = now.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=1)
    return ChosenPeriod(end - timedelta(days=days), end, days)


def with_moments(query: Mapping[str, str], period: ChosenPeriod) -> dict[str, str]:
    """Replace the period of a query by the moments of `period`, as the API reads them."""
    moments = {
        name: iso_utc(moment)
        for name, moment in (("from", period.start), ("to", period.end))
        if moment is not None
    }
    return {**without(query, ("days",)), **moments}


def chips(
    path: str, query: Mapping[str, str], texts: Mapping[str, str], *, hidden: tuple[str, ...] = ()
) -> list[Chip]:
    """Return a chip for each filter of a query; `texts` has the words for what it filters by."""
    return [
        Chip(name, texts.get(name, text), url(path, query, **{name: None, "page": None}))
        for name, text in query.items()
        if name not in hidden
    ]


def _days(text: str | None) -> int:
    return int(text) if text in {str(days) for days in DAYS} else USUAL_DAYS


def _moment(text: str | None, zone: ZoneInfo) -> datetime | None:
    if text is None:
        return None
    try:
        if len(text) == len("2026-11-22"):
            return datetime.combine(date.fromisoformat(text), time(), zone).astimezone(UTC)
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _day(moment: datetime | None, zone: ZoneInfo) -> str:
    if moment is None:
        return ""
    local = moment.astimezone(zone)
    return f"{day_of(local)} {local.year}"

"""Filters of pages: carried in addresses, changed by links, shown as chips, and the fields of the list's form."""

import dataclasses
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from app.core.clock import iso_utc
from app.core.errors import InvalidInput
from app.dashboard.views.formatting import day_of
from app.dashboard.words import WORDS

DAYS = (7, 30, 90, 365)
_USUAL_DAYS = "30"
_ANY_DAYS = re.compile(r"[1-9][0-9]{0,3}")
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
    "byDay",
)
# What is not a filter, or is shown elsewhere on the page.
NO_CHIP = (*PERIOD_NAMES, "page", "pageSize", "sort")
SORTS: Mapping[str, str] = {
    "-conversationAt": "Newest first",
    "conversationAt": "Oldest first",
    "-completedAt": "Latest judged first",
    "completedAt": "Earliest judged first",
    "-createdAt": "Latest received first",
    "createdAt": "Earliest received first",
    "-startedAt": "Latest begun first",
    "startedAt": "Earliest begun first",
    "score": "Lowest score first",
    "-score": "Highest score first",
    "confidence": "Least sure first",
    "-confidence": "Most sure first",
    "-durationSeconds": "Longest first",
    "durationSeconds": "Shortest first",
}
_YES_NO = {"true": "yes", "false": "no"}


class Control(StrEnum):
    CHOICES = "choices"
    SELECT = "select"
    PICKER = "picker"
    NUMBER = "number"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class FilterField:
    """A filter by its name in the API; a picker's options are read from the database."""

    name: str
    label: str
    control: Control
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def chip_text(self, text: str, names: Mapping[str, str]) -> str:
        """Write a value of the filter in words; `names` has the names of ids."""
        if self.control is Control.PICKER:
            return f"{self.label}: {names.get(text, text)}"
        values = text.split(",") if self.control is Control.CHOICES else [text]
        return f"{self.label}: {', '.join(self.options.get(value, value) for value in values)}"


@dataclass(frozen=True, slots=True)
class Chip:
    """A filter that is on, and the address without it."""

    name: str
    text: str
    remove_url: str


@dataclass(frozen=True, slots=True)
class SortHead:
    """The head of a column: the address that sorts by it, and the direction if it does so now."""

    url: str
    direction: str


@dataclass(frozen=True, slots=True)
class ChosenPeriod:
    """The period of a page; None where it is open, `days` where it ends now."""

    start: datetime | None
    end: datetime | None
    days: int | None = None

    def label(self, zone: ZoneInfo) -> str:
        if self.start is None and self.end is None:
            return "all time"
        ends = [_day(moment, zone) for moment in (self.start, self.end)]
        return f"{ends[0] or 'the beginning'} to {ends[1] or 'now'}"


def _choices(name: str, label: str) -> FilterField:
    return FilterField(name, label, Control.CHOICES, WORDS[name])


FIELDS: tuple[FilterField, ...] = (
    FilterField("q", "Words", Control.TEXT),
    FilterField("said", "What was said", Control.TEXT),
    FilterField("executiveId", "Agent", Control.PICKER),
    FilterField("campaignId", "Campaign", Control.PICKER),
    FilterField("callCenterId", "Call centre", Control.PICKER),
    FilterField("engagementId", "Engagement", Control.PICKER),
    FilterField("scorecardId", "Scorecard", Control.PICKER),
    FilterField("scorecardVersion", "Version of the scorecard", Control.NUMBER),
    FilterField("minScore", "Score from", Control.NUMBER),
    FilterField("maxScore", "Score up to", Control.NUMBER),
    FilterField("maxConfidence", "Confidence up to (0 to 1)", Control.NUMBER),
    FilterField("passed", "Passed", Control.SELECT, _YES_NO),
    FilterField("autoFailed", "Auto-failed", Control.SELECT, _YES_NO),
    FilterField("hasVerdict", "With a verdict", Control.SELECT, _YES_NO),
    FilterField("agentUnnamed", "The agent's voice is not known", Control.SELECT, _YES_NO),
    _choices("channel", "Channel"),
    _choices("status", "Status"),
    _choices("reviewStatus", "Review"),
    FilterField("reviewedBy", "Reviewed by", Control.TEXT),
    _choices("resolution", "Resolution"),
    _choices("sentimentTrend", "Sentiment"),
    _choices("sourceType", "Source"),
    FilterField("topic", "Topic", Control.TEXT),
    FilterField("language", "Language", Control.TEXT),
    FilterField("ids", "Ids, separated by commas", Control.TEXT),
    FilterField("sourceId", "Id of the source", Control.TEXT),
    FilterField("byDay", "Days", Control.SELECT, WORDS["byDay"]),
    FilterField(
        "current",
        "Revisions",
        Control.SELECT,
        {"true": "current ones only", "false": "all, also replaced ones"},
    ),
)


def sort_heads(path: str, query: Mapping[str, str], *names: str, usual: str) -> dict[str, SortHead]:
    """Return the heads of sorting columns; a second use turns the direction round.

    Args:
        names: the order that a first use gives, such as `-durationSeconds`.
        usual: the order of the list without one in the query.
    """
    now = query.get("sort", usual)
    turned = now[1:] if now.startswith("-") else f"-{now}"
    heads = {}
    for name in names:
        plain, is_here = name.lstrip("-"), name.lstrip("-") == now.lstrip("-")
        direction = "descending" if now.startswith("-") else "ascending"
        address = url(path, query, sort=turned if is_here else name, page=None)
        heads[plain] = SortHead(address, direction if is_here else "")
    return heads


def label_of(name: str) -> str:
    labels = {field.name: field.label for field in FIELDS}
    words = re.sub(r"([A-Z])", r" \1", re.sub(r"[\[\]._]+", " ", name)).strip().lower()
    return labels.get(name, words.replace("executive", "agent").capitalize())


def url(path: str, query: Mapping[str, str], /, **changes: str | None) -> str:
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

    Dates begin in the zone. What is no date or moment is left to the schema, which refuses it.

    Raises:
        InvalidInput: `days` is no number of days.
    """
    if "from" in query or "to" in query:
        return ChosenPeriod(_moment(query.get("from"), zone), _moment(query.get("to"), zone))
    if query.get("days") == ALL_TIME:
        return ChosenPeriod(None, None)
    text = query.get("days") or _USUAL_DAYS
    if not _ANY_DAYS.fullmatch(text):
        message = "This must be a number of days from 1 to 9999, or all."
        raise InvalidInput.field("days", message, location="query")
    days = int(text)
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


def chip_texts(query: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {
        field.name: field.chip_text(query[field.name], names)
        for field in FIELDS
        if field.name in query
    }


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

"""Queries of pages: the filters of a request with its period resolved, and the list that they select."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from flask import request
from marshmallow import Schema
from sqlalchemy.orm import Session

from app.analytics.engine.selection import Selection, selection_of
from app.core.clock import utc_now
from app.core.database.paging import Page
from app.dashboard import forms
from app.dashboard.navigation import request_texts
from app.dashboard.pickers import names_of
from app.dashboard.views import filters
from app.dashboard.views.filters import ChosenPeriod
from app.evaluations import listing
from app.evaluations.schemas.evaluations import EvaluationQuery
from app.people.gate import current_person
from app.web.current import current_runtime

LIST_PATH = "/evaluations"
LIST_SCHEMA = EvaluationQuery()
_LONGEST_DAYS = str(max(filters.DAYS))


@dataclass(frozen=True, slots=True)
class PageFilters:
    """The query of a page as texts, and the period that it means in the person's zone."""

    texts: Mapping[str, str]
    period: ChosenPeriod
    zone: ZoneInfo
    now: datetime

    def load(self, schema: Schema, **more: str) -> dict[str, Any]:
        """Load the query by a schema of the API.

        Raises:
            InvalidInput: its details name each field.
        """
        return forms.load(schema, {**self.moments(), **more})

    def selection(self, loaded: Mapping[str, Any]) -> Selection:
        """Return what a loaded query asks of analytics; raises `InvalidInput`."""
        return selection_of({**loaded, "timezone": self.zone}, now=self.now)

    @property
    def period_label(self) -> str:
        return self.period.label(self.zone)

    @property
    def offered_days(self) -> list[int]:
        """The periods to choose from, with that of the address."""
        return sorted({*filters.DAYS, *filter(None, [self.period.days])})

    @property
    def fixed_url(self) -> str:
        """The address of this page that stays with this period; empty where it is fixed already."""
        return "" if self.period.days is None else filters.url(request.path, self.moments())

    def moments(self) -> dict[str, str]:
        """Return the query with the moments of its period in place of days."""
        return filters.with_moments(self.texts, self.period)

    def list_query(self, **more: str) -> dict[str, str]:
        return {**filters.carried(self.moments()), **more}

    def all_time_query(self, **more: str) -> dict[str, str]:
        """Return a query of the list with these filters and no period."""
        undated = filters.without(filters.carried(self.texts), filters.PERIOD_NAMES)
        return {**undated, "days": filters.ALL_TIME, **more}

    def list_url(self, **more: str) -> str:
        """Return the address of the list with these filters and this period."""
        return filters.url(LIST_PATH, self.list_query(**more))

    def executive_url(self, executive_id: str) -> str:
        """Return the address of the page of an executive with the other filters and this period."""
        others = filters.without(filters.carried(self.texts), ("executiveId",))
        return filters.url(f"/executives/{executive_id}", others)


@dataclass(frozen=True, slots=True)
class LinkedCount:
    """A count with the link to what it counts, and the age of the oldest where that matters."""

    count: int
    href: str
    oldest_at: datetime | None = None


def filters_of_request(*, for_figures: bool = False) -> PageFilters:
    """Read the query of this request (see `request_texts`).

    Args:
        for_figures: figures have no open period: all time is a year.
    """
    texts = request_texts()
    if for_figures and texts.get("days") == filters.ALL_TIME:
        texts["days"] = _LONGEST_DAYS
    return filters_of(texts)


def page_url(number: int) -> str:
    return filters.url(request.path, request_texts(), page=str(number))


def carried_chips(*without: str) -> list[filters.Chip]:
    """Return a chip for each filter that this request has carried from another page, without some."""
    texts = request_texts()
    shown = filters.without(filters.carried(texts), (*filters.PERIOD_NAMES, *without))
    if not shown:
        return []
    with current_runtime().db.reading() as session:
        names = names_of(session, shown)
    return filters.chips(
        request.path,
        texts,
        filters.chip_texts(shown, names),
        hidden=tuple(name for name in texts if name not in shown),
    )


def filters_of(texts: Mapping[str, str]) -> PageFilters:
    """Read a query as the signed-in person means it."""
    zone, now = ZoneInfo(current_person().timezone), utc_now()
    return PageFilters(texts, filters.chosen_period(texts, zone, now), zone, now)


def listed(session: Session, query: Mapping[str, str], **more: Any) -> Page[Any]:
    """Return the page of a query of the list, whose period is given as moments or is all time.

    Args:
        more: filters of `listing.list_page` that the API does not have.

    Raises:
        InvalidInput: a filter has a value that the list refuses.
    """
    loaded = forms.load(LIST_SCHEMA, query)
    return listing.list_page(session, loaded.pop("page_request"), **loaded, **more)


def count_of(session: Session, query: Mapping[str, str], **more: Any) -> int:
    """Count the rows of a query of the list; see `listed`."""
    loaded = forms.load(LIST_SCHEMA, query)
    nothing = replace(loaded.pop("page_request"), page_size=0)
    return listing.list_page(session, nothing, **loaded, **more).total_count


def linked_count(session: Session, query: Mapping[str, str]) -> LinkedCount:
    """Count the rows of a query of the list and find the oldest; see `listed`."""
    oldest = {**query, "page": "1", "pageSize": "1", "sort": "createdAt"}
    page = listed(session, oldest)
    oldest_at = page.items[0]["created_at"] if page.items else None
    return LinkedCount(page.total_count, filters.url(LIST_PATH, query), oldest_at)

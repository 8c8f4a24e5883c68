"""Queries of pages: the filters of a request with its period resolved, and the list that they select."""

from collections.abc import Mapping
from dataclasses import dataclass
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
from app.dashboard.views import filters
from app.dashboard.views.filters import ChosenPeriod
from app.evaluations import listing
from app.evaluations.schemas.evaluations import EvaluationQuery
from app.people.gate import current_person

LIST_PATH = "/evaluations"
LIST_SCHEMA = EvaluationQuery()
# The frame reads this parameter; no schema knows it.
_NOTICE = "notice"
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
        """The period in words."""
        return self.period.label(self.zone)

    def moments(self) -> dict[str, str]:
        """Return the query with the moments of its period in place of days."""
        return filters.with_moments(self.texts, self.period)

    def list_query(self, **more: str) -> dict[str, str]:
        """Return a query of the list of evaluations with these filters and this period."""
        return {**filters.carried(self.moments()), **more}

    def all_time_query(self, **more: str) -> dict[str, str]:
        """Return a query of the list with these filters and no period."""
        undated = filters.without(filters.carried(self.texts), filters.PERIOD_NAMES)
        return {**undated, "days": filters.ALL_TIME, **more}

    def list_url(self, **more: str) -> str:
        """Return the address of the list with these filters and this period."""
        return filters.url(LIST_PATH, self.list_query(**more))


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
    texts = _request_texts()
    if for_figures and texts.get("days") == filters.ALL_TIME:
        texts["days"] = _LONGEST_DAYS
    return filters_of(texts)


def _request_texts() -> dict[str, str]:
    """Return the query of this request without its notice; repeated values become a comma list."""
    joined = {name: ",".join(filter(None, values)) for name, values in request.args.lists()}
    return {name: text for name, text in joined.items() if text and name != _NOTICE}


def page_url(number: int) -> str:
    """Return the address of another page of the list that this request shows."""
    return filters.url(request.path, _request_texts(), page=str(number))


def filters_of(texts: Mapping[str, str]) -> PageFilters:
    """Read a query as the signed-in person means it."""
    zone, now = ZoneInfo(current_person().timezone), utc_now()
    return PageFilters(texts, filters.chosen_period(texts, zone, now), zone, now)


def listed(session: Session, query: Mapping[str, str]) -> Page[Any]:
    """Return the page of a query of the list, whose period is given as moments or is all time.

    Raises:
        InvalidInput: a filter has a value that the list refuses.
    """
    loaded = forms.load(LIST_SCHEMA, query)
    return listing.list_page(session, loaded.pop("page_request"), **loaded)


def linked_count(session: Session, query: Mapping[str, str]) -> LinkedCount:
    """Count the rows of a query of the list; see `listed`."""
    page = listed(session, {**query, "page": "1", "pageSize": "1", "sort": "createdAt"})
    oldest_at = page.items[0]["created_at"] if page.items else None
    return LinkedCount(page.total_count, filters.url(LIST_PATH, query), oldest_at)

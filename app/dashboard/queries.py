"""Queries of pages: the filters of a request, with its period resolved for the API's schemas."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from flask import request
from marshmallow import Schema

from app.analytics.engine.selection import Selection, selection_of
from app.core.clock import utc_now
from app.dashboard import forms
from app.dashboard.views import filters
from app.dashboard.views.filters import ChosenPeriod
from app.people.gate.admission import current_person

# Parameters of the frame, which no schema knows.
_OF_THE_FRAME = frozenset({"notice"})
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

    def moments(self) -> dict[str, str]:
        """Return the query with the moments of its period in place of days."""
        return filters.with_moments(self.texts, self.period)

    def list_query(self, **more: str) -> dict[str, str]:
        """Return a query of the list of evaluations with these filters and this period."""
        return {**filters.carried(self.moments()), **more}

    def all_time_query(self, **more: str) -> dict[str, str]:
        """Return a query of the list with these filters and no period."""
        kept = filters.carried(self.texts)
        without = {name: kept[name] for name in kept if name not in filters.PERIOD_NAMES}
        return {**without, "days": filters.ALL_TIME, **more}

    def list_url(self, **more: str) -> str:
        """Return the address of the list with these filters and this period."""
        return filters.url("/evaluations", self.list_query(**more))


def filters_of_request(*, for_figures: bool = False) -> PageFilters:
    """Read the query of this request; values given more than once become a comma list.

    Args:
        for_figures: figures have no open period: all time is a year.
    """
    given = {name: ",".join(filter(None, values)) for name, values in request.args.lists()}
    texts = {name: text for name, text in given.items() if text and name not in _OF_THE_FRAME}
    if for_figures and texts.get("days") == filters.ALL_TIME:
        texts["days"] = _LONGEST_DAYS
    return filters_of(texts)


def filters_of(texts: Mapping[str, str]) -> PageFilters:
    """Read a query as the signed-in person means it."""
    zone, now = ZoneInfo(current_person().timezone), utc_now()
    return PageFilters(texts, filters.chosen_period(texts, zone, now), zone, now)

"""Selections: the period and the filters that choose the facts of a report."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement

from app.analytics.engine.periods import Period, period_of
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation

_IDS = ("engagement_id", "campaign_id", "call_center_id", "executive_id", "scorecard_id")


@dataclass(frozen=True, slots=True)
class Selection:
    """A period and filters, by the names of the API in snake_case."""

    period: Period
    engagement_id: str | None = None
    campaign_id: str | None = None
    call_center_id: str | None = None
    executive_id: str | None = None
    scorecard_id: str | None = None
    channel: tuple[str, ...] = field(default=())

    def before(self) -> "Selection":
        """Return the same filters with the period before."""
        return replace(self, period=self.period.before())

    def ids(self) -> dict[str, str]:
        """Return the filters by id, by their columns."""
        named = {name: getattr(self, name) for name in _IDS}
        return {name: key for name, key in named.items() if key is not None}

    def filters(self) -> dict[str, tuple[str, ...]]:
        """Return the values that are allowed in each filtered column."""
        allowed: dict[str, tuple[str, ...]] = {name: (key,) for name, key in self.ids().items()}
        if self.channel:
            allowed["channel"] = self.channel
        return allowed


def completed_evaluations(selection: Selection) -> list[ColumnElement[bool]]:
    """Return the conditions for the completed, current evaluations of a selection."""
    return [
        Evaluation.created_at >= selection.period.start,
        Evaluation.created_at < selection.period.end,
        Evaluation.is_current.is_not(False),
        Evaluation.status == Status.COMPLETED,
        *(getattr(Evaluation, name).in_(allowed) for name, allowed in selection.filters().items()),
    ]


def selection_of(query: Mapping[str, Any], *, now: datetime) -> Selection:
    """Return the selection of a loaded query of analytics."""
    period = period_of(query.get("start"), query.get("end"), query["timezone"], now=now)
    ids = {name: query.get(name) for name in _IDS}
    return Selection(period, **ids, channel=tuple(query.get("channel", ())))

"""Rows of the queue of reviews, and the place of an evaluation among them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any

from app.core.clock import iso_utc
from app.dashboard.counts import listed
from app.dashboard.queries import PageFilters
from app.dashboard.views import review_queue
from app.dashboard.views.review_queue import MINE, SAMPLE, QueueTab, tab_of
from app.evaluations.enums import ReviewStatus
from app.people.gate import current_person

# Rows that a person can go through without reviewing one.
_MOST = 100


@dataclass(frozen=True, slots=True)
class Queue:
    """The first rows of a tab in their order; `count` is the number of all."""

    rows: list[Mapping[str, Any]]
    count: int


def read(session: Any, tab: QueueTab, page_filters: PageFilters) -> Queue:
    """Read a tab of the queue."""
    page = listed(session, {**query_of(tab, page_filters), "pageSize": str(_MOST)})
    return Queue(review_queue.in_order(tab, page.items), page.total_count)


def read_around(
    session: Any, page_filters: PageFilters, evaluation: Mapping[str, Any]
) -> tuple[Queue, int]:
    """Read a tab with the place of an evaluation in it, counted from 0.

    What the person has set in review keeps its place until it is reviewed, and so does the
    evaluation itself.
    """
    tab = tab_of(page_filters.texts.get("tab", ""))
    query = {**query_of(tab, page_filters), "pageSize": str(_MOST)}
    page = listed(session, query)
    own = [evaluation]
    if query.get("reviewStatus") == ReviewStatus.NONE:
        claimed = {"reviewStatus": ReviewStatus.IN_REVIEW, "reviewedBy": current_person().user_id}
        own += listed(session, {**query, **claimed}).items
    rows = review_queue.with_rows(tab, page.items, own)
    queue = Queue(review_queue.in_order(tab, rows), page.total_count + len(rows) - len(page.items))
    places = [row["id"] for row in queue.rows]
    return queue, places.index(evaluation["id"])


def query_of(tab: QueueTab, page_filters: PageFilters) -> dict[str, str]:
    """Return the query of the list of evaluations that a tab shows."""
    if tab.key == MINE:
        return page_filters.all_time_query(**tab.query, reviewedBy=current_person().user_id)
    if not tab.is_dated:
        return page_filters.all_time_query(**tab.query)
    query = page_filters.list_query(**tab.query)
    if tab.key == SAMPLE and "to" not in page_filters.texts:
        # Only whole days, so that the sample is the same all day.
        today = page_filters.now.astimezone(page_filters.zone).date()
        query["to"] = iso_utc(datetime.combine(today, time(), page_filters.zone))
    return query

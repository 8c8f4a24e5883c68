"""Counts with links: what a query of the list of evaluations counts, and the list itself."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from app.core.database.paging import Page
from app.dashboard import forms
from app.dashboard.views.figures.alerts import LinkedCount
from app.dashboard.views.filters import url
from app.evaluations import listing
from app.evaluations.schemas.evaluations import EvaluationQuery

LIST_PATH = "/evaluations"
LIST_SCHEMA = EvaluationQuery()


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
    return LinkedCount(page.total_count, url(LIST_PATH, query), oldest_at)

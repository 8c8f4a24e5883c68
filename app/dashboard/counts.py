"""Counts with links: what a query of the list of evaluations counts, and the list itself."""

from collections.abc import Mapping

from sqlalchemy.orm import Session

from app.dashboard import forms
from app.dashboard.views.alerts import LinkedCount
from app.dashboard.views.filters import url
from app.evaluations import listing
from app.evaluations.schemas.evaluations import EvaluationQuery

LIST_PATH = "/evaluations"
LIST_SCHEMA = EvaluationQuery()


def linked_count(session: Session, query: Mapping[str, str]) -> LinkedCount:
    """Count the rows of a query of the list, whose period is given as moments or is all time.

    Raises:
        InvalidInput: a filter has a value that the list refuses.
    """
    loaded = forms.load(LIST_SCHEMA, {**query, "page": "1", "pageSize": "1", "sort": "createdAt"})
    page = listing.list_page(session, loaded.pop("page_request"), **loaded)
    oldest_at = page.items[0]["created_at"] if page.items else None
    return LinkedCount(page.total_count, url(LIST_PATH, query), oldest_at)

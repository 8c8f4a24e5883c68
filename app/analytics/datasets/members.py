"""Members of an export: the evaluations that match its filters."""

from typing import Any

from sqlalchemy import Select

from app.analytics.wishes import Wish
from app.evaluations import listing
from app.evaluations.models import Evaluation

_OF = Evaluation.__table__.c


def only(rows: Select[Any], wish: Wish) -> Select[Any]:
    """Keep what belongs to the evaluations that are meant, the oldest first."""
    filters: dict[str, Any] = dict(wish.filters)
    if wish.start is not None:
        filters["start"] = wish.start
    if wish.end is not None:
        filters["end"] = wish.end
    if filters.pop("current", True):
        # In a form that no index is chosen by: nearly every row is current, and the order is by id.
        rows = rows.where(_OF.is_current.is_not(False))
    return rows.where(*listing.conditions(current=False, **filters)).order_by(_OF.id)

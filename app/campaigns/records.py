"""The record of a campaign as the API shows it, and the list of them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.campaigns.models import Campaign
from app.campaigns.vocabulary import Counted
from app.core.database.paging import Page, PageRequest, select_page
from app.core.errors import NotFound

COUNTERS: Mapping[Counted, InstrumentedAttribute[int]] = {
    Counted.CONVERSATIONS: Campaign.conversation_count,
    Counted.VOICE_CALLS: Campaign.voice_call_count,
    Counted.AUDIO_FILES: Campaign.audio_file_count,
    Counted.EVALUATIONS: Campaign.evaluation_count,
}
_HIDDEN = ("search_text", "score_sum", "score_count")
_COLUMNS = select(
    *(
        getattr(Campaign, column.key)
        for column in Campaign.__table__.columns
        if column.key not in _HIDDEN
    )
)
_SORTABLE: dict[str, InstrumentedAttribute[Any]] = {
    "name": Campaign.name,
    "created_at": Campaign.created_at,
    "starts_at": Campaign.starts_at,
    "mean_score": Campaign.mean_score,
}


def _in(column: InstrumentedAttribute[str]) -> Callable[[Sequence[str]], ColumnElement[bool]]:
    """Compare with a single value by `=`, after which the index still gives the order."""
    return lambda values: column == values[0] if len(values) == 1 else column.in_(values)


_FILTERS: Mapping[str, Callable[[Any], ColumnElement[bool]]] = {
    "status": _in(Campaign.status),
    "type": _in(Campaign.type),
    "engagement_id": lambda engagement_id: Campaign.engagement_id == engagement_id,
    "q": lambda words: Campaign.search_text.contains(words.casefold(), autoescape=True),
    "start": lambda moment: Campaign.created_at >= moment,
    "end": lambda moment: Campaign.created_at < moment,
}


def get(session: Session, campaign_id: str) -> dict[str, Any]:
    """Show a campaign; `NotFound` where there is none."""
    row = session.execute(_COLUMNS.where(Campaign.id == campaign_id)).mappings().first()
    if row is None:
        raise NotFound("There is no such campaign.")
    return _record(row)


def list_page(
    session: Session, request: PageRequest, **filters: str | datetime | Sequence[str]
) -> Page[Any]:
    """List the records of campaigns, newest first unless asked otherwise.

    Args:
        filters: the names of contract B10 in snake_case, lists for `status` and `type`; `start`
            and `end` bound `created_at`.
    """
    wanted = _COLUMNS.where(*(_FILTERS[name](value) for name, value in filters.items()))
    page = select_page(session, wanted, request, sortable=_SORTABLE, tail=Campaign.id)
    records = [_record(row) for row in page.items]
    return Page(records, page.page, page.page_size, page.total_count)


def search_text(name: str, external_id: str | None) -> str:
    """Gather what `q` looks in, each part on its own line, so that no match spans two."""
    return f"{name}\n{external_id or ''}".casefold()


def _record(row: RowMapping) -> dict[str, Any]:
    mean = row["mean_score"]
    return {
        **row,
        "counts": {str(kind): row[column.key] for kind, column in COUNTERS.items()},
        "mean_score": None if mean is None else round(mean, 2),
    }

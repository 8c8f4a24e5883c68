"""Queries of campaigns: one, or a filtered page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.campaigns.enums import CampaignCount
from app.campaigns.models import Campaign
from app.core.database.filters import (
    Filters,
    at_least,
    before,
    conditions,
    contains,
    equal,
    one_of,
)
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import columns_without, find_mapping
from app.core.database.session import Reader

COUNTERS: Mapping[CampaignCount, InstrumentedAttribute[int]] = {
    CampaignCount.CONVERSATIONS: Campaign.conversation_count,
    CampaignCount.VOICE_CALLS: Campaign.voice_call_count,
    CampaignCount.AUDIO_FILES: Campaign.audio_file_count,
    CampaignCount.EVALUATIONS: Campaign.evaluation_count,
}
_HIDDEN = ("search_text", "score_sum", "score_count")
_COLUMNS = select(*columns_without(Campaign, _HIDDEN))
_SORTABLE: dict[str, InstrumentedAttribute[Any]] = {
    "name": Campaign.name,
    "created_at": Campaign.created_at,
    "starts_at": Campaign.starts_at,
    "mean_score": Campaign.mean_score,
}
_FILTERS: Filters = {
    "status": one_of(Campaign.status),
    "type": one_of(Campaign.type),
    "engagement_id": equal(Campaign.engagement_id),
    "q": contains(Campaign.search_text),
    "start": at_least(Campaign.created_at),
    "end": before(Campaign.created_at),
}


def get(session: Reader, campaign_id: str) -> dict[str, Any]:
    """Return a campaign for the API; raises `NotFound`."""
    row = find_mapping(session, _COLUMNS.where(Campaign.id == campaign_id), "campaign")
    return _record(row)


def list_page(
    session: Session, request: PageRequest, **filters: str | datetime | Sequence[str]
) -> Page[Any]:
    """Return a page of campaigns, newest first by default.

    Args:
        filters: values for `_FILTERS`; `start` and `end` bound `created_at`.
    """
    statement = _COLUMNS.where(*conditions(_FILTERS, filters))
    page = select_page(session, statement, request, sortable=_SORTABLE, tail=Campaign.id)
    return replace(page, items=[_record(row) for row in page.items])


def search_text(name: str, external_id: str | None) -> str:
    """Return the text that `q` searches; each part is on its own line, so that no match spans two."""
    return f"{name}\n{external_id or ''}".casefold()


def _record(row: RowMapping) -> dict[str, Any]:
    mean = row["mean_score"]
    return {
        **row,
        "counts": {str(count): row[column.key] for count, column in COUNTERS.items()},
        "mean_score": None if mean is None else round(mean, 2),
    }

"""Campaigns: upserts, changes, lists, lookups, counts and mean scores."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Select,
    String,
    cast,
    distinct,
    func,
    or_,
    select,
    update,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.campaigns.enums import CampaignCount
from app.campaigns.models import Campaign, MergedCampaign
from app.core.database import upserts
from app.core.database.counters import add_at_commit
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
from app.core.database.rows import NamedTable, columns_without, find_row
from app.core.database.session import Reader
from app.core.database.upserts import Upserted
from app.core.errors import InvalidInput, NotFound
from app.directory.service import CALL_CENTERS
from app.engagements.service import ENGAGEMENTS
from app.scorecards import service as scorecards

_MERGED = MergedCampaign


class _Campaigns(NamedTable[Campaign]):
    """Lookups of campaigns; the name of a merged one that no other has is that of the one it is part of."""

    def find_by_name(self, session: Session, name: str) -> Campaign | None:
        found = super().find_by_name(session, name)
        if found is not None:
            return found
        merged_into = select(_MERGED.into_id).where(_MERGED.name == name).distinct().limit(2)
        rows = session.scalars(select(Campaign).where(Campaign.id.in_(merged_into))).all()
        if len(rows) > 1:
            raise self.ambiguous()
        return rows[0] if rows else None

    def ids_of_names(self, session: Session, names: Collection[str]) -> dict[str, str]:
        found = super().ids_of_names(session, names)
        shared = select(Campaign.name).where(Campaign.name.in_(set(names) - found.keys()))
        return found | self._of_merged(
            session, set(names) - found.keys() - set(session.scalars(shared))
        )

    def _of_merged(self, session: Session, names: Collection[str]) -> dict[str, str]:
        rows = session.execute(
            select(_MERGED.name, func.min(_MERGED.into_id))
            .where(_MERGED.name.in_(names))
            .group_by(_MERGED.name)
            .having(func.count(distinct(_MERGED.into_id)) == 1)
        )
        return dict(rows.all())


CAMPAIGNS = _Campaigns(
    Campaign, "campaign", "campaign", "give its id, or merge them on the page of the campaign"
)
_COUNTERS: Mapping[CampaignCount, InstrumentedAttribute[int]] = {
    CampaignCount.CONVERSATIONS: Campaign.conversation_count,
    CampaignCount.VOICE_CALLS: Campaign.voice_call_count,
    CampaignCount.AUDIO_FILES: Campaign.audio_file_count,
    CampaignCount.EVALUATIONS: Campaign.evaluation_count,
}
_MOST_NAMESAKES = 20
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


def upsert(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> Upserted[dict[str, Any]]:
    """Create or update a campaign.

    A campaign that has these values already is not changed, `updated_at` included. Counts and
    scores are kept. The external id of a merged campaign is that of the one it is part of, which
    keeps its values.

    Args:
        values: `name` and other columns.

    Raises:
        InvalidInput: a reference does not exist.
    """
    # Looked for first: where it is being merged, the lock waits for that.
    if upserts.find(session, Campaign, external_id) is None:
        merged = select(_MERGED.into_id).where(_MERGED.external_id == external_id)
        if into_id := session.scalar(merged):
            return Upserted(get(session, into_id), created=False, changed=False)
    ENGAGEMENTS.require(session, values.get("engagement_id"))
    scorecards.require(session, values.get("scorecard_id"))
    _require_call_centers(session, values.get("call_center_ids", ()))
    columns = {**values, "search_text": _search_text(values["name"], external_id)}
    row, created = upserts.find_or_create(session, Campaign, "camp", external_id, columns)
    changed = created or upserts.update_row(session, row, columns)
    return Upserted(get(session, row.id), created, changed)


def get(session: Reader, campaign_id: str) -> dict[str, Any]:
    """Return a campaign for the API; raises `NotFound`, which says where a merged one is now."""
    row = session.execute(_COLUMNS.where(Campaign.id == campaign_id)).mappings().first()
    if row is None:
        raise NotFound(why_missing(session, campaign_id))
    return _record(row)


def why_missing(session: Reader, campaign_id: str) -> str:
    into = into_ids(session, [campaign_id]).get(campaign_id)
    return (
        f"This campaign was merged into {into}: use that." if into else "There is no such campaign."
    )


def into_ids(session: Reader, campaign_ids: Collection[str]) -> dict[str, str]:
    """Map the ids of merged campaigns among these to those of the campaigns that they are part of."""
    merged = select(_MERGED.id, _MERGED.into_id).where(_MERGED.id.in_(campaign_ids))
    return {row.id: row.into_id for row in session.execute(merged)}


def former_ids(session: Session, campaign_id: str) -> Sequence[str]:
    """Return the ids of the campaigns that were merged into this one."""
    return session.scalars(select(_MERGED.id).where(_MERGED.into_id == campaign_id)).all()


def merged_names(session: Session, campaign_ids: Collection[str]) -> dict[str, str]:
    """Map the ids of merged campaigns among these to the names of those that they are part of."""
    into = select(_MERGED.id, Campaign.name).join(Campaign, Campaign.id == _MERGED.into_id)
    return dict(session.execute(into.where(_MERGED.id.in_(campaign_ids))).all())


def list_page(
    session: Session, request: PageRequest, **filters: str | datetime | Sequence[str]
) -> Page[Any]:
    """Return a page of campaigns, newest first by default."""
    statement = _COLUMNS.where(*conditions(_FILTERS, filters))
    page = select_page(session, statement, request, sortable=_SORTABLE, tail=Campaign.id)
    return replace(page, items=[_record(row) for row in page.items])


def name_of(session: Session, campaign_id: str | None) -> str | None:
    if campaign_id is None:
        return None
    return session.scalar(select(Campaign.name).where(Campaign.id == _present_id(campaign_id)))


def change(session: Session, campaign_id: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Set the given fields of a campaign; of the scorecards, those of the given channels.

    Raises:
        NotFound: there is no such campaign.
        InvalidInput: a scorecard does not exist, or is for another channel.
    """
    row = find_row(session, Campaign, campaign_id, CAMPAIGNS.noun, for_update=True)
    values = dict(changes)
    if "name" in values:
        values["search_text"] = _search_text(values["name"], row.external_id)
    for channel, scorecard_id in values.get("scorecard_ids", {}).items():
        field = f"scorecardIds.{channel}"
        scorecards.require_for(session, channel, scorecard_id, field=field)
    for name in ("scorecard_ids", "targets"):
        if name in values:
            values[name] = {**(getattr(row, name) or {}), **values[name]}
    upserts.update_row(session, row, values)
    return get(session, campaign_id)


def namesakes(session: Session, campaign_id: str, name: str) -> dict[str, str | None]:
    """Return the external ids of other campaigns of the same name, by id."""
    others = select(Campaign.id, Campaign.external_id).where(
        Campaign.name == name, Campaign.id != campaign_id
    )
    return dict(session.execute(others.order_by(Campaign.id).limit(_MOST_NAMESAKES)).all())


def scorecard_of(session: Session, campaign_id: str, channel: str) -> str | None:
    """Return the id of the campaign's scorecard for a channel; None for the channel's default."""
    chosen = select(Campaign.scorecard_ids, Campaign.scorecard_id)
    row = session.execute(chosen.where(Campaign.id == _present_id(campaign_id))).one()
    scorecard_id: str | None = (row.scorecard_ids or {}).get(channel, row.scorecard_id)
    return scorecard_id


def names_with_scorecard(session: Session, scorecard_id: str, channel: str) -> dict[str, str]:
    """Return the names of the campaigns whose contacts a scorecard judges, by id."""
    named = or_(
        Campaign.scorecard_id == scorecard_id,
        cast(Campaign.scorecard_ids, String).contains(scorecard_id),
    )
    rows = session.execute(
        select(Campaign.id, Campaign.name).where(named).order_by(Campaign.name, Campaign.id)
    )
    return {
        row.id: row.name for row in rows if scorecard_of(session, row.id, channel) == scorecard_id
    }


def use_scorecard(
    session: Session, scorecard_id: str, channel: str, campaign_ids: Set[str]
) -> None:
    """Have a scorecard judge the contacts of these campaigns over its channel, and of no others.

    Raises:
        InvalidInput: a campaign does not exist.
    """
    CAMPAIGNS.require_all(session, campaign_ids)
    used = set(names_with_scorecard(session, scorecard_id, channel))
    for campaign_id in sorted(used ^ campaign_ids):
        chosen = scorecard_id if campaign_id in campaign_ids else None
        change(session, campaign_id, {"scorecard_ids": {channel: chosen}})


def count(session: Session, campaign_id: str, kind: CampaignCount, *, by: int = 1) -> None:
    add_at_commit(session, Campaign, campaign_id, **{_COUNTERS[kind].key: by})


def count_move(
    session: Session, before: str | None, after: str | None, kind: CampaignCount
) -> None:
    """Adjust the counts of two campaigns when a record moves from one to the other."""
    if before == after:
        return
    if before is not None:
        count(session, before, kind, by=-1)
    if after is not None:
        count(session, after, kind)


def set_count(
    session: Session, campaign_id: str, kind: CampaignCount, counted: Select[Any]
) -> None:
    """Set a count of a campaign to the number that this statement finds.

    Whoever changes a contact locks its campaign last: what is committed now is found, and what is not
    adds to this count.
    """
    session.execute(select(Campaign.id).where(Campaign.id == campaign_id).with_for_update())
    session.execute(
        update(Campaign)
        .where(Campaign.id == campaign_id)
        .values({_COUNTERS[kind]: session.scalar(counted)})
        .execution_options(synchronize_session=False)
    )


def note_score(session: Session, campaign_id: str, delta_sum: int, delta_count: int) -> None:
    """Adjust the mean score when the transaction commits."""
    add_at_commit(session, Campaign, campaign_id, score_sum=delta_sum, score_count=delta_count)


def _present_id(campaign_id: str) -> ColumnElement[str]:
    """Return the id of a campaign, which may have been merged since it was read."""
    into_id = select(_MERGED.into_id).where(_MERGED.id == campaign_id).scalar_subquery()
    return func.coalesce(into_id, campaign_id)


def _require_call_centers(session: Session, call_center_ids: Sequence[str]) -> None:
    known = CALL_CENTERS.names(session, call_center_ids) if call_center_ids else {}
    for index, call_center_id in enumerate(call_center_ids):
        if call_center_id not in known:
            raise InvalidInput.field(f"callCenterIds[{index}]", "There is no such call centre.")


def _search_text(name: str, external_id: str | None) -> str:
    """Return the text that `q` searches; each part is on its own line, so that no match spans two."""
    return f"{name}\n{external_id or ''}".casefold()


def _record(row: RowMapping) -> dict[str, Any]:
    mean = row["mean_score"]
    return {
        **row,
        "counts": {str(name): row[column.key] for name, column in _COUNTERS.items()},
        "scorecard_ids": row["scorecard_ids"] or {},
        "mean_score": None if mean is None else round(mean, 2),
    }

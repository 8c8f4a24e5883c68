"""Merging campaigns: all that one had, and all that still comes in under its ids, is of another."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import String, cast, func, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.campaigns import service
from app.campaigns.models import COUNTERS, Campaign, MergedCampaign
from app.core.clock import utc_now
from app.core.database.upserts import update_row
from app.core.errors import Conflict, InvalidInput
from app.core.hooks import CampaignMerge, hooks_of
from app.core.principal import TeamScope

# So many rows are moved or renamed in a tenth of a second or two, for which other writes can wait.
BATCH = 1_000


class Moved(NamedTuple):
    """A batch of rows that were moved to a campaign; after the last one none is left, of any."""

    into_id: str
    is_last: bool


def merge(session: Session, campaign_id: str, former_ids: Sequence[str]) -> dict[str, Any]:
    """Merge campaigns into this one, which keeps its name and its scorecards, and return it.

    It gets the targets that only the others have, and all that is counted for them; a job moves the
    rows themselves. Those that were merged into it already are left out, so that a request may be
    repeated.

    Raises:
        NotFound: there is no campaign to merge into.
        InvalidInput: one of the others does not exist, or is this one.
        Conflict: one of them is merged by somebody else at this moment.
    """
    service.get(session, campaign_id)
    merged = service.into_ids(session, former_ids)
    others = [former_id for former_id in former_ids if merged.get(former_id) != campaign_id]
    known = service.CAMPAIGNS.names(session, others)
    for index, former_id in enumerate(former_ids):
        if former_id == campaign_id:
            message = "A campaign cannot be merged into itself: name another one."
            raise InvalidInput.field(f"campaignIds[{index}]", message)
        if former_id in others and former_id not in known:
            message = service.why_missing(session, former_id)
            raise InvalidInput.field(f"campaignIds[{index}]", message)
    ids = {campaign_id, *others}
    in_order = select(Campaign).where(Campaign.id.in_(ids)).order_by(Campaign.id)
    rows = {row.id: row for row in session.scalars(in_order.with_for_update())}
    if len(rows) < len(ids):
        raise Conflict("Somebody else is merging one of these campaigns: load them again.")
    into = rows[campaign_id]
    for former_id in dict.fromkeys(others):
        _merge(session, rows[former_id], into)
    return service.get(session, campaign_id)


def move_some(table: Any, session: Session, **values: Any) -> Moved | None:
    """Move rows that still have the id of a merged campaign; call it until none is left.

    Rows that others change at this moment are left for a later call, as are those that a transaction
    writes now which began before the merge.

    Args:
        table: needs an index that begins with `campaign_id`.
        values: other columns to set.
    """
    # Order and ranges make PostgreSQL read the index: rows of a campaign that was large until now
    # it would look for in the table, and pass by all that were moved.
    from_it = select(func.min(table.campaign_id)).where(table.campaign_id >= MergedCampaign.id)
    unmoved = select(MergedCampaign.id, MergedCampaign.into_id).where(
        from_it.scalar_subquery() == MergedCampaign.id
    )
    if (merge := session.execute(unmoved.limit(1)).first()) is None:
        return None
    own = table.campaign_id.between(merge.id, merge.id)
    rows = select(table.id).where(own).order_by(table.campaign_id)
    ids = session.scalars(rows.limit(BATCH + 1).with_for_update(skip_locked=True)).all()
    session.execute(
        update(table)
        .where(table.id.in_(ids[:BATCH]))
        .values(campaign_id=merge.into_id, **values)
        .execution_options(synchronize_session=False)
    )
    if not ids:
        return None
    others = unmoved.where(MergedCampaign.into_id == merge.into_id, MergedCampaign.id != merge.id)
    is_last = len(ids) <= BATCH and session.execute(others.limit(1)).first() is None
    return Moved(merge.into_id, is_last)


def replace_ids(column: InstrumentedAttribute[Any], session: Session, merge: CampaignMerge) -> None:
    """Replace the id of the campaign that goes in a column of filters, limits or settings."""
    for row in _rows_naming(column, session, merge):
        replaced = orjson.loads(orjson.dumps(getattr(row, column.key)).decode().replace(*merge))
        is_list = isinstance(replaced, list)
        setattr(row, column.key, list(dict.fromkeys(replaced)) if is_list else replaced)


def replace_in_teams(
    column: InstrumentedAttribute[Any], session: Session, merge: CampaignMerge
) -> None:
    """Replace the id of the campaign that goes in a column of teams, which are found by their text."""
    for row in _rows_naming(column, session, merge):
        if teams := TeamScope.from_text(getattr(row, column.key).replace(*merge)):
            setattr(row, column.key, teams.as_text())


def _rows_naming(
    column: InstrumentedAttribute[Any], session: Session, merge: CampaignMerge
) -> Sequence[Any]:
    """Return the rows with the id of the campaign that goes, locked so that no other change is lost."""
    is_named = cast(column, String).contains(merge.former_id)
    return session.scalars(select(column.class_).where(is_named).with_for_update()).all()


def _merge(session: Session, former: Campaign, into: Campaign) -> None:
    for follow_merge in hooks_of(session).on_campaign_merged:
        follow_merge(session, CampaignMerge(former.id, into.id))
    Campaign.add(session, into.id, {name: getattr(former, name) for name in COUNTERS})
    own = {name: value for name, value in into.targets.items() if value is not None}
    update_row(session, into, {"targets": {**into.targets, **former.targets, **own}})
    session.execute(
        update(MergedCampaign).where(MergedCampaign.into_id == former.id).values(into_id=into.id)
    )
    session.add(
        MergedCampaign(
            id=former.id,
            external_id=former.external_id,
            name=former.name,
            into_id=into.id,
            merged_at=utc_now(),
        )
    )
    session.delete(former)
    session.flush()

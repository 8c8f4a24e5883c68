"""Merging campaigns: all that one had, and all that still comes in under its ids, is of another."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import String, cast, func, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.campaigns import service
from app.campaigns.models import Campaign, MergedCampaign
from app.core.clock import utc_now
from app.core.database.session import allow_long_statements
from app.core.database.upserts import update_row
from app.core.errors import Conflict, InvalidInput
from app.core.hooks import CampaignMerge, hooks_of
from app.core.principal import TeamScope


def merge(session: Session, campaign_id: str, former_ids: Sequence[str]) -> dict[str, Any]:
    """Merge campaigns into this one, which keeps its name and its scorecards, and return it.

    It gets the targets that only the others have. Those that were merged into it already are left
    out, so that a request may be repeated.

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
    allow_long_statements(session)
    for former_id in dict.fromkeys(others):
        _merge(session, CampaignMerge(former_id, campaign_id))
    return service.get(session, campaign_id)


def follow(session: Session, merge: CampaignMerge) -> dict[str, Campaign]:
    """Move all that is of the campaign that goes, and count again what the other one has.

    Returns:
        the campaigns of the merge that exist, by id, locked.
    """
    hooks = hooks_of(session)
    for follow_merge in hooks.on_campaign_merged:
        follow_merge(session, merge)
    # Whoever changes a contact locks its campaign last. What is committed now can be counted; what
    # is not will add to these counts.
    locked = select(Campaign).where(Campaign.id.in_(merge)).order_by(Campaign.id).with_for_update()
    locked = locked.execution_options(populate_existing=True)
    rows = {row.id: row for row in session.scalars(locked)}
    if (into := rows.get(merge.into_id)) is None:
        return rows
    counts: dict[str, int] = {}
    for count in hooks.campaign_counts:
        counts |= count(session, into.id)
    Campaign.add(
        session, into.id, {name: number - getattr(into, name) for name, number in counts.items()}
    )
    return rows


def move_rows(table: Any, session: Session, merge: CampaignMerge, **values: Any) -> None:
    session.execute(
        update(table)
        .where(table.campaign_id == merge.former_id)
        .values(campaign_id=merge.into_id, **values)
        .execution_options(synchronize_session=False)
    )


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


def count_rows(
    name: str, column: InstrumentedAttribute[Any], session: Session, campaign_id: str
) -> dict[str, int]:
    """Count the rows of a campaign that have a value in this column, for the counter of this name."""
    number = select(func.count(column)).where(column.class_.campaign_id == campaign_id)
    return {name: session.scalar(number) or 0}


def _rows_naming(
    column: InstrumentedAttribute[Any], session: Session, merge: CampaignMerge
) -> Sequence[Any]:
    """Return the rows with the id of the campaign that goes, locked so that no other change is lost."""
    is_named = cast(column, String).contains(merge.former_id)
    return session.scalars(select(column.class_).where(is_named).with_for_update()).all()


def _merge(session: Session, merge: CampaignMerge) -> None:
    rows = follow(session, merge)
    if len(rows) < len(merge):
        raise Conflict("Somebody else merges one of these campaigns: load them again.")
    former, into = rows[merge.former_id], rows[merge.into_id]
    own = {name: value for name, value in into.targets.items() if value is not None}
    update_row(session, into, {"targets": {**into.targets, **former.targets, **own}})
    session.execute(
        update(MergedCampaign)
        .where(MergedCampaign.into_id == merge.former_id)
        .values(into_id=merge.into_id)
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

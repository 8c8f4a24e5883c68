"""Current names of campaigns, call centres and executives, for reports."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.analytics.engine.selection import Selection, completed_evaluations
from app.campaigns.models import Campaign
from app.directory.models import CallCenter, Executive
from app.directory.service import CALL_CENTERS
from app.evaluations.enums import ReviewStatus
from app.evaluations.models import Evaluation

# By group: the table, and the columns of an evaluation with the id and the name.
_GROUPS: dict[str, tuple[Any, InstrumentedAttribute[Any], InstrumentedAttribute[Any]]] = {
    "campaign": (Campaign, Evaluation.campaign_id, Evaluation.campaign),
    "call_center": (CallCenter, Evaluation.call_center_id, Evaluation.call_center),
    "executive": (Executive, Evaluation.executive_id, Evaluation.executive),
}
# Written as in the partial index of reviewed evaluations: with a parameter, the index is not used.
_NOT_REVIEWED: ColumnElement[str] = literal_column("'none'")
_REVIEWED = (
    ReviewStatus.REVIEWED,
    ReviewStatus.DISPUTED,
    ReviewStatus.DISPUTE_ACCEPTED,
    ReviewStatus.DISPUTE_REJECTED,
)


def of_group(session: Session, group: str, keys: Collection[str]) -> dict[str, dict[str, Any]]:
    """Map ids to names, and executives to their kind; deleted members keep their last known name."""
    table, _, _ = _GROUPS[group]
    current: dict[str, dict[str, Any]] = {
        row.id: {"name": row.name, **({"kind": row.kind} if isinstance(row, Executive) else {})}
        for row in session.scalars(select(table).where(table.id.in_(keys)))
    }
    deleted = [key for key in keys if key not in current]
    names = _last_known_names(session, group, deleted) if deleted else {}
    return {**{key: {"name": names.get(key) or key} for key in deleted}, **current}


def add_executives(
    session: Session, selection: Selection, members: Sequence[dict[str, Any]]
) -> None:
    """Add the call centre of each executive, and the number of reviewed evaluations."""
    ids = [member["id"] for member in members]
    rows = session.scalars(select(Executive).where(Executive.id.in_(ids)))
    call_center_ids = {row.id: row.call_center_id for row in rows}
    call_centers = CALL_CENTERS.names(session, [key for key in call_center_ids.values() if key])
    reviewed = _reviewed_counts(session, selection, ids)
    for member in members:
        call_center_id = call_center_ids.get(member["id"])
        member["call_center_id"] = call_center_id
        member["call_center"] = call_centers.get(call_center_id) if call_center_id else None
        member["reviewed_count"] = reviewed.get(member["id"], 0)


def _last_known_names(session: Session, group: str, keys: Collection[str]) -> dict[str, str | None]:
    _, column, name = _GROUPS[group]
    return {
        key: session.scalar(
            select(name).where(column == key).order_by(Evaluation.conversation_at.desc()).limit(1)
        )
        for key in keys
    }


def _reviewed_counts(
    session: Session, selection: Selection, ids: Collection[str]
) -> dict[str, int]:
    rows = session.execute(
        select(Evaluation.executive_id, func.count())
        .where(
            Evaluation.executive_id.in_(ids),
            *completed_evaluations(selection),
            Evaluation.review_status != _NOT_REVIEWED,
            Evaluation.review_status.in_(_REVIEWED),
        )
        .group_by(Evaluation.executive_id)
    )
    return {str(executive_id): count for executive_id, count in rows}

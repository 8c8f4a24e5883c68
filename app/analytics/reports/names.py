"""Current names of campaigns, call centres and executives, for reports."""

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.analytics.engine.selection import Selection
from app.campaigns.models import Campaign
from app.directory.models import CallCenter, Executive
from app.directory.service import CALL_CENTERS
from app.evaluations.enums import ReviewStatus
from app.evaluations.models import Evaluation

_TABLES: dict[str, Any] = {
    "campaign": Campaign,
    "call_center": CallCenter,
    "executive": Executive,
}
_NOTED: dict[str, tuple[InstrumentedAttribute[Any], InstrumentedAttribute[Any]]] = {
    "campaign": (Evaluation.campaign_id, Evaluation.campaign),
    "call_center": (Evaluation.call_center_id, Evaluation.call_center),
    "executive": (Evaluation.executive_id, Evaluation.executive),
}
# Said as the partial index of the reviewed says it: a parameter would hide that it fits.
_NOT_REVIEWED: ColumnElement[str] = literal_column("'none'")
_REVIEWED = (
    ReviewStatus.REVIEWED,
    ReviewStatus.DISPUTED,
    ReviewStatus.DISPUTE_ACCEPTED,
    ReviewStatus.DISPUTE_REJECTED,
)


def of_group(session: Session, group: str, keys: Collection[str]) -> dict[str, dict[str, Any]]:
    """Map ids to names, and those of executives to their kind; who is gone keeps a noted name."""
    table = _TABLES[group]
    found: dict[str, dict[str, Any]] = {
        row.id: {"name": row.name, **({"kind": row.kind} if isinstance(row, Executive) else {})}
        for row in session.scalars(select(table).where(table.id.in_(keys)))
    }
    gone = [key for key in keys if key not in found]
    noted = _noted(session, group, gone) if gone else {}
    return {**{key: {"name": noted.get(key) or key} for key in gone}, **found}


def add_executives(
    session: Session, selection: Selection, members: Sequence[dict[str, Any]]
) -> None:
    """Add the call centre of executives, and how many of their evaluations people have reviewed."""
    ids = [each["id"] for each in members]
    rows = session.scalars(select(Executive).where(Executive.id.in_(ids)))
    places = {row.id: row.call_center_id for row in rows}
    centers = CALL_CENTERS.names(session, [each for each in places.values() if each])
    reviewed = _reviewed(session, selection, ids)
    for each in members:
        place = places.get(each["id"])
        each["call_center_id"] = place
        each["call_center"] = centers.get(place) if place else None
        each["reviewed_count"] = reviewed.get(each["id"], 0)


def _noted(session: Session, group: str, keys: Collection[str]) -> dict[str, str | None]:
    column, name = _NOTED[group]
    return {
        key: session.scalar(
            select(name).where(column == key).order_by(Evaluation.created_at.desc()).limit(1)
        )
        for key in keys
    }


def _reviewed(session: Session, selection: Selection, ids: Collection[str]) -> dict[str, int]:
    chosen = [getattr(Evaluation, name) == key for name, key in selection.ids().items()]
    if selection.channel:
        chosen.append(Evaluation.channel.in_(selection.channel))
    rows = session.execute(
        select(Evaluation.executive_id, func.count())
        .where(
            Evaluation.executive_id.in_(ids),
            Evaluation.created_at >= selection.period.start,
            Evaluation.created_at < selection.period.end,
            Evaluation.is_current.is_not(False),
            Evaluation.status == "completed",
            Evaluation.review_status != _NOT_REVIEWED,
            Evaluation.review_status.in_(_REVIEWED),
            *chosen,
        )
        .group_by(Evaluation.executive_id)
    )
    return {str(key): number for key, number in rows}

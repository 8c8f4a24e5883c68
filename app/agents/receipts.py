"""Receipts: an agent has seen, acknowledged or commented on a revision of an evaluation."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import exists, func, select, update
from sqlalchemy.orm import Session

from app.agents.enums import ReceiptAction
from app.agents.models import EvaluationReceipt
from app.core.clock import utc_now
from app.core.errors import Conflict, InvalidInput
from app.core.ids import new_id
from app.evaluations import service as evaluations
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation
from app.events.catalogue import EventType
from app.events.data import EvaluationAcknowledged
from app.events.outbox import publish

_MOST = 100
_COLUMNS = EvaluationReceipt.__table__.c


def add(
    session: Session, evaluation_id: str, action: str, *, comment: str | None = None, user_id: str
) -> dict[str, Any]:
    """Add a receipt; what was seen or acknowledged already is not added twice.

    Raises:
        NotFound: there is no such evaluation.
        Conflict: it is not completed, or has too many receipts.
        InvalidInput: a comment is missing, or given where none is allowed.
    """
    evaluation = evaluations.find(session, evaluation_id, for_update=True)
    if evaluation.status != Status.COMPLETED:
        raise Conflict(f"The evaluation is {evaluation.status}: only a completed one has receipts.")
    if (action == ReceiptAction.COMMENTED) is not bool(comment):
        raise InvalidInput.field("comment", "Give a comment with commented, and with no other.")
    given = list_of(session, evaluation_id)
    for receipt in given:
        is_same = receipt["action"] == action and receipt["user_id"] == user_id
        if is_same and action != ReceiptAction.COMMENTED:
            return receipt
    if len(given) >= _MOST:
        raise Conflict(f"An evaluation can have at most {_MOST} receipts.")
    row = EvaluationReceipt(
        id=new_id("rcpt"),
        evaluation_id=evaluation_id,
        revision=evaluation.revision,
        user_id=user_id,
        action=action,
        comment=comment,
        created_at=utc_now(),
    )
    session.add(row)
    session.flush()
    if action == ReceiptAction.ACKNOWLEDGED:
        data = EvaluationAcknowledged(
            evaluation_id=evaluation_id,
            engagement_id=evaluation.engagement_id or "",
            campaign=evaluation.campaign or "",
            revision=evaluation.revision,
            user_id=user_id,
        )
        publish(session, EventType.EVALUATION_ACKNOWLEDGED, data)
    return {column.key: getattr(row, column.key) for column in _COLUMNS}


def list_of(session: Session, evaluation_id: str) -> list[dict[str, Any]]:
    """List the receipts of a revision, the oldest first; raise `NotFound` without an evaluation."""
    evaluations.find(session, evaluation_id)
    rows = session.execute(
        select(*_COLUMNS).where(_COLUMNS.evaluation_id == evaluation_id).order_by(_COLUMNS.id)
    )
    return [dict(row) for row in rows.mappings()]


def unseen(session: Session, user_id: str, *, limit: int) -> tuple[int, Sequence[str]]:
    """Count the evaluations that are shown to an agent and that they have not seen; return the newest."""
    row = Evaluation.__table__.c
    seen = exists().where(_COLUMNS.evaluation_id == row.id, _COLUMNS.user_id == user_id)
    is_new = (row.is_current.is_not(False), row.status == Status.COMPLETED, ~seen)
    count = session.scalar(select(func.count()).where(*is_new)) or 0
    newest = select(row.id).where(*is_new).order_by(row.conversation_at.desc(), row.id)
    return count, session.scalars(newest.limit(limit)).all()


def erase(session: Session, source_ids: Sequence[str]) -> None:
    of_sources = select(Evaluation.id).where(Evaluation.source_id.in_(source_ids))
    session.execute(
        update(EvaluationReceipt)
        .where(EvaluationReceipt.evaluation_id.in_(of_sources))
        .values(comment=None)
        .execution_options(synchronize_session=False)
    )

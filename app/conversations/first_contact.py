"""First-contact resolution of a conversation, computed when results are read.

The judge cannot compute it: it requires that the same customer has no other conversation in the
seven days before and after.
"""

from datetime import UTC, datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.conversations.models import Conversation
from app.core.clock import utc_now
from app.evaluations.enums import SourceType
from app.evaluations.models import Evaluation
from app.evaluations.results import LateMetric

_METRIC = "firstContactResolution"
_WINDOW = timedelta(days=7)
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def first_contact_resolution(session: Session, evaluation: Evaluation) -> LateMetric | None:
    """Return the metric as 1, 0 or None with a reason; calls do not have this metric."""
    if evaluation.source_type != SourceType.CONVERSATION:
        return None
    row = session.get(Conversation, evaluation.source_id)
    if row is None or row.customer_ref is None:
        return LateMetric(_METRIC, None, "The conversation has no customerRef.")
    if evaluation.resolution in (None, "unknown"):
        return LateMetric(_METRIC, None, "It is unknown whether the problem was resolved.")
    if evaluation.resolution != "resolved":
        return LateMetric(_METRIC, 0)
    ended_at = row.ended_at or row.conversation_at
    since = max(row.conversation_at, _EARLIEST + _WINDOW) - _WINDOW
    if _has_another(session, row, since, ended_at + _WINDOW):
        return LateMetric(_METRIC, 0)
    if utc_now() < ended_at + _WINDOW:
        return LateMetric(_METRIC, None, "Seven days have not passed since the conversation.")
    return LateMetric(_METRIC, 1)


def _has_another(session: Session, row: Conversation, since: datetime, until: datetime) -> bool:
    another = (
        select(Conversation.id)
        .where(
            Conversation.customer_ref == row.customer_ref,
            Conversation.id != row.id,
            Conversation.conversation_at.between(since, until),
        )
        .limit(1)
    )
    return session.scalar(another) is not None

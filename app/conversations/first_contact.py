"""Whether a customer's concern was settled at the first contact, told whenever results are read.

It takes a week to know, so that the judge can't: neither the days before a conversation nor those
after it may hold another one of the same customer (scorecards.md, section 2).
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
_BEGIN_OF_TIME = datetime.min.replace(tzinfo=UTC)


def first_contact_resolution(session: Session, evaluation: Evaluation) -> LateMetric | None:
    """Work out the metric of a conversation: 1, 0, or None with the reason; nothing for calls."""
    if evaluation.source_type != SourceType.CONVERSATION:
        return None
    row = session.get(Conversation, evaluation.source_id)
    if row is None or row.customer_ref is None:
        return LateMetric(_METRIC, None, "It is not known who the customer is.")
    if evaluation.resolution in (None, "unknown"):
        return LateMetric(_METRIC, None, "It is not known whether it was resolved.")
    if evaluation.resolution != "resolved":
        return LateMetric(_METRIC, 0)
    if row.started_at is None:
        return LateMetric(_METRIC, None, "The conversation has no times.")
    ended_at = row.ended_at or row.started_at
    since = max(row.started_at, _BEGIN_OF_TIME + _WINDOW) - _WINDOW
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
            Conversation.started_at.between(since, until),
        )
        .limit(1)
    )
    return session.scalar(another) is not None

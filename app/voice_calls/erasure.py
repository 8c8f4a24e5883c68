"""Erasure of voice calls: numbers, texts and collected fields are deleted, times and counts kept."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.filters import searchable
from app.voice_calls.models import VoiceCall, VoiceCallSearchText, VoiceCallTurns

# Label that identifies the customer of records without a field `customerRef`.
LABEL = "customerRef"


def is_of(customer_ref: str) -> ColumnElement[bool]:
    """Whether a call is of this customer and not erased, by label or the customer's number.

    The customer's number is the called one in an outbound call and the calling one in any other, so
    that a company's own number does not select all its calls.
    """
    is_outbound = VoiceCall.direction == "outbound"
    return or_(
        VoiceCall.labels[LABEL].as_string() == customer_ref,
        and_(~is_outbound, VoiceCall.from_number == customer_ref),
        and_(is_outbound, VoiceCall.to_number == customer_ref),
    )


def erase(session: Session, voice_call_ids: Sequence[str]) -> Sequence[str]:
    """Delete the texts of these calls and return the ids of their recordings."""
    recordings = []
    for row in session.scalars(
        select(VoiceCall)
        .where(VoiceCall.id.in_(voice_call_ids))
        .order_by(VoiceCall.id)
        .with_for_update()
    ):
        if row.recording_id is not None:
            recordings.append(row.recording_id)
        row.from_number = row.to_number = row.raw_text_id = None
        row.collected_fields = row.labels = {}
        row.digest, row.judged_digest, row.awaits_words = "", None, False
        row.erased_at = row.updated_at = utc_now()
        spoken = session.get(VoiceCallTurns, row.id)
        if spoken is not None:
            spoken.turns = [{**turn, "text": "", "redactions": []} for turn in spoken.turns]
            spoken.digest = ""
        search_text = session.get(VoiceCallSearchText, row.id)
        if search_text is not None:
            search_text.text = searchable(row.external_id)
    return recordings

"""Queries of voice calls: one, or a filtered page."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.database.filters import (
    Filters,
    conditions,
    contains_in,
    equal,
    is_set,
    of_contacts,
    one_of,
    searchable,
)
from app.core.database.paging import Page, PageRequest, select_page
from app.core.database.rows import columns_without, find_mapping
from app.core.database.session import Reader
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation
from app.voice_calls.enums import ENDED, EpaStatus
from app.voice_calls.models import VoiceCall, VoiceCallSearchText

_HIDDEN = ("digest", "judged_digest", "announced_at", "redacted", "raw_text_id", "erased_at")
_EVALUATION_STATUS = (
    select(Evaluation.status).where(Evaluation.id == VoiceCall.evaluation_id).scalar_subquery()
)
_COLUMNS = select(
    *columns_without(VoiceCall, _HIDDEN),
    _EVALUATION_STATUS.label("evaluation_status"),
)
_SORTABLE: dict[str, InstrumentedAttribute[Any]] = {
    "started_at": VoiceCall.started_at,
    "conversation_at": VoiceCall.conversation_at,
    "created_at": VoiceCall.created_at,
    "duration_seconds": VoiceCall.duration_seconds,
    "score": VoiceCall.score,
}
_EPA_STATUS = {
    Status.QUEUED: EpaStatus.PENDING,
    Status.TRANSCRIBING: EpaStatus.PROCESSING,
    Status.EVALUATING: EpaStatus.PROCESSING,
    Status.COMPLETED: EpaStatus.COMPLETED,
    Status.FAILED: EpaStatus.FAILED,
    Status.CANCELED: EpaStatus.NOT_APPLICABLE,
}


_FILTERS: Filters = {
    **of_contacts(VoiceCall),
    "bot_id": equal(VoiceCall.bot_id),
    "direction": one_of(VoiceCall.direction),
    "status": one_of(VoiceCall.status),
    "outcome": one_of(VoiceCall.outcome),
    "has_recording": is_set(VoiceCall.recording_id),
    "transferred_to_human": VoiceCall.transferred_to_human.is_,
    "q": contains_in(VoiceCall.id, VoiceCallSearchText.voice_call_id, VoiceCallSearchText.text),
}


def list_page(
    session: Session,
    request: PageRequest,
    **filters: str | bool | datetime | Sequence[str],
) -> Page[Any]:
    """Return a page of voice calls, newest first by default."""
    statement = _COLUMNS.where(*conditions(_FILTERS, filters))
    page = select_page(session, statement, request, sortable=_SORTABLE, tail=VoiceCall.id)
    return replace(page, items=[_record(row) for row in page.items])


def get(session: Reader, voice_call_id: str) -> dict[str, Any]:
    """Return a voice call for the API; raises `NotFound`."""
    row = find_mapping(session, _COLUMNS.where(VoiceCall.id == voice_call_id), "voice call")
    return _record(row)


def of_recordings(session: Session, recording_ids: Sequence[str]) -> dict[str, RowMapping]:
    """Return evaluation and score of the calls that these recordings belong to, by recording."""
    statement = select(VoiceCall.recording_id, VoiceCall.evaluation_id, VoiceCall.score).where(
        VoiceCall.recording_id.in_(recording_ids)
    )
    return {row["recording_id"]: row for row in session.execute(statement).mappings()}


def search_text(values: Mapping[str, Any], external_id: str) -> str:
    """Return the text that `q` searches; phone numbers are not searched."""
    return searchable(external_id, values["bot_name"], values["bot_id"], values["end_reason"])


def mask_number(number: str | None) -> str | None:
    """Replace all letters and digits of a number but the last two."""
    if number is None:
        return None
    hidden = len(re.findall(r"[^\W_]", number)) - 2
    return re.sub(r"[^\W_]", "*", number, count=hidden) if hidden > 0 else number


def _record(row: RowMapping) -> dict[str, Any]:
    return {
        **row,
        "from_number": mask_number(row["from_number"]),
        "to_number": mask_number(row["to_number"]),
        "has_recording": row["recording_id"] is not None,
        "epa_status": _epa_status(row),
    }


def _epa_status(row: RowMapping) -> EpaStatus:
    """Derive the status from the evaluation, or from whether there will be one."""
    if row["evaluation_status"] is not None:
        return _EPA_STATUS[Status(row["evaluation_status"])]
    is_coming = row["awaits_words"] or row["status"] not in ENDED
    return EpaStatus.PENDING if is_coming else EpaStatus.NOT_APPLICABLE

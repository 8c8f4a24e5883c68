"""Voice calls as the API shows them, and the list of them with every filter of contract B9."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.database.paging import Page, PageRequest, select_page
from app.core.errors import NotFound
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation
from app.voice_calls.models import VoiceCall, VoiceCallSearchText
from app.voice_calls.vocabulary import ENDED, EpaStatus

_HIDDEN = ("digest", "judged_digest", "announced_at", "redacted", "raw_text_id", "erased_at")
_STATUS = (
    select(Evaluation.status).where(Evaluation.id == VoiceCall.evaluation_id).scalar_subquery()
)
_COLUMNS = select(
    *(
        getattr(VoiceCall, column.key)
        for column in VoiceCall.__table__.columns
        if column.key not in _HIDDEN
    ),
    _STATUS.label("evaluation_status"),
)
_SORTABLE: dict[str, InstrumentedAttribute[Any]] = {
    "started_at": VoiceCall.started_at,
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


def _equal(column: InstrumentedAttribute[Any]) -> Callable[[Any], ColumnElement[bool]]:
    return lambda value: column == value


def _in(column: InstrumentedAttribute[str]) -> Callable[[Sequence[str]], ColumnElement[bool]]:
    """Compare with a single value by `=`, after which the index still gives the order."""
    return lambda values: column == values[0] if len(values) == 1 else column.in_(values)


def _recorded(wanted: bool) -> ColumnElement[bool]:
    column = VoiceCall.recording_id
    return column.is_not(None) if wanted else column.is_(None)


def _q(words: str) -> ColumnElement[bool]:
    texts = VoiceCallSearchText
    found = select(texts.voice_call_id).where(
        texts.text.contains(words.casefold(), autoescape=True)
    )
    return VoiceCall.id.in_(found)


_FILTERS: Mapping[str, Callable[[Any], ColumnElement[bool]]] = {
    "engagement_id": _equal(VoiceCall.engagement_id),
    "campaign_id": _equal(VoiceCall.campaign_id),
    "call_center_id": _equal(VoiceCall.call_center_id),
    "executive_id": _equal(VoiceCall.executive_id),
    "bot_id": _equal(VoiceCall.bot_id),
    "direction": _in(VoiceCall.direction),
    "status": _in(VoiceCall.status),
    "outcome": _in(VoiceCall.outcome),
    "has_recording": _recorded,
    "transferred_to_human": lambda wanted: VoiceCall.transferred_to_human.is_(wanted),
    "q": _q,
    "start": lambda moment: VoiceCall.started_at >= moment,
    "end": lambda moment: VoiceCall.started_at < moment,
}


def list_page(
    session: Session,
    request: PageRequest,
    **filters: str | bool | datetime | Sequence[str],
) -> Page[Any]:
    """List voice calls as mappings, newest first unless asked otherwise.

    Args:
        filters: the names of contract B9 in snake_case, lists for `direction`, `status` and
            `outcome`; `start` and `end` bound `started_at`.
    """
    wanted = _COLUMNS.where(*(_FILTERS[name](value) for name, value in filters.items()))
    page = select_page(session, wanted, request, sortable=_SORTABLE, tail=VoiceCall.id)
    shown = [_record(row) for row in page.items]
    return Page(shown, page.page, page.page_size, page.total_count)


def get(session: Session, voice_call_id: str) -> dict[str, Any]:
    """Show a voice call; `NotFound` where there is none."""
    row = session.execute(_COLUMNS.where(VoiceCall.id == voice_call_id)).mappings().first()
    if row is None:
        raise NotFound("There is no such voice call.")
    return _record(row)


def search_text(values: Mapping[str, Any], external_id: str) -> str:
    """Gather what `q` looks in, each part on its own line; the numbers of people are not searched."""
    parts = (external_id, values["bot_name"], values["bot_id"], values["end_reason"])
    return "\n".join(part.casefold() for part in parts if part)


def masked(number: str | None) -> str | None:
    """Hide all letters and digits of a number but the last two."""
    if number is None:
        return None
    hidden = len(re.findall(r"[^\W_]", number)) - 2
    return re.sub(r"[^\W_]", "*", number, count=hidden) if hidden > 0 else number


def _record(row: RowMapping) -> dict[str, Any]:
    return {
        **row,
        "from_number": masked(row["from_number"]),
        "to_number": masked(row["to_number"]),
        "has_recording": row["recording_id"] is not None,
        "epa_status": _epa_status(row),
    }


def _epa_status(row: RowMapping) -> EpaStatus:
    """Tell how far the assessment is; without one, whether there will be one."""
    if row["evaluation_status"] is not None:
        return _EPA_STATUS[Status(row["evaluation_status"])]
    is_coming = row["awaits_words"] or row["status"] not in ENDED
    return EpaStatus.PENDING if is_coming else EpaStatus.NOT_APPLICABLE

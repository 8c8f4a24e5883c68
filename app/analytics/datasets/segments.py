"""The dataset `segments`: a row for each piece of what was said."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.analytics.datasets.cells import Row, columns, moments_in
from app.analytics.wishes import Wish
from app.evaluations.models import Evaluation, EvaluationResult, StoredTranscript

COLUMNS = columns(
    "evaluation_id source_type source_id segment_id index:whole participant_id role start_ms:whole "
    "end_ms:whole sent_at language confidence:number channel_index:whole sentiment "
    "sentiment_score:number text"
)
BATCH = 100
_OF = Evaluation.__table__.c
_ROWS = (
    select(
        _OF.id,
        _OF.source_type,
        _OF.source_id,
        StoredTranscript.__table__.c.segments,
        EvaluationResult.segment_sentiments,
    )
    .join(StoredTranscript, StoredTranscript.id == _OF.transcript_id)
    .outerjoin(EvaluationResult, EvaluationResult.evaluation_id == _OF.id)
)


def rows(session: Session, ids: Sequence[str], wish: Wish) -> list[Row]:
    """Return the segments of these evaluations; their text comes with `includeText` alone."""
    found = session.execute(_ROWS.where(_OF.id.in_(ids)).order_by(_OF.id))
    return [each for row in found for each in _of_evaluation(row, wish)]


def _of_evaluation(row: Any, wish: Wish) -> Iterator[Row]:
    felt = row.segment_sentiments or {}
    moment = moments_in(wish.zone)
    for index, each in enumerate(row.segments):
        label, score = felt.get(each["id"], (None, None))
        yield (
            row.id,
            row.source_type,
            row.source_id,
            each["id"],
            index,
            each.get("participantId"),
            each["role"],
            each.get("startMs"),
            each.get("endMs"),
            moment(each.get("sentAt")),
            each.get("language"),
            each.get("confidence"),
            each.get("channelIndex"),
            label,
            score,
            each["text"] if wish.include_text else None,
        )

"""The dataset `segments`: a row for each piece of what was said."""

from collections.abc import Iterator

from orjson import loads
from sqlalchemy import func, select

from app.analytics.datasets.cells import Row, Values, by_column, columns, moments_in, plain
from app.analytics.wishes import Wish
from app.core.snapshots import Rows
from app.evaluations.models import Evaluation, EvaluationResult, StoredTranscript

COLUMNS = columns(
    "evaluation_id source_type source_id segment_id index:whole participant_id role start_ms:whole "
    "end_ms:whole sent_at language confidence:number channel_index:whole sentiment "
    "sentiment_score:number text"
)
BATCH = 100
_OF = Evaluation.__table__.c
_RESULT = EvaluationResult.__table__.c
ROWS = (
    select(
        _OF.id,
        _OF.source_type,
        _OF.source_id,
        plain(StoredTranscript.__table__.c.segments).label("segments"),
        plain(_RESULT.segment_sentiments).label("felt"),
    )
    .join(StoredTranscript, StoredTranscript.id == _OF.transcript_id)
    .outerjoin(EvaluationResult, EvaluationResult.evaluation_id == _OF.id)
)
LEAST_ROWS = (
    select(func.sum(StoredTranscript.segment_count))
    .select_from(Evaluation.__table__)
    .join(StoredTranscript, StoredTranscript.id == _OF.transcript_id)
)


def values(rows: Rows, wish: Wish) -> list[Values]:
    """Return the columns of these evaluations' segments; texts come with `includeText` alone."""
    return by_column(each for row in rows for each in _of_evaluation(row, wish))


def _of_evaluation(row: Row, wish: Wish) -> Iterator[Row]:
    evaluation_id, source_type, source_id, segments, sentiments = row
    felt = loads(sentiments) if sentiments else {}
    moment = moments_in(wish.zone)
    for index, each in enumerate(loads(segments)):
        label, score = felt.get(each["id"], (None, None))
        yield (
            evaluation_id,
            source_type,
            source_id,
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

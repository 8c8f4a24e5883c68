"""Dataset `segments`: one row for each segment of the transcripts."""

from collections.abc import Iterator

from orjson import loads
from sqlalchemy import func, select

from app.analytics.exports.datasets.columns import (
    Row,
    Values,
    as_text,
    by_column,
    columns,
    time_formatter,
)
from app.analytics.exports.datasets.large import LargeDataset
from app.analytics.exports.request import ExportRequest
from app.analytics.exports.snapshots import Rows
from app.evaluations.models import Evaluation, EvaluationResult, StoredTranscript

_COLUMNS = columns(
    "evaluation_id source_type source_id segment_id index:integer participant_id role start_ms:integer "
    "end_ms:integer sent_at:time language confidence:number channel_index:integer sentiment "
    "sentiment_score:number text"
)
_BATCH_SIZE = 100
_EVALUATION = Evaluation.__table__.c
_RESULT = EvaluationResult.__table__.c
_STATEMENT = (
    select(
        _EVALUATION.id,
        _EVALUATION.source_type,
        _EVALUATION.source_id,
        as_text(StoredTranscript.__table__.c.segments).label("segments"),
        as_text(_RESULT.segment_sentiments).label("sentiments"),
    )
    .join(StoredTranscript, StoredTranscript.id == _EVALUATION.transcript_id)
    .outerjoin(EvaluationResult, EvaluationResult.evaluation_id == _EVALUATION.id)
)
_LEAST_ROWS = (
    select(func.sum(StoredTranscript.segment_count))
    .select_from(Evaluation.__table__)
    .join(StoredTranscript, StoredTranscript.id == _EVALUATION.transcript_id)
)


def _values(rows: Rows, request: ExportRequest) -> list[Values]:
    """Return the columns of these evaluations' segments; texts require `includeText`."""
    return by_column(segment for row in rows for segment in _segments_of(row, request))


def _segments_of(row: Row, request: ExportRequest) -> Iterator[Row]:
    evaluation_id, source_type, source_id, segments, sentiments = row
    sentiment_of = loads(sentiments) if sentiments else {}
    format_time = time_formatter(request.zone)
    for index, segment in enumerate(loads(segments)):
        sentiment, score = sentiment_of.get(segment["id"], (None, None))
        yield (
            evaluation_id,
            source_type,
            source_id,
            segment["id"],
            index,
            segment.get("participantId"),
            segment["role"],
            segment.get("startMs"),
            segment.get("endMs"),
            format_time(segment.get("sentAt")),
            segment.get("language"),
            segment.get("confidence"),
            segment.get("channelIndex"),
            sentiment,
            score,
            segment["text"] if request.include_text else None,
        )


DATASET = LargeDataset(_COLUMNS, _STATEMENT, _BATCH_SIZE, _values, _LEAST_ROWS)

"""Dataset `moments`: one row for each moment of a conversation that is worth listening to."""

from collections.abc import Iterator

from orjson import loads

from app.analytics.exports.datasets import criteria
from app.analytics.exports.datasets.columns import Row, Values, by_column, columns, time_formatter
from app.analytics.exports.datasets.large import LargeDataset
from app.analytics.exports.request import ExportRequest
from app.analytics.exports.snapshots import Rows

_COLUMNS = columns(
    "evaluation_id:key executive_id:key executive campaign_id:key campaign type:key severity:key "
    "label role:key segment_id:key start_ms:integer end_ms:integer completed_at:time"
)


def _values(rows: Rows, request: ExportRequest) -> list[Values]:
    """Return the columns of these evaluations' moments."""
    return by_column(moment for row in rows for moment in _moments_of(row, request))


def _moments_of(row: Row, request: ExportRequest) -> Iterator[Row]:
    evaluation_id, executive_id, campaign_id, _, completed_at, executive, campaign, text = row
    completed_at = time_formatter(request.zone)(completed_at)
    for moment in loads(text).get("moments", ()):
        yield (
            evaluation_id,
            executive_id,
            executive,
            campaign_id,
            campaign,
            moment["type"],
            moment["severity"],
            moment["label"],
            moment["role"],
            moment["segmentId"],
            moment["startMs"],
            moment["endMs"],
            completed_at,
        )


DATASET = LargeDataset(_COLUMNS, criteria.RESULTS, criteria.BATCH_SIZE, _values)

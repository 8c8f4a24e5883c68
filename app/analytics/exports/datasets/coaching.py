"""Dataset `coaching`: one row for each strength and each improvement of an evaluation."""

from collections.abc import Iterator

from orjson import loads

from app.analytics.exports.datasets import criteria
from app.analytics.exports.datasets.columns import Row, Values, by_column, columns, time_formatter
from app.analytics.exports.datasets.large import LargeDataset
from app.analytics.exports.request import ExportRequest
from app.analytics.exports.snapshots import Rows

_COLUMNS = columns(
    "evaluation_id:key executive_id:key executive campaign_id:key campaign kind:key text "
    "criterion:key criterion_title evidence_segment_ids:list evidence_quotes:list "
    "scorecard_version:integer completed_at:time"
)
_KINDS = {"strength": "strengths", "improvement": "improvements"}


def _values(rows: Rows, request: ExportRequest) -> list[Values]:
    """Return the columns of these evaluations' advice; texts and quotes require `includeText`."""
    return by_column(advice for row in rows for advice in _advice_of(row, request))


def _advice_of(row: Row, request: ExportRequest) -> Iterator[Row]:
    evaluation_id, executive_id, campaign_id, version, completed_at, executive, campaign, text = row
    document = loads(text)
    completed_at = time_formatter(request.zone)(completed_at)
    titles = {criterion["key"]: criterion["title"] for criterion in document.get("criteria", ())}
    coaching = document.get("coaching") or {}
    for kind, name in _KINDS.items():
        for advice in coaching.get(name, ()):
            evidence = advice["evidence"]
            yield (
                evaluation_id,
                executive_id,
                executive,
                campaign_id,
                campaign,
                kind,
                advice["text"] if request.include_text else None,
                advice["criterionKey"],
                titles.get(advice["criterionKey"]),
                [item["segmentId"] for item in evidence],
                [item["quote"] for item in evidence] if request.include_text else None,
                version,
                completed_at,
            )


DATASET = LargeDataset(_COLUMNS, criteria.RESULTS, criteria.BATCH_SIZE, _values)

"""Labels for calibration: overall scores that people gave, from reviews or from a file."""

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, select
from sqlalchemy.orm import Session, aliased

from app.evaluations.enums import Status
from app.evaluations.models import Evaluation, EvaluationResult
from app.reviews.calibration.score_model import Sample
from app.reviews.models import Review

_KEYS = ("evaluationId", "externalId")
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Label:
    """A score of 0 to 100 that a person gave; `key` is the evaluation's id or externalId."""

    key: str
    score: float


@dataclass(frozen=True, slots=True)
class Labelled:
    """Samples of one engine, and how many labels were left out for which reason."""

    samples: list[Sample]
    engine: dict[str, Any]
    unknown: int
    unread: int
    of_other_engines: int


def from_reviews(session: Session, engagement_id: str) -> list[Label]:
    """Return the latest overall score of each reviewer for each conversation.

    The label is that of the current evaluation, even if an earlier revision with the same
    transcript was reviewed.
    """
    current = aliased(Evaluation)
    rows = session.execute(
        select(current.id, Review.rater, Review.score)
        .join(Evaluation, Evaluation.id == Review.evaluation_id)
        .join(
            current,
            and_(
                current.source_id == Evaluation.source_id,
                current.source_type == Evaluation.source_type,
                current.is_current.is_not(False),
                current.transcript_id == Evaluation.transcript_id,
            ),
        )
        .where(current.engagement_id == engagement_id)
        .order_by(Review.created_at, Review.id)
    )
    latest = {
        (evaluation_id, rater): float(score)
        for evaluation_id, rater, score in rows
        if score is not None
    }
    return [Label(evaluation_id, score) for (evaluation_id, _), score in latest.items()]


def from_file(text: str) -> list[Label]:
    """Read labels from JSON lines or CSV with `evaluationId` or `externalId`, and `score`.

    Raises:
        ValueError: a line is not a label; the message names it.
    """
    rows = _json_rows(text) if text.lstrip().startswith("{") else _csv_rows(text)
    return [_label(row, line) for line, row in rows]


def labelled(session: Session, labels: Iterable[Label], engagement_id: str) -> Labelled:
    """Pair labels with the judgements that they are about; several labels of one are averaged.

    Only judgements of one engine are used: the one that most labels are about.
    """
    scores_by_key: dict[str, list[float]] = {}
    for label in labels:
        scores_by_key.setdefault(label.key, []).append(label.score)
    judgements = list(_judgements(session, list(scores_by_key), engagement_id))
    engines = Counter(json.dumps(row.engine, sort_keys=True) for row in judgements)
    [(engine, _)] = engines.most_common(1) or [("{}", 0)]
    own = [row for row in judgements if json.dumps(row.engine, sort_keys=True) == engine]
    read = [row for row in own if row.signals]
    return Labelled(
        samples=[
            Sample(row.signals, math.fsum(scores) / len(scores))
            for row in read
            for scores in [
                [*scores_by_key.get(row.id, ()), *scores_by_key.get(row.external_id, ())]
            ]
        ],
        engine=json.loads(engine),
        unknown=len(
            scores_by_key.keys() - {key for row in judgements for key in (row.id, row.external_id)}
        ),
        unread=len(own) - len(read),
        of_other_engines=len(judgements) - len(own),
    )


def _judgements(session: Session, keys: Sequence[str], engagement_id: str) -> Iterator[Any]:
    columns = (Evaluation.id, Evaluation.external_id, Evaluation.engine, EvaluationResult.signals)
    seen_ids = set()
    for start in range(0, len(keys), _BATCH):
        batch = keys[start : start + _BATCH]
        rows = session.execute(
            select(*columns)
            .join(EvaluationResult, EvaluationResult.evaluation_id == Evaluation.id)
            .where(
                Evaluation.engagement_id == engagement_id,
                Evaluation.is_current.is_not(False),
                Evaluation.status == Status.COMPLETED,
                Evaluation.id.in_(batch) | Evaluation.external_id.in_(batch),
            )
            .order_by(Evaluation.id)
        )
        for row in rows:
            if row.id not in seen_ids:
                seen_ids.add(row.id)
                yield row


def _json_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, content in enumerate(text.splitlines(), 1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except ValueError as error:
            raise ValueError(f"line {line} must be JSON") from error
        if not isinstance(row, dict):
            raise ValueError(f"line {line} must be a JSON object")
        yield line, row


def _csv_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    columns = set(reader.fieldnames or ())
    if "score" not in columns or columns.isdisjoint(_KEYS):
        raise ValueError("line 1 must name the columns score, and evaluationId or externalId")
    for row in reader:
        yield reader.line_num, row


def _label(row: Mapping[str, Any], line: int) -> Label:
    key = next((row[name] for name in _KEYS if row.get(name)), None)
    if not isinstance(key, str):
        raise ValueError(f"line {line} must have evaluationId or externalId")
    try:
        score = float(row["score"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"line {line} must have a score") from error
    if not 0 <= score <= 100 or isinstance(row["score"], bool):
        raise ValueError(f"line {line}: score must be between 0 and 100")
    return Label(key, score)

"""People's overall scores as labels to calibrate by: from reviews, or from a file."""

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

from app.calibration.fitting import Sample
from app.evaluations.enums import Status
from app.evaluations.models import Evaluation, EvaluationResult
from app.reviews.models import Review

_KEYS = ("evaluationId", "externalId")
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Label:
    """A score of 0 to 100 that people gave; `key` is an evaluation's id or its externalId."""

    key: str
    score: float


@dataclass(frozen=True, slots=True)
class Labelled:
    """What can be learnt from: samples of one engine, and how many labels are of no use, and why."""

    samples: list[Sample]
    engine: dict[str, Any]
    unknown: int
    unread: int
    of_other_engines: int


def from_reviews(session: Session, engagement_id: str) -> list[Label]:
    """Return the last overall score that each reviewer gave to each conversation.

    It holds for the current evaluation, whichever revision was reviewed: the words are the same.
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
    last = {
        (evaluation_id, rater): float(score)
        for evaluation_id, rater, score in rows
        if score is not None
    }
    return [Label(evaluation_id, score) for (evaluation_id, _), score in last.items()]


def from_file(text: str) -> list[Label]:
    """Read labels from JSON lines or CSV with `evaluationId` or `externalId`, and `score`.

    Raises:
        ValueError: naming the line that is no label.
    """
    rows = _json_rows(text) if text.lstrip().startswith("{") else _csv_rows(text)
    return [_label(row, line) for line, row in rows]


def labelled(session: Session, labels: Iterable[Label], engagement_id: str) -> Labelled:
    """Find the judgements that labels are about; several labels of one count as their mean.

    Those of the engine that most labels are about are taken.
    """
    given: dict[str, list[float]] = {}
    for label in labels:
        given.setdefault(label.key, []).append(label.score)
    found = list(_judgements(session, list(given), engagement_id))
    engines = Counter(json.dumps(row.engine, sort_keys=True) for row in found)
    [(engine, _)] = engines.most_common(1) or [("{}", 0)]
    own = [row for row in found if json.dumps(row.engine, sort_keys=True) == engine]
    read = [row for row in own if row.signals]
    return Labelled(
        samples=[
            Sample(row.signals, math.fsum(scores) / len(scores))
            for row in read
            for scores in [[*given.get(row.id, ()), *given.get(row.external_id, ())]]
        ],
        engine=json.loads(engine),
        unknown=len(given.keys() - {row.id for row in found} - {row.external_id for row in found}),
        unread=len(own) - len(read),
        of_other_engines=len(found) - len(own),
    )


def _judgements(session: Session, keys: Sequence[str], engagement_id: str) -> Iterator[Any]:
    columns = (Evaluation.id, Evaluation.external_id, Evaluation.engine, EvaluationResult.signals)
    seen = set()
    for start in range(0, len(keys), _BATCH):
        some = keys[start : start + _BATCH]
        rows = session.execute(
            select(*columns)
            .join(EvaluationResult, EvaluationResult.evaluation_id == Evaluation.id)
            .where(
                Evaluation.engagement_id == engagement_id,
                Evaluation.is_current.is_not(False),
                Evaluation.status == Status.COMPLETED,
                Evaluation.id.in_(some) | Evaluation.external_id.in_(some),
            )
            .order_by(Evaluation.id)
        )
        for row in rows:
            if row.id not in seen:
                seen.add(row.id)
                yield row


def _json_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, content in enumerate(text.splitlines(), 1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except ValueError as error:
            raise ValueError(f"line {line} is not JSON") from error
        if not isinstance(row, dict):
            raise ValueError(f"line {line} is not a JSON object")
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
        raise ValueError(f"line {line} has neither evaluationId nor externalId")
    try:
        score = float(row["score"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"line {line} has no score") from error
    if not 0 <= score <= 100 or isinstance(row["score"], bool):
        raise ValueError(f"line {line}: a score is from 0 to 100")
    return Label(key, score)

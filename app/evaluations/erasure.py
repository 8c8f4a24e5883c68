"""Erasure of the words in evaluations and transcripts; scores, metrics and dates stay."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, undefer

from app.core.clock import utc_now
from app.core.errors import Conflict
from app.evaluations import outcome, service
from app.evaluations.enums import ENDED
from app.evaluations.judging.model_answers import ModelAnswer
from app.evaluations.models import (
    Evaluation,
    EvaluationJob,
    EvaluationResult,
    SearchText,
    StoredTranscript,
)
from app.evaluations.search import index
from app.redaction import raw_texts

# Members of a results document that contain sentences, at any depth.
_SENTENCES = frozenset({"explanation", "suggestion", "overview", "issue", "outcome"})
_LISTS = frozenset({"evidence", "strengths", "improvements", "actionItems"})


def lock(session: Session, source_ids: Sequence[str]) -> None:
    """Let reviews and receipts of these sources that are being written end; others wait.

    What they have written is then there to be erased.
    """
    ids = select(Evaluation.id).where(Evaluation.source_id.in_(source_ids))
    session.execute(ids.order_by(Evaluation.id).with_for_update())


def erase(session: Session, source_ids: Sequence[str]) -> int:
    """Erase the words of all evaluations and transcripts of these sources; safe to repeat.

    Returns how many evaluations there are, of every revision. Running judgements end without a
    result, and their workers can write no more.
    """
    raw_texts.delete_originals(session, source_ids)
    index.forget(session, source_ids)
    _erase_transcripts(session, source_ids)
    evaluations = session.scalars(
        select(Evaluation).where(Evaluation.source_id.in_(source_ids)).with_for_update()
    ).all()
    ids = [evaluation.id for evaluation in evaluations]
    session.execute(delete(EvaluationJob).where(EvaluationJob.id.in_(ids)))
    session.execute(delete(ModelAnswer).where(ModelAnswer.evaluation_id.in_(ids)))
    for evaluation in evaluations:
        _erase_columns(session, evaluation)
    results = session.scalars(
        select(EvaluationResult)
        .where(EvaluationResult.evaluation_id.in_(ids))
        .options(undefer(EvaluationResult.as_judged))
    )
    for result in results:
        result.document = _without_words(result.document)
        if result.as_judged is not None:
            result.as_judged = _without_words(result.as_judged)
    session.flush()
    return len(ids)


def _without_words(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return results without any sentence of or about the conversation; numbers and codes stay."""
    return {name: _without(name, value) for name, value in document.items()}


def _without(name: str, value: Any) -> Any:
    if name in _SENTENCES and not isinstance(value, Mapping):
        return None
    if name in _LISTS:
        return []
    if name == "moments":
        return [{**item, "label": ""} for item in value]
    if isinstance(value, Mapping):
        return _without_words(value)
    if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
        cleared = [_without_words(item) for item in value]
        # The reasons of reviews are sentences; those of missing metrics are not about the words.
        if name in ("reviews", "criteria"):
            return [{**item, "reason": None} if "reason" in item else item for item in cleared]
        return cleared
    return value


def _erase_columns(session: Session, evaluation: Evaluation) -> None:
    if evaluation.status not in ENDED:
        service.cancel(session, evaluation.id)
    if evaluation.summary is not None:
        evaluation.summary = _without_words(evaluation.summary)
    evaluation.labels = {}
    # Without words there is no voice to name.
    evaluation.agent_unnamed = False
    search = session.get(SearchText, evaluation.id)
    if search is not None:
        search.text = outcome.search_text(evaluation)


def _erase_transcripts(session: Session, source_ids: Sequence[str]) -> None:
    rows = session.scalars(
        select(StoredTranscript)
        .where(StoredTranscript.source_id.in_(source_ids), StoredTranscript.erased_at.is_(None))
        .options(undefer(StoredTranscript.segments))
    ).all()
    for row in rows:
        row.segments = [
            {**segment, "text": "", "redactions": [], "words": []} for segment in row.segments
        ]
        row.participants = [
            {**participant, "displayName": None} for participant in row.participants
        ]
        row.raw_text_id = None
        # A hash of the words would confirm a guess of them.
        row.digest = ""
        row.erased_at = utc_now()


def require_kept(erased: object) -> None:
    """Raise for erased sources: storing new words would undo the erasure."""
    if erased is not None:
        raise Conflict("This was erased and cannot be stored again.")

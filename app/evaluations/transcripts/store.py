"""Storage of transcripts: written as they were judged, read back for people and the judge."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from app.ai.languages.detection import with_languages
from app.ai.transcript import Transcript
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.ids import new_id
from app.evaluations.models import Evaluation, EvaluationResult, StoredTranscript
from app.evaluations.transcripts import documents


@dataclass(frozen=True, slots=True)
class NewTranscript:
    """A transcript to store; `raw_text_id` names the sealed originals of its masked texts."""

    source_type: str
    source_id: str
    transcript: Transcript
    raw_text_id: str | None = None


def store_transcript(session: Session, new: NewTranscript) -> str:
    """Store a transcript as the newest of its source and return its id.

    Earlier transcripts stay, for the revisions that were judged on them. The same transcript stored
    again, as by a job that runs twice, is the same row.
    """
    row = _row_of(new)
    newest = find(session, source_type=new.source_type, source_id=new.source_id)
    if newest is not None and newest.digest == row.digest:
        return newest.id
    session.add(row)
    session.flush()
    return row.id


def store_first(session: Session, transcripts: Sequence[NewTranscript]) -> list[str]:
    """Store the first transcripts of their sources; return their ids."""
    rows = [_row_of(new) for new in transcripts]
    session.add_all(rows)
    session.flush()
    return [row.id for row in rows]


def _row_of(new: NewTranscript) -> StoredTranscript:
    transcript = with_languages(new.transcript)
    shaped = {
        "language": transcript.language,
        "languages": documents.languages_of(transcript),
        "duration_ms": transcript.duration_ms,
        "word_count": transcript.word_count,
        "segment_count": len(transcript.segments),
        "confidence": transcript.confidence,
        "provider": transcript.provider,
        "model": transcript.model,
        "redacted": transcript.redacted,
        "redaction_entities": documents.entities_of(transcript),
        "participants": documents.participants_of(transcript),
        "segments": documents.segments_of(transcript),
        "origin": documents.origin_of(transcript),
    }
    return StoredTranscript(
        id=new_id("tsc"),
        source_type=new.source_type,
        source_id=new.source_id,
        raw_text_id=new.raw_text_id,
        digest=sha256(orjson.dumps(shaped)).hexdigest(),
        created_at=utc_now(),
        **shaped,
    )


def load(session: Session, *, source_type: str, source_id: str) -> Transcript:
    """Build the newest transcript of a source again; `NotFound` where there is none."""
    return _transcript(find(session, source_type=source_type, source_id=source_id, with_text=True))


def load_stored(session: Session, transcript_id: str) -> Transcript:
    """Load a stored transcript; raise `NotFound` where there is none."""
    return _transcript(stored(session, transcript_id))


def load_all(session: Session, transcript_ids: Collection[str]) -> dict[str, Transcript]:
    """Load stored transcripts by their ids, without those that are missing or erased."""
    rows = session.scalars(
        select(StoredTranscript)
        .options(undefer(StoredTranscript.segments))
        .where(StoredTranscript.id.in_(transcript_ids), StoredTranscript.erased_at.is_(None))
    )
    return {row.id: _transcript(row) for row in rows}


def judged_by(session: Session, evaluation: Evaluation) -> StoredTranscript | None:
    """Return the transcript of an evaluation, or the newest one of its source."""
    if evaluation.transcript_id is not None:
        return session.get(StoredTranscript, evaluation.transcript_id)
    return find(session, source_type=evaluation.source_type, source_id=evaluation.source_id)


def judged_by_all(
    session: Session, evaluations: Sequence[Evaluation]
) -> dict[str, StoredTranscript]:
    """Return the transcripts of evaluations (see `judged_by`) by the evaluations' ids."""
    ids = [evaluation.transcript_id for evaluation in evaluations if evaluation.transcript_id]
    rows = session.scalars(select(StoredTranscript).where(StoredTranscript.id.in_(ids)))
    by_id = {row.id: row for row in rows}
    transcripts = {}
    for evaluation in evaluations:
        row = by_id.get(evaluation.transcript_id or "") or judged_by(session, evaluation)
        if row is not None:
            transcripts[evaluation.id] = row
    return transcripts


def message_sentiments(session: Session, evaluation_id: str) -> dict[str, tuple[str, float]]:
    """Return the sentiment label and score of messages by id."""
    evaluation = session.get(Evaluation, evaluation_id)
    by_segment = sentiments(session, evaluation)
    if evaluation is None or evaluation.transcript_id is None or not by_segment:
        return {}
    row = stored(session, evaluation.transcript_id)
    return {
        segment["messageId"]: by_segment[segment["id"]]
        for segment in (row.segments if row else ())
        if segment["messageId"] and segment["id"] in by_segment
    }


def _transcript(row: StoredTranscript | None) -> Transcript:
    if row is None:
        raise NotFound("There is no transcript.")
    if row.erased_at is not None:
        raise NotFound("The transcript has been erased.")
    return documents.transcript_from(
        segments=row.segments,
        participants=row.participants,
        origin=row.origin,
        duration_ms=row.duration_ms,
        language=row.language,
        confidence=row.confidence,
        provider=row.provider,
        model=row.model,
        redacted=row.redacted,
    )


def find(
    session: Session, *, source_type: str, source_id: str, with_text: bool = False
) -> StoredTranscript | None:
    """Return the newest transcript of a source; its segments are read only `with_text`."""
    statement = (
        select(StoredTranscript.id)
        .where(StoredTranscript.source_id == source_id, StoredTranscript.source_type == source_type)
        .order_by(StoredTranscript.created_at.desc(), StoredTranscript.id.desc())
        .limit(1)
    )
    row_id = session.scalar(statement)
    if row_id is None:
        return None
    return stored(session, row_id) if with_text else session.get(StoredTranscript, row_id)


def stored(session: Session, transcript_id: str) -> StoredTranscript | None:
    """Load a row with its segments, also if the session has it without them."""
    return session.get(
        StoredTranscript,
        transcript_id,
        options=(undefer(StoredTranscript.segments),),
        populate_existing=True,
    )


def sentiments(session: Session, evaluation: Evaluation | None) -> Mapping[str, Any]:
    """Return the sentiment label and score of each scored segment."""
    if evaluation is None:
        return {}
    statement = select(EvaluationResult.segment_sentiments)
    return session.scalar(statement.where(EvaluationResult.evaluation_id == evaluation.id)) or {}

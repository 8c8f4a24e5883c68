"""Transcripts as the API shows them: masked, or in the original where that is requested."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.secrets.encryption import Keyring
from app.evaluations import transcripts
from app.evaluations.enums import SourceType, Status, TranscriptStatus
from app.evaluations.models import Evaluation, StoredTranscript
from app.redaction import raw_texts

_COPIED = (
    *("language", "languages", "word_count", "segment_count", "confidence"),
    *("provider", "model", "erased_at", "participants"),
)
_STATUS_WITHOUT_TRANSCRIPT = {
    Status.QUEUED: TranscriptStatus.PENDING,
    Status.TRANSCRIBING: TranscriptStatus.PROCESSING,
    Status.EVALUATING: TranscriptStatus.PROCESSING,
    Status.COMPLETED: TranscriptStatus.PENDING,
    Status.FAILED: TranscriptStatus.FAILED,
    Status.CANCELED: TranscriptStatus.FAILED,
}


def of_recording(
    session: Session, keyring: Keyring, audio_file_id: str, *, include_words: bool, redacted: bool
) -> dict[str, Any]:
    """Return the newest transcript of a recording for the API.

    A recording without one has no segments, and a status that gives the reason.

    Args:
        redacted: False shows the original words as far as they are kept.
    """
    source = {"source_type": SourceType.AUDIO_FILE, "source_id": audio_file_id}
    current = select(Evaluation).filter_by(**source, is_current=True)
    evaluation = session.scalar(current)
    row = transcripts.find(session, **source, with_text=True)
    shown = _shown(session, keyring, row, evaluation, include_words, redacted)
    return {**_source(**source, evaluation=evaluation), **shown}


def of_evaluation(
    session: Session,
    keyring: Keyring,
    evaluation: Evaluation,
    *,
    include_words: bool,
    redacted: bool,
) -> dict[str, Any]:
    """Return the transcript of an evaluation for the API, in the form of `of_recording`."""
    source = {"source_type": evaluation.source_type, "source_id": evaluation.source_id}
    if evaluation.transcript_id is None:
        row = transcripts.find(session, **source, with_text=True)
    else:
        row = transcripts.find_with_segments(session, evaluation.transcript_id)
    shown = _shown(session, keyring, row, evaluation, include_words, redacted)
    return {**_source(**source, evaluation=evaluation), **shown}


def _source(source_type: str, source_id: str, evaluation: Evaluation | None) -> dict[str, Any]:
    return {
        "source_type": source_type,
        "source_id": source_id,
        "evaluation_id": evaluation.id if evaluation else None,
        "audio_file_id": source_id if source_type == SourceType.AUDIO_FILE else None,
    }


def _shown(
    session: Session,
    keyring: Keyring,
    row: StoredTranscript | None,
    evaluation: Evaluation | None,
    include_words: bool,
    redacted: bool,
) -> dict[str, Any]:
    if row is None:
        return _without_transcript(evaluation)
    raw = None if redacted else raw_texts.find_originals(session, keyring, row.raw_text_id)
    return {
        **{name: getattr(row, name) for name in _COPIED},
        "status": TranscriptStatus.COMPLETED,
        "duration_seconds": None if row.duration_ms is None else (row.duration_ms + 500) // 1000,
        "redacted": row.redacted and raw is None,
        "redaction_entities": {} if raw else row.redaction_entities,
        "segments": _shown_segments(
            _unmasked(row.segments, raw.segments) if raw else row.segments,
            sentiments=transcripts.sentiments(session, evaluation),
            include_words=include_words,
        ),
    }


def _without_transcript(evaluation: Evaluation | None) -> dict[str, Any]:
    status = (
        TranscriptStatus.PENDING
        if evaluation is None
        else _STATUS_WITHOUT_TRANSCRIPT[Status(evaluation.status)]
    )
    return {
        **dict.fromkeys(_COPIED),
        "status": status,
        "language": evaluation.language if evaluation else None,
        "duration_seconds": evaluation.duration_seconds if evaluation else None,
        "languages": [],
        "word_count": 0,
        "segment_count": 0,
        "participants": [],
        "redacted": False,
        "redaction_entities": {},
        "segments": [],
    }


def _unmasked(
    segments: Sequence[Mapping[str, Any]], originals: Mapping[str, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Restore the original texts and words of segments, by segment id."""
    return [
        {
            **segment,
            "text": originals[segment["id"]]["text"],
            "redactions": [],
            "words": [
                {**word, "text": text}
                for word, text in zip(
                    segment["words"], originals[segment["id"]]["words"], strict=True
                )
            ],
        }
        if segment["id"] in originals
        else segment
        for segment in segments
    ]


def _shown_segments(
    segments: Sequence[Mapping[str, Any]],
    *,
    sentiments: Mapping[str, tuple[str, float]],
    include_words: bool,
) -> list[dict[str, Any]]:
    """Number the segments from 0 and add the sentiment; words only on request."""
    shown = []
    for index, segment in enumerate(segments):
        label, score = sentiments.get(segment["id"], (None, None))
        words = segment["words"] if include_words else []
        added = {"index": index, "sentiment": label, "sentimentScore": score, "words": words}
        shown.append({**segment, **added})
    return shown

"""Transcripts: stored as they were judged, read back for people and the judge."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from app.core.clock import iso_utc, utc_now
from app.core.errors import NotFound
from app.core.ids import new_id
from app.core.json_documents import from_api_names, with_api_names
from app.evaluations.models import Evaluation, EvaluationResult, StoredTranscript
from app.evaluations.search import index
from app.judge.languages.detection import UNKNOWN, with_languages
from app.redaction.redactor import documents_of, redactions_from
from app.transcript import AudioInfo, Participant, Role, Segment, Transcript, Word

# Columns that hold a transcript itself.
_SHAPED = (
    *("language", "languages", "duration_ms", "word_count", "segment_count", "confidence"),
    *("provider", "model", "redacted", "redaction_entities", "participants", "segments", "origin"),
)
_AGENTS = frozenset({Role.AGENT.value, Role.BOT.value})


def row_of(
    source_type: str, source_id: str, transcript: Transcript, raw_text_id: str | None = None
) -> StoredTranscript:
    """Make the row of a transcript; `raw_text_id` names the sealed originals of its masked texts."""
    transcript = with_languages(transcript)
    masked = Counter(
        redaction.entity_type for segment in transcript.segments for redaction in segment.redactions
    )
    shaped: dict[str, Any] = {
        "language": transcript.language,
        "languages": _languages_of(transcript),
        "duration_ms": transcript.duration_ms,
        "word_count": transcript.word_count,
        "segment_count": len(transcript.segments),
        "confidence": transcript.confidence,
        "provider": transcript.provider,
        "model": transcript.model,
        "redacted": transcript.redacted,
        "redaction_entities": dict(sorted(masked.items())),
        "participants": [with_api_names(person) for person in transcript.participants],
        "segments": _segments_of(transcript),
        "origin": _origin_of(transcript),
    }
    return _row(source_type, source_id, raw_text_id, shaped)


def with_roles(row: StoredTranscript, roles: Mapping[int, Role]) -> StoredTranscript | None:
    """Copy a row, loaded with its text, with other roles by channel, or by number of the voice.

    Returns None where no voices were told apart, so that there is nothing to name.
    """
    if row.origin["speakerAttribution"] not in ("channel", "diarized"):
        return None
    participants = [
        {**participant, "role": roles.get(number, Role.UNKNOWN).value}
        for number, participant in numbered_voices(row.participants)
    ]
    by_id = {participant["id"]: participant["role"] for participant in participants}
    shaped = {name: getattr(row, name) for name in _SHAPED}
    shaped["participants"] = participants
    shaped["segments"] = [
        {**segment, "role": by_id[segment["participantId"]]} for segment in row.segments
    ]
    return _row(row.source_type, row.source_id, row.raw_text_id, shaped)


def numbered_voices(
    participants: Sequence[Mapping[str, Any]],
) -> list[tuple[int, Mapping[str, Any]]]:
    """Return participants with their numbers in a channel map: their channels, or their order."""
    return [
        (place if participant["channelIndex"] is None else participant["channelIndex"], participant)
        for place, participant in enumerate(participants)
    ]


def lacks_agent(row: StoredTranscript) -> bool:
    """Tell whether two voices of one channel were told apart and none is known to be the agent's."""
    roles = [participant["role"] for participant in row.participants]
    is_told_apart = row.origin["speakerAttribution"] == "diarized" and len(roles) == 2
    return is_told_apart and _AGENTS.isdisjoint(roles)


def _row(
    source_type: str, source_id: str, raw_text_id: str | None, shaped: Mapping[str, Any]
) -> StoredTranscript:
    return StoredTranscript(
        id=new_id("tsc"),
        source_type=source_type,
        source_id=source_id,
        raw_text_id=raw_text_id,
        digest=sha256(orjson.dumps(shaped)).hexdigest(),
        created_at=utc_now(),
        **shaped,
    )


def _languages_of(transcript: Transcript) -> list[dict[str, Any]]:
    """Return the share of words of each language, the largest first.

    `und` means that the language is unknown.
    """
    words: Counter[str] = Counter()
    for segment in transcript.segments:
        code = segment.language or transcript.language or UNKNOWN
        words[code] += len(segment.text.split())
    total = words.total()
    return [
        {"code": code, "share": round(count / total, 4)}
        for code, count in words.most_common()
        if count
    ]


def _segments_of(transcript: Transcript) -> list[dict[str, Any]]:
    """Return the segments as documents with words; the sentiment is added when they are shown."""
    return [
        {
            "id": segment.id,
            "participantId": segment.participant_id,
            "role": segment.role.value,
            "startMs": segment.start_ms,
            "endMs": segment.end_ms,
            "text": segment.text,
            "sentiment": None,
            "sentimentScore": None,
            "language": segment.language,
            "confidence": segment.confidence,
            "channelIndex": segment.channel_index,
            "redactions": documents_of(segment.redactions),
            "messageId": segment.message_id,
            "sentAt": iso_utc(segment.sent_at) if segment.sent_at else None,
            "words": [with_api_names(word) for word in segment.words],
        }
        for segment in transcript.segments
    ]


def _origin_of(transcript: Transcript) -> dict[str, Any]:
    """Return the parts that the judge needs and the API does not show."""
    return {
        "languageConfidence": transcript.language_confidence,
        "modelDigest": transcript.model_digest,
        "speakerAttribution": transcript.speaker_attribution,
        "warnings": list(transcript.warnings),
        "audio": asdict(transcript.audio) if transcript.audio else None,
        "speechMs": transcript.speech_ms,
    }


def store(session: Session, row: StoredTranscript) -> str:
    """Store a transcript as the newest of its source and return its id.

    Earlier transcripts stay, for the revisions that were judged on them. The same transcript stored
    again, as by a job that runs twice, is the same row.
    """
    newest = find(session, source_type=row.source_type, source_id=row.source_id)
    if newest is not None and newest.digest == row.digest:
        return newest.id
    session.add(row)
    index.record(session, [row])
    return row.id


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
    return (
        find_with_segments(session, row_id) if with_text else session.get(StoredTranscript, row_id)
    )


def find_with_segments(session: Session, transcript_id: str) -> StoredTranscript | None:
    """Load a row with its segments, also if the session has it without them."""
    return session.get(
        StoredTranscript,
        transcript_id,
        options=(undefer(StoredTranscript.segments),),
        populate_existing=True,
    )


def load(session: Session, *, source_type: str, source_id: str) -> Transcript:
    """Build the newest transcript of a source again; raise `NotFound` if it does not exist."""
    return _transcript(find(session, source_type=source_type, source_id=source_id, with_text=True))


def load_stored(session: Session, transcript_id: str) -> Transcript:
    """Load a stored transcript; raise `NotFound` if it does not exist."""
    return _transcript(find_with_segments(session, transcript_id))


def load_all(session: Session, transcript_ids: Collection[str]) -> dict[str, Transcript]:
    """Load stored transcripts by their ids, without those that are missing or erased."""
    rows = session.scalars(
        select(StoredTranscript)
        .options(undefer(StoredTranscript.segments))
        .where(StoredTranscript.id.in_(transcript_ids), StoredTranscript.erased_at.is_(None))
    )
    return {row.id: _transcript(row) for row in rows}


def texts_judged_by(
    session: Session, evaluation_ids: Collection[str]
) -> dict[str, StoredTranscript]:
    """Load the transcripts of evaluations with their segments, without those that are erased."""
    rows = session.execute(
        select(Evaluation.id, StoredTranscript)
        .join(StoredTranscript, StoredTranscript.id == Evaluation.transcript_id)
        .options(undefer(StoredTranscript.segments))
        .where(Evaluation.id.in_(evaluation_ids), StoredTranscript.erased_at.is_(None))
    )
    return dict(rows.all())


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


def sentiments(session: Session, evaluation: Evaluation | None) -> Mapping[str, Any]:
    if evaluation is None:
        return {}
    statement = select(EvaluationResult.segment_sentiments)
    return session.scalar(statement.where(EvaluationResult.evaluation_id == evaluation.id)) or {}


def message_sentiments(session: Session, evaluation_id: str) -> dict[str, tuple[str, float]]:
    evaluation = session.get(Evaluation, evaluation_id)
    by_segment = sentiments(session, evaluation)
    if evaluation is None or evaluation.transcript_id is None or not by_segment:
        return {}
    row = find_with_segments(session, evaluation.transcript_id)
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
    origin = row.origin
    return Transcript(
        segments=tuple(_segment(index, segment) for index, segment in enumerate(row.segments)),
        participants=tuple(
            Participant(**from_api_names(person, Participant) | {"role": Role(person["role"])})
            for person in row.participants
        ),
        duration_ms=row.duration_ms,
        language=row.language,
        language_confidence=origin["languageConfidence"],
        confidence=row.confidence,
        provider=row.provider,
        model=row.model,
        model_digest=origin["modelDigest"],
        speaker_attribution=origin["speakerAttribution"],
        warnings=tuple(origin["warnings"]),
        audio=AudioInfo(**origin["audio"]) if origin["audio"] else None,
        speech_ms=origin["speechMs"],
        redacted=row.redacted,
    )


def _segment(index: int, document: Mapping[str, Any]) -> Segment:
    sent_at = document["sentAt"]
    return Segment(
        id=document["id"],
        index=index,
        participant_id=document["participantId"],
        role=Role(document["role"]),
        text=document["text"],
        start_ms=document["startMs"],
        end_ms=document["endMs"],
        language=document["language"],
        confidence=document["confidence"],
        channel_index=document["channelIndex"],
        message_id=document["messageId"],
        sent_at=datetime.fromisoformat(sent_at) if sent_at else None,
        words=tuple(Word(**from_api_names(word, Word)) for word in document["words"]),
        redactions=redactions_from(document["redactions"]),
    )

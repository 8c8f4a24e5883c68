"""Conversion of transcripts to the documents that are stored and shown, and back."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from app.ai.languages.detection import UNKNOWN
from app.ai.transcript import AudioInfo, Participant, Role, Segment, Transcript, Word
from app.core.clock import iso_utc
from app.redaction.redactor import documents_of, redactions_from


def participants_of(transcript: Transcript) -> list[dict[str, Any]]:
    """Return the participants as documents."""
    return [
        {
            "id": participant.id,
            "role": participant.role.value,
            "kind": participant.kind,
            "displayName": participant.display_name,
            "channelIndex": participant.channel_index,
            "executiveId": participant.executive_id,
        }
        for participant in transcript.participants
    ]


def segments_of(transcript: Transcript) -> list[dict[str, Any]]:
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
            "words": [
                {
                    "text": word.text,
                    "startMs": word.start_ms,
                    "endMs": word.end_ms,
                    "confidence": word.confidence,
                }
                for word in segment.words
            ],
        }
        for segment in transcript.segments
    ]


def languages_of(transcript: Transcript) -> list[dict[str, Any]]:
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


def entities_of(transcript: Transcript) -> dict[str, int]:
    """Count the redactions by type."""
    masked = (
        redaction.entity_type for segment in transcript.segments for redaction in segment.redactions
    )
    return dict(sorted(Counter(masked).items()))


def unmasked(
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


def origin_of(transcript: Transcript) -> dict[str, Any]:
    """Return the parts that the judge needs and the API does not show."""
    return {
        "languageConfidence": transcript.language_confidence,
        "modelDigest": transcript.model_digest,
        "speakerAttribution": transcript.speaker_attribution,
        "warnings": list(transcript.warnings),
        "audio": asdict(transcript.audio) if transcript.audio else None,
        "speechMs": transcript.speech_ms,
    }


def transcript_from(
    *,
    segments: Sequence[Mapping[str, Any]],
    participants: Sequence[Mapping[str, Any]],
    origin: Mapping[str, Any],
    **header: Any,
) -> Transcript:
    """Rebuild the transcript from its documents."""
    return Transcript(
        segments=tuple(_segment(index, segment) for index, segment in enumerate(segments)),
        participants=tuple(
            Participant(
                id=participant["id"],
                role=Role(participant["role"]),
                kind=participant["kind"],
                display_name=participant["displayName"],
                channel_index=participant["channelIndex"],
                executive_id=participant["executiveId"],
            )
            for participant in participants
        ),
        language_confidence=origin["languageConfidence"],
        model_digest=origin["modelDigest"],
        speaker_attribution=origin["speakerAttribution"],
        warnings=tuple(origin["warnings"]),
        audio=AudioInfo(**origin["audio"]) if origin["audio"] else None,
        speech_ms=origin["speechMs"],
        **header,
    )


def shown_segments(
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
        words=tuple(
            Word(word["text"], word["startMs"], word["endMs"], word["confidence"])
            for word in document["words"]
        ),
        redactions=redactions_from(document["redactions"]),
    )

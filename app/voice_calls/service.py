"""Voice calls: preparation, upserts, links to their recordings, and erasure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal, cast

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from app.audio_files import queries as audio_files
from app.audio_files.erasure import CUSTOMER_LABEL
from app.audio_files.links import RecordingLinks
from app.audio_files.muting import copy_for_key
from app.campaigns import service as campaigns
from app.campaigns.enums import CampaignCount
from app.core.clock import iso_utc, utc_now
from app.core.database import upserts
from app.core.database.filters import searchable
from app.core.database.rows import find_row
from app.core.database.upserts import Upserted
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.json_documents import digest_of
from app.core.principal import Principal
from app.core.runtime import Runtime
from app.evaluations import sources
from app.evaluations.enums import Channel
from app.evaluations.erasure import require_kept
from app.events.catalogue import EventType
from app.events.data import VoiceCallCompleted
from app.events.outbox import publish
from app.judge.dialogue.cues import Cues
from app.judge.dialogue.turns import dialogue_of
from app.judge.facts.metrics import Measures, measure_speech
from app.judge.facts.timing import percentile, timing_of
from app.redaction import raw_texts
from app.redaction.redactor import Redactor, SealedOriginals, documents_of
from app.scorecards.service import current_default
from app.voice_calls import queries
from app.voice_calls.enums import ENDED
from app.voice_calls.evaluation import (
    channel_of,
    reading_order,
    request_evaluation,
    transcript_of_turns,
)
from app.voice_calls.models import VoiceCall, VoiceCallSearchText, VoiceCallTurns

_LATENCY_PERCENTILES = {"p50": 50, "p90": 90, "p95": 95, "max": 100}
_LATENCY_METRICS = {
    "p50": "latencyMsP50",
    "p90": "latencyMsP90",
    "p95": "latencyMsP95",
    "max": "latencyMsMax",
    "count": "latencyMsCount",
}
# Values of `prepare_voice_call` that are not columns.
_NOT_COLUMNS = frozenset({"turns", "raw", "turns_digest"})


def prepare_voice_call(fields: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    """Mask the turns of a call and compute its durations, latencies and interruptions.

    This takes too long for a transaction.

    Args:
        fields: columns of a voice call; `turns`, each with `role`, `text`, `start_ms` and
            `end_ms`; `latency_ms` as percentiles, or as a list of measured values.

    Returns:
        The columns, including the computed ones; the masked `turns`, `turns_digest` of the given
        ones, and `raw`, the sealed originals.
    """
    turns: list[dict[str, Any]] = fields["turns"]
    channel = fields["channel"] or channel_of(turns)
    measures = _measured(turns, channel)
    masked, raw = _masked(turns, redactor)
    by_bot = measures.get("interruptionsByAgent") if channel == Channel.VOICE_BOT else None
    return {
        **fields,
        "channel": channel,
        "turns": masked,
        "turns_digest": digest_of([redactor.enabled, turns]),
        "raw": raw,
        "redacted": redactor.enabled,
        "duration_seconds": _duration(fields),
        "ring_seconds": _seconds_between(fields["started_at"], fields["answered_at"]),
        "latency_ms": _latency(fields["latency_ms"], measures),
        "interruptions_by_customer": measures.get("interruptionsByCustomer"),
        "interruptions_by_bot": by_bot,
    }


def upsert(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> Upserted[dict[str, Any]]:
    """Create or update a voice call.

    Values that are stored already change nothing. When a call ends, this transaction also writes
    the event `voice-call.completed`, once.

    Raises:
        InvalidInput: a reference does not exist.
        Conflict: the call was erased.
    """
    turns, raw, turns_digest = values["turns"], values["raw"], values["turns_digest"]
    columns = {name: value for name, value in values.items() if name not in _NOT_COLUMNS}
    columns["digest"] = digest_of([columns, turns_digest])
    _require(session, columns)
    columns["has_transcript"] = bool(turns) or _is_transcribed(session, columns["recording_id"])
    row, created = upserts.find_or_create(session, VoiceCall, "call", external_id, columns)
    require_kept(row.erased_at)
    if not created and row.digest == columns["digest"]:
        return Upserted(queries.get(session, row.id), created=False, changed=False)
    former_campaign_id = None if created else row.campaign_id
    if created or _stored_digest(session, row.id) != turns_digest:
        columns["raw_text_id"] = raw_texts.store(session, row.id, raw)
    columns["conversation_at"] = columns["started_at"] or row.created_at
    upserts.update_row(session, row, columns)
    text = queries.search_text(columns, external_id)
    for part in (
        VoiceCallTurns(voice_call_id=row.id, turns=turns, digest=turns_digest),
        VoiceCallSearchText(voice_call_id=row.id, text=text),
    ):
        if created:
            session.add(part)
        else:
            session.merge(part)
    session.flush()
    campaigns.count_move(session, former_campaign_id, row.campaign_id, CampaignCount.VOICE_CALLS)
    if row.status in ENDED and row.announced_at is None:
        _announce(session, row)
    return Upserted(queries.get(session, row.id), created, changed=True)


def put(
    session: Session, external_id: str, values: Mapping[str, Any], *, evaluate: bool | None = None
) -> Upserted[dict[str, Any]]:
    """Create or update a voice call; unless `evaluate` is False, an ended call is evaluated."""
    stored = upsert(session, external_id, values)
    if evaluate is False:
        return stored
    request_evaluation(session, stored.record["id"])
    return stored._replace(record=queries.get(session, stored.record["id"]))


def recording_link(
    runtime: Runtime, voice_call_id: str, *, links: RecordingLinks, key: Principal, request_id: str
) -> dict[str, Any]:
    """Return a signed link to the recording of a call, in which masked words are silent.

    Raises:
        NotFound: there is no such call, or it has no uploaded recording.
        Conflict: its words are not known yet, or being silenced.
    """
    with runtime.db.reading() as session:
        recording_id = find(session, voice_call_id).recording_id
        if recording_id is None:
            raise NotFound("This voice call has no recording.")
        try:
            audio_files.find_stored(session, recording_id)
        except Conflict as error:
            raise NotFound("The recording of this voice call has not been uploaded.") from error
    copy = copy_for_key(runtime, recording_id, key=key, original=False, request_id=request_id)
    with runtime.db.reading() as session:
        link = audio_files.download_link(session, recording_id, links=links, copy=copy)
        audio = audio_files.find(session, recording_id)
    return {
        "voice_call_id": voice_call_id,
        "recording_url": link["download_url"],
        "expires_at": link["expires_at"],
        "content_type": link["content_type"],
        "channels": audio.channels,
        "duration_seconds": audio.duration_seconds,
        "redacted": link["muted"],
    }


def find(session: Session, voice_call_id: str) -> VoiceCall:
    """Return the row of a voice call; raises `NotFound`."""
    return find_row(session, VoiceCall, voice_call_id, "voice call")


def is_of(customer_ref: str) -> ColumnElement[bool]:
    """Return whether a call is of this customer and not erased, by label or the customer's number.

    The customer's number is the called one in an outbound call and the calling one in any other, so
    that a company's own number does not select all its calls.
    """
    is_outbound = VoiceCall.direction == "outbound"
    return or_(
        VoiceCall.labels[CUSTOMER_LABEL].as_string() == customer_ref,
        and_(~is_outbound, VoiceCall.from_number == customer_ref),
        and_(is_outbound, VoiceCall.to_number == customer_ref),
    )


def recordings_of(session: Session, voice_call_ids: Sequence[str]) -> Sequence[str]:
    """Return the ids of the recordings of these calls."""
    ids = select(VoiceCall.recording_id).where(
        VoiceCall.id.in_(voice_call_ids), VoiceCall.recording_id.is_not(None)
    )
    return [recording_id for recording_id in session.scalars(ids) if recording_id]


def erase(session: Session, voice_call_ids: Sequence[str]) -> Sequence[str]:
    """Delete numbers, texts and collected fields of these calls; return the ids of their recordings."""
    recordings = []
    for row in session.scalars(
        select(VoiceCall)
        .where(VoiceCall.id.in_(voice_call_ids))
        .order_by(VoiceCall.id)
        .with_for_update()
    ):
        if row.recording_id is not None:
            recordings.append(row.recording_id)
        row.from_number = row.to_number = row.raw_text_id = None
        row.collected_fields = row.labels = {}
        row.digest, row.judged_digest, row.awaits_words = "", None, False
        row.erased_at = row.updated_at = utc_now()
        spoken = session.get(VoiceCallTurns, row.id)
        if spoken is not None:
            spoken.turns = [
                {**turn, "text": "", "redactions": [], "words": []} for turn in spoken.turns
            ]
            spoken.digest = ""
        search_text = session.get(VoiceCallSearchText, row.id)
        if search_text is not None:
            search_text.text = searchable(row.external_id)
    return recordings


def _masked(
    turns: Sequence[Mapping[str, Any]], redactor: Redactor
) -> tuple[list[dict[str, Any]], SealedOriginals | None]:
    """Mask the texts and words in transcript order; the originals are sealed by segment."""
    masked = [{**turn, "redactions": []} for turn in turns]
    if not redactor.enabled:
        return masked, None
    transcript, raw = redactor.masked_transcript(transcript_of_turns(turns, language=None))
    for place, segment in zip(reading_order(turns), transcript.segments, strict=True):
        masked[place]["text"] = segment.text
        masked[place]["redactions"] = documents_of(segment.redactions)
        if segment.words:
            masked[place]["words"] = [asdict(word) for word in segment.words]
    return masked, raw


def _measured(turns: Sequence[Mapping[str, Any]], channel: str) -> Measures:
    measures = Measures()
    timed = all(turn["start_ms"] is not None and turn["end_ms"] is not None for turn in turns)
    if turns and timed:
        settings = current_default(channel).scorecard.metrics
        # The measures below use only roles and times, so the language does not matter.
        transcript = transcript_of_turns(turns, language=None)
        dialogue = dialogue_of(transcript, channel=channel, language="en")
        timing = timing_of(dialogue, Cues(), settings)
        measure_speech(measures, dialogue, timing, settings)
    return measures


def _latency(
    latencies: Mapping[str, Any] | Sequence[float] | None, measures: Measures
) -> dict[str, Any] | None:
    if isinstance(latencies, Mapping):
        return {name: latencies.get(name) for name in _LATENCY_METRICS}
    if latencies:
        percentiles = {
            name: round(percentile(latencies, at)) for name, at in _LATENCY_PERCENTILES.items()
        }
        return {**percentiles, "count": len(latencies)}
    if not measures.get("latencyMsCount"):
        return None
    measured = {name: measures.get(metric) for name, metric in _LATENCY_METRICS.items()}
    return {name: None if value is None else round(value) for name, value in measured.items()}


def _duration(fields: Mapping[str, Any]) -> int | None:
    if fields["duration_seconds"] is not None:
        return int(fields["duration_seconds"])
    return _seconds_between(fields["started_at"] or fields["answered_at"], fields["ended_at"])


def _seconds_between(start: datetime | None, end: datetime | None) -> int | None:
    if start is None or end is None:
        return None
    return max(0, round((end - start).total_seconds()))


def _stored_digest(session: Session, voice_call_id: str) -> str | None:
    turns = session.get(VoiceCallTurns, voice_call_id)
    return turns.digest if turns else None


def _require(session: Session, columns: dict[str, Any]) -> None:
    sources.resolve(session, columns)
    if columns["recording_id"] is not None:
        try:
            audio_files.find(session, columns["recording_id"])
        except NotFound as error:
            raise InvalidInput.field("recording.audioFileId", error.message) from error


def _is_transcribed(session: Session, recording_id: str | None) -> bool:
    return recording_id is not None and audio_files.find(session, recording_id).has_transcript


def _announce(session: Session, row: VoiceCall) -> None:
    row.announced_at = utc_now()
    data = VoiceCallCompleted(
        voice_call_id=row.id,
        engagement_id=row.engagement_id or "",
        campaign=campaigns.name_of(session, row.campaign_id) or "",
        # The type checker sees texts; the values come from the enumerations.
        status=cast(
            Literal["completed", "no_answer", "busy", "failed", "canceled", "voicemail"], row.status
        ),
        end_reason=row.end_reason,
        direction=cast(Literal["inbound", "outbound", "unknown"], row.direction),
        duration_seconds=row.duration_seconds,
        started_at=iso_utc(row.started_at) if row.started_at else None,
        ended_at=iso_utc(row.ended_at) if row.ended_at else None,
        transferred=row.transferred_to_human,
    )
    publish(session, EventType.VOICE_CALL_COMPLETED, data)
    session.flush()

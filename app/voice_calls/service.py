"""Voice calls: upserts, the event of their end and links to their recordings."""

from collections.abc import Mapping
from typing import Any, Literal, cast

from sqlalchemy.orm import Session

from app.audio_files import queries as audio_files
from app.audio_files.uploads.links import RecordingLinks
from app.campaigns import service as campaigns
from app.campaigns.enums import CampaignCount
from app.core.clock import iso_utc, utc_now
from app.core.database import upserts
from app.core.database.rows import find_row
from app.core.database.upserts import Upserted
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.json_documents import digest_of
from app.evaluations import sources
from app.evaluations.erasure import require_kept
from app.events.catalogue import EventType, VoiceCallCompleted
from app.events.outbox import publish
from app.redaction import raw_texts
from app.voice_calls import queries
from app.voice_calls.enums import ENDED
from app.voice_calls.models import VoiceCall, VoiceCallSearchText, VoiceCallTurns

# Values of `preparation.prepare_voice_call` that are not columns.
_NOT_COLUMNS = frozenset({"turns", "raw", "turns_digest"})


def upsert(
    session: Session, external_id: str, values: Mapping[str, Any]
) -> Upserted[dict[str, Any]]:
    """Create or update a voice call.

    Values that are stored already change nothing. When a call ends, this transaction also writes
    the event `voice-call.completed`, once.

    Args:
        values: the result of `preparation.prepare_voice_call`.

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


def recording_link(
    session: Session, voice_call_id: str, *, links: RecordingLinks
) -> dict[str, Any]:
    """Return a signed link to the recording of a call.

    Raises:
        NotFound: there is no such call, or it has no uploaded recording.
    """
    recording_id = find(session, voice_call_id).recording_id
    if recording_id is None:
        raise NotFound("This voice call has no recording.")
    try:
        link = audio_files.download_link(session, recording_id, links=links)
    except Conflict as error:
        raise NotFound("The recording of this voice call has not been uploaded.") from error
    audio = audio_files.find(session, recording_id)
    return {
        "voice_call_id": voice_call_id,
        "recording_url": link["download_url"],
        "expires_at": link["expires_at"],
        "content_type": link["content_type"],
        "channels": audio.channels,
        "duration_seconds": audio.duration_seconds,
        "redacted": False,
    }


def find(session: Session, voice_call_id: str) -> VoiceCall:
    """Return the row of a voice call; raises `NotFound`."""
    return find_row(session, VoiceCall, voice_call_id, "voice call")


def _stored_digest(session: Session, voice_call_id: str) -> str | None:
    turns = session.get(VoiceCallTurns, voice_call_id)
    return turns.digest if turns else None


def _require(session: Session, columns: Mapping[str, Any]) -> None:
    sources.require(session, columns)
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

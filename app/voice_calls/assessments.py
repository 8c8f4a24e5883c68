"""The evaluation of voice calls: asked for when there are words to judge, and shown beside them."""

from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.ai.context import Context
from app.ai.transcript import Transcript
from app.core.digests import digest_of
from app.core.errors import NotFound
from app.evaluations import references
from app.evaluations.enums import Channel, SourceType
from app.evaluations.judging import judgements
from app.evaluations.models import Evaluation, StoredTranscript
from app.evaluations.transcripts import store as transcripts
from app.voice_calls.models import VoiceCall, VoiceCallTurns
from app.voice_calls.transcripts import of_recording, of_turns
from app.voice_calls.vocabulary import ENDED, CallStatus


def request_evaluation(
    session: Session, voice_call_id: str, *, scorecard_id: str | None = None
) -> Evaluation | None:
    """Queue the judgement of an ended call as its next revision.

    None where there is nothing to do: it has not ended, nothing was said in it, or what would be
    judged has not changed since the last time that this was asked. A call whose recording has no
    transcript yet is judged once it has one.

    Raises:
        NotFound: there is no such call.
        InvalidInput: there is no such scorecard, or it is made for another channel.
    """
    row = session.get(VoiceCall, voice_call_id, with_for_update=True)
    if row is None:
        raise NotFound("There is no such voice call.")
    if row.status not in ENDED:
        return None
    said, words, raw_text_id = _said(session, row)
    row.awaits_words = said is None and row.recording_id is not None
    if said is None or not any(each.text.strip() for each in said.segments):
        return None
    judged_digest = _judged(row, words, scorecard_id)
    if row.judged_digest == judged_digest:
        return None
    row.judged_digest = judged_digest
    return judgements.request(
        session,
        transcript=said,
        raw_text_id=raw_text_id,
        context=_context(row),
        scorecard_id=scorecard_id,
        source_type=SourceType.VOICE_CALL,
        source_id=row.id,
        channel=Channel.VOICE_BOT,
        **references.named(session, row),
        language=row.language,
        direction=row.direction,
        started_at=row.started_at,
        duration_seconds=row.duration_seconds,
        external_id=row.external_id,
        labels=row.labels,
    )


def note_evaluation(session: Session, current: Evaluation) -> None:
    """Show the current evaluation beside its call; hear of recordings that have a transcript now."""
    if current.source_type == SourceType.VOICE_CALL:
        session.execute(
            update(VoiceCall)
            .where(VoiceCall.id == current.source_id)
            .values(evaluation_id=current.id, score=current.score)
            .execution_options(synchronize_session=False)
        )
    elif current.source_type == SourceType.AUDIO_FILE:
        _note_transcript(session, current.source_id)


def _note_transcript(session: Session, recording_id: str) -> None:
    calls = session.scalars(
        select(VoiceCall).where(VoiceCall.recording_id == recording_id).with_for_update()
    ).all()
    if not calls or _heard(session, recording_id) is None:
        return
    for call in calls:
        call.has_transcript = True
        if call.awaits_words:
            request_evaluation(session, call.id)


def _heard(session: Session, recording_id: str) -> StoredTranscript | None:
    return transcripts.find(session, source_type=SourceType.AUDIO_FILE, source_id=recording_id)


def _said(session: Session, row: VoiceCall) -> tuple[Transcript | None, str, str | None]:
    """Return the words of a call, what tells whether they are the same, and the raw text's id."""
    spoken = session.get(VoiceCallTurns, row.id)
    if spoken is not None and spoken.turns:
        said = of_turns(
            spoken.turns, language=row.language, bot_name=row.bot_name, redacted=row.redacted
        )
        return said, spoken.digest, row.raw_text_id
    if row.recording_id is None:
        return None, "", None
    stored = _heard(session, row.recording_id)
    if stored is None:
        return None, "", None
    heard = transcripts.load_stored(session, stored.id)
    said = of_recording(heard, transferred=row.transferred_to_human, bot_name=row.bot_name)
    return said, stored.digest, stored.raw_text_id


def _judged(row: VoiceCall, words: str, scorecard_id: str | None) -> str:
    """Hash what an evaluation is made of; collected fields and the like are no part of it."""
    ids: list[Any] = [getattr(row, column) for column in references.COLUMNS]
    length = [row.started_at, row.duration_seconds]
    end = [row.status, row.ended_by, row.transferred_to_human, row.fallback_count]
    kind = [row.language, row.direction, row.bot_name, row.labels, scorecard_id]
    return digest_of([*ids, *length, *end, *kind, words])


def _context(row: VoiceCall) -> Context:
    return Context(
        language=row.language,
        transferred=row.transferred_to_human,
        completed=row.status == CallStatus.COMPLETED,
        ended_by=row.ended_by,
        closed_at=row.ended_at,
        fallback_count=row.fallback_count,
    )

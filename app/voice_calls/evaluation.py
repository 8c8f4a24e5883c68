"""Evaluation of voice calls: requests, transcripts for the judges, and the results stored with the calls."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from app.core.database.rows import find_row
from app.core.json_documents import digest_of
from app.evaluations import sources, transcripts
from app.evaluations.enums import Channel, SourceType
from app.evaluations.judging import judgements
from app.evaluations.models import Evaluation, StoredTranscript
from app.judge.context import Context
from app.redaction.redactor import redactions_from
from app.transcript import Participant, Role, Segment, Transcript, Word
from app.voice_calls.enums import ENDED, CallStatus
from app.voice_calls.models import VoiceCall, VoiceCallTurns

_KINDS = {"customer": "human", "agent": "human", "bot": "bot", "system": "ivr"}


def request_evaluation(
    session: Session, voice_call_id: str, *, scorecard_id: str | None = None
) -> Evaluation | None:
    """Queue the evaluation of an ended call as its next revision.

    Returns None if there is nothing to evaluate: the call has not ended, has no text, or has not
    changed since its last evaluation. A call whose recording has no transcript yet is evaluated
    once there is one.

    Raises:
        NotFound: there is no such call.
        InvalidInput: there is no such scorecard, or it is for another channel.
    """
    row = find_row(session, VoiceCall, voice_call_id, "voice call", for_update=True)
    if row.status not in ENDED:
        return None
    transcript, words_digest, raw_text_id = _words(session, row)
    row.awaits_words = transcript is None and row.recording_id is not None
    if transcript is None or not any(segment.text.strip() for segment in transcript.segments):
        return None
    judged_digest = _input_digest(row, words_digest, scorecard_id)
    if row.judged_digest == judged_digest:
        return None
    row.judged_digest = judged_digest
    [names] = sources.named(session, [row])
    evaluation = Evaluation(
        source_type=SourceType.VOICE_CALL,
        source_id=row.id,
        channel=row.channel,
        **names,
        language=row.language,
        direction=row.direction,
        started_at=row.started_at,
        conversation_at=row.conversation_at,
        duration_seconds=row.duration_seconds,
        external_id=row.external_id,
        labels=row.labels,
        context=sources.context_document(_context(row)),
    )
    stored = transcripts.row_of(SourceType.VOICE_CALL, row.id, transcript, raw_text_id)
    return judgements.request(session, evaluation, stored, scorecard_id=scorecard_id)


def note_evaluations(session: Session, changed: Sequence[Evaluation]) -> None:
    """Store the ids and scores of current evaluations with their calls.

    The evaluation of a recording shows that it has a transcript now, so that its calls can be
    evaluated, or that its voices have other names, so that they are evaluated again.
    """
    for current in changed:
        if current.source_type == SourceType.VOICE_CALL:
            session.execute(
                update(VoiceCall)
                .where(VoiceCall.id == current.source_id)
                .values(evaluation_id=current.id, score=current.score)
                .execution_options(synchronize_session=False)
            )
        elif current.source_type == SourceType.AUDIO_FILE:
            _note_transcript(session, current.source_id)


def transcript_of_turns(
    turns: Sequence[Mapping[str, Any]],
    *,
    language: str | None,
    bot_name: str | None = None,
    redacted: bool = False,
) -> Transcript:
    """Build the transcript of the turns, ordered by start time if all have one."""
    ordered = [turns[index] for index in reading_order(turns)]
    ends = [turn["end_ms"] for turn in ordered if turn["end_ms"] is not None]
    return Transcript(
        segments=tuple(_segment(index, turn) for index, turn in enumerate(ordered)),
        participants=tuple(
            Participant(
                id=role,
                role=Role(role),
                kind=_KINDS[role],
                display_name=bot_name if role == "bot" else None,
            )
            for role in dict.fromkeys(turn["role"] for turn in ordered)
        ),
        duration_ms=max(ends) if len(ends) == len(ordered) > 0 else None,
        language=language,
        provider="source",
        speaker_attribution="messages",
        redacted=redacted,
    )


def channel_of(turns: Sequence[Mapping[str, Any]]) -> Channel:
    """Return the channel by who talks for the company: agents alone, or a bot."""
    roles = {turn["role"] for turn in turns}
    return Channel.VOICE if Role.AGENT in roles and Role.BOT not in roles else Channel.VOICE_BOT


def reading_order(turns: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indexes of the turns by start time, or unchanged if a turn has none."""
    indexes = list(range(len(turns)))
    if all(turn["start_ms"] is not None for turn in turns):
        indexes.sort(key=lambda index: turns[index]["start_ms"])
    return indexes


def masked_turns_of(session: Session, recording_id: str) -> list[Transcript]:
    statement = (
        select(VoiceCallTurns)
        .join(VoiceCall, VoiceCall.id == VoiceCallTurns.voice_call_id)
        .where(VoiceCall.recording_id == recording_id, VoiceCall.redacted)
        .order_by(VoiceCall.id)
    )
    return [
        transcript_of_turns(spoken.turns, language=None, redacted=True)
        for spoken in session.scalars(statement)
    ]


def _note_transcript(session: Session, recording_id: str) -> None:
    calls = session.scalars(
        select(VoiceCall).where(VoiceCall.recording_id == recording_id).with_for_update()
    ).all()
    if not calls or (recording := _recording_transcript(session, recording_id)) is None:
        return
    for call in calls:
        call.has_transcript = True
        if call.awaits_words or _is_renamed(session, call, recording):
            request_evaluation(session, call.id)


def _is_renamed(session: Session, call: VoiceCall, recording: StoredTranscript) -> bool:
    """Tell whether a call was judged by the voices of its recording, and another is the customer's now."""
    former = session.get(Evaluation, call.evaluation_id) if call.evaluation_id else None
    judged = transcripts.judged_by(session, former) if former is not None else None
    if judged is None or judged.origin["speakerAttribution"] == "messages":
        return False
    return _customers(judged) != _customers(recording)


def _customers(row: StoredTranscript) -> set[str]:
    return {
        participant["id"] for participant in row.participants if participant["role"] == "customer"
    }


def _recording_transcript(session: Session, recording_id: str) -> StoredTranscript | None:
    return transcripts.find(session, source_type=SourceType.AUDIO_FILE, source_id=recording_id)


def _words(session: Session, row: VoiceCall) -> tuple[Transcript | None, str, str | None]:
    """Return the transcript of a call, the hash of its words and the id of the sealed originals."""
    words = session.get(VoiceCallTurns, row.id)
    if words is not None and words.turns:
        transcript = transcript_of_turns(
            words.turns, language=row.language, bot_name=row.bot_name, redacted=row.redacted
        )
        return transcript, words.digest, row.raw_text_id
    if row.recording_id is None:
        return None, "", None
    stored = _recording_transcript(session, row.recording_id)
    if stored is None:
        return None, "", None
    transcript = _of_recording(
        transcripts.load_stored(session, stored.id),
        by_people=row.transferred_to_human or row.channel == Channel.VOICE,
        bot_name=row.bot_name,
    )
    return transcript, stored.digest, stored.raw_text_id


def _input_digest(row: VoiceCall, words_digest: str, scorecard_id: str | None) -> str:
    """Hash everything that an evaluation depends on; collected fields, for example, do not belong."""
    ids: list[Any] = [getattr(row, column) for column in sources.COLUMNS]
    length = [row.started_at, row.duration_seconds]
    end = [row.status, row.ended_by, row.transferred_to_human, row.fallback_count]
    kind = [row.language, row.direction, row.bot_name, row.labels, scorecard_id]
    # Calls that were judged as a bot's before there was a choice are not judged again.
    channel = [] if row.channel == Channel.VOICE_BOT else [row.channel]
    return digest_of([*ids, *length, *end, *kind, *channel, words_digest])


def _context(row: VoiceCall) -> Context:
    return Context(
        language=row.language,
        transferred=row.transferred_to_human,
        completed=row.status == CallStatus.COMPLETED,
        ended_by=row.ended_by,
        closed_at=row.ended_at,
        fallback_count=row.fallback_count,
    )


def _of_recording(transcript: Transcript, *, by_people: bool, bot_name: str | None) -> Transcript:
    """Assign the agent's channel to the bot, unless a person talks for the company."""
    if by_people:
        return transcript
    return replace(
        transcript,
        segments=tuple(
            replace(segment, role=Role.BOT) if segment.role is Role.AGENT else segment
            for segment in transcript.segments
        ),
        participants=tuple(
            replace(participant, role=Role.BOT, kind="bot", display_name=bot_name)
            if participant.role is Role.AGENT
            else participant
            for participant in transcript.participants
        ),
    )


def _segment(index: int, turn: Mapping[str, Any]) -> Segment:
    # A turn with only one of its times counts as untimed: measures need both.
    timed = turn["start_ms"] is not None and turn["end_ms"] is not None
    return Segment(
        id=f"seg_{index + 1:04d}",
        index=index,
        participant_id=turn["role"],
        role=Role(turn["role"]),
        text=turn["text"],
        start_ms=turn["start_ms"] if timed else None,
        end_ms=turn["end_ms"] if timed else None,
        words=tuple(Word(**word) for word in turn.get("words", ())) if timed else (),
        redactions=redactions_from(turn.get("redactions", ())),
    )

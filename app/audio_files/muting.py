"""Muted copies: the sound of recordings in which every masked word is silent.

People hear these; the original, which says what the text masks, needs a scope of its own.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.audio_files import queries
from app.audio_files.enums import ContentType
from app.audio_files.models import AudioFile, WaveformJob
from app.audio_files.playback import waveform_bell
from app.audio_files.stored_objects import PlayedObject, mute_id
from app.core.clock import utc_now
from app.core.database.session import ring_after_commit
from app.core.database.upserts import insert_missing
from app.core.errors import Conflict, InsufficientScope, NotFound
from app.core.hooks import hooks_of
from app.core.jobs.leases import OPEN_STATES, JobState
from app.core.json_documents import digest_of
from app.core.principal import ORIGINAL_SOUND, Principal
from app.core.runtime import Runtime
from app.evaluations import transcripts
from app.evaluations.enums import SourceType
from app.people import audit
from app.people.audit import Action, Actor
from app.redaction.conversation_text import asks_for_card
from app.transcript import Segment, Transcript

# Recognisers place words some hundredths of a second too early or too late.
_MARGIN_MS = 150
# What is said of a card may be misheard before and after the words that were masked.
_CARD_TYPES = frozenset({"card", "cvv", "masked"})
_BEFORE_CARD_MS, _AFTER_CARD_MS = 3_000, 1_000
_LEAST_UNHEARD_MS = 2_000
_END_MS = 1_000_000_000
# They travel in one argument of a process; more are silenced from the first to the last.
_MOST_SPANS = 4_000


@dataclass(frozen=True, slots=True)
class MaskedSound:
    """Masked stretches of a recording, in ms from its start, and their digest."""

    spans: tuple[tuple[int, int], ...]
    digest: str


def masked_sound(session: Session, audio_file_id: str) -> MaskedSound:
    """Return what the newest transcript of a recording masks, or the turns of its calls."""
    said: list[Transcript] = [*hooks_of(session).turns_of_recording(session, audio_file_id)]
    row = transcripts.find(session, source_type=SourceType.AUDIO_FILE, source_id=audio_file_id)
    if row is not None and row.redacted and row.erased_at is None:
        said.append(transcripts.load_stored(session, row.id))
    spans = _merged(span for spoken in said for span in silences(spoken))
    return MaskedSound(spans, digest_of(spans))


def silences(transcript: Transcript) -> Iterator[tuple[int, int]]:
    """Yield the stretches in which masked words are spoken, with a margin.

    Where it is uncertain which words were masked, the whole segment is silent; a segment without
    times silences everything.
    """
    for segment in transcript.segments:
        if not segment.redactions:
            continue
        if segment.start_ms is None or segment.end_ms is None:
            yield 0, _END_MS
            return
        whole = (segment.start_ms, segment.end_ms)
        spans = _masked_words(segment) or [whole]
        if any(redaction.entity_type in _CARD_TYPES for redaction in segment.redactions):
            first, last = spans[0][0] - _BEFORE_CARD_MS, spans[-1][1] + _AFTER_CARD_MS
            spans = [(max(first, segment.start_ms), min(last, segment.end_ms))]
        for start, end in spans:
            yield max(0, start - _MARGIN_MS), end + _MARGIN_MS
    if transcript.redacted:
        yield from _unheard_answers(transcript)


def _unheard_answers(transcript: Transcript) -> Iterator[tuple[int, int]]:
    """Yield what follows a question for a card where no word of the answer was understood."""
    starts = sorted(segment.start_ms for segment in transcript.segments if segment.start_ms)
    for segment in transcript.segments:
        if segment.end_ms is None or not asks_for_card(segment.text):
            continue
        later = bisect_left(starts, segment.end_ms)
        end = starts[later] if later < len(starts) else _END_MS
        if end - segment.end_ms >= _LEAST_UNHEARD_MS:
            yield segment.end_ms, end


def request(session: Session, audio_file_id: str, *, is_lost: bool = False) -> bool:
    """Return whether the muted copy is ready; queue its making unless it is.

    Args:
        is_lost: whether a copy that was made is not in the storage any more.

    Raises:
        NotFound: it could not be made.
    """
    masked = masked_sound(session, audio_file_id)
    if not masked.spans:
        return False
    job = session.get(WaveformJob, mute_id(audio_file_id))
    if job is not None and job.made_of == masked.digest:
        if job.state == JobState.FAILED:
            raise NotFound("This recording has masked words, and no copy without them can be made.")
        if job.state != JobState.SUCCEEDED or not is_lost:
            return job.state == JobState.SUCCEEDED
    if job is None:
        values = {"id": mute_id(audio_file_id), "audio_file_id": audio_file_id}
        insert_missing(session, WaveformJob, **values, made_of=masked.digest)
    elif job.state not in OPEN_STATES:
        job.made_of = masked.digest
        job.state, job.attempts, job.due_at = JobState.QUEUED, 0, utc_now()
        job.started_at = job.completed_at = job.error = None
    ring_after_commit(session, waveform_bell(mute_id(audio_file_id)))
    return False


def _muted_copy(runtime: Runtime, audio_file_id: str) -> PlayedObject | None:
    with runtime.db.reading() as session:
        masked = masked_sound(session, audio_file_id)
    if not masked.spans:
        return None
    with runtime.db.writing() as session:
        is_ready = request(session, audio_file_id)
    size_bytes = runtime.storage.size_of(mute_id(audio_file_id)) if is_ready else None
    if is_ready and size_bytes is None:
        with runtime.db.writing() as session:
            request(session, audio_file_id, is_lost=True)
    if size_bytes is None:
        raise Conflict("Masked words are being silenced in this sound: try again in a moment.")
    return PlayedObject(mute_id(audio_file_id), size_bytes, ContentType.MP4, masked.digest[:16])


def copy_for_key(
    runtime: Runtime, audio_file_id: str, *, key: Principal, original: bool, request_id: str
) -> PlayedObject | None:
    """Return the copy that a key is given; None where it is given the original.

    A key with the scope for originals is given one whose words are not known yet; an entry of the
    audit trail names the key.

    Raises:
        InsufficientScope: the original needs a scope.
        Conflict: as `copy_to_hear`.
        NotFound: as `copy_to_hear`, or the original was deleted.
    """
    may_hear = ORIGINAL_SOUND in key.scopes
    if original and not may_hear:
        raise InsufficientScope(f"The original needs the scope {ORIGINAL_SOUND}.")
    with runtime.db.reading() as session:
        audio = queries.find_stored(session, audio_file_id)
        original = original or (may_hear and not _is_known(runtime, session, audio))
    if not original:
        return copy_to_hear(runtime, audio_file_id)
    with runtime.db.writing() as session:
        queries.find_original(session, audio_file_id)
        actor = Actor(user_id=None, address=f"key {key.key_id}", request_id=request_id)
        audit.record(session, actor, Action.ORIGINAL_PLAYED, audio_file_id)
    return None


def copy_to_hear(runtime: Runtime, audio_file_id: str) -> PlayedObject | None:
    """Return what people hear in place of the original; None where the original is meant for all.

    Where texts are masked, an original whose words are not known yet is not.

    Raises:
        Conflict: it has not been uploaded, its words are not known yet, or they are being silenced.
        NotFound: there is no such recording, its file was deleted, or no copy can be made.
    """
    with runtime.db.reading() as session:
        is_known = _is_known(runtime, session, queries.find_stored(session, audio_file_id))
    if not is_known:
        message = (
            "This sound is not transcribed, so that nothing in it is masked yet: process it first."
            f" Until then only its original can be heard, which needs the scope {ORIGINAL_SOUND}."
        )
        raise Conflict(message)
    return _muted_copy(runtime, audio_file_id)


def _is_known(runtime: Runtime, session: Session, audio: AudioFile) -> bool:
    """Tell whether it is known what must be silent in a recording: nothing, where texts are kept."""
    if not runtime.settings.redaction or audio.has_transcript:
        return True
    return any(
        spoken.segments for spoken in hooks_of(session).turns_of_recording(session, audio.id)
    )


def with_originals(session: Session, *, before: datetime, limit: int) -> list[str]:
    """Return the ids of recordings created before a time that keep an original and a muted copy."""
    return list(
        session.scalars(
            select(AudioFile.id)
            .join(WaveformJob, WaveformJob.audio_file_id == AudioFile.id)
            .where(
                WaveformJob.made_of.is_not(None),
                WaveformJob.state == JobState.SUCCEEDED,
                AudioFile.uploaded_at.is_not(None),
                AudioFile.original_deleted_at.is_(None),
                AudioFile.created_at < before,
            )
            .order_by(AudioFile.created_at, AudioFile.id)
            .limit(limit)
        )
    )


def _masked_words(segment: Segment) -> list[tuple[int, int]]:
    """Return the runs of masked words; none unless every other letter is in another word."""
    masks = {
        segment.text[redaction.char_start : redaction.char_end] for redaction in segment.redactions
    }
    unmasked, position = [], 0
    for redaction in segment.redactions:
        unmasked.append(segment.text[position : redaction.char_start])
        position = redaction.char_end
    unmasked.append(segment.text[position:])
    others = (word.text for word in segment.words if word.text not in masks)
    if _letters(unmasked) != _letters(others):
        return []
    runs: list[tuple[int, int]] = []
    goes_on = False
    for word in segment.words:
        is_masked = word.text in masks
        if is_masked and goes_on:
            runs[-1] = (runs[-1][0], max(runs[-1][1], word.end_ms))
        elif is_masked:
            runs.append((word.start_ms, word.end_ms))
        goes_on = is_masked
    return runs


def _letters(texts: Iterable[str]) -> str:
    return "".join(letter for text in texts for letter in text if letter.isalnum())


def _merged(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    if len(merged) > _MOST_SPANS:
        return ((merged[0][0], merged[-1][1]),)
    return tuple(merged)

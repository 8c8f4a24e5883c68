"""Jobs of recordings: transcription, evaluation, waveforms, and the upkeep of uploads."""

import math
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property, partial

from app.audio_files import (
    erasure,
    muting,
    pairs,
    playback,
    queries,
    stored_objects,
    totals,
    uploads,
)
from app.audio_files.enums import ContentType, Stage
from app.audio_files.models import ProcessingJob, WaveformJob
from app.audio_files.processing import requests, stages, steps
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.jobs.leases import JobState, Lease, claim, end, held
from app.core.jobs.runner import JobType, RunningJob, answer_bell, list_due, run_next
from app.core.jobs.thread_pool import TryLock, run_in_threads
from app.core.metrics import TRANSCRIBED_SECONDS
from app.core.runtime import Runtime
from app.evaluations import service as evaluations
from app.evaluations import sources, transcripts
from app.evaluations.enums import SourceType
from app.evaluations.judging.model_answers import StoredAnswers
from app.judge.acts.agent_voice import with_named_agent
from app.judge.context import Context
from app.judge.judges import build_judge, requests_at_once
from app.judge.scorecard.values import Scorecard
from app.redaction.redactor import Redactor
from app.scorecards import service as scorecards
from app.speech.errors import TranscriptionError, UnsupportedMedia
from app.speech.transcriber import DecodedSound, Transcriber, TranscriptionOptions, decoded
from app.speech.transcribers import transcriber_of
from app.transcript import Transcript

_BATCH = 100
_EXPIRED_KEPT = timedelta(days=7)
# An upload that begins before its link expires may end later.
_LONGEST_UPLOAD = timedelta(hours=1)
due_ids = partial(list_due, ProcessingJob)
due_waveform_ids = partial(list_due, WaveformJob)


def process_audio(runtime: Runtime, job_id: str) -> None:
    """Run this processing job, or a more urgent one that is due.

    If a language model judges, all due jobs run: one at a time is transcribed, while others wait
    for the model.
    """
    engines = _Engines(runtime)

    def run_one() -> Lease[ProcessingJob] | None:
        transcription = TryLock(engines.transcription_lock)
        if not transcription.acquire():
            return None
        job_type = JobType(
            claim=steps.claim,
            handle=partial(_process_recording, engines=engines, transcription=transcription),
            fail=lambda session, lease, error: steps.fail(session, lease, steps.failure_of(error)),
            release=steps.release,
            is_final=lambda error: not steps.failure_of(error).retryable,
        )
        try:
            return run_next(runtime, job_type, job_id)
        finally:
            transcription.release()

    at_once = requests_at_once(runtime.settings)
    if at_once > 1:
        run_in_threads(lambda: run_one() is not None, at_once=at_once)
    elif (lease := run_one()) is not None and lease.job_id != job_id:
        runtime.doorbell.ring(requests.bell(job_id))


def draw_waveform(runtime: Runtime, job_id: str) -> None:
    """Run this drawing or joining, or another that is due."""
    job_type = JobType(
        claim=partial(claim, table=WaveformJob),
        handle=lambda job: (pairs.join if pairs.is_join(job.lease) else _draw)(job),
        fail=pairs.fail,
        is_final=lambda error: isinstance(error, TranscriptionError) and not error.retryable,
    )
    answer_bell(runtime, job_type, playback.waveform_bell(job_id))


def reconcile_uploads(runtime: Runtime) -> int:
    """Record uploads that went straight to the storage or that a crash interrupted; count them."""
    objects = uploads.AudioObjects(runtime)
    with runtime.db.reading() as session:
        awaited, awaited_pairs = uploads.awaited(session), pairs.awaited(session)
    stored_ids = [
        audio_file_id
        for audio_file_id in awaited
        if runtime.storage.size_of(audio_file_id) is not None
    ]
    for audio_file_id in stored_ids:
        objects.reconcile(audio_file_id)
    for audio_file_id in awaited_pairs:
        pairs.SideObjects(runtime).reconcile(audio_file_id)
    return len(stored_ids)


def measure_storage(runtime: Runtime) -> None:
    """Count the recordings, and record their size, so that a new period starts with what is stored."""
    with runtime.db.reading() as session:
        shortfalls = totals.recount(session)
    with runtime.db.writing() as session:
        totals.correct(session, shortfalls)


def expire_uploads(runtime: Runtime) -> int:
    """Expire uploads that did not arrive in time; return their number."""
    reconcile_uploads(runtime)
    with runtime.db.writing() as session:
        return uploads.expire(session, utc_now())


def delete_late_uploads(runtime: Runtime) -> None:
    """Delete the files of erased recordings again while their upload links may be used.

    An object storage takes an upload by such a link without asking this service.
    """
    links_valid = timedelta(seconds=runtime.settings.url_ttl_s)
    with runtime.db.reading() as session:
        since = utc_now() - links_valid - _LONGEST_UPLOAD
        audio_file_ids = uploads.without_file(session, since=since)
    for audio_file_id in audio_file_ids:
        runtime.storage.delete(audio_file_id)


def purge_expired_uploads(runtime: Runtime) -> int:
    """Delete recordings that expired a week ago without an upload; return their number."""
    with runtime.db.writing() as session:
        return uploads.purge_expired(session, before=utc_now() - _EXPIRED_KEPT)


def orphaned(runtime: Runtime, audio_file_ids: Sequence[str]) -> Sequence[str]:
    """Return the ids of these recordings whose stored files are no longer needed.

    Uploads that a crash interrupted are recorded first. Files without a row are kept: a restored
    database does not know the uploads after its backup.
    """
    with runtime.db.reading() as session:
        late = uploads.awaited_among(session, audio_file_ids)
    for audio_file_id in late:
        uploads.AudioObjects(runtime).reconcile(audio_file_id)
    with runtime.db.reading() as session:
        return uploads.orphaned_among(session, audio_file_ids)


def orphaned_playback(runtime: Runtime, object_ids: Sequence[str]) -> Sequence[str]:
    """Return those of these waveforms or copies whose recordings have no file any more."""
    by_recording = stored_objects.by_recording(object_ids)
    with runtime.db.reading() as session:
        orphans = uploads.orphaned_among(session, list(by_recording), originals=False)
    return [by_recording[audio_file_id] for audio_file_id in orphans]


def orphaned_sides(runtime: Runtime, object_ids: Sequence[str]) -> Sequence[str]:
    """Return those of these sides of calls that are not joined any more."""
    by_recording = stored_objects.by_recording(object_ids)
    with runtime.db.reading() as session:
        needless = pairs.needless_among(session, list(by_recording))
    return [by_recording[audio_file_id] for audio_file_id in needless]


class _Engines:
    """Engines that the threads of one process share; one thread at a time transcribes."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings
        self.judge = build_judge(runtime.settings, StoredAnswers(runtime.db))
        self.redactor = Redactor.of(runtime)
        self.transcription_lock = threading.Lock()

    @cached_property
    def transcriber(self) -> Transcriber:
        """Transcriber, built when the first recording needs it."""
        return transcriber_of(self._settings, spool_dir=playback.spool_dir(self._settings))


def _process_recording(
    job: RunningJob[ProcessingJob], *, engines: _Engines, transcription: TryLock
) -> None:
    """Transcribe and evaluate one recording; each `with` is one short transaction."""
    with job.transaction() as session:
        limit_s = job.runtime.settings.audio_max_duration_s
        task = steps.start(session, job.lease, max_duration_s=limit_s)
    transcript = _transcript(job, task, engines)
    if transcript is None:
        with job.transaction() as session:
            steps.fail(session, job.lease, steps.BYTES_MISSING)
        return
    if not transcript.segments:
        with job.transaction() as session:
            steps.fail_without_speech(session, job.lease, transcript, steps.EMPTY_TRANSCRIPT)
        return
    if task.transcribe:
        if not task.has_channel_map:
            transcript = with_named_agent(transcript)
        originals = None
        if task.redact:
            transcript, originals = engines.redactor.masked_transcript(transcript)
        with job.transaction() as session:
            steps.store_transcript(session, job.lease, transcript, originals)
    transcription.release()
    with job.transaction() as session:
        steps.start_evaluation(session, job.lease)
    scorecard, context = _scorecard_and_context(job.runtime, task)
    judgement = engines.judge.judge(transcript, scorecard, context, should_stop=job.should_stop)
    with job.transaction() as session:
        steps.complete(session, job.lease, transcript, judgement)


def _transcript(
    job: RunningJob[ProcessingJob], task: steps.ProcessingTask, engines: _Engines
) -> Transcript | None:
    """Transcribe the recording or load its transcript; None if its file is missing."""
    if not task.transcribe:
        with job.runtime.db.reading() as session:
            return transcripts.load(
                session, source_type=SourceType.AUDIO_FILE, source_id=task.audio_file_id
            )

    def store_decoded(sound: DecodedSound) -> None:
        storage, audio_file_id = job.runtime.storage, task.audio_file_id
        with playback.stored(storage, audio_file_id, sound), job.transaction() as session:
            steps.store_audio_info(session, job.lease, sound.info)

    with job.runtime.storage.local_copy(task.audio_file_id) as copy:
        if copy is None:
            return None
        if copy.sha256 is not None:
            with job.transaction() as session:
                steps.check_digest(session, job.lease, copy.sha256)
        transcript = engines.transcriber.transcribe(
            copy.path,
            task.options,
            # Rounded up, so that the end of decoding is not below the start of transcription.
            progress=lambda share: job.report_progress(
                math.ceil(share * stages.START_PERCENT[Stage.EVALUATE])
            ),
            on_decoded=store_decoded,
            should_stop=job.should_stop,
        )
    job.runtime.counts.count(TRANSCRIBED_SECONDS, by=(transcript.duration_ms or 0) / 1000)
    return transcript


def _scorecard_and_context(
    runtime: Runtime, task: steps.ProcessingTask
) -> tuple[Scorecard, Context]:
    with runtime.db.reading() as session:
        try:
            evaluation = evaluations.find(session, task.evaluation_id)
            version = scorecards.version_of(session, task.scorecard_id, task.scorecard_version)
        except NotFound as error:
            raise steps.ProcessingFailed(steps.SCORECARD_GONE) from error
        return version.scorecard, sources.context_of(session, evaluation)


def _draw(job: RunningJob[WaveformJob]) -> None:
    """Decode one recording for its waveform and its play copy, or for its muted copy."""
    storage, settings = job.runtime.storage, job.runtime.settings
    with job.transaction() as session:
        audio = queries.find(session, held(session, job.lease).audio_file_id)
        is_muting = job.lease.job_id == stored_objects.mute_id(audio.id)
        masked = muting.masked_sound(session, audio.id) if is_muting else None
        audio_file_id, source_id, content_type = audio.id, audio.id, audio.content_type
        if is_muting and audio.original_deleted_at is not None:
            # What is masked since then is silenced in the copy.
            source_id, content_type = job.lease.job_id, ContentType.MP4
        options = TranscriptionOptions(
            content_type=content_type, max_duration_s=settings.audio_max_duration_s
        )
    with storage.local_copy(source_id) as copy:
        if copy is None:
            raise UnsupportedMedia(steps.BYTES_MISSING.message)
        with (
            decoded(
                copy.path,
                options,
                spool_dir=playback.spool_dir(settings),
                min_free_bytes=settings.min_free_bytes,
                should_stop=job.should_stop,
                silent=masked.spans if masked else None,
            ) as sound,
            playback.stored(storage, audio_file_id, sound, muted=is_muting),
            job.transaction() as session,
        ):
            drawing = held(session, job.lease)
            drawing.made_of = masked.digest if masked else None
            end(drawing, JobState.SUCCEEDED, utc_now())
    if is_muting and not settings.keep_original_sound:
        delete_originals(job.runtime, before=utc_now())


def delete_originals(runtime: Runtime, *, before: datetime) -> int:
    """Delete the originals, of recordings created before a time, that have a muted copy."""
    count = 0
    while True:
        with runtime.db.writing() as session:
            audio_file_ids = muting.with_originals(session, before=before, limit=_BATCH)
            erasure.note_originals_deleted(session, audio_file_ids)
        for audio_file_id in audio_file_ids:
            playback.delete_original(runtime.storage, audio_file_id)
        count += len(audio_file_ids)
        if len(audio_file_ids) < _BATCH:
            return count

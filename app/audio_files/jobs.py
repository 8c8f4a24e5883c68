"""Jobs over recordings: transcribes and judges them, expires uploads that never came."""

import threading
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path

from app.ai.context import Context
from app.ai.judges import build_judge, requests_at_once
from app.ai.scorecard.values import Scorecard
from app.ai.speech.factory import build_transcriber
from app.ai.speech.transcriber import Transcriber
from app.ai.transcript import AudioInfo, Transcript
from app.audio_files import failures, leases, processing, stages, steps, uploads
from app.audio_files.hooks import Recordings
from app.audio_files.models import ProcessingJob
from app.audio_files.stages import Stage
from app.audio_files.steps import Task
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.jobs.leases import Lease
from app.core.jobs.leases import due_ids as due_ids_of
from app.core.jobs.runner import JobType, RunningJob, run_next
from app.core.jobs.thread_pool import TryLock, run_in_threads
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.evaluations import contexts
from app.evaluations import service as evaluations
from app.evaluations.enums import SourceType
from app.evaluations.judging.model_answers import StoredAnswers
from app.evaluations.transcripts import store as transcripts
from app.redaction.redactor import Redactor
from app.scorecards import service as scorecards

_EXPIRED_KEPT = timedelta(days=7)


def process_audio(runtime: Runtime, job_id: str) -> None:
    """Process this recording, or a due one that is more urgent; without any, do nothing.

    Where a language model judges, all that are due are processed: one at a time is transcribed
    while the model is asked about others.
    """
    engines = _Engines(runtime)

    def run_one() -> Lease[ProcessingJob] | None:
        transcription = TryLock(engines.transcription_lock)
        if not transcription.acquire():
            return None
        job_type = JobType(
            claim=leases.claim,
            handle=partial(_process_recording, engines=engines, transcription=transcription),
            fail=lambda session, lease, error: steps.failed(session, lease, failures.of(error)),
            release=leases.release,
            is_final=lambda error: not failures.of(error).retryable,
        )
        try:
            return run_next(runtime, job_type, job_id)
        finally:
            transcription.release()

    at_once = requests_at_once(runtime.settings)
    if at_once > 1:
        run_in_threads(lambda: run_one() is not None, at_once=at_once)
    elif (lease := run_one()) is not None and lease.job_id != job_id:
        runtime.doorbell.ring(processing.bell(job_id))


def due_ids(runtime: Runtime) -> Sequence[str]:
    """List the jobs that wait for a worker, or were left by one that has ended (for the sweep)."""
    with runtime.db.reading() as session:
        return due_ids_of(session, ProcessingJob)


def heal_uploads(runtime: Runtime) -> int:
    """Note the uploads whose note was lost in a crash; return how many were looked at."""
    recordings = Recordings(runtime)
    with runtime.db.reading() as session:
        waiting = [each for each in uploads.awaited(session) if runtime.storage.path(each)]
    for audio_file_id in waiting:
        recordings.heal(audio_file_id)
    return len(waiting)


def expire_uploads(runtime: Runtime) -> int:
    """Give up on uploads that did not come in time; return how many."""
    heal_uploads(runtime)
    with runtime.db.writing() as session:
        return uploads.expire(session, utc_now())


def purge_expired_uploads(runtime: Runtime) -> int:
    """Delete the rows of uploads that were given up a week ago; return how many."""
    with runtime.db.writing() as session:
        return uploads.purge_expired(session, before=utc_now() - _EXPIRED_KEPT)


def unkept(runtime: Runtime, audio_file_ids: Sequence[str]) -> Sequence[str]:
    """Name those of these recordings whose stored bytes were given up.

    An upload that ended behind its time, and whose note was lost in a crash, is noted first. Bytes
    without a row are left alone: a database that was restored does not know what came after it.
    """
    with runtime.db.reading() as session:
        late = uploads.awaited_among(session, audio_file_ids)
    for audio_file_id in late:
        Recordings(runtime).heal(audio_file_id)
    with runtime.db.reading() as session:
        return uploads.given_up_among(session, audio_file_ids)


class _Engines:
    """What the threads of one process share; one thread at a time transcribes."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings
        self.judge = build_judge(runtime.settings, StoredAnswers(runtime.db))
        self.redactor = Redactor.of(runtime)
        self.transcription_lock = threading.Lock()

    @cached_property
    def transcriber(self) -> Transcriber:
        """Return the speech engine, made when the first recording needs it."""
        return _transcriber(self._settings)


def _process_recording(
    job: RunningJob[ProcessingJob], *, engines: _Engines, transcription: TryLock
) -> None:
    """Transcribe and judge one recording; each `with` is one short transaction."""
    with job.transaction() as session:
        limit_s = job.runtime.settings.audio_max_duration_s
        task = steps.begin(session, job.lease, max_duration_s=limit_s)
    transcript = _transcript(job, task, engines)
    if transcript is None:
        with job.transaction() as session:
            steps.failed(session, job.lease, failures.BYTES_MISSING)
        return
    if not transcript.segments:
        with job.transaction() as session:
            steps.no_speech(session, job.lease, transcript, failures.EMPTY_TRANSCRIPT)
        return
    if task.transcribe:
        originals = None
        if task.redact:
            transcript, originals = engines.redactor.masked_transcript(transcript)
        with job.transaction() as session:
            steps.transcribed(session, job.lease, transcript, originals)
    transcription.release()
    with job.transaction() as session:
        steps.evaluating(session, job.lease)
    scorecard, context = _basis(job.runtime, task)
    judgement = engines.judge.judge(transcript, scorecard, context, should_stop=job.should_stop)
    with job.transaction() as session:
        steps.processed(session, job.lease, transcript, judgement)


def _transcript(job: RunningJob[ProcessingJob], task: Task, engines: _Engines) -> Transcript | None:
    """Transcribe the recording, or load its stored transcript; None where its bytes are gone."""
    if not task.transcribe:
        with job.runtime.db.reading() as session:
            return transcripts.load(
                session, source_type=SourceType.AUDIO_FILE, source_id=task.audio_file_id
            )
    path = job.runtime.storage.path(task.audio_file_id)
    if path is None:
        return None

    def store_decoded(info: AudioInfo) -> None:
        with job.transaction() as session:
            steps.decoded(session, job.lease, info)

    return engines.transcriber.transcribe(
        path,
        task.options,
        progress=lambda share: job.report_progress(int(share * stages.BEGINS_AT[Stage.EVALUATE])),
        on_decoded=store_decoded,
        should_stop=job.should_stop,
    )


def _basis(runtime: Runtime, task: Task) -> tuple[Scorecard, Context]:
    """Read the scorecard and the context that the recording is judged by."""
    with runtime.db.reading() as session:
        try:
            evaluation = evaluations.find(session, task.evaluation_id)
            version = scorecards.version_of(session, task.scorecard_id, task.scorecard_version)
        except NotFound as error:
            raise failures.ScorecardGone from error
        return version.scorecard, contexts.context_of(evaluation)


def _transcriber(settings: Settings) -> Transcriber:
    """Make the speech engine, here and not at the start: its threads do not survive a fork."""
    spool = settings.data_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    return build_transcriber(
        model_dir=Path(settings.speech_model_dir) if settings.speech_model_dir else None,
        cpu_threads=settings.speech_threads,
        spool_dir=spool,
        min_free_bytes=settings.min_free_bytes,
    )

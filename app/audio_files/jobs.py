"""Jobs of recordings: transcription, evaluation, and the upkeep of uploads."""

import math
import threading
from collections.abc import Sequence
from datetime import timedelta
from functools import cached_property, partial

from app.ai.context import Context
from app.ai.judges import build_judge, requests_at_once
from app.ai.scorecard.values import Scorecard
from app.ai.speech.transcriber import DecodedSound, Transcriber
from app.ai.transcribers import transcriber_of
from app.ai.transcript import Transcript
from app.audio_files import totals
from app.audio_files.enums import Stage
from app.audio_files.models import ProcessingJob
from app.audio_files.playback import objects
from app.audio_files.processing import failures, requests, stages, steps
from app.audio_files.processing.steps import ProcessingTask
from app.audio_files.uploads import lifecycle
from app.audio_files.uploads.audio_objects import AudioObjects
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.jobs.leases import Lease
from app.core.jobs.runner import JobType, RunningJob, list_due, run_next
from app.core.jobs.thread_pool import TryLock, run_in_threads
from app.core.metrics import TRANSCRIBED_SECONDS
from app.core.runtime import Runtime
from app.evaluations import service as evaluations
from app.evaluations import sources, transcripts
from app.evaluations.enums import SourceType
from app.evaluations.judging.model_answers import StoredAnswers
from app.redaction.redactor import Redactor
from app.scorecards import service as scorecards

_EXPIRED_KEPT = timedelta(days=7)
due_ids = partial(list_due, ProcessingJob)


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
            fail=lambda session, lease, error: steps.fail(session, lease, failures.of(error)),
            release=steps.release,
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
        runtime.doorbell.ring(requests.bell(job_id))


def reconcile_uploads(runtime: Runtime) -> int:
    """Record uploads that went straight to the storage or that a crash interrupted; count them."""
    objects = AudioObjects(runtime)
    with runtime.db.reading() as session:
        awaited = list(lifecycle.awaited(session))
    stored_ids = [
        audio_file_id
        for audio_file_id in awaited
        if runtime.storage.size_of(audio_file_id) is not None
    ]
    for audio_file_id in stored_ids:
        objects.reconcile(audio_file_id)
    return len(stored_ids)


def measure_storage(runtime: Runtime) -> None:
    """Count the recordings, and record their size, so that a new period starts with what is stored."""
    with runtime.db.writing() as session:
        totals.recount(session)
        totals.note_usage(session)


def expire_uploads(runtime: Runtime) -> int:
    """Expire uploads that did not arrive in time; return their number."""
    reconcile_uploads(runtime)
    with runtime.db.writing() as session:
        return lifecycle.expire(session, utc_now())


def purge_expired_uploads(runtime: Runtime) -> int:
    """Delete recordings that expired a week ago without an upload; return their number."""
    with runtime.db.writing() as session:
        return lifecycle.purge_expired(session, before=utc_now() - _EXPIRED_KEPT)


def orphaned(runtime: Runtime, audio_file_ids: Sequence[str]) -> Sequence[str]:
    """Return the ids of these recordings whose stored files are no longer needed.

    Uploads that a crash interrupted are recorded first. Files without a row are kept: a restored
    database does not know the uploads after its backup.
    """
    with runtime.db.reading() as session:
        late = lifecycle.awaited_among(session, audio_file_ids)
    for audio_file_id in late:
        AudioObjects(runtime).reconcile(audio_file_id)
    with runtime.db.reading() as session:
        return lifecycle.orphaned_among(session, audio_file_ids)


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
        return transcriber_of(self._settings, spool_dir=objects.spool_dir(self._settings))


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
            steps.fail(session, job.lease, failures.BYTES_MISSING)
        return
    if not transcript.segments:
        with job.transaction() as session:
            steps.fail_without_speech(session, job.lease, transcript, failures.EMPTY_TRANSCRIPT)
        return
    if task.transcribe:
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
    job: RunningJob[ProcessingJob], task: ProcessingTask, engines: _Engines
) -> Transcript | None:
    """Transcribe the recording or load its transcript; None if its file is missing."""
    if not task.transcribe:
        with job.runtime.db.reading() as session:
            return transcripts.load(
                session, source_type=SourceType.AUDIO_FILE, source_id=task.audio_file_id
            )

    def store_decoded(sound: DecodedSound) -> None:
        storage, audio_file_id = job.runtime.storage, task.audio_file_id
        with objects.stored(storage, audio_file_id, sound), job.transaction() as session:
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


def _scorecard_and_context(runtime: Runtime, task: ProcessingTask) -> tuple[Scorecard, Context]:
    """Load the scorecard and the context of the evaluation."""
    with runtime.db.reading() as session:
        try:
            evaluation = evaluations.find(session, task.evaluation_id)
            version = scorecards.version_of(session, task.scorecard_id, task.scorecard_version)
        except NotFound as error:
            raise failures.ScorecardGone from error
        return version.scorecard, sources.context_of(evaluation)

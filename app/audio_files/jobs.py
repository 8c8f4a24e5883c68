"""The work on recordings: transcribe and judge outside of any transaction, write in short ones."""

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from sqlalchemy.orm import Session

from app.ai.judges import build_judge, requests_at_once
from app.ai.speech.factory import build_transcriber
from app.ai.speech.transcriber import Transcriber
from app.ai.transcript import Transcript
from app.audio_files import failures, leases, processing, stages, steps, uploads
from app.audio_files.hooks import Recordings
from app.audio_files.models import ProcessingJob
from app.audio_files.stages import Stage
from app.audio_files.steps import Task
from app.core.clock import utc_now
from app.core.errors import NotFound
from app.core.jobs.leases import Lease
from app.core.jobs.leases import due_ids as due_ids_of
from app.core.jobs.runner import LeasedWork, take
from app.core.jobs.thread_pool import Turn, work_through
from app.core.runtime import Runtime
from app.web.current import current_runtime
from app.core.settings import Settings
from app.evaluations import contexts
from app.evaluations import service as evaluations
from app.evaluations.enums import SourceType
from app.evaluations.judging.model_answers import StoredAnswers
from app.evaluations.transcripts import store as transcripts
from app.redaction import guard
from app.scorecards import service as scorecards

_EXPIRED_KEPT = timedelta(days=7)


def process_audio(job_id: str) -> None:
    """Work on this job, or on a due one that is more urgent; without any, do nothing.

    Where a language model judges, all that are due are worked on: one at a time is transcribed, and
    meanwhile the model is asked about others.
    """
    runtime = current_runtime()
    engines = _Engines(runtime)

    def take_next() -> Lease[ProcessingJob] | None:
        turn = Turn(engines.listening)

        def attempt(runtime: Runtime, lease: Lease[ProcessingJob]) -> _Processing:
            return _Processing(runtime, lease, engines, turn)

        try:
            return take(runtime, job_id, leases.claim, attempt) if turn.begin() else None
        finally:
            turn.end()

    at_once = requests_at_once(runtime.settings)
    if at_once > 1:
        work_through(lambda: take_next() is not None, at_once=at_once)
    elif (lease := take_next()) is not None and lease.job_id != job_id:
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
    """What the threads of one process share; `listening` is held by the one that transcribes."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings
        self.judge = build_judge(runtime.settings, StoredAnswers(runtime.db))
        self.listening = threading.Lock()

    @cached_property
    def transcriber(self) -> Transcriber:
        """Return the speech engine, made when the first recording needs it."""
        return _transcriber(self._settings)


class _Processing(LeasedWork[ProcessingJob]):
    def __init__(
        self, runtime: Runtime, lease: Lease[ProcessingJob], engines: _Engines, turn: Turn
    ) -> None:
        super().__init__(runtime, lease)
        self._engines = engines
        self._turn = turn

    def work(self) -> None:
        limit_s = self.runtime.settings.audio_max_duration_s
        task = self.write(steps.begin, max_duration_s=limit_s)
        transcript = self._transcribed(task) if task.transcribe else self._stored(task)
        if transcript is None:
            self.write(steps.failed, failures.BYTES_MISSING)
        elif not transcript.segments:
            self.write(steps.heard_nothing, transcript, failures.EMPTY_TRANSCRIPT)
        else:
            if task.transcribe:
                raw = None
                if task.redact:
                    transcript, raw = guard.masked_transcript(transcript)
                self.write(steps.transcribed, transcript, raw)
            self._turn.end()
            self._judge(task, transcript)

    def is_final(self, error: Exception) -> bool:
        return not failures.of(error).retryable

    def give_up(self, error: Exception) -> None:
        self.write(steps.failed, failures.of(error))

    def put_down(self, session: Session, *, due_at: datetime, counts: bool) -> None:
        leases.hand_back(session, self.lease, due_at=due_at, counts=counts)

    def _transcribed(self, task: Task) -> Transcript | None:
        path = self.runtime.storage.path(task.audio_file_id)
        if path is None:
            return None
        return self._engines.transcriber.transcribe(
            path,
            task.options,
            progress=lambda share: self.tell(int(share * stages.BEGINS_AT[Stage.EVALUATE])),
            on_decoded=lambda info: self.write(steps.decoded, info),
            should_stop=lambda: self.must_end,
        )

    def _stored(self, task: Task) -> Transcript:
        with self.runtime.db.reading() as session:
            return transcripts.load(
                session, source_type=SourceType.AUDIO_FILE, source_id=task.audio_file_id
            )

    def _judge(self, task: Task, transcript: Transcript) -> None:
        self.write(steps.evaluating)
        try:
            with self.runtime.db.reading() as session:
                scorecard = scorecards.version_of(
                    session, task.scorecard_id, task.scorecard_version
                ).scorecard
                context = contexts.context_of(evaluations.find(session, task.evaluation_id))
        except NotFound:
            self.write(steps.failed, failures.SCORECARD_GONE)
            return
        judgement = self._engines.judge.judge(
            transcript, scorecard, context, should_stop=lambda: self.must_end
        )
        self.write(steps.processed, transcript, judgement)


def _transcriber(settings: Settings) -> Transcriber:
    """Make the speech engine, here and not at the start: its threads do not survive a fork."""
    spool = settings.data_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    return build_transcriber(
        model_dir=Path(settings.speech_model_dir) if settings.speech_model_dir else None,
        cpu_threads=settings.speech_threads,
        spool_dir=spool,
    )

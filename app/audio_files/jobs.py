"""The work on recordings: transcribe and judge outside of any transaction, write in short ones."""

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from app.ai.context import Context
from app.ai.embedded import EmbeddedJudge
from app.ai.speech_engine import build_transcriber
from app.ai.transcriber import Stopped, Transcriber, TranscriptionError
from app.ai.transcript import Transcript
from app.audio_files import failures, leases, processing, stages, steps, uploads
from app.audio_files.failures import Failure
from app.audio_files.hooks import Recordings
from app.audio_files.leases import Claim
from app.audio_files.stages import Stage
from app.audio_files.steps import Task
from app.core import stopping
from app.core.clock import utc_now
from app.core.errors import NotFound, ServiceUnavailable
from app.core.lease_keeper import LeaseKeeper
from app.core.leases import MAX_ATTEMPTS, PAUSE, RENEW_EVERY_S, TRIES_AFTER_FAILURE, LeaseLost
from app.core.runtime import Runtime, runtime
from app.core.settings import Settings
from app.evaluations import transcripts
from app.evaluations.vocabulary import SourceType
from app.scorecards import service as scorecards

logger = logging.getLogger(__name__)

P = ParamSpec("P")
Outcome = TypeVar("Outcome")

_PROGRESS_EVERY_S = 0.5


def process_audio(job_id: str) -> None:
    """Work on this job, or on a due one that is more urgent; without any, do nothing.

    Safe to run twice: a claim is one process's alone, and who has lost it writes nothing.
    """
    parts = runtime()
    with parts.db.writing() as session:
        claim = leases.claim(session, job_id, now=utc_now())
    if claim is None:
        return
    try:
        _Run(parts, claim).run()
    except LeaseLost:
        logger.warning("the work on %s was taken over by another process", claim.audio_file_id)
    if claim.job_id != job_id:
        parts.doorbell.ring(processing.bell(job_id))


def due_ids(parts: Runtime) -> Sequence[str]:
    """List the jobs that wait for a worker, or were left by one that has ended (for the sweep)."""
    with parts.db.reading() as session:
        return [job.id for job in leases.due(session, utc_now())]


def heal_uploads(parts: Runtime) -> int:
    """Note the uploads whose note was lost in a crash; return how many were looked at."""
    recordings = Recordings(parts)
    with parts.db.reading() as session:
        waiting = [each for each in uploads.awaited(session) if parts.storage.path(each)]
    for audio_file_id in waiting:
        recordings.heal(audio_file_id)
    return len(waiting)


def expire_uploads(parts: Runtime) -> int:
    """Give up on uploads that did not come in time; return how many."""
    heal_uploads(parts)
    with parts.db.writing() as session:
        return uploads.expire(session, utc_now())


class _Run:
    """One attempt at one job."""

    def __init__(self, parts: Runtime, claim: Claim) -> None:
        self._parts = parts
        self._claim = claim
        self._keeper = LeaseKeeper(self._renew, RENEW_EVERY_S)
        self._told_at = time.monotonic()
        self._told = stages.BEGINS_AT[Stage.TRANSCRIBE]

    def run(self) -> None:
        """Do the work; every end but a lost lease is written to the rows."""
        if self._claim.attempt > MAX_ATTEMPTS:
            self._write(steps.failed, failures.INTERRUPTED)
            return
        try:
            with self._keeper:
                self._work()
        except LeaseLost:
            raise
        except Stopped:
            self._write(leases.hand_back, due_at=utc_now(), counts=False)
        except TranscriptionError as error:
            self._end(failures.of_transcription(error))
        except Exception:  # the edge of the process: no recording may hang half-way
            logger.exception("the work on %s failed", self._claim.audio_file_id)
            self._end(failures.INTERNAL)

    def _work(self) -> None:
        limit_s = self._parts.settings.audio_max_duration_s
        task = self._write(steps.begin, max_duration_s=limit_s)
        transcript = self._transcribed(task) if task.transcribe else self._stored()
        if transcript is None:
            self._write(steps.failed, failures.BYTES_MISSING)
        elif not transcript.segments:
            self._write(steps.heard_nothing, transcript, failures.EMPTY_TRANSCRIPT)
        else:
            if task.transcribe:
                self._write(steps.transcribed, transcript)
            self._judge(task, transcript)

    def _transcribed(self, task: Task) -> Transcript | None:
        path = self._parts.storage.path(self._claim.audio_file_id)
        if path is None:
            return None
        return _transcriber(self._parts.settings).transcribe(
            path,
            task.options,
            progress=self._tell,
            on_decoded=lambda info: self._write(steps.decoded, info),
            should_stop=lambda: stopping.requested() or self._keeper.lost,
        )

    def _stored(self) -> Transcript:
        with self._parts.db.reading() as session:
            return transcripts.load(
                session, source_type=SourceType.AUDIO_FILE, source_id=self._claim.audio_file_id
            )

    def _judge(self, task: Task, transcript: Transcript) -> None:
        self._write(steps.evaluating)
        try:
            with self._parts.db.reading() as session:
                scorecard = scorecards.version_of(
                    session, task.scorecard_id, task.scorecard_version
                ).scorecard
        except NotFound:
            self._write(steps.failed, failures.SCORECARD_GONE)
            return
        context = Context(evaluation_id=self._claim.evaluation_id, generated_at=utc_now())
        judgement = EmbeddedJudge().judge(transcript, scorecard, context)
        self._write(steps.processed, transcript, judgement)

    def _end(self, failure: Failure) -> None:
        attempt = self._claim.attempt
        if failure.retryable and attempt < TRIES_AFTER_FAILURE:
            self._write(leases.hand_back, due_at=utc_now() + attempt * PAUSE, counts=True)
        else:
            self._write(steps.failed, failure)

    def _tell(self, share: float) -> None:
        """Write the progress, at most twice a second; the database's moods do not stop the work."""
        percent = int(share * stages.BEGINS_AT[Stage.EVALUATE])
        now = time.monotonic()
        if percent <= self._told or now - self._told_at < _PROGRESS_EVERY_S:
            return
        self._told, self._told_at = percent, now
        with suppress(ServiceUnavailable):
            self._write(leases.note_progress, percent)

    def _renew(self) -> bool:
        return self._write(leases.renew)

    def _write(
        self,
        step: Callable[Concatenate[Session, Claim, P], Outcome],
        *values: P.args,
        **named: P.kwargs,
    ) -> Outcome:
        with self._parts.db.writing() as session:
            return step(session, self._claim, *values, **named)


def _transcriber(settings: Settings) -> Transcriber:
    """Make the speech engine, here and not at the start: its threads do not survive a fork."""
    spool = settings.data_dir / "spool"
    spool.mkdir(mode=0o700, exist_ok=True)
    return build_transcriber(
        settings.transcriber,
        model_dir=Path(settings.speech_model_dir) if settings.speech_model_dir else None,
        cpu_threads=settings.speech_threads,
        spool_dir=spool,
    )

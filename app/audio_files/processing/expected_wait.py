"""Expected wait of recordings: how much audio waits, and how fast the last ones were transcribed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.audio_files.enums import Stage, StageStatus
from app.audio_files.models import AudioFile, ProcessingJob
from app.audio_files.processing.requests import PRIORITIES
from app.core.jobs.leases import OPEN_STATES, JobState

_LAST = 20
_FEWEST = 3


@dataclass(frozen=True, slots=True)
class ExpectedWait:
    """The recordings that wait for their transcription, or are being transcribed.

    Attributes:
        audio: their length together; None if the length of some cannot be estimated.
        pace: seconds of audio that were lately transcribed in a second; None if too little is known.
    """

    recordings: int
    audio: timedelta | None
    pace: float | None

    @property
    def wait(self) -> timedelta | None:
        """The time until all are transcribed at this pace; None if it cannot be estimated."""
        return self.audio / self.pace if self.audio and self.pace else None


@dataclass(frozen=True, slots=True)
class _Transcribed:
    content_type: str
    size_bytes: int
    seconds: int
    started_at: datetime
    completed_at: datetime


def expected_wait(session: Session) -> ExpectedWait:
    """Return what waits for its transcription and how long it will probably take.

    A recording's length is known once it was decoded. Until then it is estimated from its size, by
    the last transcriptions of the same content type.
    """
    transcribed = _last_transcribed(session)
    is_decoded = AudioFile.duration_seconds.is_not(None)
    rows = session.execute(
        select(
            AudioFile.content_type,
            func.count().label("recordings"),
            func.sum(AudioFile.duration_seconds).label("seconds"),
            func.sum(AudioFile.size_bytes).filter(~is_decoded).label("unknown_bytes"),
        )
        .join(ProcessingJob, ProcessingJob.audio_file_id == AudioFile.id)
        .where(ProcessingJob.state.in_(OPEN_STATES), ProcessingJob.transcribe)
        .group_by(AudioFile.content_type)
    ).all()
    lengths = [
        _length(row.seconds, row.unknown_bytes, row.content_type, transcribed) for row in rows
    ]
    estimates = [length for length in lengths if length is not None]
    return ExpectedWait(
        recordings=sum(row.recordings for row in rows),
        audio=sum(estimates, timedelta()) if len(estimates) == len(lengths) else None,
        pace=_pace(transcribed),
    )


def _last_transcribed(session: Session) -> list[_Transcribed]:
    """Return the last successful transcriptions, newest first."""
    columns = (
        AudioFile.content_type,
        AudioFile.size_bytes,
        AudioFile.duration_seconds,
        ProcessingJob.stages,
        ProcessingJob.queued_at,
    )
    # A query for each priority, since the index of jobs begins with state and priority.
    rows = [
        row
        for priority in PRIORITIES.values()
        for row in session.execute(
            select(*columns)
            .join(ProcessingJob, ProcessingJob.audio_file_id == AudioFile.id)
            .where(ProcessingJob.state == JobState.SUCCEEDED, ProcessingJob.priority == priority)
            .order_by(ProcessingJob.queued_at.desc())
            .limit(_LAST)
        )
    ]
    newest_first = sorted(rows, key=lambda row: row.queued_at, reverse=True)
    return [
        _Transcribed(
            content_type=row.content_type,
            size_bytes=row.size_bytes,
            seconds=row.duration_seconds,
            started_at=datetime.fromisoformat(row.stages[Stage.DECODE]["startedAt"]),
            completed_at=datetime.fromisoformat(row.stages[Stage.TRANSCRIBE]["completedAt"]),
        )
        for row in newest_first
        if row.stages[Stage.TRANSCRIBE]["status"] == StageStatus.DONE and row.duration_seconds
    ][:_LAST]


def _length(
    known_s: int | None,
    unknown_bytes: int | None,
    content_type: str,
    transcribed: list[_Transcribed],
) -> timedelta | None:
    """Return the length of recordings of one content type; None if it cannot be estimated."""
    length = timedelta(seconds=int(known_s or 0))
    if not unknown_bytes:
        return length
    alike = [recording for recording in transcribed if recording.content_type == content_type]
    if not alike:
        return None
    seconds_per_byte = sum(recording.seconds for recording in alike) / sum(
        recording.size_bytes for recording in alike
    )
    return length + timedelta(seconds=int(unknown_bytes) * seconds_per_byte)


def _pace(transcribed: list[_Transcribed]) -> float | None:
    """Return the audio that was transcribed per time in which at least one transcription ran."""
    if len(transcribed) < _FEWEST:
        return None
    busy, busy_until = timedelta(), datetime.min.replace(tzinfo=transcribed[0].started_at.tzinfo)
    for recording in sorted(transcribed, key=attrgetter("started_at")):
        busy += max(timedelta(), recording.completed_at - max(recording.started_at, busy_until))
        busy_until = max(busy_until, recording.completed_at)
    if not busy:
        return None
    return sum(recording.seconds for recording in transcribed) / busy.total_seconds()

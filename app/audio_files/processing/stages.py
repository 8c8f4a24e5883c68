"""Stages of processing, stored with each job as a map from the stage to its record, and shown."""

from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.audio_files.enums import AudioStatus, Stage, StageStatus
from app.audio_files.models import AudioFile, ProcessingJob
from app.core.clock import iso_utc
from app.core.database.rows import find_row

# Progress of the job in percent at the start of a stage.
START_PERCENT = {Stage.UPLOAD: 0, Stage.DECODE: 0, Stage.TRANSCRIBE: 5, Stage.EVALUATE: 90}
Records = dict[str, dict[str, Any]]
_OF_JOB = (
    *("stage", "progress", "attempts", "evaluation_id"),
    *("queued_at", "started_at", "completed_at"),
)


def initial(uploaded_at: datetime | None) -> Records:
    """Return the records of a recording that has not been processed yet."""
    records = {stage.value: _pending() for stage in Stage}
    if uploaded_at is not None:
        records[Stage.UPLOAD] |= {
            "status": StageStatus.DONE,
            "completedAt": iso_utc(uploaded_at),
            "attempts": 1,
        }
    return records


def start(records: Records, stage: Stage, now: datetime) -> Records:
    """Mark a stage as running; this counts as one attempt."""
    attempts = records[stage]["attempts"] + 1
    started = {"status": StageStatus.RUNNING, "startedAt": iso_utc(now), "attempts": attempts}
    return {**records, stage: {**_pending(), **started}}


def complete(records: Records, stage: Stage, now: datetime) -> Records:
    completed = {"status": StageStatus.DONE, "completedAt": iso_utc(now)}
    return {**records, stage: {**records[stage], **completed}}


def skip(records: Records, *stages: Stage) -> Records:
    return {**records, **{stage: {**_pending(), "status": StageStatus.SKIPPED} for stage in stages}}


def reset_running(records: Records) -> Records:
    """Mark the running stage as pending, since the job was released."""
    return {
        stage: {**record, "status": StageStatus.PENDING, "startedAt": None}
        if record["status"] == StageStatus.RUNNING
        else record
        for stage, record in records.items()
    }


def fail(records: Records, stage: Stage, error: dict[str, str], now: datetime) -> Records:
    failed = {"status": StageStatus.FAILED, "completedAt": iso_utc(now), "error": error}
    return {**records, stage: {**records[stage], **failed}}


def show_status(session: Session, audio_file_id: str) -> dict[str, Any]:
    """Return the status of the newest job, or of the upload; raise `NotFound` without one."""
    audio = find_row(session, AudioFile, audio_file_id, "audio file")
    job = session.scalar(
        select(ProcessingJob)
        .where(ProcessingJob.audio_file_id == audio_file_id)
        .order_by(ProcessingJob.queued_at.desc(), ProcessingJob.id.desc())
        .limit(1)
    )
    if job is None:
        records = _of_upload(audio)
        given: dict[str, Any] = {**dict.fromkeys(("job_id", *_OF_JOB)), "stage": Stage.UPLOAD}
        given |= {"progress": 0, "attempts": 0}
    else:
        records = job.stages
        given = {"job_id": job.id, **{name: getattr(job, name) for name in _OF_JOB}}
    return {
        "audio_file_id": audio.id,
        "status": audio.status,
        "error": audio.error,
        "expires_at": audio.expires_at,
        **given,
        "stages": [{"name": stage.value, **records[stage]} for stage in Stage],
    }


def _pending() -> dict[str, Any]:
    return {
        "status": StageStatus.PENDING,
        "startedAt": None,
        "completedAt": None,
        "attempts": 0,
        "error": None,
    }


def _of_upload(audio: AudioFile) -> Records:
    records = initial(audio.uploaded_at)
    if audio.uploaded_at is None:
        pending = audio.status == AudioStatus.PENDING_UPLOAD
        records[Stage.UPLOAD]["status"] = StageStatus.PENDING if pending else StageStatus.FAILED
    return records

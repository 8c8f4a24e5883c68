"""Processing status of a recording for the API."""

from typing import Any

from sqlalchemy.orm import Session

from app.audio_files.enums import AudioStatus, Stage, StageStatus
from app.audio_files.models import AudioFile, ProcessingJob
from app.audio_files.processing import requests, stages
from app.core.database.rows import find_row


def show(session: Session, audio_file_id: str) -> dict[str, Any]:
    """Return the status of the newest job, or of the upload if there is none; raises `NotFound`."""
    audio = find_row(session, AudioFile, audio_file_id, "audio file")
    job = requests.latest_job(session, audio_file_id)
    progress = _of_upload(audio) if job is None else _of_job(job)
    return {"audio_file_id": audio.id, "status": audio.status, "error": audio.error, **progress}


def accepted(audio: AudioFile, job: ProcessingJob, *, status_url: str) -> dict[str, Any]:
    """Return the answer to a processing request: the job that does it."""
    return {
        "audio_file_id": audio.id,
        "job_id": job.id,
        "status": audio.status,
        "queued_at": job.queued_at,
        "status_url": status_url,
    }


def _of_upload(audio: AudioFile) -> dict[str, Any]:
    records = stages.initial(audio.uploaded_at)
    if audio.uploaded_at is None:
        pending = audio.status == AudioStatus.PENDING_UPLOAD
        records[Stage.UPLOAD]["status"] = StageStatus.PENDING if pending else StageStatus.FAILED
    return {
        "job_id": None,
        "stage": Stage.UPLOAD,
        "progress": 0,
        "stages": stages.as_list(records),
        "attempts": 0,
        "evaluation_id": None,
        "queued_at": None,
        "started_at": None,
        "completed_at": None,
    }


def _of_job(job: ProcessingJob) -> dict[str, Any]:
    return {
        "job_id": job.id,
        "stage": job.stage,
        "progress": job.progress,
        "stages": stages.as_list(job.stages),
        "attempts": job.attempts,
        "evaluation_id": job.evaluation_id,
        "queued_at": job.queued_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
    }

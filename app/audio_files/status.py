"""How far the work on a recording is (contract B7)."""

from typing import Any

from sqlalchemy.orm import Session

from app.audio_files import processing, stages
from app.audio_files.models import AudioFile, AudioStatus, ProcessingJob
from app.audio_files.stages import Stage
from app.core.errors import NotFound


def show(session: Session, audio_file_id: str) -> dict[str, Any]:
    """Tell the progress of the newest job, or of the upload where there is none yet."""
    audio = session.get(AudioFile, audio_file_id)
    if audio is None:
        raise NotFound("There is no such audio file.")
    job = processing.latest_job(session, audio_file_id)
    shown = _of_upload(audio) if job is None else _of_job(job)
    return {"audio_file_id": audio.id, "status": audio.status, "error": audio.error, **shown}


def accepted(audio: AudioFile, job: ProcessingJob, *, status_url: str) -> dict[str, Any]:
    """Tell which job does what was asked for."""
    return {
        "audio_file_id": audio.id,
        "job_id": job.id,
        "status": audio.status,
        "queued_at": job.queued_at,
        "status_url": status_url,
    }


def _of_upload(audio: AudioFile) -> dict[str, Any]:
    records = stages.fresh(audio.uploaded_at)
    if audio.uploaded_at is None:
        running = audio.status == AudioStatus.PENDING_UPLOAD
        records[Stage.UPLOAD]["status"] = stages.PENDING if running else stages.FAILED
    return {
        "job_id": None,
        "stage": Stage.UPLOAD,
        "progress": 0,
        "stages": stages.shown(records),
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
        "stages": stages.shown(job.stages),
        "attempts": job.attempts,
        "evaluation_id": job.evaluation_id,
        "queued_at": job.queued_at,
        "started_at": job.started_at,
        "completed_at": job.completed_at,
    }

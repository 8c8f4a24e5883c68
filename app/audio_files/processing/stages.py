"""Stages of processing, stored with each job as a map from the stage to its record."""

from datetime import datetime
from typing import Any

from app.audio_files.enums import Stage, StageStatus
from app.core.clock import iso_utc

# Progress of the job in percent at the start of a stage.
START_PERCENT = {Stage.UPLOAD: 0, Stage.DECODE: 0, Stage.TRANSCRIBE: 5, Stage.EVALUATE: 90}

Records = dict[str, dict[str, Any]]


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
    """Mark a stage as done."""
    completed = {"status": StageStatus.DONE, "completedAt": iso_utc(now)}
    return {**records, stage: {**records[stage], **completed}}


def skip(records: Records, *stages: Stage) -> Records:
    """Mark stages as skipped."""
    return {
        **records,
        **{stage: {**_pending(), "status": StageStatus.SKIPPED} for stage in stages},
    }


def reset_running(records: Records) -> Records:
    """Mark the running stage as pending, since the job was released."""
    return {
        stage: {**record, "status": StageStatus.PENDING, "startedAt": None}
        if record["status"] == StageStatus.RUNNING
        else record
        for stage, record in records.items()
    }


def fail(records: Records, stage: Stage, error: dict[str, str], now: datetime) -> Records:
    """Mark a stage as failed."""
    failed = {"status": StageStatus.FAILED, "completedAt": iso_utc(now), "error": error}
    return {**records, stage: {**records[stage], **failed}}


def as_list(records: Records) -> list[dict[str, Any]]:
    """Return the records for the API, in the order of the stages."""
    return [{"name": stage.value, **records[stage]} for stage in Stage]


def _pending() -> dict[str, Any]:
    return {
        "status": StageStatus.PENDING,
        "startedAt": None,
        "completedAt": None,
        "attempts": 0,
        "error": None,
    }

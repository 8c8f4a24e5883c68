"""The stages of the work on a recording, and the record that each keeps of itself."""

from datetime import datetime
from enum import StrEnum
from typing import Any

from app.core.clock import iso_utc


class Stage(StrEnum):
    """In the order in which they come (contract B7)."""

    UPLOAD = "upload"
    DECODE = "decode"
    TRANSCRIBE = "transcribe"
    REDACT = "redact"
    EVALUATE = "evaluate"
    NOTIFY = "notify"


PENDING, RUNNING, DONE, FAILED, SKIPPED = "pending", "running", "done", "failed", "skipped"

# Where the progress of the whole stands, in percent, when a stage begins.
BEGINS_AT = {Stage.UPLOAD: 0, Stage.DECODE: 0, Stage.TRANSCRIBE: 5, Stage.EVALUATE: 90}

Records = dict[str, dict[str, Any]]


def fresh(uploaded_at: datetime | None) -> Records:
    """Return the records of a recording that nobody works on yet."""
    records = {stage.value: _record() for stage in Stage}
    if uploaded_at is not None:
        moment = iso_utc(uploaded_at)
        records[Stage.UPLOAD] = {**_record(), "status": DONE, "completedAt": moment, "attempts": 1}
    return records


def begun(records: Records, stage: Stage, now: datetime) -> Records:
    """Note that a stage runs; one that was cut off runs once more."""
    before = records[stage]
    return {
        **records,
        stage: {
            **_record(),
            "status": RUNNING,
            "startedAt": iso_utc(now),
            "attempts": before["attempts"] + 1,
        },
    }


def done(records: Records, stage: Stage, now: datetime) -> Records:
    """Note that a stage has done its work."""
    return {**records, stage: {**records[stage], "status": DONE, "completedAt": iso_utc(now)}}


def skipped(records: Records, *stages: Stage) -> Records:
    """Note that there was nothing to do."""
    return {**records, **{each: {**_record(), "status": SKIPPED} for each in stages}}


def waiting(records: Records) -> Records:
    """Note that the work was put down: what ran will run again."""
    return {
        stage: {**record, "status": PENDING, "startedAt": None}
        if record["status"] == RUNNING
        else record
        for stage, record in records.items()
    }


def failed(records: Records, stage: Stage, error: dict[str, str], now: datetime) -> Records:
    """Note that a stage has ended the work."""
    record = {**records[stage], "status": FAILED, "completedAt": iso_utc(now), "error": error}
    return {**records, stage: record}


def shown(records: Records) -> list[dict[str, Any]]:
    """List the records in the order of the stages."""
    return [{"name": stage.value, **records[stage]} for stage in Stage]


def _record() -> dict[str, Any]:
    return {
        "status": PENDING,
        "startedAt": None,
        "completedAt": None,
        "attempts": 0,
        "error": None,
    }

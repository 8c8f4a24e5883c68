"""What is done again and again, and what is swept: one line for each; rooms bring the functions."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from app.analytics import exporting
from app.analytics import jobs as exports
from app.audio_files import jobs as audio_files
from app.audio_files import processing
from app.core.clock import utc_now
from app.core.database import idempotency
from app.core.process import heartbeat
from app.core.runtime import Runtime
from app.evaluations import jobs as evaluations
from app.evaluations.judging import judgements, model_answers
from app.imports import jobs as imports
from app.imports import service as importing
from app.operations import database_files, leftovers
from app.operations.sweep import JobQueue
from app.privacy import jobs as erasures
from app.privacy import retention
from app.privacy import service as erasing
from app.usage import jobs as usage
from app.webhooks import history as deliveries

_BETWEEN_BATCHES_S = 0.05


@dataclass(frozen=True, slots=True)
class Task:
    """Something short that is done every so many seconds; a failure is logged and tried again."""

    name: str
    every_s: float
    run: Callable[[Runtime], object]


def _purge_partial_uploads(runtime: Runtime) -> None:
    runtime.storage.purge_partial(older_than_s=86_400)


def _sweep_leftovers(runtime: Runtime) -> None:
    leftovers.sweep(runtime, int(time.time() // 3600) % leftovers.PARTS)


def _purge_request_state(runtime: Runtime) -> None:
    runtime.state.purge(time.time())


def _purge_kept_answers(runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        idempotency.purge(session, utc_now())


def _purge_deliveries(runtime: Runtime) -> None:
    before = utc_now() - timedelta(days=runtime.settings.retention_deliveries_days)
    while _purge_deliveries_once(runtime, before):
        time.sleep(_BETWEEN_BATCHES_S)


def _purge_deliveries_once(runtime: Runtime, before: datetime) -> int:
    with runtime.db.writing() as session:
        return deliveries.purge(session, before=before)


def _purge_model_answers(runtime: Runtime) -> None:
    before = utc_now() - timedelta(days=runtime.settings.retention_model_answers_days)
    while _purge_model_answers_once(runtime, before):
        time.sleep(_BETWEEN_BATCHES_S)


def _purge_model_answers_once(runtime: Runtime, before: datetime) -> int:
    with runtime.db.writing() as session:
        return model_answers.purge(session, before=before)


TASKS: tuple[Task, ...] = (
    Task("heartbeat", 2, lambda runtime: heartbeat.beat(runtime.settings.data_dir)),
    Task("meter", 5, usage.flush_meter),
    Task("quotas", 5, usage.check_quotas),
    Task("storage", 300, usage.measure_storage),
    Task("counted batches", 3600, usage.purge_batches),
    Task("uploads", 10, audio_files.expire_uploads),
    Task("expired uploads", 3600, audio_files.purge_expired_uploads),
    Task("request state", 60, _purge_request_state),
    Task("checkpoint", 60, lambda runtime: database_files.checkpoint(runtime.settings)),
    Task("exports", 60, exports.purge_exports),
    Task("export rows", 3600, exports.purge_export_rows),
    Task("facts", 5, exports.fold_facts),
    Task("partial uploads", 3600, _purge_partial_uploads),
    Task("leftovers", 3600, _sweep_leftovers),
    Task("kept answers", 3600, _purge_kept_answers),
    Task("deliveries", 3600, _purge_deliveries),
    Task("model answers", 3600, _purge_model_answers),
    Task("imports", 3600, imports.purge),
    Task("retention", 3600, retention.run),
)

JOB_QUEUES: tuple[JobQueue, ...] = (
    JobQueue(processing.QUEUE, audio_files.process_audio, audio_files.due_ids),
    JobQueue(judgements.QUEUE, evaluations.judge, evaluations.due_ids),
    JobQueue(importing.QUEUE, imports.run_import, imports.due_ids),
    JobQueue(exporting.QUEUE, exports.run_export, exports.due_ids),
    JobQueue(erasing.QUEUE, erasures.run_erasure, erasures.due_ids),
)

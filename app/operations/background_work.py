"""Background work: the worker, its job queues, and the periodic tasks of its scheduler."""

import logging
import time
from collections.abc import Callable, Sequence
from itertools import groupby

from sqlalchemy.orm import Session

from app.alerts import jobs as alerts
from app.analytics import jobs as analytics
from app.analytics.exports import service as export_service
from app.audio_files import jobs as audio_files
from app.audio_files import playback
from app.audio_files.processing import requests as processing
from app.campaigns import jobs as campaigns
from app.coaching import service as coaching
from app.core import hosts
from app.core.database import idempotency
from app.core.jobs.purging import purge_older
from app.core.process import log
from app.core.runtime import Runtime
from app.evaluations import jobs as evaluations
from app.evaluations import trials
from app.evaluations.judging import judgements, model_answers
from app.imports import jobs as imports
from app.imports import service as importing
from app.intake import jobs as intake
from app.intake import service as taking_in
from app.operations import data_dir
from app.operations.backups import databases
from app.operations.environment import settings_here, warn_of_unknown
from app.operations.failure import CannotRun, plain_errors
from app.operations.processes import workers
from app.operations.processes.metrics import serve_metrics
from app.operations.processes.workers import JobQueue, PeriodicTask
from app.people import audit, sessions
from app.privacy import jobs as erasures
from app.privacy import service as erasing
from app.reviews import assignments
from app.reviews import jobs as reviews
from app.usage import jobs as usage
from app.usage import meter
from app.webhooks import history as deliveries
from app.wiring import build_runtime

logger = logging.getLogger(__name__)

# The storage is searched in this many parts, one an hour.
ORPHAN_PARTS = 24
_BATCH = 500
# By id prefix: returns those of the given objects that no row needs.
_FIND_ORPHANED: dict[str, Callable[[Runtime, Sequence[str]], Sequence[str]]] = {
    "agent": audio_files.orphaned_sides,
    "aud": audio_files.orphaned,
    "customer": audio_files.orphaned_sides,
    "exp": analytics.orphaned,
    "imp": imports.orphaned,
    "par": analytics.orphaned_parts,
    "mute": audio_files.orphaned_playback,
    "play": audio_files.orphaned_playback,
    "wave": audio_files.orphaned_playback,
}


def delete_orphans(runtime: Runtime, part: int | None = None) -> int:
    """Delete objects of the storage that are older than a day and that no row needs; return how many.

    A crash leaves them behind.

    Args:
        part: part of the storage that is searched; by default that of this hour.
    """
    part = int(time.time() // 3600) % ORPHAN_PARTS if part is None else part
    count = 0
    object_ids = sorted(runtime.storage.object_ids(part, ORPHAN_PARTS))
    for prefix, ids in groupby(object_ids, key=lambda object_id: object_id.partition("_")[0]):
        ids_of_kind = list(ids) if prefix in _FIND_ORPHANED else []
        for first in range(0, len(ids_of_kind), _BATCH):
            for object_id in _FIND_ORPHANED[prefix](runtime, ids_of_kind[first : first + _BATCH]):
                count += runtime.storage.delete_old(object_id)
    if count:
        logger.info("deleted %d orphaned objects of the storage", count)
    return count


def _in_transaction(purge: Callable[[Session], object]) -> Callable[[Runtime], None]:
    def task(runtime: Runtime) -> None:
        with runtime.db.writing() as session:
            purge(session)

    return task


def _keeping(days: str, *purges: Callable[..., int]) -> Callable[[Runtime], None]:
    """Return a task that deletes what is older than a setting allows; 0 days keep all of it."""

    def task(runtime: Runtime) -> None:
        if kept_days := getattr(runtime.settings, days):
            for purge in purges:
                purge_older(runtime, kept_days, purge)

    return task


def _purge_sessions(runtime: Runtime) -> None:
    with runtime.db.writing() as session:
        sessions.purge(session, runtime.settings)


TASKS: tuple[PeriodicTask, ...] = (
    PeriodicTask("meter", 5, meter.flush, on_each_host=True),
    PeriodicTask("quotas", 5, usage.check_quotas),
    PeriodicTask("storage", 3600, audio_files.measure_storage),
    PeriodicTask("counted batches", 3600, usage.purge_batches),
    PeriodicTask("uploads", 10, audio_files.expire_uploads),
    PeriodicTask("expired uploads", 3600, audio_files.purge_expired_uploads),
    PeriodicTask(
        "request state", 60, lambda runtime: runtime.state.purge(time.time()), on_each_host=True
    ),
    PeriodicTask("checkpoint", 60, lambda runtime: databases.checkpoint(runtime.settings)),
    PeriodicTask("uploads of erased recordings", 60, audio_files.delete_late_uploads),
    PeriodicTask("exports", 60, analytics.purge_exports),
    PeriodicTask("files of killed exports", 60, analytics.clear_spool, on_each_host=True),
    PeriodicTask("hosts", 3600, _in_transaction(hosts.purge)),
    PeriodicTask("export rows", 3600, analytics.purge_export_rows),
    PeriodicTask("analytics parts", 5, analytics.write_parts),
    PeriodicTask("replaced analytics parts", 300, analytics.tidy_parts),
    PeriodicTask(
        "partial uploads", 3600, lambda runtime: runtime.storage.purge_partial(), on_each_host=True
    ),
    PeriodicTask("orphaned files", 3600, delete_orphans),
    PeriodicTask("idempotency answers", 3600, _in_transaction(idempotency.purge)),
    PeriodicTask("deliveries", 3600, _keeping("retention_deliveries_days", deliveries.purge)),
    PeriodicTask("merged and renamed campaigns", 5, campaigns.follow_changes),
    PeriodicTask("review plans", 60, reviews.draw_plans),
    PeriodicTask("late reviews", 3600, reviews.expire_assignments),
    PeriodicTask("alerts", 5, alerts.send_alerts),
    PeriodicTask("alert checks", 60, alerts.check_rules),
    PeriodicTask("digests", 60, alerts.send_digests),
    PeriodicTask("told alerts", 3600, alerts.purge),
    PeriodicTask(
        "model answers", 3600, _keeping("retention_model_answers_days", model_answers.purge)
    ),
    PeriodicTask("audit trail", 3600, _keeping("retention_audit_days", audit.purge)),
    PeriodicTask(
        "coaching",
        3600,
        _keeping("retention_coaching_days", coaching.SESSIONS.purge, coaching.GOALS.purge),
    ),
    PeriodicTask("assignments", 3600, _keeping("retention_assignments_days", assignments.purge)),
    PeriodicTask("sessions", 3600, _purge_sessions),
    PeriodicTask("words to search", 5, evaluations.index_words),
    PeriodicTask("trials of scorecards", 3600, evaluations.purge_trials),
    PeriodicTask("imports", 3600, imports.purge),
    PeriodicTask("intake", 3600, intake.purge),
    PeriodicTask("documents of dry runs", 300, imports.forget_documents),
    PeriodicTask("retention", 3600, erasures.run_retention),
    # At every start, too: this is for one at which the storage was away.
    PeriodicTask("erasures after a restore", 300, erasures.repeat_erasures),
)
JOB_QUEUES: tuple[JobQueue, ...] = (
    JobQueue(processing.QUEUE, "audio", audio_files.process_audio, audio_files.due_ids),
    JobQueue(
        playback.WAVEFORM_QUEUE, "audio", audio_files.draw_waveform, audio_files.due_waveform_ids
    ),
    JobQueue(judgements.QUEUE, "evaluations", evaluations.judge, evaluations.due_ids),
    JobQueue(trials.QUEUE, "evaluations", evaluations.run_trial, evaluations.due_trial_ids),
    JobQueue(importing.QUEUE, "imports", imports.run_import, imports.due_ids),
    JobQueue(taking_in.QUEUE, "imports", intake.run_intake, intake.due_ids),
    JobQueue(export_service.QUEUE, "exports", analytics.run_export, analytics.due_ids),
    JobQueue(erasing.QUEUE, "erasures", erasures.run_erasure, erasures.due_ids),
)


def run_worker(queues: Sequence[JobQueue] = JOB_QUEUES) -> None:
    """Run the worker, without a web server, until SIGTERM."""
    with plain_errors():
        workers.run(_prepared_runtime(), TASKS, queues)


def run_metrics() -> None:
    """Answer Prometheus until SIGTERM."""
    with plain_errors():
        runtime = _prepared_runtime()
        if runtime.settings.metrics_listen is None:
            raise CannotRun("set CQE_METRICS_LISTEN to the address for Prometheus, as host:port")
        serve_metrics(runtime)


def _prepared_runtime() -> Runtime:
    settings = settings_here()
    log.configure(settings.log_level, settings.log_format)
    data_dir.prepare(settings.data_dir)
    data_dir.lock_shared(settings.data_dir)
    warn_of_unknown()
    return build_runtime(settings)

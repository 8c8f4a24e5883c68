"""Periodic tasks of usage. Each may run twice, or in two processes at the same time."""

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.usage import meter, quotas
from app.usage.plan import plan_of


def check_quotas(runtime: Runtime) -> None:
    """Publish quota warnings that are due; writes only if there are any."""
    plan, now = plan_of(runtime.settings), utc_now()
    with runtime.db.reading() as session:
        due = quotas.due_warnings(session, plan, now)
    if due:
        with runtime.db.writing() as session:
            quotas.warn(session, plan, now)


def purge_batches(runtime: Runtime) -> None:
    """Delete the ids of old batches."""
    with runtime.db.writing() as session:
        meter.purge(session, utc_now())

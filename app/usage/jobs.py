"""What is done for usage again and again; each may run twice, or in two processes, without harm."""

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.usage import meter, quotas, service
from app.usage.plan import plan_of


def flush_meter(runtime: Runtime) -> None:
    """Move the counted calls into the records."""
    meter.flush(runtime)


def check_quotas(runtime: Runtime) -> None:
    """Warn of what nears the plan; writes only when there is something to tell."""
    plan, now = plan_of(runtime.settings), utc_now()
    with runtime.db.reading() as session:
        due = quotas.untold(session, plan, now)
    if due:
        with runtime.db.writing() as session:
            quotas.warn(session, plan, now)


def measure_storage(runtime: Runtime) -> None:
    """Note what lies in the storage: in a new period nobody may have stored anything yet."""
    size_bytes = runtime.storage.total_bytes()
    with runtime.db.writing() as session:
        service.note_storage(session, size_bytes=size_bytes, now=utc_now())


def purge_batches(runtime: Runtime) -> None:
    """Forget the batches of long ago."""
    with runtime.db.writing() as session:
        meter.purge(session, utc_now())

"""What is done for usage again and again; each may run twice, or in two processes, without harm."""

from app.core.clock import utc_now
from app.core.runtime import Runtime
from app.usage import meter, quotas, service
from app.usage.plan import plan_of


def flush_meter(parts: Runtime) -> None:
    """Move the counted calls into the records."""
    meter.flush(parts)


def check_quotas(parts: Runtime) -> None:
    """Warn of what nears the plan; writes only when there is something to tell."""
    plan, now = plan_of(parts.settings), utc_now()
    with parts.db.reading() as session:
        due = quotas.untold(session, plan, now)
    if due:
        with parts.db.writing() as session:
            quotas.warn(session, plan, now)


def measure_storage(parts: Runtime) -> None:
    """Note what lies in the storage: in a new period nobody may have stored anything yet."""
    size_bytes = parts.storage.total_bytes()
    with parts.db.writing() as session:
        service.note_storage(session, size_bytes=size_bytes, now=utc_now())


def purge_batches(parts: Runtime) -> None:
    """Forget the batches of long ago."""
    with parts.db.writing() as session:
        meter.purge(session, utc_now())

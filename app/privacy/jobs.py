"""Jobs over erasures: made by a worker, found by the sweep."""

from collections.abc import Sequence

from app.core.jobs import leases
from app.core.runtime import Runtime
from app.privacy import erasing
from app.privacy.models import Erasure


def run_erasure(runtime: Runtime, erasure_id: str) -> None:
    """Work on this erasure, or on the one that waits longest."""
    erasing.run_erasure(runtime, erasure_id)


def due_ids(runtime: Runtime) -> Sequence[str]:
    """List the erasures that wait for a worker, or were left by one (for the sweep)."""
    with runtime.db.reading() as session:
        return leases.due_ids(session, Erasure)

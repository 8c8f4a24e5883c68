"""Trials as rows: requested, shown, finished or failed, and deleted after a day."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.session import ring_after_commit
from app.core.errors import Conflict, NotFound
from app.core.ids import new_id
from app.core.jobs import leases
from app.core.jobs.leases import JobState, Lease
from app.core.queue import Bell
from app.evaluations.models import ScorecardTrial
from app.evaluations.trials.comparison import TriedConversation, compared
from app.scorecards import service as scorecards

QUEUE = "trials"
bell = partial(Bell, QUEUE)
MOST_OPEN = 10
KEPT_FOR = timedelta(days=1)
_STATUS = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "running",
    JobState.SUCCEEDED: "completed",
    JobState.FAILED: "failed",
}


def request(
    session: Session,
    document: Mapping[str, Any],
    *,
    baseline_id: str | None = None,
    baseline_version: int | None = None,
) -> dict[str, Any]:
    """Queue a trial of a complete scorecard document.

    Args:
        baseline_id: the scorecard to compare with; by default that of the channel.
        baseline_version: by default its current version.
    """
    channel = document["channel"]
    baseline = scorecards.resolve(
        session, scorecard_id=baseline_id, version=baseline_version, channel=channel
    )
    open_trials = select(func.count()).where(ScorecardTrial.state.in_(leases.OPEN_STATES))
    if (session.scalar(open_trials) or 0) >= MOST_OPEN:
        raise Conflict(f"{MOST_OPEN} trials are queued or running; try again when some have ended.")
    row = ScorecardTrial(
        id=new_id("trial"),
        channel=channel,
        document=dict(document),
        baseline_id=baseline.id,
        baseline_version=baseline.version,
    )
    session.add(row)
    session.flush()
    ring_after_commit(session, bell(row.id))
    return _shown(row)


def show(session: Session, trial_id: str) -> dict[str, Any]:
    """Show a trial."""
    row = session.get(ScorecardTrial, trial_id)
    if row is None:
        raise NotFound("There is no such trial; a trial is deleted after a day.")
    return _shown(row)


def finish(
    session: Session, lease: Lease[ScorecardTrial], conversations: Sequence[TriedConversation]
) -> None:
    """End a trial with its result."""
    row = leases.held(session, lease)
    row.result = {"conversations": [asdict(conversation) for conversation in conversations]}
    row.progress = 100
    leases.end(row, JobState.SUCCEEDED, utc_now())


def fail(session: Session, lease: Lease[ScorecardTrial], error: Exception) -> None:
    """End a trial that failed repeatedly."""
    row = leases.held(session, lease)
    message = "The trial failed because of an internal error; request it again."
    row.error = {"code": "INTERNAL", "message": message}
    leases.end(row, JobState.FAILED, utc_now())


def purge(session: Session, *, before: datetime) -> None:
    """Delete the trials that were requested before a moment."""
    session.execute(delete(ScorecardTrial).where(ScorecardTrial.queued_at < before))


def _shown(row: ScorecardTrial) -> dict[str, Any]:
    result = None
    if row.result is not None:
        result = compared([TriedConversation(**item) for item in row.result["conversations"]])
    return {
        "id": row.id,
        "status": _STATUS[JobState(row.state)],
        "progress": row.progress,
        "channel": row.channel,
        "baseline_id": row.baseline_id,
        "baseline_version": row.baseline_version,
        "result": result,
        "error": row.error,
        "created_at": row.queued_at,
        "expires_at": row.queued_at + KEPT_FOR,
    }

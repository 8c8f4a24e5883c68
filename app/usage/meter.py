"""Meter: moves call counts from the request state into usage records, each batch exactly once.

A store sets its counts aside as a batch with an id, and keeps the batch until the database has it;
the database accepts each id once. A kill between any two steps therefore neither loses nor repeats
a count: the next flush, in any process, gets the same batch. Only a Redis server that loses its
memory loses counts, at most the few seconds since the last flush.
"""

import logging
import platform
from datetime import datetime, timedelta

from redis.exceptions import RedisError
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.database.session import confirming_later
from app.core.database.upserts import insert_missing
from app.core.ids import new_id
from app.core.request_limits.sqlite_state import StateFileError
from app.core.request_limits.state import CountStore
from app.core.request_limits.values import CountBatch
from app.core.runtime import Runtime
from app.usage.models import CountedBatch
from app.usage.plan import UsageMetric
from app.usage.service import Addition, add, note_uses

logger = logging.getLogger(__name__)

_BATCHES_KEPT = timedelta(days=7)
_MAX_BATCH_AGE = timedelta(days=1)
_BATCHES_AT_ONCE = 10


def flush(runtime: Runtime) -> int:
    """Move all counted calls into the records, one transaction per batch; return their number.

    Safe at any time, in any process, any number of times.
    """
    return sum(_flush_source(runtime, source) for source in runtime.state.sources)


def flush_host(runtime: Runtime) -> None:
    """Move the calls that this host alone has counted, as it does while Redis is away."""
    _flush_source(runtime, runtime.state.host_source)


def purge(session: Session, now: datetime) -> None:
    """Delete the ids of batches that no store can have any more.

    The newest id of each store stays, however old it is: a killed flush may have left the batch in
    the store.
    """
    newest = select(func.max(CountedBatch.applied_at)).group_by(CountedBatch.source)
    is_old = CountedBatch.applied_at < now - _BATCHES_KEPT
    session.execute(delete(CountedBatch).where(is_old, CountedBatch.applied_at.not_in(newest)))


def _flush_source(runtime: Runtime, source: CountStore) -> int:
    own_id, calls = new_id("batch"), 0
    try:
        # An unfinished batch of another flush comes first, without the calls since then; our own
        # batch contains all calls up to now.
        for _ in range(_BATCHES_AT_ONCE):
            taken_at = utc_now()
            batch = source.store.take_counts(own_id)
            if batch is None:
                break
            # The store may drop only what the disk has.
            with confirming_later(None), runtime.db.writing() as session:
                # After such a pause of this process the database may have deleted the batch's id.
                if utc_now() - taken_at > _MAX_BATCH_AGE:
                    break
                calls += _apply(session, batch, source)
            source.store.drop_counts(batch.id)
            if batch.id == own_id:
                break
    except RedisError as error:
        runtime.state.note_failure(error)
    except StateFileError as error:
        logger.warning("call counts stay in the state file until the next flush: %s", error)
    return calls


def _apply(session: Session, batch: CountBatch, source: CountStore) -> int:
    # Each host has a state file of its own.
    store = f"{source.name}@{platform.node()}"
    if not insert_missing(session, CountedBatch, id=batch.id, source=store, applied_at=utc_now()):
        return 0
    add(
        session,
        [
            Addition(call.date, UsageMetric.CALLS, call.key_id, call.operation, number)
            for call, number in batch.calls.items()
            if number
        ],
    )
    key_ids = {call.key_id for call in batch.calls}
    note_uses(session, {key: at for key, at in batch.last_used.items() if key in key_ids})
    return sum(batch.calls.values())

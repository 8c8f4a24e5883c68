"""The meter: moves call counts from the request state into the records, each batch once.

A store sets the counts aside under an id and keeps them until it is told that the database has
them; the database takes an id once. A kill between any two steps therefore loses nothing and
doubles nothing: the next flush, in any process, is handed the same batch. Only a Redis that loses
its memory takes counts with it, those that no flush had moved yet: a few seconds of calls.
"""

import logging
import platform
from datetime import datetime, timedelta

from redis.exceptions import RedisError
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.request_limits.sqlite_state import StateFileError
from app.core.request_limits.state import Source
from app.core.request_limits.values import CountBatch
from app.core.runtime import Runtime
from app.usage.metrics import Metric
from app.usage.models import CountedBatch
from app.usage.records import Addition, add, note_uses, upsert_into

logger = logging.getLogger(__name__)

_BATCHES_KEPT = timedelta(days=7)
_IN_HAND_AT_MOST = timedelta(days=1)
_BATCHES_AT_ONCE = 10


def flush(runtime: Runtime) -> int:
    """Apply all calls counted so far, in one transaction a batch; return how many that were.

    Safe at any time, in any process, any number of times.
    """
    return sum(_flush_source(runtime, source) for source in runtime.state.sources)


def purge(session: Session, now: datetime) -> None:
    """Forget batches that nobody can hold any more.

    The newest of each store stays however old it is: a killed flush may have left it there.
    """
    newest = select(func.max(CountedBatch.applied_at)).group_by(CountedBatch.source)
    old = CountedBatch.applied_at < now - _BATCHES_KEPT
    session.execute(delete(CountedBatch).where(old, CountedBatch.applied_at.not_in(newest)))


def _flush_source(runtime: Runtime, source: Source) -> int:
    own_id, calls = new_id("batch"), 0
    try:
        # A batch that another flush left, or has in hand, comes first and hides what is counted
        # since; only our own holds all of it.
        for _ in range(_BATCHES_AT_ONCE):
            taken_at = utc_now()
            batch = source.store.take_counts(own_id)
            if batch is None:
                break
            with runtime.db.writing() as session:
                # Asleep for so long, this process may hold a batch that the database has forgotten.
                if utc_now() - taken_at > _IN_HAND_AT_MOST:
                    break
                calls += _apply(session, batch, source)
            source.store.drop_counts(batch.id)
            if batch.id == own_id:
                break
    except RedisError as error:
        runtime.state.note_failure(error)
    except StateFileError as error:
        logger.warning("call counts wait in the state file: %s", error)
    return calls


def _apply(session: Session, batch: CountBatch, source: Source) -> int:
    # Each host has a state file of its own.
    holder = f"{source.name}@{platform.node()}"
    claim = upsert_into(session, CountedBatch).values(
        id=batch.id, source=holder, applied_at=utc_now()
    )
    won = session.execute(claim.on_conflict_do_nothing().returning(CountedBatch.id)).first()
    if won is None:
        return 0
    add(
        session,
        [
            Addition(call.date, Metric.CALLS, call.key_id, call.operation, number)
            for call, number in batch.calls.items()
            if number
        ],
    )
    key_ids = {call.key_id for call in batch.calls}
    note_uses(session, {key: at for key, at in batch.last_used.items() if key in key_ids})
    return sum(batch.calls.values())

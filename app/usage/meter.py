"""The meter: moves call counts from the request state into the records, each batch once."""

import logging
from datetime import timedelta

from redis.exceptions import RedisError
from sqlalchemy import delete
from sqlalchemy.orm import Session

from app.core.clock import utc_now
from app.core.ids import new_id
from app.core.request_state import RequestState, Source
from app.core.runtime import Runtime
from app.core.sqlite_state import StateFileError
from app.core.state_types import CountBatch
from app.usage.models import CountedBatch
from app.usage.records import CALLS, add, note_use, upsert_into

logger = logging.getLogger(__name__)

_BATCHES_KEPT = timedelta(days=7)


def flush(parts: Runtime) -> int:
    """Apply every batch that waits, in one transaction each; return how many calls that were.

    Safe at any time, in any process, any number of times: a batch keeps its id until the database
    has it, and the database takes an id once.
    """
    return sum(_flush_source(parts, source) for source in parts.state.sources)


def _flush_source(parts: Runtime, source: Source) -> int:
    state: RequestState = parts.state
    try:
        batch = source.store.take_counts(new_id("batch"))
        if batch is None:
            return 0
        with parts.db.writing() as session:
            calls = _apply(session, batch)
        source.store.drop_counts(batch.id)
    except RedisError as error:
        state.note_failure(error)
        return 0
    except StateFileError as error:
        logger.warning("call counts wait in the state file: %s", error)
        return 0
    return calls


def _apply(session: Session, batch: CountBatch) -> int:
    now = utc_now()
    claim = upsert_into(session, CountedBatch).values(id=batch.id, applied_at=now)
    new = session.execute(claim.on_conflict_do_nothing().returning(CountedBatch.id)).first()
    if new is None:
        return 0
    for call, number in batch.calls.items():
        if number:
            add(
                session,
                date=call.date,
                type_=CALLS,
                key_id=call.key_id,
                operation=call.operation,
                quantity=number,
            )
    for key_id, moment in batch.last_used.items():
        note_use(session, key_id, moment)
    session.execute(delete(CountedBatch).where(CountedBatch.applied_at < now - _BATCHES_KEPT))
    return sum(batch.calls.values())

"""Purging of what is older than a period, in batches."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from app.core.clock import utc_now
from app.core.runtime import Runtime

_BETWEEN_BATCHES_S = 0.05
BATCH = 500


def purge_older(runtime: Runtime, days: int, purge: Callable[..., int]) -> None:
    """Call `purge` with a session and `before`, until it returns 0.

    Each call is a short transaction, with a pause after it in which others can write.
    """
    before = utc_now() - timedelta(days=days)
    while True:
        with runtime.db.writing() as session:
            count = purge(session, before=before)
        if not count:
            return
        time.sleep(_BETWEEN_BATCHES_S)


def delete_older(
    session: Session,
    moment: InstrumentedAttribute[Any],
    *conditions: ColumnElement[bool],
    before: datetime,
) -> int:
    """Delete a batch of rows whose moment is before this one; return how many."""
    table = moment.class_
    old = select(table.id).where(moment < before, *conditions).limit(BATCH)
    deleted = delete(table).where(table.id.in_(old.scalar_subquery())).returning(table.id)
    return len(session.scalars(deleted).all())

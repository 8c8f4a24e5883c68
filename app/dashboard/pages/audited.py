"""Transactions of pages that the audit trail records, and the evaluations that people open."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy.orm import Session

from app.core.errors import ServiceUnavailable
from app.people import audit
from app.people.audit import Action
from app.people.gate import current_actor
from app.web.current import current_runtime


@contextmanager
def audited(action: Action, object_id: str) -> Iterator[Any]:
    """Open a transaction that changes an object; the audit trail records it in the same one."""
    with current_runtime().db.writing() as session:
        yield session
        record(session, action, object_id)


def record(session: Session, action: Action, object_id: str | None = None) -> None:
    """Record in the audit trail what this request does."""
    audit.record(session, current_actor(), action, object_id)


def note_opened(evaluation_ids: Iterable[str]) -> None:
    """Note that the person has opened evaluations; their words are masked.

    A busy database does not keep the page from being read.
    """
    with suppress(ServiceUnavailable), current_runtime().db.writing() as session:
        for evaluation_id in evaluation_ids:
            audit.record_daily(session, current_actor(), Action.EVALUATION_OPENED, evaluation_id)

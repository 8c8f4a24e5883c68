"""Opened evaluations: the audit trail notes who has seen their words."""

from collections.abc import Iterable
from contextlib import suppress

from app.core.errors import ServiceUnavailable
from app.people import audit
from app.people.audit import Action
from app.people.gate.admission import current_actor
from app.web.current import current_runtime


def note_opened(evaluation_ids: Iterable[str]) -> None:
    """Note that the person has opened evaluations; their words are masked.

    A busy database does not keep the page from being read.
    """
    with suppress(ServiceUnavailable), current_runtime().db.writing() as session:
        for evaluation_id in evaluation_ids:
            audit.record_daily(session, current_actor(), Action.EVALUATION_OPENED, evaluation_id)

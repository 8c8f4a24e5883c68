"""Periodic tasks of review plans: draw the weeks that are due, and end assignments without a review."""

import logging

from app.core.runtime import Runtime
from app.reviews import assignments, plans

logger = logging.getLogger(__name__)


def draw_plans(runtime: Runtime) -> None:
    """Draw the weeks that are due; each plan in a transaction of its own."""
    with runtime.db.reading() as session:
        due = plans.due_ids(session)
    for plan_id in due:
        # Each is read after the one before was drawn: no two give the same conversation.
        with runtime.db.reading() as session:
            week = plans.week_of(session, plan_id)
        with runtime.db.writing() as session:
            drawn = plans.draw_week(session, week)
        if drawn is not None:
            number = sum(count["drawn"] for count in drawn.counts)
            logger.info("plan %s: %s conversations drawn for %s", week.plan_id, number, week.day)


def expire_assignments(runtime: Runtime) -> None:
    """End assignments without a review two weeks after they were due."""
    with runtime.db.writing() as session:
        assignments.expire(session)

"""Awaited evaluations: those that have ended."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.evaluations.enums import ENDED
from app.evaluations.models import Evaluation


def ended(session: Session, evaluation_ids: Sequence[str]) -> list[str]:
    """Return those that have ended, or are gone."""
    open_ones = session.scalars(
        select(Evaluation.id).where(
            Evaluation.id.in_(evaluation_ids), Evaluation.status.not_in(ENDED)
        )
    )
    still = set(open_ones)
    return [each for each in evaluation_ids if each not in still]

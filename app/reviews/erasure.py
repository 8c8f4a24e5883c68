"""Erasure of the texts in reviews of a conversation; answers and scores stay."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.evaluations.models import Evaluation
from app.reviews.models import Review


def erase(session: Session, source_ids: Sequence[str]) -> None:
    """Erase reasons and quotes in the reviews of these conversations."""
    reviews = session.scalars(
        select(Review)
        .join(Evaluation, Evaluation.id == Review.evaluation_id)
        .where(Evaluation.source_id.in_(source_ids))
    )
    for review in reviews:
        review.reason = None
        review.criteria = [{**rating, "reason": None, "evidence": []} for rating in review.criteria]

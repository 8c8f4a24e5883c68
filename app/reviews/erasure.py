"""Erasure of what reviewers wrote about a conversation; their answers and scores stay."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.evaluations.models import Evaluation
from app.reviews.models import Review


def erase(session: Session, source_ids: Sequence[str]) -> None:
    """Erase reasons and quotes of the reviews of these sources."""
    reviews = session.scalars(
        select(Review)
        .join(Evaluation, Evaluation.id == Review.evaluation_id)
        .where(Evaluation.source_id.in_(source_ids))
    )
    for review in reviews:
        review.reason = None
        review.criteria = [{**each, "reason": None, "evidence": []} for each in review.criteria]

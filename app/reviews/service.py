"""Reviews: added where the status allows it, applied, listed, compared with the judge, and erased."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from sqlalchemy import not_, select
from sqlalchemy.orm import Session

from app.analytics.engine.selection import Selection, completed_evaluations
from app.core.clock import iso_utc, utc_now
from app.core.database.paging import Page, PageRequest, select_page
from app.core.errors import Conflict, InvalidInput, NotFound
from app.core.hooks import hooks_of
from app.core.ids import new_id
from app.core.json_documents import camel_case
from app.evaluations import outcome, results, transcripts
from app.evaluations import service as evaluations
from app.evaluations.enums import OVERRIDING_ACTIONS, ReviewAction, ReviewStatus
from app.evaluations.models import Evaluation, EvaluationResult
from app.events.catalogue import EventType
from app.events.data import DisputeDecided, EvaluationDisputed, EvaluationReviewed
from app.events.outbox import publish
from app.judge.scorecard.values import Scorecard
from app.judge.scoring.rescoring import Rescored, Unscorable, rescored
from app.reviews import assignments, examples, rounds
from app.reviews.agreement.comparison import compare
from app.reviews.models import Review
from app.reviews.ratings import Rating, latest_ratings, rated_score, rating_pairs, ratings_of
from app.transcript import Segment

_NONE, _REQUESTED, _IN_REVIEW, _REVIEWED, _DISPUTED, _ACCEPTED, _REJECTED = ReviewStatus
_UNDECIDED = (_NONE, _REQUESTED, _IN_REVIEW)
_DECIDED = (_REVIEWED, _ACCEPTED, _REJECTED)
# A decided dispute is closed; `request` or `start` opens the review again.
_STEPS: Mapping[ReviewAction, tuple[tuple[ReviewStatus, ...], ReviewStatus]] = {
    ReviewAction.REQUEST: ((_NONE, *_DECIDED), _REQUESTED),
    ReviewAction.START: ((_NONE, _REQUESTED, *_DECIDED), _IN_REVIEW),
    ReviewAction.CONFIRM: ((*_UNDECIDED, _REVIEWED), _REVIEWED),
    ReviewAction.OVERRIDE: ((*_UNDECIDED, _REVIEWED), _REVIEWED),
    ReviewAction.DISPUTE: ((*_UNDECIDED, _REVIEWED), _DISPUTED),
    ReviewAction.ACCEPT_DISPUTE: ((_DISPUTED,), _ACCEPTED),
    ReviewAction.REJECT_DISPUTE: ((_DISPUTED,), _REJECTED),
}
_ANNOUNCED = _STEPS.keys() - {ReviewAction.REQUEST, ReviewAction.START}
_DECISIONS: Mapping[str, str] = {
    ReviewAction.ACCEPT_DISPUTE: "accepted",
    ReviewAction.REJECT_DISPUTE: "rejected",
}
# Columns that the request gives.
_GIVEN = (
    *("action", "reviewer", "reviewer_ref", "addressee_id", "reason"),
    *("confirms_others", "score", "resolution", "satisfaction"),
)
_SHOWN = (
    *("id", "evaluation_id", "revision", *_GIVEN, "criteria", "status_before", "status_after"),
    *("score_before", "score_after"),
)
# Results show all reviews.
_MOST_REVIEWS = 200
_SORTABLE = {"created_at": Review.created_at}
_PREVIEWED = ("score", "rawScore", "complianceScore", "coverage", "band", "passed", "autoFail")


def add(
    session: Session, evaluation_id: str, body: Mapping[str, Any], *, created_by: str
) -> dict[str, Any]:
    """Add a review to the current revision of an evaluation and apply it.

    An override or an accepted dispute replaces answers, and the score is computed again. The
    judge's answers stay readable, and a later override replaces this one.

    Args:
        body: the fields of `schemas.ReviewCreate`.
        created_by: id of the API key.

    Raises:
        NotFound: there is no such evaluation.
        Conflict: it is not completed or not the current revision, its review status does not allow
            the action, it has other reviews than `reviews_seen`, or too many, or the reviewer has
            to rate it blind.
        InvalidInput: the ratings do not fit the scorecard or the transcript, or leave no score.
    """
    evaluation, result = results.find_reviewable(session, evaluation_id, for_update=True)
    _check_count(len(result.document["reviews"]), body.get("reviews_seen"))
    action = ReviewAction(body["action"])
    review = Review(
        **{name: body.get(name) for name in _GIVEN},
        id=new_id("rev"),
        evaluation_id=evaluation.id,
        revision=evaluation.revision,
        rater=(body.get("reviewer_ref") or body["reviewer"]).casefold(),
        status_before=evaluation.review_status,
        status_after=status_after(action, ReviewStatus(evaluation.review_status)),
        score_before=evaluation.score or 0,
        created_by=created_by,
        created_at=utc_now(),
    )
    rounds.require_blind(session, evaluation_id, review.rater, action)
    scorecard = _scorecard(session, evaluation)
    ratings, scored = _rated(session, evaluation, result, body, scorecard)
    _set_ratings(review, evaluation, result, ratings, scored, scorecard)
    if action in OVERRIDING_ACTIONS:
        judged = results.judged_document(result)
        examples.learn(session, evaluation, review, judged, ratings, scorecard)
        _override(session, evaluation, result, body, scored)
    review.score_after = evaluation.score or 0
    session.add(review)
    session.flush()
    assignments.note_review(session, evaluation.source_id, review.rater, action)
    _announce(session, evaluation, review)
    record = shown(review)
    # A request for a review is not a review.
    reviewer = None if action is ReviewAction.REQUEST else review.rater
    status = ReviewStatus(review.status_after)
    results.note_review(
        session, evaluation, result, review=record, reviewer=reviewer, status=status
    )
    return record


def _announce(session: Session, evaluation: Evaluation, review: Review) -> None:
    """Publish `evaluation.reviewed`, except for a review that may not be shown yet, and what a dispute is."""
    is_decision = review.action in _ANNOUNCED
    if not is_decision or review.id in hooks_of(session).sealed_reviews(session, evaluation.id):
        return
    about = {
        "evaluation_id": evaluation.id,
        "review_id": review.id,
        "engagement_id": evaluation.engagement_id or "",
        "campaign": evaluation.campaign or "",
    }
    scores = {"score_before": review.score_before, "score": review.score_after}
    action, status = str(review.action), str(review.status_after)
    reviewed = {**about, "action": action, "review_status": status, **scores}
    publish(session, EventType.EVALUATION_REVIEWED, cast(EvaluationReviewed, reviewed))
    if action == ReviewAction.DISPUTE:
        disputed = {**about, "criteria": [rating["key"] for rating in review.criteria]}
        publish(session, EventType.EVALUATION_DISPUTED, cast(EvaluationDisputed, disputed))
    elif action in _DECISIONS:
        decided = {**about, "decision": _DECISIONS[action], **scores}
        publish(session, EventType.DISPUTE_DECIDED, cast(DisputeDecided, decided))


def preview(
    session: Session, evaluation_id: str, criteria: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the score that an override with these ratings would give; nothing is stored."""
    evaluation, result = results.find_reviewable(session, evaluation_id, for_update=False)
    scorecard = _scorecard(session, evaluation)
    _, scored = _rated(session, evaluation, result, {"criteria": criteria}, scorecard)
    document = scored.results if scored else result.document
    return {"scoreBefore": evaluation.score, **{name: document[name] for name in _PREVIEWED}}


def list_page(session: Session, evaluation_id: str, request: PageRequest) -> Page[Any]:
    """List the reviews of one revision, by default the oldest first."""
    evaluations.find(session, evaluation_id)
    statement = select(*Review.__table__.c).where(Review.evaluation_id == evaluation_id)
    page = select_page(session, statement, request, sortable=_SORTABLE, tail=Review.id)
    items = results.unsealed(session, evaluation_id, map(shown, page.items))
    return replace(page, items=items)


def agreement(session: Session, selection: Selection) -> dict[str, Any]:
    """Compare the judge with people over a selection; ratings of open rounds do not count yet."""
    sealed = [not_(rounds.reviews_in(row)) for row in rounds.open_rounds(session)]
    ratings = latest_ratings(session, [*completed_evaluations(selection), *sealed])
    return {"period": selection.period.shown(), **compare(ratings)}


def shown(review: Any) -> dict[str, Any]:
    """Return a review as the API shows it and results store it."""
    row = review if isinstance(review, Mapping) else vars(review)
    return {camel_case(name): row[name] for name in _SHOWN} | {
        "createdAt": iso_utc(row["created_at"])
    }


def status_after(action: ReviewAction, status: ReviewStatus) -> ReviewStatus:
    """Return the status after an action; a comment is always possible and changes nothing."""
    if action is ReviewAction.COMMENT:
        return status
    possible_from, leads_to = _STEPS[action]
    if status not in possible_from:
        known = ", ".join(possible_from)
        raise Conflict(f"The review status is {status}; {action} is possible from {known}.")
    return leads_to


def possible_actions(status: ReviewStatus) -> list[ReviewAction]:
    steps = (action for action, (possible_from, _) in _STEPS.items() if status in possible_from)
    return [*steps, ReviewAction.COMMENT]


def erase(session: Session, source_ids: Sequence[str]) -> None:
    """Erase reasons and quotes in reviews and assignments of these conversations, and their examples."""
    examples.erase(session, source_ids)
    assignments.erase(session, source_ids)
    reviews = session.scalars(
        select(Review)
        .join(Evaluation, Evaluation.id == Review.evaluation_id)
        .where(Evaluation.source_id.in_(source_ids))
    )
    for review in reviews:
        review.reason = None
        review.criteria = [{**rating, "reason": None, "evidence": []} for rating in review.criteria]


def _check_count(count: int, seen: int | None) -> None:
    if seen is not None and seen != count:
        raise Conflict(
            "This evaluation was reviewed meanwhile: read it again before you review it."
        )
    if count >= _MOST_REVIEWS:
        raise Conflict(f"An evaluation can have at most {_MOST_REVIEWS} reviews.")


def _rated(
    session: Session,
    evaluation: Evaluation,
    result: EvaluationResult,
    body: Mapping[str, Any],
    scorecard: Scorecard,
) -> tuple[list[Rating], Rescored | None]:
    criteria: Sequence[Mapping[str, Any]] = body.get("criteria", ())
    if not criteria:
        return [], None
    has_quotes = any(rating.get("evidence") for rating in criteria)
    segments = _segments(session, evaluation) if has_quotes else {}
    ratings = ratings_of(
        criteria, scorecard=scorecard, segments=segments, reason=body.get("reason")
    )
    answers = {rating.key: rating.answer for rating in ratings}
    try:
        return ratings, rescored(result.document, scorecard, answers)
    except Unscorable as problem:
        raise InvalidInput.field("criteria", f"No score can be computed: {problem}") from problem


def _set_ratings(
    review: Review,
    evaluation: Evaluation,
    result: EvaluationResult,
    ratings: Sequence[Rating],
    scored: Rescored | None,
    scorecard: Scorecard,
) -> None:
    """Set the answers of a review, with those of the judge before it is applied."""
    review.criteria = [rating.as_json() for rating in ratings]
    review.ratings = {}
    # A person who disputes a judgement is not neutral, so their answers do not measure agreement.
    if review.action != ReviewAction.DISPUTE:
        review.ratings = rating_pairs(
            result.document,
            {rating.key: rating for rating in ratings},
            scored,
            scorecard=scorecard,
            confirms_others=review.action == ReviewAction.CONFIRM or review.confirms_others,
        )
    review.rated_score = rated_score(result.document, review.score, review.ratings, scored)
    judged = results.judged_document(result)
    review.judged = {
        "score": judged["score"],
        "resolution": judged["resolution"]["status"],
        "satisfaction": evaluation.predicted_satisfaction,
    }


def _override(
    session: Session,
    evaluation: Evaluation,
    result: EvaluationResult,
    body: Mapping[str, Any],
    scored: Rescored | None,
) -> None:
    document = scored.results if scored else result.document
    failed = scored.failed_criteria if scored else evaluation.failed_criteria
    if body.get("resolution"):
        explanation = f"{body['reviewer']}: {body['reason']}"
        status = {"status": body["resolution"], "explanation": explanation}
        document = {**document, "resolution": {**document["resolution"], **status}}
    results.amend(session, evaluation, result, document=document, failed_criteria=failed)


def _scorecard(session: Session, evaluation: Evaluation) -> Scorecard:
    try:
        return outcome.scorecard_of(session, evaluation)
    except NotFound as missing:
        message = "The scorecard version of this evaluation does not exist any more."
        raise Conflict(message) from missing


def _segments(session: Session, evaluation: Evaluation) -> dict[str, Segment]:
    if evaluation.transcript_id is None:
        return {}
    try:
        transcript = transcripts.load_stored(session, evaluation.transcript_id)
    except NotFound as erased:
        raise Conflict(erased.message) from erased
    return {segment.id: segment for segment in transcript.segments}

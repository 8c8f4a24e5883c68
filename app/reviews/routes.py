"""Endpoints of reviews, review plans, agreement, calibration rounds and calibration profiles."""

from typing import Any

from app.analytics.engine.selection import selection_of
from app.core.clock import utc_now
from app.evaluations.schemas.results import ReviewSchema
from app.reviews import assignments, examples, plans, reviewers, rounds, service
from app.reviews.calibration import profiles
from app.reviews.plans import PLANS
from app.reviews.schemas import agreement, calibration, reviews
from app.reviews.schemas import plans as plan_schemas
from app.web.api import Blueprint
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope
from app.web.records import add_endpoints

blp = Blueprint(
    "reviews",
    __name__,
    description="Extension: reviews by people, and how scores are calibrated to theirs",
)


@blp.post("/evaluations/<id:evaluation_id>/reviews")
@require_scope("evaluations:review")
@blp.arguments(reviews.ReviewCreate)
@blp.response(201, ReviewSchema)
def create_review(body: dict[str, Any], evaluation_id: str) -> Any:
    """Review an evaluation: confirm, override, dispute, decide a dispute, or comment."""
    created_by = current_principal().key_id
    with current_runtime().db.writing() as session:
        return service.add(session, evaluation_id, body, created_by=created_by)


@blp.post("/evaluations/<id:evaluation_id>/reviews/preview")
@require_scope("evaluations:review")
@blp.arguments(reviews.ReviewPreviewBody)
@blp.response(200, reviews.ReviewPreviewSchema)
def preview_review(body: dict[str, Any], evaluation_id: str) -> Any:
    """Show the score that other answers would give; nothing is stored."""
    with current_runtime().db.reading() as session:
        return service.preview(session, evaluation_id, body["criteria"])


@blp.get("/evaluations/<id:evaluation_id>/reviews")
@require_scope("evaluations:review")
@blp.arguments(reviews.ReviewQuery, location="query")
@blp.response(200, ReviewSchema(many=True))
def list_reviews(query: dict[str, Any], evaluation_id: str) -> Any:
    """List the reviews of one revision of an evaluation."""
    with current_runtime().db.reading() as session:
        return service.list_page(session, evaluation_id, query["page_request"])


@blp.get("/review-examples")
@require_scope("evaluations:review")
@blp.arguments(reviews.ReviewExampleQuery, location="query")
@blp.response(200, reviews.ReviewExampleSchema(many=True))
def list_review_examples(query: dict[str, Any]) -> Any:
    """List the lines that overrides have taught the judge of an engagement."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return examples.list_page(session, request, **query)


@blp.delete("/review-examples/<id:example_id>")
@require_scope("evaluations:review")
@blp.response(204)
def revoke_review_example(example_id: str) -> None:
    """Revoke an example; new judgements no longer go by it."""
    with current_runtime().db.writing() as session:
        examples.revoke(session, example_id)


@blp.get("/analytics/agreement", tags=["analytics"])
@require_scope("evaluations:review")
@blp.arguments(agreement.AgreementQuery, location="query")
@blp.response(200, agreement.AnalyticsAgreementSchema)
def get_analytics_agreement(query: dict[str, Any]) -> Any:
    """Show how well the judge agrees with people's reviews, and people with each other."""
    selection = selection_of(query, now=utc_now())
    with current_runtime().db.reading() as session:
        return service.agreement(session, selection)


@blp.post("/analytics/calibration-rounds", tags=["analytics", "extension"])
@require_scope("evaluations:review")
@blp.arguments(agreement.CalibrationRoundCreate)
@blp.response(201, agreement.CalibrationRoundSchema)
def create_calibration_round(body: dict[str, Any]) -> Any:
    """Ask several people to rate the same conversations, each without seeing the others' answers."""
    created_by = current_principal().key_id
    with current_runtime().db.writing() as session:
        return rounds.create(session, **body, created_by=created_by)


@blp.get("/analytics/calibration-rounds", tags=["analytics", "extension"])
@require_scope("evaluations:review")
@blp.arguments(agreement.CalibrationRoundQuery, location="query")
@blp.response(200, agreement.CalibrationRoundSchema(many=True))
def list_calibration_rounds(query: dict[str, Any]) -> Any:
    """List the calibration rounds."""
    with current_runtime().db.reading() as session:
        return rounds.list_page(session, query["page_request"])


@blp.get("/analytics/calibration-rounds/<id:round_id>", tags=["analytics", "extension"])
@require_scope("evaluations:review")
@blp.arguments(agreement.CalibrationRoundView, location="query")
@blp.response(200, agreement.CalibrationRoundDetailSchema)
def get_calibration_round(query: dict[str, Any], round_id: str) -> Any:
    """Show who has rated what in a round and, once everybody has, answers and agreement."""
    with current_runtime().db.reading() as session:
        shown = rounds.show(session, round_id)
    return rounds.sealed(shown, query.get("reviewer"))


@blp.get("/calibration-profiles")
@require_scope("evaluations:review")
@blp.arguments(calibration.CalibrationProfileQuery, location="query")
@blp.response(200, calibration.CalibrationProfileSchema(many=True))
def list_calibration_profiles(query: dict[str, Any]) -> Any:
    """List the calibration profiles, every version of every engagement."""
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return profiles.list_page(session, request, **query)


@blp.get("/calibration-profiles/<id:profile_id>")
@require_scope("evaluations:review")
@blp.response(200, calibration.CalibrationProfileSchema)
def get_calibration_profile(profile_id: str) -> Any:
    """Show one calibration profile with its cross-validated gain."""
    with current_runtime().db.reading() as session:
        return profiles.show(session, profile_id)


add_endpoints(
    blp,
    "/reviews/plans",
    PLANS,
    scope="reviews:plan",
    create=plan_schemas.PlanCreate,
    change=plan_schemas.PlanChange,
    shown=plan_schemas.PlanSchema,
)


@blp.get("/reviews/plans/<id:plan_id>/draws")
@require_scope("reviews:plan")
@blp.arguments(plan_schemas.DrawQuery, location="query")
@blp.response(200, plan_schemas.DrawSchema(many=True))
def list_review_draws(query: dict[str, Any], plan_id: str) -> Any:
    """List the draws of a plan, each with its seed and what it was drawn from."""
    with current_runtime().db.reading() as session:
        return plans.list_draws(session, plan_id, query["page_request"])


@blp.get("/reviews/assignments")
@require_scope("evaluations:review")
@blp.arguments(plan_schemas.AssignmentQuery, location="query")
@blp.response(200, plan_schemas.AssignmentSchema(many=True))
def list_review_assignments(query: dict[str, Any]) -> Any:
    """List what plans have given to reviewers."""
    if query.get("reviewer") == "me":
        query["reviewer"] = current_principal().key_id
    request = query.pop("page_request")
    with current_runtime().db.reading() as session:
        return assignments.list_page(session, request, **query)


@blp.post("/reviews/assignments/<id:assignment_id>/replace")
@require_scope("reviews:plan")
@blp.arguments(plan_schemas.ReplaceBody)
@blp.response(200, plan_schemas.ReplacedSchema)
def replace_review_assignment(body: dict[str, str], assignment_id: str) -> Any:
    """Take an assignment back, and draw another conversation of the same agent."""
    with current_runtime().db.writing() as session:
        return assignments.replace(session, assignment_id, reason=body["reason"])


@blp.get("/analytics/reviewers", tags=["analytics"])
@require_scope("reviews:plan")
@blp.arguments(agreement.AgreementQuery, location="query")
@blp.response(200, plan_schemas.ReviewersSchema)
def get_analytics_reviewers(query: dict[str, Any]) -> Any:
    """Show how many reviews each person has given, how fast, and how strict they are."""
    selection = selection_of(query, now=utc_now())
    with current_runtime().db.reading() as session:
        return {"reviewers": reviewers.figures(session, selection)}

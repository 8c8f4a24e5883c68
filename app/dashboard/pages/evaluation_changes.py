"""Forms of the page of one evaluation: reviews, and judging again."""

from typing import Any

from flask import redirect, request
from werkzeug.wrappers import Response

from app.audio_files.processing import requests as processing
from app.core.errors import Conflict, InvalidInput
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.notices import redirect_with
from app.dashboard.pages import evaluation as page
from app.dashboard.pages import places
from app.dashboard.pages.audited import audited
from app.dashboard.pages.lists import review_queue
from app.dashboard.views import review_form
from app.dashboard.views.evaluation_page import SentForm
from app.evaluations import results, service
from app.evaluations.enums import ReviewAction, SourceType, Status
from app.evaluations.judging import judgements
from app.evaluations.schemas.re_evaluations import ReEvaluateBody
from app.people import audit
from app.people.audit import Action
from app.people.gate import current_actor, current_person
from app.reviews import service as reviews
from app.reviews.schemas import ReviewCreate
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("evaluation_changes", __name__, url_prefix="/evaluations/<id:evaluation_id>")


@blp.post("/reviews")
@require_scope("evaluations:review")
def review(evaluation_id: str) -> Response | tuple[str, int]:
    """Save one review, and go on to the next of the queue if asked.

    An accepted dispute without answers has those that the dispute demands. What was typed stays on
    the page if the review is refused.
    """
    person, typed = current_person(), request.form
    try:
        document = review_form.review_of(typed, reviewer=person.display_name, ref=person.user_id)
        if typed.get("action") == ReviewAction.ACCEPT_DISPUTE and "criteria" not in document:
            document["criteria"] = _demanded_answers(evaluation_id)
        body = forms.load(ReviewCreate(), document)
        with audited(Action.REVIEWED, evaluation_id) as session:
            reviews.add(session, evaluation_id, body, created_by=person.user_id)
    except (InvalidInput, Conflict) as refused:
        problems = forms.field_errors(refused) if isinstance(refused, InvalidInput) else {}
        form = SentForm(typed, refused, problems)
        render = page.render_blind if typed.get("blind") else page.render
        return render(evaluation_id, form=form), refused.status
    if places.is_in_queue() and typed.get("andNext"):
        return _next_of_queue(evaluation_id)
    if round_id := places.round_id():
        return redirect_with("review-saved", "calibration.show", round_id=round_id)
    return redirect_with(
        "review-saved", "evaluation.show", evaluation_id=evaluation_id, **places.arguments()
    )


@blp.post("/again")
@require_scope("evaluations:review")
def judge_again(evaluation_id: str) -> Response:
    """Queue the next revision and go to its page, which shows the progress.

    A recording that failed is processed again from its file.
    """
    runtime = current_runtime()
    options = forms.load(ReEvaluateBody(), request.form)
    with runtime.db.writing() as session:
        former = service.find(session, evaluation_id)
        if former.source_type == SourceType.AUDIO_FILE and former.status == Status.FAILED:
            _, job = processing.request_processing(
                session,
                former.source_id,
                processing.ProcessingRequest(force=True),
                redact_by_default=runtime.settings.redaction,
            )
            opened = job.evaluation_id
            audit.record(session, current_actor(), Action.RECORDING_RETRIED, former.source_id)
        else:
            opened = judgements.request_again(session, evaluation_id, **options).id
            audit.record(session, current_actor(), Action.RE_EVALUATED, evaluation_id)
    return redirect_with("revision-opened", "evaluation.show", evaluation_id=opened)


def _demanded_answers(evaluation_id: str) -> list[dict[str, Any]]:
    with current_runtime().db.reading() as session:
        evaluation = service.find(session, evaluation_id)
        return review_form.demanded_answers(results.results_of(session, evaluation)["reviews"])


def _next_of_queue(evaluation_id: str) -> Response:
    """Open the next evaluation of the queue, in review if it waited; at the end, show the queue."""
    with current_runtime().db.reading() as session:
        evaluation = service.get(session, evaluation_id)
    place = places.place_of(evaluation)
    if place is None or place.next_url is None:
        return redirect(places.queue_url(), 303)
    if place.next_to_claim is not None:
        review_queue.add_review_step(place.next_to_claim, ReviewAction.START)
    return redirect(place.next_url, 303)

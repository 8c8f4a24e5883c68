"""Page of one evaluation: judgement, evidence, sound and words, reviews and revisions."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flask import render_template, request
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from app.core.errors import AppError, Conflict, InvalidInput, ServiceUnavailable
from app.dashboard import evaluation_details, forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.notices import redirect_with
from app.dashboard.views import conversation, review_form, scored
from app.dashboard.views.quotes import quotes_by_turn
from app.dashboard.views.sentiment import quarters_of
from app.evaluations.enums import ENDED, RESOLUTIONS, ReviewStatus, Status
from app.evaluations.judging import again
from app.evaluations.schemas.evaluations import ResultsQuery
from app.people import audit
from app.people.audit import Action
from app.people.gate.admission import current_actor, current_person
from app.reviews import service as reviews
from app.reviews.schemas import ReviewCreate, ReviewPreviewBody
from app.reviews.transitions import possible_actions
from app.web import raw_access
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope

blp = PageBlueprint("evaluation", __name__, url_prefix="/evaluations/<id:evaluation_id>")

Answer = str | Response | tuple[str, int]
_MOST_REVISIONS = 100


@blp.get("")
@require_scope("evaluations:read")
def show(evaluation_id: str) -> Answer:
    """Show an evaluation."""
    runtime = current_runtime()
    raw = request.args.get("words") == "raw"
    raw_access.check_raw(evaluation_id, redacted=not raw)
    if raw:
        with runtime.db.writing() as session:
            audit.record(session, current_actor(), Action.RAW_TEXTS_READ, evaluation_id)
    else:
        # The words are masked: a busy database does not keep the page from being read.
        with suppress(ServiceUnavailable), runtime.db.writing() as session:
            audit.record_daily(session, current_actor(), Action.EVALUATION_OPENED, evaluation_id)
    return _page(evaluation_id, raw=raw)


@blp.post("/reviews")
@require_scope("evaluations:review")
def review(evaluation_id: str) -> Answer:
    """Save one review; what was typed stays on the page if it is refused."""
    person, typed = current_person(), request.form
    try:
        given = forms.load(
            ReviewCreate(),
            review_form.review_of(typed, reviewer=person.display_name, ref=person.user_id),
        )
        with current_runtime().db.writing() as session:
            reviews.add(session, evaluation_id, given, created_by=person.user_id)
            audit.record(session, current_actor(), Action.REVIEWED, evaluation_id)
    except (InvalidInput, Conflict) as refused:
        return _page(evaluation_id, typed=typed, refused=refused), refused.status
    return redirect_with("review-saved", "evaluation.show", evaluation_id=evaluation_id)


@blp.post("/preview")
@require_scope("evaluations:review")
def preview(evaluation_id: str) -> dict[str, Any]:
    """Answer with the score that the chosen answers would give."""
    criteria = review_form.criteria_of(request.form)
    body = forms.load(ReviewPreviewBody(), {"criteria": criteria})
    with current_runtime().db.reading() as session:
        return reviews.preview(session, evaluation_id, body["criteria"])


@blp.post("/again")
@require_scope("evaluations:review")
def judge_again(evaluation_id: str) -> Answer:
    """Queue the next revision and go to its page, which shows the progress."""
    with current_runtime().db.writing() as session:
        opened = again.request(session, evaluation_id).id
        audit.record(session, current_actor(), Action.RE_EVALUATED, evaluation_id)
    return redirect_with("revision-opened", "evaluation.show", evaluation_id=opened)


def _page(
    evaluation_id: str,
    *,
    raw: bool = False,
    typed: Mapping[str, str] | None = None,
    refused: AppError | None = None,
) -> str:
    runtime = current_runtime()
    as_judged = forms.load(ResultsQuery(), request.args)["as_judged"]
    with runtime.db.reading() as session:
        details = evaluation_details.read(
            session, runtime.keyring, evaluation_id, raw=raw, as_judged=as_judged
        )
    evaluation, document, transcript = details.evaluation, details.results, details.transcript
    scopes = current_principal().scopes
    is_open = evaluation["status"] not in ENDED
    duration_ms = 1000 * evaluation["duration_seconds"] if evaluation["duration_seconds"] else None
    turns = {segment["id"]: segment for segment in transcript["segments"]}
    may_review = (
        "evaluations:review" in scopes
        and evaluation["status"] == Status.COMPLETED
        and evaluation["is_current"]
        and not as_judged
    )
    return render_template(
        "evaluation/show.html",
        evaluation=evaluation,
        results=document,
        # Quotes are places in the masked text, so that the unmasked one has no marks.
        turns=conversation.turns_of(
            transcript, {} if raw else quotes_by_turn(document["criteria"])
        ),
        transcript=transcript,
        moments=conversation.moments_of(document["moments"], transcript["segments"]),
        card=scored.scored_card(document, transcript, details.scorecard, duration_ms=duration_ms),
        evidence_of=lambda items: scored.evidence_of(items, turns, duration_ms),
        sentiment=quarters_of(document["sentiment"]),
        recording=details.recording,
        lanes=conversation.lanes_of(transcript),
        call=details.call,
        revisions=details.revisions,
        changes=details.changes,
        listeners=details.listeners,
        raw=raw,
        as_judged=as_judged,
        is_open=is_open,
        may_review=may_review,
        may_listen="audio:download" in scopes,
        may_judge_again="evaluations:review" in scopes and evaluation["is_current"] and not is_open,
        may_read_raw=raw_access.SCOPE in scopes,
        actions=possible_actions(ReviewStatus(evaluation["review_status"])),
        resolutions=RESOLUTIONS,
        typed=typed or MultiDict(),
        refused=refused,
        problems=forms.field_errors(refused) if isinstance(refused, InvalidInput) else {},
    )

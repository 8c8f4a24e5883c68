"""Forms of the page of one evaluation: reviews as documents of the API, and judging again."""

from collections.abc import Mapping
from typing import Any

from flask import redirect, request
from werkzeug.wrappers import Response

from app.audio_files.processing import requests as processing
from app.core.errors import Conflict, InvalidInput
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages import evaluation as page
from app.dashboard.pages import places
from app.dashboard.pages.audited import audited, record
from app.dashboard.pages.reviews import queue
from app.dashboard.views.formatting import whole_number
from app.dashboard.views.scored import ANSWER_PREFIX, NOT_APPLICABLE_CHOICE
from app.evaluations import results, service
from app.evaluations.enums import ReviewAction, SourceType, Status
from app.evaluations.judging import judgements
from app.evaluations.schemas.re_evaluations import ReEvaluateBody
from app.people.audit import Action
from app.people.gate import current_person
from app.reviews import service as reviews
from app.reviews.schemas.reviews import ReviewCreate
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("evaluation_changes", __name__, url_prefix="/evaluations/<id:evaluation_id>")
_ANSWER, _REASON, _QUOTE = "answer.", "reason.", "quote."
# Fields that the form has under the names of the API.
_TEXTS = ("action", "reason", "resolution")
# Fields of a rating that a review may set, besides its evidence.
_RATED = ("key", "applicable", "answer", "normalizedScore", "reason")


@blp.post("/reviews")
@require_scope("evaluations:review")
@forms.shown_again(page.render_again, {Conflict: ""})
def review(evaluation_id: str) -> Response:
    """Save one review, and go on to the next of the queue if asked.

    An accepted dispute without answers has those that the dispute demands.
    """
    person, typed = current_person(), request.form
    document = _review_of(typed, reviewer=person.display_name, ref=person.user_id)
    if typed.get("action") == ReviewAction.ACCEPT_DISPUTE and "criteria" not in document:
        document["criteria"] = _demanded_answers(evaluation_id)
    body = forms.load(ReviewCreate(), document)
    with audited(Action.REVIEWED, evaluation_id) as session:
        reviews.add(session, evaluation_id, body, created_by=person.user_id)
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
            opened = processing.request_again(
                session, former, redact_by_default=runtime.settings.redaction
            )
            record(session, Action.RECORDING_RETRIED, former.source_id)
        else:
            opened = judgements.request_again(session, evaluation_id, **options).id
            record(session, Action.RE_EVALUATED, evaluation_id)
    return redirect_with("revision-opened", "evaluation.show", evaluation_id=opened)


@blp.post("/sides")
@require_scope("audio:write")
def name_agent(evaluation_id: str) -> Response:
    """Judge a recording again in which the voice of this number is the agent's.

    From the queue, the page goes on there.
    """
    runtime = current_runtime()
    number = whole_number(request.form.get("agent", ""))
    if number not in (0, 1):
        raise InvalidInput.field("agent", "agent must be 0 or 1.", location="form")
    with runtime.db.writing() as session:
        former = service.find(session, evaluation_id)
        opened = processing.request_again(
            session,
            former,
            channel_map={"agent": number, "customer": 1 - number},
            redact_by_default=runtime.settings.redaction,
        )
        record(session, Action.RECORDING_RETRIED, former.source_id)
    if request.form.get("from") == "queue":
        return redirect_with("revision-opened", "review_queue.show", tab="voices")
    return redirect_with("revision-opened", "evaluation.show", evaluation_id=opened)


def criteria_of(typed: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the ratings of a form: the criteria for which an answer was chosen."""
    ratings = []
    for name, choice in typed.items():
        if not name.startswith(_ANSWER):
            continue
        key = name.removeprefix(_ANSWER)
        if not choice:
            _check_unanswered(typed, key)
            continue
        rating: dict[str, Any] = {"key": key}
        if choice == NOT_APPLICABLE_CHOICE:
            rating["applicable"] = False
        else:
            rating["answer"] = _answer(choice.removeprefix(ANSWER_PREFIX))
        if reason := typed.get(_REASON + key, "").strip():
            rating["reason"] = reason
        if quote := typed.get(_QUOTE + key, ""):
            rating["evidence"] = [_evidence(quote)]
        ratings.append(rating)
    return ratings


def _next_of_queue(evaluation_id: str) -> Response:
    """Open the next evaluation of the queue, in review if it waited; at the end, show the queue."""
    with current_runtime().db.reading() as session:
        evaluation = service.get(session, evaluation_id)
    place = places.place_of(evaluation)
    if place is None or place.next_url is None:
        return redirect(places.queue_url(), 303)
    if place.next_to_claim is not None:
        queue.add_review_step(place.next_to_claim, ReviewAction.START)
    return redirect(place.next_url, 303)


def _review_of(typed: Mapping[str, str], *, reviewer: str, ref: str) -> dict[str, Any]:
    """Return the review that a form describes; empty fields are left out."""
    document: dict[str, Any] = {"reviewer": reviewer, "reviewerRef": ref}
    document.update({name: typed[name] for name in _TEXTS if typed.get(name, "").strip()})
    criteria = criteria_of(typed)
    if criteria:
        document["criteria"] = criteria
    if typed.get("confirmsOthers"):
        document["confirmsOthers"] = True
    reviews_seen = whole_number(typed.get("reviewsSeen", ""))
    if reviews_seen is not None:
        document["reviewsSeen"] = reviews_seen
    return document


def _demanded_answers(evaluation_id: str) -> list[dict[str, Any]]:
    """Return the ratings that the newest dispute demands, as a review gives them."""
    with current_runtime().db.reading() as session:
        document = results.results_of(session, service.find(session, evaluation_id))
    disputes = [
        review for review in document["reviews"] if review["action"] == ReviewAction.DISPUTE
    ]
    return [_demanded(rating) for dispute in disputes[-1:] for rating in dispute["criteria"]]


def _demanded(rating: Mapping[str, Any]) -> dict[str, Any]:
    evidence = [
        {name: quoted[name] for name in ("segmentId", "charStart", "quote", "polarity")}
        for quoted in rating["evidence"]
    ]
    values = {name: rating[name] for name in _RATED if rating[name] is not None}
    return {**values, "evidence": evidence}


def _check_unanswered(typed: Mapping[str, str], key: str) -> None:
    """Refuse a reason or a quote for a criterion without a chosen answer, which would be lost."""
    if typed.get(_REASON + key, "").strip() or typed.get(_QUOTE + key):
        raise InvalidInput.field(
            key, "Choose an answer for the criterion that has a reason or a quote.", location="form"
        )


def _answer(text: str) -> str | int:
    """Return an answer as scorecards have it: a number on a scale, else a text."""
    number = whole_number(text)
    return text if number is None else number


def _evidence(text: str) -> dict[str, Any]:
    """Read a quote of the form `seg_0003:12:the words`, with the place of its first character."""
    segment_id, _, rest = text.partition(":")
    place, _, quote = rest.partition(":")
    evidence: dict[str, Any] = {"segmentId": segment_id, "quote": quote}
    start = whole_number(place)
    return evidence if start is None else {**evidence, "charStart": start}

"""Page of one evaluation: judgement, evidence, sound and words, reviews and revisions."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flask import render_template, request

from app.core.errors import AppError, Conflict, InvalidInput, ServiceUnavailable
from app.dashboard import evaluation_details, forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages import places
from app.dashboard.views import conversation, scored
from app.dashboard.views.quotes import quotes_by_turn
from app.dashboard.views.sentiment import quarters_of
from app.evaluations.enums import ENDED, RESOLUTIONS, ReviewStatus, Status
from app.evaluations.schemas.evaluations import ResultsQuery
from app.people import audit
from app.people.audit import Action
from app.people.gate.admission import current_actor
from app.reviews.transitions import possible_actions
from app.web import raw_access
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope

blp = PageBlueprint("evaluation", __name__, url_prefix="/evaluations/<id:evaluation_id>")


@blp.get("")
@require_scope("evaluations:read")
def show(evaluation_id: str) -> str:
    """Show an evaluation."""
    runtime = current_runtime()
    raw = request.args.get("words") == "raw"
    raw_access.check_raw(evaluation_id, redacted=not raw)
    if raw:
        with runtime.db.writing() as session:
            audit.record(session, current_actor(), Action.RAW_TEXTS_READ, evaluation_id)
    else:
        _note_opened(evaluation_id)
    return render(evaluation_id, raw=raw)


@blp.get("/blind")
@require_scope("evaluations:review")
def show_blind(evaluation_id: str) -> str:
    """Show the words and the questions, without answers and score, for a second opinion."""
    _note_opened(evaluation_id)
    return render_blind(evaluation_id)


def render(
    evaluation_id: str,
    *,
    raw: bool = False,
    typed: Mapping[str, str] | None = None,
    refused: AppError | None = None,
) -> str:
    """Render the page, after a refused review with the reason and with what was typed."""
    as_judged = forms.load(ResultsQuery(), request.args)["as_judged"]
    details = _read(evaluation_id, raw=raw, as_judged=as_judged)
    evaluation, document, transcript = details.evaluation, details.results, details.transcript
    scopes = current_principal().scopes
    is_open = evaluation["status"] not in ENDED
    duration_ms = 1000 * evaluation["duration_seconds"] if evaluation["duration_seconds"] else None
    segments = {segment["id"]: segment for segment in transcript["segments"]}
    may_review = (
        "evaluations:review" in scopes
        and evaluation["status"] == Status.COMPLETED
        and evaluation["is_current"]
        and not as_judged
    )
    return render_template(
        "evaluation/show.html",
        **_common(details, typed, refused),
        results=document,
        # Quotes are places in the masked text, so that the unmasked one has no marks.
        turns=conversation.turns_of(
            transcript, {} if raw else quotes_by_turn(document["criteria"])
        ),
        moments=conversation.moments_of(document["moments"], transcript["segments"]),
        card=scored.scored_card(document, transcript, details.scorecard, duration_ms=duration_ms),
        evidence_of=lambda items: scored.evidence_of(items, segments, duration_ms),
        sentiment=quarters_of(document["sentiment"]),
        call=details.call,
        revisions=details.revisions,
        changes=details.changes,
        scorecards=details.scorecards,
        resolutions=RESOLUTIONS,
        place=places.place_of(evaluation),
        place_arguments=places.arguments(),
        raw=raw,
        as_judged=as_judged,
        is_open=is_open,
        may_review=may_review,
        may_judge_again="evaluations:review" in scopes and evaluation["is_current"] and not is_open,
        may_read_raw=raw_access.SCOPE in scopes,
        actions=possible_actions(ReviewStatus(evaluation["review_status"])),
    )


def render_blind(
    evaluation_id: str,
    *,
    typed: Mapping[str, str] | None = None,
    refused: AppError | None = None,
) -> str:
    """Render the page of a second opinion; nothing of the judgement is in it.

    Raises:
        Conflict: the evaluation is not completed, or its scorecard is not kept any more.
    """
    details = _read(evaluation_id)
    if details.scorecard is None or details.evaluation["status"] != Status.COMPLETED:
        raise Conflict("Only a completed evaluation can get a second opinion.")
    return render_template(
        "evaluation/blind.html",
        **_common(details, typed, refused),
        turns=conversation.turns_of(details.transcript, {}),
        questions=scored.open_questions(details.scorecard),
        raw=False,
        may_read_raw=False,
    )


def _note_opened(evaluation_id: str) -> None:
    """Note that the person has opened an evaluation; its words are masked.

    A busy database does not keep the page from being read.
    """
    with suppress(ServiceUnavailable), current_runtime().db.writing() as session:
        audit.record_daily(session, current_actor(), Action.EVALUATION_OPENED, evaluation_id)


def _read(
    evaluation_id: str, *, raw: bool = False, as_judged: bool = False
) -> evaluation_details.EvaluationDetails:
    runtime = current_runtime()
    with runtime.db.reading() as session:
        return evaluation_details.read(
            session, runtime.keyring, evaluation_id, raw=raw, as_judged=as_judged
        )


def _common(
    details: evaluation_details.EvaluationDetails,
    typed: Mapping[str, str] | None,
    refused: AppError | None,
) -> dict[str, Any]:
    """Return the values that both pages show."""
    return {
        "evaluation": details.evaluation,
        "transcript": details.transcript,
        "recording": details.recording,
        "lanes": conversation.lanes_of(details.transcript),
        "listeners": details.listeners,
        "may_listen": "audio:download" in current_principal().scopes,
        "typed": typed or {},
        "refused": refused,
        "problems": forms.field_errors(refused) if isinstance(refused, InvalidInput) else {},
    }

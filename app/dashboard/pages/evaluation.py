"""Page of one evaluation: judgement, evidence, sound and words, reviews and revisions."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from flask import render_template, request

from app.analytics.engine.reader import open_facts
from app.analytics.schemas.query import AnalyticsQuery
from app.core.clock import iso_utc
from app.core.errors import Conflict
from app.dashboard import evaluation_details, forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.trend import TrendChart
from app.dashboard.evaluation_details import EvaluationDetails
from app.dashboard.pages import places
from app.dashboard.pages.audited import note_opened
from app.dashboard.pages.figures.score_trends import SHEET_FRAME, score_chart, score_trend
from app.dashboard.queries import filters_of
from app.dashboard.views import conversation, evaluation_page, scored, sheets
from app.dashboard.views.evaluation_page import (
    AllowedActions,
    SentForm,
    ShownConversation,
    ShownSound,
)
from app.dashboard.views.quotes import quotes_by_turn
from app.dashboard.views.sheets import AdvisedConversation
from app.evaluations.enums import RESOLUTIONS, ReviewStatus, Status
from app.evaluations.schemas.evaluations import ResultsQuery
from app.people import audit
from app.people.audit import Action
from app.people.gate import current_actor
from app.reviews.service import possible_actions
from app.web.current import current_runtime
from app.web.principal import (
    RAW_TEXTS,
    check_raw,
    check_scope,
    current_principal,
    require_scope,
)

blp = PageBlueprint("evaluation", __name__, url_prefix="/evaluations/<id:evaluation_id>")

_TREND_PERIOD = timedelta(days=90)


@blp.get("")
@require_scope("evaluations:read")
def show(evaluation_id: str) -> str:
    """Show an evaluation."""
    runtime = current_runtime()
    raw = request.args.get("words") == "raw"
    check_raw(evaluation_id, redacted=not raw)
    if raw:
        with runtime.db.writing() as session:
            audit.record(session, current_actor(), Action.RAW_TEXTS_READ, evaluation_id)
    else:
        note_opened([evaluation_id])
    return render(evaluation_id, raw=raw)


@blp.get("/blind")
@require_scope("evaluations:review")
def show_blind(evaluation_id: str) -> str:
    """Show the words and the questions, without answers and score, for a second opinion."""
    note_opened([evaluation_id])
    return render_blind(evaluation_id)


@blp.get("/sheet")
@require_scope("evaluations:read")
def show_sheet(evaluation_id: str) -> str:
    """Show what a talk about an evaluation needs on paper.

    Raises:
        Conflict: the evaluation is not completed.
    """
    check_scope("analytics:read")
    note_opened([evaluation_id])
    details = _read(evaluation_id)
    evaluation = details.evaluation
    if evaluation["status"] != Status.COMPLETED:
        raise Conflict("Only a completed evaluation has a sheet.")
    advised = AdvisedConversation.of(evaluation, details.results)
    return render_template(
        "evaluation/sheet.html",
        evaluation=evaluation,
        results=details.results,
        strengths=sheets.advice_of(advised, "strengths"),
        improvements=sheets.advice_of(advised, "improvements"),
        trend=_trend_until(evaluation),
    )


def render(evaluation_id: str, *, raw: bool = False, form: SentForm | None = None) -> str:
    """Render the page, after a refused review with its form."""
    as_judged = forms.load(ResultsQuery(), request.args)["as_judged"]
    details = _read(evaluation_id, raw=raw, as_judged=as_judged)
    return render_template(
        "evaluation/show.html",
        details=details,
        evaluation=details.evaluation,
        results=details.results,
        conversation=_conversation(details, is_unmasked=raw),
        sound=_sound(details),
        judgement=evaluation_page.judgement_of(
            details.results,
            details.transcript,
            details.scorecard,
            duration_ms=details.duration_ms,
        ),
        allowed=_allowed(details, as_judged=as_judged),
        form=form or SentForm(),
        place=places.place_of(details.evaluation),
        place_arguments=places.arguments(),
        as_judged=as_judged,
    )


def render_blind(evaluation_id: str, *, form: SentForm | None = None) -> str:
    """Render the page of a second opinion; nothing of the judgement is in it.

    Raises:
        Conflict: the evaluation is not completed, or its scorecard is not kept any more.
    """
    details = _read(evaluation_id)
    if details.scorecard is None or details.evaluation["status"] != Status.COMPLETED:
        raise Conflict("Only a completed evaluation can get a second opinion.")
    return render_template(
        "evaluation/blind.html",
        evaluation=details.evaluation,
        conversation=ShownConversation(
            turns=conversation.turns_of(details.transcript, {}),
            erased_at=details.transcript["erased_at"],
            is_unmasked=False,
            may_unmask=False,
        ),
        sound=_sound(details),
        questions=scored.open_questions(details.scorecard),
        place_arguments=places.arguments(),
        form=form or SentForm(),
    )


def _read(evaluation_id: str, *, raw: bool = False, as_judged: bool = False) -> EvaluationDetails:
    runtime = current_runtime()
    with runtime.db.reading() as session:
        return evaluation_details.read(
            session, runtime.keyring, evaluation_id, raw=raw, as_judged=as_judged
        )


def _conversation(details: EvaluationDetails, *, is_unmasked: bool) -> ShownConversation:
    transcript = details.transcript
    # Quotes are places in the masked text, so that the unmasked one has no marks.
    quotes = {} if is_unmasked else quotes_by_turn(details.results["criteria"])
    may_read_raw = RAW_TEXTS in current_principal().scopes
    return ShownConversation(
        turns=conversation.turns_of(transcript, quotes),
        erased_at=transcript["erased_at"],
        is_unmasked=is_unmasked,
        may_unmask=may_read_raw and bool(transcript["redaction_entities"]),
    )


def _sound(details: EvaluationDetails) -> ShownSound | None:
    return evaluation_page.sound_of(
        details.recording,
        details.transcript,
        duration_ms=details.duration_ms,
        listeners=details.listeners,
        may_listen="audio:download" in current_principal().scopes,
    )


def _allowed(details: EvaluationDetails, *, as_judged: bool) -> AllowedActions:
    evaluation = details.evaluation
    is_reviewer = "evaluations:review" in current_principal().scopes and evaluation["is_current"]
    may_review = is_reviewer and not as_judged and evaluation["status"] == Status.COMPLETED
    return AllowedActions(
        reviews=possible_actions(ReviewStatus(evaluation["review_status"])) if may_review else [],
        resolutions=RESOLUTIONS,
        judge_again=is_reviewer and not details.is_open,
    )


def _trend_until(evaluation: Mapping[str, Any]) -> TrendChart | None:
    """Draw the scores of the executive up to this evaluation; None if it names no executive."""
    executive_id, opened = evaluation["executive_id"], evaluation["created_at"]
    if executive_id is None:
        return None
    page_filters = filters_of(
        {
            "executiveId": executive_id,
            "from": iso_utc(opened - _TREND_PERIOD),
            "to": iso_utc(opened + timedelta(seconds=1)),
        }
    )
    with open_facts(current_runtime()) as facts:
        trend = score_trend(facts, page_filters.selection(page_filters.load(AnalyticsQuery())))
    return score_chart(trend, page_filters, SHEET_FRAME)

"""Page of one evaluation: judgement, evidence, sound and words, reviews and revisions."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flask import render_template, request
from sqlalchemy.orm import Session
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from app.audio_files import queries as audio_files
from app.core.database.paging import PageRequest
from app.core.errors import AppError, Conflict, InvalidInput, NotFound, ServiceUnavailable
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.notices import redirect_with
from app.dashboard.views import conversation, review_form, scored
from app.dashboard.views.quotes import quotes_by_turn
from app.dashboard.views.revision_changes import AnswerChange, changes_between
from app.dashboard.views.sentiment import quarters_of
from app.evaluations import listing, outcome, results, service
from app.evaluations.enums import ENDED, RESOLUTIONS, ReviewStatus, SourceType, Status
from app.evaluations.judging import again
from app.evaluations.schemas.evaluations import ResultsQuery
from app.evaluations.transcripts import shown as transcripts
from app.people import audit
from app.people import service as people
from app.people.audit import Action
from app.people.gate.admission import current_actor, current_person
from app.reviews import service as reviews
from app.reviews.schemas import ReviewCreate, ReviewPreviewBody
from app.reviews.transitions import possible_actions
from app.voice_calls import epa
from app.voice_calls import queries as voice_calls
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
        evaluation = service.get(session, evaluation_id)
        row = service.find(session, evaluation_id)
        document = results.results_of(session, row, as_judged=as_judged)
        transcript = transcripts.of_evaluation(
            session, runtime.keyring, row, include_words=True, redacted=not raw
        )
        scorecard = None
        with suppress(NotFound):
            scorecard = outcome.scorecard_of(session, row)
        call = _voice_call(session, evaluation)
        recording = _recording(session, evaluation, call)
        revisions = _revisions(session, evaluation)
        changes = _changes(session, evaluation, document)
        listeners = _listeners(session, recording)
    duration_ms = 1000 * evaluation["duration_seconds"] if evaluation["duration_seconds"] else None
    turns = {segment["id"]: segment for segment in transcript["segments"]}
    may_review = (
        "evaluations:review" in current_principal().scopes
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
        card=scored.scored_card(document, transcript, scorecard, duration_ms=duration_ms),
        evidence_of=lambda items: scored.evidence_of(items, turns, duration_ms),
        sentiment=quarters_of(document["sentiment"]),
        recording=recording,
        lanes=_lanes(transcript),
        call=call,
        revisions=revisions,
        changes=changes,
        listeners=listeners,
        raw=raw,
        as_judged=as_judged,
        is_open=evaluation["status"] not in ENDED,
        may_review=may_review,
        may_listen="audio:download" in current_principal().scopes,
        may_judge_again="evaluations:review" in current_principal().scopes
        and evaluation["is_current"]
        and evaluation["status"] in ENDED,
        may_read_raw=raw_access.SCOPE in current_principal().scopes,
        actions=possible_actions(ReviewStatus(evaluation["review_status"])),
        resolutions=RESOLUTIONS,
        typed=typed or MultiDict(),
        refused=refused,
        problems=forms.field_errors(refused) if isinstance(refused, InvalidInput) else {},
    )


def _voice_call(session: Session, evaluation: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the call of a voice bot, with its assessment."""
    if evaluation["source_type"] != SourceType.VOICE_CALL:
        return None
    call = voice_calls.get(session, evaluation["source_id"])
    return {**call, "assessment": epa.assess(session, evaluation["source_id"])}


def _recording(
    session: Session, evaluation: Mapping[str, Any], call: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return the recording of the conversation, if its file is kept."""
    is_recording = evaluation["source_type"] == SourceType.AUDIO_FILE
    recording_id = call["recording_id"] if call else None
    if is_recording:
        recording_id = evaluation["source_id"]
    if recording_id is None:
        return None
    with suppress(NotFound, Conflict):
        audio_files.find_stored(session, recording_id)
        return dict(audio_files.show(session, recording_id))
    return None


def _revisions(session: Session, evaluation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return every revision of the source, the newest first."""
    page = listing.list_page(
        session,
        PageRequest(page_size=_MOST_REVISIONS),
        current=False,
        source_id=evaluation["source_id"],
    )
    return sorted(page.items, key=lambda revision: -revision["revision"])


def _changes(
    session: Session, evaluation: Mapping[str, Any], document: Mapping[str, Any]
) -> list[AnswerChange] | None:
    """Return what differs from the revision before, None where there is none to compare with."""
    if evaluation["supersedes_id"] is None or evaluation["status"] != Status.COMPLETED:
        return None
    before = service.find(session, evaluation["supersedes_id"])
    if before.status != Status.COMPLETED:
        return None
    earlier = results.results_of(session, before)
    return changes_between(earlier["criteria"], document["criteria"])


def _listeners(session: Session, recording: Mapping[str, Any] | None) -> list[str]:
    """Return the names of those who have played the recording."""
    if recording is None:
        return []
    listeners = audit.users_who(session, Action.RECORDING_PLAYED, recording["id"])
    names = people.display_names(session, listeners)
    return [names[user_id] for user_id in listeners if user_id in names]


def _lanes(transcript: Mapping[str, Any]) -> list[str]:
    """Return the role of each channel of the recording, in the order of the channels."""
    by_channel = {
        participant["channelIndex"]: participant["role"]
        for participant in transcript["participants"]
        if participant["channelIndex"] is not None
    }
    return [by_channel[channel] for channel in sorted(by_channel)]

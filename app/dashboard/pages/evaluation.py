"""Page of one evaluation: judgement, evidence, sound and words, reviews and revisions."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flask import render_template, request
from sqlalchemy.orm import Session

from app.agents import receipts
from app.agents.enums import ReceiptAction
from app.analytics.engine.reader import open_facts
from app.analytics.schemas.reports import AnalyticsQuery
from app.audio_files import queries as audio_files
from app.core.clock import iso_utc
from app.core.database.paging import PageRequest
from app.core.errors import Conflict, NotFound, ServiceUnavailable
from app.core.principal import ORIGINAL_SOUND, current_teams
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.chart import Chart
from app.dashboard.pages import places
from app.dashboard.pages.allowed import allowed
from app.dashboard.pages.audited import note_opened, record
from app.dashboard.pages.figures.trends import SHEET_FRAME, score_chart, score_trend
from app.dashboard.queries import filters_of
from app.dashboard.views import conversation, scored, sheets
from app.dashboard.views.scored import AnswerChange, PlayableQuote, changes_between
from app.dashboard.views.sheets import AdvisedConversation
from app.dashboard.words import kind_of
from app.evaluations import listing, outcome, results, service
from app.evaluations import shown_transcripts as transcripts
from app.evaluations.enums import ENDED, SourceType, Status
from app.evaluations.schemas.evaluations import ResultsQuery
from app.judge.scorecard.values import Scorecard
from app.people import audit
from app.people import service as people
from app.people.audit import Action
from app.people.roles import OWN_RESULTS
from app.scorecards import service as scorecards
from app.voice_calls import epa
from app.voice_calls import queries as voice_calls
from app.web.current import current_runtime
from app.web.principal import RAW_TEXTS, check_raw, check_scope, current_principal, require_scope

blp = PageBlueprint("evaluation", __name__, url_prefix="/evaluations/<id:evaluation_id>")
_TREND_PERIOD = timedelta(days=90)
_MOST_REVISIONS = _MOST_SCORECARDS = 100


@dataclass(frozen=True, slots=True)
class EvaluationDetails:
    """One evaluation with its words, its source and its history.

    Attributes:
        scorecard: the version that it was judged with; None where it is not kept any more.
        recording: the recording, if there is one and its file is kept.
        call: the call of a voice bot, with its assessment.
        revisions: every revision of the source, the newest first.
        changes: what differs from the revision before; None where nothing can be compared.
        scorecards: current scorecards of the channel, to judge again with.
        listeners: the names of those who have played the recording.
        receipts: what its agent has said about it.
        names: display names of the accounts in receipts and disputes.
    """

    evaluation: Mapping[str, Any]
    results: Mapping[str, Any]
    transcript: Mapping[str, Any]
    scorecard: Scorecard | None
    recording: Mapping[str, Any] | None
    call: Mapping[str, Any] | None
    revisions: list[Mapping[str, Any]]
    changes: list[AnswerChange] | None
    scorecards: Sequence[Mapping[str, Any]]
    listeners: list[str]
    receipts: Sequence[Mapping[str, Any]]
    names: Mapping[str, str]

    @property
    def is_open(self) -> bool:
        """Return whether the evaluation still waits or runs."""
        return self.evaluation["status"] not in ENDED

    @property
    def turns(self) -> dict[str, Mapping[str, Any]]:
        return {segment["id"]: segment for segment in self.transcript["segments"]}

    @property
    def duration_ms(self) -> int | None:
        """The length of the conversation, if it is known."""
        seconds = self.evaluation["duration_seconds"]
        return 1000 * seconds if seconds else None


@blp.get("")
@require_scope("evaluations:read")
def show(evaluation_id: str) -> str:
    """Show an evaluation."""
    runtime = current_runtime()
    raw = request.args.get("words") == "raw"
    check_raw(evaluation_id, redacted=not raw)
    if raw:
        with runtime.db.writing() as session:
            record(session, Action.RAW_TEXTS_READ, evaluation_id)
    else:
        note_opened([evaluation_id])
    if OWN_RESULTS in current_principal().scopes:
        _note_seen(evaluation_id)
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
        is_estimated=scored.is_estimated(details.results),
        strengths=sheets.advice_of(advised, "strengths"),
        improvements=sheets.advice_of(advised, "improvements"),
        trend=_trend_until(evaluation),
    )


def _note_seen(evaluation_id: str) -> None:
    """Note that the agent has seen the evaluation, once there is something to see."""
    with suppress(ServiceUnavailable, Conflict), current_runtime().db.writing() as session:
        user_id = current_principal().key_id
        receipts.add(session, evaluation_id, ReceiptAction.SEEN, user_id=user_id)


def render_again(evaluation_id: str) -> str:
    """Render the page of a form of answers that was refused, with what was typed."""
    render_page = render_blind if request.form.get("blind") else render
    return render_page(evaluation_id, typed=request.form)


def render(evaluation_id: str, *, raw: bool = False, typed: Mapping[str, str] | None = None) -> str:
    as_judged = forms.load(ResultsQuery(), request.args)["as_judged"]
    details = _read(evaluation_id, raw=raw, as_judged=as_judged)
    sections, not_judged = scored.scored_sections(
        details.results, details.turns, details.scorecard, duration_ms=details.duration_ms
    )
    # Quotes are places in the masked text, so that the unmasked one has no marks.
    turns = conversation.turns_of(
        details.transcript,
        {} if raw else conversation.quotes_by_turn(details.results["criteria"]),
    )
    return render_template(
        "evaluation/show.html",
        details=details,
        evaluation=details.evaluation,
        results=details.results,
        transcript=details.transcript,
        turns=turns,
        clocks={turn.segment["id"]: turn.clock for turn in turns},
        is_unmasked=raw,
        may_unmask=RAW_TEXTS in current_principal().scopes
        and bool(details.transcript["redaction_entities"]),
        voices=_voices_to_name(details) if not as_judged else [],
        sound=_sound(details),
        sections=sections,
        not_judged=not_judged,
        is_estimated=scored.is_estimated(details.results),
        moments=conversation.moments_by_turn(details.results["moments"]),
        sentiment=conversation.quarters_of(details.results["sentiment"]),
        coaching=_coaching(details),
        allowed=allowed(details.evaluation, as_judged=as_judged),
        typed=typed or {},
        place=places.place_of(details.evaluation),
        place_arguments=places.arguments(),
        as_judged=as_judged,
    )


def render_blind(evaluation_id: str, *, typed: Mapping[str, str] | None = None) -> str:
    """Render the page of a second opinion; nothing of the judgement is in it.

    Raises:
        Conflict: the evaluation is not completed, a newer revision replaces it, or its scorecard
            is not kept any more.
    """
    details = _read(evaluation_id)
    if details.scorecard is None or details.evaluation["status"] != Status.COMPLETED:
        raise Conflict("Only a completed evaluation can get a second opinion.")
    if not details.evaluation["is_current"] and not typed:
        raise Conflict(
            "This conversation was judged again: ask for the link of its newest revision."
        )
    return render_template(
        "evaluation/blind.html",
        evaluation=details.evaluation,
        transcript=details.transcript,
        turns=conversation.turns_of(details.transcript, {}),
        moments={},
        is_unmasked=False,
        may_unmask=False,
        sound=_sound(details),
        questions=scored.open_questions(details.scorecard),
        place_arguments=places.arguments(),
        typed=typed or {},
    )


def _voices_to_name(details: EvaluationDetails) -> list[tuple[int, str]]:
    """Return the voices of a recording that the person may name the agent's."""
    evaluation = details.evaluation
    may = "audio:write" in current_principal().scopes and evaluation["is_current"]
    is_recording = evaluation["source_type"] == SourceType.AUDIO_FILE and details.recording
    if not may or not is_recording or evaluation["status"] not in ENDED:
        return []
    transcript = details.transcript
    return conversation.voices_to_name(transcript["participants"], transcript["segments"])


def _sound(details: EvaluationDetails) -> dict[str, Any] | None:
    """Return the recording with the roles of its channels; None where none is kept."""
    recording = details.recording
    if recording is None:
        return None
    seconds = recording["duration_seconds"]
    return {
        "recording_id": recording["id"],
        "duration_ms": round(1000 * seconds) if seconds else details.duration_ms or 0,
        "channel_roles": conversation.channel_roles(details.transcript),
        "listeners": details.listeners,
        "may_listen": "audio:download" in current_principal().scopes,
        "may_hear_original": ORIGINAL_SOUND in current_principal().scopes
        and recording["original_deleted_at"] is None,
    }


def _coaching(
    details: EvaluationDetails,
) -> list[tuple[str, list[tuple[str, list[PlayableQuote]]]]]:
    """Return the strengths and the improvements, texts with their quotes, under their headings."""
    coaching = details.results["coaching"] or {"strengths": (), "improvements": ()}
    turns, duration_ms = details.turns, details.duration_ms
    return [
        (
            heading,
            [
                (item["text"], scored.quotes_of(item["evidence"], turns, duration_ms))
                for item in coaching[kind]
            ],
        )
        for heading, kind in (("Strengths", "strengths"), ("To improve", "improvements"))
    ]


def _trend_until(evaluation: Mapping[str, Any]) -> Chart | None:
    """Draw the scores of the executive up to this evaluation; None if it names no executive."""
    executive_id, opened = evaluation["executive_id"], evaluation["conversation_at"]
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


def _read(evaluation_id: str, *, raw: bool = False, as_judged: bool = False) -> EvaluationDetails:
    """Read an evaluation in one snapshot; raise `NotFound` if it does not exist.

    Args:
        raw: read the unmasked words; the caller has checked that this is allowed.
        as_judged: read the results without reviews.
    """
    runtime = current_runtime()
    with runtime.db.reading() as session:
        row = service.find(session, evaluation_id)
        evaluation = {**service.get(session, evaluation_id), "kind": kind_of(row)}
        document = results.results_of(session, row, as_judged=as_judged)
        scorecard = None
        with suppress(NotFound):
            scorecard = outcome.scorecard_of(session, row)
        call = _voice_call(session, evaluation)
        recording = _recording(session, evaluation, call)
        given = receipts.list_of(session, evaluation_id)
        named = {receipt["user_id"] for receipt in given}
        named |= {review.get("addresseeId") or "" for review in document["reviews"]}
        return EvaluationDetails(
            evaluation=evaluation,
            results=document,
            transcript=transcripts.of_evaluation(
                session, runtime.keyring, row, include_words=True, redacted=not raw
            ),
            scorecard=scorecard,
            recording=recording,
            call=call,
            revisions=_revisions(session, evaluation),
            changes=_changes(session, evaluation, document),
            scorecards=scorecards.list_page(
                session,
                PageRequest(page_size=_MOST_SCORECARDS, sort="name"),
                channel=evaluation["channel"],
            ).items,
            listeners=_listeners(session, recording),
            receipts=given,
            names=people.display_names(session, named),
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
    recording_id = call["recording_id"] if call else None
    if evaluation["source_type"] == SourceType.AUDIO_FILE:
        recording_id = evaluation["source_id"]
    if recording_id is None:
        return None
    with suppress(NotFound, Conflict):
        audio_files.find_stored(session, recording_id)
        return dict(audio_files.show(session, recording_id))
    return None


def _revisions(session: Session, evaluation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return every revision of the source, the newest first."""
    newest = PageRequest(page_size=_MOST_REVISIONS)
    page = listing.list_page(session, newest, current=False, source_id=evaluation["source_id"])
    return sorted(page.items, key=lambda revision: -revision["revision"])


def _changes(
    session: Session, evaluation: Mapping[str, Any], document: Mapping[str, Any]
) -> list[AnswerChange] | None:
    """Return what differs from the revision before, or None for the first one."""
    if evaluation["supersedes_id"] is None or evaluation["status"] != Status.COMPLETED:
        return None
    # The one before may be of another team.
    with suppress(NotFound):
        before = service.find(session, evaluation["supersedes_id"])
        if before.status == Status.COMPLETED:
            earlier = results.results_of(session, before)
            return changes_between(earlier["criteria"], document["criteria"])
    return None


def _listeners(session: Session, recording: Mapping[str, Any] | None) -> list[str]:
    """Return the names of those who have played the recording."""
    teams = current_teams()
    if recording is None or (teams is not None and teams.hides_reviewers):
        return []
    listeners = audit.users_who(session, Action.RECORDING_PLAYED, recording["id"])
    names = people.display_names(session, listeners)
    return [names[user_id] for user_id in listeners if user_id in names]

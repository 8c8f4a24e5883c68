"""Coaching: sessions of coaches with agents, what they changed, goals, and the page of the agent."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flask import render_template, request
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.analytics.engine.reader import open_facts
from app.coaching import measuring, progress, service
from app.coaching.enums import NotesFor, SessionState
from app.coaching.schemas import (
    CoachingSessionChange,
    CoachingSessionCreate,
    CoachingSessionQuery,
    GoalCreate,
)
from app.core.clock import utc_now
from app.core.database.paging import PageRequest
from app.core.errors import InvalidInput, NotFound
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.navigation import request_texts
from app.dashboard.pages.agent.results import own_executive
from app.dashboard.pages.audited import audited
from app.dashboard.queries import filters_of
from app.directory.service import CALL_CENTERS, EXECUTIVES
from app.evaluations import service as evaluations
from app.people.audit import Action
from app.people.gate import current_person
from app.people.roles import OWN_RESULTS
from app.scorecards import service as scorecards
from app.web.current import current_runtime
from app.web.principal import current_principal, require_scope

blp = PageBlueprint("coaching", __name__)
_READ, _WRITE = "coaching:read", "coaching:write"
_ALL = PageRequest(page_size=100, sort="name")
_NEWEST = PageRequest(page_size=100, sort="-at")
_MOST_AGENTS = 300


@blp.get("/coaching")
@require_scope(_WRITE)
def list_page() -> str:
    """List sessions and goals."""
    query = forms.load(CoachingSessionQuery(), request_texts())
    paged = query.pop("page_request")
    with open_facts(current_runtime()) as facts:
        page = service.list_sessions(facts.session, paged, **query)
        goals = progress.goals_of(facts, utc_now())
        return render_template(
            "coaching/list.html",
            page=page,
            **goals,
            **service.words_of(facts.session, *page.items, *goals["goals"]),
        )


@blp.get("/coaching/new")
@require_scope(_WRITE)
def new() -> str:
    """Show the form of a new session, filled in from where it was opened."""
    typed = {**request_texts(), **request.form.to_dict()}
    with current_runtime().db.reading() as session:
        # The message about an unknown one is shown at its field.
        with suppress(NotFound):
            evaluation = evaluations.find(session, typed.get("evaluationId", ""))
            typed.setdefault("executiveId", evaluation.executive_id or "")
            typed.setdefault("scorecardId", evaluation.scorecard_id)
        chosen = [*request.form.getlist("criteria"), *typed.get("criterion", "").split(",")]
        return render_template(
            "coaching/new.html",
            **_choices(session, typed),
            chosen=chosen,
            readers=NotesFor.labels(),
        )


@blp.post("/coaching")
@require_scope(_WRITE)
@forms.shown_again(new)
def create() -> Response:
    """Plan a session, or record one that was held."""
    values = forms.load(CoachingSessionCreate(), _document())
    person = current_person()
    with audited(Action.COACHED, values["executive_id"]) as session:
        made = service.add_session(
            session, values, coach=person.display_name, created_by=person.user_id
        )
    return redirect_with("coaching-saved", "coaching.show", coaching_session_id=made["id"])


@blp.get("/goals/new")
@require_scope(_WRITE)
def new_goal() -> str:
    """Show the form of a new goal."""
    typed = {**request_texts(), **request.form.to_dict()}
    with current_runtime().db.reading() as session:
        return render_template(
            "coaching/goal.html",
            **_choices(session, typed),
            centers=CALL_CENTERS.choices(session, limit=_MOST_AGENTS),
        )


@blp.post("/goals")
@require_scope(_WRITE)
@forms.shown_again(new_goal)
def create_goal() -> Response:
    """Set a goal of an agent or of a call centre."""
    texts = _moments(request.form.to_dict(), "by")
    document = {**texts, **{name: _number(texts.get(name, "")) for name in ("from", "to")}}
    if not texts.get("criterion"):
        document.pop("scorecardId", None)
    values = forms.load(GoalCreate(), document)
    whose = values.get("executive_id") or values.get("call_center_id") or ""
    with audited(Action.GOAL_SET, whose) as session:
        service.GOALS.create(session, values, created_by=current_person().user_id)
    return redirect_with("goal-saved", "coaching.list_page")


@blp.post("/goals/<id:goal_id>/delete")
@require_scope(_WRITE)
def delete_goal(goal_id: str) -> Response:
    """Delete a goal."""
    with audited(Action.GOAL_DELETED, goal_id) as session:
        service.GOALS.remove(session, goal_id)
    return redirect_with("goal-deleted", "coaching.list_page")


@blp.get("/coaching/<id:coaching_session_id>")
@require_scope(_READ)
def show(coaching_session_id: str) -> str:
    """Show a session and whether it helped; it prints as a sheet."""
    with open_facts(current_runtime()) as facts:
        coaching = service.get_session(facts.session, coaching_session_id)
        return render_template(
            "coaching/show.html",
            coaching=coaching,
            effects=measuring.effects_of(facts, coaching),
            may_change=_WRITE in current_principal().scopes
            and coaching["state"] != SessionState.CLOSED,
            may_acknowledge=OWN_RESULTS in current_principal().scopes
            and coaching["state"] == SessionState.HELD,
            may_delete=_WRITE in current_principal().scopes
            and service.may_remove(coaching, current_principal()),
            states=_next_states(coaching["state"]),
            **service.words_of(facts.session, coaching),
        )


@blp.post("/coaching/<id:coaching_session_id>")
@require_scope(_WRITE)
@forms.shown_again(show)
def change(coaching_session_id: str) -> Response:
    """Change the state, the steps and the notes of a session."""
    values = forms.load(CoachingSessionChange(), _moments(request.form.to_dict(), "due"))
    emptied = {name: None for name in ("steps", "notes") if request.form.get(name) == ""}
    with audited(Action.COACHED, coaching_session_id) as session:
        service.change_session(session, coaching_session_id, {**emptied, **values})
    return redirect_with("coaching-saved", "coaching.show", coaching_session_id=coaching_session_id)


@blp.post("/coaching/<id:coaching_session_id>/delete")
@require_scope(_WRITE)
def delete(coaching_session_id: str) -> Response:
    """Delete a session."""
    with audited(Action.COACHING_DELETED, coaching_session_id) as session:
        service.remove_session(session, coaching_session_id, current_principal())
    return redirect_with("coaching-deleted", "coaching.list_page")


@blp.post("/coaching/<id:coaching_session_id>/acknowledge")
@require_scope(OWN_RESULTS)
def acknowledge(coaching_session_id: str) -> Response:
    """Note that the agent has acknowledged the session."""
    with audited(Action.ACKNOWLEDGED, coaching_session_id) as session:
        service.acknowledge(session, coaching_session_id)
    return redirect_with(
        "coaching-acknowledged", "coaching.show", coaching_session_id=coaching_session_id
    )


@blp.get("/my/coaching")
@require_scope(OWN_RESULTS)
def show_own() -> str:
    """Show an agent their sessions, their goals, and the targets of their campaigns."""
    if not own_executive():
        return render_template("agent/unlinked.html", title="My coaching")
    with open_facts(current_runtime()) as facts:
        page = service.list_sessions(facts.session, _NEWEST)
        goals = progress.goals_of(facts, utc_now())
        return render_template(
            "coaching/own.html",
            page=page,
            **goals,
            **service.words_of(facts.session, *page.items, *goals["goals"]),
        )


def _choices(session: Session, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return what a form has typed, and the agents, the scorecards and the criteria of one to choose from."""
    known = scorecards.list_page(session, _ALL).items
    scorecard_id = typed.get("scorecardId") or known[0]["id"]
    scorecard = scorecards.find(session, scorecard_id).scorecard
    return {
        "typed": {**typed, "scorecardId": scorecard_id},
        "agents": EXECUTIVES.choices(session, limit=_MOST_AGENTS)
        | EXECUTIVES.names(session, {typed.get("executiveId", "")}),
        "scorecards": [(row["id"], row["name"]) for row in known],
        "criteria": [(criterion.key, criterion.title) for criterion in scorecard.criteria],
    }


def _document() -> dict[str, Any]:
    """Return the session that the form describes, as the API takes it."""
    typed: dict[str, Any] = _moments(request.form.to_dict(), "at", "due")
    evidence = {"evaluationId": typed.get("evaluationId", ""), "quote": typed.get("quote") or None}
    given = {name: value for name, value in evidence.items() if value}
    typed["criteria"] = request.form.getlist("criteria")
    return {**typed, "evidence": [given] if "evaluationId" in given else []}


def _moments(typed: Mapping[str, str], *names: str) -> dict[str, str]:
    """Return a form whose days begin in the zone of the person.

    Raises:
        InvalidInput: a day is not a date.
    """
    found = dict(typed)
    for name in names:
        if found.get(name):
            start = filters_of({"from": found[name]}).moments().get("from", "")
            if not start:
                raise InvalidInput.field(name, "This must be a day.", location=forms.LOCATION)
            found[name] = start
    return found


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _next_states(state: str) -> list[tuple[str, str]]:
    """Return the states that a coach may choose: this one and later ones, but not for the agent."""
    labels = list(SessionState.labels().items())
    at = [value for value, _ in labels].index(state)
    return [
        (value, label)
        for value, label in labels[at:]
        if value in (state, SessionState.HELD, SessionState.CLOSED)
    ]

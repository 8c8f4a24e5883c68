"""Review plans: how far each is, what they have given to the signed-in person, and what reviewers do."""

from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from flask import render_template, request
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.core.clock import utc_now
from app.core.database.paging import PageRequest
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited, record
from app.dashboard.pickers import FILTERS, filter_options
from app.dashboard.queries import filters_of_request
from app.evaluations import listing
from app.people import service as people
from app.people.audit import Action
from app.people.gate import current_person
from app.reviews import assignments, plans, reviewers
from app.reviews.enums import HELD, AssignmentState
from app.reviews.plans import PLANS
from app.reviews.schemas.agreement import AgreementQuery
from app.reviews.schemas.plans import PlanCreate, ReplaceBody
from app.web.current import current_runtime
from app.web.principal import require_scope

blp = PageBlueprint("plans", __name__, url_prefix="/review", scope="reviews:plan")
_ALL = PageRequest(page_size=100)
_LATEST = PageRequest(page_size=8, sort="-week")
_OPEN = PageRequest(page_size=100, sort="due_at")
_NUMBERS = ("perAgent", "percent", "minimum", "dueDays", "weekday")


@blp.get("/plans")
def list_page() -> str:
    """Show the plans, and the form for a new one."""
    with current_runtime().db.reading() as session:
        return render_template(
            "planning/plans.html",
            plans=PLANS.list_page(session, _ALL).items,
            typed=request.form,
            timezone=current_person().timezone,
            filters=filter_options(session),
            reviewers=[(user.id, user.display_name) for user in people.list_reviewers(session)],
        )


@blp.post("/plans")
@forms.shown_again(list_page, inside="filters")
def create() -> Response:
    """Create a plan."""
    typed = {
        **request.form,
        **{name: forms.whole(name) for name in _NUMBERS},
        "filters": forms.given(*FILTERS),
        "reviewers": [
            {"userId": user_id, "share": forms.whole(f"share.{user_id}") or 1}
            for user_id in request.form.getlist("reviewers")
        ],
        "blind": "blind" in request.form,
    }
    values = forms.load(PlanCreate(), typed)
    with current_runtime().db.writing() as session:
        made = PLANS.create(session, values, created_by=current_person().user_id)
        record(session, Action.PLAN_SAVED, made.id)
    return redirect_with("saved", "plans.show", plan_id=made.id)


@blp.get("/plans/<id:plan_id>")
def show(plan_id: str) -> str:
    """Show what a plan has drawn, and how far each reviewer and each agent is."""
    with current_runtime().db.reading() as session:
        plan = PLANS.find(session, plan_id)
        draws = plans.list_draws(session, plan_id, _LATEST).items
        by_reviewer = _table(session, plan_id, "reviewer_id")
        return render_template(
            "planning/plan.html",
            plan=plan,
            draws=draws,
            states=list(AssignmentState),
            by_reviewer=by_reviewer,
            by_agent=_table(session, plan_id, "executive"),
            names=people.display_names(session, list(by_reviewer)),
            waiting=assignments.list_page(session, _OPEN, plan_id=plan_id, state=HELD).items,
        )


@blp.post("/plans/<id:plan_id>")
def change(plan_id: str) -> Response:
    """Switch a plan on or off."""
    with audited(Action.PLAN_SAVED, plan_id) as session:
        PLANS.change(session, plan_id, {"active": request.form.get("change") == "on"})
    return redirect_with("saved", "plans.show", plan_id=plan_id)


@blp.post("/plans/<id:plan_id>/assignments/<id:assignment_id>")
def replace(plan_id: str, assignment_id: str) -> Response:
    """Take an assignment back, and draw another conversation."""
    values = forms.load(ReplaceBody(), request.form)
    with audited(Action.ASSIGNMENT_REPLACED, assignment_id) as session:
        assignments.replace(session, assignment_id, **values)
    return redirect_with("saved", "plans.show", plan_id=plan_id)


@blp.get("/mine")
@require_scope("evaluations:review")
def show_own() -> str:
    """Show what is overdue, due today, begun, and still to come."""
    person = current_person()
    with current_runtime().db.reading() as session:
        page = assignments.list_page(session, _OPEN, reviewer=person.user_id, state=HELD)
        counts = assignments.count(session, "week", "state", reviewer=person.user_id)
        subjects = listing.subjects(session, [row["evaluation_id"] for row in page.items])
    weeks = sorted({row.week for row in counts})
    this_week = {row.state: row.count for row in counts if weeks and row.week == weeks[-1]}
    return render_template(
        "planning/mine.html",
        groups=_groups(page.items, ZoneInfo(person.timezone)),
        total=page.total_count,
        done=this_week.get(AssignmentState.DONE, 0),
        given=sum(n for state, n in this_week.items() if state != AssignmentState.REPLACED),
        week=weeks[-1] if weeks else "",
        subjects=subjects,
    )


@blp.get("/reviewers")
def show_reviewers() -> str:
    """Show the figures of everybody who has reviewed in the period."""
    page_filters = filters_of_request(for_figures=True)
    selection = page_filters.selection(page_filters.load(AgreementQuery()))
    with current_runtime().db.reading() as session:
        rows = reviewers.figures(session, selection)
        names = people.display_names(session, [row["reviewer"] for row in rows])
    return render_template(
        "planning/reviewers.html", page_filters=page_filters, rows=rows, names=names
    )


def _table(session: Session, plan_id: str, column: str) -> dict[str, Mapping[str, int]]:
    """Return the numbers of assignments by a column and by state."""
    table: dict[str, dict[str, int]] = {}
    for name, state, count in assignments.count(session, column, "state", plan_id=plan_id):
        table.setdefault(name, {})[state] = count
    return dict(table)


def _groups(
    rows: Sequence[Mapping[str, Any]], zone: ZoneInfo
) -> list[tuple[str, list[Mapping[str, Any]]]]:
    now = utc_now()
    tomorrow = datetime.combine(now.astimezone(zone).date() + timedelta(days=1), time(), zone)
    groups: dict[str, list[Mapping[str, Any]]] = {
        name: [] for name in ("Overdue", "Due today", "Begun", "To do", "Later this week")
    }
    for row in rows:
        if row["due_at"] <= now:
            name = "Overdue"
        elif row["due_at"] <= tomorrow:
            name = "Due today"
        elif row["state"] == AssignmentState.IN_REVIEW:
            name = "Begun"
        else:
            name = "To do" if row["starts_at"] <= now else "Later this week"
        groups[name].append(row)
    return [(name, found) for name, found in groups.items() if found]

"""Forms by which agents answer an evaluation: acknowledge, comment, dispute."""

from flask import request
from werkzeug.wrappers import Response

from app.agents import disputes, receipts
from app.agents.enums import ReceiptAction
from app.agents.schemas import DisputeCreate, ReceiptCreate
from app.core.errors import Conflict
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages import evaluation as page
from app.dashboard.pages.audited import audited
from app.dashboard.pages.evaluation_changes import criteria_of
from app.people.audit import Action
from app.people.gate import current_person
from app.people.roles import OWN_RESULTS
from app.web.current import current_runtime

blp = PageBlueprint(
    "answers", __name__, url_prefix="/evaluations/<id:evaluation_id>", scope=OWN_RESULTS
)


@blp.post("/receipts")
@forms.shown_again(page.render)
def answer(evaluation_id: str) -> Response:
    """Acknowledge an evaluation, or comment on it."""
    values = forms.load(ReceiptCreate(), request.form)
    action = (
        Action.ACKNOWLEDGED if values["action"] == ReceiptAction.ACKNOWLEDGED else Action.ANSWERED
    )
    with audited(action, evaluation_id) as session:
        receipts.add(session, evaluation_id, **values, user_id=current_person().user_id)
    return redirect_with("answer-saved", "evaluation.show", evaluation_id=evaluation_id)


@blp.post("/disputes")
@forms.shown_again(page.render_again, {Conflict: ""})
def dispute(evaluation_id: str) -> Response:
    """Dispute answers."""
    person, typed = current_person(), request.form
    body = forms.load(DisputeCreate(), {**typed, "criteria": criteria_of(typed)})
    with audited(Action.DISPUTED, evaluation_id) as session:
        disputes.open_dispute(
            session,
            evaluation_id,
            body,
            name=person.display_name,
            ref=person.user_id,
            days=current_runtime().settings.dispute_days,
        )
    return redirect_with("disputed", "evaluation.show", evaluation_id=evaluation_id)

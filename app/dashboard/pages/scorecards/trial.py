"""Trial of a draft: requested, followed while it runs, and shown with its largest changes."""

from collections.abc import Mapping
from typing import Any

from flask import redirect, render_template, url_for
from werkzeug.wrappers import Response

from app.core.errors import NotFound
from app.dashboard import service
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages.scorecards.checking import loaded_document
from app.dashboard.views import times
from app.dashboard.views.scorecards.trial import shown_trial
from app.dashboard.words import text_of
from app.evaluations import service as evaluations
from app.evaluations import trials
from app.people.gate import current_person
from app.scorecards.authoring import complete_document
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope

blp = PageBlueprint(
    "scorecard_trial", __name__, url_prefix="/scorecards/drafts/<id:draft_id>/trial"
)

SCOPE = "scorecards:manage"


@blp.post("")
@require_scope(SCOPE, policy=EXPENSIVE)
def start(draft_id: str) -> Response:
    """Try a draft once more, as it is stored."""
    return start_trial(draft_id)


@blp.get("")
@require_scope(SCOPE)
def show(draft_id: str) -> str:
    """Show the last trial of a draft: its progress, then its result."""
    with current_runtime().db.reading() as session:
        draft = service.draft(session, draft_id)
        trial = last_trial(session, draft)
        names = _names(session, trial["result"]) if trial and trial["result"] else {}
    return render_template(
        "scorecards/trial.html",
        draft=draft,
        trial=trial,
        shown=shown_trial(trial["result"], names) if trial and trial["result"] else None,
    )


def start_trial(draft_id: str) -> Response:
    """Try a draft as it is stored, against the version that it starts from.

    Raises:
        InvalidInput: the draft has errors.
        Conflict: too many trials wait.
    """
    with current_runtime().db.writing() as session:
        draft = service.draft(session, draft_id)
        document = complete_document(loaded_document(draft.document), where="")
        trial = trials.request(
            session,
            document,
            baseline_id=draft.scorecard_id,
            baseline_version=draft.base_version,
        )
        service.note_trial(session, draft_id, trial["id"])
    return redirect(url_for("dashboard.scorecard_trial.show", draft_id=draft_id), 303)


def last_trial(session: Any, draft: Any) -> dict[str, Any] | None:
    """Return the last trial of a draft, unless it was deleted since."""
    try:
        return trials.show(session, draft.trial_id) if draft.trial_id else None
    except NotFound:
        return None


def _names(session: Any, result: Mapping[str, Any]) -> dict[str, str]:
    """Name each evaluation that is still there by its executive and its time."""
    names, zone = {}, current_person().timezone
    for item in result["conversations"]:
        try:
            evaluation = evaluations.find(session, item.evaluation_id)
        except NotFound:
            continue
        executive = evaluation.executive or text_of("channel", evaluation.channel)
        at = times.local_time(evaluation.started_at or evaluation.created_at, zone)
        names[evaluation.id] = f"{executive}, {at}"
    return names

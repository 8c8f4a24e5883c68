"""Checks of a draft, and its trial: requested, followed while it runs, and shown with its largest changes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import redirect, render_template, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.core.errors import Detail, InvalidInput, NotFound
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.charts.scores import PairedScore, scatter_chart
from app.dashboard.views import formatting
from app.dashboard.views.formatting import number, percent, signed
from app.dashboard.views.scorecards.described import place_in_words
from app.dashboard.views.scorecards.draft_changes import weight_text
from app.dashboard.words import text_of
from app.evaluations import service as evaluations
from app.evaluations import trials
from app.people.gate import current_person
from app.scorecards import authoring, drafts
from app.scorecards.authoring import complete_document
from app.scorecards.schemas.document import ScorecardCreate
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope
from app.web.schemas.base import load_valid

blp = PageBlueprint(
    "scorecard_trial", __name__, url_prefix="/scorecards/drafts/<id:draft_id>/trial"
)
_SCOPE = "scorecards:manage"
_MOST_CHANGES = 20
# From a larger change of the mean on, publishing asks again.
_LARGE_CHANGE = 5
_SCHEMA = ScorecardCreate()
# Where the path of a part ends within the path of a field.
_PART_END = re.compile(r"[.\[]|$")


@dataclass(frozen=True, slots=True)
class DraftCheck:
    """The findings about a draft, by the paths of their fields.

    Attributes:
        weights: how much of the weight is given, in words.
    """

    errors: list[dict[str, str]]
    warnings: list[dict[str, str]]
    weights: str

    @property
    def hints(self) -> dict[str, str]:
        """The messages of the warnings, by the paths of their fields."""
        return {warning["field"]: warning["message"] for warning in self.warnings}

    @property
    def messages(self) -> dict[str, str]:
        """The messages of the errors by path: at their fields, and at every part around these."""
        messages: dict[str, list[str]] = {}
        for error in self.errors:
            path = error["field"]
            for part in _PART_END.finditer(path):
                messages.setdefault(path[: part.start()], []).append(error["message"])
        return {path: " ".join(texts) for path, texts in messages.items()}


@blp.post("")
@require_scope(_SCOPE, policy=EXPENSIVE)
def start(draft_id: str) -> Response:
    """Try a draft once more, as it is stored."""
    return start_trial(draft_id)


@blp.get("")
@require_scope(_SCOPE)
def show(draft_id: str) -> str:
    """Show the last trial of a draft: its progress, then its result."""
    with current_runtime().db.reading() as session:
        draft = drafts.get(session, draft_id)
        trial = last_trial(session, draft)
        result = trial["result"] if trial else None
        names = _names(session, result) if result else {}
    return render_template(
        "scorecards/trial.html",
        draft=draft,
        trial=trial,
        names=names,
        **(_outcome(result, names) if result else {}),
    )


def start_trial(draft_id: str) -> Response:
    """Try a draft as it is stored, against the version that it starts from.

    Raises:
        InvalidInput: the draft has errors.
        Conflict: too many trials wait.
    """
    with current_runtime().db.writing() as session:
        draft = drafts.get(session, draft_id)
        document = complete_document(loaded_document(draft.document), where="")
        trial = trials.request(
            session,
            document,
            baseline_id=draft.scorecard_id,
            baseline_version=draft.base_version,
        )
        drafts.note_trial(session, draft_id, trial["id"])
    return redirect(url_for("dashboard.scorecard_trial.show", draft_id=draft_id), 303)


def last_trial(session: Session, draft: Any) -> dict[str, Any] | None:
    """Return the last trial of a draft, unless it was deleted since."""
    try:
        return trials.show(session, draft.trial_id) if draft.trial_id else None
    except NotFound:
        return None


def loaded_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Load a draft as the API loads a scorecard; raises `InvalidInput`."""
    return load_valid(_SCHEMA, document, location=forms.LOCATION)


def checked(document: Mapping[str, Any], channel: str) -> DraftCheck:
    weights = weight_text(document)
    try:
        loaded = loaded_document(document)
    except InvalidInput as error:
        found = [(detail["field"], _form_message(detail)) for detail in error.details]
        return DraftCheck([_placed(*finding, document) for finding in found], [], weights)
    has_model = current_runtime().settings.has_language_model
    result = authoring.check(loaded, channel=channel, has_model=has_model)
    errors, warnings = (
        [_placed(finding.field, finding.message, document) for finding in findings]
        for findings in (result.errors, result.warnings)
    )
    return DraftCheck(errors, warnings, weights)


def alone(document: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """Return a complete scorecard with one criterion of a draft alone; None where that has errors."""
    part = re.fullmatch(r"criteria\[(\d{1,3})\]", path)
    criteria = document["criteria"]
    if part is None or int(part[1]) >= len(criteria):
        return None
    criterion = {**criteria[int(part[1])], "weight": 100}
    for name in ("title", "question", "key"):
        criterion.setdefault(name, "draft")
    section = {"key": criterion.get("section", "draft"), "title": "Draft"}
    draft = {
        "name": "Draft",
        "channel": document["channel"],
        "sections": [section],
        "criteria": [criterion],
    }
    try:
        return complete_document(loaded_document(draft), where="")
    except InvalidInput:
        return None


def _placed(field: str, message: str, document: Mapping[str, Any]) -> dict[str, str]:
    """Return a finding with its place in words, and the id of the part of the page where it is."""
    place, part = place_in_words(field, document)
    return {"field": field, "message": message, "place": place, "part": part}


def _mean_change(result: Mapping[str, Any]) -> float | None:
    """Return how much the mean score rises; None where nothing could be compared."""
    return _difference(result["before"]["mean_score"], result["after"]["mean_score"])


def large_change_text(result: Mapping[str, Any]) -> str:
    """Say how the mean moves where it moves so much that publishing asks again; else nothing."""
    change = _mean_change(result)
    if change is None or abs(change) <= _LARGE_CHANGE:
        return ""
    means = [number(result[side]["mean_score"], 1) for side in ("before", "after")]
    return (
        f"In the trial, the mean score of {result['compared']} conversations moved from {means[0]} "
        f"to {means[1]} ({signed(change)})."
    )


def _outcome(result: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return figures before and after with their changes, the chart, and the largest changes."""
    both = [
        item for item in result["conversations"] if item.is_compared and item.evaluation_id in names
    ]
    before, after = result["before"], result["after"]
    passed = _difference(before["pass_rate"], after["pass_rate"])
    return {
        "figures": [
            (
                "Mean score",
                number(before["mean_score"], 1),
                number(after["mean_score"], 1),
                signed(_mean_change(result)),
            ),
            (
                "Passed",
                percent(before["pass_rate"]),
                percent(after["pass_rate"]),
                "" if passed is None else f"{signed(100 * passed, 0)} points",
            ),
        ],
        "chart": scatter_chart(
            [
                PairedScore(
                    names[item.evaluation_id],
                    item.before,
                    item.after,
                    f"/evaluations/{item.evaluation_id}",
                )
                for item in both
            ]
        ),
        "changes": [
            (names[item.evaluation_id], item, _verdict(item.passed_before, item.passed_after))
            for item in both[:_MOST_CHANGES]
            if item.change
        ],
    }


def _names(session: Session, result: Mapping[str, Any]) -> dict[str, str]:
    """Name each evaluation that is still there by its executive and its time."""
    names, zone = {}, current_person().timezone
    for item in result["conversations"]:
        try:
            evaluation = evaluations.find(session, item.evaluation_id)
        except NotFound:
            continue
        executive = evaluation.executive or text_of("channel", evaluation.channel)
        at = formatting.local_time(evaluation.conversation_at, zone)
        names[evaluation.id] = f"{executive}, {at}"
    return names


def _form_message(detail: Detail) -> str:
    if detail["field"].endswith(".appliesWhen.labels"):
        return "Each line must be a name and a value, such as team=north."
    return detail["message"]


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _verdict(before: bool | None, after: bool | None) -> str:
    if before == after:
        return "passes in both" if after else "fails in both"
    return "passes now" if after else "fails now"

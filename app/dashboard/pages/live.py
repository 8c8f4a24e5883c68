"""Live answers: JSON that scripts of a page ask for again and again."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from flask import jsonify, request, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.analytics.enums import ExportStatus
from app.analytics.exports import service as exports
from app.audio_files import enums as audio_files
from app.audio_files.processing import stages
from app.core import hosts
from app.core.clock import utc_now
from app.core.errors import InvalidInput, NotFound
from app.core.ids import is_id
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages import evaluation_changes
from app.dashboard.pages.scorecards import editor
from app.dashboard.pages.scorecards.trial import alone, checked
from app.dashboard.views import formatting
from app.dashboard.words import text_of
from app.evaluations import service as evaluations
from app.evaluations import trials
from app.evaluations.enums import ENDED, Status
from app.evaluations.judging.hits import hits as hits_of
from app.imports import service as imports
from app.people.gate import current_person
from app.people.roles import OWN_ACCOUNT
from app.reviews import service as reviews
from app.reviews.schemas.reviews import ReviewPreviewBody
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, current_principal, require_scope

blp = PageBlueprint("live", __name__)

_MOST_IDS = 50
_MOST_HITS = 10
_IMPORT_OPEN = ("queued", "running")
# A judgement has no steps of its own that could be counted.
_PERCENT = {Status.QUEUED: 0, Status.TRANSCRIBING: 25, Status.EVALUATING: 50}
_TRIAL_ENDED = ("completed", "failed")
_EXPORT_OPEN = (ExportStatus.QUEUED, ExportStatus.RUNNING)


@dataclass(frozen=True, slots=True)
class Work:
    """Work in progress: its status in words, how much of it is done, and the page of its result."""

    text: str
    percent: int | None
    ended: bool
    url: str | None = None


def _evaluation(session: Session, evaluation_id: str) -> Work:
    status = evaluations.find(session, evaluation_id).status
    return Work(text_of("status", status), _PERCENT.get(Status(status), 100), status in ENDED)


def _recording(session: Session, audio_file_id: str) -> Work:
    recording = stages.show_status(session, audio_file_id)
    ended = recording["status"] in audio_files.ENDED
    text = text_of("audioStatus", recording["status"])
    if (
        recording["status"] == audio_files.AudioStatus.PENDING_UPLOAD
        and not recording["expires_at"]
    ):
        text = "The two sides are being joined"
    if recording["error"]:
        text = f"{text}: {recording['error']['message']}"
    if recording["status"] != audio_files.AudioStatus.PROCESSED:
        return Work(text, recording["progress"], ended)
    evaluation = evaluations.find(session, recording["evaluation_id"])
    score = f"{text}: {evaluation.score}" if evaluation.score is not None else text
    url = url_for("dashboard.evaluation.show", evaluation_id=evaluation.id)
    return Work(score, 100, ended, url)


def _import(session: Session, import_id: str) -> Work:
    import_job = imports.get(session, import_id)
    ended = import_job["status"] not in _IMPORT_OPEN
    words = "dryRunStatus" if import_job["dry_run"] else "importStatus"
    return Work(text_of(words, import_job["status"]), None, ended)


def _export(session: Session, export_id: str) -> Work:
    job = exports.find(session, export_id)
    status = exports.status_of(job, utc_now())
    return Work(text_of("exportStatus", status), job.progress, status not in _EXPORT_OPEN)


def _trial(session: Session, trial_id: str) -> Work:
    trial = trials.show(session, trial_id)
    text = text_of("trialStatus", trial["status"])
    return Work(text, trial["progress"], trial["status"] in _TRIAL_ENDED)


# By the prefix of the id: the scope that is needed to see the work, and its reader.
_READERS: dict[str, tuple[str, Callable[[Session, str], Work]]] = {
    "eval": ("evaluations:read", _evaluation),
    "aud": ("audio:read", _recording),
    "imp": ("ingest:write", _import),
    "exp": ("analytics:export", _export),
    "trial": ("scorecards:manage", _trial),
}


@blp.get("/live/progress")
@require_scope(OWN_ACCOUNT)
def progress() -> Response:
    """Answer with the progress of some work, and whether the worker is alive."""
    runtime = current_runtime()
    ids = _requested_ids()
    with runtime.db.reading() as session:
        work = {work_id: _read(session, work_id) for work_id in ids}
    return jsonify({"worker": hosts.is_running(runtime.db, hosts.WORKER), "work": work})


@blp.post("/live/preview/<id:evaluation_id>")
@require_scope("evaluations:review")
def preview(evaluation_id: str) -> Response:
    """Answer with the score that the answers chosen in the form of a review would give."""
    criteria = evaluation_changes.criteria_of(request.form)
    body = forms.load(ReviewPreviewBody(), {"criteria": criteria})
    with current_runtime().db.reading() as session:
        return jsonify(reviews.preview(session, evaluation_id, body["criteria"]))


@blp.post("/live/lint/<id:draft_id>")
@require_scope("scorecards:manage")
def lint(draft_id: str) -> Response:
    """Save the draft of a scorecard as its form was typed, and answer with what is wrong in it."""
    draft = editor.save_draft(draft_id, editor.typed_document(draft_id))
    check = checked(draft.document, draft.channel)
    saved_at = formatting.local_time(draft.updated_at, current_person().timezone)
    return jsonify(
        {
            "version": draft.version,
            "saved": f"saved {saved_at}",
            "weights": check.weights,
            "errors": check.errors,
            "warnings": check.warnings,
        }
    )


@blp.post("/live/hits/<id:draft_id>")
@require_scope("scorecards:manage", policy=EXPENSIVE)
def hits(draft_id: str) -> Response:
    """Answer with what a criterion of the form finds in the newest conversations of its channel.

    The field `path` names the criterion. Where it is not complete, nothing is found.
    """
    path = request.form.get("path", "")
    typed = editor.typed_document(draft_id)
    found = []
    if (document := alone(typed, path)) is not None:
        found = hits_of(current_runtime(), document, limit=_MOST_HITS)
    return jsonify(
        [
            {
                "evaluationId": criterion["evaluation_id"],
                "answer": trials.answer_in_words(criterion),
                "quote": next((quote["quote"] for quote in criterion["evidence"]), ""),
            }
            for criterion in found
        ]
    )


def _requested_ids() -> list[str]:
    ids = [part for part in request.args.get("ids", "").split(",") if part]
    all_ids = all(is_id(work_id, work_id.partition("_")[0]) for work_id in ids)
    if len(ids) > _MOST_IDS or not all_ids:
        raise InvalidInput.field(
            "ids", f"ids must be at most {_MOST_IDS} ids, separated by commas.", location="query"
        )
    return ids


def _read(session: Session, work_id: str) -> dict[str, Any] | None:
    scope, read = _READERS.get(work_id.partition("_")[0], ("", None))
    if read is None or scope not in current_principal().scopes:
        return None
    try:
        work = read(session, work_id)
    except NotFound:
        return None
    return asdict(work)

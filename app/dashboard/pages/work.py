"""Work of the service: what waits, runs and has failed, as far as the person's role may see it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from flask import render_template, url_for
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from app.analytics.exports import service as exports
from app.analytics.exports.request import request_of
from app.audio_files import queries as recordings
from app.audio_files.processing import requests as processing
from app.core.database.paging import Page, PageRequest
from app.core.errors import Conflict
from app.core.jobs.leases import JobState
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited
from app.dashboard.pages.exports import request_export
from app.dashboard.words import text_of
from app.evaluations import listing as evaluations
from app.evaluations.enums import SourceType
from app.evaluations.judging import bulk, judgements
from app.imports import service as imports
from app.people.audit import Action
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, current_principal, require_scope

blp = PageBlueprint("work", __name__, url_prefix="/work")
_OPEN_JOBS = ("queued", "running")
_OPEN_RECORDINGS = ("queued", "transcribing", "transcribed", "evaluating")
# Recordings are shown by themselves.
_WITHOUT_RECORDING = [kind.value for kind in SourceType if kind != SourceType.AUDIO_FILE]
_OLDEST = PageRequest(page_size=10, sort="created_at")
_NEWEST = PageRequest(page_size=10)


@dataclass(frozen=True, slots=True)
class WorkRow:
    """One piece of work; `retry_url` takes the form that tries it again."""

    id: str
    kind: str
    name: str
    text: str
    since: datetime
    retry_url: str | None = None


@blp.get("")
@require_scope("evaluations:read")
def show() -> str:
    """Show the work that is open, the oldest first, and what has failed, the newest first."""
    with current_runtime().db.reading() as session:
        work = {
            name: list(_pages(session, is_open=is_open))
            for name, is_open in (("open", True), ("failed", False))
        }
    return render_template("work/show.html", **work)


@blp.post("/recordings/<id:audio_file_id>/retry")
@require_scope("audio:write")
def retry_recording(audio_file_id: str) -> Response:
    """Process a recording again."""
    runtime = current_runtime()
    with audited(Action.RECORDING_RETRIED, audio_file_id) as session:
        processing.request_processing(
            session, audio_file_id, redact_by_default=runtime.settings.redaction
        )
    return redirect_with("tried-again", "work.show")


@blp.post("/evaluations/<id:evaluation_id>/retry")
@require_scope("evaluations:review")
def retry_evaluation(evaluation_id: str) -> Response:
    """Judge a conversation again."""
    with audited(Action.RE_EVALUATED, evaluation_id) as session:
        judgements.request_again(session, evaluation_id)
    return redirect_with("tried-again", "work.show")


@blp.post("/exports/<id:job_id>/retry")
@require_scope("analytics:export", policy=EXPENSIVE)
def retry_export(job_id: str) -> Response:
    """Request a failed export once more."""
    with current_runtime().db.reading() as session:
        job = exports.find(session, job_id)
        if job.state != JobState.FAILED:
            raise Conflict("Only a failed export can be tried again.")
        export, file_name = request_of(job), job.file_name
    request_export(export, file_name)
    return redirect_with("tried-again", "work.show")


@blp.post("/imports/<id:import_id>/retry")
@require_scope("ingest:write", policy=EXPENSIVE)
def retry_import(import_id: str) -> Response:
    """Continue a failed import, whose input is kept for an hour."""
    runtime = current_runtime()
    imports.require_disk_space(runtime.settings)
    with audited(Action.IMPORT_REQUESTED, import_id) as session:
        imports.proceed(session, runtime.keyring, import_id)
    return redirect_with("tried-again", "work.show")


@blp.post("/re-evaluations/<id:re_evaluation_id>/retry")
@require_scope("evaluations:review", policy=EXPENSIVE)
def retry_re_evaluation(re_evaluation_id: str) -> Response:
    """Continue a failed re-evaluation."""
    with audited(Action.RE_EVALUATED, re_evaluation_id) as session:
        bulk.retry(session, re_evaluation_id)
    return redirect_with("tried-again", "work.show")


def _pages(session: Session, *, is_open: bool) -> Iterator[Page[WorkRow]]:
    """Yield the first rows of each kind of work."""
    scopes = current_principal().scopes
    request = _OLDEST if is_open else _NEWEST
    jobs = _OPEN_JOBS if is_open else ("failed",)
    if "audio:read" in scopes:
        status = _OPEN_RECORDINGS if is_open else ("failed",)
        yield _shown(recordings.list_page(session, request, status=status), _recording)
    if is_open:
        yield _shown(judgements.list_open(session, request), _open_evaluation)
    else:
        failed = evaluations.list_page(
            session, request, status=["failed"], source_type=_WITHOUT_RECORDING
        )
        yield _shown(failed, _failed_evaluation)
    if "evaluations:review" in scopes:
        yield _shown(bulk.list_page(session, request, status=jobs), _re_evaluation)
    if "ingest:write" in scopes:
        yield _shown(imports.list_page(session, request, status=jobs), _import)
    if "analytics:export" in scopes:
        yield _shown(exports.list_page(session, request, scopes=scopes, status=jobs), _export)


def _shown(page: Page[Any], row_of: Callable[[Any], WorkRow]) -> Page[WorkRow]:
    return replace(page, items=[row_of(item) for item in page.items])


def _recording(row: Any) -> WorkRow:
    may_retry = row["status"] == "failed" and "audio:write" in current_principal().scopes
    retry_url = url_for(".retry_recording", audio_file_id=row["id"]) if may_retry else None
    text = _with_reason(text_of("audioStatus", row["status"]), row["error"])
    return WorkRow(row["id"], "Recording", row["file_name"], text, row["created_at"], retry_url)


def _open_evaluation(row: Any) -> WorkRow:
    return _evaluation(row, row["queued_at"], text_of("status", row["status"]), None)


def _failed_evaluation(row: Any) -> WorkRow:
    may_retry = "evaluations:review" in current_principal().scopes
    retry_url = url_for(".retry_evaluation", evaluation_id=row["id"]) if may_retry else None
    text = _with_reason(text_of("status", row["status"]), row["error"])
    return _evaluation(row, row["created_at"], text, retry_url)


def _evaluation(row: Any, since: datetime, text: str, retry_url: str | None) -> WorkRow:
    name = f"{text_of('channel', row['channel'])} of {row['executive'] or 'an unknown agent'}"
    return WorkRow(row["id"], "Evaluation", name, text, since, retry_url)


def _re_evaluation(row: Any) -> WorkRow:
    counts = row["counts"]
    text = f"{counts['completed'] + counts['failed']:,} of {counts['selected']:,} judged again"
    text = _with_reason(text, row["error"])
    has_failed = row["status"] == "failed"
    retry_url = url_for(".retry_re_evaluation", re_evaluation_id=row["id"]) if has_failed else None
    name = "1 evaluation" if row["count"] == 1 else f"{row['count']:,} evaluations"
    return WorkRow(row["id"], "Judging again", name, text, row["created_at"], retry_url)


def _import(row: Any) -> WorkRow:
    text = _with_reason(text_of("importStatus", row["status"]), row["error"])
    name = text_of("importFormat", row["format"])
    kind = "Dry run" if row["dry_run"] else "Import"
    retry_url = url_for(".retry_import", import_id=row["id"]) if row["may_retry"] else None
    return WorkRow(row["id"], kind, name, text, row["created_at"], retry_url)


def _export(job: Any) -> WorkRow:
    text = _with_reason(text_of("exportStatus", job.state), job.error)
    retry_url = url_for(".retry_export", job_id=job.id) if job.state == JobState.FAILED else None
    name = text_of("dataset", job.dataset)
    return WorkRow(job.id, "Export", name, text, job.queued_at, retry_url)


def _with_reason(text: str, error: Any) -> str:
    return f"{text}: {error['message']}" if error else text

"""Exports: requested with the filters of the list, followed, downloaded and canceled."""

import re
from collections.abc import Mapping
from typing import Any

from flask import redirect, render_template, request
from werkzeug.wrappers import Response

from app.analytics.enums import ExportStatus, Format
from app.analytics.exports import downloads, service
from app.analytics.exports.downloads import ExportLinks
from app.analytics.exports.request import (
    ExportRequest,
    request_from_body,
    request_of,
    required_scopes,
)
from app.analytics.schemas.exports import ExportCreate, ExportQuery
from app.api_keys import service as api_keys
from app.core.clock import utc_now
from app.core.errors import Conflict
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.forms import redirect_with
from app.dashboard.pages.audited import audited, record
from app.dashboard.pickers import options_of
from app.dashboard.views.filters import FIELDS, Control, label_of
from app.people import service as people
from app.people.audit import Action
from app.people.gate import current_person
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, check_scope, current_principal, require_scope

_SCOPE = "analytics:export"
blp = PageBlueprint("exports", __name__, scope=_SCOPE)
_FLAGS = {"true": True, "false": False}
# Fields whose texts are values of the body as they are.
_PLAIN = ("dataset", "format", "from", "to", "delimiter", "fileName")


@blp.get("/exports")
def show() -> str:
    """Show the exports, the newest first, and the form for a new one."""
    return _page(request.args)


@blp.post("/exports")
@require_scope(_SCOPE, policy=EXPENSIVE)
@forms.shown_again(lambda: _page(_typed()), {Conflict: "problem"}, inside="filters")
def create() -> Response:
    """Request an export."""
    loaded = forms.load(ExportCreate(), _body_of(_typed(), current_person().timezone))
    request_export(request_from_body(loaded), loaded.get("file_name"))
    return redirect_with("export-requested", "exports.show")


@blp.get("/exports/<id:job_id>/file")
def download(job_id: str) -> Response:
    """Lead to the file by a signed link; the audit trail records it first."""
    with current_runtime().db.writing() as session:
        job = service.find(session, job_id)
        check_scope(*required_scopes(request_of(job)))
        if service.status_of(job, utc_now()) is not ExportStatus.READY:
            raise Conflict("There is no file to download: request the export again.")
        record(session, Action.EXPORT_DOWNLOADED, job_id)
        url, _ = _links().download(job, utc_now())
    return redirect(url, 303)


@blp.post("/exports/<id:job_id>/cancel")
def cancel(job_id: str) -> Response:
    """Cancel an export that is queued or running, or delete the file of one that is ready."""
    with audited(Action.EXPORT_CANCELED, job_id) as session:
        service.cancel(session, job_id)
    return redirect_with("export-canceled", "exports.show")


def request_export(export: ExportRequest, file_name: str | None) -> None:
    """Queue an export for the person, who needs the scopes of its rows."""
    check_scope(*required_scopes(export))
    runtime = current_runtime()
    runtime.storage.require_space(0)
    with runtime.db.reading() as session:
        service.require_fits_sheet(session, export)
    with runtime.db.writing() as session:
        job = service.create(
            session, export, file_name=file_name, created_by=current_person().user_id
        )
        record(session, Action.EXPORT_REQUESTED, job.id)


def _links() -> ExportLinks:
    runtime = current_runtime()
    signer = runtime.urls.for_holder(current_principal().key_id)
    return ExportLinks(signer, "", runtime.settings.url_ttl_s)


def _typed() -> dict[str, str]:
    return {name: ",".join(values) for name, values in request.form.lists()}


def _page(texts: Mapping[str, str]) -> str:
    scopes = current_principal().scopes
    query = forms.load(ExportQuery(), {"page": request.args.get("page", "1")})
    datasets = service.readable_datasets(scopes)
    with current_runtime().db.reading() as session:
        page = service.list_page(session, query["page_request"], scopes=scopes)
        exports = [downloads.show(job, _links()) for job in page.items]
        options = options_of(session, texts)
        ids = {job.created_by for job in page.items}
        requesters = {**api_keys.names(session, ids), **people.display_names(session, ids)}
    return render_template(
        "exports/list.html",
        exports=exports,
        page=page,
        requesters=requesters,
        texts=texts,
        fields=FIELDS,
        is_filtered=any(texts.get(field.name) for field in FIELDS),
        options=options,
        columns={
            dataset: {name: label_of(name) for name in service.column_names(dataset)}
            for dataset in datasets
        },
        formats=list(Format),
    )


def _body_of(texts: Mapping[str, str], timezone: str) -> dict[str, Any]:
    """Return the body; what cannot be read stays a text, which the schema refuses."""
    body: dict[str, Any] = {name: texts[name] for name in _PLAIN if texts.get(name)}
    if columns := texts.get(f"columns-{texts.get('dataset')}"):
        body["columns"] = columns.split(",")
    filters = {
        field.name: _value(field.control, texts[field.name])
        for field in FIELDS
        if texts.get(field.name)
    }
    return {
        **body,
        "timezone": timezone,
        "filters": filters,
        "includeText": texts.get("includeText") == "true",
    }


def _value(control: Control, text: str) -> Any:
    if control is Control.NUMBER and re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,15})?", text):
        return float(text) if "." in text else int(text)
    if control is Control.SELECT:
        return _FLAGS.get(text, text)
    return text

"""Columns of a checked table: which field each one is, whose words they are, and a preview."""

from dataclasses import replace

from flask import g, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from app.core.errors import Conflict, InvalidInput
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages.audited import record
from app.imports import kept_presets, mapping, service
from app.imports.formats.records import ROLES
from app.imports.formats.table_rows import IGNORED
from app.imports.loading.input import ImportOptions
from app.imports.mapping import FIELDS, LABEL, TableMapping
from app.imports.schemas.requests import ImportSettings
from app.people.audit import Action
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, require_scope

blp = PageBlueprint("columns", __name__, url_prefix="/add/imports/<id:import_id>/columns")


@blp.get("")
@require_scope("ingest:write")
def show(import_id: str) -> str:
    """Show what the columns hold, each with the field that it probably is."""
    runtime = current_runtime()
    shown = mapping.mapping_of(runtime, import_id, timezone=g.person.timezone)
    return _page(import_id, shown)


def _as_typed(import_id: str) -> str:
    chosen = replace(_chosen(import_id), timezone=None)
    return _page(import_id, mapping.mapping_of(current_runtime(), import_id, chosen))


@blp.post("")
@require_scope("ingest:write", policy=EXPENSIVE)
@forms.shown_again(_as_typed, {Conflict: "presetName"})
def choose(import_id: str) -> str | Response | tuple[str, int]:
    """Show the first conversations by the chosen columns, or check the whole table by them."""
    runtime = current_runtime()
    chosen = _chosen(import_id)
    forms.load(ImportSettings(), {"timezone": chosen.timezone or ""})
    shown = mapping.mapping_of(runtime, import_id, chosen)
    if "check" not in request.form:
        return _page(import_id, shown)
    if shown.problem:
        return _page(import_id, shown), InvalidInput.status
    name = request.form.get("presetName", "").strip()
    with runtime.db.writing() as session:
        if name:
            kept_presets.keep(session, name, chosen)
        started = service.check_again(session, runtime.keyring, import_id, chosen)
        record(session, Action.IMPORT_REQUESTED, started["id"])
    return redirect(url_for("dashboard.add.show_import", import_id=started["id"]), 303)


def _chosen(import_id: str) -> ImportOptions:
    """Return the options of the dry run with the columns and roles of the form."""
    form = request.form
    options, header = mapping.options_of(current_runtime(), import_id)
    columns = {name: form.get(f"column-{index}", IGNORED) for index, name in enumerate(header)}
    values = {name: value for name, value in form.items() if name.startswith("value-")}
    roles = {value: form.get(f"role{name.removeprefix('value')}") for name, value in values.items()}
    return replace(
        options,
        columns={name: f"label.{name}" if to == LABEL else to for name, to in columns.items()},
        roles={value: role for value, role in roles.items() if role in ROLES},
        timezone=form.get("timezone", "").strip() or None,
        preset=None,
        kept_columns={},
    )


def _page(import_id: str, shown: TableMapping) -> str:
    return render_template(
        "add/columns.html",
        import_id=import_id,
        shown=shown,
        fields=FIELDS,
        label=LABEL,
        preset_name=request.form.get("presetName", ""),
    )

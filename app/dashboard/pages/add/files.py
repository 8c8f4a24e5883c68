"""Adding recordings, which browsers upload by signed links, and imports, each with a dry run first."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import orjson
from flask import redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from app.audio_files import pairs, uploads
from app.audio_files import queries as recordings
from app.audio_files.links import EXTENSIONS, RecordingLinks
from app.audio_files.schemas import SideCreate
from app.core.clock import utc_now
from app.core.database.locks import one_at_a_time
from app.core.database.paging import PageRequest
from app.core.errors import InvalidInput
from app.dashboard import forms
from app.dashboard.blueprint import PageBlueprint
from app.dashboard.pages.audited import record
from app.dashboard.pickers import options_of
from app.dashboard.views.filters import FIELDS
from app.dashboard.views.formatting import whole_number
from app.imports import kept_presets, request_parsing
from app.imports import service as imports
from app.imports import uploads as import_uploads
from app.imports.call_records import calls_of
from app.imports.files import AUTO, SUFFIXES, Pair, paired
from app.imports.formats.catalogue import detect_format
from app.imports.formats.file_names import SYSTEMS, NamePattern
from app.imports.formats.presets import PRESETS
from app.imports.formats.records import Fault, Unreadable
from app.imports.loading.input import ImportOptions
from app.imports.loading.references import NameResolver
from app.imports.recordings import RecordingMetadata
from app.imports.schemas.records import validate_recording
from app.imports.schemas.requests import ImportCreate, ImportSettings, ImportUploadCreate
from app.people.audit import Action
from app.voice_calls import queries as voice_calls
from app.web.current import current_runtime
from app.web.principal import EXPENSIVE, current_principal, require_scope
from app.web.schemas.base import load_valid

blp = PageBlueprint("add", __name__, url_prefix="/add")

DEFAULTS = ("engagementId", "campaignId", "callCenterId", "executiveId")
_PICKERS = [field for field in FIELDS if field.name in DEFAULTS]
_LISTED_FOR = timedelta(days=1)
_NEWEST = PageRequest(page_size=25)
_MOST_NAMES = 200
# The channels of a stereo recording; one channel needs no map.
CHANNEL_MAPS: dict[str, dict[str, int]] = {
    "one": {},
    "agent-left": {"agent": 0, "customer": 1},
    "agent-right": {"agent": 1, "customer": 0},
}


@blp.get("")
@require_scope("audio:write")
def show() -> str:
    """Show where files are dropped, and what was added in the last day."""
    with current_runtime().db.reading() as session:
        added = recordings.list_page(session, _NEWEST, added_since=utc_now() - _LISTED_FOR)
        calls = voice_calls.of_recordings(session, [row["id"] for row in added.items])
        imported = imports.list_page(session, _NEWEST)
        options = options_of(session, {})
        kept = kept_presets.list_names(session)
    types = {suffix: kind for kind, suffixes in EXTENSIONS.items() for suffix in suffixes}
    return render_template(
        "add/show.html",
        recordings=added,
        calls=calls,
        imports=imported,
        pickers=_PICKERS,
        options=options,
        recording_types=types,
        import_suffixes=sorted(SUFFIXES),
        systems=[("", "Nothing"), *((name, name) for name in SYSTEMS)],
        logs=[
            ("", "Our own names"),
            *((name, preset.title) for name, preset in PRESETS.items() if preset.recordings),
        ],
        presets=[
            ("", "Our own names"),
            *((name, preset.title) for name, preset in PRESETS.items() if preset.columns),
            *((name, name) for name in kept),
        ],
    )


class _Dropped(NamedTuple):
    """A dropped file by its name, and its place among the others."""

    name: str
    place: int


@blp.post("/pairs")
@require_scope("audio:write")
def find_pairs() -> dict[str, Any]:
    """Tell which of the dropped recordings are the two sides of one call, and whose side is whose.

    It also names the recordings that are not in the log of calls, and the calls of the log that neither
    these recordings nor those of earlier drops are of.
    """
    metadata, names = _metadata(), _names("fileNames")
    _look_up(metadata, _names("earlier"))
    known = len(metadata.files_without_row)
    dropped = [_Dropped(name, place) for place, name in enumerate(names)]
    pairs = [_sides_of(each, metadata) for each in paired(dropped) if isinstance(each, Pair)]
    taken = {place for pair in pairs for place in pair["files"]}
    _look_up(metadata, [file.name for file in dropped if file.place not in taken])
    calls = metadata.rows_without_file
    return {
        "pairs": pairs,
        "notInLog": metadata.files_without_row[known:],
        "callsLeft": {"names": calls[:_MOST_NAMES], "more": len(calls[_MOST_NAMES:])},
    }


def _names(field: str) -> list[str]:
    """Read a list in JSON: a form has at most a thousand fields."""
    try:
        names = orjson.loads(request.form.get(field, "[]"))
    except orjson.JSONDecodeError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidInput.field(field, "Give the names as a list in JSON.")
    return names


def _look_up(metadata: RecordingMetadata, names: Sequence[str]) -> None:
    """Look up recordings in the log of calls; what is wrong with a name is said when it is uploaded."""
    for name in names:
        with suppress(Unreadable):
            metadata.fields_of_name(name)


def _sides_of(pair: Pair[_Dropped], metadata: RecordingMetadata) -> dict[str, Any]:
    sides, reason = tuple(pair.sides.values()), ""
    try:
        described = metadata.fields_of_name(pair.name)
        sides = pair.by_role(described.get("direction") or request.form.get("direction"))
    except Unreadable as error:
        reason = error.message
    return {"name": pair.name, "files": [side.place for side in sides], "reason": reason}


@blp.post("/recordings")
@require_scope("audio:write")
def reserve() -> dict[str, Any]:
    """Reserve the upload of a recording, or of both sides of a call, the agent's first.

    It is processed as soon as it has arrived.
    """
    runtime, form = current_runtime(), request.form
    name = form.get("fileName", "")
    try:
        described = _metadata().fields_of_name(name)
    except Unreadable as error:
        raise InvalidInput.field("fileName", error.message) from error
    sizes = map(whole_number, form.getlist("sizeBytes"))
    files = [
        {"contentType": type_, "sizeBytes": size}
        for type_, size in zip(form.getlist("contentType"), sizes, strict=False)
    ][:2]
    fields = {
        "channelMap": CHANNEL_MAPS.get(form.get("channels", ""), {}),
        **described,
        **next(iter(files), {}),
        "fileName": name,
        "autoProcess": True,
        "scorecardId": form.get("scorecardId") or None,
    }
    valid = validate_recording(fields, forms.given(*DEFAULTS, "direction"))
    links = RecordingLinks.of(runtime, "", holder=current_principal().key_id, direct=False)
    with runtime.db.writing() as session:
        names = NameResolver(session, ImportOptions(create_missing=True))
        one_at_a_time(session, *names.missing([valid.names]))
        values = {**valid.values, **names.ids_of(valid.names), "external_id": valid.external_id}
        if len(files) == 1:
            reserved = uploads.reserve(session, runtime, links=links, **values)
            urls = [reserved["upload_url"]]
        else:
            agent, customer = (load_valid(SideCreate(), side, location="form") for side in files)
            sides = {"agent": agent, "customer": customer}
            reserved = pairs.reserve(session, runtime, links=links, **values, **sides)
            urls = [reserved[role]["upload_url"] for role in sides]
        record(session, Action.RECORDING_ADDED, reserved["audio_file_id"])
    return {"id": reserved["audio_file_id"], "uploadUrls": urls}


def _metadata() -> RecordingMetadata:
    """Return what the form knows of recordings: by their names, and by a log of calls."""
    form, log = request.form, request.files.get("calls")
    options = ImportOptions(
        timezone=form.get("timezone", "").strip() or None, preset=form.get("callsPreset") or None
    )
    forms.load(ImportSettings(), {"timezone": options.timezone or ""})
    names, agents = form.get("names"), _pairs("agents", form.get("agents", ""))
    try:
        calls = calls_of(log.stream, log.filename, options) if log and log.filename else None  # type: ignore[arg-type]
    except Unreadable as error:
        raise InvalidInput.field("calls", error.message) from error
    pattern = NamePattern(names) if names else None
    return RecordingMetadata(options=options, calls=calls, pattern=pattern, agents=agents)


@blp.post("/imports")
@require_scope("ingest:write", policy=EXPENSIVE)
def check() -> Response:
    """Start the dry run of a file."""
    file = request.files.get("file")
    if file is None or not file.filename:
        raise InvalidInput.field("file", "Choose a file first.")
    format_, documents = request_parsing.documents_from_file(file.filename, file.read())
    given = {"format": format_, "content": file.filename, **_import_settings()}
    body = forms.load(ImportCreate(), given)
    runtime = current_runtime()
    options = request_parsing.options_from_body(body, runtime.settings.engagement_types)
    imports.require_disk_space(runtime.settings)
    with runtime.db.writing() as session:
        started = imports.create(
            session,
            runtime.keyring,
            format=format_,
            documents=documents,
            options=options,
            file_name=file.filename,
        )
        record(session, Action.IMPORT_REQUESTED, started["id"])
    return redirect(url_for(".show_import", import_id=started["id"]), 303)


@blp.post("/imports/uploads")
@require_scope("ingest:write", policy=EXPENSIVE)
def reserve_import() -> dict[str, Any]:
    """Reserve the upload of a larger file, whose dry run starts when it has arrived."""
    name = request.form.get("fileName", "")
    given = {
        "fileName": name,
        "sizeBytes": whole_number(request.form.get("sizeBytes", "")) or 0,
        # By its name: the content has not arrived.
        "format": detect_format(b"", name) or AUTO,
        **_import_settings(),
    }
    body = forms.load(ImportUploadCreate(), given)
    runtime = current_runtime()
    options = request_parsing.options_from_body(body, runtime.settings.engagement_types)
    fields = {name: body[name] for name in ("format", "file_name", "size_bytes", "sha256")}
    holder = current_principal().key_id
    with runtime.db.writing() as session:
        reserved = import_uploads.reserve(
            session, runtime, base="", holder=holder, options=options, **fields
        )
        record(session, Action.IMPORT_REQUESTED, reserved["import_id"])
    return {
        "id": reserved["import_id"],
        "uploadUrls": [reserved["upload_url"]],
        "contentType": reserved["headers"]["Content-Type"],
        "url": url_for(".show_import", import_id=reserved["import_id"]),
    }


def _import_settings() -> dict[str, Any]:
    """Return the options of the form, for a dry run."""
    form = request.form
    return {
        "defaults": forms.given(*DEFAULTS),
        "scorecardId": form.get("scorecardId") or None,
        "createMissing": form.get("createMissing") == "true",
        "columns": _pairs("columns", form.get("columns", "")),
        "preset": form.get("preset") or None,
        "timezone": form.get("timezone", ""),
        "dryRun": True,
    }


_EXAMPLES = {
    "columns": "a column and a field, such as Queue=campaign",
    "agents": "an extension and a name, such as 3201=Ann Lee",
}


def _pairs(name: str, text: str) -> dict[str, str]:
    """Read the pairs of a field, such as `column = field`, separated by semicolons."""
    pairs = {}
    for pair in filter(None, map(str.strip, text.split(";"))):
        key, _, value = pair.rpartition("=")
        if not key.strip() or not value.strip():
            raise InvalidInput.field(name, f"{pair[:80]!r} is not {_EXAMPLES[name]}.")
        pairs[key.strip()] = value.strip()
    return pairs


@blp.get("/imports/<id:import_id>")
@require_scope("ingest:write")
def show_import(import_id: str) -> str | Response:
    """Show the counts and the errors of an import or of its dry run."""
    with current_runtime().db.reading() as session:
        shown = imports.get(session, import_id)
    if shown["may_map"] and any(error["code"] == Fault.COLUMNS for error in shown["errors"]):
        return redirect(url_for("dashboard.columns.show", import_id=import_id))
    may_create = any(error["code"] == Fault.UNKNOWN_NAME for error in shown["errors"])
    return render_template("add/import.html", shown=shown, may_create=may_create)


@blp.post("/imports/<id:import_id>/confirm")
@require_scope("ingest:write", policy=EXPENSIVE)
def confirm(import_id: str) -> Response:
    """Import what a dry run has read."""
    runtime = current_runtime()
    imports.require_disk_space(runtime.settings)
    with runtime.db.writing() as session:
        started = imports.proceed(session, runtime.keyring, import_id)
        record(session, Action.IMPORT_REQUESTED, started["id"])
    return redirect(url_for(".show_import", import_id=started["id"]), 303)


@blp.post("/imports/<id:import_id>/missing")
@require_scope("ingest:write", policy=EXPENSIVE)
def check_with_missing(import_id: str) -> Response:
    """Check the file of a dry run again, and count what it names as created."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        options = imports.task_of_dry_run(session, runtime.keyring, import_id).options
        creating = replace(options, create_missing=True)
        started = imports.check_again(session, runtime.keyring, import_id, creating)
        record(session, Action.IMPORT_REQUESTED, started["id"])
    return redirect(url_for(".show_import", import_id=started["id"]), 303)

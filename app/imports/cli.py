"""Command `flask import FILE|DIR|-`."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from marshmallow import ValidationError

from app.core.errors import AppError, InvalidInput, ServiceUnavailable
from app.core.process import heartbeat
from app.core.runtime import Runtime
from app.evaluations import jobs as evaluations
from app.imports import files, request_parsing, service
from app.imports.files import AUTO, STDIN, ImportFile, UnknownFormat
from app.imports.formats.catalogue import FORMATS
from app.imports.formats.roles import ROLES
from app.imports.loading.disk_set import DiskSet
from app.imports.loading.documents import Document, entries_of
from app.imports.loading.import_counts import ImportCounts, RecordOutcome
from app.imports.loading.load import DryRunRollback, load_batch
from app.imports.loading.normalise import NormalisedRecord, batches_of, normalised, summary_of
from app.imports.options import ON_CONFLICT, ImportOptions
from app.imports.progress import Progress
from app.imports.schemas.requests import ImportCountsSchema, ImportDefaults, ImportErrorSchema
from app.web.current import current_runtime

_POLL_S = 0.25
_RETRY_S = 1.0
_AWAITED_AT_ONCE = 500


def _roles(_: object, __: object, values: tuple[str, ...]) -> dict[str, str]:
    """Parse `NAME=ROLE` options; the name may contain `=`."""
    roles = {}
    for value in values:
        name, _, role = value.rpartition("=")
        if not name or role not in ROLES:
            raise click.BadParameter(f"{value!r} is not NAME=ROLE; roles are {', '.join(ROLES)}")
        roles[name] = role
    return roles


def _language(_: object, __: object, value: str | None) -> str | None:
    try:
        ImportDefaults().load({"language": value})
    except ValidationError as error:
        raise click.BadParameter("this must be a language tag such as en or hi-IN") from error
    return value


@click.command("import")
@click.argument("source", metavar="FILE|DIR|-")
@click.option("--format", "format_", type=click.Choice([AUTO, *FORMATS]), default=AUTO)
@click.option("--engagement", help="Default engagement, by name or id.")
@click.option("--campaign", help="Default campaign, by name or id.")
@click.option("--call-center", help="Default call centre, by name or id.")
@click.option("--executive", help="Default executive, by name or id.")
@click.option("--channel", type=click.Choice(["chat", "voice_bot"]), help="Channel of transcripts.")
@click.option("--language", callback=_language, help="Default language tag.")
@click.option(
    "--role",
    "roles",
    metavar="NAME=ROLE",
    multiple=True,
    callback=_roles,
    help="Role of a speaker; may be repeated.",
)
@click.option("--evaluate/--no-evaluate", default=True, show_default=True)
@click.option("--scorecard", help="Id of the scorecard to judge by.")
@click.option("--on-conflict", type=click.Choice(ON_CONFLICT), default="update", show_default=True)
@click.option(
    "--create-missing/--no-create-missing",
    default=True,
    show_default=True,
    help="Create named engagements, campaigns, call centres and executives that do not exist.",
)
@click.option("--dry-run", is_flag=True, help="Check everything and write nothing.")
@click.option("--wait", is_flag=True, help="Wait until the records are evaluated.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def import_(source: str, format_: str, *, wait: bool, as_json: bool, **arguments: Any) -> None:
    """Import conversations and calls from a file, a folder, or standard input.

    A second run changes nothing that is imported already. The exit code is 1 if a record failed.
    """
    runtime = current_runtime()
    options = request_parsing.options_from_command(arguments, runtime.settings.engagement_types)
    _require_references(runtime, options)
    with closing(DiskSet()) as awaited:
        counts = _import(runtime, source, format_, options, awaited if wait else None)
        if wait:
            _wait(runtime, awaited)
    if as_json:
        click.echo(json.dumps(_as_json(counts, options)))
    else:
        _print(counts, options)
    if counts.by_outcome[RecordOutcome.FAILED]:
        sys.exit(1)


def _require_references(runtime: Runtime, options: ImportOptions) -> None:
    try:
        with runtime.db.reading() as session:
            service.require_references(session, options)
    except InvalidInput as error:
        raise click.ClickException(summary_of(error)) from error
    except AppError as error:
        raise click.ClickException(error.message) from error


def _import(
    runtime: Runtime, source: str, format_: str, options: ImportOptions, awaited: DiskSet | None
) -> ImportCounts:
    """Load all records; add the ids of their evaluations to `awaited`."""
    total = ImportCounts()
    try:
        sources = [] if source == STDIN else files.list_files(Path(source))
        with Progress(sources) as progress, closing(DiskSet()) as seen_keys:
            documents = _documents(source, sources, format_, progress)
            entries = entries_of(documents, options)
            validate = runtime.hooks.check_import_record
            for batch in batches_of(normalised(entries, options, seen_keys, validate)):
                counts = _load(runtime, batch, options)
                total.add(counts)
                if awaited is not None:
                    for evaluation_id in counts.evaluation_ids:
                        awaited.add(evaluation_id)
                progress.update(total.received)
    except (UnknownFormat, OSError) as error:
        raise click.ClickException(str(error)) from error
    except AppError as error:
        message = f"{error.message} Run the command again to import the remaining records."
        raise click.ClickException(message) from error
    return total


def _documents(
    source: str, sources: Sequence[ImportFile], format_: str, progress: Progress
) -> Iterator[Document]:
    if source == STDIN:
        return iter([files.document_of(sys.stdin.buffer, "standard input", format_)])
    return files.open_documents(sources, format_, progress.opened)


def _load(
    runtime: Runtime, batch: Sequence[NormalisedRecord], options: ImportOptions, tries: int = 3
) -> ImportCounts:
    """Load a batch; retry while the database is busy."""
    try:
        with runtime.db.writing() as session:
            return load_batch(session, batch, options)
    except DryRunRollback as rollback:
        return rollback.counts
    except ServiceUnavailable:
        if tries == 1:
            raise
    time.sleep(_RETRY_S)
    return _load(runtime, batch, options, tries - 1)


def _wait(runtime: Runtime, awaited: DiskSet) -> None:
    """Wait until the evaluations have ended; without a running worker, run them here."""
    while evaluation_ids := awaited.first(_AWAITED_AT_ONCE):
        with runtime.db.reading() as session:
            ended = service.ended_evaluations(session, evaluation_ids)
        awaited.remove(ended)
        if not ended:
            if not heartbeat.is_alive(runtime.settings.data_dir):
                evaluations.judge(runtime)
            time.sleep(_POLL_S)


def _as_json(counts: ImportCounts, options: ImportOptions) -> dict[str, Any]:
    error_schema = ImportErrorSchema()
    return {
        "status": "completed_with_errors"
        if counts.by_outcome[RecordOutcome.FAILED]
        else "completed",
        "dryRun": options.dry_run,
        "counts": ImportCountsSchema().dump(counts.as_dict()),
        "errors": [{"file": error["file"], **error_schema.dump(error)} for error in counts.errors],
    }


def _print(counts: ImportCounts, options: ImportOptions) -> None:
    outcomes = ", ".join(f"{number} {outcome}" for outcome, number in counts.by_outcome.items())
    note = " (dry run: nothing was written)" if options.dry_run else ""
    click.echo(f"{counts.received} records: {outcomes}{note}")
    if counts.evaluations_queued:
        click.echo(f"{counts.evaluations_queued} evaluations queued")
    for error in counts.errors:
        key = f" ({error['external_id']})" if error["external_id"] else ""
        place = f"{error['file']}, line {error['line']}{key}"
        click.echo(f"{place}: {error['code']}: {error['message']}", err=True)
    hidden = counts.by_outcome[RecordOutcome.FAILED] - len(counts.errors)
    if hidden:
        click.echo(f"and {hidden} more errors", err=True)

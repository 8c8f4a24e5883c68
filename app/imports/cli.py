"""The command over imports: `flask import FILE|DIR|-`."""

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from marshmallow import ValidationError

from app.core.errors import AppError, InvalidInput, ServiceUnavailable
from app.core.process import heartbeat
from app.core.runtime import Runtime
from app.evaluations import jobs as evaluations
from app.imports import applying, files, intake, preparing, schemas, service, sources, waiting
from app.imports.applying import Rehearsed
from app.imports.files import AUTO, STDIN, Found, UnknownFormat
from app.imports.formats.catalogue import FORMATS
from app.imports.formats.roles import OURS
from app.imports.notebook import Notebook
from app.imports.options import ON_CONFLICT, Options
from app.imports.preparing import Prepared
from app.imports.progress import Progress
from app.imports.sources import Document
from app.imports.tally import Outcome, Tally
from app.web.current import current_runtime

_LOOK_AGAIN_S = 0.25
_ASK_AGAIN_S = 1.0


def _roles(_: object, __: object, given: tuple[str, ...]) -> dict[str, str]:
    """Part each name, which may hold `=` itself, from its role."""
    found = {}
    for each in given:
        name, _, role = each.rpartition("=")
        if not name or role not in OURS:
            raise click.BadParameter(f"{each!r} is not NAME=ROLE; roles are {', '.join(OURS)}")
        found[name] = role
    return found


def _language(_: object, __: object, given: str | None) -> str | None:
    try:
        schemas.ImportDefaults().load({"language": given})
    except ValidationError as error:
        raise click.BadParameter("this must be a language tag such as en or hi-IN") from error
    return given


@click.command("import")
@click.argument("source", metavar="FILE|DIR|-")
@click.option("--format", "format_", type=click.Choice([AUTO, *FORMATS]), default=AUTO)
@click.option("--engagement", help="Name or id of the engagement of records that name none.")
@click.option("--campaign", help="Name or id of the campaign of records that name none.")
@click.option("--call-center", help="Name or id of the call centre of records that name none.")
@click.option("--executive", help="Name or id of the executive of records that name none.")
@click.option("--channel", type=click.Choice(["chat", "voice_bot"]), help="Of transcripts.")
@click.option("--language", callback=_language, help="Language tag of records that name none.")
@click.option(
    "--role", "roles", metavar="NAME=ROLE", multiple=True, callback=_roles, help="Who a speaker is."
)
@click.option("--evaluate/--no-evaluate", default=True, show_default=True)
@click.option("--scorecard", help="Id of the scorecard to judge by.")
@click.option("--on-conflict", type=click.Choice(ON_CONFLICT), default="update", show_default=True)
@click.option(
    "--create-missing/--no-create-missing",
    default=True,
    show_default=True,
    help="Make engagements, campaigns, call centres and executives that are named.",
)
@click.option("--dry-run", is_flag=True, help="Check everything and write nothing.")
@click.option("--wait", is_flag=True, help="Wait until what came in is evaluated.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def import_(source: str, format_: str, *, wait: bool, as_json: bool, **given: Any) -> None:
    """Take in conversations and calls from a file, a folder, or standard input.

    Started again, it changes nothing twice. Ends with 1 where a record was not taken.
    """
    options = intake.options_of_command(given, current_runtime().settings.engagement_types)
    _require(options)
    with Notebook() as notebook:
        tally = _take_in(source, format_, options, notebook, wait=wait)
        if wait:
            _wait(current_runtime(), notebook)
    if as_json:
        click.echo(json.dumps(_shown(tally, options)))
    else:
        _print(tally, options)
    if tally.counts[Outcome.FAILED]:
        sys.exit(1)


def _require(options: Options) -> None:
    try:
        with current_runtime().db.reading() as session:
            service.require(session, options)
    except InvalidInput as error:
        raise click.ClickException(preparing.sentence(error)) from error
    except AppError as error:
        raise click.ClickException(error.message) from error


def _take_in(
    source: str, format_: str, options: Options, notebook: Notebook, *, wait: bool
) -> Tally:
    whole = Tally()
    try:
        found = [] if source == STDIN else files.find(Path(source))
        with Progress(found) as progress:
            entries = sources.entries(_documents(source, found, format_, progress), options)
            for batch in preparing.batches(
                preparing.prepared(
                    entries, options, notebook, current_runtime().hooks.check_import_record
                )
            ):
                tally = _apply(batch, options)
                whole.add(tally)
                if wait:
                    notebook.wait_for(tally.evaluation_ids)
                progress.move(whole.received)
    except (UnknownFormat, OSError) as error:
        raise click.ClickException(str(error)) from error
    except AppError as error:
        message = f"{error.message} Start the import again: it takes up what is missing."
        raise click.ClickException(message) from error
    return whole


def _documents(
    source: str, found: Sequence[Found], format_: str, progress: Progress
) -> Iterator[Document]:
    if source == STDIN:
        return iter([files.document(sys.stdin.buffer, "standard input", format_)])
    return files.documents(found, format_, progress.opened)


def _apply(batch: Sequence[Prepared], options: Options, tries: int = 3) -> Tally:
    """Write a batch; a database that is busy for long is asked again before that is the end."""
    try:
        with current_runtime().db.writing() as session:
            return applying.apply(session, batch, options)
    except Rehearsed as rehearsal:
        return rehearsal.tally
    except ServiceUnavailable:
        if tries == 1:
            raise
    time.sleep(_ASK_AGAIN_S)
    return _apply(batch, options, tries - 1)


def _wait(runtime: Runtime, notebook: Notebook) -> None:
    """Wait until the evaluations have ended; where no worker runs, make them here."""
    while awaited := notebook.awaited():
        with runtime.db.reading() as session:
            ended = waiting.ended(session, awaited)
        notebook.ended(ended)
        if not ended:
            if not heartbeat.is_alive(runtime.settings.data_dir):
                evaluations.judge(runtime)
            time.sleep(_LOOK_AGAIN_S)


def _shown(tally: Tally, options: Options) -> dict[str, Any]:
    status = "completed_with_errors" if tally.counts[Outcome.FAILED] else "completed"
    return {
        "status": status,
        "dryRun": options.dry_run,
        "counts": _camelled(tally.shown()),
        "errors": [_camelled(each) for each in tally.errors],
    }


def _camelled(found: Mapping[str, Any]) -> dict[str, Any]:
    return {intake.camel(name): value for name, value in found.items()}


def _print(tally: Tally, options: Options) -> None:
    told = ", ".join(f"{number} {name}" for name, number in tally.counts.items())
    rehearsed = " (nothing was written)" if options.dry_run else ""
    click.echo(f"{tally.received} records: {told}{rehearsed}")
    if tally.evaluations_queued:
        click.echo(f"{tally.evaluations_queued} evaluations asked for")
    for error in tally.errors:
        known = f" ({error['external_id']})" if error["external_id"] else ""
        place = f"{error['file']}, line {error['line']}{known}"
        click.echo(f"{place}: {error['code']}: {error['message']}", err=True)
    hidden = tally.counts[Outcome.FAILED] - len(tally.errors)
    if hidden:
        click.echo(f"and {hidden} more", err=True)

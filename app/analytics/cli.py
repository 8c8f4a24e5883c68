"""Command groups `analytics` and `exports`."""

import sys
from itertools import count
from pathlib import Path
from typing import Any

import click

from app.analytics import jobs
from app.analytics.engine import parts, rebuilding
from app.analytics.engine.database import FactDatabase, fact_database
from app.analytics.enums import Dataset, Format
from app.analytics.exports import service
from app.analytics.exports.request import request_from_body
from app.analytics.exports.writers import TooManyRows
from app.analytics.jobs import TOO_MANY_ROWS
from app.analytics.schemas.exports import ExportCreate, ExportFilters
from app.core import commands
from app.core.commands import COMMAND, errors_as_messages
from app.core.database.session import Database
from app.core.process import stopping
from app.web.current import current_runtime
from app.web.schemas.base import load_valid, text_fields

_MAX_SHOWN = 20
# Progress is printed every so many batches of facts.
_PROGRESS_EVERY = 20


@click.group("analytics")
def analytics() -> None:
    """Rebuild the analytics tables, or check them."""


@analytics.command("rebuild")
@click.option("--after", default="", metavar="ID", help="Continue after this evaluation.")
def rebuild(after: str) -> None:
    """Rebuild facts and parts from the evaluations; safe while the service runs.

    After an interruption, continue with the id that was printed last.
    """
    db, database = current_runtime().db, fact_database(current_runtime().settings)
    reached: str | None = after
    for number in count(1):
        with db.writing() as session:
            reached = rebuilding.rebuild_after(session, reached or "")
        if reached is None:
            break
        if number % _PROGRESS_EVERY == 0:
            click.echo(f"facts: {number * rebuilding.BATCH:,} evaluations, to {reached}")
    with db.writing() as session:
        deleted = rebuilding.delete_stale(session)
        months = [part.month for part in parts.registered(session, database.folder)]
    click.echo(f"facts: rebuilt; {deleted} stale ones deleted")
    for month in reversed(months):
        with db.writing() as session:
            parts.discard(session, month)
        _write_parts(db, database)
        click.echo(f"parts: {month}")
    _write_parts(db, database)
    click.echo("rebuilt")


@analytics.command("check")
def check() -> None:
    """Compare facts with evaluations, and parts with facts; exit code 1 when anything differs."""
    db, database = current_runtime().db, fact_database(current_runtime().settings)
    parts.fetch_missing(db, database)
    with db.reading() as session:
        wrong_facts = list(rebuilding.fact_differences(session))
        wrong_parts = list(rebuilding.part_differences(session, database))
    differences = wrong_facts + wrong_parts
    for difference in differences[:_MAX_SHOWN]:
        click.echo(difference)
    if len(differences) > _MAX_SHOWN:
        click.echo(f"and {len(differences) - _MAX_SHOWN} more")
    if differences:
        counted = f"{len(wrong_facts)} facts and {len(wrong_parts)} parts differ"
        raise click.ClickException(f"{counted}: run `{COMMAND} analytics rebuild`")
    click.echo("every fact agrees with its evaluation, and every part with its facts")


def _write_parts(db: Database, database: FactDatabase) -> None:
    while parts.write_pending(db, database, limit=parts.REBUILD_BATCH):
        pass


@click.group("exports")
def exports() -> None:
    """Export a dataset, or run the exports that are due."""


@exports.command("create")
@click.argument("dataset", type=click.Choice([str(dataset) for dataset in Dataset]))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--from", "start", metavar="DATE", help="The first day or time.")
@click.option("--to", "end", metavar="DATE", help="The day or time after the last.")
@click.option("--timezone", default="UTC", show_default=True, help="Zone of days and times.")
@click.option("--columns", help="Names of columns, separated by commas. Default: all.")
@click.option(
    "--filter",
    "filters",
    metavar="NAME=VALUE",
    multiple=True,
    callback=lambda _, __, pairs: commands.filters_of(pairs, texts=text_fields(ExportFilters())),
    help="A filter of the API, such as maxScore=50; may be repeated.",
)
@click.option("--include-text", is_flag=True, help="Include words of the conversations.")
@errors_as_messages()
def create(dataset: str, file: Path, *, filters: dict[str, Any], **options: Any) -> None:
    """Write the rows of DATASET into FILE, whose ending names the format.

    Formats are csv, json, jsonl, xlsx and parquet. An existing file is replaced.
    """
    ending = file.suffix.removeprefix(".")
    if ending not in list(Format):
        endings = ", ".join(f".{format_}" for format_ in Format)
        raise click.BadParameter(f"its ending must be one of {endings}.", param_hint="FILE")
    body = {
        "dataset": dataset,
        "format": ending,
        "from": options["start"],
        "to": options["end"],
        "timezone": options["timezone"],
        "columns": options["columns"] and options["columns"].split(","),
        "filters": filters,
        "includeText": options["include_text"],
    }
    body = {name: value for name, value in body.items() if value is not None}
    loaded = load_valid(ExportCreate(), body, location="body")
    request = service.complete(request_from_body(loaded))
    try:
        with click.progressbar(length=100, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
            rows = jobs.write_file(
                current_runtime(), request, file, lambda percent: bar.update(percent - bar.pos)
            )
    except TooManyRows as error:
        raise click.ClickException(TOO_MANY_ROWS) from error
    except OSError as error:
        raise click.ClickException(f"{file} cannot be written: {error.strerror}") from error
    click.echo(f"{file}: {rows} rows")


@exports.command("run")
def run() -> None:
    """Run the exports that are due in this process, until none is left."""
    with stopping.on_interrupt():
        jobs.run_export(current_runtime())
    click.echo("No export is due.")

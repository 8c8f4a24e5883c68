"""Commands of scorecards: `scorecards …`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from app.core.commands import errors_as_messages, print_json
from app.core.database.paging import PageRequest
from app.core.errors import AppError, InvalidInput, MalformedRequest
from app.core.json_documents import load_object
from app.scorecards import authoring, service
from app.scorecards.schemas import scorecards as schemas
from app.scorecards.schemas.document import CHANNELS, ScorecardCreate, ScorecardVersionCreate
from app.web.current import current_runtime
from app.web.schemas.base import load_valid

_FILE = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("scorecards")
def scorecards() -> None:
    """List, show, check and add scorecards (docs/scorecards.md)."""


@scorecards.command("list")
@click.option("--channel", type=click.Choice(CHANNELS), help="Only of this channel.")
@_JSON
def list_(channel: str | None, *, as_json: bool) -> None:
    """List the default and the custom scorecards."""
    request = PageRequest(page_size=authoring.MOST_SCORECARDS + len(CHANNELS), sort="name")
    with current_runtime().db.reading() as session:
        listed = service.list_page(session, request, channel=channel).items
    if as_json:
        print_json(schemas.ScorecardSchema(many=True).dump(listed))
        return
    for scorecard in listed:
        kind = "default" if scorecard["is_default"] else "custom"
        click.echo(
            f"{scorecard['id']}  {scorecard['channel']:9}  {kind:7}  version {scorecard['version']:<3}  "
            f"{scorecard['criteria_count']:3} criteria  {scorecard['name']}"
        )


@scorecards.command("show")
@click.argument("scorecard_id")
@click.option("--version", type=click.IntRange(min=1), help="By default the current one.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print the whole record, not only the definition."
)
@errors_as_messages()
def show(scorecard_id: str, version: int | None, *, as_json: bool) -> None:
    """Print the definition of a scorecard: a file to edit and add."""
    with current_runtime().db.reading() as session:
        scorecard = service.get(session, scorecard_id, version=version)
    print_json(
        schemas.ScorecardDetailSchema().dump(scorecard) if as_json else scorecard["definition"]
    )


@scorecards.command("lint")
@_FILE
@_JSON
def lint(file: Path, *, as_json: bool) -> None:
    """Check FILE for errors and warnings; the exit status is 1 on errors."""
    with _errors_in(file):
        draft = _read(file, ScorecardCreate())
    checked = authoring.check(draft, channel=draft["channel"], has_model=_has_model())
    if as_json:
        findings = {"errors": checked.errors, "warnings": checked.warnings}
        print_json(
            {name: [finding.as_json() for finding in listed] for name, listed in findings.items()}
        )
    else:
        for finding in checked.errors:
            click.echo(f"error: {finding}", err=True)
        for finding in checked.warnings:
            click.echo(f"warning: {finding}")
        if not checked.errors and not checked.warnings:
            click.echo("nothing found")
    if checked.errors:
        raise click.exceptions.Exit(1)


@scorecards.command("create")
@_FILE
@_JSON
def create(file: Path, *, as_json: bool) -> None:
    """Add FILE as a scorecard."""
    with _errors_in(file):
        draft = _read(file, ScorecardCreate())
        with current_runtime().db.writing() as session:
            stored = authoring.create(session, draft, has_model=_has_model())
    _print_stored(stored, as_json=as_json)


@scorecards.command("add-version")
@click.argument("scorecard_id")
@_FILE
@_JSON
def add_version(scorecard_id: str, file: Path, *, as_json: bool) -> None:
    """Add FILE as the next version of a scorecard; new evaluations use it from now on."""
    with _errors_in(file):
        draft = _read(file, ScorecardVersionCreate())
        with current_runtime().db.writing() as session:
            stored = authoring.add_version(session, scorecard_id, draft, has_model=_has_model())
    _print_stored(stored, as_json=as_json)


def _has_model() -> bool:
    return current_runtime().settings.has_language_model


def _read(file: Path, schema: ScorecardVersionCreate) -> dict[str, Any]:
    return load_valid(schema, load_object(file.read_bytes(), noun="file"), location="file")


@contextmanager
def _errors_in(file: Path) -> Iterator[None]:
    """Turn errors into messages of the command that name the file, each problem on its line."""
    try:
        yield
    except InvalidInput as error:
        lines = [f"  {detail['field']}: {detail['message']}" for detail in error.details]
        message = "\n".join([f"{file} is not a valid scorecard:", *lines])
        raise click.ClickException(message) from error
    except MalformedRequest as error:
        raise click.ClickException(f"{file}: {error.message}") from error
    except AppError as error:
        raise click.ClickException(error.message) from error


def _print_stored(stored: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(schemas.ScorecardKeptSchema().dump(stored))
        return
    click.echo(f"{stored['id']}  {stored['name']}  version {stored['version']}")
    for warning in stored["warnings"]:
        click.echo(f"warning: {warning['field']}: {warning['message']}")

"""Commands that maintain the service: doctor, db, secrets, openapi."""

import base64
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import orjson

from app.core.database.schema_revision import needed_revision
from app.core.settings import Settings
from app.factory import create_app
from app.operations import database_files, migrating, start_checks, stored_secrets
from app.operations.environment import settings_here
from app.operations.failure import CannotRun, plain_errors
from app.packages import load_tables
from app.system import checks
from app.web.current import current_runtime
from app.web.openapi.pages import document_of


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(*, as_json: bool) -> None:
    """Check the installation and print what is wrong."""
    with plain_errors():
        results = checks.examine(settings_here())
    if as_json:
        click.echo(orjson.dumps(results, option=orjson.OPT_INDENT_2).decode())
    else:
        for result in results:
            click.echo(f"{result.verdict:<4}  {result.check:<12}  {result.message}")
    if any(result.verdict is checks.Verdict.FAIL for result in results):
        sys.exit(1)


@click.group("db")
def db() -> None:
    """Upgrade, back up, restore or check the database."""


@db.command("upgrade")
def db_upgrade() -> None:
    """Upgrade the tables to the revision that this version needs."""
    with plain_errors():
        before, after = migrating.upgrade(settings_here())
        if before == after:
            click.echo(f"Nothing to do: the tables are at {after or 'no revision'}.")
        else:
            click.echo(f"Upgraded from {before or 'an empty database'} to {after}.")


@db.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def db_backup(file: Path) -> None:
    """Write a checked copy of the database to FILE, while it is in use."""
    with plain_errors():
        made = database_files.backup(settings_here(), file)
        storage = made["storage"]
        click.echo(f"{file}: {made['sizeBytes']} bytes, revision {made['revision']}.")
        click.echo("NOT in the backup, back them up as well:")
        click.echo("  the master keys (master.keys or CQE_MASTER_KEYS): without them the")
        click.echo("  secrets in the backup cannot be decrypted")
        click.echo(f"  the recordings: {storage['files']} files in {storage['folder']}")


@db.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def db_restore(file: Path) -> None:
    """Replace the database by a backup; the service must be stopped."""
    with plain_errors():
        old = database_files.restore(settings_here(), file)
        click.echo(f"Restored from {file}.")
        if old is not None:
            click.echo(f"The former database is {old}.")
        click.echo("If its revision is older, the next start upgrades it.")


@db.command("check")
def db_check() -> None:
    """Check the revision, the tables and columns, and the database file."""
    with plain_errors():
        settings = settings_here()
        load_tables()
        revision = migrating.current(settings)
        if revision != needed_revision():
            raise CannotRun(
                f"the tables are at {revision or 'no revision'}, this version needs {needed_revision()}: "
                "run `./run db upgrade`"
            )
        with migrating.migration_engine(settings).connect() as connection:
            start_checks.require_tables(connection)
        if settings.is_sqlite:
            problems = database_files.check_file(settings.sqlite_file)
            if problems:
                raise CannotRun(
                    f"the database file is damaged: {'; '.join(problems[:5])}. Restore a backup"
                )
        click.echo(f"Intact, at revision {revision}.")


@click.group("secrets")
def secrets() -> None:
    """Maintain the encrypted secrets of the database."""


@secrets.command("rewrap")
def secrets_rewrap() -> None:
    """Encrypt every stored secret again, with the first master key."""
    with plain_errors():
        counts = stored_secrets.rewrap(current_runtime())
    for kind, count in counts.items():
        click.echo(f"{count} {kind} secrets encrypted again, 0 left")


@click.command("openapi")
@click.option("--write", type=click.Path(dir_okay=False), help="Write to this file instead.")
def openapi(write: str | None) -> None:
    """Print the OpenAPI document, which depends on the code alone and on no setting."""
    # The application never serves a request: its key and its folder are temporary.
    key = base64.b64encode(os.urandom(32)).decode()
    with TemporaryDirectory() as folder:
        document = document_of(create_app(Settings(data_dir=Path(folder), master_keys=f"k1:{key}")))
    text = orjson.dumps(orjson.loads(document), option=orjson.OPT_INDENT_2).decode()
    if write:
        Path(write).write_text(text + "\n")
    else:
        click.echo(text)

"""The commands that run the service: up, worker, doctor, db."""

import sys
from pathlib import Path
from typing import Any

import click
import orjson

from app.core.database.schema_revision import needed_revision
from app.operations import checks, database_files, migrating
from app.operations import up as up_run
from app.operations.environment import settings_here
from app.operations.failure import CannotRun, told_plainly
from app.operations.worker_command import main as run_worker


@click.command("up")
@click.option("--host", help="Address that the web server listens on.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port that the web server listens on.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder of everything kept.")
@click.option("--workers", type=click.IntRange(1), help="Web processes.")
@click.option("--threads", type=click.IntRange(1), help="Threads of each web process.")
@click.option("--no-worker", is_flag=True, help="Leave the worker to another process.")
@click.option("--demo", is_flag=True, help="Load sample conversations and calls to look at.")
def up(*, no_worker: bool, demo: bool, **options: Any) -> None:
    """Start the whole service: tables, queue, web server and worker."""
    with told_plainly():
        up_run.run(settings_here(options), with_worker=not no_worker, with_demo=demo)


@click.command("worker")
def worker() -> None:
    """Run the worker alone, beside a web server of its own."""
    run_worker()


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(*, as_json: bool) -> None:
    """Look at everything that has to be right, and say what is not."""
    with told_plainly():
        findings = checks.examine(settings_here())
    if as_json:
        click.echo(orjson.dumps(findings, option=orjson.OPT_INDENT_2).decode())
    else:
        for each in findings:
            click.echo(f"{each.verdict:<4}  {each.check:<12}  {each.told}")
    if any(each.verdict is checks.Verdict.FAIL for each in findings):
        sys.exit(1)


@click.group("db")
def db() -> None:
    """Bring the database up to date, back it up, restore it, check it."""


@db.command("upgrade")
def db_upgrade() -> None:
    """Bring the tables to the revision that this version needs."""
    with told_plainly():
        before, after = migrating.upgrade(settings_here())
        if before == after:
            click.echo(f"Nothing to do: the tables are at {after or 'no revision'}.")
        else:
            click.echo(f"Upgraded from {before or 'an empty database'} to {after}.")


@db.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def db_backup(file: Path) -> None:
    """Write a checked copy of the database to FILE, while it is in use."""
    with told_plainly():
        made = database_files.backup(settings_here(), file)
        storage = made["storage"]
        click.echo(f"{file}: {made['sizeBytes']} bytes, revision {made['revision']}.")
        click.echo("NOT in the backup, keep them as well:")
        click.echo("  the master keys (master.keys or CQE_MASTER_KEYS): without them the")
        click.echo("  secrets in the backup stay closed for ever")
        click.echo(f"  the recordings: {storage['files']} files in {storage['folder']}")


@db.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def db_restore(file: Path) -> None:
    """Put a backup in place of the database; the service must be stopped."""
    with told_plainly():
        old = database_files.restore(settings_here(), file)
        click.echo(f"Restored from {file}.")
        if old is not None:
            click.echo(f"The database before it is {old}.")
        click.echo("An older revision is brought up to date at the next start.")


@db.command("check")
def db_check() -> None:
    """Check that the tables are up to date and the database file is sound."""
    with told_plainly():
        settings = settings_here()
        found = migrating.current(settings)
        if found != needed_revision():
            raise CannotRun(
                f"the tables are at {found or 'nothing'}, this version needs {needed_revision()}: "
                "run `flask db upgrade`"
            )
        if settings.is_sqlite:
            problems = database_files.check_file(database_files.database_file(settings))
            if problems:
                raise CannotRun(f"the database file is not sound: {'; '.join(problems[:5])}")
        click.echo(f"Sound, at revision {found or 'none'}.")

"""Command group `db`: upgrade, check, back up and restore the database."""

import sys
from pathlib import Path

import click

from app.core.commands import COMMAND, print_line
from app.core.storage.opening import storage_folder
from app.operations import migrating, start_checks, stored_secrets
from app.operations.backups import databases
from app.operations.backups import service as backups
from app.operations.backups.contents import OBJECTS
from app.operations.environment import settings_here
from app.operations.failure import CannotRun, plain_errors
from app.packages import load_tables

_passphrase_file = click.option(
    "--passphrase-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Read the passphrase from the first line of this file; by default it is asked for.",
)


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
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--database-only", is_flag=True, help="Leave out recordings and exports.")
@click.option(
    "--with-keys", is_flag=True, help="Include the master keys, encrypted by a passphrase."
)
@_passphrase_file
def db_backup(
    *, folder: Path, database_only: bool, with_keys: bool, passphrase_file: Path | None
) -> None:
    """Write a backup into the new FOLDER, while the service runs."""
    with plain_errors():
        passphrase = _passphrase(passphrase_file, confirm=True) if with_keys else ""
        manifest = backups.backup(
            settings_here(), folder, database_only=database_only, passphrase=passphrase
        )
        click.echo(
            f"{folder}: database at revision {manifest.revision} ({manifest.database.size_bytes:,} bytes), "
            f"{manifest.object_count:,} recordings and exports ({manifest.object_bytes:,} bytes)."
        )
        if manifest.objects is None:
            click.echo(
                "NOT in the backup: recordings and exports. An object storage keeps versions."
            )
        if not with_keys:
            click.echo(
                "NOT in the backup: the master keys (master.keys or CQE_MASTER_KEYS), without which "
                "its secrets cannot be decrypted. Keep a copy elsewhere, or add --with-keys."
            )


@db.command("restore")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--erasures",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A later copy of the folder `erasures`: what it names is erased again.",
)
@click.option(
    "--with-keys", is_flag=True, help="Take the master keys from the backup, by their passphrase."
)
@_passphrase_file
def db_restore(
    *, folder: Path, erasures: Path | None, with_keys: bool, passphrase_file: Path | None
) -> None:
    """Replace database, recordings and exports by the backup in FOLDER.

    The service must be stopped. What was erased since the backup is erased again.
    """
    with plain_errors():
        passphrase = _passphrase(passphrase_file, confirm=False) if with_keys else ""
        settings = settings_here()
        restored = backups.restore(settings, folder, passphrase=passphrase, later_erasures=erasures)
        print_line(
            f"Restored the backup of {restored.manifest.created_at}, revision {restored.revision}."
        )
        if restored.left_out:
            left_out = ", ".join(restored.left_out)
            print_line(f"Left out, because CQE has not made them: {left_out}.")
        click.echo(f"Recordings and exports copied: {restored.object_count:,}.")
        if restored.manifest.object_count and storage_folder(settings) is None:
            click.echo(
                f"Upload {folder / OBJECTS} to CQE_STORAGE_URL with the tools of the storage."
            )
        click.echo(f"Later erasures repeated: {restored.erasure_count:,}.")
        if restored.revived:
            print_line(
                f"Revoked or disabled since the backup, and working again: {', '.join(restored.revived)}. "
                f"Revoke the keys (`{COMMAND} keys revoke`) and disable the people (`{COMMAND} users disable`)."
            )
        if restored.old_database is not None:
            print_line(f"The former database is {restored.old_database}.")


@db.command("after-restore")
def db_after_restore() -> None:
    """Erase again what was erased since the backup that another tool has restored."""
    with plain_errors():
        count = backups.repeat_erasures(settings_here())
        click.echo(f"Later erasures repeated: {count:,}.")


@db.command("discard-secrets")
@click.confirmation_option(
    prompt="Secrets whose master keys are lost are given up for good. Go on?",
    help="Do not ask.",
)
def db_discard_secrets() -> None:
    """Give up the secrets whose master keys are lost for good, so that the service starts again.

    Conversations and results stay. The service must be stopped.
    """
    with plain_errors():
        load_tables()
        lost = stored_secrets.discard_lost(settings_here())
        click.echo(f"API keys: {lost['API key']:,} pairs deleted; keys without a pair are revoked.")
        click.echo(f"Webhooks: {lost['webhook']:,} switched off, until their secret is rotated.")
        click.echo(f"Originals of masked texts: {lost['raw text']:,} deleted.")
        click.echo(f"Imports: {lost['queued import']:,} lost their documents; send them again.")


@db.command("check")
def db_check() -> None:
    """Check the revision, the tables and columns, and the database file."""
    with plain_errors():
        settings = settings_here()
        revision = migrating.current(settings)
        with migrating.migration_engine(settings).connect() as connection:
            start_checks.require_tables(connection)
        if settings.is_sqlite:
            problems = databases.check_file(settings.sqlite_file)
            if problems:
                raise CannotRun(
                    f"the database file is damaged: {'; '.join(problems[:5])}. Restore a backup"
                )
        click.echo(f"Intact, at revision {revision}.")


def _passphrase(file: Path | None, *, confirm: bool) -> str:
    if file is None:
        if not sys.stdin.isatty():
            raise CannotRun("there is no terminal to enter a passphrase: use --passphrase-file")
        entered: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm)
        return entered
    lines = file.read_text(encoding="utf-8").splitlines()
    if not lines or not lines[0]:
        raise CannotRun(f"{file} is empty: its first line must be the passphrase")
    return lines[0]

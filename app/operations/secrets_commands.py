"""Commands over the secrets that the database keeps sealed: `flask secrets …`."""

import click

from app.operations import sealed_secrets
from app.operations.failure import told_plainly
from app.web.current import current_runtime


@click.group("secrets")
def secrets() -> None:
    """Care for the secrets that the database keeps sealed."""


@secrets.command("rewrap")
def rewrap() -> None:
    """Seal every stored secret anew under the first master key."""
    with told_plainly():
        sealed = sealed_secrets.rewrap(current_runtime())
    for kind, count in sealed.items():
        click.echo(f"{count} {kind} secrets sealed anew, 0 left")

"""Commands over the secrets that the database keeps sealed: `flask secrets …`."""

from collections.abc import Callable

import click
from sqlalchemy.orm import Session

from app.api_keys import credentials
from app.core.crypto import Keyring
from app.core.runtime import Runtime, runtime
from app.webhooks import sealing


@click.group("secrets")
def secrets() -> None:
    """Care for the secrets that the database keeps sealed."""


@secrets.command("rewrap")
def rewrap() -> None:
    """Seal every stored secret anew under the first master key."""
    parts = runtime()
    for kind, seal in (("API key", credentials.rewrap), ("webhook", sealing.rewrap)):
        click.echo(f"{_rewrap_all(parts, seal)} {kind} secrets sealed anew, 0 left")


def _rewrap_all(parts: Runtime, seal: Callable[[Session, Keyring], int]) -> int:
    total = 0
    while True:
        with parts.db.writing() as session:
            count = seal(session, parts.keyring)
        if count == 0:
            return total
        total += count

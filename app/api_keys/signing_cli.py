"""Commands over signatures and sealed secrets: `flask signing …`, `flask secrets …`."""

import click

from app.api_keys import credentials
from app.api_keys.vectors import KEY, SECRET, VECTORS
from app.core import signing as scheme
from app.core.runtime import runtime


@click.group("signing")
def signing() -> None:
    """Help for those who write clients."""


@signing.command("vectors")
def vectors() -> None:
    """Print sample requests with their strings to sign and signatures."""
    click.echo(f"apiKey {KEY}\nsecret {SECRET}")
    for each in VECTORS:
        message = scheme.string_to_sign(
            timestamp=each.timestamp,
            nonce=each.nonce,
            method=each.method,
            target=each.target,
            body=each.body,
        )
        click.echo(f"\n{each.method} {each.target}\nbody      {each.body!r}")
        click.echo(f"message   {message!r}\nsignature {scheme.sign(SECRET, message)}")


@click.group("secrets")
def secrets() -> None:
    """Care for the secrets that the database keeps sealed."""


@secrets.command("rewrap")
def rewrap() -> None:
    """Seal every stored secret anew under the first master key."""
    parts = runtime()
    total = 0
    while True:
        with parts.db.writing() as session:
            count = credentials.rewrap(session, parts.keyring)
        total += count
        if count == 0:
            break
    click.echo(f"sealed {total} API key secrets anew; 0 are left under older keys")

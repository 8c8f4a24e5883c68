"""Commands over request signatures: `flask signing …`."""

import click

from app.api_keys.vectors import KEY, SECRET, VECTORS
from app.core.secrets import request_signing as scheme


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

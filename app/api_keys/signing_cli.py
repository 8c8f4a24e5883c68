"""Command group `signing`."""

import click

from app.api_keys.vectors import KEY, SECRET, VECTORS
from app.core.secrets import request_signing as scheme


@click.group("signing")
def signing() -> None:
    """Help with writing clients."""


@signing.command("vectors")
def vectors() -> None:
    """Print test vectors: requests with their strings to sign and signatures."""
    click.echo(f"apiKey {KEY}\nsecret {SECRET}")
    for vector in VECTORS:
        message = scheme.string_to_sign(
            timestamp=vector.timestamp,
            nonce=vector.nonce,
            method=vector.method,
            target=vector.target,
            body=vector.body,
        )
        click.echo(f"\n{vector.method} {vector.target}\nbody      {vector.body!r}")
        click.echo(f"message   {message!r}\nsignature {scheme.sign(SECRET, message)}")

"""Command group `signing`: test vectors of the request signature, for authors of clients."""

import json
from importlib.resources import files
from typing import NamedTuple

import click

from app.core.secrets import request_signing as scheme

# The service shows this file at /docs/signing-vectors.json.
_FILE = files("app.web.openapi") / "static" / "signing-vectors.json"
_DOCUMENT = json.loads(_FILE.read_text(encoding="utf-8"))
KEY, SECRET = _DOCUMENT["apiKey"], _DOCUMENT["secret"]


class Vector(NamedTuple):
    """One request and its signature under `SECRET`."""

    timestamp: str
    nonce: str
    method: str
    target: str
    body: bytes
    signature: str


VECTORS = [Vector(**{**vector, "body": vector["body"].encode()}) for vector in _DOCUMENT["vectors"]]


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

"""Command group `signing`: test vectors of the request signature, for authors of clients."""

from typing import NamedTuple

import click

from app.core.secrets import request_signing as scheme


class Vector(NamedTuple):
    """One request and its signature under `SECRET`."""

    timestamp: str
    nonce: str
    method: str
    target: str
    body: bytes
    signature: str


KEY = "cqek_9fQ2mZ7xT4bW1kL8pR3vN6yC5dH0sJ2f7ixZ"
SECRET = "cqes_Vd8uJm3Qx7Rt2Zk9Lp4Wn6Yb1Hc5Gf0Sa3Ee7To2Iq81d1SjF"  # noqa: S105 - a sample

VECTORS = (
    Vector(
        "1790000000",
        "",
        "GET",
        "/api/v1/engagements",
        b"",
        "5a3b61d4c39d8f634b362bff49e166f3a95c7a97c143d91b4c1709d3516cfb2b",
    ),
    Vector(
        "1790000001",
        "",
        "GET",
        "/api/v1/usage/details?pageSize=50&page=2&billingPeriod=2026-09&q=a%20b",
        b"",
        "ac1d51d9617f6d7dd9a29e310b3e688ac821e2da41306f47223ed0352815ea22",
    ),
    Vector(
        "1790000002",
        "n-7f3a9c1e",
        "POST",
        "/api/v1/engagements",
        '{"name":"Zoë ☕","type":"qa"}'.encode(),
        "fdba5657277cf4dfa057696494065e6fb8b01573a8d8c06189c27505b9ef6cc4",
    ),
    Vector(
        "1790000003",
        "",
        "PATCH",
        "/v1/engagements/eng_a%2Fb",
        b'{"status":"completed"}',
        "caefa5d4ae7cc619465c25cc7171e47a02940fb144110ec927527682cf0253ac",
    ),
    Vector(
        "1790000004",
        "01J8Z3",
        "DELETE",
        "/api/v1/webhooks/wh_123",
        b"",
        "c7e80a6b936664e43c766f43feb26b205df387cfe532d9f3d066459a2d32424e",
    ),
    Vector(
        "1790000005",
        "",
        "POST",
        "/api/v1/audio-files/aud_1/process?",
        b'{"priority": 5}\n',
        "15a0d4d78bf20c562383448f2318264be875e6ea0c8f1a82a8e77ac985c6c7cb",
    ),
)


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

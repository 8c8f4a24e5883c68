"""Verification of webhooks, for receivers."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import cast

from cqe_client.errors import InvalidWebhook
from cqe_client.types import Event

TOLERANCE_S = 300


def verify_webhook(
    signing_secret: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> Event:
    """Return the event of a request whose signature is valid.

    Args:
        signing_secret: `whsec_…`, as shown when the subscription was made.
        body: the bytes as received.
        headers: the headers of the request; their case does not matter.
        tolerance_s: how far the timestamp of the request may be from the clock.
        now: Unix time; the present by default.

    Raises:
        InvalidWebhook: the signature does not match, or the request is too old.
    """
    received = {name.lower(): value for name, value in headers.items()}
    message_id = received.get("webhook-id", "")
    timestamp = received.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()):
        raise InvalidWebhook("webhook-timestamp is missing or malformed.")
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(_key(signing_secret), signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    # During a rotation there are two signatures, separated by a space.
    signatures = received.get("webhook-signature", "").encode().split(b" ")
    matches = [hmac.compare_digest(expected, signature) for signature in signatures]
    if not any(matches):
        raise InvalidWebhook("webhook-signature does not match: check the signing secret.")
    if abs((time.time() if now is None else now) - int(timestamp)) > tolerance_s:
        raise InvalidWebhook("webhook-timestamp is too far from this machine's clock.")
    return cast(Event, json.loads(body))


def _key(signing_secret: str) -> bytes:
    try:
        return base64.b64decode(signing_secret.removeprefix("whsec_"), validate=True)
    except binascii.Error as error:
        raise InvalidWebhook("The signing secret must be the whole whsec_… string.") from error

"""What a caller shows to prove who it is: a key, and a signature or a permitted Bearer."""

import re
from dataclasses import dataclass
from datetime import datetime

from flask import Request
from werkzeug.datastructures import Headers

from app.api_keys.key_cache import KnownKey
from app.api_keys.key_strings import is_key_string
from app.api_keys.models import SignaturePolicy
from app.core import errors
from app.core.errors import Detail
from app.core.secrets import request_signing
from app.core.settings import Settings
from app.web.parser import MAX_JSON_BYTES

_BEARER = re.compile(r"[Bb]earer +(\S+)")
_BEARER_BY_DEFAULT = frozenset({"engagements", "usage"})
_ALWAYS_SIGNED = frozenset({"api-keys"})
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Signed:
    """The headers of a signed request."""

    timestamp: str
    nonce: str
    signature: str


def presented_key(headers: Headers) -> str:
    """Return the key string of X-Api-Key or Bearer; its form and checksum are right.

    Raises:
        InvalidApiKey: there is none, it is malformed, or the two differ.
    """
    from_header = headers.get("X-Api-Key", "")
    bearer = _BEARER.fullmatch(headers.get("Authorization", ""))
    from_bearer = bearer[1] if bearer else ""
    if from_header and from_bearer and from_header != from_bearer:
        raise errors.InvalidApiKey("X-Api-Key and Authorization name different keys.")
    api_key = from_header or from_bearer
    if not api_key:
        raise errors.InvalidApiKey("Send your API key in X-Api-Key.")
    if not is_key_string(api_key):
        raise errors.InvalidApiKey()
    return api_key


def read(request: Request, key: KnownKey, settings: Settings, now: datetime) -> Signed | None:
    """Read the signature headers; None where this key may use Bearer alone and does.

    Raises:
        LengthRequired, PayloadTooLarge: judged by the headers, before the body is read.
        InvalidSignature: headers are missing or malformed, or Bearer is not enough here.
        TimestampExpired: the clock differs by more than the window.
    """
    _check_length(request)
    headers = request.headers
    if "X-Signature" not in headers and "X-Timestamp" not in headers:
        _require_bearer_allowed(request, key)
        return None
    signed = Signed(
        headers.get("X-Timestamp", ""), headers.get("X-Nonce", ""), headers.get("X-Signature", "")
    )
    if not request_signing.TIMESTAMP_FORM.fullmatch(signed.timestamp):
        raise errors.InvalidSignature("X-Timestamp must be Unix seconds.")
    if not request_signing.SIGNATURE_FORM.fullmatch(signed.signature):
        raise errors.InvalidSignature("X-Signature must be 64 hex digits.")
    if signed.nonce and not request_signing.NONCE_FORM.fullmatch(signed.nonce):
        raise errors.InvalidSignature("X-Nonce must be 1 to 64 of A-Z a-z 0-9 . _ ~ -")
    if not signed.nonce and key.principal.require_nonce and request.method not in _SAFE_METHODS:
        raise errors.InvalidSignature("This key needs an X-Nonce on requests that change things.")
    if abs(now.timestamp() - int(signed.timestamp)) > settings.signature_window_s:
        server_time = str(int(now.timestamp()))
        raise errors.TimestampExpired(
            details=[Detail(location="headers", field="X-Timestamp", serverTime=server_time)]
        )
    return signed


def verify(request: Request, key: KnownKey, signed: Signed | None) -> None:
    """Check the signature over the bytes as sent; reads the body.

    Raises:
        InvalidSignature: it does not match.
    """
    body = request.get_data()
    if signed is None:
        return
    message = request_signing.string_to_sign(
        timestamp=signed.timestamp,
        nonce=signed.nonce,
        method=request.environ["REQUEST_METHOD"],
        target=request_signing.request_target(request.environ["RAW_URI"]),
        body=body,
    )
    if not request_signing.verify(key.secret, message, signed.signature):
        raise errors.InvalidSignature()


def _check_length(request: Request) -> None:
    if request.content_length is None:
        if "Transfer-Encoding" in request.headers:
            raise errors.LengthRequired()
        return
    if request.content_length > MAX_JSON_BYTES:
        raise errors.PayloadTooLarge("A JSON body may have at most 1 MiB.")


def _require_bearer_allowed(request: Request, key: KnownKey) -> None:
    policy = SignaturePolicy(key.principal.signature_policy)
    if "Authorization" not in request.headers or not _takes_bearer(request, policy):
        raise errors.InvalidSignature(
            "This endpoint needs a signed request: send X-Timestamp and X-Signature."
        )


def _takes_bearer(request: Request, policy: SignaturePolicy) -> bool:
    # Decided by the endpoint that will answer: one path may be written in many ways.
    group = (request.blueprint or "").partition("@")[0]
    if policy is SignaturePolicy.REQUIRED or group in _ALWAYS_SIGNED:
        return False
    # Without an endpoint the answer is 404 or 405, and reveals nothing.
    return policy is SignaturePolicy.OPTIONAL or group in _BEARER_BY_DEFAULT or not group

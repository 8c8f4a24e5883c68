"""Credentials of a request: the API key, and a signature or, where allowed, Bearer alone."""

import re
from dataclasses import dataclass
from datetime import datetime

from flask import Request
from werkzeug.datastructures import Headers

from app.api_keys.credentials import is_key_string
from app.api_keys.enums import SignaturePolicy
from app.api_keys.key_cache import CachedKey
from app.core import errors
from app.core.errors import Detail
from app.core.secrets import request_signing
from app.core.settings import Settings
from app.web.parser import MAX_JSON_BYTES

_BEARER = re.compile(r"[Bb]earer +(\S+)")
_BEARER_BY_DEFAULT = frozenset({"engagements", "usage"})
_ALWAYS_SIGNED = frozenset({"api-keys"})
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_MISMATCH = (
    "The request signature does not match: compare the lines that you signed with those that the "
    "service received, in details. If they are equal, check the first line and the secret."
)


@dataclass(frozen=True, slots=True)
class SignatureHeaders:
    """The headers of a signed request, well formed."""

    timestamp: str
    nonce: str
    signature: str


def presented_key(headers: Headers) -> str:
    """Return the key string of X-Api-Key or Bearer; its form and checksum are valid.

    Raises:
        InvalidApiKey: there is none, it is malformed, or the two differ.
    """
    from_header = headers.get("X-Api-Key", "")
    bearer = _BEARER.fullmatch(headers.get("Authorization", ""))
    from_bearer = bearer[1] if bearer else ""
    if from_header and from_bearer and from_header != from_bearer:
        raise errors.InvalidApiKey("X-Api-Key and Authorization must contain the same API key.")
    api_key = from_header or from_bearer
    if not api_key:
        raise errors.InvalidApiKey("X-Api-Key must contain your API key.")
    if not is_key_string(api_key):
        raise errors.InvalidApiKey()
    return api_key


def read_signature(
    request: Request, key: CachedKey, settings: Settings, now: datetime
) -> SignatureHeaders | None:
    """Read the signature headers; None for a request with Bearer alone where that is allowed.

    Raises:
        LengthRequired, PayloadTooLarge: decided by the headers, before the body is read.
        InvalidSignature: headers are missing or malformed, or Bearer alone is not allowed.
        TimestampExpired: the timestamp is outside of the window.
    """
    _check_length(request)
    headers = request.headers
    if "X-Signature" not in headers and "X-Timestamp" not in headers:
        _require_bearer_allowed(request, key)
        return None
    signature = SignatureHeaders(
        headers.get("X-Timestamp", ""), headers.get("X-Nonce", ""), headers.get("X-Signature", "")
    )
    if not request_signing.TIMESTAMP_FORM.fullmatch(signature.timestamp):
        raise errors.InvalidSignature("X-Timestamp must be Unix time in seconds.")
    if not request_signing.SIGNATURE_FORM.fullmatch(signature.signature):
        raise errors.InvalidSignature("X-Signature must be 64 hex digits.")
    if signature.nonce and not request_signing.NONCE_FORM.fullmatch(signature.nonce):
        raise errors.InvalidSignature("X-Nonce must be 1 to 64 characters of A-Z a-z 0-9 . _ ~ -")
    if not signature.nonce and key.principal.require_nonce and request.method not in _SAFE_METHODS:
        raise errors.InvalidSignature(
            "This key requires X-Nonce on requests that change something."
        )
    if abs(now.timestamp() - int(signature.timestamp)) > settings.signature_window_s:
        server_time = str(int(now.timestamp()))
        raise errors.TimestampExpired(
            details=[Detail(location="headers", field="X-Timestamp", serverTime=server_time)]
        )
    return signature


def verify_signature(request: Request, key: CachedKey, signature: SignatureHeaders | None) -> None:
    """Read the body, and verify the signature over the request as it was sent.

    Raises:
        InvalidSignature: the signature does not match.
    """
    body = request.get_data()
    if signature is None:
        return
    method: str = request.environ["REQUEST_METHOD"]
    target = request_signing.request_target(request.environ["RAW_URI"])
    message = request_signing.string_to_sign(
        timestamp=signature.timestamp,
        nonce=signature.nonce,
        method=method,
        target=target,
        body=body,
    )
    if not request_signing.verify(key.secret, message, signature.signature):
        received = Detail(
            location="headers",
            field="X-Signature",
            timestamp=signature.timestamp,
            nonce=signature.nonce,
            method=method,
            path=target.encode("ascii", "backslashreplace").decode(),
            bodySha256=request_signing.body_digest(body),
        )
        raise errors.InvalidSignature(_MISMATCH, details=[received])


def _check_length(request: Request) -> None:
    if request.content_length is None:
        if "Transfer-Encoding" in request.headers:
            raise errors.LengthRequired()
        return
    if request.content_length > MAX_JSON_BYTES:
        raise errors.PayloadTooLarge("The body must be at most 1 MiB.")


def _require_bearer_allowed(request: Request, key: CachedKey) -> None:
    policy = SignaturePolicy(key.principal.signature_policy)
    if "Authorization" not in request.headers or not _takes_bearer(request, policy):
        raise errors.InvalidSignature(
            "This request must be signed: send X-Timestamp and X-Signature."
        )


def _takes_bearer(request: Request, policy: SignaturePolicy) -> bool:
    # Decided by the endpoint that will answer: one path may be written in many ways.
    group = (request.blueprint or "").partition("@")[0]
    if policy is SignaturePolicy.REQUIRED or group in _ALWAYS_SIGNED:
        return False
    # Without an endpoint the answer is 404 or 405, and reveals nothing.
    return policy is SignaturePolicy.OPTIONAL or group in _BEARER_BY_DEFAULT or not group

"""Authentication of every request under the API's bases; docs/authentication.md lists the checks.

Each check sees only what the earlier ones passed: a caller that has proved nothing learns nothing,
uses up no rate limit and no nonce.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flask import Flask, Request, Response, current_app, g
from flask import request as current_request
from werkzeug.datastructures import Headers

from app.api_keys.credentials import hash_of, is_key_string
from app.api_keys.enums import SignaturePolicy
from app.api_keys.key_cache import CachedKey, KeyCache
from app.core import errors
from app.core.clock import utc_now
from app.core.errors import Detail
from app.core.principal import limit_to
from app.core.process.log import OnceAMinute
from app.core.request_limits.state import StateUnavailable
from app.core.request_limits.values import Admission, CallCount, Limit, Visit
from app.core.runtime import Runtime
from app.core.secrets import request_signing
from app.core.settings import Settings
from app.web import rate_limit
from app.web.addresses import client_address, forwarded_scheme, peer_address
from app.web.api import is_under_a_base
from app.web.parser import check_length
from app.web.principal import DEFAULT

logger = logging.getLogger(__name__)
logger.addFilter(OnceAMinute())

# Balancers and orchestrators ask these by plain HTTP; the answers are not secrets.
_HEALTH_ENDPOINTS = frozenset({"health", "health.live", "health.ready"})
PUBLIC_ENDPOINTS = _HEALTH_ENDPOINTS | frozenset(
    {
        "docs.document",
        "docs.page",
        "docs.collection",
        "docs.asset",
        "blobs.put",
        "blobs.get",
        # Verified by the signatures of vendors.
        "intake.receive",
        "intake.probe",
    }
)
_DEFAULT_HEADERS = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))
_FAILURES = (errors.InvalidApiKey, errors.InvalidSignature, errors.TimestampExpired)
_BEARER = re.compile(r"[Bb]earer +(\S+)")
_BEARER_BY_DEFAULT = frozenset({"engagements", "usage"})
_ALWAYS_SIGNED = frozenset({"api-keys"})
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_MISMATCH = (
    "The request signature does not match: compare the lines that you signed with those that the "
    "service received, in details. If they are equal, check the first line and the secret."
)


@dataclass(frozen=True, slots=True)
class _SignatureHeaders:
    """The headers of a signed request, well formed."""

    timestamp: str
    nonce: str
    signature: str


class Authentication:
    """Authenticates the requests of one application, and counts them for limits and usage."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._settings = runtime.settings
        self._state = runtime.state
        self._keys = KeyCache(runtime.db, runtime.keyring)
        self._policies = rate_limit.Policies(runtime.settings)

    def install(self, app: Flask) -> None:
        """Authenticate before every request of the application."""
        app.before_request(self._before_request)
        app.after_request(self._after_request)

    def _before_request(self) -> None:
        # Of the request that this thread answered before.
        limit_to(None)
        # Looked up once: the proxy finds the request again at every use.
        request: Request = current_request._get_current_object()  # type: ignore[attr-defined]
        if request.endpoint not in _HEALTH_ENDPOINTS:
            self._require_tls(request)
        if request.endpoint in PUBLIC_ENDPOINTS or not is_under_a_base(request.path):
            return
        if request.method == "OPTIONS" and request.routing_exception is None:
            return
        try:
            principal = self._authenticate(request).principal
        except _FAILURES:
            rate_limit.count_failure(self._runtime, self._policies, request)
            raise
        g.principal = principal
        limit_to(principal.teams)

    def _authenticate(self, request: Request) -> CachedKey:
        now = utc_now()
        key_hash = hash_of(_presented_key(request.headers))
        key = _usable(self._keys.find(key_hash), now)
        signature = _read_signature(request, key, self._settings, now)
        _verify_signature(request, key, signature)
        nonce = signature.nonce if signature else ""
        return self._admit(request, key, key_hash, nonce, now)

    def _admit(
        self, request: Request, key: CachedKey, key_hash: str, nonce: str, now: datetime
    ) -> CachedKey:
        """Spend nonce and rate limits, count the call, and check the key as it is now."""
        address = client_address(request, self._settings.trusted_proxies)
        allowed = key.allows(address)
        operation = (request.endpoint or "unknown").rpartition(".")[2]
        key_id = key.principal.key_id
        visit = Visit(
            now=now,
            nonce=f"{key_id}:{nonce}" if nonce else "",
            nonce_life_s=2 * self._settings.signature_window_s + 1,
            limits=self._limits_of(request, key_id) if allowed else (),
            count=CallCount(key_id, now.date().isoformat(), operation),
        )
        admission = self._visit(visit)
        if admission.admitted:
            g.count = visit.count
        g.limits = admission.limits
        key = _usable(self._keys.confirm(key, key_hash, admission.key_version), now)
        if not admission.nonce_fresh:
            raise errors.InvalidSignature("X-Nonce was already used: send a new one.")
        if not key.allows(address):
            raise errors.IpNotAllowed()
        if not admission.admitted:
            raise rate_limit.refuse(admission.limits)
        return key

    def _limits_of(self, request: Request, key_id: str) -> Sequence[Limit]:
        body_bytes = request.content_length or 0
        return self._policies.for_key(key_id, _rate_policy(request), body_bytes)

    def _visit(self, visit: Visit) -> Admission:
        try:
            return self._state.visit(visit)
        except StateUnavailable as error:
            if visit.nonce:
                raise errors.ServiceUnavailable(
                    "X-Nonce cannot be checked right now; try again.", retry_after_s=5
                ) from error
            logger.error("no request state, requests pass unlimited and uncounted: %s", error)
            return Admission(nonce_fresh=True, limits=[], key_version="")

    def _after_request(self, response: Response) -> Response:
        for name, value in _DEFAULT_HEADERS:
            if name not in response.headers:
                response.headers.add(name, value)
        rate_limit.add_headers(response, g.get("limits", ()), utc_now())
        count: CallCount | None = g.get("count")
        if count is not None and (response.status_code >= 500 or response.status_code == 401):
            self._state.uncount(count)
        return response

    def _require_tls(self, request: Request) -> None:
        policy = self._settings.require_tls
        forwarded = forwarded_scheme(request, self._settings.trusted_proxies)
        is_secure = (forwarded or request.scheme) == "https"
        if policy == "0" or is_secure:
            return
        address = peer_address(request)
        if policy == "auto" and address is not None and address.is_loopback and not forwarded:
            return
        raise errors.TlsRequired()


def _usable(key: CachedKey | None, now: datetime) -> CachedKey:
    if key is None or not key.is_usable_at(now):
        raise errors.InvalidApiKey()
    return key


def _rate_policy(request: Request) -> str:
    view = current_app.view_functions.get(request.endpoint or "")
    return str(getattr(view, "rate_policy", DEFAULT))


def _presented_key(headers: Headers) -> str:
    """Return the key string of X-Api-Key or Bearer; its form and checksum are valid.

    Raises:
        InvalidApiKey: it is missing or malformed, or the two differ.
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


def _read_signature(
    request: Request, key: CachedKey, settings: Settings, now: datetime
) -> _SignatureHeaders | None:
    """Read the signature headers; None for a request with Bearer alone where that is allowed.

    Raises:
        LengthRequired, PayloadTooLarge: decided by the headers, before the body is read.
        InvalidSignature: headers are missing or malformed, or Bearer alone is not allowed.
        TimestampExpired: the timestamp is outside of the window.
    """
    check_length(request)
    headers = request.headers
    if "X-Signature" not in headers and "X-Timestamp" not in headers:
        _require_bearer_allowed(request, key)
        return None
    signature = _SignatureHeaders(
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


def _verify_signature(
    request: Request, key: CachedKey, signature: _SignatureHeaders | None
) -> None:
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

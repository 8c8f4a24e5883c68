"""Authentication of every request under the API's bases; docs/authentication.md lists the checks.

Each check sees only what the earlier ones passed: a caller that has proved nothing learns nothing,
uses up no rate limit and no nonce.
"""

import logging
from datetime import datetime

from flask import Flask, Request, Response, current_app, g
from flask import request as current_request

from app.api_keys import signed_requests
from app.api_keys.credentials import hash_of
from app.api_keys.key_cache import CachedKey, KeyCache
from app.core import errors
from app.core.clock import utc_now
from app.core.request_limits.state import StateUnavailable
from app.core.request_limits.values import Admission, CallCount, Visit
from app.core.runtime import Runtime
from app.web import rate_limit
from app.web.addresses import Address, client_address, is_trusted
from app.web.api import is_under_a_base
from app.web.principal import DEFAULT

logger = logging.getLogger(__name__)

PUBLIC_ENDPOINTS = frozenset(
    {
        "health",
        "health.live",
        "health.ready",
        "docs.document",
        "docs.page",
        "docs.collection",
        "docs.asset",
        "blobs.put",
        "blobs.get",
    }
)
_DEFAULT_HEADERS = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))
_FAILURES = (errors.InvalidApiKey, errors.InvalidSignature, errors.TimestampExpired)


class Authentication:
    """Authenticates the requests of one application, and counts them for limits and usage."""

    def __init__(self, runtime: Runtime) -> None:
        self._settings = runtime.settings
        self._state = runtime.state
        self._keys = KeyCache(runtime.db, runtime.keyring)
        self._policies = rate_limit.Policies(runtime.settings)

    def install(self, app: Flask) -> None:
        """Authenticate before every request of the application."""
        app.before_request(self._before_request)
        app.after_request(self._after_request)

    def _before_request(self) -> None:
        # Looked up once: the proxy finds the request again at every use.
        request: Request = current_request._get_current_object()  # type: ignore[attr-defined]
        self._require_tls(request)
        if request.endpoint in PUBLIC_ENDPOINTS or not is_under_a_base(request.path):
            return
        if request.method == "OPTIONS" and request.routing_exception is None:
            return
        try:
            g.principal = self._authenticate(request).principal
        except _FAILURES:
            self._count_failure(request)
            raise

    def _authenticate(self, request: Request) -> CachedKey:
        now = utc_now()
        key_hash = hash_of(signed_requests.presented_key(request.headers))
        key = _usable(self._keys.find(key_hash), now)
        signature = signed_requests.read_signature(request, key, self._settings, now)
        signed_requests.verify_signature(request, key, signature)
        nonce = signature.nonce if signature else ""
        return self._admit(request, key, key_hash, nonce, now)

    def _admit(
        self, request: Request, key: CachedKey, key_hash: str, nonce: str, now: datetime
    ) -> CachedKey:
        """Spend nonce and rate limits, count the call, and check the key as it is now."""
        address = self._client_address(request)
        allowed = key.allows(address)
        operation = (request.endpoint or "unknown").rpartition(".")[2]
        key_id = key.principal.key_id
        visit = Visit(
            now=now,
            nonce=f"{key_id}:{nonce}" if nonce else "",
            nonce_life_s=2 * self._settings.signature_window_s + 1,
            limits=self._policies.for_key(key_id, _rate_policy(request)) if allowed else (),
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

    def _count_failure(self, request: Request) -> None:
        """Count a failed authentication; after too many from one address raise a 429 instead.

        Not for local callers and proxies: one bad client behind a proxy that hides its address
        would use up the limit of all others.
        """
        address = self._client_address(request)
        trusted = self._settings.trusted_proxies
        if address is None or address.is_loopback or is_trusted(str(address), trusted):
            return
        visit = Visit(now=utc_now(), limits=self._policies.for_failures(str(address)))
        admission = self._visit(visit)
        if not admission.admitted:
            raise rate_limit.refuse(admission.limits)

    def _after_request(self, response: Response) -> Response:
        for name, value in _DEFAULT_HEADERS:
            if name not in response.headers:
                response.headers.add(name, value)
        rate_limit.add_headers(response, g.get("limits", ()), utc_now())
        count: CallCount | None = g.get("count")
        if count is not None and (response.status_code >= 500 or response.status_code == 401):
            self._state.uncount(count)
        return response

    def _client_address(self, request: Request) -> Address | None:
        return client_address(
            request.environ.get("REMOTE_ADDR", ""),
            request.headers.get("X-Forwarded-For", ""),
            self._settings.trusted_proxies,
        )

    def _require_tls(self, request: Request) -> None:
        policy = self._settings.require_tls
        peer = request.environ.get("REMOTE_ADDR", "")
        is_proxied = is_trusted(peer, self._settings.trusted_proxies)
        forwarded = request.headers.get("X-Forwarded-Proto", "") if is_proxied else ""
        is_secure = (forwarded or request.scheme) == "https"
        if policy == "0" or is_secure:
            return
        address = client_address(peer, "", ())
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

"""Client for outgoing requests, on `requests`: every request ends with a reply, never an error."""

import logging
import ssl
import time
from collections.abc import Mapping
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
from requests.adapters import BaseAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from app.core.outgoing_http.addresses import AddressPolicy
from app.core.outgoing_http.connections import MAX_READ_BYTES, ConnectionPool
from app.core.outgoing_http.exchange import (
    FAILURES,
    Exchanger,
    HttpAnswer,
    NotConnected,
    classify,
    is_internal,
    is_success,
)
from app.core.outgoing_http.reply import EXCERPT, AttemptOutcome, BodyLimit, Reply

logger = logging.getLogger(__name__)


class RequestsClient:
    """The client of a process: one session and one TLS context, used by many threads."""

    def __init__(
        self, policy: AddressPolicy, *, ca_bundle: str = "", body: BodyLimit = EXCERPT
    ) -> None:
        self._pool = ConnectionPool(
            policy,
            lambda: _tls_context(ca_bundle or DEFAULT_CA_BUNDLE_PATH),
            max_read_bytes=MAX_READ_BYTES + body.max_bytes,
        )
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers.clear()
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._session.adapters.clear()
        adapter = _VettedAdapter(Exchanger(policy, self._pool, body), self._pool)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)

    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, timeout_s: float) -> Reply:
        """Send one POST."""
        started = time.monotonic()
        try:
            response = self._session.send(
                _prepared(url, headers, body),
                timeout=timeout_s,
                allow_redirects=False,
                proxies={},
            )
        except _Undelivered as failure:
            return Reply(
                failure.outcome,
                _ms_since(started),
                error=str(failure),
                is_internal=is_internal(failure.__cause__),
                connected=failure.connected,
            )
        except requests.RequestException:
            return Reply(
                AttemptOutcome.BLOCKED_URL,
                _ms_since(started),
                error="The URL cannot be used.",
                connected=False,
            )
        except Exception:  # a thread holds a delivery here and must hand it back
            logger.exception("an outgoing request failed inside the service")
            return Reply(
                AttemptOutcome.CONNECTION_ERROR,
                _ms_since(started),
                error="The request was not sent.",
                is_internal=True,
            )
        return _reply(response.raw, started)  # type: ignore[arg-type]  # what the adapter put there

    def close_idle(self) -> None:
        """Close connections that were not used for five seconds."""
        self._pool.close_idle()

    def close(self) -> None:
        """Close every connection, also under running requests."""
        self._session.close()


class _Undelivered(requests.RequestException):
    def __init__(self, outcome: AttemptOutcome, text: str, *, connected: bool) -> None:
        super().__init__(text)
        self.outcome = outcome
        self.connected = connected


class _VettedAdapter(BaseAdapter):
    """Sends requests over connections whose address the policy allows.

    No redirect is followed, no proxy asked and no encoding undone. The body of the answer is
    bounded here already: a session reads it whole before it looks at a redirect.
    """

    def __init__(self, exchanger: Exchanger, pool: ConnectionPool) -> None:
        super().__init__()
        self._exchanger = exchanger
        self._pool = pool

    def send(  # type: ignore[override]  # of the arguments only these mean anything here
        self, request: requests.PreparedRequest, *, timeout: float, **_: Any
    ) -> requests.Response:
        try:
            answer = self._exchanger.exchange(
                request.method or "",
                request.url or "",
                path=request.path_url,
                headers=dict(request.headers),
                body=request.body if isinstance(request.body, bytes) else b"",
                timeout_s=timeout,
            )
        except NotConnected as error:
            cause = error.__cause__
            raise _Undelivered(*classify(cause), connected=False) from cause
        except FAILURES as error:
            raise _Undelivered(*classify(error), connected=True) from error
        response = requests.Response()
        response.status_code = answer.status_code
        response.url = request.url or ""
        response.request = request
        response.raw = answer
        response._content = answer.body
        response._content_consumed = True  # type: ignore[attr-defined]  # missing in the stubs
        return response

    def close(self) -> None:
        self._pool.close()


def _prepared(url: str, headers: Mapping[str, str], body: bytes) -> requests.PreparedRequest:
    """Prepare a POST without the session: merging its empty settings takes 0.1 ms."""
    request = requests.PreparedRequest()
    request.method = "POST"
    request.url = _prepared_url(url)
    request.prepare_headers({**headers, "Content-Length": str(len(body))})
    request.body = body
    return request


@lru_cache(maxsize=1024)
def _prepared_url(url: str) -> str | None:
    request = requests.PreparedRequest()
    request.prepare_url(url, None)
    return request.url


def _reply(answer: HttpAnswer, started: float) -> Reply:
    return Reply(
        outcome=AttemptOutcome.SUCCESS
        if is_success(answer.status_code)
        else AttemptOutcome.HTTP_ERROR,
        duration_ms=round((answer.complete_at - started) * 1000),
        status_code=answer.status_code,
        ip=answer.ip,
        headers=answer.headers,
        body=answer.body,
        truncated=answer.truncated,
    )


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


@lru_cache(maxsize=4)
def _tls_context(ca_bundle: str) -> ssl.SSLContext:
    """Build the context once a process: reading the certificates takes 56 ms."""
    context = ssl.create_default_context(cafile=ca_bundle)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context

"""Client for outgoing requests, on `requests`: every request ends with a reply, whatever the network does."""

import errno
import http.client
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

import requests
from requests.adapters import BaseAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH

from app.core.errors import DiskFull
from app.core.outgoing_http.addresses import AddressPolicy, NameNotResolved, UrlRefused
from app.core.outgoing_http.connections import (
    MAX_READ_BYTES,
    AnswerTooLarge,
    ConnectionPool,
    Deadline,
    OutgoingConnection,
)
from app.core.outgoing_http.reply import EXCERPT, AttemptOutcome, BodyLimit, Reply

logger = logging.getLogger(__name__)

_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)
_FAILURES = (
    OSError,
    http.client.HTTPException,
    AnswerTooLarge,
    NameNotResolved,
    UrlRefused,
    ValueError,
)
# The sentences for the history say nothing about our network. The first kind that fits counts: a
# timeout and a TLS failure are kinds of OSError.
_OUTCOMES: tuple[tuple[tuple[type[Exception], ...], AttemptOutcome, str], ...] = (
    ((UrlRefused,), AttemptOutcome.BLOCKED_URL, "Requests to this URL are not allowed."),
    ((NameNotResolved,), AttemptOutcome.CONNECTION_ERROR, "The host name could not be resolved."),
    ((TimeoutError,), AttemptOutcome.TIMEOUT, "The receiver did not answer in time."),
    (
        (ssl.SSLEOFError, ssl.SSLZeroReturnError),
        AttemptOutcome.CONNECTION_ERROR,
        "The connection was closed.",
    ),
    (
        (ssl.SSLError,),
        AttemptOutcome.TLS_ERROR,
        "The TLS handshake failed; TLS 1.2 or later is required.",
    ),
    ((ConnectionRefusedError,), AttemptOutcome.CONNECTION_ERROR, "The connection was refused."),
    ((OSError,), AttemptOutcome.CONNECTION_ERROR, "The connection was closed."),
    (
        (AnswerTooLarge,),
        AttemptOutcome.CONNECTION_ERROR,
        "The headers of the answer are too large.",
    ),
    ((Exception,), AttemptOutcome.CONNECTION_ERROR, "The answer was not HTTP."),
)


class RequestsClient:
    """The client of a process: one session and one TLS context, used by many threads."""

    def __init__(self, policy: AddressPolicy, *, ca_bundle: str, body: BodyLimit = EXCERPT) -> None:
        self._pool = ConnectionPool(
            policy,
            lambda: tls_context(ca_bundle),
            max_read_bytes=MAX_READ_BYTES + body.max_bytes,
        )
        self._session = requests.Session()
        self._session.trust_env = False
        adapter = _VettedAdapter(policy, self._pool, body)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)

    def post(self, url: str, *, headers: Mapping[str, str], body: bytes, timeout_s: float) -> Reply:
        length = {"Content-Length": str(len(body))}
        return self._send("POST", url, {**headers, **length}, body, timeout_s)

    def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout_s: float,
        sink: Callable[[bytes], object] | None = None,
    ) -> Reply:
        """Send one GET; `sink` takes the body of a successful answer in place of the reply.

        Raises:
            DiskFull: by the sink.
        """
        return self._send("GET", url, headers, None, timeout_s, sink)

    def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_s: float,
        sink: Callable[[bytes], object] | None = None,
    ) -> Reply:
        started = time.monotonic()
        try:
            request = _prepared(method, url, headers, body)
            response = self._session.send(
                request, timeout=timeout_s, allow_redirects=False, proxies={}, sink=sink
            )
        except requests.RequestException:
            return Reply(
                AttemptOutcome.BLOCKED_URL,
                _ms_since(started),
                error="The URL cannot be used.",
                connected=False,
            )
        except DiskFull:
            raise
        except Exception:  # a thread holds a delivery here and must hand it back
            logger.exception("an outgoing request failed inside the service")
            return Reply(
                AttemptOutcome.CONNECTION_ERROR,
                _ms_since(started),
                error="The request was not sent.",
                is_internal=True,
            )
        return cast(Reply, response.raw)

    def close_idle(self) -> None:
        """Close connections that were not used for five seconds."""
        self._pool.close_idle()

    def close(self) -> None:
        """Close every connection, also under running requests."""
        self._pool.close()


class _VettedAdapter(BaseAdapter):
    """Sends requests over connections whose address the policy allows; `raw` is the `Reply`.

    Each request has one deadline. No redirect is followed, no proxy asked and no encoding undone.
    The body of the answer is bounded here already: a session reads it whole before it looks at a
    redirect.
    """

    def __init__(self, policy: AddressPolicy, pool: ConnectionPool, body: BodyLimit) -> None:
        super().__init__()
        self._policy = policy
        self._pool = pool
        self._body = body

    def send(  # type: ignore[override]  # of the arguments only these mean anything here
        self,
        request: requests.PreparedRequest,
        *,
        timeout: float,
        sink: Callable[[bytes], object] | None = None,
        **_: Any,
    ) -> requests.Response:
        reply = self._reply(request, time.monotonic(), Deadline(timeout), sink)
        response = requests.Response()
        response.raw = reply
        response._content = reply.body
        return response

    def _reply(
        self,
        request: requests.PreparedRequest,
        started: float,
        deadline: Deadline,
        sink: Callable[[bytes], object] | None,
    ) -> Reply:
        """Exchange a request for its answer, over a kept connection if it is still open."""
        url = str(request.url)
        connection = None
        try:
            connection = self._pool.reuse(self._policy.parse(url), deadline)
            if connection is not None:
                try:
                    return self._exchange(request, connection, started, sink)
                except (ConnectionError, ssl.SSLError):
                    if connection.timed.received:
                        raise
                    connection = None
            connection = self._pool.open(url, deadline)
            return self._exchange(request, connection, started, sink)
        except _FAILURES as error:
            outcome, text = classified(error)
            return Reply(
                outcome,
                _ms_since(started),
                error=text,
                is_internal=isinstance(error, OSError) and error.errno in _OUT_OF_RESOURCES,
                connected=connection is not None,
            )

    def _exchange(
        self,
        request: requests.PreparedRequest,
        connection: OutgoingConnection,
        started: float,
        sink: Callable[[bytes], object] | None,
    ) -> Reply:
        usable = False
        try:
            headers = {"Host": connection.target.netloc, **request.headers}
            connection.request(
                str(request.method), request.path_url, body=request.body, headers=headers
            )
            response = connection.getresponse()
            complete_at = time.monotonic()
            is_success = 200 <= response.status <= 299
            excerpt, truncated, is_complete = _read_body(
                connection, response, self._body, sink if is_success else None
            )
            # A receiver that refuses may leave the request unread, and would then take its rest for
            # the start of the next request.
            usable = is_complete and not response.will_close and is_success
            return Reply(
                AttemptOutcome.SUCCESS if is_success else AttemptOutcome.HTTP_ERROR,
                round((complete_at - started) * 1000),
                status_code=response.status,
                ip=connection.ip,
                headers={name.lower(): value for name, value in response.getheaders()},
                body=excerpt,
                truncated=truncated,
            )
        finally:
            self._pool.give_back(connection, usable=usable)


def _prepared(
    method: str, url: str, headers: Mapping[str, str], body: bytes | None
) -> requests.PreparedRequest:
    """Prepare a request without the session: merging its empty settings takes 0.1 ms."""
    request = requests.PreparedRequest()
    request.method = method
    request.url = _prepared_url(url)
    request.prepare_headers(headers)
    request.body = body
    return request


@lru_cache(maxsize=1024)
def _prepared_url(url: str) -> str | None:
    request = requests.PreparedRequest()
    request.prepare_url(url, None)
    return request.url


def _read_body(
    connection: OutgoingConnection,
    response: http.client.HTTPResponse,
    limit: BodyLimit,
    sink: Callable[[bytes], object] | None,
) -> tuple[bytes, bool, bool]:
    """Return the start of the body, whether it is longer, and whether it was read to its end.

    A `sink` takes the start instead.
    """
    timed = connection.timed
    excerpt = bytearray()
    length = taken = 0
    is_complete = False
    keep = sink or excerpt.extend
    try:
        if limit.within_s is not None:
            timed.deadline = Deadline(min(timed.deadline.remaining(), limit.within_s))
        while chunk := response.read1(16384):
            length += len(chunk)
            part = chunk[: limit.max_bytes - taken]
            taken += len(part)
            keep(part)
        is_complete = response.length == 0 or (response.length is None and response.isclosed())
    except _FAILURES:
        pass
    finally:
        response.close()
    return bytes(excerpt), length > taken or not is_complete, is_complete


def classified(error: Exception) -> tuple[AttemptOutcome, str]:
    """Return the outcome of a failure, and a sentence that says nothing about our network."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return AttemptOutcome.TLS_ERROR, f"The certificate was refused: {error.verify_message}."
    return next((outcome, text) for kinds, outcome, text in _OUTCOMES if isinstance(error, kinds))


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


@lru_cache(maxsize=4)
def tls_context(ca_bundle: str) -> ssl.SSLContext:
    """Trust the public authorities, and those of a file besides them.

    Built once a process: reading the certificates takes 56 ms.
    """
    context = ssl.create_default_context(cafile=DEFAULT_CA_BUNDLE_PATH)
    if ca_bundle:
        context.load_verify_locations(ca_bundle)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context

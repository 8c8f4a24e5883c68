"""Exchange of one request and its answer over a connection, and names for failures."""

import errno
import http.client
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass

from app.core.outgoing_http.addresses import AddressPolicy, NameNotResolved, Target, UrlRefused
from app.core.outgoing_http.connections import (
    AnswerTooLarge,
    ConnectionPool,
    Deadline,
    OutgoingConnection,
)
from app.core.outgoing_http.reply import EXCERPT, AttemptOutcome, BodyLimit

FAILURES = (
    OSError,
    http.client.HTTPException,
    AnswerTooLarge,
    NameNotResolved,
    UrlRefused,
    ValueError,
)


_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS)


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer whose status line and headers came in time.

    Args:
        headers: names in lower case.
        body: the start of the body, as much as is kept.
        truncated: whether the body was longer, or was not waited for.
        complete_at: the monotonic moment of the last header.
    """

    status_code: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool
    complete_at: float
    ip: str


class NotConnected(Exception):
    """No connection was made, for the reason that is its cause."""


class Exchanger:
    """Sends requests over kept or new connections, each within its own deadline."""

    def __init__(
        self, policy: AddressPolicy, pool: ConnectionPool, body: BodyLimit = EXCERPT
    ) -> None:
        self._policy = policy
        self._pool = pool
        self._body = body

    def exchange(
        self,
        method: str,
        url: str,
        *,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        timeout_s: float,
    ) -> HttpAnswer:
        """Send one request; raise `NotConnected` or one of `FAILURES` when there is no answer.

        A kept connection that turns out to be closed is replaced by a new one.
        """
        deadline = Deadline(timeout_s)
        target = self._policy.parse(url)
        fields = {"Host": target.netloc, **headers}
        reused = self._pool.reuse(target, deadline)
        if reused is not None:
            try:
                return self._over(reused, target, method, path, fields, body)
            except (ConnectionError, ssl.SSLError):
                if reused.timed.received:
                    raise
        try:
            opened = self._pool.open(url, deadline)
        except FAILURES as error:
            raise NotConnected from error
        return self._over(opened, target, method, path, fields, body)

    def _over(
        self,
        connection: OutgoingConnection,
        target: Target,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
    ) -> HttpAnswer:
        usable = False
        try:
            connection.request(method, path, body=body, headers=headers)
            response = connection.getresponse()
            complete_at = time.monotonic()
            excerpt, truncated, is_complete = _read_body(connection, response, self._body)
            # A receiver that refuses may leave the request unread, and would then take its rest for
            # the start of the next request.
            usable = is_complete and not response.will_close and is_success(response.status)
            return HttpAnswer(
                status_code=response.status,
                headers={name.lower(): value for name, value in response.getheaders()},
                body=excerpt,
                truncated=truncated,
                complete_at=complete_at,
                ip=connection.ip,
            )
        finally:
            self._pool.give_back(target, connection, usable=usable)


def is_success(status_code: int) -> bool:
    """Whether a status is one of 2xx."""
    return 200 <= status_code <= 299


def is_internal(error: BaseException | None) -> bool:
    """Whether this machine ran out of something that a request needs."""
    return isinstance(error, OSError) and error.errno in _OUT_OF_RESOURCES


def classify(error: BaseException | None) -> tuple[AttemptOutcome, str]:
    """Return the outcome and a sentence for the history, which says nothing about our network."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return AttemptOutcome.TLS_ERROR, f"The certificate was refused: {error.verify_message}."
    for kinds, outcome, text in _NAMES:
        if isinstance(error, kinds):
            return outcome, text
    return AttemptOutcome.CONNECTION_ERROR, "The answer was not HTTP."


# The first that fits counts: a timeout and a TLS failure are kinds of OSError.
_NAMES: tuple[tuple[tuple[type[Exception], ...], AttemptOutcome, str], ...] = (
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
)


def _read_body(
    connection: OutgoingConnection, response: http.client.HTTPResponse, rule: BodyLimit
) -> tuple[bytes, bool, bool]:
    """Return the start of the body, whether it is longer, and whether it was read to its end."""
    timed = connection.timed
    excerpt = bytearray()
    length = 0
    is_complete = False
    try:
        if rule.within_s is not None:
            timed.deadline = Deadline(min(timed.deadline.remaining(), rule.within_s))
        while chunk := response.read1(16384):
            length += len(chunk)
            excerpt += chunk[: rule.max_bytes - len(excerpt)]
        is_complete = response.length == 0 or (response.length is None and response.isclosed())
    except FAILURES:
        pass
    finally:
        response.close()
    return bytes(excerpt), length > len(excerpt) or not is_complete, is_complete

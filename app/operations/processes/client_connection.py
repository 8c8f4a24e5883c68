"""State machine of a client's connection; docs/decisions/0023 draws it."""

import socket
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from typing import Any

from gunicorn.http import get_parser  # type: ignore[import-untyped]

from app.core.errors import RequestTimeout
from app.core.ids import new_id
from app.operations.processes.client_socket import ClientSocket
from app.operations.processes.refusals import answer_of

_LINGER_S = 2.0
_STOPPING_S = 1.0


class ConnectionState(Enum):
    """Peer, application or disk that a connection waits for."""

    RECEIVING = auto()
    """For the peer: a request is expected, or has arrived in part."""
    IDLE = auto()
    """For the peer: it may send another request."""
    SERVING = auto()
    """For the application: the request has arrived."""
    HELD = auto()
    """For the disk: the answer is ready, the changes that it reports are not confirmed."""
    SENDING = auto()
    """For the peer: it did not take all of the answer at once."""
    LINGERING = auto()
    """For the peer: it has the answer, which it would lose if the connection closed while it sends."""
    CLOSED = auto()


class ClientConnection:
    """A connection, by one thread at a time.

    The poller calls `advance` when the socket is ready for what the state waits for, and
    `time_out` when it has waited for too long. Any thread serves a request, between `begin_answer`
    and `end_answer`, or sends a held answer; the poller calls `finish_answer` afterwards.
    """

    def __init__(self, cfg: Any, sock: ClientSocket, client: Any) -> None:
        self.sock = sock
        self.client = client
        # The address that the peer reached: the listener's may be a wildcard.
        self.server = sock.getsockname()
        self.parser = get_parser(cfg, sock, client)
        self.state = ConnectionState.RECEIVING
        self.held_bytes = 0  # as the poller has counted them
        self._idle_s = cfg.keepalive
        self._keep = False

    def advance(self) -> None:
        """Receive or send what is possible now, and change the state accordingly."""
        steps = {
            ConnectionState.RECEIVING: self._receive,
            ConnectionState.IDLE: self._receive,
            ConnectionState.SENDING: self._send,
            ConnectionState.LINGERING: self._discard,
        }
        self._step(steps[self.state])

    def begin_answer(self) -> None:
        """Start to serve the request that has arrived; if that fails, the connection is closed."""
        self._keep = False
        self.sock.begin()

    def end_answer(self, *, keep: bool) -> None:
        """Send the answer, unless it waits for the disk; with `keep`, another request may follow."""
        self._keep = keep
        if not self.sock.unconfirmed:
            self.send_answer()

    def send_answer(self) -> None:
        """Send what the peer takes at once, after the disk has confirmed the changes that the answer reports."""
        try:
            self.sock.flush()
        except OSError:
            self._keep = False

    def finish_answer(self) -> None:
        """Leave `SERVING` or `HELD`: the answer is ready, and was sent as far as possible."""
        self._step(self._hold_or_send)

    def time_out(self) -> None:
        """Close; a peer that has sent a part of a request gets a 408 first."""
        if self.sock.has_received and not self.sock.has_unsent:
            with suppress(OSError):
                self.sock.send(answer_of(RequestTimeout(), new_id("req")))
        self.state = ConnectionState.CLOSED

    def hurry(self) -> None:
        """Wait no more than a moment for another request, because the process stops."""
        if self.state is ConnectionState.IDLE:
            self.sock.patience.left_s = min(self.sock.patience.left_s, _STOPPING_S)

    def _step(self, step: Callable[[], ConnectionState]) -> None:
        try:
            self.state = step()
        except OSError:
            self.state = ConnectionState.CLOSED

    def _receive(self) -> ConnectionState:
        if not self.sock.receive():
            return ConnectionState.CLOSED
        return ConnectionState.SERVING if self.sock.has_request() else ConnectionState.RECEIVING

    def _hold_or_send(self) -> ConnectionState:
        if self.sock.unconfirmed:
            return ConnectionState.HELD
        if self.sock.has_unsent:
            self.sock.patience.renew()
            return ConnectionState.SENDING
        return self._await_request() if self._keep else self._linger()

    def _send(self) -> ConnectionState:
        self.sock.patience.spend()
        if not self.sock.flush():
            return ConnectionState.SENDING
        return self._await_request() if self._keep else self._linger()

    def _await_request(self) -> ConnectionState:
        self.sock.begin(self.parser.unreader.take_buffered())
        if self.sock.has_request():  # sent together with the last one
            return ConnectionState.SERVING
        if self.sock.has_received:
            return ConnectionState.RECEIVING
        self.sock.patience.renew(self._idle_s)
        return ConnectionState.IDLE

    def _linger(self) -> ConnectionState:
        self.sock.shutdown(socket.SHUT_WR)
        self.sock.patience.renew(_LINGER_S)
        return ConnectionState.LINGERING

    def _discard(self) -> ConnectionState:
        return ConnectionState.LINGERING if self.sock.discard() else ConnectionState.CLOSED

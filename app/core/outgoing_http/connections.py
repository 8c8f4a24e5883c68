"""Connections for outgoing requests: to allowed addresses only, each request under one deadline."""

import contextlib
import http.client
import io
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from app.core.outgoing_http.addresses import AddressPolicy, Target

MAX_READ_BYTES = 65536
_IDLE_S = 5.0
_IDLE_PER_TARGET = 8


class AnswerTooLarge(Exception):
    """The answer goes on after the bytes that are read at most."""


class Deadline:
    """The moment at which a request times out."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def remaining(self) -> float:
        """Return the seconds that are left; raise `TimeoutError` at zero."""
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError("the deadline has passed")
        return seconds


class TimedSocket:
    """A connected socket whose every read and write ends at the deadline of the running request.

    A timeout on the socket alone would start again with each byte that arrives.
    """

    def __init__(self, raw: socket.socket, deadline: Deadline, max_read_bytes: int) -> None:
        self._raw = raw
        self._max_read_bytes = max_read_bytes
        self.deadline = deadline
        self.received = 0
        self.expects_head = False

    def begin(self, deadline: Deadline) -> None:
        """Start the next request on this connection."""
        self.deadline = deadline
        self.received = 0

    def sendall(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            self._raw.settimeout(self.deadline.remaining())
            unsent = unsent[self._raw.send(unsent) :]

    def receive_into(self, buffer: Any) -> int:
        """Read what has arrived; 0 at the end of the stream.

        Within the head of an answer the end is an error: `http.client` would take the headers that
        came for all of them.
        """
        if self.received >= self._max_read_bytes:
            raise AnswerTooLarge
        self._raw.settimeout(self.deadline.remaining())
        count = self._raw.recv_into(buffer)
        if count == 0 and self.expects_head:
            raise ConnectionAbortedError("the answer ended before its headers did")
        self.received += count
        return count

    def makefile(self, _: str) -> io.BufferedReader:
        """Return the reader that `http.client` asks for."""
        return io.BufferedReader(_Reader(self), 16384)

    def close(self) -> None:
        """Do nothing: `http.client` calls this while the body is still to be read."""

    def shut(self) -> None:
        """Close the socket; from another thread this also ends what waits on it."""
        with contextlib.suppress(OSError):
            self._raw.shutdown(socket.SHUT_RDWR)
        self._raw.close()

    def is_quiet(self) -> bool:
        """Return whether an idle connection is usable: open, and without unread bytes."""
        poll = select.poll()
        poll.register(self._raw.fileno(), select.POLLIN)
        return not poll.poll(0)


class _Reader(io.RawIOBase):
    def __init__(self, source: TimedSocket) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._source.receive_into(buffer)


class _FinalResponse(http.client.HTTPResponse):
    """Skips interim answers: otherwise the next request would read the final answer of this one."""

    def _read_status(self) -> tuple[str, int, str]:
        version, status, reason = super()._read_status()  # type: ignore[misc]  # not in the stubs
        return version, http.client.CONTINUE if 100 <= status <= 199 else status, reason


class OutgoingConnection(http.client.HTTPConnection):
    response_class = _FinalResponse

    def __init__(self, target: Target, timed: TimedSocket, ip: str) -> None:
        super().__init__(target.host, target.port)
        self.auto_open = 0
        self.sock = timed
        self.target = target
        self.timed = timed
        self.ip = ip
        self.idle_since = 0.0
        self._outgoing = bytearray()

    def send(self, data: Any) -> None:
        """Collect what is written: head and body go out together."""
        self._outgoing += data

    def getresponse(self) -> http.client.HTTPResponse:
        """Send what was collected and wait for status line and headers."""
        data, self._outgoing = bytes(self._outgoing), bytearray()
        self.timed.sendall(data)
        self.timed.expects_head = True
        response = super().getresponse()
        self.timed.expects_head = False
        return response


class ConnectionPool:
    """Opens connections and reuses idle ones for five seconds; each serves one request at a time."""

    def __init__(
        self,
        policy: AddressPolicy,
        tls: Callable[[], ssl.SSLContext],
        max_read_bytes: int = MAX_READ_BYTES,
    ) -> None:
        self._policy = policy
        self._tls = tls
        self._max_read_bytes = max_read_bytes
        self._lock = threading.Lock()
        self._idle: dict[Target, list[OutgoingConnection]] = {}
        self._lent: set[OutgoingConnection] = set()
        self._closed = False

    def reuse(self, target: Target, deadline: Deadline) -> OutgoingConnection | None:
        """Lend a kept connection that still looks open."""
        while True:
            with self._lock:
                idle = self._idle.get(target)
                connection = idle.pop() if idle else None
            if connection is None:
                return None
            fresh = time.monotonic() - connection.idle_since <= _IDLE_S
            if fresh and connection.timed.is_quiet():
                connection.timed.begin(deadline)
                return self._lend(connection)
            connection.timed.shut()

    def open(self, url: str, deadline: Deadline) -> OutgoingConnection:
        """Resolve the name, check its addresses, and connect to the first that answers."""
        target, addresses = self._policy.locate(url, timeout_s=deadline.remaining())
        raw, ip = _connect([str(address) for address in addresses], target.port, deadline)
        try:
            if target.is_tls:
                raw = self._handshake(raw, target.host.rstrip("."), deadline)
        except BaseException:
            raw.close()
            raise
        timed = TimedSocket(raw, deadline, self._max_read_bytes)
        return self._lend(OutgoingConnection(target, timed, ip))

    def give_back(self, connection: OutgoingConnection, *, usable: bool) -> None:
        """End the loan; keep the connection when its answer was read to the end."""
        with self._lock:
            lent = connection in self._lent
            self._lent.discard(connection)
            idle = self._idle.setdefault(connection.target, [])
            if usable and lent and len(idle) < _IDLE_PER_TARGET:
                connection.idle_since = time.monotonic()
                idle.append(connection)
                return
        connection.timed.shut()

    def close_idle(self, *, older_than_s: float = _IDLE_S) -> None:
        """Close connections that were not used for a while."""
        limit = time.monotonic() - older_than_s
        expired = []
        with self._lock:
            former, self._idle = self._idle, {}
            for target, idle in former.items():
                for connection in idle:
                    if connection.idle_since > limit:
                        self._idle.setdefault(target, []).append(connection)
                    else:
                        expired.append(connection)
        for connection in expired:
            connection.timed.shut()

    def close(self) -> None:
        """Close everything for good, also under requests that run: they end with an error."""
        self.close_idle(older_than_s=0)
        with self._lock:
            self._closed = True
            lent, self._lent = list(self._lent), set()
        for connection in lent:
            connection.timed.shut()

    def _lend(self, connection: OutgoingConnection) -> OutgoingConnection:
        with self._lock:
            if not self._closed:
                self._lent.add(connection)
                return connection
        connection.timed.shut()
        raise ConnectionAbortedError("the pool is closed")

    def _handshake(self, raw: socket.socket, server_name: str, deadline: Deadline) -> ssl.SSLSocket:
        wrapped = self._tls().wrap_socket(
            raw, server_hostname=server_name, do_handshake_on_connect=False
        )
        try:
            # A handshake's timeout is one for all of its steps.
            wrapped.settimeout(deadline.remaining())
            wrapped.do_handshake()
        except BaseException:
            wrapped.close()
            raise
        return wrapped


def _connect(ips: list[str], port: int, deadline: Deadline) -> tuple[socket.socket, str]:
    """Try the addresses in turn; a silent one gets its share of the time, not all of it."""
    for position, ip in enumerate(ips):
        share = deadline.remaining() / (len(ips) - position)
        try:
            raw = socket.create_connection((ip, port), timeout=share)
        except OSError:
            if position == len(ips) - 1:
                raise
            continue
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return raw, ip
    raise ConnectionRefusedError("no address")

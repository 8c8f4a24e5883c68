"""Buffered client sockets: small requests are read, and small answers sent, without a thread."""

import logging
import re
import select
import socket
import time
from collections.abc import Callable

from gunicorn.http.errors import LimitRequestHeaders  # type: ignore[import-untyped]

from app.core.errors import AppError
from app.core.ids import new_id
from app.operations.processes.refusals import answer_of
from app.web.parser import LARGE_BODY_BYTES, MAX_JSON_BYTES

logger = logging.getLogger(__name__)

PATIENCE_S = 10.0
_MIN_BYTES_PER_S = 4096
_MAX_HEAD_BYTES = 32 * 1024
_MAX_UNSENT_BYTES = 2 * 1024 * 1024
_STEP_BYTES = 64 * 1024

_HEAD_END = b"\r\n\r\n"
_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,18})[ \t]*\r\n", re.IGNORECASE)
# Their bodies are stored as they are.
_UPLOAD = b"PUT /storage/"
_REQUEST_ID = re.compile(rb"\r\nX-Request-Id: (\S+)\r\n")
_FORM_TYPE = re.compile(
    rb"\r\ncontent-type:[^\r\n]*(?:x-www-form-urlencoded|multipart/)", re.IGNORECASE
)
_EXPECT_CONTINUE = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*(?=\r\n)", re.IGNORECASE)


class Patience:
    """Time for which a peer may still keep us waiting.

    A peer has ten seconds in all. Every 4 KiB that it moves give one second back, up to ten. So a
    peer that stalls or that is slower than 4 KiB/s runs out of time, and a steady one never does.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self, seconds: float = PATIENCE_S) -> None:
        """Start again, now."""
        self.left_s = seconds
        self._since = time.monotonic()

    def resume(self) -> None:
        """Begin to wait; time that passed since the last wait was not the peer's."""
        self._since = time.monotonic()

    def spend(self) -> None:
        """Take off the time waited."""
        now = time.monotonic()
        self.left_s -= now - self._since
        self._since = now

    def earn(self, size_bytes: int) -> None:
        """Give time back for bytes that moved."""
        self.left_s = min(PATIENCE_S, self.left_s + size_bytes / _MIN_BYTES_PER_S)

    def is_over(self, now: float) -> bool:
        """Return whether the peer has kept us waiting for too long."""
        return now - self._since > self.left_s


class ClientSocket(socket.socket):
    """A non-blocking socket with a buffer for each direction.

    The poller calls `receive` until `has_request`, then a thread serves the request: gunicorn reads
    by `recv` and writes by `sendall`, both from and into memory. What the peer does not take at
    once, the poller sends by `flush`. A thread waits for the peer only where a body or an answer is
    larger than the buffers: that is the case for uploads and downloads alone.

    Before it sends anything, it calls what is in `unconfirmed`: those calls wait until the disk has
    the changes that the answer reports.
    """

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(accepted.family, accepted.type, accepted.proto, fileno=accepted.detach())
        self.setblocking(False)
        self.patience = Patience()
        self._received = bytearray()
        self._unsent = bytearray()
        self._answering = False
        self._head_is_too_large = False
        self._is_complete = False
        self.unconfirmed: list[Callable[[], None]] = []

    @property
    def held_bytes(self) -> int:
        return len(self._received) + len(self._unsent)

    @property
    def has_received(self) -> bool:
        return bool(self._received)

    @property
    def has_unsent(self) -> bool:
        """Return whether a part of the answer is still here."""
        return bool(self._unsent)

    @property
    def is_complete(self) -> bool:
        """Return whether all of the request that `has_request` found has arrived."""
        return self._is_complete

    @property
    def is_read_request(self) -> bool:
        return self._received.startswith((b"GET ", b"HEAD "))

    @property
    def is_form(self) -> bool:
        """Return whether the request that has arrived has a form as its body."""
        if self.is_read_request:
            return False
        head_end = self._received.find(_HEAD_END)
        return _FORM_TYPE.search(self._received, 0, head_end) is not None

    @property
    def has_large_body(self) -> bool:
        """Return whether a request has arrived whose body takes long to read."""
        is_large = self._is_complete and len(self._received) > LARGE_BODY_BYTES
        return is_large and not self._received.startswith(_UPLOAD)

    def receive(self) -> bool:
        """Buffer what has arrived; return False when the peer will send nothing more."""
        try:
            data = super().recv(_STEP_BYTES)
        except BlockingIOError:
            return True
        if not self._received:
            self.patience.renew()
        had_head = _HEAD_END in self._received
        self._received += data
        self.patience.spend()
        if had_head:
            self.patience.earn(len(data))
        elif _HEAD_END in self._received:
            self.patience.renew()
            self._send_continue()
        return bool(data)

    def has_request(self) -> bool:
        """Return whether a thread can serve the next request without waiting for the peer.

        This only decides when the request is served. What it says is gunicorn's to read.
        """
        self._is_complete = False
        head_end = self._received.find(_HEAD_END)
        if head_end < 0:
            self._head_is_too_large = len(self._received) > _MAX_HEAD_BYTES
            return self._head_is_too_large
        body_bytes = self._announced_bytes(head_end)
        if body_bytes > MAX_JSON_BYTES:
            return True  # An upload, or too large: its reader checks the size first.
        self._is_complete = len(self._received) >= head_end + len(_HEAD_END) + body_bytes
        return self._is_complete

    def begin(self, read_ahead: bytes = b"") -> None:
        """Start on the next request; `read_ahead` are its bytes that were read with the last one."""
        self._received[:0] = read_ahead
        self._answering = False
        self.patience.renew()

    def flush(self) -> bool:
        """Send what the peer takes now; return whether that was all.

        Raises:
            OSError: the peer is gone, or a change is not confirmed; then a refusal is to be sent.
        """
        if self.unconfirmed:
            self._confirm()
        while self._unsent:
            try:
                sent = super().send(self._unsent)
            except BlockingIOError:
                return False
            del self._unsent[:sent]
            self.patience.earn(sent)
        return True

    def refuse(self, error: AppError) -> None:
        """Put an answer in the envelope of errors in place of the request that has arrived."""
        self._received.clear()
        self._unsent[:] = answer_of(error, new_id("req"))

    def discard(self) -> bool:
        """Throw away what has arrived; return False when the peer will send nothing more."""
        try:
            return bool(super().recv(_STEP_BYTES))
        except BlockingIOError:
            return True

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Return bytes from the buffer, or else from the peer.

        Raises:
            LimitRequestHeaders: the head of the request does not fit into the buffer.
            TimeoutError: the peer is too slow, or its request was answered before it was sent.
        """
        if self._received:
            data = bytes(self._received[:size])
            del self._received[:size]
            return data
        if self._head_is_too_large:
            raise LimitRequestHeaders(f"the head has more than {_MAX_HEAD_BYTES} bytes")
        if self._answering:
            raise TimeoutError("The rest of an answered request is not waited for.")
        while True:
            try:
                data = super().recv(size, flags)
            except BlockingIOError:
                self._wait(select.POLLIN)
            else:
                self.patience.earn(len(data))
                return data

    def sendall(self, data: bytes, flags: int = 0) -> None:  # type: ignore[override]
        """Buffer a part of the answer; wait for the peer only when the buffer is full.

        Raises:
            TimeoutError: the peer is too slow.
        """
        self._answering = True
        self._unsent += data
        if len(self._unsent) >= _STEP_BYTES:
            self.flush()
        while len(self._unsent) > _MAX_UNSENT_BYTES:
            self._wait(select.POLLOUT)
            self.flush()

    def send(self, data: bytes, flags: int = 0) -> int:  # type: ignore[override]
        """Send an interim answer (100 Continue) at once."""
        self._unsent += data
        self.flush()
        return len(data)

    def _confirm(self) -> None:
        found = _REQUEST_ID.search(self._unsent)
        request_id = found[1].decode() if found else ""
        refused: AppError | None = None
        while self.unconfirmed:
            try:
                self.unconfirmed.pop(0)()
            except Exception as error:
                refused = error if isinstance(error, AppError) else AppError()
                logger.error(
                    "refused after its commit: %s",
                    error,
                    exc_info=None if refused is error else error,
                    extra={"request_id": request_id},
                )
        if refused is not None:
            # What was sent in part can only end early.
            is_whole = self._unsent.startswith(b"HTTP/1.1 ")
            self._unsent[:] = answer_of(refused, request_id) if is_whole else b""
            raise ConnectionAbortedError(refused.message)

    def _announced_bytes(self, head_end: int) -> int:
        announced = _CONTENT_LENGTH.search(self._received, 0, head_end + 2)
        return int(announced[1]) if announced else 0

    def _send_continue(self) -> None:
        """Tell a peer that waits for it to send its small body; gunicorn is not to say it again."""
        head_end = self._received.find(_HEAD_END)
        expected = _EXPECT_CONTINUE.search(self._received, 0, head_end + 2)
        if expected and not self.has_request():
            del self._received[expected.start() : expected.end()]
            self.send(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _wait(self, event: int) -> None:
        poller = select.poll()
        poller.register(self.fileno(), event)
        self.patience.resume()
        ready = poller.poll(max(0.0, self.patience.left_s) * 1000)
        self.patience.spend()
        if not ready:
            raise TimeoutError("The peer is too slow.")

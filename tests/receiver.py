"""A webhook receiver: a real HTTPS server in a thread, which answers as its script says.

A script is a list of answers, one for each request to its path; the last one is repeated. Each
answer is a function over the open connection, so that it may also hang, trickle or hang up.
"""

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import trustme

from tests.waiting import PATIENCE_S, wait_until

Answer = Callable[["Visit"], bool]


@dataclass
class Received:
    """One request as it came in; header names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes
    at: float
    connection: int
    # Standard Webhooks names and ours differ in case alone, so the raw lines are kept too.
    raw_headers: list[tuple[str, str]] = field(default_factory=list)

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = orjson.loads(self.body)
        return event


@dataclass
class Visit:
    """An open connection in the middle of a request."""

    sock: socket.socket
    stopping: threading.Event
    request: Received

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def pause(self, seconds: float) -> bool:
        """Wait; False when the test is over."""
        return not self.stopping.wait(seconds)


def status(code: int, body: bytes = b"ok", *headers: str, after_s: float = 0) -> Answer:
    """Answer, and keep the connection."""

    def answer(visit: Visit) -> bool:
        visit.pause(after_s)
        lines = [f"HTTP/1.1 {code} Status", f"Content-Length: {len(body)}", *headers]
        visit.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        return True

    return answer


def held(until: threading.Event, answer: Answer) -> Answer:
    """Answer when the test says so."""

    def wait(visit: Visit) -> bool:
        while not until.is_set() and visit.pause(0.01):
            pass
        return answer(visit)

    return wait


def after_interim(code: int, final: Answer) -> Answer:
    """Say first that the answer is yet to come."""

    def answer(visit: Visit) -> bool:
        visit.send(f"HTTP/1.1 {code} Interim\r\nLink: </a>\r\n\r\n".encode())
        return final(visit)

    return answer


def hang(visit: Visit) -> bool:
    """Read the request and say nothing."""
    visit.pause(2 * PATIENCE_S)
    return False


def hang_up(visit: Visit) -> bool:
    """Close without a word."""
    return False


def then_hang_up(first: Answer) -> Answer:
    """Answer as if the connection stayed open, then close it."""

    def answer(visit: Visit) -> bool:
        first(visit)
        return False

    return answer


def trickle_headers(visit: Visit) -> bool:
    """Send a header byte by byte, for ever."""
    visit.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while visit.pause(0.05):
        visit.send(b"a")
    return False


def trickle_body(visit: Visit) -> bool:
    """Send good headers, then a body byte by byte, for ever."""
    visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nb")
    while visit.pause(0.05):
        visit.send(b"b")
    return False


def cut_off(data: bytes, *, with_reset: bool = False) -> Answer:
    """Send a part of an answer, then close the connection or reset it."""

    def answer(visit: Visit) -> bool:
        visit.send(data)
        if with_reset:
            visit.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    return answer


def endless_body(visit: Visit) -> bool:
    """Send as fast as it is taken, for ever."""
    visit.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    block = b"ffff\r\n" + b"e" * 0xFFFF + b"\r\n"
    while not visit.stopping.is_set():
        visit.send(block)
    return False


def endless_headers(visit: Visit) -> bool:
    """Send header lines as fast as they are taken, for ever."""
    visit.send(b"HTTP/1.1 200 OK\r\n")
    while not visit.stopping.is_set():
        visit.send(b"X-More: " + b"h" * 1000 + b"\r\n")
    return False


def not_http(visit: Visit) -> bool:
    """Answer in another language."""
    visit.send(b"220 mail.example.com ESMTP\r\n\r\n")
    return False


class Receiver:
    """Listens on a loopback port; `requests` holds what came in, in order."""

    def __init__(
        self,
        *,
        tls: bool = True,
        silent_handshake: bool = False,
        names: Sequence[str] = ("localhost", "127.0.0.1"),
        address: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self.scripts: dict[str, list[Answer]] = {}
        self._turns: Counter[str] = Counter()
        self._silent = silent_handshake
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.context = _server_context(*names) if tls else None
        self._listener = socket.create_server(address, backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._run(self._accept)

    def url(self, path: str = "/hook", *, host: str = "localhost") -> str:
        scheme = "http" if self.context is None else "https"
        return f"{scheme}://{host}:{self.port}{path}"

    def script(self, path: str, *answers: Answer) -> str:
        """Set the answers of a path and return its URL."""
        self.scripts[path] = list(answers)
        return self.url(path)

    def received(self, path: str = "/hook") -> list[Received]:
        """Return what came to a path."""
        with self._lock:
            return [each for each in self.requests if each.path == path]

    def wait_for(
        self, count: int, path: str = "/hook", *, within_s: float = PATIENCE_S
    ) -> list[Received]:
        """Wait until so many requests came to a path."""
        until = time.monotonic() + within_s
        while len(found := self.received(path)) < count and time.monotonic() < until:
            time.sleep(0.005)
        assert len(found) >= count, f"{len(found)} of {count} requests came to {path}"
        return found

    def wait_all_closed(self) -> None:
        """Wait until no connection is open on this side."""
        wait_until(lambda: not self._open)

    def close(self) -> None:
        """End every connection and thread."""
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            still_open = list(self._open)
        for sock in still_open:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)

    def _run(self, function: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._run(self._serve, sock, self.connections)

    def _serve(self, raw: socket.socket, number: int) -> None:
        sock: socket.socket = raw
        with self._lock:
            self._open.add(raw)
        try:
            if self._silent:
                self._stopping.wait(2 * PATIENCE_S)
                return
            if self.context is not None:
                sock = self.context.wrap_socket(
                    raw, server_side=True, do_handshake_on_connect=False
                )
                with self._lock:
                    self._open = (self._open - {raw}) | {sock}
                sock.do_handshake()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with sock.makefile("rb") as stream:
                while self._answer_one(sock, stream, number):
                    pass
        except (OSError, ValueError, IndexError):
            return
        finally:
            sock.close()
            with self._lock:
                self._open -= {raw, sock}

    def _answer_one(self, sock: socket.socket, stream: Any, number: int) -> bool:
        start = stream.readline()
        if not start:
            return False
        path = start.split()[1].decode()
        lines: list[tuple[str, str]] = []
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            lines.append((name, value.strip()))
        headers = {name.lower(): value for name, value in lines}
        body = stream.read(int(headers.get("content-length", "0")))
        with self._lock:
            request = Received(path, headers, body, time.time(), number, lines)
            self.requests.append(request)
            answers: Sequence[Answer] = self.scripts.get(path, [status(200)])
            turn = self._turns[path]
            self._turns[path] += 1
        return answers[min(turn, len(answers) - 1)](Visit(sock, self._stopping, request))


_authority: list[trustme.CA] = []


def authority() -> trustme.CA:
    """Return the certificate authority of this test run."""
    if not _authority:
        _authority.append(trustme.CA())
    return _authority[0]


def write_ca_bundle(folder: Path) -> str:
    """Write the authority's certificate where CQE_WEBHOOK_CA_BUNDLE may point."""
    file = folder / "webhook-ca.pem"
    authority().cert_pem.write_to_path(str(file))
    return str(file)


def _server_context(*names: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority().issue_cert(*names).configure_cert(context)
    return context

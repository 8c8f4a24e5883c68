"""Web worker of gunicorn: polls connections, and serves the requests that have arrived."""

import errno
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

from app.core.database.session import confirming_later
from app.core.errors import ServiceUnavailable
from app.operations.processes.answering_worker import AnsweringWorker
from app.operations.processes.client_connection import ClientConnection, ConnectionState
from app.operations.processes.client_socket import ClientSocket
from app.operations.processes.large_bodies import LargeBodies
from app.people import passwords

_MAX_HELD_BYTES = 64 * 1024 * 1024
_SWEEP_EVERY_S = 0.5
_QUICK_S = 0.02
_HOLD_S = 0.005
_SPREAD_S = 0.00005
_MOST_SPREAD = 10
# Another process was faster, the client has gone, or too many files are open.
_NOT_NOW = {errno.EAGAIN, errno.ECONNABORTED, errno.EMFILE, errno.ENFILE}
_EVENTS = {
    ConnectionState.RECEIVING: selectors.EVENT_READ,
    ConnectionState.IDLE: selectors.EVENT_READ,
    ConnectionState.SENDING: selectors.EVENT_WRITE,
    ConnectionState.LINGERING: selectors.EVENT_READ,
}


class WebWorker(AnsweringWorker):
    """Process that serves requests without waiting for slow peers.

    The poller (the main thread) reads requests whole, or up to the end of the head where the body is
    large, and sends what a peer did not take of its answer. Slow peers are cut off. Of too many
    connections, the one that waits longest is closed, or the one that holds most memory.

    With `serves_reads`, the poller also serves the requests that only read, one after the other:
    threads that hand the interpreter's lock to each other at every statement answer a third less.
    Those that write are served like that while `writes_are_quick`: their answers wait a moment, until
    the disk confirms the changes of several at once. Otherwise they get threads, which wait for the
    disk together. If a request takes long, the stand-in polls until the poller is back, and gives all
    requests to threads. Forms, which may wait for a password's hash, have few threads of their own.
    Requests with a large body take seconds, and have one; when too many wait, the next is answered
    with 503. A process that they leave with much memory is replaced.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # For a database in files of this host only: reading it hardly ever waits.
        self.serves_reads = False
        self.writes_are_quick: Callable[[], bool] = lambda: False
        self._threads = ThreadPoolExecutor(self.cfg.threads, "request")
        self._form_threads = ThreadPoolExecutor(passwords.THREADS + 2, "form")
        self._large_bodies = LargeBodies()
        self._done: SimpleQueue[Callable[[], object]] = SimpleQueue()  # from threads, to the poller
        self._is_accepting = False
        self._count = 0  # of open connections
        self._watched: dict[ClientConnection, None] = {}  # the one that waits longest comes first
        self._held_bytes = 0
        self._arrived: deque[ClientConnection] = deque()
        self._unconfirmed: list[ClientConnection] = []
        self._unconfirmed_since = 0.0
        self._next_sweep = 0.0
        # Held by the thread that polls: it alone uses all of the above.
        self._poller_lock = threading.Lock()
        self._serving_since: float | None = None
        self._has_begun = threading.Event()

    def run(self) -> None:
        """Serve until the process is to stop; gunicorn calls this."""
        self._selector = selectors.DefaultSelector()
        # Gunicorn writes a byte into this pipe for each signal.
        self._selector.register(self.PIPE[0], selectors.EVENT_READ, self._run_done)
        self._poller_lock.acquire()
        threading.Thread(target=self._stand_in, name="stand-in", daemon=True).start()
        while self.alive and self.ppid == os.getppid():
            self._poll()
        self.alive = False
        self._accept_or_not()
        last = time.monotonic() + self.cfg.graceful_timeout
        while self._count and time.monotonic() < last:
            self._poll()
        for threads in (self._threads, self._form_threads):
            threads.shutdown(wait=False)

    def _poll(self) -> None:
        self.notify()
        self._accept_or_not()
        for key, _ in self._selector.select(_SWEEP_EVERY_S):
            key.data()
        while self._arrived:
            self._serve(self._arrived.popleft())
            if self._unconfirmed and time.monotonic() - self._unconfirmed_since > _HOLD_S:
                self._send_unconfirmed()
        if self._unconfirmed:
            self._send_unconfirmed()
        self._end_slow_ones()

    def _accept_or_not(self) -> None:
        accepts = self.alive and self._count < self.cfg.worker_connections
        if accepts != self._is_accepting:
            self._is_accepting = accepts
            for listener in self.sockets:
                if accepts:
                    listener.setblocking(False)
                    accept = partial(self._accept, listener)
                    self._selector.register(listener, selectors.EVENT_READ, accept)
                else:
                    self._selector.unregister(listener)
        if not self.alive:
            # Otherwise the kernel takes more connections, which nobody answers; those it has taken are answered.
            while self.sockets:
                listener = self.sockets.pop()
                listener.setblocking(False)
                # Not more than the kernel held: new ones may come in as fast as they are taken.
                for _ in range(self.cfg.backlog):
                    if not self._accept(listener):
                        break
                listener.close()

    def _accept(self, listener: socket.socket) -> bool:
        if self.cfg.workers > 1:
            # All processes wake up: the one with the fewest connections is to be the first.
            time.sleep(min(self._count, _MOST_SPREAD) * _SPREAD_S)
        try:
            accepted, client = listener.accept()
        except OSError as error:
            if error.errno not in _NOT_NOW:
                raise
            return False
        if self._watched and self._count + 1 >= self.cfg.worker_connections:
            self._close(next(iter(self._watched)))
        self._count += 1
        self._watch(ClientConnection(self.cfg, ClientSocket(accepted), client))
        return True

    def _run_done(self) -> None:
        os.read(self.PIPE[0], 4096)
        while not self._done.empty():
            self._done.get()()

    def _in_poller(self, call: Callable[[], object]) -> None:
        self._done.put(call)
        with suppress(BlockingIOError):  # There are bytes in the pipe: the poller wakes up.
            os.write(self.PIPE[1], b"\0")

    # What happens to a connection

    def _watch(self, connection: ClientConnection) -> None:
        on_ready = partial(self._advance, connection)
        self._selector.register(connection.sock, _EVENTS[connection.state], on_ready)
        self._watched[connection] = None
        self._account(connection, connection.sock.held_bytes)

    def _unwatch(self, connection: ClientConnection) -> None:
        if connection in self._watched:
            del self._watched[connection]
            self._selector.unregister(connection.sock)
        self._account(connection, 0)

    def _account(self, connection: ClientConnection, held_bytes: int) -> None:
        self._held_bytes += held_bytes - connection.held_bytes
        connection.held_bytes = held_bytes
        while self._held_bytes > _MAX_HELD_BYTES:
            self._close(max(self._watched, key=lambda watched: watched.held_bytes))

    def _advance(self, connection: ClientConnection) -> None:
        if connection not in self._watched:
            return  # It was closed by an earlier event of the same round.
        event = _EVENTS[connection.state]
        connection.advance()
        if _EVENTS.get(connection.state) == event:
            self._account(connection, connection.sock.held_bytes)
        else:
            self._follow(connection)

    def _follow(self, connection: ClientConnection) -> None:
        """Do what the new state of a connection asks for."""
        self._unwatch(connection)
        if connection.state is ConnectionState.CLOSED:
            self._close(connection)
        elif connection.state is ConnectionState.SERVING:
            self._arrived.append(connection)
        elif connection.state is ConnectionState.HELD:
            if not self._unconfirmed:
                self._unconfirmed_since = time.monotonic()
            self._unconfirmed.append(connection)
        else:
            self._watch(connection)

    def _close(self, connection: ClientConnection) -> None:
        self._unwatch(connection)
        self._count -= 1
        connection.sock.close()

    def _end_slow_ones(self) -> None:
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + _SWEEP_EVERY_S
        for connection in list(self._watched):
            if not self.alive:
                connection.hurry()
            if connection.sock.patience.is_over(now):
                connection.time_out()
                self._follow(connection)

    # Serving

    def _serve(self, connection: ClientConnection, *, is_next: bool = False) -> None:
        """Serve a request that has arrived: here, or in a thread.

        Args:
            is_next: it was sent together with the one before; others are not to wait for all of them.
        """
        sock = connection.sock
        if sock.has_large_body:
            self._serve_large(connection)
        elif sock.is_form:
            self._after(self._form_threads.submit(self.answer, connection), connection)
        elif not is_next and self.serves_reads and self._is_quick(sock):
            with self._serving(), confirming_later(sock.unconfirmed):
                self.answer(connection)
            self._finish(connection)
        else:
            self._after(self._threads.submit(self.answer, connection), connection)

    def _serve_large(self, connection: ClientConnection) -> None:
        try:
            served = self._large_bodies.serve(self.answer, connection)
        except ServiceUnavailable as error:
            connection.begin_answer()
            connection.sock.refuse(error)
            connection.end_answer(keep=False)
            self._finish(connection)
            return
        served.add_done_callback(lambda _: self._in_poller(self._end_large))
        self._after(served, connection)

    def _end_large(self) -> None:
        if self._large_bodies.end() and self.alive:
            self.log.info("This web process is replaced: it has grown with large requests")
            self.alive = False

    def _is_quick(self, sock: ClientSocket) -> bool:
        is_quick = sock.is_read_request or (sock.is_complete and self.writes_are_quick())
        return is_quick and threading.current_thread() is threading.main_thread()

    def _after(self, work: "Future[None]", connection: ClientConnection) -> None:
        """Take a connection back from a thread."""
        work.add_done_callback(lambda _: self._in_poller(partial(self._finish, connection)))

    def _finish(self, connection: ClientConnection) -> None:
        connection.finish_answer()
        if connection.state is ConnectionState.SERVING:
            self._serve(connection, is_next=True)
        else:
            self._follow(connection)

    def _send_unconfirmed(self) -> None:
        unconfirmed, self._unconfirmed = self._unconfirmed, []
        with self._serving():
            for connection in unconfirmed:
                connection.send_answer()
        for connection in unconfirmed:
            self._finish(connection)

    # The stand-in

    @contextmanager
    def _serving(self) -> Iterator[None]:
        """Let the stand-in poll when this takes long."""
        self._serving_since = time.monotonic()
        self._has_begun.set()
        self._poller_lock.release()
        try:
            yield
        finally:
            self._serving_since = None
            if not self._poller_lock.acquire(blocking=False):
                self._in_poller(bool)  # wakes the stand-in
                self._poller_lock.acquire()

    def _stand_in(self) -> None:
        """Poll while the poller serves a request that takes long."""
        while True:
            self._has_begun.wait()
            self._has_begun.clear()
            time.sleep(_QUICK_S)
            since = self._serving_since
            if since is not None and time.monotonic() - since >= _QUICK_S:
                try:
                    self._poll_until_served(since)
                except Exception:
                    # Without a stand-in, every slow request would hold up the others.
                    self.log.exception("This web process is replaced")
                    self.alive = False
                    return

    def _poll_until_served(self, since: float) -> None:
        with self._poller_lock:
            unconfirmed, self._unconfirmed = self._unconfirmed, []
            for connection in unconfirmed:
                self._after(self._threads.submit(connection.send_answer), connection)
            while self._arrived and self._serving_since == since:
                self._serve(self._arrived.popleft())
            while self._serving_since == since:
                self._poll()

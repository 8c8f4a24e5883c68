"""Web worker: gunicorn's threads, given only requests that have arrived."""

import errno
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from gunicorn.errors import ConfigError  # type: ignore[import-untyped]
from gunicorn.http import get_parser  # type: ignore[import-untyped]
from gunicorn.http.errors import NoMoreData  # type: ignore[import-untyped]
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]

from app.core.database.session import confirming_later
from app.core.errors import RequestTimeout, ServiceUnavailable
from app.core.ids import new_id
from app.operations.processes.client_socket import ClientSocket
from app.operations.processes.large_bodies import LargeBodies
from app.operations.processes.refusals import answer_of, error_of
from app.people import passwords

_MAX_HELD_BYTES = 64 * 1024 * 1024
_SWEEP_EVERY_S = 0.5
_LINGER_S = 2.0
_STOPPING_LINGER_S = 1.0
_QUICK_S = 0.02
_HOLD_S = 0.005
_SPREAD_S = 0.00005
_MOST_SPREAD = 10
# Another process was faster, the client has gone, or too many files are open.
_NOT_NOW = {errno.EAGAIN, errno.ECONNABORTED, errno.EMFILE, errno.ENFILE}


class Connection:
    """A client connection as gunicorn's request handling knows it."""

    def __init__(self, cfg: Any, sock: ClientSocket, client: Any, server: Any) -> None:
        self.sock = sock
        self.client = client
        self.server = server
        self.parser = get_parser(cfg, sock, client)
        self.keep = True
        self.held_bytes = 0
        self.is_idle = False


class WebWorker(ThreadWorker):  # type: ignore[misc]
    """Gunicorn's threaded worker, whose threads do not wait for slow peers.

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
    Ours is what happens to a connection before and after a request; the rest is gunicorn's.
    """

    alive: bool  # gunicorn's: False when the process is to end

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Refuse TLS settings: TLS belongs to a proxy in front.

        Raises:
            ConfigError: a certificate is set.
        """
        if cfg.is_ssl:
            raise ConfigError("This web server speaks plain HTTP: end TLS at a proxy in front.")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._watched: dict[Connection, None] = {}  # the one that waits longest comes first
        self._held_bytes = 0
        self._next_sweep = 0.0
        # For a database in files of this host only: reading it hardly ever waits.
        self.serves_reads = False
        self.writes_are_quick: Callable[[], bool] = lambda: False
        self._poller_lock = threading.Lock()  # held by the thread that polls
        self._serving_since: float | None = None
        self._has_begun = threading.Event()
        self._polls = 0
        # Answers that wait for the disk, each with whether its connection can serve another request.
        self._unconfirmed: dict[Connection, bool] = {}
        self._unconfirmed_since = 0.0
        self._large_bodies = LargeBodies()
        self._form_threads = ThreadPoolExecutor(passwords.THREADS + 2, "form")

    def run(self) -> None:
        """Serve until the process is to stop."""
        self._poller_lock.acquire()
        threading.Thread(target=self._stand_in, name="stand-in", daemon=True).start()
        super().run()

    def set_accept_enabled(self, enabled: bool) -> None:
        """Close the port when a stop begins.

        Otherwise the kernel goes on taking connections, which nobody answers, while the last
        requests are finished.
        """
        super().set_accept_enabled(enabled)
        if not self.alive:
            for listener in self.sockets:
                listener.close()

    def accept(self, listener: socket.socket) -> None:
        """Take a new connection, which is served when its request has arrived."""
        if self.cfg.workers > 1:
            # All processes wake up: the one with the fewest connections is to be the first.
            time.sleep(min(self.nr_conns, _MOST_SPREAD) * _SPREAD_S)
        try:
            accepted, client = listener.accept()
        except OSError as error:
            if error.errno not in _NOT_NOW:
                raise
            return
        if self._watched and self.nr_conns + 1 >= self.worker_connections:
            self._drop(next(iter(self._watched)))
        self.nr_conns += 1
        # The address that the peer reached: the listener's may be a wildcard.
        server = accepted.getsockname()
        connection = Connection(self.cfg, ClientSocket(accepted), client, server)
        self._watch(connection, selectors.EVENT_READ, self._on_readable)

    def enqueue_req(self, conn: Connection) -> None:
        """Serve a request that has arrived: here, or in a thread."""
        if conn.sock.has_large_body:
            self._enqueue_large(conn)
            return
        if conn.sock.is_form:
            served = self._form_threads.submit(self.handle, conn)
            served.add_done_callback(
                lambda fs: self.method_queue.defer(self.finish_request, conn, fs)
            )
            return
        if not (self.serves_reads and self._is_quick(conn.sock)):
            super().enqueue_req(conn)
            return
        with self._serving(), confirming_later(conn.sock.unconfirmed):
            keep = self.handle(conn)
        if conn.sock.unconfirmed:
            if not self._unconfirmed:
                self._unconfirmed_since = time.monotonic()
            self._unconfirmed[conn] = keep
        else:
            self._finish(conn, keep)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Handle what happened on the connections; gunicorn calls this in its loop."""
        events = self.poller.select(timeout)
        self._polls = poll = self._polls + 1
        for key, _ in events:
            key.data(key.fileobj)
            if self._unconfirmed and time.monotonic() - self._unconfirmed_since > _HOLD_S:
                self._send_unconfirmed()
            if self._polls != poll:
                break  # The stand-in has polled meanwhile: the other events are outdated.
        if self._unconfirmed:
            self._send_unconfirmed()

    def handle(self, conn: Connection) -> bool:
        """Serve one request, and send its answer unless that waits for the disk.

        Returns whether the connection can serve another request.
        """
        keep = False
        conn.sock.begin()
        try:
            request = next(conn.parser)
            is_chunked = any(name == "TRANSFER-ENCODING" for name, _ in request.headers)
            if is_chunked or not conn.sock.is_complete:
                # The rest of a refused body is not waited for: the answer has to say so.
                request.force_close()
            keep = self.handle_request(request, conn) and conn.parser.finish_body()
        except (StopIteration, NoMoreData, OSError) as error:
            self.log.debug("A connection ended: %s", error)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer
            self._refuse(conn, error)
        return keep if conn.sock.unconfirmed else self._send(conn, keep)

    def finish_request(self, conn: Connection, fs: "Future[bool]") -> None:
        """Take a connection back from a thread."""
        self._finish(conn, not fs.cancelled() and fs.exception() is None and fs.result())

    def murder_pending(self) -> None:
        """Close the connections whose peers are too slow; gunicorn calls this in its loop."""
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + _SWEEP_EVERY_S
        for conn in list(self._watched):
            if not self.alive and conn.is_idle:
                conn.sock.patience.left_s = min(conn.sock.patience.left_s, _STOPPING_LINGER_S)
            if conn.sock.patience.is_over(now):
                self._time_out(conn)

    def _refuse(self, conn: Connection, failure: Exception) -> None:
        try:
            error, request_id = error_of(failure), new_id("req")
            known, client = {"request_id": request_id}, (conn.client or ("",))[0]
            if error.status < 500:
                self.log.warning("An invalid request from %s: %s", client, failure, extra=known)
            else:
                self.log.error("A request failed", exc_info=failure, extra=known)
            conn.sock.sendall(answer_of(error, request_id))
        except Exception:
            # It would end the process, with all its connections.
            self.log.exception("A request could not be answered")

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
                self.method_queue.defer(bool)  # wakes the stand-in
                self._poller_lock.acquire()

    def _send_unconfirmed(self) -> None:
        unconfirmed, self._unconfirmed = self._unconfirmed, {}
        with self._serving():
            kept = [self._send(conn, keep) for conn, keep in unconfirmed.items()]
        for conn, keep in zip(unconfirmed, kept, strict=True):
            self._finish(conn, keep)

    def _send_in_thread(self, conn: Connection, keep: bool) -> None:
        sent = self.tpool.submit(self._send, conn, keep)
        sent.add_done_callback(lambda fs: self.method_queue.defer(self.finish_request, conn, fs))

    def _send(self, conn: Connection, keep: bool) -> bool:
        """Send what the peer takes of an answer; return whether to keep the connection."""
        try:
            conn.sock.flush()
        except OSError:
            return False
        return keep

    def _finish(self, conn: Connection, keep: bool) -> None:
        """Send the rest of the answer, then wait for the next request or close."""
        conn.keep = keep
        try:
            if conn.sock.has_unsent:
                conn.sock.patience.renew()
                self._watch(conn, selectors.EVENT_WRITE, self._on_writable)
            else:
                self._after_answer(conn)
        except (OSError, ValueError):  # closed meanwhile
            self._drop(conn)

    def _enqueue_large(self, conn: Connection) -> None:
        try:
            served = self._large_bodies.serve(self.handle, conn)
        except ServiceUnavailable as error:
            conn.sock.refuse(error)
            self._finish(conn, self._send(conn, False))
            return
        served.add_done_callback(lambda fs: self.method_queue.defer(self._finish_large, conn, fs))

    def _finish_large(self, conn: Connection, fs: "Future[bool]") -> None:
        self.finish_request(conn, fs)
        if self._large_bodies.end() and self.alive:
            self.log.info("This web process is replaced: it has grown with large requests")
            self.alive = False

    def _is_quick(self, sock: ClientSocket) -> bool:
        is_quick = sock.is_read_request or (sock.is_complete and self.writes_are_quick())
        return is_quick and threading.current_thread() is threading.main_thread()

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
            unconfirmed, self._unconfirmed = self._unconfirmed, {}
            for conn, keep in unconfirmed.items():
                self._send_in_thread(conn, keep)
            while self._serving_since == since:
                self.notify()
                if not self.alive:
                    self.set_accept_enabled(False)
                self.wait_for_and_dispatch_events(_SWEEP_EVERY_S)
                self.murder_pending()

    def _watch(self, conn: Connection, event: int, callback: Callable[[Connection], None]) -> None:
        self.poller.register(conn.sock, event, partial(self._notice, conn, callback))
        self._watched[conn] = None
        self._account(conn, conn.sock.held_bytes)

    def _unwatch(self, conn: Connection) -> None:
        if conn in self._watched:
            del self._watched[conn]
            self.poller.unregister(conn.sock)
        self._account(conn, 0)

    def _account(self, conn: Connection, held_bytes: int) -> None:
        self._held_bytes += held_bytes - conn.held_bytes
        conn.held_bytes = held_bytes
        while self._held_bytes > _MAX_HELD_BYTES:
            self._drop(max(self._watched, key=lambda connection: connection.held_bytes))

    def _notice(
        self, conn: Connection, callback: Callable[[Connection], None], _: ClientSocket
    ) -> None:
        if conn in self._watched:  # else it was closed by an earlier event of the same round
            callback(conn)

    def _on_readable(self, conn: Connection) -> None:
        try:
            is_open = conn.sock.receive()
        except OSError:
            is_open = False
        conn.is_idle = False
        if not is_open:
            self._drop(conn)
        elif conn.sock.has_request():
            self._unwatch(conn)
            self.enqueue_req(conn)
        else:
            self._account(conn, conn.sock.held_bytes)

    def _on_writable(self, conn: Connection) -> None:
        conn.sock.patience.spend()
        try:
            is_sent = conn.sock.flush()
        except OSError:
            self._drop(conn)
            return
        if is_sent:
            self._unwatch(conn)
            self._after_answer(conn)
        else:
            self._account(conn, conn.sock.held_bytes)

    def _on_leftover(self, conn: Connection) -> None:
        with suppress(OSError):
            if conn.sock.discard():
                return
        self._drop(conn)

    def _after_answer(self, conn: Connection) -> None:
        if conn.keep:
            self._await_request(conn)
        else:
            self._linger(conn)

    def _await_request(self, conn: Connection) -> None:
        conn.sock.begin(conn.parser.unreader.take_buffered())
        if conn.sock.has_request():  # sent together with the last one
            super().enqueue_req(conn)
            return
        conn.is_idle = not conn.sock.has_received
        if conn.is_idle:
            conn.sock.patience.renew(self.cfg.keepalive)
        self._watch(conn, selectors.EVENT_READ, self._on_readable)

    def _linger(self, conn: Connection) -> None:
        """Close once the peer has seen the answer: one that still sends would lose it otherwise."""
        conn.sock.shutdown(socket.SHUT_WR)
        conn.sock.patience.renew(_LINGER_S)
        self._watch(conn, selectors.EVENT_READ, self._on_leftover)

    def _time_out(self, conn: Connection) -> None:
        if conn.sock.has_received and not conn.sock.has_unsent:
            with suppress(OSError):
                conn.sock.send(answer_of(RequestTimeout(), new_id("req")))
        self._drop(conn)

    def _drop(self, conn: Connection) -> None:
        self._unwatch(conn)
        self.nr_conns -= 1
        conn.sock.close()

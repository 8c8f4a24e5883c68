"""`/metrics` for Prometheus, on a listener of its own: it asks for no key, so it is off by default."""

import logging
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

logger = logging.getLogger(__name__)

_RETRY_S = 5.0
_READ_WITHIN_S = 5.0


class MetricsListener:
    """Serves a registry until the process ends; waits for its port when another holds it."""

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        self._address = (host, port)
        self._registry = registry
        self._stopping = threading.Event()
        self._server: _Server | None = None
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        """Listen in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._stopping.set()
        if self._server is not None:
            self._server.shutdown()
        self._thread.join(_READ_WITHIN_S)

    def _run(self) -> None:
        told = False
        while not self._stopping.is_set():
            try:
                self._server = _Server(self._address, self._registry)
            except OSError as error:
                if not told:
                    logger.warning("metrics wait for CQE_METRICS_LISTEN: %s", error)
                    told = True
                self._stopping.wait(_RETRY_S)
                continue
            with self._server:
                if not self._stopping.is_set():
                    self._server.serve_forever(poll_interval=0.2)
            return


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], registry: CollectorRegistry) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.registry = registry
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _READ_WITHIN_S
    server_version = "CQE"
    sys_version = ""

    def do_GET(self) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(404)
            return
        encode, content_type = choose_encoder(self.headers.get("Accept", ""))
        body = encode(self.server.registry)
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep scrapes out of the log."""

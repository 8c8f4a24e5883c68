"""Metrics server for Prometheus; it asks for no key, so it is off by default."""

import logging
import threading

from prometheus_client import CollectorRegistry, start_http_server

logger = logging.getLogger(__name__)

_RETRY_S = 5.0


class MetricsServer:
    """Exposes a registry until it is stopped; waits while another process uses the port."""

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        self._host, self._port, self._registry = host, port, registry
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metrics", daemon=True)

    def start(self) -> None:
        """Start in threads of its own."""
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        is_logged = False
        while not self._stopping.is_set():
            try:
                server, thread = start_http_server(self._port, self._host, self._registry)
            except OSError as error:
                if not is_logged:
                    logger.warning("CQE_METRICS_LISTEN: %s; trying again", error)
                    is_logged = True
                self._stopping.wait(_RETRY_S)
                continue
            self._stopping.wait()
            server.shutdown()
            server.server_close()
            thread.join()

"""Metrics process, and the metrics server that another process runs next to its own work."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry

from app.core.hosts import clock_offset
from app.core.hosts.keepers import Keeper
from app.core.metrics.host_metrics import HostMetrics
from app.core.metrics.server import MetricsServer
from app.core.process import stopping
from app.core.runtime import Runtime
from app.system.metrics import ServiceMetrics

_STEP_S = 0.1
# Longer than a minute, the longest usual time between two scrapes, so that the same host goes on reporting.
_REPORTER_LEASE_S = 90.0


@contextmanager
def metrics_served(runtime: Runtime) -> Iterator[None]:
    """Answer Prometheus inside the block, if CQE_METRICS_LISTEN is set; call it after the fork."""
    listen = runtime.settings.metrics_listen
    if listen is None:
        yield
        return
    reporter = Keeper(runtime.db, "figures", lease_s=_REPORTER_LEASE_S)
    server = MetricsServer(*listen, registry_of(runtime, reporter))
    server.start()
    try:
        yield
    finally:
        server.stop()
        reporter.step_down()


def serve_metrics(runtime: Runtime) -> None:
    """Answer Prometheus until SIGTERM."""
    stopping.listen()
    clock_offset.follow(runtime.db.engine)
    with metrics_served(runtime):
        while not stopping.requested():
            time.sleep(_STEP_S)


def registry_of(runtime: Runtime, reporter: Keeper) -> CollectorRegistry:
    """Return all metrics of this host, and of the service where this process reports them."""
    registry = CollectorRegistry()
    registry.register(HostMetrics(runtime.settings.data_dir))
    registry.register(ServiceMetrics(runtime, reporter))
    return registry

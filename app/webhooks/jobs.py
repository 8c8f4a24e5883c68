"""The sender as a process runs it, and the job that wakes it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from app.core.db import Database
from app.core.metrics_listener import MetricsListener
from app.core.outbound import RequestsSender
from app.core.queue import BellListener, redis_url
from app.core.request_metrics import RequestMetrics
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.webhooks.carrier import Carrier
from app.webhooks.metrics import SenderMetrics
from app.webhooks.policy import address_policy
from app.webhooks.sender import Engine

_awake = threading.Event()


def deliver_due() -> None:
    """Wake the sender of this process: there is something to send."""
    _awake.set()


def run_sender(parts: Runtime, should_stop: Callable[[], bool]) -> None:
    """Send webhooks until `should_stop`; then finish what runs, within 12 seconds.

    Call it in a process of its own, after the fork.
    """
    # A lost result only causes a duplicate: the sender need not wait for the disk at each commit.
    settings = replace(parts.settings, sqlite_synchronous="NORMAL")
    db = Database(settings, parts.doorbell.ring)
    outbound = RequestsSender(address_policy(settings), ca_bundle=settings.webhook_ca_bundle)
    listener = BellListener("webhooks", redis_url(settings))
    metrics = SenderMetrics()
    engine = Engine(
        settings=settings,
        db=db,
        outbound=outbound,
        carrier=Carrier(outbound, parts.keyring, timeout_s=settings.webhook_timeout_s),
        listener=listener,
        awake=_awake,
        metrics=metrics,
    )
    listener.start()
    try:
        with _served(settings, metrics):
            engine.run(should_stop)
    finally:
        listener.stop()
        outbound.close()
        db.engine.dispose()


@contextmanager
def _served(settings: Settings, metrics: SenderMetrics) -> Iterator[None]:
    if settings.metrics_listen is None:
        yield
        return
    metrics.registry.register(RequestMetrics(settings.data_dir))
    listener = MetricsListener(*settings.metrics_listen, metrics.registry)
    listener.start()
    try:
        yield
    finally:
        listener.stop()

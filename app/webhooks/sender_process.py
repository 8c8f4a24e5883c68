"""The sender as a process runs it, for good or until nothing is due."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.metrics.request_metrics import RequestMetrics
from app.core.metrics.server import MetricsServer
from app.core.outbound import RequestsSender
from app.core.process import owner
from app.core.queue import BellListener, redis_url
from app.core.runtime import Runtime
from app.core.settings import Settings
from app.webhooks import claims
from app.webhooks.carrier import Carrier
from app.webhooks.metrics import SenderMetrics
from app.webhooks.policy import address_policy
from app.webhooks.sender import Engine

awake = threading.Event()


def run_sender(runtime: Runtime, should_stop: Callable[[], bool]) -> None:
    """Send webhooks until `should_stop`; then finish what runs, within 12 seconds.

    Call it in a process of its own, after the fork.
    """
    # A lost result only causes a duplicate: the sender need not wait for the disk at each commit.
    settings = replace(runtime.settings, sqlite_synchronous="NORMAL")
    db = Database(settings, runtime.doorbell.ring, runtime.hooks)
    outbound = RequestsSender(address_policy(settings), ca_bundle=settings.webhook_ca_bundle)
    listener = BellListener("webhooks", redis_url(settings), awake.set)
    metrics = SenderMetrics()
    engine = Engine(
        settings=settings,
        db=db,
        outbound=outbound,
        carrier=Carrier(outbound, runtime.keyring, timeout_s=settings.webhook_timeout_s),
        listener=listener,
        awake=awake,
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


def drain(runtime: Runtime, *, within_s: float) -> bool:
    """Send what is due, here and now, until nothing is; False when that took too long.

    What fails is due again later, and is left to a sender.
    """
    until = time.monotonic() + within_s
    quiet = replace(runtime, settings=replace(runtime.settings, metrics_listen=None))
    emptied = False

    def is_over() -> bool:
        nonlocal emptied
        with suppress(ServiceUnavailable):  # what is on its way is still to be recorded
            emptied = emptied or not _has_work(runtime.db)
        return emptied or time.monotonic() > until

    run_sender(quiet, is_over)
    return emptied


def _has_work(db: Database) -> bool:
    with db.reading() as session:
        return claims.is_busy(session, holder=owner.this_process(), now=utc_now())


@contextmanager
def _served(settings: Settings, metrics: SenderMetrics) -> Iterator[None]:
    if settings.metrics_listen is None:
        yield
        return
    metrics.registry.register(RequestMetrics(settings.data_dir))
    server = MetricsServer(*settings.metrics_listen, metrics.registry)
    server.start()
    try:
        yield
    finally:
        server.stop()

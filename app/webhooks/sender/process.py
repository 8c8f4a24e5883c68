"""Sender process: runs the sender loop until it is stopped, or until nothing is due."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from app.core import hosts
from app.core.clock import utc_now
from app.core.database.session import Database
from app.core.errors import ServiceUnavailable
from app.core.outgoing_http.client import RequestsClient
from app.core.process import owner
from app.core.queue import BellListener, redis_url
from app.core.runtime import Runtime
from app.webhooks.policy import address_policy
from app.webhooks.sender import claims
from app.webhooks.sender.dispatch import Dispatcher
from app.webhooks.sender.loop import SenderLoop
from app.webhooks.service import SENDER_BELL


def run_sender(runtime: Runtime, should_stop: Callable[[], bool]) -> None:
    """Send webhooks until `should_stop`; then finish what is in flight, within 12 seconds.

    Call it in a process of its own, after the fork.
    """
    settings = runtime.settings
    # A lost result only causes a repetition: the sender need not wait for the disk at each commit.
    db = Database(settings, runtime.doorbell.ring, runtime.hooks, waits_for_disk=False)
    hosts.follow_clock(db.engine)
    runtime.traces.start("sender")
    client = RequestsClient(address_policy(settings), ca_bundle=settings.webhook_ca_bundle)
    wake = threading.Event()
    listener = BellListener(SENDER_BELL.queue, redis_url(settings), wake.set)
    loop = SenderLoop(
        settings=settings,
        db=db,
        client=client,
        dispatcher=Dispatcher(
            client, runtime.keyring, runtime.traces, timeout_s=settings.webhook_timeout_s
        ),
        listener=listener,
        wake=wake,
        counts=runtime.counts,
    )
    listener.start()
    try:
        runtime.counts.keep_writing()
        loop.run(should_stop)
    finally:
        runtime.counts.write()
        listener.stop()
        client.close()
        runtime.traces.flush()
        db.engine.dispose()


def drain(runtime: Runtime, *, within_s: float) -> bool:
    """Send what is due until nothing is; False when the time runs out.

    A delivery that fails is due again later, and left to a sender.
    """
    until = time.monotonic() + within_s
    is_done = False

    def should_stop() -> bool:
        nonlocal is_done
        with suppress(ServiceUnavailable):  # results may still have to be recorded
            is_done = is_done or not _has_work(runtime.db)
        return is_done or time.monotonic() > until

    run_sender(runtime, should_stop)
    return is_done


def _has_work(db: Database) -> bool:
    with db.reading() as session:
        return claims.has_work(session, owner=owner.this_process(), now=utc_now())

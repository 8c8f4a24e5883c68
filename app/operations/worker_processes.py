"""The worker's processes: the webhook sender, the queue workers, and the one that keeps time."""

import logging
import time
from functools import partial

from app.core.database.schema_revision import is_at_head
from app.core.process import stopping
from app.core.queue import redis_url, work
from app.core.runtime import Runtime
from app.operations import periodic_process
from app.operations.children import Service
from app.operations.periodic import JOB_QUEUES
from app.operations.supervisor import Supervisor
from app.webhooks.sender_process import run_sender

logger = logging.getLogger(__name__)


def services(runtime: Runtime) -> list[Service]:
    """List the worker's processes; without a queue server the sweep does the queues' work."""
    url = redis_url(runtime.settings)
    found = [
        Service("sender", partial(_send, runtime)),
        Service("periodic", partial(periodic_process.run, runtime)),
    ]
    if url:
        found += [
            Service(
                f"{queue.queue} {number}",
                partial(work, queue.queue, url, partial(queue.run, runtime)),
            )
            for queue in JOB_QUEUES
            for number in range(1, runtime.settings.worker_processes + 1)
        ]
    return found


def run(runtime: Runtime) -> None:
    """Keep the worker's processes alive until SIGTERM; the tables must be up to date first."""
    supervisor = Supervisor()
    supervisor.listen()
    told = False
    while not supervisor.stop_asked and not _tables_are_ready(runtime):
        if not told:
            logger.warning("the tables are not up to date: waiting for `flask db upgrade`")
            told = True
        time.sleep(1)
    runtime.db.engine.dispose()
    if not supervisor.stop_asked:
        supervisor.start(services(runtime))
        supervisor.run()


def _send(runtime: Runtime) -> None:
    stopping.listen()
    run_sender(runtime, stopping.requested)


def _tables_are_ready(runtime: Runtime) -> bool:
    with runtime.db.reading() as session:
        return is_at_head(session)

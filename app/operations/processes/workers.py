"""Worker processes: the webhook sender, the queue workers and the scheduler."""

import logging
import time
from collections.abc import Sequence
from functools import partial

from app.ai.languages.lexicon import lexicon_of
from app.core.database.schema_revision import is_usable
from app.core.hosts import clock_offset
from app.core.process import stopping
from app.core.queue import redis_url, work
from app.core.runtime import Runtime
from app.core.settings import SENDER
from app.operations import start_checks
from app.operations.processes import scheduler
from app.operations.processes.fork import call_in_child
from app.operations.processes.scheduler import PeriodicTask
from app.operations.processes.supervisor import Service, Supervisor
from app.operations.processes.sweep import JobQueue
from app.privacy import jobs as erasures
from app.webhooks.sender.process import run_sender

logger = logging.getLogger(__name__)


def services(
    runtime: Runtime, tasks: Sequence[PeriodicTask], queues: Sequence[JobQueue]
) -> list[Service]:
    """List the worker's processes; without a queue server the sweep runs all jobs."""
    # The usual lexicon is loaded before the workers are forked, so that they share it.
    lexicon_of("en")
    clock_offset.follow(runtime.db.engine)
    url = redis_url(runtime.settings)
    roles = runtime.settings.worker_roles
    listed = [
        *([Service("sender", partial(_send_webhooks, runtime))] if SENDER in roles else []),
        Service("scheduler", partial(scheduler.run_sweeps, runtime, queues)),
        Service("upkeep", partial(scheduler.run_tasks, runtime, tasks)),
    ]
    if url:
        listed += [
            Service(
                f"{queue.queue} {number}",
                partial(work, queue.queue, url, partial(queue.run, runtime)),
            )
            for queue in queues
            if queue.role in roles
            for number in range(1, runtime.settings.worker_processes + 1)
        ]
    return listed


def run(runtime: Runtime, tasks: Sequence[PeriodicTask], queues: Sequence[JobQueue]) -> None:
    """Keep the worker's processes running until SIGTERM; wait for up-to-date tables first."""
    supervisor = Supervisor()
    supervisor.handle_signals()
    is_logged = False
    while not supervisor.is_stopping and not _tables_are_ready(runtime):
        if not is_logged:
            logger.warning("the tables are not up to date: waiting for `./run db upgrade`")
            is_logged = True
        time.sleep(1)
    if not supervisor.is_stopping:
        # In a child: the client of an object storage has threads, which a fork would lose.
        call_in_child(partial(start_checks.require_usable, runtime))()
        erasures.repeat_erasures(runtime)
        runtime.db.engine.dispose()
        supervisor.start(services(runtime, tasks, queues))
        supervisor.run()


def _send_webhooks(runtime: Runtime) -> None:
    stopping.listen()
    run_sender(runtime, stopping.requested)


def _tables_are_ready(runtime: Runtime) -> bool:
    with runtime.db.reading() as session:
        return is_usable(session)

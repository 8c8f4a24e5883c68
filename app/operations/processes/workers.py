"""Worker processes: the webhook sender, the scheduler with its queue workers, and upkeep."""

import logging
import time
from collections.abc import Sequence
from functools import partial

from app.ai.languages.lexicon import lexicon_of
from app.core import hosts
from app.core.commands import COMMAND
from app.core.database.schema_revision import is_usable
from app.core.process import stopping
from app.core.runtime import Runtime
from app.core.settings import SENDER
from app.operations import start_checks
from app.operations.processes import scheduler
from app.operations.processes.fork import call_in_child
from app.operations.processes.scheduler import PeriodicTask
from app.operations.processes.supervisor import Service, Supervisor
from app.operations.processes.sweep import JobQueue
from app.privacy import jobs as erasures
from app.webhooks.sender.loop import run_sender

logger = logging.getLogger(__name__)


def services(
    runtime: Runtime, tasks: Sequence[PeriodicTask], queues: Sequence[JobQueue]
) -> list[Service]:
    """List the worker's processes; the scheduler starts those that do the jobs."""
    # The usual lexicon is loaded before the workers are forked, so that they share it.
    lexicon_of("en")
    hosts.follow_clock(runtime.db.engine)
    sender = Service("sender", partial(_send_webhooks, runtime))
    return [
        *([sender] if SENDER in runtime.settings.worker_roles else []),
        Service("scheduler", partial(scheduler.run_sweeps, runtime, queues)),
        Service("upkeep", partial(scheduler.run_tasks, runtime, tasks)),
    ]


def run(runtime: Runtime, tasks: Sequence[PeriodicTask], queues: Sequence[JobQueue]) -> None:
    """Keep the worker's processes running until SIGTERM; wait for up-to-date tables first."""
    supervisor = Supervisor()
    supervisor.handle_signals()
    is_logged = False
    while not supervisor.is_stopping and not _tables_are_ready(runtime):
        if not is_logged:
            logger.warning("the tables are not up to date: waiting for `%s db upgrade`", COMMAND)
            is_logged = True
        time.sleep(1)
    if not supervisor.is_stopping:
        # In children: the client of an object storage has threads, which a fork would lose.
        call_in_child(partial(start_checks.require_usable, runtime))()
        call_in_child(partial(erasures.repeat_erasures_at_start, runtime))()
        runtime.db.engine.dispose()
        supervisor.start(services(runtime, tasks, queues))
        supervisor.run()


def _send_webhooks(runtime: Runtime) -> None:
    stopping.listen()
    run_sender(runtime, stopping.requested)


def _tables_are_ready(runtime: Runtime) -> bool:
    with runtime.db.reading() as session:
        return is_usable(session)

"""What is done again and again, and what is swept: one line for each; rooms bring the functions."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.core import heartbeat
from app.core.runtime import Runtime
from app.operations import database_files
from app.operations.sweep import Sweep
from app.usage import meter


@dataclass(frozen=True, slots=True)
class Task:
    """Something short that is done every so many seconds; a failure is logged and tried again."""

    name: str
    every_s: float
    run: Callable[[Runtime], object]


def _purge_partial_uploads(parts: Runtime) -> None:
    parts.storage.purge_partial(older_than_s=86_400)


def _purge_request_state(parts: Runtime) -> None:
    parts.state.purge(time.time())


TASKS: tuple[Task, ...] = (
    Task("heartbeat", 2, lambda parts: heartbeat.beat(parts.settings.data_dir)),
    Task("meter", 5, meter.flush),
    Task("request state", 60, _purge_request_state),
    Task("checkpoint", 60, lambda parts: database_files.checkpoint(parts.settings)),
    Task("partial uploads", 3600, _purge_partial_uploads),
)

SWEEPS: tuple[Sweep, ...] = ()

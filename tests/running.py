"""The service that the running test has started last, its commands, and how its jobs are stopped."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from click.testing import CliRunner, Result
from flask import Flask

from app.core.process import stopping
from app.core.runtime import Runtime
from app.web.current import runtime_of

_started: list[Flask] = []


def note_started(app: Flask) -> None:
    """Remember a service that was started."""
    _started[:] = [app]


def running_runtime() -> Runtime:
    """Return the runtime of the service that was started last."""
    return runtime_of(_started[0])


@contextmanager
def stopped_by_signal() -> Iterator[None]:
    """Let SIGTERM ask the jobs of this process to stop, as it does in a worker."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    stopping.listen()
    try:
        yield
    finally:
        stopping.listen()  # which forgets the request
        for number, handler in handlers.items():
            signal.signal(number, handler)


class CommandRunner(CliRunner):
    """Runs commands within the service that was started last."""

    def invoke(self, *args: Any, **kwargs: Any) -> Result:
        with _started[0].app_context():
            return super().invoke(*args, **kwargs)

"""The service that the running test has started last, and its commands."""

from typing import Any

from click.testing import CliRunner, Result
from flask import Flask

from app.core.runtime import Runtime
from app.web.current import runtime_of

_started: list[Flask] = []


def note_started(app: Flask) -> None:
    """Remember a service that was started."""
    _started[:] = [app]


def running_runtime() -> Runtime:
    """Return the runtime of the service that was started last."""
    return runtime_of(_started[0])


class CommandRunner(CliRunner):
    """Runs commands within the service that was started last."""

    def invoke(self, *args: Any, **kwargs: Any) -> Result:
        with _started[0].app_context():
            return super().invoke(*args, **kwargs)

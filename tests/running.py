"""The runtime of the service that the running test has started last."""

from app.core.runtime import Runtime

_started: list[Runtime] = []


def note_started(runtime: Runtime) -> None:
    """Remember the runtime of a service that was started."""
    _started[:] = [runtime]


def running_runtime() -> Runtime:
    """Return the runtime of the service that was started last."""
    return _started[0]

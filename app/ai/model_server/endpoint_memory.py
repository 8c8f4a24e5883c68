"""Memory of the endpoint, shared by workers: whether it is down, and what it refuses.

It is one small file in the data folder, since most processes of the worker live for one job. When
two write at once the later one wins: a lost count costs a request, never a result.
"""

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

import orjson

logger = logging.getLogger(__name__)

FAILURES_TO_OPEN = 5
OPEN_S = 30.0
# The next version of a server may accept what this one refuses.
_REFUSALS_HOLD_S = 3600.0


@dataclass(frozen=True, slots=True)
class _State:
    endpoint: str
    failures: int = 0
    open_until: float = 0.0
    form: int = 0
    without: tuple[str, ...] = ()
    refusals_until: float = 0.0


class EndpointMemory:
    """A circuit breaker, and the answer forms and request members that the endpoint refuses."""

    def __init__(self, file: Path, endpoint: str, *, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self._endpoint = hashlib.sha256(endpoint.encode()).hexdigest()
        self._now = now
        self._lock = threading.Lock()

    def may_call(self, trial_s: float) -> bool:
        """Tell whether a request may be sent: the circuit is closed, or one caller tests it.

        Args:
            trial_s: how long the others wait for the one that tries.
        """
        with self._lock:
            state = self._read()
            if state.failures < FAILURES_TO_OPEN:
                return True
            if self._now() < state.open_until:
                return False
            self._write(replace(state, open_until=self._now() + trial_s))
            return True

    def is_open(self) -> bool:
        """Tell whether the circuit is open, so that no request may be sent."""
        with self._lock:
            state = self._read()
        return state.failures >= FAILURES_TO_OPEN and self._now() < state.open_until

    def succeeded(self) -> None:
        """Close the circuit."""
        with self._lock:
            state = self._read()
            if state.failures:
                self._write(replace(state, failures=0, open_until=0.0))

    def failed(self) -> None:
        """Count a failure; the fifth in a row opens the circuit for half a minute."""
        with self._lock:
            state = self._read()
            failures = state.failures + 1
            open_until = self._now() + OPEN_S if failures >= FAILURES_TO_OPEN else 0.0
            self._write(replace(state, failures=failures, open_until=open_until))

    @property
    def form(self) -> int:
        """The step of the ladder of answer forms that the endpoint takes."""
        return self._refusals().form

    @property
    def without(self) -> tuple[str, ...]:
        """The members of a request that the endpoint refuses."""
        return self._refusals().without

    def refused(self, *, form: int | None = None, member: str | None = None) -> None:
        """Remember a refused answer form or member for an hour."""
        with self._lock:
            state = self._read()
            current = (
                state if self._now() < state.refusals_until else replace(state, form=0, without=())
            )
            self._write(
                replace(
                    current,
                    form=current.form if form is None else form,
                    without=current.without if member is None else (*current.without, member),
                    refusals_until=self._now() + _REFUSALS_HOLD_S,
                )
            )

    def _refusals(self) -> _State:
        with self._lock:
            state = self._read()
        return state if self._now() < state.refusals_until else _State(self._endpoint)

    def _read(self) -> _State:
        try:
            document = orjson.loads(self._file.read_bytes())
            state = _State(**{field.name: document[field.name] for field in fields(_State)})
        except (OSError, ValueError, KeyError, TypeError):
            return _State(self._endpoint)
        if state.endpoint != self._endpoint:
            return _State(self._endpoint)
        return replace(state, without=tuple(state.without))

    def _write(self, state: _State) -> None:
        temporary = self._file.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        try:
            temporary.write_bytes(orjson.dumps(asdict(state)))
            temporary.replace(self._file)
        except OSError as error:
            logger.warning("the state of an endpoint was not stored: %s", error)
            with suppress(OSError):
                temporary.unlink()

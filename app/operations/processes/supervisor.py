"""Supervisor: starts child processes in order, restarts those that end, copies their output."""

import logging
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from app.operations.processes.fork import fork, reap, signal_group, signal_process

logger = logging.getLogger(__name__)

_FIRST_DELAY_S = 0.5
_MAX_DELAY_S = 10.0
_HEALTHY_AFTER_S = 30.0
_STEP_BYTES = 4096
_MAX_PENDING_BYTES = 1 << 20
_CLOSE_WITHIN_S = 1.0
_STDERR = 2
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Service:
    """A child process that is kept running.

    Attributes:
        tier: services start from the lowest tier to the highest, and stop from the highest down.
        stop_within_s: how long it may take to stop before it is killed.
        once: it is not restarted after it has ended with exit code 0.
    """

    name: str
    run: Callable[[], None]
    tier: int = 1
    stop_within_s: float = 25.0
    once: bool = False


@dataclass(slots=True)
class _Child:
    service: Service
    pid: int = 0  # 0 while it is not running
    started_at: float = 0.0
    failures: int = 0
    due_at: float = 0.0


class OutputPump:
    """Replaces standard error with a pipe, and copies from the pipe to the former standard error.

    While the output is not read, lines are dropped. Otherwise a reader that stops reading would fill the
    pipe and block the whole service at its next line.
    """

    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()
        os.set_blocking(self.read_end, False)
        sys.stderr.flush()
        self._target = os.dup(_STDERR)
        os.dup2(self.write_end, _STDERR)
        self._pending = bytearray()
        self._dropped_lines = 0

    @property
    def private(self) -> tuple[int, int]:
        """The file descriptors that children do not need."""
        return self.read_end, self._target

    def copy(self) -> None:
        """Read what is in the pipe, and write as much as the reader takes."""
        with suppress(BlockingIOError):
            while chunk := os.read(self.read_end, 65536):
                self._pending += chunk
                if len(chunk) < 65536:
                    break
        self._write()
        if len(self._pending) > _MAX_PENDING_BYTES:
            self._drop()

    def close(self) -> None:
        """Write the rest, within a second, and restore standard error."""
        sys.stderr.flush()
        self.copy()
        until = time.monotonic() + _CLOSE_WITHIN_S
        while self._pending and time.monotonic() < until:
            select.select([], [self._target], [], 0.1)
            self._write()
        os.dup2(self._target, _STDERR)
        for descriptor in (self.read_end, self.write_end, self._target):
            os.close(descriptor)

    def _write(self) -> None:
        # A pipe that select reports as writable takes this many bytes without blocking.
        while self._pending and select.select([], [self._target], [], 0)[1]:
            try:
                written = os.write(self._target, self._pending[:_STEP_BYTES])
            except OSError:
                # The reader has gone; the service continues without one.
                self._pending.clear()
                return
            del self._pending[:written]
        if self._dropped_lines and not self._pending:
            message = (
                f"({self._dropped_lines} log lines were dropped, because the output was not read)\n"
            )
            self._pending += message.encode()
            self._dropped_lines = 0

    def _drop(self) -> None:
        end = self._pending.rfind(b"\n", 0, len(self._pending) // 2) + 1
        self._dropped_lines += self._pending.count(b"\n", 0, end)
        del self._pending[:end]


class Supervisor:
    """Keeps services running until it is told to stop; single-threaded, because it forks."""

    def __init__(self, output: OutputPump | None = None) -> None:
        self._output = output
        self._children: list[_Child] = []
        self._stop_signals = 0
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)

    @property
    def is_stopping(self) -> bool:
        """Return whether SIGTERM, SIGINT or SIGHUP has arrived."""
        return self._stop_signals > 0

    def handle_signals(self) -> None:
        """Handle the signals that stop this process, and those of children that end."""
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in _STOP_SIGNALS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self._on_stop_signal)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def start(self, services: Sequence[Service]) -> None:
        """Start services and keep them running from now on."""
        for service in sorted(services, key=lambda service: service.tier):
            child = _Child(service)
            self._children.append(child)
            self._start(child)

    def remove(self, name: str) -> None:
        """Kill a service and do not restart it."""
        child = next(child for child in self._children if child.service.name == name)
        self._children.remove(child)
        if child.pid:
            signal_group(child.pid, signal.SIGKILL)
            os.waitpid(child.pid, 0)

    def is_running(self, name: str) -> bool:
        """Return whether this service has a living process."""
        return any(child.pid for child in self._children if child.service.name == name)

    def wait(self, timeout_s: float) -> None:
        """Wait for a signal, for output or for the timeout, then restart what is due."""
        self._sleep(timeout_s)
        self._reap()
        now = time.monotonic()
        for child in self._children:
            if not child.pid and now >= child.due_at and not self.is_stopping:
                self._start(child)

    def tick(self) -> None:
        """Wait for the next event and handle it."""
        now = time.monotonic()
        delays = [child.due_at - now for child in self._children if not child.pid]
        self.wait(max(0.0, min([*delays, 5.0])))

    def run(self) -> None:
        """Keep the services running until a signal asks to stop, then stop them."""
        while not self.is_stopping:
            self.tick()
        self.stop()

    def stop(self) -> None:
        """Stop the services, the highest tier first; a second signal kills them."""
        for tier in sorted({child.service.tier for child in self._children}, reverse=True):
            self._stop_tier([child for child in self._children if child.service.tier == tier])
        signal.set_wakeup_fd(-1)

    def _stop_tier(self, children: list[_Child]) -> None:
        began_at = time.monotonic()
        killed: set[int] = set()
        for child in children:
            if child.pid:
                signal_process(child.pid, signal.SIGTERM)
        while running := [child for child in children if child.pid]:
            waited_s = time.monotonic() - began_at
            is_urgent = self._stop_signals > 1
            for child in running:
                is_late = waited_s > child.service.stop_within_s
                if (is_urgent or is_late) and child.pid not in killed:
                    killed.add(child.pid)
                    signal_group(child.pid, signal.SIGKILL)
                    if not is_urgent:
                        logger.warning("%s did not stop in time and is killed", child.service.name)
            self._sleep(0.1)
            self._reap(quietly=True)

    def _start(self, child: _Child) -> None:
        private = [self._wake_read, self._wake_write]
        output = None
        if self._output is not None:
            private += self._output.private
            output = self._output.write_end
        name = f"cqe: {child.service.name}"
        child.pid = fork(child.service.run, name=name, output=output, private=private)
        child.started_at = time.monotonic()

    def _reap(self, *, quietly: bool = False) -> None:
        for child in list(self._children):
            code = reap(child.pid) if child.pid else None
            if code is None:
                continue
            # What its group left running would hold the port, the files and the rows.
            signal_group(child.pid, signal.SIGKILL)
            child.pid = 0
            if child.service.once and code == 0:
                self._children.remove(child)
                continue
            was_healthy = time.monotonic() - child.started_at > _HEALTHY_AFTER_S
            child.failures = 1 if was_healthy else child.failures + 1
            delay_s = min(_MAX_DELAY_S, _FIRST_DELAY_S * 2 ** (child.failures - 1))
            child.due_at = time.monotonic() + delay_s
            if not quietly and not self.is_stopping:
                name = child.service.name
                logger.warning("%s ended (%s) and restarts in %.1f s", name, code, delay_s)

    def _sleep(self, timeout_s: float) -> None:
        sources = [self._wake_read]
        if self._output is not None:
            sources.append(self._output.read_end)
        ready, _, _ = select.select(sources, [], [], timeout_s)
        if self._wake_read in ready:
            os.read(self._wake_read, 1024)
        if self._output is not None:
            self._output.copy()

    def _on_stop_signal(self, *_: object) -> None:
        self._stop_signals += 1

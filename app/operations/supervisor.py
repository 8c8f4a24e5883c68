"""The parent: starts children in order, starts a dead one again, ends all in reverse order."""

import logging
import os
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass

from app.operations.children import Service, fork, reap, signal_group, signal_process
from app.operations.output import OutputPump

logger = logging.getLogger(__name__)

_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 10.0
_HEALTHY_AFTER_S = 30.0
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(slots=True)
class _Kept:
    service: Service
    pid: int = 0
    started_at: float = 0.0
    failures: int = 0
    due_at: float = 0.0


class Supervisor:
    """Keeps services alive until it is told to stop; single-threaded, because it forks."""

    def __init__(self, output: OutputPump | None = None) -> None:
        self._output = output
        self._kept: list[_Kept] = []
        self._stops_asked = 0
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)

    @property
    def stop_asked(self) -> bool:
        """Whether SIGTERM, SIGINT or SIGHUP came."""
        return self._stops_asked > 0

    def listen(self) -> None:
        """Take the signals that end us, and those of ended children."""
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        for number in _STOPS:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup
                signal.signal(number, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def start(self, services: Sequence[Service]) -> None:
        """Start services and keep them from now on."""
        for service in sorted(services, key=lambda each: each.tier):
            kept = _Kept(service)
            self._kept.append(kept)
            self._start(kept)

    def forget(self, name: str) -> int | None:
        """Keep a service no longer; return its exit code if it has ended, after killing it."""
        kept = next(each for each in self._kept if each.service.name == name)
        self._kept.remove(kept)
        if not kept.pid:
            return None
        signal_group(kept.pid, signal.SIGKILL)
        _, status = os.waitpid(kept.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def is_running(self, name: str) -> bool:
        """Whether this service has a living process now."""
        return any(each.pid for each in self._kept if each.service.name == name)

    def wait(self, timeout_s: float) -> None:
        """Wait for a signal, output or the time; bury the dead and start them again when due."""
        self._sleep(timeout_s)
        self._bury()
        now = time.monotonic()
        for kept in self._kept:
            if not kept.pid and now >= kept.due_at and not self.stop_asked:
                self._start(kept)

    def turn(self) -> None:
        """Wait for the next thing that happens, and deal with it."""
        now = time.monotonic()
        waits = [each.due_at - now for each in self._kept if not each.pid]
        self.wait(max(0.0, min([*waits, 5.0])))

    def run(self) -> None:
        """Keep the services until a stop is asked for, then end them."""
        while not self.stop_asked:
            self.turn()
        self.stop()

    def stop(self) -> None:
        """End the services, the highest tier first; a second signal ends them at once."""
        for tier in sorted({each.service.tier for each in self._kept}, reverse=True):
            self._stop_tier([each for each in self._kept if each.service.tier == tier])
        signal.set_wakeup_fd(-1)

    def _stop_tier(self, group: list[_Kept]) -> None:
        begun_at = time.monotonic()
        asked_before = self._stops_asked
        for kept in group:
            if kept.pid:
                signal_process(kept.pid, signal.SIGTERM)
        while any(kept.pid for kept in group):
            self._sleep(0.1)
            self._bury(quietly=True)
            took = time.monotonic() - begun_at
            hurry = self._stops_asked > max(1, asked_before)
            for kept in group:
                if kept.pid and (hurry or took > kept.service.stop_within_s):
                    logger.warning("%s did not end in time and is killed", kept.service.name)
                    signal_group(kept.pid, signal.SIGKILL)

    def _start(self, kept: _Kept) -> None:
        private = [self._wake_read, self._wake_write]
        output = None
        if self._output is not None:
            private += self._output.private
            output = self._output.write_end
        name = f"cqe: {kept.service.name}"
        kept.pid = fork(kept.service.run, name=name, output=output, private=private)
        kept.started_at = time.monotonic()

    def _bury(self, *, quietly: bool = False) -> None:
        for kept in list(self._kept):
            code = reap(kept.pid) if kept.pid else None
            if code is None:
                continue
            # What the dead one left behind would hold its port, its files and its rows.
            signal_group(kept.pid, signal.SIGKILL)
            lived_s = time.monotonic() - kept.started_at
            kept.pid = 0
            if kept.service.once and code == 0:
                self._kept.remove(kept)
                continue
            kept.failures = 1 if lived_s > _HEALTHY_AFTER_S else kept.failures + 1
            wait_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (kept.failures - 1))
            kept.due_at = time.monotonic() + wait_s
            if not quietly and not self.stop_asked:
                logger.warning(
                    "%s ended (%s) and starts again in %.1f s", kept.service.name, code, wait_s
                )

    def _sleep(self, timeout_s: float) -> None:
        sources = [self._wake_read]
        if self._output is not None:
            sources.append(self._output.read_end)
        ready, _, _ = select.select(sources, [], [], timeout_s)
        if self._wake_read in ready:
            os.read(self._wake_read, 1024)
        if self._output is not None:
            self._output.copy()

    def _on_stop(self, *_: object) -> None:
        self._stops_asked += 1

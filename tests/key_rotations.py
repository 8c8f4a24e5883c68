"""Events that flow while processes are killed: from this process, or over a web server."""

import threading
import time
from types import TracebackType
from typing import Self

import requests

from app.api_keys import service as api_keys
from app.core.runtime import Runtime
from tests.caller import Caller

CLIENTS = 4


class KeyRotations:
    """Callers that rotate API keys over HTTP; `acknowledged` lists what was answered 200.

    An acknowledged rotation is known by its key and its moment: its event has both.
    """

    def __init__(self, runtime: Runtime, base: str, number: int) -> None:
        self.acknowledged: list[tuple[str, str]] = []
        self.failures = 0
        self._left = number
        self._lock = threading.Lock()
        with runtime.db.writing() as session:
            issued = [
                api_keys.create_key(session, runtime.keyring, name=f"caller {number}", scopes=["*"])
                for number in range(CLIENTS)
            ]
            targets = [
                api_keys.create_key(session, runtime.keyring, name=f"target {number}", scopes=["*"])
                for number in range(CLIENTS)
            ]
        self._threads = [
            threading.Thread(
                target=self._rotate,
                args=(Caller(base, caller.pair.api_key, caller.pair.secret), target.key.id),
            )
            for caller, target in zip(issued, targets, strict=True)
        ]

    @property
    def running(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._left = self._left if error is None else 0
        for thread in self._threads:
            thread.join()

    def _rotate(self, caller: Caller, key_id: str) -> None:
        while self._take():
            try:
                answer = caller.post(f"/api-keys/{key_id}/rotate", {"gracePeriodSeconds": 0})
            except requests.RequestException:
                self._count_failure()
                time.sleep(0.02)
                continue
            if answer.status_code == 200:
                self.acknowledged.append((key_id, answer.json()["data"]["rotatedAt"]))
            else:
                self._count_failure()
        caller.close()

    def _take(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left >= 0

    def _count_failure(self) -> None:
        with self._lock:
            self.failures += 1


def moment_of(event: dict[str, object]) -> tuple[str, str]:
    """Return the key and the moment of an `api-key.rotated`."""
    data = event["data"]
    assert isinstance(data, dict)
    return str(data["key_id"]), str(data["rotated_at"])

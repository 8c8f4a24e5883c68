"""Renews a lease from a thread of its own while a job runs."""

import logging
import threading
from collections.abc import Callable
from typing import Self

from app.core.errors import AppError

logger = logging.getLogger(__name__)


class LeaseRenewal:
    """Renews the lease every few seconds inside its `with` block; `lost` says that it is gone."""

    def __init__(self, renew: Callable[[], bool], every_s: float) -> None:
        self._renew = renew
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease renewal", daemon=True)
        self.lost = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self.lost and not self._ended.wait(self._every_s):
            try:
                self.lost = not self._renew()
            except AppError as error:
                # The lease outlasts a few renewals that the database was too busy for.
                logger.warning("the lease was not renewed: %s", error)
            except Exception:
                # If this thread ended, another worker would start the same job.
                logger.exception("the lease was not renewed")

"""Keeps a lease alive from a thread of its own while the work goes on."""

import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from app.core.errors import AppError

logger = logging.getLogger(__name__)


class LeaseKeeper:
    """Renews every few seconds inside its `with` block; `lost` says that the lease is gone."""

    def __init__(self, renew: Callable[[], bool], every_s: float) -> None:
        self._renew = renew
        self._every_s = every_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lease keeper", daemon=True)
        self.lost = False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _keep(self) -> None:
        while not self.lost and not self._ended.wait(self._every_s):
            try:
                self.lost = not self._renew()
            except AppError as error:
                # The lease outlasts a few renewals that the database was too busy for.
                logger.warning("a lease was not renewed: %s", error)
            except Exception:
                # Without its keeper the work would be done a second time beside this one.
                logger.exception("a lease was not renewed")

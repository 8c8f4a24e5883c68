"""Locks of write transactions: one for all writers of SQLite, named ones in PostgreSQL."""

import fcntl
import hashlib
import os
import threading
import weakref

from sqlalchemy import text
from sqlalchemy.orm import Session


class WriteLock:
    """A lock between threads and processes, in a file next to the database; a kill frees it.

    SQLite has one writer at a time anyway. Its own waiting polls, so that some writer waits for
    seconds under load; here the next writer wakes as soon as the last one has ended.
    """

    def __init__(self, database_file: str | None) -> None:
        self._path = f"{database_file}.lock"
        self._handles = threading.local()
        reference = weakref.ref(self)

        def forget_handles() -> None:
            alive = reference()
            if alive is not None:
                # Through an inherited handle, a forked child would share its parent's lock.
                alive._handles = threading.local()

        os.register_at_fork(after_in_child=forget_handles)

    def __enter__(self) -> None:
        handle = getattr(self._handles, "handle", None)
        if handle is None:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._handles.handle = handle
        fcntl.flock(handle, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._handles.handle, fcntl.LOCK_UN)


_LOCK_NAMES = text(
    "SELECT pg_advisory_xact_lock(number) FROM unnest(CAST(:numbers AS bigint[])) AS number"
)


def one_at_a_time(session: Session, *names: str) -> None:
    """Hold these names until the transaction ends; SQLite has a single writer and needs no lock.

    They are locked in one order: transactions that ask once cannot wait for each other in a circle.
    """
    if session.get_bind().dialect.name == "postgresql":
        session.execute(_LOCK_NAMES, {"numbers": sorted({_number_of(name) for name in names})})


def _number_of(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)

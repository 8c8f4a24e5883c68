"""Locks of write transactions: one for all writers of SQLite, named ones in PostgreSQL."""

import fcntl
import hashlib
import os
import threading
import weakref

from sqlalchemy import text
from sqlalchemy.orm import Session


class _LockFile:
    """An open lock file; it closes when the thread that opened it ends."""

    def __init__(self, path: str) -> None:
        self.handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def __del__(self) -> None:
        # In a forked child, this closes its copy: the parent keeps its lock.
        if hasattr(self, "handle"):
            os.close(self.handle)


class WriteLock:
    """A lock between threads and processes, in a file beside the database; a kill frees it.

    SQLite has one writer at a time anyway. Its own waiting polls, so that some writer waits for
    seconds under load; here the next writer wakes as soon as the last one has ended.
    """

    def __init__(self, database_file: str | None) -> None:
        self._path = f"{database_file}.lock"
        self._of_thread = threading.local()
        reference = weakref.ref(self)

        def forget_files() -> None:
            alive = reference()
            if alive is not None:
                # Through an inherited handle, a forked child would share its parent's lock.
                alive._of_thread = threading.local()

        os.register_at_fork(after_in_child=forget_files)

    def __enter__(self) -> None:
        file = getattr(self._of_thread, "file", None)
        if file is None:
            file = self._of_thread.file = _LockFile(self._path)
        fcntl.flock(file.handle, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self._of_thread.file.handle, fcntl.LOCK_UN)


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

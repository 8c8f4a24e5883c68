"""File lock for SQLite writers: it queues them, where SQLite's busy handler only polls."""

import fcntl
import os
import threading
import weakref


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

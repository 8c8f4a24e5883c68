"""Taking turns to write to SQLite: a file lock queues writers where its busy handler only polls."""

import fcntl
import os
import threading
import weakref


class WriteLock:
    """A lock over threads and processes beside a database file; the kernel frees it on a kill.

    SQLite takes one writer at a time anyway. Its own waiting sleeps and asks again, so that under
    load some writer waits for seconds; here writers wake as soon as the one before has ended.
    """

    def __init__(self, database_file: str | None) -> None:
        self._path = f"{database_file}.lock"
        self._handles = threading.local()
        reference = weakref.ref(self)

        def forget_handles() -> None:
            alive = reference()
            if alive is not None:
                # A forked child would share its parent's lock through an inherited handle.
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

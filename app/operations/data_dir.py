"""Data folder: its permissions, and the locks that keep two services from sharing it."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from app.operations.failure import CannotRun

_UP = "up.lock"
_IN_USE = "in-use.lock"
_CHILDREN_END_WITHIN_S = 35


def prepare(data_dir: Path) -> None:
    """Create the folder so that only its owner can read it, as all files of this process from now on.

    Raises:
        CannotRun: it cannot be created or written to.
    """
    os.umask(0o077)
    try:
        data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = data_dir / f".probe-{os.getpid()}"
        probe.touch(mode=0o600)
        probe.unlink()
    except OSError as error:
        raise CannotRun(
            f"cannot write to {data_dir}: {error.strerror}. "
            "Give the folder to the user of the service, or set another CQE_DATA_DIR"
        ) from error
    with suppress(PermissionError):
        data_dir.chmod(0o700)


def lock_exclusively(data_dir: Path) -> int:
    """Lock the folder for one `up`; return the file descriptor.

    Forked children keep it open, so that the lock ends with the last of them. The children of an `up`
    that was killed end within 30 seconds; they are waited for.

    Raises:
        CannotRun: another `up` runs; the text names its process.
    """
    descriptor = _open(data_dir / _UP)
    until = time.monotonic() + _CHILDREN_END_WITHIN_S
    is_printed = False
    while not _locked(descriptor, fcntl.LOCK_EX):
        owner = _owner(descriptor)
        if (owner and _is_alive(owner)) or time.monotonic() > until:
            raise CannotRun(
                f"already running: process {owner or 'unknown'} uses {data_dir}. "
                "Stop it, or give another --data-dir"
            )
        if not is_printed:
            click.echo(f"Waiting for the children of the killed process {owner} to end …", err=True)
            is_printed = True
        time.sleep(0.2)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def lock_shared(data_dir: Path) -> None:
    """Mark the folder as in use, until this process and its children end."""
    fcntl.flock(_open(data_dir / _IN_USE), fcntl.LOCK_SH)


@contextmanager
def unused(data_dir: Path) -> Iterator[None]:
    """Keep services from starting in the folder while the block runs.

    Raises:
        CannotRun: a service uses it.
    """
    descriptor = _open(data_dir / _IN_USE)
    try:
        if not _locked(descriptor, fcntl.LOCK_EX):
            raise CannotRun(f"a running service uses {data_dir}: stop it first")
        yield
    finally:
        os.close(descriptor)


def _open(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _locked(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(descriptor: int) -> int:
    text = os.pread(descriptor, 20, 0).decode().strip()
    return int(text) if text.isdecimal() else 0


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True

"""The data folder: made private, run by one `up` at a time, restored only while nobody uses it."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

import click

from app.operations.failure import CannotRun

_UP = "up.lock"
_IN_USE = "in-use.lock"


def prepare(data_dir: Path) -> None:
    """Make the folder for its owner alone, and from now on every file of this process as well.

    Raises:
        CannotRun: it cannot be made or written to.
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


def hold_alone(data_dir: Path, *, patience_s: float = 35) -> int:
    """Take the folder for one `up`; return the handle, which forked children keep open too.

    So the lock ends with the last process of a start. What a killed start left behind is waited
    for: it ends within 30 seconds.

    Raises:
        CannotRun: another start runs; the text names its process.
    """
    handle = _open(data_dir / _UP)
    until = time.monotonic() + patience_s
    told = False
    while not _locked(handle, fcntl.LOCK_EX):
        owner = _owner(handle)
        if _is_alive(owner) or time.monotonic() > until:
            raise CannotRun(
                f"already running: process {owner or 'unknown'} uses {data_dir}. "
                "Stop it, or give another --data-dir"
            )
        if not told:
            click.echo(f"Waiting for what the killed process {owner} left running …", err=True)
            told = True
        time.sleep(0.2)
    os.ftruncate(handle, 0)
    os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
    return handle


def hold_shared(data_dir: Path) -> int:
    """Say that a web server or a worker uses the folder, until this process and its children end."""
    handle = _open(data_dir / _IN_USE)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


def require_unused(data_dir: Path) -> int:
    """Keep services off the folder while the returned handle is open.

    Raises:
        CannotRun: a service uses it.
    """
    handle = _open(data_dir / _IN_USE)
    if not _locked(handle, fcntl.LOCK_EX):
        raise CannotRun(f"a running service uses {data_dir}: stop it first")
    return handle


def _open(file: Path) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _locked(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(handle: int) -> int:
    text = os.pread(handle, 20, 0).decode().strip()
    return int(text) if text.isdecimal() else 0


def _is_alive(pid: int) -> bool:
    if not pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

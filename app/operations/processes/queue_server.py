"""Embedded queue server, which runs when none is configured."""

import os
import shutil
import signal
import stat
import sys
import time
from pathlib import Path
from typing import NoReturn

from app.core.process import stopping
from app.operations.failure import CannotRun
from app.system.queue_choice import socket_path


def prepare(data_dir: Path) -> None:
    """Make the folders of the server, which only their owner may read.

    Raises:
        CannotRun: another user owns the folder of the socket.
    """
    for folder in (data_dir / "queue", socket_path(data_dir).parent):
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
            raise CannotRun(f"{folder} belongs to another user: remove it")
        folder.chmod(0o700)
    socket_path(data_dir).unlink(missing_ok=True)
    # Release 0.1.0 stored the queue here; the server would read it, and another version may refuse it.
    shutil.rmtree(data_dir / "queue" / "appendonlydir", ignore_errors=True)


def command(program: str, data_dir: Path) -> list[str]:
    """Return the command line of the embedded server: a private socket, no port, its own log file."""
    folder = data_dir / "queue"
    options = {
        "port": "0",
        "unixsocket": str(socket_path(data_dir)),
        "unixsocketperm": "700",
        "dir": str(folder),
        "logfile": str(folder / "queue.log"),
        # What waits is in the database: nothing is lost with this memory.
        "appendonly": "no",
        "save": "",
        "daemonize": "no",
        "loglevel": "warning",
    }
    return [program, *(part for name, value in options.items() for part in (f"--{name}", value))]


def serve(program: str, data_dir: Path, lock_handle: int) -> None:
    """Replace this process by the queue server."""
    # A server that outlives a killed `up` for a moment still uses the folder, so it keeps the lock.
    os.set_inheritable(lock_handle, True)
    _truncate_log(data_dir / "queue" / "queue.log")
    if sys.platform != "linux":
        _run_below(command(program, data_dir))
    os.execv(program, command(program, data_dir))  # noqa: S606 - chosen above, no shell


def _truncate_log(log: Path) -> None:
    if log.is_file() and log.stat().st_size > 1 << 20:
        log.unlink()


def _run_below(server: list[str]) -> NoReturn:
    """Run the server as a child: on this system only a Python process notices its parent's death."""
    child = os.fork()
    if child == 0:
        os.execv(server[0], server)  # noqa: S606
    stopping.listen()
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if stopping.requested():
            os.kill(child, signal.SIGTERM)
        time.sleep(0.5)
    sys.exit(0)

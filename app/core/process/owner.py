"""Identity of a process, and whether it still runs; a pid alone may be reused."""

import hashlib
import os
import socket
from functools import cache
from pathlib import Path

_host_id = ""


def this_process() -> str:
    """Return the unique name of this process, `host:pid:start`."""
    return f"{this_host()}:{os.getpid()}:{_started_at(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Return whether the owner is a process of this host that has ended; False when unknown."""
    host, pid, started_at = owner.rsplit(":", 2)
    return host == this_host() and _started_at(int(pid)) != started_at


def is_alive(owner: str) -> bool:
    """Return whether the owner is a process of this host that runs."""
    host, pid, started_at = owner.rsplit(":", 2)
    return host == this_host() and _started_at(int(pid)) == started_at


def set_host_id(host_id: str) -> None:
    """Name this host from now on; by default it is called as the machine is."""
    global _host_id
    _host_id = host_id
    this_host.cache_clear()


def host_name() -> str:
    return _host_id or socket.gethostname()


@cache
def this_host() -> str:
    """Identify the machine since its boot, and the container: each has processes of its own."""
    parts = [socket.gethostname(), _host_id]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        pass  # not Linux: the host name has to do
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _started_at(pid: int) -> str:
    """Return the start of a process in kernel ticks; empty without such a process."""
    try:
        # The program's name, in brackets, may contain anything; the start is the 20th field after it.
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if after_name[0] in "ZX" else after_name[19]
    except (FileNotFoundError, ProcessLookupError):  # also when it ends between opening and reading
        if Path("/proc/self/stat").exists():
            return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "?"

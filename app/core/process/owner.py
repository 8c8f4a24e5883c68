"""Which process holds a lease, and whether it still lives; its pid alone would be reused."""

import hashlib
import os
import socket
from pathlib import Path


def this_process() -> str:
    """Name this process as `host:pid:start`, unlike any before or after it."""
    return f"{_host()}:{os.getpid()}:{_started_at(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Whether the owner is a process of this host that has ended; False when it cannot be told."""
    host, pid, started_at = owner.rsplit(":", 2)
    return host == _host() and _started_at(int(pid)) != started_at


def is_alive(owner: str) -> bool:
    """Whether the owner is a process of this host that runs."""
    host, pid, started_at = owner.rsplit(":", 2)
    return host == _host() and _started_at(int(pid)) == started_at


def _host() -> str:
    """Name the machine since its start, and the container: another one has other processes."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        pass  # not Linux: there the name alone has to do
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _started_at(pid: int) -> str:
    """Return when a process was started, in the kernel's ticks; empty when there is none."""
    try:
        # The name of the program, in brackets, may hold anything; the 20th field behind it counts.
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

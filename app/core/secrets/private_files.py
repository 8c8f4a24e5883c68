"""Files that only their owner can access, and that are synced to the disk."""

import os
import stat
from pathlib import Path


def write_private_file(file: Path, text: str) -> None:
    """Write a new file for its owner alone, and sync it to the disk.

    Raises:
        FileExistsError: there is such a file; it stays as it is.
    """
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())


def append_private_file(file: Path, text: str) -> None:
    """Add to a file for its owner alone, and sync it to the disk; creates the file.

    Raises:
        OSError: the name is a link.
    """
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "a") as out:
        os.fchmod(handle, 0o600)
        out.write(text)
        out.flush()
        os.fsync(handle)


def is_private(status: os.stat_result) -> bool:
    """Return whether neither the group nor other users have any access."""
    return stat.S_IMODE(status.st_mode) & 0o077 == 0


def sync(path: Path) -> None:
    """Sync a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

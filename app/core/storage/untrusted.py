"""Files in folders that others write to: regular, inside of the folder, and behind no link."""

import errno
import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

# Without O_NONBLOCK, opening a FIFO waits until another process writes to it.
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_NO_LINK = _READ | os.O_NOFOLLOW
_IS_LINK = (errno.ELOOP, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class UntrustedFolder:
    """A folder where others put files, and may replace them at any time.

    Its own path is trusted, and may have links. Below it, links are refused, because they may lead
    to any file of this host, unless `follow_links` is set.
    """

    path: Path
    follow_links: bool = False

    def open(self, file: Path) -> BufferedReader:
        """Open a regular file of the folder to read it; never waits, whatever the name stands for.

        Raises:
            OSError: there is no such file; it is not a regular one; or it is a link, or behind one.
        """
        descriptor = os.open(file, _READ) if self.follow_links else self._open_inside(file)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is not a regular file", str(file))
        return os.fdopen(descriptor, "rb")

    def _open_inside(self, file: Path) -> int:
        *folders, name = file.relative_to(self.path).parts
        if ".." in folders or name == "..":
            raise OSError(errno.EINVAL, "it is outside of the folder", str(file))
        with ExitStack() as opened:
            place = os.open(self.path, _READ | os.O_DIRECTORY)
            opened.callback(os.close, place)
            try:
                for folder in folders:
                    place = os.open(folder, _NO_LINK | os.O_DIRECTORY, dir_fd=place)
                    opened.callback(os.close, place)
                return os.open(name, _NO_LINK, dir_fd=place)
            except OSError as error:
                if error.errno not in _IS_LINK:
                    raise
                message = "it is a symbolic link, or behind one"
                raise OSError(errno.ELOOP, message, str(file)) from error

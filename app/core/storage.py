"""Storage of recordings and exports: each object is written once and synced before it counts."""

import hashlib
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from app.core.errors import ServiceUnavailable
from app.core.private_files import sync
from app.core.settings import Settings

_STEP_BYTES = 256 * 1024


class ObjectExists(Exception):
    """The object exists already, and an object is written only once."""


class UploadIncomplete(Exception):
    """The upload ended early, or its bytes differ from the announced digest."""


class DiskFull(ServiceUnavailable):
    """Too little disk space is free; jobs that need space are delayed, not failed."""

    message = "This service has too little disk space left to store this."

    def __init__(self) -> None:
        super().__init__(retry_after_s=60)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Size and SHA-256 in hex of a stored object."""

    size_bytes: int
    sha256: str


class Storage(Protocol):
    """Interface of a storage; objects are named by ids of this service only."""

    def write(
        self, object_id: str, source: IO[bytes], *, size_bytes: int, sha256: str = ""
    ) -> StoredObject:
        """Store exactly `size_bytes` from the source, once.

        Raises:
            ObjectExists: the object was stored before.
            UploadIncomplete: the source ended early, or its hash differs from `sha256`.
            DiskFull: too little disk space is free.
        """
        ...

    def path(self, object_id: str) -> Path | None:
        """Return a local file with the object's bytes, or None where there is none."""
        ...

    def delete(self, object_id: str) -> None:
        """Remove the object; nothing happens when it is not there."""
        ...


class LocalStorage:
    """A folder of files: written to a temporary file, synced, then linked to the final name."""

    def __init__(self, root: Path, min_free_bytes: int) -> None:
        self._root = root
        self._min_free_bytes = min_free_bytes

    def write(
        self, object_id: str, source: IO[bytes], *, size_bytes: int, sha256: str = ""
    ) -> StoredObject:
        final = self._place(object_id)
        if final.exists():
            raise ObjectExists(object_id)
        final.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = final.with_name(f".{final.name}.{os.urandom(6).hex()}.part")
        try:
            stored = self._copy(source, partial, size_bytes)
            if sha256 and stored.sha256 != sha256.lower():
                raise UploadIncomplete("the bytes do not have the announced SHA-256")
            try:
                os.link(partial, final)
            except FileExistsError as error:
                raise ObjectExists(object_id) from error
        finally:
            partial.unlink(missing_ok=True)
        sync(final.parent)
        return stored

    def path(self, object_id: str) -> Path | None:
        file = self._place(object_id)
        return file if file.is_file() else None

    def delete(self, object_id: str) -> None:
        self._place(object_id).unlink(missing_ok=True)

    def writable(self) -> bool:
        """Whether objects can be written now."""
        return os.access(self._root, os.W_OK)

    def require_space(self, size_bytes: int) -> None:
        """Raise `DiskFull` unless so many more bytes may be stored."""
        require_space(self._root, size_bytes, self._min_free_bytes)

    def purge_partial(self, older_than_s: float) -> int:
        """Delete the files of broken uploads; return their number."""
        oldest = time.time() - older_than_s
        count = 0
        for partial in self._root.rglob("*.part"):
            try:
                if partial.stat().st_mtime < oldest:
                    partial.unlink()
                    count += 1
            except FileNotFoundError:
                continue
        return count

    def delete_old(self, object_id: str, *, older_than_s: float) -> bool:
        """Remove the object if it was written longer ago; return whether it was."""
        file = self._place(object_id)
        try:
            if file.stat().st_mtime > time.time() - older_than_s:
                return False
        except FileNotFoundError:
            return False
        file.unlink(missing_ok=True)
        return True

    def object_ids(self, part: int = 0, parts: int = 1) -> Iterator[str]:
        """List the stored objects, or one of `parts` shares of about the same size."""
        for folder in self._root.iterdir():
            if zlib.crc32(folder.name.encode()) % parts == part:
                for _, _, names in os.walk(folder):
                    yield from filter(_is_object_id, names)

    def total_bytes(self) -> int:
        """Sum up the sizes of all stored objects."""
        total = 0
        for folder, _, names in os.walk(self._root):
            for name in names:
                # A file may be deleted meanwhile.
                with suppress(FileNotFoundError):
                    total += os.stat(os.path.join(folder, name)).st_size
        return total

    def _copy(self, source: IO[bytes], target: Path, size_bytes: int) -> StoredObject:
        digest = hashlib.sha256()
        left = size_bytes
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            while left:
                step = source.read(min(_STEP_BYTES, left))
                if not step:
                    raise UploadIncomplete(f"{left} of {size_bytes} bytes did not arrive")
                require_space(target.parent, len(step), self._min_free_bytes)
                digest.update(step)
                out.write(step)
                left -= len(step)
            out.flush()
            os.fsync(out.fileno())
        return StoredObject(size_bytes, digest.hexdigest())

    def _place(self, object_id: str) -> Path:
        if not _is_object_id(object_id):
            raise ValueError(f"not an object id: {object_id!r}")
        return self._root / object_id[-2:] / object_id[-4:-2] / object_id


def require_space(folder: Path, size_bytes: int, min_free_bytes: int) -> None:
    """Raise `DiskFull` unless the disk of a folder keeps its free space after so many more bytes."""
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize - size_bytes < min_free_bytes:
        raise DiskFull


def _is_object_id(name: str) -> bool:
    return len(name) >= 8 and name.replace("_", "").isalnum()


def storage_folder(settings: Settings) -> Path:
    """Return the folder of the storage that the settings name."""
    root = settings.storage_url.removeprefix("file://")
    return Path(root) if root else settings.data_dir.resolve() / "storage"


def open_storage(settings: Settings) -> LocalStorage:
    """Open the storage that the settings name."""
    folder = storage_folder(settings)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return LocalStorage(folder, settings.min_free_bytes)

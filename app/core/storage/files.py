"""Storage in a folder of files: each object is written once and synced before it counts."""

import hashlib
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from app.core.errors import DiskFull
from app.core.secrets.private_files import sync, write_private_file
from app.core.storage.objects import (
    MARKER,
    RECORDS,
    UNUSED_AFTER_S,
    LocalCopy,
    ObjectExists,
    StorageAway,
    StoredObject,
    Upload,
    UploadIncomplete,
    UploadLink,
    is_object_id,
)

_STEP_BYTES = 256 * 1024


class LocalFiles:
    """A folder of files: written to a temporary file, synced, then linked to the final name."""

    def __init__(self, root: Path, min_free_bytes: int, *, is_mounted: bool) -> None:
        """Name the folder.

        Args:
            is_mounted: whether it is a mount of its own, and empty while it is not mounted.
        """
        self._root = root
        self._min_free_bytes = min_free_bytes
        self._is_mounted = is_mounted

    def write(
        self,
        object_id: str,
        source: IO[bytes],
        *,
        size_bytes: int,
        sha256: str = "",
        replace: bool = False,
    ) -> StoredObject:
        final = self._place(object_id)
        if final.exists() and not replace:
            raise ObjectExists(object_id)
        self._require_mounted()
        final.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = final.with_name(f".{final.name}.{os.urandom(6).hex()}.part")
        try:
            expected = StoredObject(size_bytes, sha256.lower())
            stored = copy_checked(source, partial, expected, self._min_free_bytes)
            if replace:
                partial.replace(final)
            else:
                _link(partial, final)
        finally:
            partial.unlink(missing_ok=True)
        sync(final.parent)
        return stored

    def size_of(self, object_id: str) -> int | None:
        try:
            return self._place(object_id).stat().st_size
        except FileNotFoundError:
            self._require_mounted()
            return None

    def find(self, object_id: str) -> StoredObject | None:
        try:
            with self._place(object_id).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256")
                return StoredObject(file.tell(), digest.hexdigest())
        except FileNotFoundError:
            self._require_mounted()
            return None

    @contextmanager
    def local_copy(self, object_id: str) -> Iterator[LocalCopy | None]:
        file = self._place(object_id)
        if not file.is_file():
            self._require_mounted()
            yield None
        else:
            yield LocalCopy(file, None)

    def read(self, object_id: str, start: int = 0, stop: int | None = None) -> bytes | None:
        try:
            with self._place(object_id).open("rb") as file:
                file.seek(start)
                return file.read(-1 if stop is None else stop - start)
        except FileNotFoundError:
            self._require_mounted()
            return None

    def delete(self, object_id: str) -> None:
        try:
            self._place(object_id).unlink()
        except FileNotFoundError:
            self._require_mounted()

    def marker(self) -> str | None:
        if not os.access(self._root, os.W_OK):
            raise StorageAway
        try:
            return (self._root / MARKER).read_text().strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StorageAway from error

    def write_marker(self, deployment_id: str) -> None:
        write_private_file(self._root / MARKER, f"{deployment_id}\n")
        sync(self._root)

    def write_record(self, name: str, text: str) -> None:
        self._require_mounted()
        folder = self._root / RECORDS
        folder.mkdir(mode=0o700, exist_ok=True)
        write_private_file(folder / name, text)
        sync(folder)

    def record_names(self) -> Iterator[str]:
        self._require_mounted()
        try:
            yield from [file.name for file in (self._root / RECORDS).glob("*")]
        except OSError as error:
            raise StorageAway from error

    def read_record(self, name: str) -> str:
        try:
            return (self._root / RECORDS / name).read_text()
        except OSError as error:
            raise StorageAway from error

    def require_space(self, size_bytes: int) -> None:
        self._require_mounted()
        require_space(self._root, size_bytes, self._min_free_bytes)

    def purge_partial(self) -> None:
        for partial in self._root.rglob("*.part"):
            delete_unused(partial)

    def delete_old(self, object_id: str) -> bool:
        is_deleted = delete_unused(self._place(object_id))
        if not is_deleted:
            self._require_mounted()
        return is_deleted

    def object_ids(self, part: int = 0, parts: int = 1) -> Iterator[str]:
        for folder in self._root.iterdir():
            if zlib.crc32(folder.name.encode()) % parts == part:
                for _, _, names in os.walk(folder):
                    yield from filter(is_object_id, names)

    def upload_link(self, upload: Upload) -> UploadLink | None:
        return None

    def read_link(self, object_id: str, *, content_type: str, disposition: str) -> str | None:
        return None

    def _require_mounted(self) -> None:
        """Raise `StorageAway` for a folder without even the marker: it is not mounted now."""
        if self._is_mounted and not (self._root.is_dir() and any(self._root.iterdir())):
            raise StorageAway

    def _place(self, object_id: str) -> Path:
        if not is_object_id(object_id):
            raise ValueError(f"not an object id: {object_id!r}")
        return self._root / object_id[-2:] / object_id[-4:-2] / object_id


def copy_checked(
    source: IO[bytes], target: Path, expected: StoredObject, min_free_bytes: int
) -> StoredObject:
    """Copy a source to a new, synced file; an expected SHA-256 may be empty.

    Raises:
        UploadIncomplete: the source ended early, or has another SHA-256.
        DiskFull: too little disk space is free.
    """
    digest = hashlib.sha256()
    remaining = expected.size_bytes
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as out:
        while remaining:
            step = source.read(min(_STEP_BYTES, remaining))
            if not step:
                raise UploadIncomplete(f"{remaining} of {expected.size_bytes} bytes did not arrive")
            require_space(target.parent, len(step), min_free_bytes)
            digest.update(step)
            out.write(step)
            remaining -= len(step)
        out.flush()
        os.fsync(out.fileno())
    if expected.sha256 not in ("", digest.hexdigest()):
        raise UploadIncomplete("the bytes do not have the announced SHA-256")
    return StoredObject(expected.size_bytes, digest.hexdigest())


def delete_unused(file: Path) -> bool:
    """Delete a file that is old enough to be in no use; return whether it did."""
    with suppress(FileNotFoundError):
        if file.stat().st_mtime < time.time() - UNUSED_AFTER_S:
            file.unlink()
            return True
    return False


def require_space(folder: Path, size_bytes: int, min_free_bytes: int) -> None:
    """Raise `DiskFull` unless the disk of a folder keeps its free space after so many more bytes."""
    disk = os.statvfs(folder)
    if disk.f_bavail * disk.f_frsize - size_bytes < min_free_bytes:
        raise DiskFull


def _link(partial: Path, final: Path) -> None:
    try:
        os.link(partial, final)
    except FileExistsError as error:
        raise ObjectExists(final.name) from error

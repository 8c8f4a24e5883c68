"""Stored objects: what every storage does, and its errors."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Protocol

from app.core.errors import ServiceUnavailable

# File of a storage that contains the id of the deployment.
MARKER = "deployment.id"
# Folder of a storage that contains the records of erasures.
RECORDS = "erasures"
# An object without a row, or half of one, may still be in use until it is this old.
UNUSED_AFTER_S = 86_400.0


class ObjectExists(Exception):
    """The object exists already, and an object is written only once."""


class UploadIncomplete(Exception):
    """The upload ended early, or its bytes differ from the announced digest."""


class ForeignStorage(Exception):
    """The storage is not the one of this database; the text says what to do."""


class StorageAway(ServiceUnavailable):
    """The storage does not answer, or refuses; whether an object exists is not known."""

    message = "The storage of recordings and exports does not answer right now."

    def __init__(self) -> None:
        super().__init__(retry_after_s=10)


class StorageMissing(StorageAway):
    """The container or bucket does not exist."""

    def __init__(self, place: str) -> None:
        self.message = f"{place}, which CQE_STORAGE_URL names, is missing: make it"
        super().__init__()


@dataclass(frozen=True, slots=True)
class StoredObject:
    """Size and SHA-256 in hex of a stored object; the hash is empty where it is not known."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class LocalCopy:
    """A local file with an object's bytes; `sha256` in hex if they were copied to read them."""

    path: Path
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Upload:
    """One upload that a link allows.

    Attributes:
        size_bytes: the size that was announced.
        sha256: the announced SHA-256 in hex, or empty.
    """

    object_id: str
    content_type: str
    size_bytes: int
    sha256: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class UploadLink:
    """Address of an upload and the headers that go with it."""

    url: str
    headers: Mapping[str, str]


class Storage(Protocol):
    """Interface of a storage; objects are named by ids of this service only.

    Every method but `upload_link` and `read_link` may raise `StorageAway`.
    """

    def write(
        self,
        object_id: str,
        source: IO[bytes],
        *,
        size_bytes: int,
        sha256: str = "",
        replace: bool = False,
    ) -> StoredObject:
        """Store exactly `size_bytes` from the source, once; or, with `replace`, in place of another.

        An object that is replaced is there all the time, whole.

        Raises:
            ObjectExists: the object was stored before.
            UploadIncomplete: the source ended early, or its hash differs from `sha256`.
            DiskFull: too little disk space is free.
        """
        ...

    def size_of(self, object_id: str) -> int | None:
        """Return the size of an object in bytes, or None."""
        ...

    def find(self, object_id: str) -> StoredObject | None:
        """Describe an object, without its hash where its bytes lie elsewhere; None without one."""
        ...

    def local_copy(self, object_id: str) -> AbstractContextManager[LocalCopy | None]:
        """Provide a local file with the object's bytes while the block runs; None without object.

        Raises:
            DiskFull: too little disk space is free for a copy.
        """
        ...

    def read(self, object_id: str, start: int = 0, stop: int | None = None) -> bytes | None:
        """Return a range of an object's bytes, the whole by default; None without object."""
        ...

    def delete(self, object_id: str) -> None:
        """Remove the object; nothing happens when it is not there."""
        ...

    def delete_old(self, object_id: str) -> bool:
        """Delete an object if it was stored more than a day ago; return whether it was."""
        ...

    def object_ids(self, part: int = 0, parts: int = 1) -> Iterator[str]:
        """List the stored objects, or one of `parts` shares of about the same size."""
        ...

    def purge_partial(self) -> None:
        """Delete what transfers left behind that were cut off more than a day ago."""
        ...

    def require_space(self, size_bytes: int) -> None:
        """Raise `DiskFull` unless so many more bytes may be stored."""
        ...

    def marker(self) -> str | None:
        """Return the id of the deployment that the storage belongs to; None without one.

        Raises:
            StorageAway: the storage does not answer, is missing, or cannot be written to.
        """
        ...

    def write_marker(self, deployment_id: str) -> None: ...

    def write_record(self, name: str, text: str) -> None:
        """Store a small text of a new name apart from the objects."""
        ...

    def record_names(self) -> Iterator[str]: ...

    def read_record(self, name: str) -> str: ...

    def upload_link(self, upload: Upload) -> UploadLink | None:
        """Return a link for one upload straight to the storage; None where this service takes it."""
        ...

    def read_link(self, object_id: str, *, content_type: str, disposition: str) -> str | None:
        """Return a link that reads the object within a minute; None where this service sends it."""
        ...


def is_object_id(name: str) -> bool:
    """Return whether a name may name an object: letters, digits and underscores."""
    return len(name) >= 8 and name.replace("_", "").isalnum()

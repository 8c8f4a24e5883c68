"""Storage in a container of Azure Blob or a bucket of S3, read and written by obstore."""

import hashlib
import os
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING

import obstore
from obstore.exceptions import BaseError
from obstore.store import AzureStore, S3Store

from app.core.clock import utc_now
from app.core.storage import breaker
from app.core.storage.files import copy_checked, delete_unused, require_space
from app.core.storage.objects import (
    MARKER,
    RECORDS,
    UNUSED_AFTER_S,
    LocalCopy,
    ObjectExists,
    StorageAway,
    StorageMissing,
    StoredObject,
    Upload,
    UploadLink,
    is_object_id,
)
from app.core.storage.providers import AzureContainer, S3Bucket

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta

Client = AzureStore | S3Store

_READ_LINK_VALID = timedelta(minutes=1)
_LOOK_EVERY_S = 5.0
_STEP_BYTES = 1 << 20
# A larger object is a transfer: it takes more than a moment.
_QUICK_BYTES = 1 << 20


class CloudStorage:
    """Objects at `prefix/<last two characters of the id>/<id>` of a container or bucket.

    The client opens on first use. Its threads do not survive a fork: a process that forks jobs must
    not use the storage before.
    """

    def __init__(
        self, provider: AzureContainer | S3Bucket, prefix: str, spool: Path, min_free_bytes: int
    ) -> None:
        """Name the place of the objects."""
        self._provider = provider
        self._prefix = f"{prefix}/" if prefix else ""
        self._spool = spool
        self._min_free_bytes = min_free_bytes
        self._opened: dict[bool, tuple[int, Client]] = {}
        self._looked_at = -_LOOK_EVERY_S
        self._seen: str | StorageAway | None = None
        self._look_lock = threading.Lock()

    def write(
        self,
        object_id: str,
        source: IO[bytes],
        *,
        size_bytes: int,
        sha256: str = "",
        replace: bool = False,
    ) -> StoredObject:
        if not replace and self._head(object_id) is not None:
            raise ObjectExists(object_id)
        expected = StoredObject(size_bytes, sha256.lower())
        with self._spooled(object_id) as copy:
            stored = copy_checked(source, copy, expected, self._min_free_bytes)
            with self._asking(is_transfer=size_bytes > _QUICK_BYTES) as client:
                obstore.put(client, self._key(object_id), copy)
        return stored

    def size_of(self, object_id: str) -> int | None:
        head = self._head(object_id)
        return None if head is None else head["size"]

    def find(self, object_id: str) -> StoredObject | None:
        head = self._head(object_id)
        return None if head is None else StoredObject(head["size"], "")

    @contextmanager
    def local_copy(self, object_id: str) -> Iterator[LocalCopy | None]:
        digest = hashlib.sha256()
        if self._head(object_id) is None:
            yield None
            return
        with self._spooled(object_id) as copy:
            try:
                with self._asking(is_transfer=True) as client:
                    steps = obstore.get(client, self._key(object_id)).stream(_STEP_BYTES)
                    with copy.open("wb") as file:
                        for step in steps:
                            require_space(self._spool, len(step), self._min_free_bytes)
                            digest.update(step)
                            file.write(step)
            except FileNotFoundError:
                yield None
                return
            yield LocalCopy(copy, digest.hexdigest())

    def read(self, object_id: str, start: int = 0, stop: int | None = None) -> bytes | None:
        options: GetOptions = {"range": {"offset": start} if stop is None else (start, stop)}
        try:
            with self._asking() as client:
                answer = obstore.get(client, self._key(object_id), options=options)
                return bytes(answer.bytes())
        except FileNotFoundError:
            return None

    def delete(self, object_id: str) -> None:
        with suppress(FileNotFoundError), self._asking() as client:
            obstore.delete(client, self._key(object_id))

    def delete_old(self, object_id: str) -> bool:
        head = self._head(object_id)
        oldest = utc_now() - timedelta(seconds=UNUSED_AFTER_S)
        if head is None or head["last_modified"] > oldest:
            return False
        self.delete(object_id)
        return True

    def object_ids(self, part: int = 0, parts: int = 1) -> Iterator[str]:
        with self._asking() as client:
            for folder in obstore.list_with_delimiter(client, self._prefix)["common_prefixes"]:
                name = folder.rpartition("/")[2]
                if zlib.crc32(name.encode()) % parts == part:
                    for listed in obstore.list(client, f"{folder}/"):
                        names = (meta["path"].rpartition("/")[2] for meta in listed)
                        yield from filter(is_object_id, names)

    def purge_partial(self) -> None:
        for file in self._spool.glob("*.transfer"):
            delete_unused(file)

    def require_space(self, size_bytes: int) -> None:
        """Do nothing: the provider has space."""

    def marker(self) -> str | None:
        # One thread looks, for three seconds at most; the others use what was seen before.
        is_first = self._looked_at < 0
        if time.monotonic() - self._looked_at >= _LOOK_EVERY_S and self._look_lock.acquire(
            is_first
        ):
            try:
                self._look()
            finally:
                self._look_lock.release()
        if isinstance(self._seen, StorageAway):
            raise self._seen
        return self._seen

    def write_marker(self, deployment_id: str) -> None:
        with self._asking() as client:
            obstore.put(client, f"{self._prefix}{MARKER}", deployment_id.encode())
        self._looked_at = -_LOOK_EVERY_S

    def write_record(self, name: str, text: str) -> None:
        with self._asking() as client:
            obstore.put(client, f"{self._prefix}{RECORDS}/{name}", text.encode())

    def record_names(self) -> Iterator[str]:
        with self._asking() as client:
            for listed in obstore.list(client, f"{self._prefix}{RECORDS}/"):
                yield from (meta["path"].rpartition("/")[2] for meta in listed)

    def read_record(self, name: str) -> str:
        with self._asking() as client:
            answer = obstore.get(client, f"{self._prefix}{RECORDS}/{name}")
            return bytes(answer.bytes()).decode()

    def upload_link(self, upload: Upload) -> UploadLink | None:
        return self._provider.upload_link(self._key(upload.object_id), upload)

    def read_link(self, object_id: str, *, content_type: str, disposition: str) -> str | None:
        return self._provider.read_link(
            self._key(object_id),
            utc_now() + _READ_LINK_VALID,
            content_type=content_type,
            disposition=disposition,
        )

    def _look(self) -> None:
        if time.monotonic() - self._looked_at >= _LOOK_EVERY_S:  # else another thread just has
            try:
                self._seen = self._look_for_marker()
            except StorageAway as error:
                self._seen = error
            self._looked_at = time.monotonic()

    def _look_for_marker(self) -> str | None:
        client = self._open_quick()
        try:
            with _failures_as_away():
                answer = obstore.get(client, f"{self._prefix}{MARKER}")
                return bytes(answer.bytes()).decode().strip()
        except FileNotFoundError as error:
            # The answer of the provider is known by its text alone.
            if f"<Code>{self._provider.missing_code}</Code>" in str(error):
                raise StorageMissing(self._provider.place) from error
            return None

    @contextmanager
    def _asking(self, *, is_transfer: bool = False) -> Iterator[Client]:
        """Provide a client, whose errors become `StorageAway`; a missing object is a FileNotFoundError.

        A request asks once and waits for three seconds. Its transfers may take longer: they begin after
        the storage has answered a question.
        """
        of_requests = breaker.of_requests()
        if of_requests is None:
            with _failures_as_away():
                yield self._client(is_quick=False)
        else:
            with of_requests.asking(takes_room=not is_transfer), _failures_as_away():
                yield self._client(is_quick=not is_transfer)

    def _client(self, *, is_quick: bool) -> Client:
        process_id = os.getpid()
        opened_in, client = self._opened.get(is_quick, (process_id, None))
        if opened_in != process_id:
            raise RuntimeError("this process was forked after its parent had used the storage")
        if client is None:
            client = self._open_quick() if is_quick else self._open(timeout_s=30, retries=3)
            self._opened[is_quick] = (process_id, client)
        return client

    def _open_quick(self) -> Client:
        return self._open(timeout_s=3, retries=0)

    def _open(self, *, timeout_s: int, retries: int) -> Client:
        return self._provider.client(
            {
                "connect_timeout": timedelta(seconds=2),
                "timeout": timedelta(seconds=timeout_s),
                "allow_http": self._provider.endpoint.startswith("http:"),
            },
            {"max_retries": retries, "retry_timeout": timedelta(seconds=20)},
        )

    def _head(self, object_id: str) -> "ObjectMeta | None":
        try:
            with self._asking() as client:
                return obstore.head(client, self._key(object_id))
        except FileNotFoundError:
            return None

    def _key(self, object_id: str) -> str:
        if not is_object_id(object_id):
            raise ValueError(f"not an object id: {object_id!r}")
        return f"{self._prefix}{object_id[-2:]}/{object_id}"

    @contextmanager
    def _spooled(self, object_id: str) -> Iterator[Path]:
        """Name a file of the spool that is deleted after the block."""
        self._spool.mkdir(mode=0o700, exist_ok=True)
        file = self._spool / f"{object_id}.{os.urandom(6).hex()}.transfer"
        try:
            yield file
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def _failures_as_away() -> Iterator[None]:
    """Turn errors of the client into `StorageAway`; a missing object is a FileNotFoundError."""
    try:
        yield
    except BaseError as error:
        raise StorageAway from error

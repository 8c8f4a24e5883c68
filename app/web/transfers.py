"""Uploads and downloads by signed URL, in constant memory: whole files, or one range."""

import io
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol, cast
from urllib.parse import quote

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import ClientDisconnected
from werkzeug.http import unquote_etag
from werkzeug.wsgi import wrap_file

from app.core import errors
from app.core.runtime import Runtime
from app.core.secrets.signed_urls import Grant, SignedUrlRefused
from app.core.storage.objects import ObjectExists, StoredObject, UploadIncomplete
from app.web.envelope import shape_a
from app.web.parser import MAX_JSON_BYTES

# The web server buffers transfers up to this size, so they do not occupy a thread.
_FREE_BYTES = MAX_JSON_BYTES
_CHUNK_BYTES = 256 * 1024
# The characters that RFC 8187 leaves as they are in `filename*`.
_ATTRIBUTE_CHARACTERS = "!#$&+-.^_`|~"


class UrlSignatureInvalid(errors.AppError):
    status, code = 403, "URL_SIGNATURE_INVALID"
    message = "This URL's signature is invalid."


class UrlExpired(errors.AppError):
    status, code = 403, "URL_EXPIRED"
    message = "This URL has expired: request a new one."


class RangeNotSatisfiable(errors.AppError):
    status, code = 416, "RANGE_NOT_SATISFIABLE"
    message = "The range is outside of the object."


class BlobOwner(Protocol):
    """Owner of the stored objects of one id prefix."""

    def exists(self, object_id: str, version: str = "", /) -> bool:
        """Return whether the row still exists, in this version; a URL may be valid for minutes longer."""
        ...

    def mark_stored(self, object_id: str, stored: StoredObject) -> None:
        """Record a finished upload; raises `NotFound` if the row was deleted meanwhile."""
        ...

    def reconcile(self, object_id: str) -> None:
        """Record an upload that a crash interrupted before `mark_stored`."""
        ...


class TransferSlots:
    """Slots of a process for large transfers, during which a slow client occupies a thread.

    A third of them, and one at least, may be taken for one object or one holder of links: a link
    that many open at once, or a key that reads slowly, does not keep others waiting.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._share = max(1, count // 3)
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, object_id: str, holder: str) -> Callable[[], None]:
        """Take a slot; return the function that releases it.

        Raises:
            ServiceUnavailable: all slots are taken, or the share of this object or holder.
        """
        users = [user for user in (object_id, holder) if user]
        with self._lock:
            if not self._free:
                raise _busy("are running")
            if any(self._taken[user] >= self._share for user in users):
                raise _busy("of this file or with this key are running")
            self._free -= 1
            self._taken.update(users)
        return partial(self._release, users)

    def _release(self, users: list[str]) -> None:
        with self._lock:
            self._free += 1
            self._taken.subtract(users)
            # A counter keeps names with zero, one for each object of the process's life.
            self._taken = +self._taken


class Blobs:
    """Upload and download endpoints.

    A process serves large transfers on all threads but two, and answers the others with 503.
    """

    def __init__(self, runtime: Runtime, owners: Mapping[str, BlobOwner]) -> None:
        self._storage = runtime.storage
        self._urls = runtime.urls
        self._owners = owners
        self._slots = TransferSlots(max(1, runtime.settings.threads - 2))

    def install(self, app: Flask) -> None:
        """Register the endpoints below /storage/v1; a signed URL needs no API key."""
        rule = "/storage/v1/<object_id>"
        app.add_url_rule(rule, "blobs.put", self.put, methods=["PUT"])
        app.add_url_rule(rule, "blobs.get", self.get, methods=["GET"])

    def put(self, object_id: str) -> Response:
        """Store the body, once."""
        stored = self._take(object_id)
        try:
            self._owner(object_id).mark_stored(object_id, stored)
        except errors.NotFound:
            self._storage.delete(object_id)
            raise
        response = jsonify(shape_a({"sizeBytes": stored.size_bytes, "sha256": stored.sha256}))
        response.status_code = 201
        response.set_etag(object_id)
        return response

    def get(self, object_id: str) -> Response:
        """Send the object or a range of it, or redirect to the storage; HEAD sends its headers."""
        grant = self._grant(object_id, permission="r")
        self._owner(object_id, grant.sha256)
        size_bytes = self._storage.size_of(object_id)
        if size_bytes is None:
            raise _no_object()
        if request.method == "HEAD":
            return _head(grant, size_bytes)
        link = self._storage.read_link(
            object_id,
            content_type=grant.content_type,
            disposition=_disposition(grant.file_name or object_id),
        )
        if link is not None:
            return _redirect(link)
        with self._storage.local_copy(object_id) as copy:
            if copy is None:
                raise _no_object()
            return _content(grant, copy.path, self._take_slot(grant, size_bytes))

    def _take(self, object_id: str) -> StoredObject:
        grant = self._grant(object_id, permission="c")
        size_bytes = _announced_size(grant)
        owner = self._owner(object_id)
        try:
            if self._storage.size_of(object_id) is not None:
                raise ObjectExists(object_id)
            release = self._take_slot(grant, size_bytes)
            try:
                return self._store(grant, size_bytes)
            finally:
                release()
        except ObjectExists as error:
            owner.reconcile(object_id)
            raise errors.Conflict(
                "This file was already uploaded: an upload URL works once."
            ) from error

    def _grant(self, object_id: str, *, permission: str) -> Grant:
        try:
            grant = self._urls.grant_of(object_id, request.args)
        except SignedUrlRefused as error:
            by_code = {kind.code: kind for kind in (UrlSignatureInvalid, UrlExpired)}
            raise by_code[error.code](error.message) from error
        if grant.permission != permission:
            raise UrlSignatureInvalid("This URL is not valid for this method.")
        return grant

    def _owner(self, object_id: str, version: str = "") -> BlobOwner:
        owner = self._owners.get(object_id.partition("_")[0])
        if owner is None or not owner.exists(object_id, version):
            raise _no_object()
        return owner

    def _store(self, grant: Grant, size_bytes: int) -> StoredObject:
        source = cast(BinaryIO, _Body())  # storage only reads
        try:
            return self._storage.write(
                grant.object_id, source, size_bytes=size_bytes, sha256=grant.sha256
            )
        except UploadIncomplete as error:
            raise errors.InvalidInput(f"Nothing was stored: {error}.") from error
        except OSError as error:
            raise errors.ServiceUnavailable(
                "The storage cannot be written to right now.", retry_after_s=30
            ) from error

    def _take_slot(self, grant: Grant, size_bytes: int) -> Callable[[], None]:
        """Take a slot for a transfer of this size; return the function that releases it."""
        if size_bytes <= _FREE_BYTES:
            return lambda: None
        return self._slots.take(grant.object_id, grant.holder)


def requested_range(etag: str, size: int) -> tuple[int, int] | None:
    """Return the requested range; None, the whole object, for several ranges or another unit."""
    requested = request.range
    condition = request.headers.get("If-Range")
    if requested is None or requested.units != "bytes" or len(requested.ranges) != 1:
        return None
    if condition is not None and unquote_etag(condition) != (etag, False):
        return None
    first, end = requested.ranges[0]
    start = max(0, size + first) if first < 0 else first
    if start >= size:
        raise RangeNotSatisfiable(headers={"Content-Range": f"bytes */{size}"})
    return start, size if end is None else min(end, size)


def _busy(which: str) -> errors.ServiceUnavailable:
    return errors.ServiceUnavailable(
        f"Too many uploads and downloads {which}: try again.", retry_after_s=2
    )


def _no_object() -> errors.NotFound:
    return errors.NotFound("There is no such object.")


class _Body:
    """The request's body; a broken connection ends it."""

    def read(self, size: int) -> bytes:
        try:
            return request.stream.read(size)
        except (OSError, ClientDisconnected):
            return b""


def _announced_size(grant: Grant) -> int:
    size_bytes = request.content_length
    if size_bytes is None:
        raise errors.LengthRequired()
    if size_bytes > grant.size_bytes:
        raise errors.PayloadTooLarge(f"This URL takes at most {grant.size_bytes} bytes.")
    if request.mimetype != grant.content_type or request.headers.get("Content-Encoding"):
        raise errors.UnsupportedMediaType(f"Send the bytes as {grant.content_type}, not encoded.")
    if size_bytes < grant.size_bytes:
        message = (
            f"Nothing was stored: the body has {size_bytes} bytes, but sizeBytes was"
            f" {grant.size_bytes}."
        )
        raise errors.InvalidInput(message)
    return size_bytes


def _redirect(link: str) -> Response:
    """Build the redirect to a link that reads the object from the storage itself."""
    response = Response(status=307)
    response.location = link
    response.headers["Cache-Control"] = "private, no-store"
    return response


def _head(grant: Grant, size_bytes: int) -> Response:
    response = _described(Response(), grant)
    response.content_length = size_bytes
    response.automatically_set_content_length = False
    return response


def _content(grant: Grant, path: Path, on_close: Callable[[], None]) -> Response:
    """Build the response with the object, a range of it (206) or nothing (304).

    Args:
        on_close: called once, after the last byte or when sending is given up.
    """
    try:
        file = _NotifyingFile(path, on_close)
    except BaseException:
        on_close()
        raise
    try:
        response = _selected(grant, file, path.stat().st_size)
    except BaseException:
        file.close()
        raise
    return _described(response, grant)


def _selected(grant: Grant, file: "_NotifyingFile", size: int) -> Response:
    if request.if_none_match.contains(grant.etag):
        file.close()
        return Response(status=304)
    requested = requested_range(grant.etag, size)
    if requested is None:
        response = Response(wrap_file(request.environ, file, _CHUNK_BYTES), direct_passthrough=True)
        response.content_length = size
        return response
    start, stop = requested
    response = Response(_part(file, start, stop), status=206)
    response.call_on_close(file.close)
    response.content_range.set(start, stop, size)
    response.content_length = stop - start
    return response


def _part(file: "_NotifyingFile", start: int, stop: int) -> Iterator[bytes]:
    file.seek(start)
    remaining = stop - start
    while remaining > 0:
        chunk = file.read(min(remaining, _CHUNK_BYTES))
        if not chunk:
            return
        remaining -= len(chunk)
        yield chunk


def _described(response: Response, grant: Grant) -> Response:
    response.content_type = grant.content_type
    response.set_etag(grant.etag)
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response.headers["Content-Disposition"] = _disposition(grant.file_name or grant.object_id)
    return response


def _disposition(file_name: str) -> str:
    """Build the header `attachment` with the name in ASCII and, if needed, in UTF-8 (RFC 6266)."""
    folded = unicodedata.normalize("NFKD", file_name).encode("ascii", "ignore").decode()
    plain = "".join("_" if c in '"\\%' or not c.isprintable() else c for c in folded)
    value = f'attachment; filename="{plain.strip() or "file"}"'
    if plain != file_name:
        value += f"; filename*=UTF-8''{quote(file_name, safe=_ATTRIBUTE_CHARACTERS)}"
    return value


class _NotifyingFile(io.FileIO):
    """An open file with a callback at its end; servers send it by its descriptor."""

    def __init__(self, path: Path, on_close: Callable[[], None]) -> None:
        self._on_close = on_close
        super().__init__(path, "rb")

    def close(self) -> None:
        if not self.closed:
            super().close()
            self._on_close()

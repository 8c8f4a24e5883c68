"""Uploads and downloads by signed URL, in constant memory."""

import threading
from collections.abc import Callable, Mapping
from typing import BinaryIO, Protocol, cast

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import ClientDisconnected

from app.core import errors
from app.core.runtime import Runtime
from app.core.secrets.signed_urls import Grant, SignedUrlRefused
from app.core.storage.objects import ObjectExists, StoredObject, UploadIncomplete
from app.web.envelope import shape_a
from app.web.parser import MAX_JSON_BYTES
from app.web.transfers import file_responses

# The web server buffers transfers up to this size, so they do not occupy a thread.
_FREE_BYTES = MAX_JSON_BYTES


class UrlSignatureInvalid(errors.AppError):
    status, code = 403, "URL_SIGNATURE_INVALID"
    message = "This URL's signature is invalid."


class UrlExpired(errors.AppError):
    status, code = 403, "URL_EXPIRED"
    message = "This URL has expired: request a new one."


class BlobOwner(Protocol):
    """Owner of the stored objects of one id prefix."""

    def exists(self, object_id: str) -> bool:
        """Return whether the row still exists; a URL may be valid for minutes longer."""
        ...

    def mark_stored(self, object_id: str, stored: StoredObject) -> None:
        """Record a finished upload; raises `NotFound` if the row was deleted meanwhile."""
        ...

    def reconcile(self, object_id: str) -> None:
        """Record an upload that a crash interrupted before `mark_stored`."""
        ...


class Blobs:
    """Upload and download endpoints.

    A slow client occupies a thread during a large transfer. A process serves all but two threads'
    worth of them at once and answers the others with 503.
    """

    def __init__(self, runtime: Runtime, owners: Mapping[str, BlobOwner]) -> None:
        self._storage = runtime.storage
        self._urls = runtime.urls
        self._owners = owners
        self._slots = threading.BoundedSemaphore(max(1, runtime.settings.threads - 2))

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
        body = shape_a({"sizeBytes": stored.size_bytes, "sha256": stored.sha256})
        return file_responses.created(jsonify(body), object_id)

    def get(self, object_id: str) -> Response:
        """Send the object or a range of it, or redirect to the storage; HEAD sends its headers."""
        grant = self._grant(object_id, permission="r")
        self._owner(object_id)
        size_bytes = self._storage.size_of(object_id)
        if size_bytes is None:
            raise _no_object()
        if request.method == "HEAD":
            return file_responses.head(grant, size_bytes)
        link = self._storage.read_link(
            object_id,
            content_type=grant.content_type,
            disposition=file_responses.disposition(grant.file_name or object_id),
        )
        if link is not None:
            return file_responses.redirect(link)
        with self._storage.local_copy(object_id) as copy:
            if copy is None:
                raise _no_object()
            return file_responses.content(grant, copy.path, self._take_slot(size_bytes))

    def _take(self, object_id: str) -> StoredObject:
        grant = self._grant(object_id, permission="c")
        size_bytes = _announced_size(grant)
        owner = self._owner(object_id)
        try:
            if self._storage.size_of(object_id) is not None:
                raise ObjectExists(object_id)
            release = self._take_slot(size_bytes)
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

    def _owner(self, object_id: str) -> BlobOwner:
        owner = self._owners.get(object_id.partition("_")[0])
        if owner is None or not owner.exists(object_id):
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

    def _take_slot(self, size_bytes: int) -> Callable[[], None]:
        """Take a slot for a transfer of this size; return the function that releases it."""
        if size_bytes <= _FREE_BYTES:
            return lambda: None
        if not self._slots.acquire(blocking=False):
            raise errors.ServiceUnavailable(
                "Too many uploads and downloads are running: try again.", retry_after_s=2
            )
        return self._slots.release


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
    if size_bytes == 0:
        raise errors.InvalidInput("Nothing was stored: the body is empty.")
    return size_bytes

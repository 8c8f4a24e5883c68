"""Responses with stored files: attachments, whole or one range."""

import io
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from flask import Response, request
from werkzeug.http import unquote_etag
from werkzeug.wsgi import wrap_file

from app.core.errors import AppError
from app.core.secrets.signed_urls import Grant

_CHUNK_BYTES = 256 * 1024
# The characters that RFC 8187 leaves as they are in `filename*`.
_ATTRIBUTE_CHARACTERS = "!#$&+-.^_`|~"


class RangeNotSatisfiable(AppError):
    status, code = 416, "RANGE_NOT_SATISFIABLE"
    message = "The range is outside of the object."


def created(response: Response, object_id: str) -> Response:
    """Set status and ETag of the response to an upload."""
    response.status_code = 201
    response.set_etag(object_id)
    return response


def redirect(link: str) -> Response:
    """Build the redirect to a link that reads the object from the storage itself."""
    response = Response(status=307)
    response.location = link
    response.headers["Cache-Control"] = "private, no-store"
    return response


def head(grant: Grant, size_bytes: int) -> Response:
    """Build the response to HEAD."""
    response = _described(Response(), grant)
    response.content_length = size_bytes
    response.automatically_set_content_length = False
    return response


def content(grant: Grant, path: Path, on_close: Callable[[], None]) -> Response:
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
    if request.if_none_match.contains(grant.object_id):
        file.close()
        return Response(status=304)
    requested = requested_range(grant.object_id, size)
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
    response.set_etag(grant.object_id)
    response.headers["Accept-Ranges"] = "bytes"
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    response.headers["Content-Disposition"] = disposition(grant.file_name or grant.object_id)
    return response


def disposition(file_name: str) -> str:
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

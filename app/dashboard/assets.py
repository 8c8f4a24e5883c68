"""Assets: styles, scripts and pictures under addresses that change with their content."""

import gzip
import hashlib
from dataclasses import dataclass
from mimetypes import guess_type
from pathlib import Path

from flask import Response, request

from app.core.errors import NotFound
from app.dashboard.blueprint import public

FOLDER = Path(__file__).parent / "static"
_FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """One file, plain and compressed."""

    content_type: str
    plain: bytes
    compressed: bytes


class Assets:
    """Every file below `static`, read once at start.

    All share one hash in their address, so that a script can import another by its name.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        self._files = {file.relative_to(folder).as_posix(): _read(file) for file in files}
        digest = hashlib.sha256()
        for name, asset in self._files.items():
            digest.update(f"{name}:{len(asset.plain)}:".encode() + asset.plain)
        self._version = digest.hexdigest()[:12]

    def url(self, name: str) -> str:
        """Return the address of a file.

        Raises:
            KeyError: there is no such file.
        """
        self._files[name]
        return f"/assets/{self._version}/{name}"

    @public
    def serve(self, version: str, name: str) -> Response:
        """Answer with a file of this version, compressed where the browser takes that."""
        asset = self._files.get(name)
        if asset is None or version != self._version:
            raise NotFound()
        zipped = request.accept_encodings["gzip"] > 0
        response = Response(asset.compressed if zipped else asset.plain)
        response.content_type = asset.content_type
        response.headers["Cache-Control"] = _FOREVER
        response.vary.add("Accept-Encoding")
        if zipped:
            response.content_encoding = "gzip"
        return response


def _read(file: Path) -> Asset:
    plain = file.read_bytes()
    kind, _ = guess_type(file.name)
    content_type = f"{kind}; charset=utf-8" if kind else "application/octet-stream"
    return Asset(content_type, plain, gzip.compress(plain, mtime=0))

"""Manifest of a backup: its contents with their digests, and the check that they are complete."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from app.core.private_files import sync
from app.operations.failure import CannotRun

FILE = "manifest.json"
OBJECTS = "objects"
OBJECT_LIST = "objects.sha256"
_FORMAT = 1
_OBJECT = re.compile(r"\w\w/\w\w/\w+", re.ASCII)


@dataclass(frozen=True, slots=True)
class BackedUpFile:
    """A file of a backup, by its name."""

    name: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Contents of a backup.

    `objects` is the list of stored recordings and exports, in the format of sha256sum; None for a
    backup of the database alone. `master_keys` is the file of the encrypted keys, if they are in it.
    """

    created_at: str
    version: str
    revision: str
    database_kind: str
    database: BackedUpFile
    master_key_ids: list[str]
    objects: BackedUpFile | None = None
    object_count: int = 0
    object_bytes: int = 0
    master_keys: BackedUpFile | None = None

    def write(self, folder: Path) -> None:
        """Write the manifest, the last file of a backup: without it a backup is not complete."""
        document = {"format": _FORMAT, **asdict(self)}
        file = folder / FILE
        file.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
        file.chmod(0o600)
        sync(file)


def describe(file: Path) -> BackedUpFile:
    """Return the size and the digest of a file, synced to the disk."""
    sync(file)
    return BackedUpFile(file.name, file.stat().st_size, sha256_of(file))


def read(folder: Path) -> Manifest:
    """Read the manifest of a backup.

    Raises:
        CannotRun: the folder is no complete backup, or of a newer version.
    """
    try:
        document: dict[str, Any] = orjson.loads((folder / FILE).read_bytes())
        if document.pop("format") != _FORMAT:
            raise CannotRun(f"{folder} was made by a newer version: update first")
        for name in ("database", "objects", "master_keys"):
            document[name] = BackedUpFile(**document[name]) if document[name] else None
        return Manifest(**document)
    except FileNotFoundError as error:
        raise CannotRun(f"{folder} is no complete backup: it has no {FILE}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise CannotRun(f"{folder / FILE} is damaged: use another backup") from error


def require_complete(folder: Path, manifest: Manifest) -> None:
    """Compare every file with its digest.

    Raises:
        CannotRun: a file is missing or has changed; the text names it.
    """
    for file in (manifest.database, manifest.objects, manifest.master_keys):
        if file is not None:
            _require(folder / file.name, file.sha256)
    for name, sha256 in listed_objects(folder, manifest):
        _require(folder / OBJECTS / name, sha256)


def listed_objects(folder: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the relative path and the digest of each stored object."""
    if manifest.objects is not None:
        with (folder / manifest.objects.name).open(encoding="utf-8") as lines:
            for line in lines:
                sha256, _, path = line.rstrip("\n").partition("  ")
                name = path.removeprefix(f"{OBJECTS}/")
                if not _OBJECT.fullmatch(name):
                    raise CannotRun(
                        f"the backup is damaged: {manifest.objects.name} names {path!r}"
                    )
                yield name, sha256


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file in hex."""
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _require(file: Path, sha256: str) -> None:
    try:
        actual = sha256_of(file)
    except FileNotFoundError as error:
        raise CannotRun(f"the backup is not complete: {file} is missing") from error
    if actual != sha256:
        raise CannotRun(f"the backup is damaged: {file} has changed since it was written")

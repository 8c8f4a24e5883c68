"""Contents of a backup: its manifest, its stored objects and its encrypted master keys."""

import base64
import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from marshmallow import Schema, ValidationError, fields, post_load, validate

from app.core.secrets.private_files import sync
from app.core.settings import Settings
from app.core.storage.files import copy_checked
from app.core.storage.objects import StoredObject, UploadIncomplete, is_object_id
from app.core.storage.untrusted import UntrustedFolder
from app.operations.failure import CannotRun

_MANIFEST = "manifest.json"
OBJECTS = "objects"
OBJECT_LIST = "objects.sha256"
DATABASES = {"sqlite": "database.sqlite", "postgresql": "database.dump"}
_KEYS = "master-keys.json"
_MOST_BYTES_OF_DOCUMENT = 1 << 20
_MOST_BYTES_OF_LINE = 1 << 10
_MIN_PASSPHRASE_LENGTH = 12
_KEYS_PURPOSE = b"cqe/backup/master-keys/v1"
_ITERATIONS, _LANES, _MEMORY_KIB = 3, 1, 64 * 1024
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
        file = folder / _MANIFEST
        file.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
        file.chmod(0o600)
        sync(file)


class _FileSchema(Schema):
    """A file of a backup: no name leads out of its folder."""

    name = fields.String(
        required=True, validate=validate.OneOf([*DATABASES.values(), OBJECT_LIST, _KEYS])
    )
    size_bytes = fields.Integer(required=True, strict=True, validate=validate.Range(min=0))
    sha256 = fields.String(required=True, validate=validate.Regexp(r"[0-9a-f]{64}\Z"))

    @post_load
    def make(self, values: dict[str, Any], **_: Any) -> BackedUpFile:
        return BackedUpFile(**values)


class _ManifestSchema(Schema):
    created_at = fields.String(required=True)
    version = fields.String(required=True)
    revision = fields.String(required=True)
    database_kind = fields.String(required=True, validate=validate.OneOf([*DATABASES]))
    database = fields.Nested(_FileSchema, required=True)
    master_key_ids = fields.List(fields.String(), required=True)
    objects = fields.Nested(_FileSchema, required=True, allow_none=True)
    object_count = fields.Integer(required=True, strict=True)
    object_bytes = fields.Integer(required=True, strict=True)
    master_keys = fields.Nested(_FileSchema, required=True, allow_none=True)

    @post_load
    def make(self, values: dict[str, Any], **_: Any) -> Manifest:
        return Manifest(**values)


def describe(file: Path) -> BackedUpFile:
    """Return the size and the digest of a file, synced to the disk."""
    sync(file)
    return BackedUpFile(file.name, file.stat().st_size, _sha256_of(file))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a backup.

    Raises:
        CannotRun: the folder is not a complete backup, or of a newer version.
    """
    try:
        document = _document_in(folder, _MANIFEST)
        if document.pop("format") != _FORMAT:
            raise CannotRun(f"{folder} was made by a newer version: update first")
        manifest: Manifest = _ManifestSchema().load(document)
    except FileNotFoundError as error:
        raise CannotRun(f"{folder} is not a complete backup: it has no {_MANIFEST}") from error
    except (AttributeError, KeyError, TypeError, ValueError, ValidationError) as error:
        raise CannotRun(f"{folder / _MANIFEST} is damaged: use another backup") from error
    return manifest


def _document_in(folder: Path, name: str) -> Any:
    with UntrustedFolder(folder).open(folder / name) as file:
        return orjson.loads(file.read(_MOST_BYTES_OF_DOCUMENT))


def require_complete(folder: Path, manifest: Manifest) -> None:
    """Compare every file with its digest.

    Raises:
        CannotRun: a file is missing or has changed; the text names it.
    """
    for file in (manifest.database, manifest.objects, manifest.master_keys):
        if file is not None:
            _require_unchanged(folder, file.name, file.sha256)
    for name, sha256 in _listed_objects(folder, manifest):
        _require_unchanged(folder, f"{OBJECTS}/{name}", sha256)


def _listed_objects(folder: Path, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Yield the relative path and the digest of each stored object."""
    if manifest.objects is not None:
        with UntrustedFolder(folder).open(folder / manifest.objects.name) as lines:
            while line := lines.readline(_MOST_BYTES_OF_LINE):
                sha256, _, path = line.decode(errors="replace").rstrip("\n").partition("  ")
                name = path.removeprefix(f"{OBJECTS}/")
                if not _OBJECT.fullmatch(name):
                    raise CannotRun(
                        f"the backup is damaged: {manifest.objects.name} names {path!r}"
                    )
                yield name, sha256


def _sha256_of(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _require_unchanged(folder: Path, name: str, sha256: str) -> None:
    file = folder / name
    try:
        with UntrustedFolder(folder).open(file) as source:
            actual = hashlib.file_digest(source, "sha256").hexdigest()
    except FileNotFoundError as error:
        raise CannotRun(f"the backup is not complete: {file} is missing") from error
    except OSError as error:
        raise CannotRun(f"the backup is damaged: {file}: {error.strerror}") from error
    if actual != sha256:
        raise CannotRun(f"the backup is damaged: {file} has changed since it was written")


def copy_file(folder: Path, name: str, sha256: str, target: Path, settings: Settings) -> None:
    """Copy a file of a backup to a new one, synced to the disk.

    Raises:
        CannotRun: the file has another digest than when the backup was checked.
        DiskFull: too little disk space is free.
    """
    with UntrustedFolder(folder).open(folder / name) as source:
        expected = StoredObject(os.fstat(source.fileno()).st_size, sha256)
        try:
            copy_checked(source, target, expected, settings.min_free_bytes)
        except UploadIncomplete as error:
            raise CannotRun(f"the backup is damaged: {folder / name}: {error}") from error


def copy_out(storage: Path, folder: Path, settings: Settings) -> tuple[int, int]:
    """Copy every stored object into a backup and list them; return their number and size.

    An object is written once, before its row says so: copied after the database, none is missing
    but those that were deleted meanwhile.
    """
    count = size_bytes = 0
    with (folder / OBJECT_LIST).open("x", encoding="utf-8") as listed:
        for name in _object_names(storage):
            target = folder / OBJECTS / name
            try:
                source = (storage / name).open("rb")
            except FileNotFoundError:
                continue
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with source:
                expected = StoredObject(os.fstat(source.fileno()).st_size, "")
                copied = copy_checked(source, target, expected, settings.min_free_bytes)
            listed.write(f"{copied.sha256}  {OBJECTS}/{name}\n")
            count, size_bytes = count + 1, size_bytes + copied.size_bytes
    return count, size_bytes


def copy_in(folder: Path, described: Manifest, storage: Path, settings: Settings) -> int:
    """Copy the objects that the storage lacks, or has damaged; return their number."""
    count = 0
    storage.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, sha256 in _listed_objects(folder, described):
        target = storage / name
        if target.is_file() and _sha256_of(target) == sha256:
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = target.with_name(f".{target.name}.restore.part")
        partial.unlink(missing_ok=True)
        copy_file(folder, f"{OBJECTS}/{name}", sha256, partial, settings)
        partial.rename(target)
        count += 1
    return count


def _object_names(storage: Path) -> Iterator[str]:
    """Yield the paths of complete objects, relative to the storage."""
    for place, _, names in os.walk(storage):
        for name in names:
            if is_object_id(name):
                yield os.path.relpath(os.path.join(place, name), storage)


def write_keys(folder: Path, keys: str, passphrase: str) -> Path:
    """Write the encrypted keys; return the file.

    Raises:
        CannotRun: the passphrase is too short.
    """
    if len(passphrase) < _MIN_PASSPHRASE_LENGTH:
        raise CannotRun(f"the passphrase must have at least {_MIN_PASSPHRASE_LENGTH} characters")
    salt, nonce = os.urandom(16), os.urandom(12)
    sealed = AESGCM(_key_of(passphrase, salt)).encrypt(nonce, keys.encode(), _KEYS_PURPOSE)
    document = {
        "encryption": "AES-256-GCM",
        "key": f"Argon2id, {_ITERATIONS} iterations, {_LANES} lane, {_MEMORY_KIB} KiB",
        **{
            name: base64.b64encode(value).decode()
            for name, value in (("salt", salt), ("nonce", nonce), ("sealed", sealed))
        },
    }
    file = folder / _KEYS
    file.write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    file.chmod(0o600)
    return file


def read_keys(folder: Path, passphrase: str) -> str:
    """Decrypt the keys of a backup.

    Raises:
        CannotRun: the passphrase is wrong, or the file is damaged.
    """
    try:
        document = _document_in(folder, _KEYS)
        salt, nonce, sealed = (
            base64.b64decode(document[name]) for name in ("salt", "nonce", "sealed")
        )
        return AESGCM(_key_of(passphrase, salt)).decrypt(nonce, sealed, _KEYS_PURPOSE).decode()
    except (InvalidTag, KeyError, TypeError, ValueError) as error:
        raise CannotRun(
            f"the master keys in {folder / _KEYS} cannot be decrypted: check the passphrase"
        ) from error


def _key_of(passphrase: str, salt: bytes) -> bytes:
    kdf = Argon2id(
        salt=salt, length=32, iterations=_ITERATIONS, lanes=_LANES, memory_cost=_MEMORY_KIB
    )
    return kdf.derive(passphrase.encode())

"""Stored objects of a backup: recordings and exports, copied with their digests."""

import os
from collections.abc import Iterator
from pathlib import Path

from app.core.settings import Settings
from app.core.storage.files import copy_checked
from app.core.storage.objects import StoredObject, is_object_id
from app.operations.backups import manifest
from app.operations.backups.manifest import OBJECTS, Manifest


def copy_out(storage: Path, folder: Path, settings: Settings) -> tuple[int, int]:
    """Copy every stored object into a backup and list them; return their number and size.

    An object is written once, before its row says so: copied after the database, none is missing
    but those that were deleted meanwhile.
    """
    count = size_bytes = 0
    with (folder / manifest.OBJECT_LIST).open("x", encoding="utf-8") as listed:
        for name in _names(storage):
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
    for name, sha256 in manifest.listed_objects(folder, described):
        source, target = folder / OBJECTS / name, storage / name
        if target.is_file() and manifest.sha256_of(target) == sha256:
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        partial = target.with_name(f".{target.name}.restore.part")
        partial.unlink(missing_ok=True)
        with source.open("rb") as copy:
            expected = StoredObject(source.stat().st_size, sha256)
            copy_checked(copy, partial, expected, settings.min_free_bytes)
        partial.rename(target)
        count += 1
    return count


def _names(storage: Path) -> Iterator[str]:
    """Yield the paths of complete objects, relative to the storage."""
    for place, _, names in os.walk(storage):
        for name in names:
            if is_object_id(name):
                yield os.path.relpath(os.path.join(place, name), storage)
